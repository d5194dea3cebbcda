package session

import (
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/gate"
	"github.com/evalrun/evalrun/internal/rundir"
	"github.com/evalrun/evalrun/journal"
	"github.com/evalrun/evalrun/runner"
)

// extendedRun is a finished run whose results count in this one, which sends only what it lacks: more repeats, or new cases.
type extendedRun struct{ doc *journal.Document }

// CheckExtend returns an error for a flag that cannot be combined with --extend.
func (f *Options) CheckExtend() error {
	for _, other := range []struct {
		name  string
		given bool
	}{
		{"--failed-in", f.FailedIn != ""},
		{"--changed-since", f.ChangedSince != ""},
		{"--sample", f.Sample > 0},
		{"--shard", f.Shard != eval.Shard{}},
		{"--race", f.Race != ""},
		{"--cache", f.Cache},
		{"--replay", f.Replay != ""},
		{"--replay-or-record", f.ReplayOr != ""},
		{"--answers", f.Answers != ""},
		{"a rescore", f.Rescore != ""},
	} {
		if f.Extend != "" && other.given {
			return eval.BadInput(
				"--extend runs what RUN lacks, with new answers, and does not go with %s: leave one of them out", other.name,
			)
		}
	}
	return nil
}

// openExtended opens the run of --extend; nil without one.
func (s *Session) openExtended() (*extendedRun, error) {
	name := s.Options.Extend
	if name == "" {
		return nil, nil
	}
	doc, err := s.Options.In().Open(name)
	if err != nil {
		return nil, eval.BadInput("--extend: %w", err)
	}
	e := &extendedRun{doc}
	if err := e.admit(name, s.Trusts(doc)); err != nil {
		_ = doc.Close() // it was only read
		return nil, err
	}
	return e, nil
}

// admit accepts a finished run of all of its suites' cases, with answers of its own.
func (e *extendedRun) admit(name string, trusted bool) error {
	run, o := &e.doc.Run, e.doc.Run.Options()
	switch {
	case e.doc.Running || e.doc.Partial():
		return eval.BadInput("--extend takes a finished run, and %s is not finished: evalrun resume %s", name, name)
	case run.CommandOptions == nil:
		return eval.BadInput("--extend: %s was exported, without the answers: extend the run itself", name)
	case !trusted:
		return eval.BadInput("--extend: %s was not signed by you, so its answers could be any: run the suite again", name)
	case o.NoContent:
		return eval.BadInput("--extend: %s was run with --no-content, and keeps no answers: run the suite again", name)
	case run.RescoredFrom != "" || run.Replay != "" || run.Cache:
		return eval.BadInput(
			"--extend: %s has the answers of other runs (rescored, replayed or cached): extend a run that sent for its own", name,
		)
	case o.FailedIn+o.ChangedSince != "" || o.Sample > 0 || o.Race != "":
		return eval.BadInput(
			"--extend: %s ran a selection (--failed-in, --changed-since, --sample or --race): extend a run of all cases", name,
		)
	}
	return rundir.Intact(e.doc)
}

// Check refuses a plan that does not have all trials of the run as they were.
func (e *extendedRun) Check(plan *runner.Plan) error {
	if err := e.noSuites(plan); err != nil {
		return err
	}
	scorers, repeats := map[string]string{}, map[gate.ArmCase]int{}
	for t := range plan.Trials() {
		scorers[t.ID] = t.ScorersHash
		repeats[gate.ArmCase{Suite: t.Suite, Case: t.Case, Arm: t.Arm}]++
	}
	for f, err := range e.doc.Facts() {
		if err != nil {
			return eval.BadInput("--extend: the run %s cannot be read: %w", e.doc.Run.ID, err)
		}
		planned := repeats[gate.ArmCase{Suite: f.Suite, Case: f.Case, Arm: f.Arm}]
		what := ""
		switch hash, there := scorers[f.ID]; {
		case planned == 0:
			what = "is not in the suite any more, or not selected"
		case planned < f.Repeat:
			return eval.BadInput(
				"--extend: %s ran case %s on %s %s, and this run plans %d: --repeats %d or more", e.doc.Run.ID, f.Case, f.Arm,
				times(f.Repeat), planned, f.Repeat,
			)
		case !there:
			what = "sends another request now (prompt, variables, target or --var)"
		case hash != f.ScorersHash:
			what = "has other scorers now"
		default:
			continue
		}
		return eval.BadInput(
			"--extend: the suite changed since %s: case %s on %s %s; restore it, or run the suite again", e.doc.Run.ID, f.Case, f.Arm, what,
		)
	}
	return nil
}

func times(n int) string {
	if n == 1 {
		return "once"
	}
	return fmt.Sprintf("%d times", n)
}

func (e *extendedRun) noSuites(plan *runner.Plan) error {
	var was, now []string
	for i := range e.doc.Run.Suites {
		was = append(was, e.doc.Run.Suites[i].Name)
	}
	for _, s := range plan.Suites {
		now = append(now, s.Name)
	}
	if slices.Equal(was, now) {
		return nil
	}
	return eval.BadInput(
		"--extend: %s is a run of %s, and this is one of %s: name a run of the same suites", e.doc.Run.ID, strings.Join(was, ", "),
		strings.Join(now, ", "),
	)
}

