package main

import (
	"bufio"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/evalrun/evalrun/internal/testing/expect"
)

// A ledger that accepts connections and grants nothing, for whatever reason, is away: the run says so at once and ends so
// that it can be resumed.
func TestALedgerThatDoesNotAnswerIsAway(t *testing.T) {
	t.Parallel()
	for name, one := range map[string]struct {
		lose func(l *theLedger) error
		says string
	}{
		"stopped": {func(l *theLedger) error { return l.cmd.Process.Signal(syscall.SIGSTOP) }, "no answer within 10s"},
		"without its folder": {
			func(l *theLedger) error { return os.RemoveAll(l.dir) }, "its state was removed or replaced",
		},
		"on a full disk": {func(l *theLedger) error { return nil }, "it cannot write, and grants nothing until it can"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			service := &strictService{window: time.Minute, used: 66}
			b := newBox(t, service, map[string]string{"suite.yaml": ledgerSuite(10_000)})
			l := b.startLedger(`{model: "*"}`)
			if name == "on a full disk" {
				l.kill()
				l.cmd = exec.Command("sh", "-c", `ulimit -f 40 && exec "$0" "$@"`, b.evalrun, "ledger", "--config", "limits.yaml", "--state", l.dir)
				l.cmd.Dir, l.cmd.Env = b.dir, b.env
				l.listen()
			}
			cmd := b.command("run", "suite.yaml", "--out", "run", "--ledger", l.url, "--ledger-wait", "1s")
			var errs strings.Builder
			cmd.Stderr = &errs
			expect.OK(t, cmd.Start())
			for service.calls() < 5 {
				time.Sleep(time.Millisecond)
			}
			expect.OK(t, one.lose(l))
			_ = cmd.Wait()
			expect.Same(t, "exit", cmd.ProcessState.ExitCode(), 4)
			b.errs = errs.String()
			b.says("does not answer: "+one.says, "did not answer for 1s", "to continue: evalrun resume run")
			sent := service.calls()
			b.exits(4, "run", "suite.yaml", "--out", "other", "--ledger", l.url, "--ledger-wait", "1s")
			b.says(one.says)
			expect.Same(t, "calls without the ledger", service.calls(), sent)
		})
	}
}

// asleep stops a process until others believe that it is dead, and wakes it.
func asleep(t *testing.T, p *os.Process, l *theLedger, until func(balance) bool) {
	t.Helper()
	expect.OK(t, p.Signal(syscall.SIGSTOP))
	for began := time.Now(); until == nil && time.Since(began) < 22*time.Second || until != nil && !until(l.balance()); {
		time.Sleep(100 * time.Millisecond)
	}
	expect.OK(t, p.Signal(syscall.SIGCONT))
}

// A process that slept for longer than its grants live throws away the unused ones.
func TestAProcessThatSleptSendsNothingByOldGrants(t *testing.T) {
	t.Parallel()
	service := &strictService{window: time.Minute, used: 66}
	b := newBox(t, service, map[string]string{"suite.yaml": ledgerSuite(8)})
	l := b.startLedger(`{model: "*", requestsPerMinute: 120}`)
	cmd := b.command("run", "suite.yaml", "--out", "run")
	expect.OK(t, cmd.Start())
	for service.calls() < 3 {
		time.Sleep(time.Millisecond)
	}
	asleep(t, cmd.Process, l, func(is balance) bool { // all that is granted meanwhile has expired
		return is.Granted.Calls > service.calls() && is.Settled.Calls == is.Granted.Calls
	})
	expect.OK(t, cmd.Wait())
	if got := l.balance(); got.Granted.Calls <= service.calls() || got.Settled != got.Granted && got.Settled.Calls != got.Granted.Calls {
		t.Errorf("%d calls granted and %d sent: want more grants than calls, since old ones are thrown away", got.Granted.Calls, service.calls())
	}
}

// A ledger that slept takes no process for dead: it heard no sign of life meanwhile.
func TestALedgerThatSleptExpiresNothing(t *testing.T) {
	t.Parallel()
	begun, release := make(chan struct{}, 9), make(chan struct{})
	service := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasSuffix(r.URL.Path, ":generateContent") {
			begun <- struct{}{}
			<-release
		}
		(&strictService{used: 66}).ServeHTTP(w, r)
	})
	b := newBox(t, service, map[string]string{"suite.yaml": strings.Replace(ledgerSuite(1), "timeout: 20s", "timeout: 60s", 1)})
	l := b.startLedger(`{model: "*"}`)
	cmd := b.command("run", "suite.yaml", "--out", "run")
	expect.OK(t, cmd.Start())
	<-begun
	before := l.balance()
	asleep(t, l.cmd.Process, l, nil)
	for began := time.Now(); time.Since(began) < 3*time.Second; time.Sleep(100 * time.Millisecond) {
		expect.Same(t, "balance", l.balance(), before)
	}
	close(release)
	expect.OK(t, cmd.Wait())
}

