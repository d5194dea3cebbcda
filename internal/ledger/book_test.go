package ledger

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/evalrun/evalrun/diag"
	"github.com/evalrun/evalrun/internal/clients/wire"
	"github.com/evalrun/evalrun/internal/rates"
	"github.com/evalrun/evalrun/internal/testing/expect"
)

// openBook opens a book in a folder, which is as after a kill where it was used before.
func openBook(t *testing.T, dir string, limits ...accountLimits) *book {
	t.Helper()
	for i := range limits {
		l := &limits[i]
		if l.service+l.model+l.key == "" {
			l.service, l.model, l.key = "*", "*", "*"
		}
	}
	b := newBook(limits)
	var err error
	b.file, err = openFile(dir, b, func(text string) { t.Log(text) })
	expect.OK(t, err)
	t.Cleanup(b.file.close)
	return b
}

var someModel = ModelAccount{Service: "https://svc", Key: wire.Fingerprint("k"), Model: "svc-pro"}

func call(tokens int) amount { return amount{Calls: 1, Tokens: tokens} }

func ask(owner string, n int, cost amount) *grantRequest {
	return &grantRequest{ID: fmt.Sprintf("%s-%d", owner, n), Owner: owner, Account: someModel, Cost: cost}
}

type sent struct {
	at     time.Time
	tokens int
}

func most(all []sent, of func(sent) int) (greatest int) {
	for i := range all {
		sum := 0
		for _, one := range all[i:] {
			if one.at.Sub(all[i].at) >= time.Minute {
				break
			}
			sum += of(one)
		}
		greatest = max(greatest, sum)
	}
	return greatest
}

// Several processes with several workers each use most of a rate. No minute has more than the limit, whether the service counts calls
// when they arrive or when their answers leave.
func TestRatesAreUsedAndKept(t *testing.T) {
	const minutes = 5
	for name, test := range map[string]struct {
		limits  accountLimits
		latency time.Duration
		counts  bool // tokens before each call
	}{
		"requests":         {accountLimits{Rates: rates.Rates{RequestsPerMinute: 300}}, 100 * time.Millisecond, false},
		"few requests":     {accountLimits{Rates: rates.Rates{RequestsPerMinute: 20}}, 100 * time.Millisecond, false},
		"many requests":    {accountLimits{Rates: rates.Rates{RequestsPerMinute: 1000}}, 50 * time.Millisecond, false},
		"tokens":           {accountLimits{Rates: rates.Rates{TokensPerMinute: 20_000}}, 200 * time.Millisecond, false},
		"both":             {accountLimits{Rates: rates.Rates{RequestsPerMinute: 300, TokensPerMinute: 20_000}}, 200 * time.Millisecond, false},
		"slow, and tokens": {accountLimits{Rates: rates.Rates{TokensPerMinute: 20_000}}, 1500 * time.Millisecond, false},
		"counted":          {accountLimits{Rates: rates.Rates{RequestsPerMinute: 300, TokensPerMinute: 20_000}}, 100 * time.Millisecond, true},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := newBook([]accountLimits{test.limits})
				b.limits[0].service, b.limits[0].model, b.limits[0].key = "*", "*", "*"
				b.file = unwritten()
				var mu sync.Mutex
				var arrived, left []sent
				ctx, cancel := context.WithTimeout(t.Context(), minutes*time.Minute)
				defer cancel()
				note := func(list *[]sent, tokens int) {
					mu.Lock()
					defer mu.Unlock()
					*list = append(*list, sent{time.Now(), tokens})
				}
				var workers sync.WaitGroup
				for w := range 16 {
					owner, rng := fmt.Sprint(w%4), rand.New(rand.NewPCG(1, uint64(w)))
					take := func(n int, cost amount, used int) bool {
						one := ask(fmt.Sprint(owner, "-", w), n, cost)
						if _, err := b.grant(ctx, one); err != nil {
							return false
						}
						time.Sleep(time.Duration(rng.IntN(20)) * time.Millisecond)
						note(&arrived, used)
						time.Sleep(time.Duration(float64(test.latency) * (0.5 + rng.Float64())))
						note(&left, used)
						expect.OK(t, b.settle(ctx, []settlement{{ID: one.ID, Tokens: used}}))
						return true
					}
					workers.Go(func() {
						for n := 0; ; n += 2 {
							if test.counts && !take(n, amount{Calls: 1}, 0) {
								return
							}
							used := 60 + rng.IntN(8)
							if !take(n+1, call(72), used) {
								return
							}
						}
					})
				}
				workers.Wait()
				checkRate(t, test.limits, arrived, left, minutes)
			})
		})
	}
}

