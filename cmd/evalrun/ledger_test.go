package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/evalrun/evalrun/internal/testing/expect"
)

// strictService answers at once, and with 429 what is more than its limits in a sliding window.
type strictService struct {
	window           time.Duration
	requests, tokens int // in a window; 0: any
	used             int // tokens that it reports for a call

	mu       sync.Mutex
	sent     []time.Time // calls
	reported []time.Time // answers
	refused  int
	metadata int
}

func (s *strictService) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	_, _ = io.Copy(io.Discard, r.Body) // a client that was killed is counted too
	_, method, _ := strings.Cut(r.URL.Path, ":")
	if !s.admits(method) {
		http.Error(w, `{"error":{"code":429,"message":"too many","status":"RESOURCE_EXHAUSTED"}}`, http.StatusTooManyRequests)
		return
	}
	if method == "" {
		fmt.Fprint(w, `{"name":"models/m","inputTokenLimit":100000,"outputTokenLimit":100}`)
		return
	}
	if method == "countTokens" {
		fmt.Fprint(w, `{"totalTokens":10}`)
		return
	}
	time.Sleep(time.Duration(20+rand.IntN(60)) * time.Millisecond) // a service takes its time
	s.report()
	fmt.Fprintf(
		w, `{"candidates":[{"content":{"parts":[{"text":"an answer"}]},"finishReason":"STOP"}],`+
			`"usageMetadata":{"promptTokenCount":10,"candidatesTokenCount":%d,"totalTokenCount":%d}}`, s.used-10, s.used,
	)
}

// admits counts a request, unless it is one too many.
func (s *strictService) admits(method string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := time.Now()
	within := func(all []time.Time) (n int) {
		for i := len(all) - 1; i >= 0 && now.Sub(all[i]) < s.window; i-- {
			n++
		}
		return n
	}
	if s.requests > 0 && within(s.sent)+1 > s.requests || s.tokens > 0 && (within(s.reported)+1)*s.used > s.tokens {
		s.refused++
		return false
	}
	if method == "" {
		s.metadata++
	}
	s.sent = append(s.sent, now)
	return true
}

func (s *strictService) report() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.reported = append(s.reported, time.Now())
}

// calls is how many calls there were, those for metadata left out.
func (s *strictService) calls() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.sent) - s.metadata
}

// theLedger is an `evalrun ledger` that is killed and started again under one address.
type theLedger struct {
	b   *box
	cmd *exec.Cmd
	dir string
	url string
}

func (b *box) startLedger(limits string) *theLedger {
	b.t.Helper()
	b.write("limits.yaml", "accounts: ["+limits+"]\n")
	l := &theLedger{b: b, dir: b.t.TempDir()}
	l.start("127.0.0.1:0")
	b.env = append(b.env, "EVALRUN_LEDGER="+l.url)
	b.t.Cleanup(l.kill)
	return l
}

func (l *theLedger) start(address string) {
	l.b.t.Helper()
	l.cmd = l.b.command("ledger", "--listen", address, "--config", "limits.yaml", "--state", l.dir)
	l.listen()
}

func (l *theLedger) listen() {
	l.b.t.Helper()
	out, err := l.cmd.StdoutPipe()
	expect.OK(l.b.t, err, l.cmd.Start())
	url, err := bufio.NewReader(out).ReadString('\n')
	expect.OK(l.b.t, err)
	l.url = strings.TrimSpace(url)
}

func (l *theLedger) kill() {
	_ = l.cmd.Process.Kill()
	_ = l.cmd.Wait()
}

func (l *theLedger) restart(after time.Duration) {
	l.kill()
	time.Sleep(after)
	l.start(strings.TrimPrefix(l.url, "http://"))
}

type balance struct {
	Service, Key, Model       string
	Granted, Settled, Refused struct {
		Calls, Tokens int
		Money         float64
	}
}

func (l *theLedger) balance() balance {
	l.b.t.Helper()
	all := l.balances()
	expect.Same(l.b.t, "accounts", len(all), 1)
	return all[0]
}

