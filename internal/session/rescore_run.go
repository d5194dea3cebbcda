package session

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/evalrun/evalrun/diag"
	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/flow"
	"github.com/evalrun/evalrun/internal/gate"
	"github.com/evalrun/evalrun/internal/rundir"
	"github.com/evalrun/evalrun/journal"
	"github.com/evalrun/evalrun/runner"
	"github.com/evalrun/evalrun/suite"
)

// rescoredRun is a run whose answers are scored again; nil: the run gets its answers itself.
type rescoredRun struct {
	from    eval.FromRun
	doc     *journal.Document
	trusted bool
	notice  func(string)
	remedy  string // the command that runs the trials without an answer
}

func (s *Session) openRescored(from eval.FromRun) (*rescoredRun, error) {
	if service := s.Settings.Service.BaseURL; s.Options.Emulator == "" && slices.Contains(s.calls, "") &&
		(service == "" || !s.oauth() && s.Settings.Key() == "") {
		switch {
		case s.embeds():
			return nil, eval.BadInput(
				"scorers that compare meanings (similar) need embeddings from a service: set --base-url and EVALRUN_API_KEY; rescore " +
					"requests no answers",
			)
		case s.callsJudges():
			return nil, eval.BadInput(
				"--ask-judges needs a service: set --base-url and EVALRUN_API_KEY; rescore requests no answers",
			)
		}
	}
	doc, err := s.Options.In().Open(from.Run)
	if err != nil {
		return nil, err
	}
	if waits := doc.Waits(); waits != nil {
		_ = doc.Close() // it was only read
		return nil, eval.WithCode(eval.CodeWaiting, fmt.Errorf("the run %s waits for %s: `evalrun resume` collects them", from.Run, waits))
	}
	o := &rescoredRun{from: from, doc: doc, notice: s.Notice}
	if err := s.admit(o); err != nil {
		_ = doc.Close() // it was only read
		return nil, err
	}
	var files []string
	for _, one := range s.Suites {
		files = append(files, one.File)
	}
	o.remedy = fmt.Sprintf("evalrun run %s --changed-since %s", strings.Join(files, " "), cmp.Or(s.Options.Out, "latest"))
	return o, nil
}

// admit accepts a run that has ended, is unchanged, and is the user's own or needs no trust.
func (s *Session) admit(o *rescoredRun) error {
	if o.doc.Running {
		return eval.BadInput("%s is still in progress: rescore it when it finishes", o.from.Run)
	}
	if err := rundir.Intact(o.doc); err != nil {
		return err
	}
	o.trusted = s.Trusts(o.doc)
	return s.VetAnswers(o.doc, s.embeds() || s.callsJudges())
}

// embeds reports whether the scorers of a suite want embeddings.
func (s *Session) embeds() bool { return s.anyVersion((*suite.Suite).Embeds) }

func (s *Session) anyVersion(holds func(*suite.Suite) bool) bool {
	return slices.ContainsFunc(s.Suites, func(one *suite.Suite) bool { return slices.ContainsFunc(one.Versions(), holds) })
}

// callsJudges reports whether the rescore may send requests to judges.
func (s *Session) callsJudges() bool {
	from, _ := s.Settings.Rescored()
	return from.AskJudges && s.anyVersion(func(one *suite.Suite) bool { return len(one.CalledJudges()) > 0 })
}

func (o *rescoredRun) recordSource(run *eval.Run) {
	was := &o.doc.Run
	run.Emulator = was.Emulator || o.from.AskJudges && run.Emulator // what an emulated judge says is from a script too
	run.RescoredFrom, run.ExtendedFrom = was.AnswersOf(), was.ExtendedFrom
	run.Replay = was.Replay
	run.Cache = was.Cache
}

// around answers from the run where it can, and calls the service, by its name, for the rest.
func (o *rescoredRun) around(next flow.Service, of string) flow.Service {
	if o == nil {
		return next
	}
	return rescoring{next, o.doc.Run.Models, o.from.AskJudges, of}
}