// CheckGates refuses to continue a comparison by another rule, against another baseline, or by a test that does not hold at
// all times.
func (e *extendedRun) CheckGates(gates []*eval.GateConfig, noBaseline bool) error {
	for i, g := range gates {
		if g == nil || g.Baseline == nil || noBaseline {
			continue
		}
		if err := e.checkRule(&e.doc.Run.Suites[i], *g.Baseline); err != nil {
			return err
		}
	}
	return nil
}

// checkRule compares the rule of a suite with the one that it had. A run without a comparison had none.
func (e *extendedRun) checkRule(one *eval.RunSuite, now eval.BaselineRule) error {
	if err := e.canContinue(one, &now); err != nil {
		return err
	}
	if to, ok := now.Against.(eval.BaseRun); ok && e.sharesAnswers(to) {
		return eval.BadInput(
			"--extend: %s and the baseline %s have the same answers, which cannot show a change: --no-baseline extends the run without a "+
				"comparison, or name another baseline", e.doc.Run.ID, to.Name,
		)
	}
	if one.Gate == nil || one.Gate.Baseline == nil || e.doc.Run.Options().NoBaseline() {
		return nil
	}
	was := *one.Gate.Baseline
	base, isRun := was.Against.(eval.BaseRun)
	if to, ok := now.Against.(eval.BaseRun); isRun && ok && !e.follows(to, base.ID) {
		return eval.BadInput(
			"--extend: %s was compared with the run %s, and the baseline %s is %s now: --baseline %s, or an extension of it",
			e.doc.Run.ID, base.ID, to.Name, to.ID, base.ID,
		)
	}
	was.Against, now.Against = nil, nil
	was.Past, now.Past = nil, nil // what the baseline was before
	if !reflect.DeepEqual(was, now) {
		return eval.BadInput(
			"--extend: the gate of %s is not as it was in %s (margin, alpha, metrics, stopEarly, ...): a test continues by the rule "+
				"that it began with", one.Name, e.doc.Run.ID,
		)
	}
	return nil
}

// canContinue refuses to continue a test that does not hold at all times.
func (e *extendedRun) canContinue(one *eval.RunSuite, now *eval.BaselineRule) error {
	ofSuite := now.Estimand == eval.OfSuite
	switch {
	case !ofSuite && now.Total != nil:
		return eval.BadInput(
			"--extend: the `total` of %s takes a number of cases that is decided on beforehand: run the suite again with all of them; a run "+
				"that began with `estimand: suite` can get more repeats, and one without `total` and with `stopEarly: true` more cases", one.Name,
		)
	case !ofSuite && !now.StopEarly:
		return eval.BadInput(
			"--extend: the gate of %s tests a number of cases that is decided on beforehand: run the suite again with all of them; a "+
				"run that began with `estimand: suite` can get more repeats, and one with `stopEarly: true` more cases", one.Name,
		)
	case !ofSuite && len(e.doc.Run.ExtendedFrom) > 0:
		return eval.BadInput(
			"--extend: %s is an extension already, and under `stopEarly` a run can be extended once: run the suite again", e.doc.Run.ID,
		)
	}
	return nil
}

// follows reports whether a baseline is the run with an id, or an extension of it.
func (e *extendedRun) follows(to eval.BaseRun, id string) bool {
	if to.ID == id {
		return true
	}
	run, err := journal.Header(to.Path)
	return err == nil && run.RescoredFrom == "" && slices.Contains(run.ExtendedFrom, id)
}

// sharesAnswers reports whether a baseline is the run itself, what it extends, or another extension of that.
func (e *extendedRun) sharesAnswers(to eval.BaseRun) bool {
	run, err := journal.Header(to.Path)
	return err == nil && run.AnswersOf() == e.doc.Run.AnswersOf()
}

// Earlier returns the result of a trial, nil for one that did not run.
func (e *extendedRun) Earlier(t *runner.Planned) runner.EarlierTrial {
	place, ok := gate.FindTrial(e.doc, &t.Trial)
	if !ok {
		return nil
	}
	r, err := e.doc.Trial(place)
	if err != nil || r.Outcome() == eval.Skip {
		return nil
	}
	r.Workspace = ""
	return runner.FinalResult{Result: r}
}

// has returns a function that reports whether the run has a trial, nil if there is no such run.
func (e *extendedRun) has() func(*eval.Trial) bool {
	if e == nil {
		return nil
	}
	return func(t *eval.Trial) bool {
		_, found := gate.FindTrial(e.doc, t)
		return found
	}
}

func (e *extendedRun) record(run *eval.Run) {
	was := &e.doc.Run
	run.ExtendedFrom = append(slices.Clone(was.ExtendedFrom), was.ID)
	run.RandomSeed = was.RandomSeed
}