// checkRate wants no minute with more than the limits, and most of one of them used.
func checkRate(t *testing.T, l accountLimits, arrived, left []sent, minutes float64) {
	t.Helper()
	for way, all := range map[string][]sent{"arrived": arrived, "left": left} {
		requests, tokens := most(all, func(sent) int { return 1 }), most(all, func(s sent) int { return s.tokens })
		if l.RequestsPerMinute > 0 && requests > l.RequestsPerMinute || l.TokensPerMinute > 0 && tokens > l.TokensPerMinute {
			t.Errorf("%s: a minute had %d requests and %d tokens, want at most %+v", way, requests, tokens, l)
		}
	}
	tokens := 0
	for _, one := range left {
		tokens += one.tokens
	}
	used := func(n, limit int) float64 {
		if limit == 0 {
			return 0
		}
		return float64(n) / minutes / float64(limit)
	}
	byRequests, byTokens := used(len(arrived), l.RequestsPerMinute), used(tokens, l.TokensPerMinute)
	if max(byRequests, byTokens) < 0.95 {
		t.Errorf("the limits are used to %.3f (requests) and %.3f (tokens), want 0.95 of one", byRequests, byTokens)
	}
	t.Logf("used: requests %.3f, tokens %.3f", byRequests, byTokens)
}

func unwritten() *ledgerFile { return &ledgerFile{moved: make(chan struct{}), safe: 1 << 60} }

func TestKilledLedgerForgetsNothing(t *testing.T) {
	dir := t.TempDir()
	limits := accountLimits{Budget: amount{Calls: 10, Tokens: 1000}}
	b := openBook(t, dir, limits)
	for n := range 6 {
		_, err := b.grant(t.Context(), ask("p", n, call(100)))
		expect.OK(t, err)
	}
	expect.OK(t, b.settle(t.Context(), []settlement{{ID: "p-0", Tokens: 40}, {ID: "p-1", Unsent: true}, {ID: "p-2", Tokens: 120}}))
	before := b.balances()

	killed := t.TempDir() // the file as it is, without an orderly end, and half a line of what was never answered
	text, err := os.ReadFile(filepath.Join(dir, fileName))
	expect.OK(t, err, os.WriteFile(filepath.Join(killed, fileName), append(text, `{"type":"grant","at":"2026-`...), 0o600))
	b = openBook(t, killed, limits)
	expect.Same(t, "balances", b.balances(), before)
	b = openBook(t, killedCopy(t, killed), limits) // rewritten, with fewer events
	expect.Same(t, "balances", b.balances(), before)
	for n := 10; n < 15; n++ {
		_, err = b.grant(t.Context(), ask("q", n, call(1)))
		expect.OK(t, err)
	}
	_, err = b.grant(t.Context(), ask("q", 20, call(0)))
	var r *refusal
	if !errors.As(err, &r) || !r.Budget {
		t.Fatalf("an eleventh call: %v, want a refusal by the budget", err)
	}
	expect.Same(t, "refused", b.balances()[0].Refused, call(0))
	over := make(chan error)
	go func() { // until a call in progress is given back
		_, err := b.grant(t.Context(), ask("q", 21, call(1)))
		over <- err
	}()
	expect.OK(t, b.settle(t.Context(), []settlement{{ID: "q-10", Unsent: true}}), <-over)
}

