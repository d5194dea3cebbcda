package main

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/evalrun/evalrun/internal/testing/expect"
)

// batchProtocols are the protocols that answer in batches, each with the address of a service.
var batchProtocols = map[string]string{"openai": "/v1", "responses": "/v1", "anthropic": "", "generative": ""}

// batchSuite is a suite whose answers are judged, and some of whose prompts are chats, in a protocol.
func batchSuite(protocol, address string, cases int) string {
	suite := "version: 1\nname: s\nservices: {v: {protocol: " + protocol + ", baseUrl: '" + address + batchProtocols[protocol] +
		"', keyEnv: V_API_KEY}}\ntargets: [{name: t, service: v, model: m, generationConfig: {maxOutputTokens: 100}}]\n" +
		"judges: [{name: j, service: v, model: m, generationConfig: {maxOutputTokens: 100}}]\n" +
		"prompts:\n  - {name: p, text: 'question {{.x}}'}\n  - {name: c, live: true, turns: [{user: 'first {{.x}}'}, {user: second}]}\n" +
		"limits: {countTokens: never}\ndefaults: {scorers: [{contains: answer}, {judge: {rubric: 'is {{.x}} fine?'}}]}\ncases:\n"
	for i := range cases {
		suite += fmt.Sprintf("  - {name: c%d, vars: {x: x%d}}\n", i, i)
	}
	return suite
}

func batchBox(t *testing.T, s *batchService, protocol string, cases int) *box {
	t.Helper()
	b := newBox(t, s, nil)
	b.env = append(b.env, "V_API_KEY=key-of-the-vendor")
	b.write("suite.yaml", batchSuite(protocol, b.url, cases))
	return b
}

// Whenever a process is killed, before, while and after it submits or collects: no item is paid twice, and none is lost.
func TestKilledBatchesPayNothingTwice(t *testing.T) {
	const cases = 6
	for protocol := range batchProtocols {
		t.Run(protocol, func(t *testing.T) {
			t.Parallel()
			kills := kills(t)
			rng := rand.New(rand.NewPCG(11, uint64(len(protocol))))
			for killed := 0; killed < kills; {
				s := &batchService{slow: 60 * time.Millisecond}
				b := batchBox(t, s, protocol, cases)
				killed += b.killBatches(rng, 5, 0, "run", "suite.yaml", "--batch", "--out", "killed")
				b.paidOnce(s, cases)
			}
		})
	}
}

// A budget is kept over all processes: what the batches of a killed one may cost is still reserved.
func TestKilledBatchesKeepTheBudget(t *testing.T) {
	const cases, calls = 6, 20 // of 30
	t.Parallel()
	s := &batchService{slow: 90 * time.Millisecond}
	b := batchBox(t, s, "openai", cases)
	killed := b.killBatches(
		rand.New(rand.NewPCG(3, 5)), kills(t), 4, "run", "suite.yaml", "--batch", "--out", "killed", "--budget-calls", fmt.Sprint(calls),
		"--budget-tokens", fmt.Sprint(110*calls),
	)
	all, extra := s.all()
	if all > calls || extra > 0 {
		t.Errorf("got %d calls, %d of them twice, after %d kills, want at most the budget of %d", all, extra, killed, calls)
	}
	b.says("the budget of ")
	if all < calls-4 { // a call may reserve more than its cost
		t.Errorf("got %d calls, want nearly the budget of %d; it says:\n%s", all, calls, b.out)
	}
	t.Logf("%d kills, %d calls", killed, all)
}

// killBatches runs a suite in batches until it ends with a code, and kills the first processes. It returns how many were killed.
func (b *box) killBatches(rng *rand.Rand, times, want int, args ...string) (killed int) {
	b.t.Helper()
	for rounds := 0; ; rounds++ {
		cmd := b.command(args...)
		var said strings.Builder
		cmd.Stdout, cmd.Stderr = &said, &said
		expect.OK(b.t, cmd.Start())
		if killed < times {
			after := time.Duration(rng.IntN(700)) * time.Millisecond
			timer := time.AfterFunc(after, func() { _ = cmd.Process.Kill() })
			defer timer.Stop()
		}
		_ = cmd.Wait()
		switch code := cmd.ProcessState.ExitCode(); {
		case code == -1:
			killed++
		case code == want:
			b.out = said.String()
			return killed
		case code != 5 || rounds > 60:
			b.t.Fatalf("%v: got exit code %d in round %d, want %d or 5; it says:\n%s", args, code, rounds, want, said.String())
		}
		if _, err := os.Stat(b.path("killed/run.jsonl")); err == nil {
			args = []string{"resume", "killed"}
		}
	}
}

// paidOnce compares the account of a run with what the service was paid for: per case an answer, two turns and two rulings.
func (b *box) paidOnce(s *batchService, cases int) {
	b.t.Helper()
	all, extra := s.all()
	b.exits(0, "report", "killed", "-o", "json=killed.json")
	var report struct {
		Run     struct{ Spent struct{ Calls, Tokens int } }
		Summary struct {
			Trials  int
			Pass    int
			Judging struct{ Calls int }
		}
	}
	expect.OK(b.t, json.Unmarshal([]byte(b.read("killed.json")), &report))
	expect.Same(b.t, "trials and passes", [2]int{report.Summary.Trials, report.Summary.Pass}, [2]int{2 * cases, 2 * cases})
	expect.Same(b.t, "items paid twice", extra, 0)
	expect.Same(b.t, "calls in the account", report.Run.Spent.Calls, all)
	expect.Same(b.t, "tokens in the account", report.Run.Spent.Tokens, 110*all)
	if found := strings.Contains(b.read("killed/run.jsonl"), "key-of-the-vendor"); found {
		b.t.Error("got the key in the run file, want it nowhere")
	}
	leftovers(b.t, b.path("killed"))
}

// leftovers wants no file of a batch in a run directory.
func leftovers(t *testing.T, dir string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	expect.OK(t, err)
	for _, one := range entries {
		if strings.HasPrefix(one.Name(), ".batch-") {
			t.Errorf("got the file %s in the run directory, want no leftovers", one.Name())
		}
	}
}
