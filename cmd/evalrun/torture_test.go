package main

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/testing/expect"
)

// tortureWorkers is how many calls may be under way, and so lost, when a run is killed.
const tortureWorkers = 16

// kills is how often the torture kills a run: a few times here, often in `make torture`.
func kills(t *testing.T) int {
	t.Helper()
	text := os.Getenv("EVALRUN_TORTURE_KILLS")
	if text == "" {
		return 6
	}
	n, err := strconv.Atoi(text)
	expect.OK(t, err)
	return n
}

// tortureSuite has enough trials to last for all kills.
const tortureSuite = `version: 1
name: s
targets: [{name: pro, model: svc-pro}]
prompts: [{name: p, text: "{{.x}}"}]
limits: {concurrency: %d}
defaults: {repeats: %d, scorers: [{contains: a}]}
cases: [{name: one, vars: {x: a}}, {name: two, vars: {x: ab}}, {name: three, vars: {x: b}}, {name: four, vars: {x: ba}}]
`

// Scenarios R1 and R2: a run that is killed again and again, also while it is being resumed, ends with every trial
// judged once and no journaled trial sent again. Its report is that of an undisturbed run.
func TestKilledAgainAndAgainEachTrialIsJudgedOnce(t *testing.T) {
	t.Parallel()
	repeats := max(150, 25*kills(t))
	s := newSoak(
		t, program(t), "rules: [{reply: \"{{.prompt}}\", latency: {p50: 3ms, p99: 20ms}}]\n",
		fmt.Sprintf(tortureSuite, tortureWorkers, repeats),
	)
	s.finish(1, "run", "suite.yaml", "--base-url", s.url, "--out", "whole", "-q", "-o", "jsonl=whole.jsonl")
	before := generated(t, s.url)
	killed := s.kill(kills(t), "run", "suite.yaml", "--base-url", s.url, "--out", "killed", "-q")
	s.finish(1, "resume", "killed", "-q", "-o", "jsonl=killed.jsonl")
	if extra := generated(t, s.url) - before - 4*repeats; extra < 0 || extra > killed*tortureWorkers {
		t.Errorf("got %d calls too many after %d kills, want at most one a worker and kill", extra, killed)
	}
	whole, second := readText(t, s.dir, "whole.jsonl"), readText(t, s.dir, "killed.jsonl")
	expect.Same(t, fmt.Sprintf("after %d kills", killed), timing.ReplaceAllString(second, ""), timing.ReplaceAllString(whole, ""))
	t.Logf("%d kills", killed)
}

// killedBudgets are budgets, with the bytes of each answer. A call reserves usualOutput tokens, which most of the long answers exceed.
var killedBudgets = map[string]struct {
	flag  string
	bytes int
	unit  float64 // of the budget for a call
}{
	"calls": {"--budget-calls", 4, 1}, "tokens": {"--budget-tokens", 15_000, usualOutput},
	"tokens that fall short": {"--budget-tokens", 24_000, usualOutput},
	"money that falls short": {"--budget-money", 24_000, usualOutput * moneyPerToken},
}

const (
	usualOutput   = 4096 // as the proxy reserves it
	killedAtOnce  = 4    // calls that may be under way
	moneyPerToken = 0.001
)