func killedCopy(t *testing.T, dir string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(dir, fileName))
	to := t.TempDir()
	expect.OK(t, err, os.WriteFile(filepath.Join(to, fileName), text, 0o600))
	return to
}

// The same id gets the same grant: its answer may have been lost with the ledger.
func TestGrantsAreNotDoubled(t *testing.T) {
	b := openBook(t, t.TempDir(), accountLimits{})
	for range 3 {
		_, err := b.grant(t.Context(), ask("p", 1, call(5)))
		expect.OK(t, err)
	}
	expect.OK(t, b.settle(t.Context(), []settlement{{ID: "p-1", Tokens: 3}, {ID: "p-1", Tokens: 3}, {ID: "unknown", Tokens: 9}}))
	got := b.balances()[0]
	expect.Same(t, "granted", got.Granted, call(5))
	expect.Same(t, "settled", got.Settled, call(3))
}

// What a dead process had is spent: its calls may have been made. One that lives keeps its grants.
func TestGrantsOfTheDeadAreSpent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBook([]accountLimits{{service: "*", model: "*", key: "*", Concurrency: 2}})
		b.file = unwritten()
		for _, owner := range []string{"dead", "alive"} {
			_, err := b.grant(t.Context(), ask(owner, 1, call(7)))
			expect.OK(t, err)
		}
		var waited time.Duration
		began := time.Now()
		var third sync.WaitGroup
		third.Go(func() {
			_, err := b.grant(t.Context(), ask("third", 1, call(1)))
			waited = time.Since(began)
			expect.OK(t, err)
		})
		for range 30 {
			time.Sleep(time.Second)
			b.hear("alive")
			b.hear("third")
			b.expire()
		}
		third.Wait()
		if waited < lifetime || waited > lifetime+2*time.Second {
			t.Errorf("the place of a dead process was free after %s, want %s", waited, lifetime)
		}
		expect.Same(t, "settled", b.balances()[0].Settled, call(7))
		expect.Same(t, "open grants", len(b.grants), 2)
	})
}

// A pause that the service wants of one process holds up all processes of the account, and no other account.
func TestRetryAfterHoldsAll(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBook([]accountLimits{{service: "*", model: "*", key: "*"}})
		b.file = unwritten()
		_, err := b.grant(t.Context(), ask("p", 1, call(1)))
		expect.OK(t, err, b.settle(t.Context(), []settlement{{ID: "p-1", RetryAfter: 3000}}))
		began := time.Now()
		other := ask("q", 2, call(1))
		other.Account.Model = "another"
		_, err = b.grant(t.Context(), other)
		expect.OK(t, err)
		expect.Same(t, "wait of another model", time.Since(began), 0)
		_, err = b.grant(t.Context(), ask("q", 1, call(1)))
		expect.OK(t, err)
		expect.Same(t, "wait", time.Since(began), 3*time.Second)
	})
}

// A large call is not overtaken by small ones for ever, and calls without tokens pass it.
func TestCallsKeepTheirTurn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBook([]accountLimits{{service: "*", model: "*", key: "*", Rates: rates.Rates{TokensPerMinute: 100}}})
		b.file = unwritten()
		_, err := b.grant(t.Context(), ask("p", 0, call(60)))
		expect.OK(t, err, b.settle(t.Context(), []settlement{{ID: "p-0", Tokens: 60}}))
		var mu sync.Mutex
		var order []string
		var all sync.WaitGroup
		for i, cost := range []amount{call(90), call(20), call(0), call(20)} {
			all.Go(func() {
				_, err := b.grant(t.Context(), ask("p", i+1, cost))
				expect.OK(t, err, b.settle(t.Context(), []settlement{{ID: fmt.Sprintf("p-%d", i+1), Tokens: cost.Tokens}}))
				mu.Lock()
				defer mu.Unlock()
				order = append(order, fmt.Sprint(cost.Tokens))
			})
			synctest.Wait()
		}
		all.Wait()
		expect.Same(t, "order", strings.Join(order[:2], " "), "0 90")
	})
}

