package session

import (
	"bytes"
	"io/fs"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/evalrun/evalrun/eval"
)

// holding lists the files of a run in which a text is.
func (s *site) holding(run, text string) (names []string) {
	s.Helper()
	below := os.DirFS(s.at.Join(run))
	err := fs.WalkDir(below, ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		data, err := fs.ReadFile(below, name)
		if bytes.Contains(data, []byte(text)) {
			names = append(names, name)
		}
		return err
	})
	if err != nil {
		s.Fatal(err)
	}
	return names
}

// The key is in no file of a run, even if the service repeats it. With --no-content prompts, answers and variables are not either.
func TestRunKeepsSecretsOutOfFiles(t *testing.T) {
	t.Parallel()
	s := newSite(t, `rules:
  - {match: {text: "*b3*"}, faults: [{status: 400, message: "no `+siteKey+` here"}]}
  - {reply: "answer-42 {{.prompt}}"}
`)
	s.write("s.yaml", fourSuite)
	s.run("open", eval.Options{}, "s.yaml")
	s.run("private", eval.Options{NoContent: true, Vars: map[string]string{"w": "x-variable"}}, "s.yaml")
	for _, run := range []string{"open", "private"} {
		if names := s.holding(run, siteKey); names != nil {
			t.Errorf("%s: the key is in %v, want it in none", run, names)
		}
	}
	for _, text := range []string{"say", "answer-42", "x-variable"} {
		if names := s.holding("private", text); names != nil {
			t.Errorf("without content %q is in %v, want it in none", text, names)
		}
	}
	if names := s.holding("open", "answer-42"); len(names) != 1 {
		t.Errorf("with content the answers are in %v, want the run file", names)
	}
	if diff := cmp.Diff(fourSuite, s.read("open/suites/0/s.yaml")); diff != "" {
		t.Errorf("the copy of the suite (-want +got):\n%s", diff)
	}
}

// A budget of calls is never overrun, also with retries and many calls at once. What is left is skipped and not failed.
func TestRunNeverOverrunsABudgetOfCalls(t *testing.T) {
	t.Parallel()
	for _, concurrency := range []int{1, 8} {
		s := newSite(t, `rules: [{match: {regex: '[13]'}, reply: x, faults: [{malformed: true, first: 1}]}]`)
		s.write("s.yaml", fourSuite)
		s.run("run", eval.Options{
			LimitOptions:     eval.LimitOptions{BudgetCalls: 5, Concurrency: concurrency},
			SelectionOptions: eval.SelectionOptions{Repeats: 3},
		}, "s.yaml")
		doc := s.open("run")
		if got := s.generated(); got > 5 || doc.Spent.Attempts != int(got) {
			t.Errorf("%d at once: %d calls and %d in the run file, want the same and at most 5", concurrency, got, doc.Spent.Attempts)
		}
		if c := doc.Summary.Counts; c.Skip == 0 || c.Total() != 12 || doc.End.Reason != eval.EndBudget || !doc.Partial() {
			t.Errorf("%d at once: %+v, ended for %s, want 12 trials with some skipped, for the budget", concurrency, c, doc.End.Reason)
		}
	}
}

// A run that ends early records why, and is incomplete.
func TestRunEndsEarlyWithItsReason(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		script string
		limits eval.LimitOptions
		want   eval.EndReason
		says   string
		most   int // calls, including the ones under way when the run is stopped
	}{
		"failures":   {`rules: [{reply: wrong}]`, eval.LimitOptions{MaxFailures: 2}, eval.EndMaxFailures, "2", 4},
		"a lost key": {`rules: [{reply: x, faults: [{status: 401}]}]`, eval.LimitOptions{}, eval.EndStopped, "EVALRUN_API_KEY", 3},
		"no access":  {`rules: [{reply: x, faults: [{status: 403}]}]`, eval.LimitOptions{}, eval.EndStopped, "EVALRUN_API_KEY", 3},
	} {
		s := newSite(t, test.script)
		s.write("s.yaml", fourSuite)
		test.limits.Concurrency = 1
		s.run("run", eval.Options{LimitOptions: test.limits, SelectionOptions: eval.SelectionOptions{Repeats: 5}}, "s.yaml")
		doc := s.open("run")
		if doc.End.Reason != test.want || !strings.Contains(doc.End.Message, test.says) || doc.Summary.Counts.Skip == 0 || !doc.Partial() {
			t.Errorf("%s: %+v, want an incomplete run that ended for %s with %q", name, doc.End, test.want, test.says)
		}
		if got := s.generated(); got > int64(test.most) {
			t.Errorf("%s: %d generate calls of 20 trials, want at most %d", name, got, test.most)
		}
	}
}