// Two spellings of one address have one account, and so one budget.
func TestAnAccountHasOneSpelling(t *testing.T) {
	t.Parallel()
	service := &strictService{window: time.Minute, used: 66}
	b := newBox(t, service, map[string]string{"suite.yaml": ledgerSuite(20)})
	l := b.startLedger(`{service: "http://LOCALHOST:*", model: "*"}, {service: "http://localhost:*", model: "*", budget: {calls: 4}}`)
	port := b.url[strings.LastIndex(b.url, ":"):]
	for i, host := range []string{"localhost", "LocalHost", "LOCALHOST"} {
		b.exits(4, "run", "suite.yaml", "--base-url", "http://"+host+port, "--out", fmt.Sprint("run", i))
		expect.Same(t, "calls in the books", l.balance().Granted.Calls, 4)
	}
	expect.Same(t, "calls", service.calls(), 4)
}

// Numbers that cannot be true, in the metadata of a model or in usage, refill no budget, of a process or of a ledger.
func TestImpossibleNumbersRefillNoBudget(t *testing.T) {
	t.Parallel()
	for name, one := range map[string]struct {
		metadata, usage string
	}{
		"a negative limit": {`"outputTokenLimit":-1000000`, `{}`},
		"negative usage":   {`"outputTokenLimit":50`, `{"promptTokenCount":-500,"candidatesTokenCount":-1,"totalTokenCount":-501}`},
		"endless usage":    {`"outputTokenLimit":50`, `{"promptTokenCount":1e308,"candidatesTokenCount":-1e308,"totalTokenCount":-1e308}`},
	} {
		calls := 0
		service := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			switch _, method, _ := strings.Cut(r.URL.Path, ":"); method {
			case "":
				fmt.Fprintf(w, `{"name":"models/m","inputTokenLimit":100000,%s}`, one.metadata)
			case "countTokens":
				fmt.Fprint(w, `{"totalTokens":10}`)
			default:
				calls++
				fmt.Fprintf(w, `{"candidates":[{"content":{"parts":[{"text":"an answer"}]},"finishReason":"STOP"}],"usageMetadata":%s}`, one.usage)
			}
		}))
		defer service.Close()
		b := newBox(t, nil, map[string]string{
			"prices.yaml": "currency: USD\nmodels: {m: {input: 1, output: 1}}\n",
			"suite.yaml": "version: 1\nname: s\ntargets: [{name: t, model: m}]\nprompts: [{name: p, text: hello}]\nlimits: {concurrency: 1}\n" +
				"cases: [{name: c, repeats: 200, scorers: [{contains: answer}]}]\n",
		})
		b.env = append(b.env, "EVALRUN_BASE_URL="+service.URL)
		b.exits(4, "run", "suite.yaml", "--prices", "prices.yaml", "--budget-money", "0.0002", "--out", "alone")
		if calls > 60 {
			t.Errorf("%s: %d calls on a budget of 200 tokens, want at most 60", name, calls)
		}
		calls = 0
		b.startLedger(`{model: "*", budget: {money: 0.0002}}`)
		b.exits(4, "run", "suite.yaml", "--prices", "prices.yaml", "--out", "shared")
		if calls > 60 {
			t.Errorf("%s: %d calls on a budget of 200 tokens of the ledger, want at most 60", name, calls)
		}
	}
}

// A page that makes its own name resolve to this machine gets nothing from any server of the program.
func TestServersAnswerToTheirOwnNamesAlone(t *testing.T) {
	t.Parallel()
	b := newBox(t, nil, map[string]string{"limits.yaml": "accounts: [{model: m}]\n"})
	for path, args := range map[string][]string{
		"/v1/accounts":    {"ledger", "--config", "limits.yaml"},
		"/emulator/stats": {"emulate"},
		"/stats":          {"emulate", "--app"},
		"/":               {"view"},
	} {
		server := b.command(args...)
		out, err := server.StdoutPipe()
		expect.OK(t, err, server.Start())
		url, err := bufio.NewReader(out).ReadString('\n')
		expect.OK(t, err)
		url = strings.TrimRight(url, "/\n")
		for host, want := range map[string]int{"": 200, "evil.example": 421, "localhost.evil.example": 421} {
			req, err := http.NewRequest(http.MethodGet, url+path, nil)
			expect.OK(t, err)
			if host != "" {
				req.Host = host + url[strings.LastIndex(url, ":"):]
				req.Header.Set("Origin", "http://"+req.Host)
			}
			resp, err := http.DefaultClient.Do(req)
			expect.OK(t, err, resp.Body.Close())
			expect.Same(t, strings.Join(args, " ")+" as "+req.Host, resp.StatusCode, want)
			expect.Same(t, "origins that are allowed", resp.Header.Get("Access-Control-Allow-Origin"), "")
		}
		expect.OK(t, server.Process.Kill())
		_ = server.Wait()
	}
}
