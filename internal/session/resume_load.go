package session

import (
	"cmp"
	"errors"
	"os"
	"path/filepath"

	"github.com/evalrun/evalrun/diag"
	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/rundir"
	"github.com/evalrun/evalrun/internal/text"
	"github.com/evalrun/evalrun/journal"
	"github.com/evalrun/evalrun/scorers"
	"github.com/evalrun/evalrun/suite"
)

// Resumption is a run to continue. It holds the run directory; Close it.
type Resumption struct {
	Dir string
	// Options are those of the caller, and what the run recorded replaces them.
	Options Options

	doc       *journal.Document
	journal   *journal.Writer
	untrusted bool // --untrusted: use the user's own service, not the run's
	own       ownService
	begun     Options // options that the run began with
	given     eval.Options
	workers   int // calls that ran at once
}

// Reopen locks a run to continue it. Options that contradict what the run recorded are an error, except limits and permissions.
func Reopen(name string, options Options) (_ *Resumption, err error) {
	dir := options.In().Path(name)
	if info, err := os.Stat(dir); err == nil && !info.IsDir() {
		dir = filepath.Dir(dir)
	}
	w, doc, err := journal.Resume(dir)
	switch {
	case errors.Is(err, journal.ErrNoRun):
		return nil, options.In().NoRun(name)
	case err != nil:
		return nil, eval.BadInput("the run cannot be resumed: %w", err)
	}
	r := &Resumption{
		Dir:       dir,
		Options:   options,
		doc:       doc,
		journal:   w,
		untrusted: options.Untrusted,
		own:       options.own(),
	}
	defer func() {
		if err != nil {
			r.Close()
		}
	}()
	if err := rundir.Intact(doc); err != nil {
		return nil, err
	}
	if err := doc.Run.UnreadableOptions(); err != nil {
		return nil, eval.BadInput("the run cannot be resumed: its flags cannot be read: %w", err)
	}
	r.Options.Options = *doc.Run.Options()
	if o := &r.Options; o.Answers != "" { // versions before 0.2 took such a file whatever else was given
		o.Record, o.Replay, o.ReplayOr = "", "", ""
	}
	if !options.Untrusted {
		if err := r.Options.projectOf(&doc.Run, dir); err != nil {
			return nil, err
		}
	}
	if r.Options.MaxTrials == 0 { // versions before 0.2 had no bound
		r.Options.MaxTrials = max(doc.Run.Plan.Trials, eval.DefaultMaxTrials)
	}
	r.begun = r.Options
	r.given = options.Options
	if err := cmp.Or(r.checkService(&options), r.checkKept(options)); err != nil {
		return nil, err
	}
	r.merge(&options)
	return r, r.Options.checkAllow()
}

// Close releases the run. It may be called again.
func (r *Resumption) Close() {
	if r.journal != nil {
		_ = r.journal.Close() // nothing was written since
		r.journal = nil
	}
	if r.doc != nil {
		_ = r.doc.Close() // it was only read
		r.doc = nil
	}
}

// Finished reports whether no trial is left to run.
func (r *Resumption) Finished() bool {
	return !r.doc.Partial() && (!r.Options.RetryErrors || r.doc.Summary.Counts.Error == 0)
}

// SoFar returns the recorded run. The Resumption closes it.
func (r *Resumption) SoFar() *journal.Document { return r.doc }

// Writer hands over the writer of the run. The caller closes it.
func (r *Resumption) Writer() *journal.Writer {
	w := r.journal
	r.journal = nil
	return w
}

// Workers is the number of calls that ran at once, as far as the run file or its settings say. Settle sets it.
func (r *Resumption) Workers() int { return r.workers }

// Document hands over the recorded run, for a report, and closes the rest. The caller closes it.
func (r *Resumption) Document() *journal.Document {
	d := r.doc
	r.doc = nil
	r.Close()
	return d
}

