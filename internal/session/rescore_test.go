package session

import (
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/testing/expect"
	"github.com/evalrun/evalrun/runner"
)

// rescored loads a run to score it again, by suites or by those of the run.
func (s *site) rescored(run string, f Options, suites ...string) (*Loaded, error) {
	f.Rescore = run
	return Load(s.given(f, suites...))
}

// rescore scores the answers of a run again, by suites or by those of the run.
func (s *site) rescore(run, out string, f Options, suites ...string) error {
	f.Out = out
	l, err := s.rescored(run, f, suites...)
	if err != nil {
		return err
	}
	j, err := l.Settle()
	if err != nil {
		return err
	}
	return s.carryOut(j)
}

// Rescore applies the current scorers to the recorded answers. It needs no service and no key, and the run stays as it is.
func TestRescoreKeepsAnswersAndMakesNoCall(t *testing.T) {
	t.Parallel()
	s := ranFour(t)
	file, calls := s.read("run/run.jsonl"), s.calls()
	delete(s.env, "EVALRUN_BASE_URL")
	delete(s.env, "EVALRUN_API_KEY")
	s.write("s.yaml", strings.Replace(fourSuite, "contains: x", "contains: b", 1))
	if err := s.rescore("run", "again", Options{}); err != nil {
		t.Fatal(err)
	}
	want := map[string]eval.Outcome{"one#1": eval.Fail, "two#1": eval.Fail, "three#1": eval.Pass, "four#1": eval.Fail}
	if diff := cmp.Diff(want, s.outcomes("again")); diff != "" {
		t.Errorf("outcomes (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(s.texts("run"), s.texts("again")); diff != "" {
		t.Errorf("answers (-run +again), want no difference:\n%s", diff)
	}
	if diff := cmp.Diff(file, s.read("run/run.jsonl")); diff != "" {
		t.Errorf("the run file (-before +after), want no difference:\n%s", diff)
	}
	run, second := s.open("run"), s.open("again")
	if second.Run.RescoredFrom != run.Run.ID || second.Run.ID == run.Run.ID || second.Spent.Attempts != 0 || second.Partial() {
		t.Errorf("rescored from %s with %d calls, want %s with none, complete", second.Run.RescoredFrom, second.Spent.Attempts, run.Run.ID)
	}
	if err := s.rescore("again", "third", Options{}); err != nil { // the answers are still those of the first
		t.Fatal(err)
	}
	if got := s.open("third").Run.RescoredFrom; got != run.Run.ID {
		t.Errorf("scored again twice: the answers are said to be those of %s, want %s", got, run.Run.ID)
	}
	if got := s.calls(); got != calls {
		t.Errorf("%d calls were made, want none", got-calls)
	}
}

// Rescore takes the selection and the variables of the run, also with another suite file.
func TestRescoreUsesSelectionAndVariablesOfTheRun(t *testing.T) {
	t.Parallel()
	s := newSite(t, "")
	s.write("s.yaml", fourSuite)
	s.run("run", eval.Options{
		Vars: map[string]string{"w": "flag"}, SelectionOptions: eval.SelectionOptions{Cases: []string{"t*"}, Repeats: 2},
	}, "s.yaml")
	s.write("other.yaml", strings.Replace(fourSuite, "contains: x", "contains: flag", 1))
	if err := s.rescore("run", "again", Options{}, "other.yaml"); err != nil {
		t.Fatal(err)
	}
	want := map[string]eval.Outcome{"two#1": eval.Pass, "two#2": eval.Pass, "three#1": eval.Pass, "three#2": eval.Pass}
	if diff := cmp.Diff(want, s.outcomes("again")); diff != "" {
		t.Errorf("outcomes (-want +got):\n%s", diff)
	}
}

// A trial whose request has changed is skipped, never sent, and the notice names the command that sends it.
func TestRescoreSkipsTrialsWithAnotherRequest(t *testing.T) {
	t.Parallel()
	s := ranFour(t)
	calls := s.calls()
	changed := strings.Replace(fourSuite, "x4", "x5", 1)
	changed = strings.Replace(changed, "{name: two, vars: {w: x2}}", "{name: five, vars: {w: x6}}", 1)
	s.write("s.yaml", changed)
	if err := s.rescore("run", "again", Options{}); err != nil {
		t.Fatal(err)
	}
	want := map[string]eval.Outcome{"one#1": eval.Pass, "three#1": eval.Fail, "four#1": eval.Skip, "five#1": eval.Skip}
	if diff := cmp.Diff(want, s.outcomes("again")); diff != "" {
		t.Errorf("outcomes (-want +got):\n%s", diff)
	}
	if !s.open("again").Partial() {
		t.Error("the run is complete, although trials were skipped, want it partial")
	}
	notices := strings.Join(s.notices, "\n")
	for _, want := range []string{"2 trials", "1 have a different request", "1 are new", "evalrun run s.yaml --changed-since", "1 trial of"} {
		if !strings.Contains(notices, want) {
			t.Errorf("notices: got\n%s\nwant them to contain %q", notices, want)
		}
	}
	s.write("s.yaml", strings.Replace(fourSuite, "say", "tell", 1)) // nothing is as it was
	s.refused(s.rescore("run", "nothing", Options{}), eval.CodeBadInput, s.open("run").Run.ID, "4 have a different request")
	if _, err := os.Stat(s.at.Join("nothing")); err == nil {
		t.Error("there is a run directory of a rescore that was refused, want none")
	}
	if got := s.calls(); got != calls {
		t.Errorf("%d calls were made, want none", got-calls)
	}
}

// An error without an answer stays that error.
func TestRescoreKeepsErrorsWithoutAnAnswer(t *testing.T) {
	t.Parallel()
	s := newSite(t, `rules: [{match: {text: "*b3*"}, reply: b3, faults: [{status: 400, message: bad b3}]}]`)
	s.write("s.yaml", fourSuite)
	s.run("run", eval.Options{}, "s.yaml")
	if err := s.rescore("run", "again", Options{}); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(s.outcomes("run"), s.outcomes("again")); diff != "" {
		t.Errorf("outcomes (-run +again), want no difference:\n%s", diff)
	}
	for r, err := range s.open("again").Trials() {
		if err != nil {
			t.Fatal(err)
		}
		if r.Case == "three" && (r.Err() == nil || r.Err().Kind != eval.KindStatus || !strings.Contains(r.Err().Message, "bad b3")) {
			t.Errorf("three has the error %v, want the one of the run", r.Err())
		}
	}
}

// A run that cannot be rescored is refused with what to do. No directory is made.
func TestRescoreRefusesWithWhatToDo(t *testing.T) {
	t.Parallel()
	s := ranFour(t)
	s.run("private", eval.Options{NoContent: true}, "s.yaml")
	s.run("running", eval.Options{LimitOptions: eval.LimitOptions{Concurrency: 1}}, "s.yaml")
	s.keep("running", s.linesUntil("running", 2), "")
	writer, err := Reopen("running", s.given(Options{}))
	if err != nil {
		t.Fatal(err)
	}
	defer writer.Close()
	s.write("asks.yaml", strings.Replace(fourSuite, "{contains: x}", "{similar: {to: x, min: 0.5}}", 1))
	s.refused(s.rescore("nothing", "out", Options{}), eval.CodeBadInput, "nothing")
	s.refused(s.rescore("private", "out", Options{}), eval.CodeBadInput, "private", "--no-content")
	s.refused(s.rescore("running", "out", Options{}), eval.CodeBadInput, "running")
	s.refused(s.rescore("run", "out", Options{}, "gone.yaml"), eval.CodeBadInput, "gone.yaml")
	delete(s.env, "EVALRUN_API_KEY")
	s.refused(s.rescore("run", "out", Options{}, "asks.yaml"), eval.CodeBadInput, "embeddings", "EVALRUN_API_KEY")
	if err := os.Remove(s.at.Join("s.yaml")); err != nil {
		t.Fatal(err)
	}
	s.refused(s.rescore("run", "out", Options{}), eval.CodeBadInput, "--suite FILE")
	if _, err := os.Stat(s.at.Join("out")); err == nil {
		t.Error("there is a run directory of a rescore that was refused, want none")
	}
}

// The programs in a run of another user start only with --trust, never with --untrusted.
func TestRescoreStartsNoProgramOfAnotherUser(t *testing.T) {
	t.Parallel()
	s := newSite(t, "")
	s.write("mark.sh", "#!/bin/sh\ntouch \"$(dirname \"$0\")/started\"\necho '{\"value\": 1}'\n")
	if err := os.Chmod(s.at.Join("mark.sh"), 0o700); err != nil {
		t.Fatal(err)
	}
	s.write("s.yaml", strings.Replace(fourSuite, "{contains: x}", "{exec: [./mark.sh]}", 1))
	s.run("run", eval.Options{}, "s.yaml")
	expect.OK(t, os.Remove(s.at.Join("started")))
	s.env["EVALRUN_TRUST_KEY"] = "fedcba9876543210"
	s.refused(s.rescore("run", "out", Options{}), eval.CodeBadInput, "mark.sh", "--trust", "--untrusted")
	s.refused(s.rescore("run", "out", Options{Options: eval.Options{Untrusted: true}}), eval.CodeBadInput, "exec")
	if _, err := os.Stat(s.at.Join("started")); err == nil {
		t.Fatal("the program was started, want it not started")
	}
	if err := s.rescore("run", "out", Options{Caller: runner.Caller{Trust: true}}); err != nil {
		t.Errorf("with --trust: %v, want no error", err)
	}
	if _, err := os.Stat(s.at.Join("started")); err != nil {
		t.Error("the program was not started with --trust, want it started")
	}
}
