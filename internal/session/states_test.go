package session

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/testing/expect"
	"github.com/evalrun/evalrun/journal"
	"github.com/evalrun/evalrun/suite"
)

// ranFour is a site with a whole run of fourSuite in the directory run. One call at a time leaves nothing under way between two lines.
func ranFour(t *testing.T) *site {
	t.Helper()
	s := newSite(t)
	s.write("s.yaml", fourSuite)
	s.run("run", eval.Options{LimitOptions: eval.LimitOptions{Concurrency: 1}}, "s.yaml")
	if diff := cmp.Diff(fourOutcomes, s.outcomes("run")); diff != "" {
		t.Fatalf("outcomes (-want +got):\n%s", diff)
	}
	return s
}

// linesUntil is how many lines the file of the run "run" has up to the given number of settled trials.
func (s *site) linesUntil(trials int) int {
	s.Helper()
	for i, line := range strings.Split(s.read("run/run.jsonl"), "\n") {
		if strings.HasPrefix(line, `{"type":"trial"`) {
			trials--
		}
		if trials == 0 {
			return i + 1
		}
	}
	s.Fatal("the run has fewer trials")
	return 0
}

// Resuming a killed run sends what is missing and nothing that was judged, wherever the last line was cut.
func TestResumeOfAKilledRunSendsOnlyWhatIsMissing(t *testing.T) {
	t.Parallel()
	for name, torn := range map[string]string{
		"between lines": "", "in a line": `{"type":"trial","n":2,"id":"abc","outc`, "in a character": "{\"type\":\"trial\",\"case\":\"\xe2\x82",
	} {
		for _, settled := range []int{1, 3} {
			s := ranFour(t)
			s.keep("run", s.linesUntil(settled), torn)
			before := s.generated()
			todo, err := s.resume("run", Options{})
			if err != nil {
				t.Fatalf("%s after %d: %v, want no error", name, settled, err)
			}
			if todo.Settled != settled || todo.Settled+todo.Rescore+todo.Send != 4 {
				t.Errorf("%s after %d: %+v, want %d settled of 4", name, settled, todo, settled)
			}
			if got := s.generated() - before; got != int64(todo.Send) || got > int64(4-settled) {
				t.Errorf("%s after %d: %d generate calls, want %d", name, settled, got, todo.Send)
			}
			expect.Same(t, fmt.Sprint(name, " after ", settled), s.outcomes("run"), fourOutcomes)
			if s.open("run").Partial() {
				t.Errorf("%s after %d: the run is not complete, want it complete", name, settled)
			}
		}
	}
}

// A line that was damaged costs its own trial and no other: the run is incomplete until that is sent again.
func TestResumeSendsADamagedTrialAgain(t *testing.T) {
	t.Parallel()
	s := ranFour(t)
	name := filepath.Join("run", journal.FileName)
	all := strings.SplitAfter(s.read(name), "\n")
	at := s.linesUntil(2) - 1
	all[at] = strings.Replace(all[at], `"outcome":"pass"`, `"outcome":"fail"`, 1)
	s.write(name, strings.Join(all, ""))
	doc := s.open("run")
	if !doc.Partial() || len(doc.Damaged) != 1 || doc.Len() != 3 {
		t.Errorf("%d trials, %v, want 3 and one damaged line", doc.Len(), doc.Damaged)
	}
	before := s.generated()
	if _, err := s.resume("run", Options{}); err != nil {
		t.Fatal(err)
	}
	expect.Same(t, "outcomes", s.outcomes("run"), fourOutcomes)
	if got := s.generated() - before; got > 1 {
		t.Errorf("%d generate calls, want 1 at most", got)
	}
}

// A run that cannot be resumed is refused with the reason. No call is made and the file stays as it is.
func TestResumeRefusesAndChangesNothing(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		change func(*site)
		flags  Options
		says   []string
	}{
		"of a later version": {
			change: func(s *site) { s.reseal("run", `"version":1`, `"version":999`) },
			says:   []string{"999", "reads up to"},
		},
		"of no version": {change: func(s *site) { s.reseal("run", `"version":1`, `"version":0`) }, says: []string{"version 0"}},
		"with another copy of the suite": {
			change: func(s *site) { s.write("run/suites/0/s.yaml", strings.Replace(fourSuite, "x4", "x5", 1)) },
			says:   []string{"s.yaml"},
		},
		"without its copy of the suite": {
			change: func(s *site) {
				expect.OK(s, os.RemoveAll(s.at.Join("run/suites")))
			},
			says: []string{"s.yaml"},
		},
		"to another address": {
			flags: Options{Options: eval.Options{ServiceOptions: eval.ServiceOptions{BaseURL: "https://elsewhere.example"}}},
			says:  []string{"https://elsewhere.example", "--untrusted"},
		},
		"of another user": {
			change: func(s *site) { s.env["EVALRUN_TRUST_KEY"], s.env["EVALRUN_BASE_URL"] = "fedcba9876543210", "" },
			says:   []string{"--trust", "http://127.0.0.1"},
		},
		"whose address was changed": {
			change: func(s *site) { s.reseal("run", `"baseUrl":"http://127.0.0.1`, `"baseUrl":"http://127.0.0.2`) },
			says:   []string{"--trust", "http://127.0.0.2"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := ranFour(t)
			s.keep("run", s.linesUntil(2), "")
			if test.change != nil {
				test.change(s)
			}
			file, calls := s.read("run/run.jsonl"), s.calls()
			_, err := s.resume("run", test.flags)
			s.refused(err, eval.CodeBadInput, test.says...)
			expect.Same(t, "the run file", s.read("run/run.jsonl"), file)
			expect.Same(t, "calls", s.calls(), calls)
		})
	}
}

