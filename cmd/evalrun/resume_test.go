package main

import (
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/evalrun/evalrun/internal/clients/wire"
	"github.com/evalrun/evalrun/internal/testing/expect"
)

// A flag of resume counts, or it is refused by name: none is ignored, so that no trial goes where the user did not want it.
func TestResumeIgnoresNoFlag(t *testing.T) {
	t.Parallel()
	service := &strictService{window: time.Minute, used: 66}
	b := newBox(t, service, map[string]string{
		"suite.yaml": strings.Replace(ledgerSuite(6), "concurrency: 4", "concurrency: 1, countTokens: never", 1),
	})
	b.exits(4, "run", "suite.yaml", "--budget-calls", "2", "--out", "run")
	b.says("to continue: evalrun resume run\n")
	keeps := " differs from what the run run began with, and a resume keeps that: leave it out, or begin another run"
	elsewhere := ": leave it out, or add --untrusted to send elsewhere"
	for flag, says := range map[string]string{
		"--emulator":                    "--emulator" + keeps,
		"--seed=4":                      "--seed" + keeps,
		"--var=x=y":                     "--var" + keeps,
		"--base-url=http://127.0.0.1:1": "and --base-url says http://127.0.0.1:1" + elsewhere,
		"--api-version=v1beta":          "the run run uses v1, and --api-version says v1beta" + elsewhere,
		"--header-prefix=x-other":       "the run run uses x-svc, and --header-prefix says x-other" + elsewhere,
		"--auth=oauth":                  "the run run uses apiKey, and --auth says oauth" + elsewhere,
		"--project=p":                   "the run run uses none, and --project says p" + elsewhere,
		"--service=fast.baseUrl=http://127.0.0.1:1": "--service fast.baseUrl: the run run has no service fast: leave it out",
		"--ledger-ca=cert.pem":                      "--ledger-ca and --ledger-wait are for --ledger URL, which is missing",
	} {
		b.exits(2, "resume", "run", flag)
		b.says(says)
	}
	b.exits(2, "resume", "run", "--ledger", "http://127.0.0.1:1", "--no-ledger")
	b.says("--no-ledger sends without grants, and --ledger URL has calls granted: choose one")
	expect.Same(t, "calls", service.calls(), 2)
	b.exits(0, "resume", "run", "--budget-calls", "6", "--base-url", b.url, "--api-version", "v1", "--auth", "apiKey")
	expect.Same(t, "calls", service.calls(), 6)
}

var continuing = regexp.MustCompile("to continue: evalrun (.*)\n")

// continues runs the command that was printed for continuing, as a person would copy it.
func (b *box) continues(want int) {
	b.t.Helper()
	found := continuing.FindStringSubmatch(b.errs)
	if found == nil {
		b.t.Fatalf("got\n%s\nwant the command that continues the run", b.errs)
	}
	cmd := exec.Command("sh", "-c", b.evalrun+" "+found[1])
	cmd.Dir, cmd.Env = b.dir, b.env
	out, _ := cmd.CombinedOutput()
	b.errs, b.out = string(out), ""
	if got := cmd.ProcessState.ExitCode(); got != want {
		b.t.Fatalf("evalrun %s: exit %d, want %d\n%s", found[1], got, want, out)
	}
}

// A run whose calls a ledger granted is continued under a ledger, by the command that is printed, or without one by --no-ledger.
func TestResumeNeedsTheLedgerOfItsRun(t *testing.T) {
	t.Parallel()
	service := &strictService{window: time.Minute, used: 66}
	b := newBox(t, service, map[string]string{"suite.yaml": strings.Replace(ledgerSuite(12), "timeout", "countTokens: never, timeout", 1)})
	l := b.startLedger(`{model: "*", budget: {calls: 6}}`)
	b.exits(4, "run", "suite.yaml", "--out", "the run", "--ledger-wait", "50s")
	b.says("to continue: evalrun resume 'the run' --ledger " + l.url + " --ledger-wait 50s\n")
	expect.Same(t, "calls", service.calls(), 6)
	b.env = b.env[:len(b.env)-1] // EVALRUN_LEDGER
	first := b.errs
	b.exits(2, "run", "suite.yaml", "--out", "the run")
	b.says("`evalrun resume 'the run' --ledger " + l.url + "` continues that one")
	b.exits(2, "resume", "the run")
	b.says("a ledger grants the calls of the run the run: continue it by `evalrun resume 'the run' --ledger "+l.url+"`",
		", or add --no-ledger to send without grants")
	b.errs = first
	b.continues(4)
	expect.Same(t, "calls", service.calls(), 6)
	b.exits(4, "resume", "the run", "--no-ledger", "--budget-calls", "8", "-j", "1")
	b.says("to continue: evalrun resume 'the run' --concurrency 1 --budget-calls 8 --no-ledger\n")
	b.exits(0, "resume", "the run", "--no-ledger")
	expect.Same(t, "calls", service.calls(), 12)
	b.exits(0, "resume", "the run") // a complete run makes no call
	if text := b.read("the run/run.jsonl"); strings.Contains(text, "EVALRUN_LEDGER_TOKEN") {
		t.Error("the run file names the token, want the address alone")
	}
}