// Check reports trials without an answer, and answers without a trial.
func (o *rescoredRun) Check(plan *runner.Plan) error {
	var there map[gate.ArmCase]bool // made when it is wanted: mostly every trial has an answer
	var found, changed, added int
	for t := range plan.Trials() {
		if _, ok := gate.FindTrial(o.doc, &t.Trial); ok {
			found++
			continue
		}
		if there == nil {
			there = map[gate.ArmCase]bool{}
			for i := range o.doc.Len() {
				k := o.doc.Indexed(i)
				there[gate.ArmCase{Suite: k.Suite, Case: k.Case, Arm: k.Arm}] = true
			}
		}
		if there[gate.ArmCase{Suite: t.Suite, Case: t.Case, Arm: t.Arm}] {
			changed++
		} else {
			added++
		}
	}
	otherwise := fmt.Sprintf("%d %s a different request now, %d %s new", changed, diag.Verb(changed, "has", "have"), added,
		diag.Verb(added, "is", "are"))
	if found == 0 && o.doc.Len() > 0 && plan.Size() > 0 {
		return eval.BadInput(
			"no trial of the suites has an answer in %s: %s; scorers may change freely, prompts, targets and variables "+
				"may not", o.doc.Run.ID, otherwise,
		)
	}
	if changed+added > 0 {
		o.notice(fmt.Sprintf("warning: %s without an answer in %s: %s; `%s` runs them",
			diag.Count(changed+added, "trial"), o.doc.Run.ID, otherwise, o.remedy))
	}
	if gone := o.doc.Len() - found - changed; gone > 0 {
		o.notice(fmt.Sprintf("%s of %s left out: the suites no longer have them", diag.Count(gone, "trial"), o.doc.Run.ID))
	}
	return nil
}

// Earlier returns the answer to score again. A trial without one keeps its result, and a trial that the run does not have
// is a skip.
func (o *rescoredRun) Earlier(t *runner.Planned) runner.EarlierTrial {
	ended := func(how eval.Ending) runner.EarlierTrial {
		return runner.FinalResult{Result: &eval.Result{Ending: how, Scores: []eval.Score{}}}
	}
	never := func(why string) runner.EarlierTrial { return ended(eval.Skipped{Reason: why}) }
	place, ok := gate.FindTrial(o.doc, &t.Trial)
	if !ok {
		return never("not run: " + o.doc.Run.ID + " has no answer to the current request")
	}
	r, err := o.doc.Trial(place)
	switch {
	case err != nil:
		return never("its answer in " + o.doc.Run.ID + " cannot be read")
	case r.Ending == eval.SkippedDecided{}: // by the current scores the verdict may be another one
		return never("not run: the verdict was known")
	case r.Outcome() == eval.Skip:
		return ended(r.Ending)
	case r.Response != nil && (r.Err() == nil || r.Err().Kind != eval.KindNoCandidates):
		r.Workspace = o.workspace(r)
		return runner.AnsweredTrial{Result: r}
	}
	if r.Request != nil {
		r.Request = &t.Request
	}
	return runner.FinalResult{Result: r}
}

// workspace is where the program of a trial has worked, "" where that is gone.
func (o *rescoredRun) workspace(r *eval.Result) string {
	if r.Workspace == "" {
		return ""
	}
	run, err := filepath.Abs(filepath.Dir(o.doc.Path()))
	if err != nil {
		return ""
	}
	root, err := os.OpenRoot(run)
	if err != nil {
		return ""
	}
	defer root.Close() //nolint:errcheck // it was only read
	name := filepath.FromSlash(r.Workspace)
	if info, err := root.Stat(name); err != nil || !info.IsDir() { // nor does a link lead out of the run
		return ""
	}
	return filepath.Join(run, name)
}

// rescoring is the service of a rescore: it embeds, calls judges if it may, and calls no model for an answer.
type rescoring struct {
	flow.Service
	models []eval.Model // as the service described them then
	judges bool         // whether judges may be called
	of     string       // name of the service
}

// judgeOffline makes the services of a session that sends nothing.
func (o *rescoredRun) judgeOffline() (func(of string) flow.Service, error) {
	store, err := flow.Open("")
	return func(of string) flow.Service {
		return rescoring{flow.Replay(store, nil, of), o.doc.Run.Models, false, of}
	}, err
}

func (o rescoring) Generate(ctx context.Context, call *eval.Call) (*eval.Response, error) {
	switch {
	case call.Judge != "" && o.judges:
		return o.Service.Generate(ctx, call)
	case call.Judge != "":
		return nil, flow.NeverCalled(call.Judge, ", and rescore calls no judge: `evalrun rescore RUN --ask-judges` does")
	}
	return nil, eval.Errorf(eval.KindReplayMiss, "rescore requests no answers")
}

func (o rescoring) Model(ctx context.Context, apiVersion, id string) (*eval.Model, error) {
	for i := range o.models {
		if m := o.models[i]; m.ID() == id && m.APIVersion == apiVersion && m.Service == o.of {
			return &m, nil
		}
	}
	return o.Service.Model(ctx, apiVersion, id)
}