// However often a run of programs is killed, no call above its budget reaches the service, and every call is in the account. Tokens and
// money exceed it by no more than what the reservations of calls under way fell short.
func TestKilledProgramsKeepTheBudget(t *testing.T) {
	t.Parallel()
	evalrun := program(t)
	for name, of := range killedBudgets {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			script := fmt.Sprintf("usage: true\nrules: [{reply: %q, latency: {p50: 3ms, p99: 20ms}}]\n", strings.Repeat("abc ", of.bytes/4))
			models := newModelServer(func(err error) { expect.OK(t, err) }, "script.yaml", script)
			server := httptest.NewServer(models)
			defer server.Close()
			calls := 15 * kills(t)
			budget := float64(calls) * of.unit
			s := newSoak(t, evalrun, "rules: []\n", fmt.Sprintf(`version: 1
name: s
limits: {concurrency: %d}
prices: prices.json
services: {openai: {protocol: openai, baseUrl: "http://127.0.0.1:9/v1"}}
targets: [{name: t, program: {command: [sh, agent.sh], models: openai, sandbox: none, concurrency: %[1]d}}]
prompts: [{name: p, text: hello}]
cases: [{name: c, repeats: %d, scorers: [{contains: abc}]}]
`, killedAtOnce, 4*calls))
			prices := fmt.Sprintf(`{"currency": "EUR", "models": {"small": {"input": %g, "output": %[1]g}}}`, 1e6*moneyPerToken)
			expect.OK(t, os.WriteFile(filepath.Join(s.dir, "prices.json"), []byte(prices), 0o600))
			expect.OK(t, os.WriteFile(filepath.Join(s.dir, "agent.sh"), []byte(`curl -sf "$OPENAI_BASE_URL/chat/completions" \
  -H "Authorization: Bearer $OPENAI_API_KEY" -H 'Content-Type: application/json' \
  -d '{"model": "small", "messages": [{"role": "user", "content": "hello"}]}' | grep -o -m 1 abc`), 0o600))
			killed := s.kill(kills(t), "run", "suite.yaml", "--out", "killed", "-q", "--service", "openai.baseUrl="+server.URL+"/v1",
				of.flag, strconv.FormatFloat(budget, 'f', -1, 64))
			s.finish(4, "resume", "killed", "-q") // until the budget is spent
			var run struct {
				Spent eval.Spent `json:"spent"`
			}
			lines := strings.Split(strings.TrimSpace(readText(t, s.dir, "killed/run.jsonl")), "\n")
			expect.OK(t, json.Unmarshal([]byte(lines[len(lines)-1]), &run))
			served := models.account
			tokens := served.Prompt + served.Output
			short := float64(max(0, tokens/max(1, served.Calls)-usualOutput) * killedAtOnce * (killed + 1))
			got := map[string][3]float64{
				"--budget-calls":  {float64(served.Calls), float64(run.Spent.Attempts), 0},
				"--budget-tokens": {float64(tokens), float64(run.Spent.Tokens), short},
				"--budget-money":  {moneyPerToken * float64(tokens), run.Spent.Money, moneyPerToken * short},
			}[of.flag]
			if spent, booked, over := got[0], got[1], got[2]; spent > budget+over || spent == 0 || booked < spent-over {
				t.Errorf("%g were spent and %g booked, want at most %g and %g more, and all of them", spent, booked, budget, over)
			}
			t.Logf("%d kills, %d calls: %g of a budget of %g, %g booked, %g may fall short", killed, served.Calls, got[0], budget, got[1], got[2])
		})
	}
}

func (s *soak) finish(want int, args ...string) {
	s.t.Helper()
	if code, said := s.ends(s.command(args...)); code != want {
		s.t.Fatalf("evalrun %v: exit %d, want %d\n%s", args, code, want, said)
	}
}

// kill begins the run `killed` by a command and resumes it, and kills it each time, until it was killed so often or is done. It returns how
// often it was killed.
func (s *soak) kill(most int, args ...string) (killed int) {
	s.t.Helper()
	rng := rand.New(rand.NewPCG(1, 2))
	for killed < most {
		cmd := s.command(args...)
		expect.OK(s.t, cmd.Start())
		if killed > 0 { // the first kill may come before there is a run file
			s.await(filepath.Join(s.dir, "killed", "run.jsonl"))
		}
		time.Sleep(time.Duration(10+rng.IntN(90)) * time.Millisecond) // a moment like any other
		_ = cmd.Process.Kill()
		if err := cmd.Wait(); err == nil || cmd.ProcessState.ExitCode() != -1 {
			break // it was done, or done and its gate does not hold
		}
		killed++
		if _, err := os.Stat(filepath.Join(s.dir, "killed", "run.jsonl")); err == nil {
			args = []string{"resume", "killed", "-q"}
			s.finish(0, "report", "killed", "-o", "json=killed.json")
		}
	}
	return killed
}

// await waits until there is a file.
func (s *soak) await(path string) {
	s.t.Helper()
	for range 6000 {
		if _, err := os.Stat(path); err == nil {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	s.t.Fatalf("got no %s within a minute", path)
}

// generated is how many calls to generate the emulator has served.
func generated(t *testing.T, url string) int { return served(t, url)["generateContent"] }

func served(t *testing.T, url string) map[string]int {
	t.Helper()
	resp, err := http.Get(url + "/emulator/stats")
	expect.OK(t, err)
	defer resp.Body.Close()
	var stats map[string]int
	expect.OK(t, json.NewDecoder(resp.Body).Decode(&stats))
	return stats
}
