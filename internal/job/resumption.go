package job

import (
	"cmp"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/evalrun/evalrun/internal/dialect"
	"github.com/evalrun/evalrun/internal/exit"
	"github.com/evalrun/evalrun/internal/layers"
	"github.com/evalrun/evalrun/internal/regular"
	"github.com/evalrun/evalrun/internal/trust"
	"github.com/evalrun/evalrun/journal"
	"github.com/evalrun/evalrun/suite"
)

// Resumption is a run to continue. It holds the run directory; Close it.
type Resumption struct {
	Dir string
	// Flags are those of the run, but for the limits that were given now.
	Flags       Flags
	RetryErrors bool // errors of a completed run too

	doc       *journal.Document
	journal   *journal.Writer
	trust     bool // the user trusts the run, even one of somebody else
	untrusted bool // the user does not, and says where the service is
	own       ownService
	begun     Flags // those of the run
	workers   int   // how many calls ran at once
}

// Reopen opens a run to continue it. Limits in flags win over the limits that the run began with; again repeats errors
// of a completed run too. Another process that writes to it is exit 2.
func Reopen(name string, flags Flags, retryErrors bool) (*Resumption, error) {
	dir := flags.Dir.Path(name)
	if info, err := os.Stat(dir); err == nil && !info.IsDir() {
		dir = filepath.Dir(dir)
	}
	w, doc, err := journal.Resume(dir)
	switch {
	case errors.Is(err, journal.ErrNoRun):
		return nil, flags.Dir.NoRun(name)
	case err != nil:
		return nil, exit.BadInput("the run cannot be resumed: %w", err)
	}
	r := &Resumption{
		Dir: dir, doc: doc, journal: w, RetryErrors: retryErrors, trust: flags.Trust, untrusted: flags.Untrusted, own: flags.own(),
	}
	if err := trust.Intact(doc); err != nil {
		r.Close()
		return nil, err
	}
	r.Flags.Dir = flags.Dir
	r.Flags.Options = *doc.Run.Options()
	if err := r.Flags.Unreadable; err != nil {
		r.Close()
		return nil, exit.BadInput("the run cannot be resumed: its flags cannot be read: %w", err)
	}
	if !flags.Untrusted {
		if err := r.Flags.projectOf(&doc.Run, dir); err != nil {
			r.Close()
			return nil, err
		}
	}
	r.begun = r.Flags
	r.merge(flags)
	if err := r.Flags.checkAllow(); err != nil {
		r.Close()
		return nil, err
	}
	if was := doc.Run.Service.BaseURL; flags.BaseURL != "" && !r.untrusted && strings.TrimRight(flags.BaseURL, "/") != was {
		r.Close()
		return nil, exit.BadInput(
			"the run %s sends to %s, and --base-url says %s: leave it out, or add --untrusted to send elsewhere", dir, was,
			flags.BaseURL,
		)
	}
	if err := r.sameServices(flags.Services); err != nil {
		r.Close()
		return nil, err
	}
	return r, nil
}

// sameServices wants named services to be where those of the run are.
func (r *Resumption) sameServices(given map[string]string) error {
	for name, url := range given {
		if was, known := r.doc.Run.Services[name]; known && !r.untrusted && strings.TrimRight(url, "/") != was.BaseURL {
			return exit.BadInput(
				"the run %s sends to %s as the service `%s`, and --service says %s: leave it out, or add --untrusted to send "+
					"elsewhere", r.Dir,
				was.BaseURL, name, url,
			)
		}
	}
	return nil
}

// merge takes over the limits that were given to the resume.
func (r *Resumption) merge(f Flags) {
	to := &r.Flags
	to.Concurrency = cmp.Or(f.Concurrency, to.Concurrency)
	to.RPM, to.TPM = cmp.Or(f.RPM, to.RPM), cmp.Or(f.TPM, to.TPM)
	to.BudgetTokens, to.BudgetCalls = cmp.Or(f.BudgetTokens, to.BudgetTokens), cmp.Or(f.BudgetCalls, to.BudgetCalls)
	to.BudgetMoney, to.BudgetTime = cmp.Or(f.BudgetMoney, to.BudgetMoney), cmp.Or(f.BudgetTime, to.BudgetTime)
	to.Prices = cmp.Or(f.Prices, to.Prices)
	to.Attempts, to.Timeout = cmp.Or(f.Attempts, to.Attempts), cmp.Or(f.Timeout, to.Timeout)
	to.MaxFailures = f.MaxFailures
	if to.NoContent {
		to.Vars = f.Vars
	}
	if r.untrusted {
		to.Allow = f.Allow
		to.Untrusted, to.Record, to.ReplayOr, to.Cache = true, "", "", false
		f.Emulator = to.Emulator // the script is the run's
		to.ServiceOptions = f.ServiceOptions
		return
	}
	to.Allow, to.AllowEnv = slices.Concat(to.Allow, f.Allow), slices.Concat(to.AllowEnv, f.AllowEnv)
	if to.Emulator == "" { // the service is that of the run
		service := r.doc.Run.Service
		to.BaseURL, to.APIVersion, to.HeaderPrefix = service.BaseURL, service.APIVersion, service.HeaderPrefix
		to.Auth, to.Project, to.ScopeBase = service.Auth, service.Project, service.AuthScopeBase
		to.Services = map[string]string{}
		for name, was := range r.doc.Run.Services {
			to.Services[name] = was.BaseURL
		}
	}
}