func (l *theLedger) balances() []balance {
	l.b.t.Helper()
	resp, err := http.Get(l.url + "/v1/accounts")
	expect.OK(l.b.t, err)
	defer resp.Body.Close()
	var all struct{ Accounts []balance }
	expect.OK(l.b.t, json.NewDecoder(resp.Body).Decode(&all))
	return all.Accounts
}

func ledgerSuite(trials int) string {
	return "version: 1\nname: s\ntargets: [{name: t, model: m, generationConfig: {maxOutputTokens: 60}}]\n" +
		"prompts: [{name: p, text: hello}]\nlimits: {concurrency: 4, timeout: 20s}\n" +
		"cases: [{name: c, repeats: " + strconv.Itoa(trials) + ", scorers: [{contains: answer}]}]\n"
}

// Four processes share an account. No call is refused, although the service counts strictly, and the rate is used.
func TestLedgerKeepsRates(t *testing.T) {
	t.Parallel()
	length, window, least := 4*time.Second, 4*time.Second, 0.5
	perMinute, tokens := 900, 0
	if text := os.Getenv("EVALRUN_LEDGER_MINUTES"); text != "" {
		minutes, err := strconv.Atoi(text)
		expect.OK(t, err)
		length, window, least = time.Duration(minutes)*time.Minute, time.Minute, 0.95
		perMinute, tokens = 300, 20_000
	}
	service := &strictService{window: window, requests: int(float64(perMinute) * window.Minutes()), tokens: tokens, used: 66}
	if window < time.Minute { // what the ledger leaves for delays is for a minute: its books are what counts
		service.requests = 0
	}
	b := newBox(t, service, map[string]string{"suite.yaml": ledgerSuite(10_000)})
	l := b.startLedger(fmt.Sprintf(
		`{service: "http://127.0.0.1:*", model: m, requestsPerMinute: %d, tokensPerMinute: %d}`, perMinute, max(tokens, 1_000_000),
	))
	if tokens > 0 {
		b.write("limits.yaml", fmt.Sprintf("accounts: [{requestsPerMinute: %d, tokensPerMinute: %d}]\n", perMinute, tokens))
		l.restart(0)
	}
	var all []*exec.Cmd
	for i := range 4 {
		cmd := b.command("run", "suite.yaml", "--out", "run"+strconv.Itoa(i))
		expect.OK(t, cmd.Start())
		all = append(all, cmd)
	}
	for service.calls() == 0 {
		time.Sleep(time.Millisecond)
	}
	before, began := service.calls(), time.Now()
	time.Sleep(length)
	used := float64(service.calls()-before) / time.Since(began).Minutes()
	for _, cmd := range all {
		expect.OK(t, cmd.Process.Signal(os.Interrupt))
	}
	for _, cmd := range all {
		_ = cmd.Wait()
		expect.Same(t, "exit", cmd.ProcessState.ExitCode(), 130)
	}
	expect.Same(t, "calls that the service refused", service.refused, 0)
	byRequests, byTokens := used/float64(perMinute), used*66/float64(max(tokens, 1))
	if tokens == 0 {
		byTokens = 0
	}
	if used := max(byRequests, byTokens); used < least || used > 1.2 {
		t.Errorf("the rate is used to %.3f of the requests and %.3f of the tokens, want %.2f to 1 of one", byRequests, byTokens, least)
	}
	t.Logf("%d calls, %.3f of the requests, %.3f of the tokens", service.calls(), byRequests, byTokens)
	got := l.balance()
	expect.Same(t, "calls in the books", got.Granted.Calls, service.calls())
	expect.Same(t, "settled", got.Settled.Calls, got.Granted.Calls)
}