// interrupting sends a signal after some results.
type interrupting struct {
	unwatched
	after   int
	signals chan os.Signal
}

func (p *interrupting) Done(*eval.Result, eval.Spent) {
	if p.after--; p.after == 0 {
		p.signals <- os.Interrupt
	}
}

// A signal leaves a whole run file. Resuming it sends the rest and nothing that was judged.
func TestRunThatIsInterruptedCanBeResumed(t *testing.T) {
	t.Parallel()
	s := newSite(t, `rules: [{match: {text: "*"}, reply: "{{.prompt}}", latency: 1ms}]`)
	s.write("s.yaml", fourSuite)
	many := eval.SelectionOptions{Repeats: 50}
	j, err := s.settle(Options{Options: eval.Options{
		Out: "run", SelectionOptions: many, LimitOptions: eval.LimitOptions{Concurrency: 2},
	}}, "s.yaml")
	if err != nil {
		t.Fatal(err)
	}
	session, err := Connect(j, "test", s.notice)
	if err != nil {
		t.Fatal(err)
	}
	defer session.Close()
	plan, err := session.Plan(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	user := &interrupting{after: 10, signals: make(chan os.Signal, 1)}
	if _, err := session.Run(t.Context(), plan, user, user.signals); err != nil {
		t.Fatal(err)
	}
	doc := s.open("run")
	judged := doc.Summary.Counts.Pass + doc.Summary.Counts.Fail
	if doc.End.Reason != eval.EndInterrupted || doc.End.Signal == "" || judged < 10 || judged == 200 || len(doc.Damaged) > 0 {
		t.Fatalf("got %+v, %d judged, the damage %v; want an interrupted run, 10 to 199, and none", doc.End, judged, doc.Damaged)
	}
	before := s.generated()
	if _, err := s.resume("run", Options{}, false); err != nil {
		t.Fatal(err)
	}
	if got := s.generated() - before; got != int64(200-judged) {
		t.Errorf("got %d generate calls after %d judged trials, want the rest of 200", got, judged)
	}
	if n := len(s.outcomes("run")); n != 200 || s.open("run").Partial() {
		t.Errorf("%d trials, want all 200 in a complete run", n)
	}
}

// A directory that holds a run already is refused, and that run stays.
func TestRunRefusesADirectoryWithARun(t *testing.T) {
	t.Parallel()
	s := ranFour(t)
	file := s.read("run/run.jsonl")
	generated := s.generated()
	err := s.try(Options{Options: eval.Options{Out: "run"}}, "s.yaml")
	s.refused(err, eval.CodeBadInput, "run")
	if s.read("run/run.jsonl") != file || s.generated() != generated {
		t.Errorf("the run has changed, or %d generate calls were made, want neither", s.generated()-generated)
	}
}

// Replaying gives the recorded run without a service. A request without a recorded answer is an error and not a call.
func TestReplayMakesNoCall(t *testing.T) {
	t.Parallel()
	s := newSite(t, "")
	s.write("s.yaml", fourSuite)
	recorded := eval.Options{Out: "run", SourceOptions: eval.SourceOptions{Record: s.at.Join("rec")}}
	j, err := s.settle(Options{Options: recorded}, "s.yaml")
	if err != nil {
		t.Fatal(err)
	}
	session, err := Connect(j, "test", s.notice)
	if err != nil {
		t.Fatal(err)
	}
	defer session.Close()
	plan, err := session.Plan(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	dir, err := session.Run(t.Context(), plan, unwatched{}, nil)
	if err == nil {
		err = session.Record(dir)
	}
	if err != nil {
		t.Fatal(err)
	}
	calls := s.calls()
	delete(s.env, "EVALRUN_API_KEY")
	replay := eval.Options{SourceOptions: eval.SourceOptions{Replay: s.at.Join("rec")}}
	s.run("same", replay, "s.yaml")
	if diff := cmp.Diff(s.trialsOfRun("run"), s.trialsOfRun("same")); diff != "" {
		t.Errorf("trials (-recorded +replayed), want no difference:\n%s", diff)
	}
	s.write("s.yaml", strings.Replace(fourSuite, "x4", "x5", 1))
	s.run("missed", replay, "s.yaml")
	want := map[string]eval.Outcome{"one#1": eval.Pass, "two#1": eval.Pass, "three#1": eval.Fail, "four#1": eval.Err}
	if diff := cmp.Diff(want, s.outcomes("missed")); diff != "" {
		t.Errorf("outcomes with a changed case (-want +got):\n%s", diff)
	}
	if got := s.calls(); got != calls {
		t.Errorf("%d calls were made, want none", got-calls)
	}
}