func TestAClockThatIsSetBackDelaysNoCall(t *testing.T) {
	dir := t.TempDir()
	limits := accountLimits{Rates: rates.Rates{RequestsPerMinute: 60, TokensPerMinute: 100}}
	b := openBook(t, dir, limits)
	b.now = func() time.Time { return time.Now().Add(time.Hour) }
	_, err := b.grant(t.Context(), ask("p", 1, call(90)))
	expect.OK(t, err, b.settle(t.Context(), []settlement{{ID: "p-1", Tokens: 90, RetryAfter: 1000}}))
	b = openBook(t, killedCopy(t, dir), limits)
	a := b.account(someModel)
	for _, at := range []time.Time{a.meter.Next, a.held, a.meter.Window[0].At} {
		if late := time.Until(at); late > 2*time.Second {
			t.Errorf("calls wait %s after the clock was set back: want at most 2 s", late)
		}
	}
}

func TestLimitsAreReadStrictly(t *testing.T) {
	for src, want := range map[string]string{
		"":                                       "f.yaml: the file is empty",
		"accounts: []":                           "f.yaml:1:11: `accounts` has no entry, so that every call would be refused",
		"accounts: [{servce: x}]":                "f.yaml:1:13: unknown key `servce`",
		"accounts: [{requestsPerMinute: 0}]":     "f.yaml:1:32: 0 is out of range: at least 1",
		"accounts: [{budget: {money: -1}}]":      "f.yaml:1:29: -1 is out of range: ",
		"accounts: [{budget: 5}]":                "f.yaml:1:21: expected a mapping, found the number 5",
		"accounts: [{concurrency: 1.5}]":         "f.yaml:1:26: `1.5` is not a whole number",
		"accounts: {service: x}":                 "f.yaml:1:11: expected a list",
		"accounts: [{model: [a]}]":               "f.yaml:1:20: expected",
		"accounts: [{service: '*', budget: {}}]": "",
	} {
		var diags diag.List
		ReadLimits("f.yaml", []byte(src), &diags)
		var got []string
		for _, d := range diags.Sorted() {
			got = append(got, d.Pos.String()+": "+d.Message)
		}
		if (want == "") != (len(got) == 0) || len(got) > 0 && !strings.HasPrefix(got[0], want) {
			t.Errorf("%q: %q, want %q", src, got, want)
		}
	}
}

func TestTheFirstEntryCounts(t *testing.T) {
	var diags diag.List
	all := ReadLimits("f.yaml", []byte("accounts:\n"+
		"  - {service: 'https://a*', model: svc-pro, requestsPerMinute: 1}\n"+
		"  - {model: 'svc-*', requestsPerMinute: 2}\n"+
		"  - {service: 'https://b', requestsPerMinute: 3}\n"), &diags)
	for want, a := range []ModelAccount{
		{"https://c", "", "other"}, {"https://a.example", "", "svc-pro"}, {"https://a.example", "", "svc-lite"}, {"https://b", "", "other"},
	} {
		got := 0
		if l := find(all, a); l != nil {
			got = l.RequestsPerMinute
		}
		expect.Same(t, a.String(), got, want)
	}
}

// A request that was sent before the ledger was started again counts for the rate.
func TestPaceSurvivesARestart(t *testing.T) {
	dir, limits := t.TempDir(), accountLimits{Rates: rates.Rates{RequestsPerMinute: 1}}
	b := openBook(t, dir, limits)
	_, err := b.grant(t.Context(), ask("p", 1, call(1)))
	expect.OK(t, err, b.settle(t.Context(), []settlement{{ID: "p-1", Tokens: 1}}))
	for range 2 { // read as it is, and as it was rewritten
		dir = killedCopy(t, dir)
		b = openBook(t, dir, limits)
		if wait := time.Until(b.account(someModel).meter.Next); wait < 50*time.Second {
			t.Errorf("the next request may be sent in %s, want a minute", wait)
		}
	}
}