// The command for continuing names variables that a run with --no-content does not keep, without their values.
func TestTheCommandForContinuingKeepsValuesToItself(t *testing.T) {
	t.Parallel()
	service := &strictService{window: time.Minute, used: 66}
	b := newBox(t, service, map[string]string{"suite.yaml": strings.Replace(ledgerSuite(3), "text: hello", `text: "hello {{.word}}"`, 1)})
	b.exits(4, "run", "suite.yaml", "--no-content", "--var", "word=canary", "--budget-calls", "1", "--out", "quiet")
	b.says("to continue: evalrun resume quiet --var word=<value>\n")
	if strings.Contains(b.out+b.errs, "canary") {
		t.Errorf("got\n%s%s\nwant no value of a variable", b.out, b.errs)
	}
	b.exits(0, "resume", "quiet", "--var", "word=canary", "--budget-calls", "99")
}

// A rescore that calls judges has each call granted, also once it is resumed.
func TestRescoreCallsJudgesUnderTheLedger(t *testing.T) {
	t.Parallel()
	var calls ledger
	suite := "version: 1\nname: s\ntargets: [{name: t, model: m, generationConfig: {maxOutputTokens: 60}}]\njudges: [{name: j, model: m}]\n" +
		"prompts: [{name: p, text: \"hello {{.x}}\"}]\nlimits: {concurrency: 1, countTokens: never}\n" +
		"defaults: {scorers: [{judge: {rubric: \"is it fine?\"}}]}\n" +
		"cases: [{name: a, vars: {x: a}}, {name: b, vars: {x: b}}, {name: c, vars: {x: c}}, {name: d, vars: {x: d}}]\n"
	b := newBox(t, countingService(&calls, ""), map[string]string{
		"suite.yaml": suite, "stricter.yaml": strings.Replace(suite, "fine", "perfect", 1),
	})
	l := b.startLedger(`{model: "*", budget: {calls: 100}}`)
	b.exits(0, "run", "suite.yaml", "--out", "run")
	b.env = b.env[:len(b.env)-1] // EVALRUN_LEDGER
	b.exits(2, "rescore", "run", "--suite", "stricter.yaml", "--ask-judges", "--out", "ungranted")
	b.says("a ledger grants the calls of the run run: add --ledger " + l.url + ", or --no-ledger to send without grants\n")
	b.exits(4, "rescore", "run", "--suite", "stricter.yaml", "--ask-judges", "--ledger", l.url, "--budget-calls", "2", "--out", "again")
	b.says("to continue: evalrun resume again --ledger " + l.url + "\n")
	b.exits(2, "resume", "again", "--budget-calls", "99")
	b.exits(0, "resume", "again", "--budget-calls", "99", "--ledger", l.url)
	if made, granted := calls.sum(), l.balance().Granted.Calls; made != granted || made == 0 {
		t.Errorf("got %d calls, want the %d that were granted, and some", made, granted)
	}
}

type callers struct {
	ledger
	next http.Handler
}

func (c *callers) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if strings.Contains(r.URL.Path, ":generateContent") {
		c.count(r.Header.Get("x-svc-api-key"))
	}
	c.next.ServeHTTP(w, r)
}

func (c *callers) of(key string) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.calls[key]
}