// A budget of calls is exact over four processes that are killed and resumed, and a ledger that is killed too.
func TestLedgerBudgetSurvivesKills(t *testing.T) {
	t.Parallel()
	const budget = 400
	service := &strictService{window: time.Minute, used: 66}
	b := newBox(t, service, map[string]string{"suite.yaml": ledgerSuite(300)})
	l := b.startLedger(fmt.Sprintf(`{model: "*", budget: {calls: %d}}`, budget))
	processes := make([]*exec.Cmd, 4)
	start := func(i int) {
		args := []string{"run", "suite.yaml", "--out", "run" + strconv.Itoa(i)}
		if _, err := os.Stat(b.path("run" + strconv.Itoa(i) + "/run.jsonl")); err == nil {
			args = []string{"resume", "run" + strconv.Itoa(i)}
		}
		processes[i] = b.command(args...)
		expect.OK(t, processes[i].Start())
	}
	for i := range processes {
		start(i)
	}
	for round := range 2 * kills(t) {
		enough, late := service.calls()+5, time.Now().Add(3*time.Second)
		for service.calls() < enough && time.Now().Before(late) {
			time.Sleep(time.Millisecond)
		}
		if i := round % 5; i == 4 {
			l.restart(100 * time.Millisecond)
		} else {
			_ = processes[i].Process.Kill()
			_ = processes[i].Wait()
			start(i)
		}
	}
	for i, cmd := range processes {
		_ = cmd.Wait()
		expect.Same(t, fmt.Sprintf("exit code of process %d", i), cmd.ProcessState.ExitCode(), 4)
	}
	got := l.balance()
	expect.Same(t, "calls in the books", got.Granted.Calls, budget)
	if n := service.calls(); n > budget || n < budget-4*(2*kills(t)) {
		t.Errorf("the service got %d calls of a budget of %d, want that less what kills cost", n, budget)
	}
	t.Logf("%d of %d calls arrived", service.calls(), budget)
	if got.Refused.Calls == 0 {
		t.Error("got no refused call, want some")
	}
}

// Without its ledger a process sends nothing, and ends so that it can be resumed.
func TestALostLedgerStopsTheRunResumably(t *testing.T) {
	t.Parallel()
	service := &strictService{window: time.Minute, used: 66}
	b := newBox(t, service, map[string]string{"suite.yaml": ledgerSuite(5)})
	b.exits(4, "run", "suite.yaml", "--ledger", "http://127.0.0.1:1", "--ledger-wait", "1s")
	b.says("the ledger http://127.0.0.1:1 does not answer", "nothing is sent until it does, for up to 1s", "did not answer for 1s")
	expect.Same(t, "calls", service.calls()+service.metadata, 0)

	l := b.startLedger(`{model: "*", requestsPerMinute: 60}`)
	cmd := b.command("run", "suite.yaml", "--out", "run", "--ledger-wait", "1s")
	var errs strings.Builder
	cmd.Stdout, cmd.Stderr = &errs, &errs
	expect.OK(t, cmd.Start())
	for service.calls() == 0 {
		time.Sleep(time.Millisecond)
	}
	l.kill()
	_ = cmd.Wait()
	expect.Same(t, "exit", cmd.ProcessState.ExitCode(), 4)
	expect.Contains(t, "the errors", errs.String(), "did not answer for 1s")
	l.start(strings.TrimPrefix(l.url, "http://"))
	b.exits(0, "resume", "run")
	if n := service.calls(); n > 5+1+5 { // the answers, a call at the kill, and the counts of the prompt
		t.Errorf("%d calls for 5 trials, want at most 11", n)
	}
}

// What the ledger cannot grant is said before anything is sent.
func TestLedgerRefusesAtTheStart(t *testing.T) {
	t.Parallel()
	service := &strictService{window: time.Minute, used: 66}
	b := newBox(t, service, map[string]string{"suite.yaml": ledgerSuite(5)})
	b.startLedger(`{model: "svc-*", tokensPerMinute: 100}`)
	b.exits(2, "run", "suite.yaml")
	b.says("no entry of the ledger's `accounts` matches model m at "+b.url, "with the key ")
	b.startLedger(`{model: m, budget: {money: 5}}`)
	b.exits(2, "run", "suite.yaml")
	b.says("no price list has its price")
	b.env = append(b.env, "EVALRUN_LEDGER=http://192.0.2.1:80")
	b.exits(2, "run", "suite.yaml")
	b.says("would be reached in the clear")
	expect.Same(t, "calls", service.calls()+service.metadata, 0)
	b.write("limits.yaml", "accounts: [{rpm: 5}]\n")
	b.exits(2, "ledger", "--config", "limits.yaml")
	b.says("limits.yaml:1:13: unknown key `rpm`")
	b.exits(2, "ledger", "--config", "limits.yaml", "--listen", "0.0.0.0:0")
}
