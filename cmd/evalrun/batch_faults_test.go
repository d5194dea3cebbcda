package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/evalrun/evalrun/internal/testing/expect"
)

func plainBatchSuite(protocol, address string) string {
	return "version: 1\nname: s\nservices: {v: {protocol: " + protocol + ", baseUrl: '" + address + batchProtocols[protocol] +
		"', keyEnv: V_API_KEY}}\ntargets: [{name: t, service: v, model: m}]\nprompts: [{name: p, text: 'question {{.x}}'}]\n" +
		"limits: {countTokens: never}\ndefaults: {scorers: [{contains: answer}]}\n" +
		"cases: [{name: a, vars: {x: a}}, {name: b, vars: {x: b}}, {name: c, vars: {x: c}}]\n"
}

// Each fault of a batch is a message and an outcome, in every protocol. What has no answer is sent again by the next resume, and
// nothing else is.
func TestFaultsOfBatches(t *testing.T) {
	for fault, want := range map[string]struct {
		code  int      // of the resume that collects
		says  string   // in the run file, or on standard error
		then  []int    // exit codes of further resumes
		items int      // that the service is paid for in the end
		only  []string // protocols; nil: all
	}{
		"expired": {4, "expired", []int{5, 5, 0}, 4, nil},
		"refused": {4, "not allowed", []int{4}, 3, nil},
		"unknown": {4, "that the run did not send; they are not used", []int{5, 5, 0}, 4, nil},
		"missing": {4, "the service has no result for this item of the batch", []int{5, 5, 0}, 4, nil},
		"twice":   {0, "that it had answered already; the first answers count", []int{0}, 3, []string{"openai", "anthropic"}},
		"cut":     {5, "are not complete", []int{5, 5}, 3, []string{"openai", "anthropic"}},
	} {
		for protocol := range batchProtocols {
			if want.only != nil && !strings.Contains(strings.Join(want.only, " "), protocol) {
				continue
			}
			t.Run(fault+" "+protocol, func(t *testing.T) {
				t.Parallel()
				s := &batchService{spoil: func(batch, item int) string {
					if batch == 0 && item == 1 {
						return fault
					}
					return ""
				}}
				b := newBox(t, s, nil)
				b.env = append(b.env, "V_API_KEY=k")
				b.write("suite.yaml", plainBatchSuite(protocol, b.url))
				b.exits(5, "run", "suite.yaml", "--batch", "--out", "run")
				b.exits(5, "resume", "run")
				b.exits(want.code, "resume", "run")
				if said := b.out + b.errs + b.read("run/run.jsonl"); !strings.Contains(said, want.says) {
					t.Errorf("got no %q in what is said:\n%s", want.says, said)
				}
				for _, code := range want.then {
					b.exits(code, "resume", "run")
				}
				all, _ := s.all()
				expect.Same(t, "items", all, want.items)
			})
		}
	}
}

// A resume with another key, or of a batch that is gone, sends nothing again, and says what to do.
func TestBatchesThatAreGone(t *testing.T) {
	t.Parallel()
	s := &batchService{}
	b := newBox(t, s, nil)
	b.env = append(b.env, "V_API_KEY=k")
	b.write("suite.yaml", plainBatchSuite("openai", b.url))
	b.exits(5, "run", "suite.yaml", "--batch", "--out", "run")
	s.mu.Lock()
	s.batches = nil
	s.mu.Unlock()
	b.exits(4, "resume", "run")
	b.says("the service `v` does not know the batch b0: it was deleted")
	b.env = append(b.env, "V_API_KEY=another")
	b.exits(4, "resume", "run")
	b.says("it was submitted with another key")
	all, _ := s.all()
	expect.Same(t, "items", all, 3)
	b.exits(4, "resume", "run", "--live") // with the other key the batch may be there
	all, _ = s.all()
	expect.Same(t, "items", all, 3)
	// --live pays again, at the user's word: the stand-in refuses live calls
	b.env = append(b.env, "V_API_KEY=k")
	b.exits(4, "resume", "run", "--live")
	again, _ := s.all()
	expect.Same(t, "live calls are made", again > all, true)
}

// A submission whose reply is lost is found again: by its key, or, where the service keeps none, by what its results are for.
func TestBatchesWhoseSubmissionIsLost(t *testing.T) {
	for protocol := range batchProtocols {
		t.Run(protocol, func(t *testing.T) {
			t.Parallel()
			s := &batchService{loses: true, polls: 3}
			b := newBox(t, s, nil)
			b.env = append(b.env, "V_API_KEY=k")
			b.write("suite.yaml", plainBatchSuite(protocol, b.url))
			b.exits(5, "run", "suite.yaml", "--batch", "--out", "run")
			b.says("it is not known whether the service `v` has the batch")
			if protocol == "anthropic" {
				b.says("has 1 batch that may be of this run")
				b.exits(2, "resume", "run", "--live")
				b.says("--live is refused while it is not known which batches the service has")
			} else {
				b.says("found the batch")
			}
			b.exits(0, "resume", "run", "--wait")
			all, extra := s.all()
			expect.Same(t, "items, and items twice", [2]int{all, extra}, [2]int{3, 0})
		})
	}
}