// Every call of runs that are killed and resumed again and again has a grant, by the key of its run, and no account is overrun.
func TestKilledUnderALedgerEveryCallHasAGrant(t *testing.T) {
	t.Parallel()
	budget := 40 * kills(t)
	service := &callers{next: countingService(&ledger{}, "")}
	shared := newBox(t, service, map[string]string{
		"suite.yaml": strings.Replace(ledgerSuite(2*budget), "timeout", "countTokens: never, timeout", 1),
	})
	l := shared.startLedger(`{model: "*", budget: {calls: ` + strconv.Itoa(budget) + `}}`)
	shared.env = shared.env[:len(shared.env)-1] // each command names the ledger
	for i, key := range []string{"the-key-of-one", "the-key-of-two"} {
		t.Run(key, func(t *testing.T) { // a ledger waits 20 s for the processes that were killed
			t.Parallel()
			b := *shared
			b.t, b.env = t, append(slices.Clone(shared.env), "EVALRUN_API_KEY="+key)
			out := "run" + strconv.Itoa(i)
			args := []string{"run", "suite.yaml", "--out", out, "--ledger", l.url}
			for range kills(t) {
				enough := service.of(key) + 20
				cmd := b.command(args...)
				expect.OK(t, cmd.Start())
				for late := time.Now().Add(10 * time.Second); service.of(key) < enough && time.Now().Before(late); {
					time.Sleep(time.Millisecond)
				}
				_ = cmd.Process.Kill()
				_ = cmd.Wait()
				if _, err := os.Stat(b.path(out + "/run.jsonl")); err == nil {
					before := service.of(key)
					b.exits(2, "resume", out)
					expect.Same(t, "calls without a ledger", service.of(key), before)
					args = []string{"resume", out, "--ledger", l.url}
				}
				if got, most := service.of(key), l.granted(key); got > most || most > budget {
					t.Fatalf("the service got %d calls of %d that were granted, want at most those, and at most the budget of %d", got, most, budget)
				}
			}
			b.exits(4, "resume", out, "--ledger", l.url)
			if got, most := service.of(key), l.granted(key); got > most || most != budget {
				t.Errorf("the service got %d calls of %d that were granted, want at most those, and the budget of %d", got, most, budget)
			}
		})
	}
	t.Cleanup(func() {
		all, _ := service.all()
		expect.Same(t, "calls with any other key", all-service.of("the-key-of-one")-service.of("the-key-of-two"), 0)
	})
}

func (l *theLedger) granted(key string) (calls int) {
	l.b.t.Helper()
	for _, one := range l.balances() {
		if one.Key == wire.Fingerprint(key) {
			calls += one.Granted.Calls
		}
	}
	return calls
}

var announced = regexp.MustCompile(`up to (\d+) calls may be billed twice: (\d+) in progress, and (\d+) of trials that start again`)

// A chat that the application keeps starts again after a kill, with all its turns: resume announces as many calls as it repeats.
func TestKilledChatsThatStartAgainAreAnnounced(t *testing.T) {
	t.Parallel()
	const chats, turns = 4, 6
	var calls ledger
	b := newBox(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		calls.count(string(body))
		time.Sleep(20 * time.Millisecond) // a service takes its time
		fmt.Fprint(w, `{"answer":"an answer"}`)
	}), nil)
	var text strings.Builder
	for i := range turns {
		fmt.Fprintf(&text, ", {user: \"turn %d of {{.x}}\"}", i)
	}
	b.write("suite.yaml", "version: 1\nname: s\nlimits: {concurrency: "+strconv.Itoa(chats)+"}\ntargets:\n  - name: t\n    http: {url: "+b.url+
		", headers: {x-session: \"{{trial}}\"}, body: {q: \"{{prompt}}\"}, answer: .answer}\n"+
		"prompts: [{name: p, live: true, turns: ["+strings.TrimPrefix(text.String(), ", ")+"]}]\n"+
		"defaults: {scorers: [{contains: answer}]}\n"+
		"cases: [{name: a, vars: {x: a}}, {name: b, vars: {x: b}}, {name: c, vars: {x: c}}, {name: d, vars: {x: d}}]\n")
	cmd := b.command("run", "suite.yaml", "--out", "run")
	expect.OK(t, cmd.Start())
	for calls.sum() < chats*(turns-1) {
		time.Sleep(time.Millisecond)
	}
	_ = cmd.Process.Kill()
	_ = cmd.Wait()
	b.exits(0, "resume", "run")
	found := announced.FindStringSubmatch(b.errs)
	if found == nil {
		t.Fatalf("got\n%s\nwant how many calls may be billed twice", b.errs)
	}
	most, err := strconv.Atoi(found[1])
	expect.OK(t, err)
	_, extra := calls.all()
	if extra > most || extra <= chats || most > chats*turns {
		t.Errorf("%d calls were repeated and %d announced, want more than %d and at most those announced", extra, most, chats)
	}
	b.exits(4, "run", "suite.yaml", "--out", "cut", "--budget-calls", "10", "-j", "1") // a chat, and four turns of another
	b.exits(0, "resume", "cut", "--budget-calls", "99")
	b.says("up to 4 calls may be billed twice: trials that cannot be continued start again")
	before := extra + chats*turns
	if _, extra := calls.all(); extra-before != 4 {
		t.Errorf("%d calls were repeated and 4 announced, want as many", extra-before)
	}
}