// A ledger that slept knows nothing of signs of life meanwhile: processes have a lifetime from then on.
func TestASleepOfTheLedgerKillsNoProcess(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBook([]accountLimits{{service: "*", model: "*", key: "*"}})
		b.file = unwritten()
		_, err := b.grant(t.Context(), ask("p", 1, call(7)))
		expect.OK(t, err)
		b.expire()
		time.Sleep(10 * lifetime)
		for began := time.Now(); time.Since(began) < lifetime; time.Sleep(time.Second) {
			b.expire()
			expect.Same(t, "settled", b.balances()[0].Settled, amount{})
		}
		time.Sleep(time.Second)
		b.expire()
		expect.Same(t, "settled after a lifetime of silence", b.balances()[0].Settled, call(7))
	})
}

// A call whose request is repeated keeps its place; one whose process died or that was given up loses it.
func TestCallsKeepTheirPlaceBetweenRequests(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBook([]accountLimits{{service: "*", model: "*", key: "*", Rates: rates.Rates{TokensPerMinute: 100}}})
		b.file = unwritten()
		_, err := b.grant(t.Context(), ask("p", 0, call(100)))
		expect.OK(t, err, b.settle(t.Context(), []settlement{{ID: "p-0", Tokens: 100}}))
		poll := func(one *grantRequest, wait time.Duration) error {
			ctx, cancel := context.WithTimeout(t.Context(), wait)
			defer cancel()
			_, err := b.grant(ctx, one)
			return err
		}
		for _, one := range []*grantRequest{ask("dead", 1, call(90)), ask("gone", 1, call(90)), ask("p", 1, call(90)), ask("q", 1, call(90))} {
			expect.Same(t, "the first request", errors.Is(poll(one, longPoll), context.DeadlineExceeded), true)
		}
		expect.OK(t, b.settle(t.Context(), []settlement{{ID: "gone-1", Unsent: true}}))
		for range 30 {
			time.Sleep(time.Second)
			b.hear("p")
			b.hear("q")
			b.expire()
		}
		expect.Same(t, "the last in the queue", errors.Is(poll(ask("q", 1, call(90)), 20*time.Second), context.DeadlineExceeded), true)
		expect.OK(t, poll(ask("p", 1, call(90)), time.Minute))
	})
}

// The file of an early version has no checksums, and several accounts for the spellings of one address.
func TestFilesOfEarlyVersionsAreRead(t *testing.T) {
	dir := t.TempDir()
	early := `{"type":"balance","at":"2026-01-02T03:04:05Z","balance":{"service":"https://SVC:443/","key":"k","model":"m",` +
		`"granted":{"calls":2,"tokens":9,"money":0.5},"settled":{"calls":2,"tokens":8,"money":0.5},"refused":{"calls":1,"tokens":0,"money":0}}}
{"type":"balance","at":"2026-01-02T03:04:05Z","balance":{"service":"https://svc","key":"k","model":"m",` +
		`"granted":{"calls":1,"tokens":1,"money":0},"settled":{"calls":1,"tokens":1,"money":0},"refused":{"calls":0,"tokens":0,"money":0}}}
{"type":"grant","at":"2026-01-02T03:04:05Z","id":"p-1","owner":"p","account":{"service":"https://svc.","key":"k","model":"m"},` +
		`"cost":{"calls":1,"tokens":5,"money":0}}
`
	expect.OK(t, os.WriteFile(filepath.Join(dir, fileName), []byte(early), 0o600))
	want := []accountBalance{{
		ModelAccount{"https://svc", "k", "m"},
		amount{Calls: 4, Tokens: 15, Money: 0.5},
		amount{Calls: 3, Tokens: 9, Money: 0.5},
		amount{Calls: 1},
	}}
	expect.Same(t, "balances", openBook(t, dir, accountLimits{}).balances(), want)
	expect.Same(t, "balances with checksums", openBook(t, killedCopy(t, dir), accountLimits{}).balances(), want)
}