// A service that says when to ask for a batch again is not asked before, however long the run waits.
func TestBatchesAreNotAskedForTooEarly(t *testing.T) {
	t.Parallel()
	s := &batchService{}
	var asked atomic.Int32
	b := newBox(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodGet || !strings.Contains(r.URL.Path, "/batches/") {
			s.ServeHTTP(w, r)
			return
		}
		asked.Add(1)
		w.Header().Set("Retry-After", "7200")
		w.WriteHeader(http.StatusServiceUnavailable)
	}), nil)
	b.env = append(b.env, "V_API_KEY=k")
	b.write("suite.yaml", strings.Replace(plainBatchSuite("openai", b.url), "limits: {", "limits: {batch: {wait: 4s}, ", 1))
	b.exits(5, "run", "suite.yaml", "--batch", "--wait", "--out", "run")
	expect.Same(t, "questions", asked.Load(), 1)
}

// A judge whose replies do not count is asked twice, as in a live run, and not by every resume.
func TestBatchesAskAJudgeTwice(t *testing.T) {
	t.Parallel()
	s := &batchService{ruling: "garbage"}
	b := batchBox(t, s, "anthropic", 1)
	b.exits(4, "run", "suite.yaml", "--batch", "--wait", "--out", "run")
	all, extra := s.all()
	expect.Same(t, "items, and items twice", [2]int{all, extra}, [2]int{7, 0}) // an answer, two turns, and two questions about each
}

// What is sent again in a batch is collected by a plain resume, whatever sent it.
func TestBatchesCollectWhatWasSentAgain(t *testing.T) {
	for _, protocol := range []string{"openai", "anthropic"} {
		t.Run(protocol, func(t *testing.T) {
			t.Parallel()
			s := &batchService{spoil: func(batch, item int) string {
				if batch == 0 && item == 1 {
					return "refused"
				}
				return ""
			}}
			b := newBox(t, s, nil)
			b.env = append(b.env, "V_API_KEY=k")
			b.write("suite.yaml", plainBatchSuite(protocol, b.url))
			b.exits(5, "run", "suite.yaml", "--batch", "--out", "run")
			b.exits(4, "resume", "run", "--wait")
			b.exits(5, "resume", "run", "--errors")
			b.exits(5, "resume", "run")
			b.exits(0, "resume", "run")
			all, _ := s.all()
			expect.Same(t, "items", all, 4)
		})
	}
}

// A run that stops early pays for the batches before the stop.
func TestBatchesGrowUntilAnEarlyStop(t *testing.T) {
	t.Parallel()
	s := &batchService{}
	b := newBox(t, s, nil)
	b.env = append(b.env, "V_API_KEY=k")
	var cases strings.Builder
	for i := range 80 {
		fmt.Fprintf(&cases, "  - {name: c%d, vars: {x: x%d}}\n", i, i)
	}
	suite, _, _ := strings.Cut(plainBatchSuite("openai", b.url), "cases:")
	suite += "cases:\n" + cases.String()
	b.write("suite.yaml", suite)
	b.exits(0, "run", "suite.yaml", "--batch", "--wait", "--out", "base")
	before, _ := s.all()
	expect.Same(t, "items", before, 80)
	s.says = "nothing"
	b.write("suite.yaml", suite+
		"gate: {baseline: {run: base, margin: 0.05, stopEarly: true}}\n")
	b.exits(1, "run", "suite.yaml", "--batch", "--wait", "--out", "stopped")
	after, _ := s.all()
	expect.Same(t, "items of the batch before the stop", after-before, 10)
	var report struct {
		Run struct{ Spent struct{ Calls int } }
	}
	b.exits(0, "report", "stopped", "-o", "json=stopped.json")
	expect.OK(t, json.Unmarshal([]byte(b.read("stopped.json")), &report))
	expect.Same(t, "calls in the account", report.Run.Spent.Calls, 10)
}

// An item that the service never answers holds up neither an early stop nor the run.
func TestBatchesOfAnEarlyStopGoOnAfterErrors(t *testing.T) {
	t.Parallel()
	s := &batchService{}
	b := newBox(t, s, nil)
	b.env = append(b.env, "V_API_KEY=k")
	suite, _, _ := strings.Cut(plainBatchSuite("openai", b.url), "cases:")
	suite += "cases:\n"
	for i := range 40 {
		suite += fmt.Sprintf("  - {name: c%d, vars: {x: x%d}}\n", i, i)
	}
	b.write("suite.yaml", suite)
	b.exits(0, "run", "suite.yaml", "--batch", "--wait", "--out", "base")
	s.spoil = func(_, item int) string {
		if item == 0 {
			return "expired"
		}
		return ""
	}
	b.write("suite.yaml", suite+"gate: {errors: {max: 0.5}, baseline: {run: base, margin: 0.3, stopEarly: true}}\n")
	before := s.sum()
	b.exits(4, "run", "suite.yaml", "--batch", "--wait", "--out", "run")
	b.says("in batches got no answer")
	if paid := s.sum() - before; paid > 40 {
		t.Errorf("got %d items of 40 cases, want none twice before the run has ended", paid)
	}
}