// Load loads the suites from the copies that the run made when it began. Images, which are not copied, come from the
// folders of the suites if the user signed the run or gave --trust.
func (r *Resumption) Load() (*Loaded, error) {
	r.Options.foreign = !r.Options.Trust && !r.Options.signed(r.doc)
	if err := r.vetPrices(); err != nil {
		return nil, err
	}
	if r.Options.NoContent {
		return r.loadFiles()
	}
	// A program of the suite can read any file, so --allow program reads the folder that it starts in.
	own := !r.Options.foreign || r.untrusted && suite.AllowsPrograms(r.Options.Allow)
	l := noSuites(r.Options)
	var err error
	if l.kinds, err = scorers.Builtin().With(r.Options.Scorers); err != nil {
		return nil, eval.BadInput("%w", err)
	}
	services := l.projectServices(suite.Options{Getenv: r.Options.Env, AllowEnv: r.Options.AllowEnv, Can: Can})
	for i, recorded := range r.doc.Run.Suites {
		opts := r.Options.ofSuites()
		opts.Services = services
		opts.OwnScorers = r.Options.ownScorers()
		if opts.Base, err = r.earlierAtStart(l, i, own, opts); err != nil {
			return nil, err
		}
		if own {
			opts.Dir = recorded.Dir
		}
		s, err := l.loadCopy(r.Dir, i, &recorded, opts)
		if err != nil {
			return nil, eval.BadInput("the run cannot be resumed: its copy of the suite %s is gone: %w", recorded.Name, err)
		}
		if l.Suites = append(l.Suites, s); !l.Diags.HasErrors() {
			err = r.unchanged(s, &recorded)
		} else if !own {
			l.Diags.Warnf(
				diag.Pos{File: filepath.ToSlash(recorded.File)}, "add --trust to read the other files of the suite, such as images",
				"the run was not signed by you, so only the files that it copied are read",
			)
		}
		if err != nil {
			return nil, err
		}
	}
	return l, nil
}

// unchanged returns an error for a suite that differs from the recorded one. Untrusted, the copy counts as it is.
func (r *Resumption) unchanged(s *suite.Suite, recorded *eval.RunSuite) error {
	switch {
	case s.Hash() == recorded.Hash:
	case !s.KeepsData():
		return eval.BadInput(
			"the run cannot be resumed: the data files of the suite %s have changed since it began, "+
				"and they were too many or too large to be copied",
			recorded.Name,
		)
	case !r.untrusted:
		return eval.BadInput(
			"the run cannot be resumed: %s is not the copy of the suite %s with which it began; "+
				"restore it, or run the suite again",
			filepath.Join(r.Dir, filepath.FromSlash(recorded.Copy)), recorded.Name,
		)
	}
	return nil
}

// loadFiles loads the suites from their original files, since a run with --no-content keeps no copies. The files must be
// unchanged.
func (r *Resumption) loadFiles() (*Loaded, error) {
	if r.Options.foreign {
		return nil, eval.BadInput(
			"the run cannot be resumed: it has no copies of its suites, and the files that it names could be any: add --trust to read them",
		)
	}
	flags := r.Options
	flags.Suites = nil
	interleaved, ref, err := flags.Interleaved()
	if err != nil {
		return nil, err
	}
	for _, one := range r.doc.Run.Suites {
		file := filepath.Join(one.Dir, filepath.Base(one.Copy))
		flags.Suites = append(flags.Suites, file)
		if one.File == interleaved {
			flags.Interleave = file + "@" + ref
		}
	}
	l, err := loadFiles(flags)
	if err != nil {
		return nil, err
	}
	for i, s := range l.Suites {
		one := &r.doc.Run.Suites[i]
		base, _ := s.BaseVersion()
		if s.Hash() != one.Hash || base != nil && one.EarlierHash != "" && base.Hash() != one.EarlierHash {
			return nil, eval.BadInput(
				"the suite %s has changed since the run began, and a run with --no-content keeps no copy of it: "+
					"restore the file, or run the suite again",
				flags.Suites[i],
			)
		}
	}
	return l, nil
}

// Settle settles the job of a resumed run, whose spending counts, and checks that it can be trusted.
func (r *Resumption) Settle(l *Loaded) (*Job, error) {
	j, err := l.Settle()
	if err != nil {
		return nil, err
	}
	s := &j.Settings
	r.own = r.own.settle(&j.Options)
	if err := r.vet(j, s); err != nil {
		return nil, err
	}
	if by := r.doc.Run.Ledger; by != nil && s.Ledger.URL == "" && !s.Ledger.None {
		return nil, eval.BadInput(
			"a ledger grants the calls of the run %[1]s: continue it by `evalrun %[2]s`, or add --no-ledger to send without grants",
			r.Dir, text.ShellWords(append([]string{"resume", r.Dir}, by.Flags()...)),
		)
	}
	s.Spent = r.doc.Spent
	s.Before = r.doc.LastCalls()
	r.workers = r.doc.Workers()
	if r.workers == 0 {
		begun := *l
		begun.Options = r.begun
		if settings, err := begun.settings(); err == nil {
			r.workers = j.MostAtOnce(&settings.Limits)
		}
	}
	if r.doc.End == nil && !r.doc.Booked() && s.Limits.BudgetCalls > 0 && !r.doc.InBatches() {
		s.Spent.Attempts += r.workers // calls that were in progress may have been sent, and the file does not list them
	}
	for model, u := range r.doc.Unpriced {
		s.Spent.Money += s.Prices.Of(model, &u)
	}
	return j, nil
}