// Close lets go of the run. After Resume it does nothing more than that.
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

// Finished reports whether there is nothing to ask.
func (r *Resumption) Finished() bool {
	return !r.doc.Partial() && (!r.RetryErrors || r.doc.Summary.Counts.Error == 0)
}

// SoFar is the run so far, which the resumption closes.
func (r *Resumption) SoFar() *journal.Document { return r.doc }

// Writer writes to the run, and is closed by the caller.
func (r *Resumption) Writer() *journal.Writer {
	w := r.journal
	r.journal = nil
	return w
}

// Workers is how many calls ran at once.
func (r *Resumption) Workers() int { return r.workers }

// Document is the run so far, as a report shows it. The caller closes it; the run is let go of.
func (r *Resumption) Document() *journal.Document {
	d := r.doc
	r.doc = nil
	r.Close()
	return d
}

// Load reads the suites as they were when the run began; images come from their folders.
func (r *Resumption) Load(getenv func(string) string) (*Loaded, error) {
	if r.Flags.NoContent {
		return r.loadFiles(getenv)
	}
	l := NoSuites(r.Flags, getenv)
	services := l.projectServices(suite.Options{Getenv: getenv, AllowEnv: r.Flags.AllowEnv, Can: dialect.Can})
	for i, one := range r.doc.Run.Suites {
		snapshot, err := os.OpenRoot(filepath.Join(r.Dir, filepath.FromSlash(SnapshotDir(i))))
		if err != nil {
			return nil, exit.BadInput("the run cannot be resumed: its copy of the suite %s is gone: %w", one.Name, err)
		}
		files := layers.Overlay{regular.FS(snapshot)}
		if folder, err := os.OpenRoot(one.Dir); one.Dir != "" && err == nil {
			files = append(files, regular.FS(folder))
		}
		l.dirs = append(l.dirs, one.Dir)
		opts := suite.Options{
			Vars:           r.Flags.Vars,
			Repeats:        r.Flags.Repeats,
			DefaultRepeats: r.Flags.ByProject().Repeats,
			Getenv:         getenv,
			Untrusted:      r.Flags.Untrusted,
			Allow:          r.Flags.Allow,
			OwnBaseline:    r.Flags.ownBaseline(),
			AllowEnv:       r.Flags.AllowEnv,
			Can:            dialect.Can,
		}
		opts.Services = services
		if opts.Base, err = r.earlierAtStart(l, i, opts); err != nil {
			return nil, err
		}
		opts.Dir, opts.Expected = one.Dir, regular.FS(snapshot)
		s := l.take(files, filepath.Base(one.Snapshot), one.File, opts)
		switch changed := !l.Diags.HasErrors() && s.Hash() != one.Hash; {
		case changed && !s.KeepsData():
			return nil, exit.BadInput(
				"the run cannot be resumed: the data files of the suite %s have changed since it began, and they were too many or too large to be "+
					"copied",
				one.Name,
			)
		case changed && !r.untrusted:
			return nil, exit.BadInput(
				"the run cannot be resumed: %s is not the copy of the suite %s with which it began; restore it, or run the suite again",
				filepath.Join(r.Dir, filepath.FromSlash(one.Snapshot)), one.Name,
			)
		}
		l.Suites = append(l.Suites, s)
	}
	return l, nil
}

// loadFiles reads the suites from where they were, since a run without content keeps no copy. They must not have
// changed.
func (r *Resumption) loadFiles(getenv func(string) string) (*Loaded, error) {
	var files []string
	flags := r.Flags
	flags.foreign = !r.trust && !signed(r.doc, getenv)
	interleaved, ref, err := flags.Interleaved()
	if err != nil {
		return nil, err
	}
	for _, one := range r.doc.Run.Suites {
		file := filepath.Join(one.Dir, filepath.Base(one.Snapshot))
		files = append(files, file)
		if one.File == interleaved {
			flags.Interleave = file + "@" + ref
		}
	}
	l, err := Load(files, flags, getenv)
	if err != nil {
		return nil, err
	}
	for i, s := range l.Suites {
		one := &r.doc.Run.Suites[i]
		base, _ := s.BaseVersion()
		if s.Hash() != one.Hash || base != nil && one.EarlierHash != "" && base.Hash() != one.EarlierHash {
			return nil, exit.BadInput("the suite %s has changed since the run began, and a run with --no-content keeps no copy of it", files[i])
		}
	}
	return l, nil
}

// Settle settles the job of a resumed run: what it has spent counts.
func (r *Resumption) Settle(l *Loaded) (*Job, error) {
	j, err := l.Settle()
	if err != nil {
		return nil, err
	}
	s := &j.Settings
	r.own = r.own.settle(j.Getenv)
	if err := r.vet(j, s); err != nil {
		return nil, err
	}
	s.Spent, s.Before = r.doc.Spent, r.doc.LastCalls()
	r.workers = r.doc.Workers()
	if r.workers == 0 {
		begun := *l
		begun.Flags = r.begun
		if settings, err := begun.settings(); err == nil {
			r.workers = j.MostAtOnce(&settings.Limits)
		}
	}
	if r.doc.End == nil && !r.doc.Booked() && s.Limits.BudgetCalls > 0 { // what was under way was not written down
		s.Spent.Calls += r.workers
	}
	for model, u := range r.doc.Unpriced {
		s.Spent.Money += s.Prices.Of(model, &u)
	}
	return j, nil
}