func TestAddressesHaveOneSpelling(t *testing.T) {
	for want, all := range map[Address][]string{
		"https://svc.example": {
			"https://svc.example/", "HTTPS://SVC.Example", "https://svc.example:443", "https://svc.example.:0443/", "https://svc.example:",
		},
		"https://svc.example/v1/x": {"https://svc.example/v1/x/", "https://svc.example//v1/./x", "https://svc.example/%76%31/y/../x"},
		"http://svc.example":       {"http://svc.example:80"},
		"http://svc.example:443":   {"http://SVC.example:443"},
		"https://xn--bcher-kva.de": {"https://bücher.de", "https://BÜCHER.de:443", "https://b%C3%BCcher.de", "https://XN--bcher-kva.de"},
		"http://127.0.0.1:8080":    {"http://[::ffff:127.0.0.1]:8080"},
		"http://[::1]:8080":        {"http://[0:0:0::1]:8080/"},
		"https://*":                {"https://*"},
		"https://a*/v1/*":          {"https://A*:443/v1/*"},
		"http://127.0.0.1:*":       {"http://127.0.0.1:*"},
		"*":                        {"*"}, "emulator": {"emulator"},
	} {
		for _, one := range all {
			expect.Same(t, one, addressOf(one), want)
		}
	}
}

// A disk that hangs keeps no request for longer than a process waits for an answer.
func TestADiskThatHangsIsReportedInTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBook(anyAccount(accountLimits{Concurrency: 1}))
		b.file = &ledgerFile{moved: make(chan struct{}), work: make(chan struct{}, 1)} // which nothing writes
		began := time.Now()
		_, err := b.grant(t.Context(), ask("p", 1, call(1)))
		expect.Contains(t, "a grant", fmt.Sprint(err), "its disk does not answer")
		if waited := time.Since(began) + longPoll; waited >= patience {
			t.Errorf("waited %s at most, want less than %s", waited, patience)
		}
	})
}

// A file that is removed, replaced or cut while the ledger uses it grants nothing more.
func TestAStateThatIsGoneGrantsNothing(t *testing.T) {
	for name, lose := range map[string]func(dir string) error{
		"a removed folder": os.RemoveAll,
		"a removed file":   func(dir string) error { return os.Remove(filepath.Join(dir, fileName)) },
		"a cut file":       func(dir string) error { return os.Truncate(filepath.Join(dir, fileName), 10) },
		"another file": func(dir string) error {
			path := filepath.Join(dir, fileName)
			return errors.Join(os.Rename(path, path+"2"), os.WriteFile(path, nil, 0o600))
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			var said notes
			b := newBook(anyAccount(accountLimits{}))
			var err error
			b.file, err = openFile(dir, b, said.add)
			expect.OK(t, err)
			defer b.file.close()
			_, err = b.grant(t.Context(), ask("p", 1, call(1)))
			expect.OK(t, err, lose(dir))
			_, err = b.grant(t.Context(), ask("p", 2, call(1)))
			expect.Same(t, "a grant", errors.Is(err, errGone), true)
			_, err = b.grant(t.Context(), ask("p", 1, call(1)))
			expect.Same(t, "the same grant again", errors.Is(err, errGone), true)
			for said.String() == "" {
				time.Sleep(10 * time.Millisecond)
			}
			expect.Contains(t, "said", said.String(), "the ledger grants nothing more: its state was removed or replaced")
		})
	}
}