// A name without a run is bad input that names the newest one.
func TestResumeOfNothingNamesTheLatestRun(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.write("s.yaml", fourSuite)
	_, err := s.resume("nothing", Options{})
	s.refused(err, eval.CodeBadInput, "nothing")
	s.run("", eval.Options{}, "s.yaml")
	_, err = s.resume("nothing", Options{})
	s.refused(err, eval.CodeBadInput, "nothing", s.at.IDs()[0])
	if _, err := s.resume("latest", Options{}); err != nil {
		t.Errorf("latest: %v, want no error", err)
	}
}

// Only one process at a time continues a run.
func TestResumeOfARunInProgressIsRefused(t *testing.T) {
	t.Parallel()
	s := ranFour(t)
	s.keep("run", s.linesUntil(2), "")
	first, err := Reopen("run", s.given(Options{}))
	expect.OK(t, err)
	_, err = s.resume("run", Options{})
	s.refused(err, eval.CodeBadInput)
	first.Close()
	if _, err := s.resume("run/run.jsonl", Options{}); err != nil { // the file names its directory
		t.Errorf("once the first has let go: %v, want no error", err)
	}
}

// New limits win over those of the run, and those over the suite's.
func TestResumeTakesNewLimits(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.write("s.yaml", strings.Replace(fourSuite, "\ntargets", "\nlimits: {timeout: 7s, attempts: 2}\ntargets", 1))
	s.run("run", eval.Options{LimitOptions: eval.LimitOptions{BudgetCalls: 2, Concurrency: 1, Attempts: 3}}, "s.yaml")
	more := eval.Options{LimitOptions: eval.LimitOptions{BudgetCalls: 100, Concurrency: 5}}
	r, err := Reopen("run", s.given(Options{Options: more}))
	expect.OK(t, err)
	defer r.Close()
	l, err := r.Load()
	expect.OK(t, err)
	j, err := r.Settle(l)
	expect.OK(t, err)
	want := suite.Limits{
		Concurrency: 5, BudgetCalls: 100, Timeout: 7 * time.Second, Attempts: 3, CountTokens: suite.CountAuto, BatchWait: 24 * time.Hour,
	}
	expect.Same(t, "result", j.Settings.Limits, want)
}

// A live chat continues with the turn that is missing, after a spent budget and after a kill.
func TestResumeContinuesAChatWithItsNextTurn(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.write("chat.yaml", `version: 1
name: chat
targets: [{name: t, model: svc-pro}]
prompts: [{name: p, live: true, turns: [{user: one}, {user: two}, {user: three}]}]
cases: [{name: c, scorers: [{contains: three}]}]
`)
	before := s.generated()
	s.run("chat", eval.Options{LimitOptions: eval.LimitOptions{BudgetCalls: 2}}, "chat.yaml")
	if got := s.outcomes("chat")["c#1"]; got != eval.Err || s.generated() != before+2 {
		t.Fatalf("the chat is %s after %d calls, want an error after 2 turns", got, s.generated()-before)
	}
	more := eval.Options{LimitOptions: eval.LimitOptions{BudgetCalls: 100}}
	if _, err := s.resume("chat", Options{Options: more}); err != nil {
		t.Fatal(err)
	}
	if got := s.outcomes("chat")["c#1"]; got != eval.Pass || s.generated() != before+3 {
		t.Errorf("the chat is %s after %d calls in all, want a pass after 3", got, s.generated()-before)
	}
	s.run("killed", eval.Options{}, "chat.yaml")
	lines := strings.SplitAfter(s.read("killed/run.jsonl"), "\n")
	second := slices.IndexFunc(lines, func(line string) bool {
		return strings.HasPrefix(line, `{"type":"answer"`) && strings.Contains(line, `"turn":2`)
	})
	s.keep("killed", second+1, "")
	before = s.generated()
	if _, err := s.resume("killed", Options{}); err != nil {
		t.Fatal(err)
	}
	if got := s.outcomes("killed")["c#1"]; got != eval.Pass || s.generated() != before+1 {
		t.Errorf("the killed chat is %s after %d more calls, want a pass after 1", got, s.generated()-before)
	}
}
