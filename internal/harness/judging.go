package harness

import (
	"context"
	"os"
	"path/filepath"

	"github.com/evalrun/evalrun/internal/dialect"

	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/exit"
	"github.com/evalrun/evalrun/internal/layers"
	"github.com/evalrun/evalrun/internal/regular"
	"github.com/evalrun/evalrun/journal"
	"github.com/evalrun/evalrun/pricing"
	"github.com/evalrun/evalrun/runner"
	"github.com/evalrun/evalrun/suite"
)

// LoadCopies loads the suites of a run from the copies in its directory, for a judge of theirs.
func LoadCopies(of *journal.Document, flags Flags, getenv func(string) string) (*Job, error) {
	j := NewJob(flags, getenv)
	j.copied = true
	begun := of.Run.Options()
	flags.allowLike(begun)
	if !flags.Untrusted {
		if err := j.Flags.projectOf(&of.Run, filepath.Dir(of.Path())); err != nil {
			return nil, err
		}
	}
	services := j.projectServices(suite.Options{Getenv: getenv, AllowEnv: flags.AllowEnv, Can: dialect.Can})
	for i, one := range of.Run.Suites {
		snapshot, err := os.OpenRoot(filepath.Join(filepath.Dir(of.Path()), filepath.FromSlash(snapshotDir(i))))
		if err != nil {
			return nil, exit.BadInput("%s has no copy of its suite, which names the judge: name one with --suite FILE", of.Run.ID)
		}
		files := layers.Overlay{regular.FS(snapshot)}
		if folder, err := os.OpenRoot(one.Dir); one.Dir != "" && err == nil {
			files = append(files, regular.FS(folder))
		}
		j.dirs = append(j.dirs, one.Dir)
		opts := suite.Options{
			Vars:        begun.Vars,
			Repeats:     begun.Repeats,
			Getenv:      getenv,
			Untrusted:   flags.Untrusted,
			Allow:       flags.Allow,
			AllowEnv:    flags.AllowEnv,
			Can:         dialect.Can,
			OwnBaseline: true,
			Dir:         one.Dir,
			Services:    services,
		}
		j.Suites = append(j.Suites, j.take(files, filepath.Base(one.Snapshot), one.File, opts))
	}
	return j, nil
}

// PricesOf is the price list for what a run took: that of the flags, or else of its suites; nil without one, and for a run without copies
// of its suites.
func PricesOf(d *journal.Document, flags Flags, getenv func(string) string) (*pricing.List, error) {
	m := merger{defaults: flags.defaults()}
	if flags.Prices == "" {
		j, err := LoadCopies(d, flags, getenv)
		if err != nil || j.Bad() != nil {
			return nil, nil //nolint:nilerr // tokens are shown instead
		}
		m.suites, m.defaults = j.Suites, j.Flags.defaults()
	}
	return m.prices(flags.Prices)
}

// SettleLike settles a job that sends to the service of a run where neither flags nor environment name one. That address has to be the
// user's own, or that of a run that the user made; doing is what it is used for.
func (j *Job) SettleLike(d *journal.Document, doing string) error {
	f := &j.Flags
	own, vetted := f.own(), f.Trust || f.Emulator != ""
	if j.getenv("EVALRUN_BASE_URL") == "" {
		f.serviceOf(&d.Run, *d.Run.Options())
	}
	if err := j.Settle(); err != nil {
		return err
	}
	s := &j.Settings
	if vetted || s.Service.BaseURL == EmulatorURL || s.trust.Signed(d) {
		return nil
	}
	c := claims{run: d, address: s.elsewhere(own.settle(j.getenv))}
	if j.copied {
		calls := j.called()
		c.services, c.programs = servicesOf(s, own.named, calls), loginsOf(s, calls)
	}
	return c.check(doing)
}

// CheckJudge requests the judge's model, and looks for its price when there is a budget of money.
func (s *Session) CheckJudge(ctx context.Context, p *runner.Plan, j *suite.Judge) error {
	if err := p.CheckJudge(ctx, j, s.service, &s.Diags, s.Notice); err != nil {
		return s.Refused(err)
	}
	if err := s.Bad(); err != nil {
		return err
	}
	return s.priced(p)
}

// Judging is how questions are put to a judge.
func (s *Session) Judging() runner.Config {
	limits := s.Settings.Limits
	return runner.Config{
		Generator: s.service, Counter: s.service, Concurrency: limits.Concurrency, CountTokens: limits.CountTokens,
		TokensMatter: limits.TokensMatter(), Stop: s.stop, Anew: true, Services: s.shares(), Keys: s.keyVariables(),
	}
}

// KeepReply keeps a reply of a judge for --record.
func (s *Session) KeepReply(r *eval.Result) { s.recorder.keepReply(r) }

// FinishReplies writes the replies that were kept, with the models that gave them.
func (s *Session) FinishReplies(models []eval.Model) error { return s.recorder.finish(models) }