// Damage in the middle of the file is reported; what it granted is not guessed.
func TestDamageInTheFileIsReported(t *testing.T) {
	dir := t.TempDir()
	expect.OK(t, os.WriteFile(filepath.Join(dir, fileName), []byte("{\"type\":\"settle\",\"id\":\"x\"}\n{\"type\":\"grant\"}\n"), 0o600))
	_, err := openFile(dir, newBook(nil), nil)
	expect.Contains(t, "a damaged ledger", fmt.Sprint(err), fileName+
		":2 is damaged: what was granted is not known; move the file away to begin with empty accounts")
	b := openBook(t, t.TempDir(), accountLimits{})
	for n := range 3 {
		_, err := b.grant(t.Context(), ask("p", n, call(100)))
		expect.OK(t, err)
	}
	text, err := os.ReadFile(b.file.path)
	expect.OK(t, err)
	lines := strings.SplitAfter(string(text), "\n")
	for name, damaged := range map[string]string{
		"a line is missing":   lines[1] + lines[2],
		"lines are swapped":   lines[0] + lines[2] + lines[1],
		"a number differs":    strings.Replace(string(text), `"tokens":100`, `"tokens":101`, 1),
		"a checksum differs":  strings.Replace(string(text), `"crc":"`, `"crd":"`, 1),
		"a checksum is cut":   lines[0] + strings.Replace(lines[1], `,"crc"`, `,"cr"`, 1) + lines[2],
		"a line has no end":   strings.Repeat(" ", mostLine+1) + string(text),
		"a byte has one flip": strings.Replace(string(text), "grant", "Grant", 1),
	} {
		dir := t.TempDir()
		expect.OK(t, os.WriteFile(filepath.Join(dir, fileName), []byte(damaged), 0o600))
		_, err := openFile(dir, newBook(nil), nil)
		expect.Contains(t, name, fmt.Sprint(err), " is damaged: what was granted is not known")
	}
	_, err = openFile(filepath.Dir(b.file.path), newBook(nil), nil)
	expect.Contains(t, "a second ledger", fmt.Sprint(err), "--state: another ledger uses the folder")
}

// An account without a limit on tokens needs no tokens that are older than a minute: a ledger runs for weeks.
func TestOldTokensAreForgottenWithoutALimit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBook(anyAccount(accountLimits{}))
		b.file = unwritten()
		for n := range 20 {
			one := ask("p", n, call(5))
			_, err := b.grant(t.Context(), one)
			expect.OK(t, err, b.settle(t.Context(), []settlement{{ID: one.ID, Tokens: 5}}))
			time.Sleep(30 * time.Second)
		}
		expect.Same(t, "calls that are kept", len(b.account(someModel).meter.Window), 3)
	})
}

func TestFileIsRewritten(t *testing.T) {
	dir := t.TempDir()
	b := openBook(t, dir, accountLimits{Rates: rates.Rates{RequestsPerMinute: 1 << 30}})
	b.file.most, b.file.least = 20_000, 20_000
	var all sync.WaitGroup
	for w := range 4 {
		all.Go(func() {
			for n := range 200 {
				one := ask(fmt.Sprint(w), n, call(2))
				_, err := b.grant(t.Context(), one)
				expect.OK(t, err)
				if n%10 > 0 {
					expect.OK(t, b.settle(t.Context(), []settlement{{ID: one.ID, Tokens: 1}}))
				}
			}
		})
	}
	all.Wait()
	before := b.balances()
	expect.Same(t, "granted", before[0].Granted, amount{Calls: 800, Tokens: 1600})
	b = openBook(t, killedCopy(t, dir), accountLimits{})
	expect.Same(t, "balances", b.balances(), before)
	expect.Same(t, "open grants", len(b.grants), 80)
	if !slices.ContainsFunc(b.events(time.Now()), func(e *bookEvent) bool { return e.Type == balanced }) {
		t.Error("got no event of a balance, want one")
	}
}
