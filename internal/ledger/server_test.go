package ledger

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"math/big"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/evalrun/evalrun/internal/clients/wire"
	"github.com/evalrun/evalrun/internal/rates"
	"github.com/evalrun/evalrun/internal/testing/expect"
)

func anyAccount(l accountLimits) []accountLimits {
	l.service, l.model, l.key = "*", "*", "*"
	return []accountLimits{l}
}

type notes struct {
	mu  sync.Mutex
	all []string
}

func (n *notes) add(text string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.all = append(n.all, text)
}

func (n *notes) String() string {
	n.mu.Lock()
	defer n.mu.Unlock()
	return strings.Join(n.all, "\n")
}

func dial(t *testing.T, o Options) *Client {
	t.Helper()
	if o.Notice == nil {
		o.Notice = func(text string) { t.Log(text) }
	}
	if o.Lost == nil {
		o.Lost = func(reason string) { t.Log(reason) }
	}
	if o.Wait == 0 {
		o.Wait = time.Minute
	}
	c, err := Dial(o)
	expect.OK(t, err)
	t.Cleanup(c.Close)
	return c
}

// While the ledger is away nothing is granted. When it is back, the process continues, and each grant counts once.
func TestLedgerIsAwayForAWhile(t *testing.T) {
	dir := t.TempDir()
	config := Config{Listen: "127.0.0.1:0", Limits: anyAccount(accountLimits{Budget: amount{Calls: 3}}), State: dir, Notice: func(string) {}}
	s, err := Start(config)
	expect.OK(t, err)
	var said notes
	c := dial(t, Options{URL: s.URL, Notice: said.add})
	first, err := c.Grant(t.Context(), someModel, call(10))
	expect.OK(t, err)
	config.Listen = strings.TrimPrefix(s.URL, "http://")
	s.Close()

	first.Settle(4, 0, 0)
	got := make(chan error)
	go func() {
		_, err := c.Grant(t.Context(), someModel, call(10))
		got <- err
	}()
	select {
	case err := <-got:
		t.Fatalf("got a grant of a ledger that is away (%v), want none", err)
	case <-time.After(2 * tryEvery):
	}
	s, err = Start(config)
	expect.OK(t, err)
	defer s.Close()
	expect.OK(t, <-got)
	for want := (amount{Calls: 1, Tokens: 4}); s.Balances()[0].Settled != want; time.Sleep(10 * time.Millisecond) {
	}
	_, err = c.Grant(t.Context(), someModel, call(10))
	expect.OK(t, err)
	_, err = c.Grant(t.Context(), someModel, call(0))
	var r *Refused
	if !errors.As(err, &r) || !r.Budget || !strings.Contains(r.Reason, "the budget of 3 calls is spent") {
		t.Errorf("a fourth call of three: %v, want the budget of 3 calls is spent", err)
	}
	if text := said.String(); !strings.Contains(text, "does not answer") || !strings.Contains(text, "the ledger answers again") {
		t.Errorf("said %q, want that it does not answer, and that it answers again", text)
	}
	if n := strings.Count(said.String(), "\n"); n != 1 {
		t.Errorf("said %q, want two lines", said.String())
	}
}

func TestLedgerStaysAway(t *testing.T) {
	var lost notes
	c := dial(t, Options{URL: "http://127.0.0.1:1", Wait: 300 * time.Millisecond, Lost: lost.add})
	_, err := c.Grant(t.Context(), someModel, call(1))
	if !errors.Is(err, errLost) || !strings.Contains(lost.String(), "did not answer for 300ms") {
		t.Errorf("%v, %q, want %v, did not answer for 300ms", err, lost.String(), errLost)
	}
}

// A budget of calls is exact over many processes that ask at once.
func TestBudgetIsExact(t *testing.T) {
	s, err := Start(Config{
		Listen: "127.0.0.1:0", Limits: anyAccount(accountLimits{Budget: amount{Calls: 100}}), State: t.TempDir(), Notice: func(string) {},
	})
	expect.OK(t, err)
	defer s.Close()
	var mu sync.Mutex
	granted, refused := 0, 0
	var all sync.WaitGroup
	for range 4 {
		c := dial(t, Options{URL: s.URL})
		for range 4 {
			all.Go(func() {
				for {
					g, err := c.Grant(t.Context(), someModel, call(1))
					mu.Lock()
					if err != nil {
						refused++
						mu.Unlock()
						return
					}
					granted++
					mu.Unlock()
					g.Settle(1, 0, 0)
				}
			})
		}
	}
	all.Wait()
	expect.Same(t, "granted", granted, 100)
	expect.Same(t, "refused", refused, 16)
	expect.Same(t, "books", s.Balances()[0].Granted.Calls, 100)
	expect.Same(t, "refused in the books", s.Balances()[0].Refused.Calls, 16)
}

func TestGivingUpLeavesNothing(t *testing.T) {
	limits := anyAccount(accountLimits{Concurrency: 1})
	s, err := Start(Config{Listen: "127.0.0.1:0", Limits: limits, State: t.TempDir(), Notice: func(string) {}})
	expect.OK(t, err)
	defer s.Close()
	c := dial(t, Options{URL: s.URL})
	first, err := c.Grant(t.Context(), someModel, call(1))
	expect.OK(t, err)
	for range 20 {
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Millisecond)
		if _, err := c.Grant(ctx, someModel, call(1)); err == nil {
			t.Fatal("got a second place, want one at most")
		}
		cancel()
	}
	c.queue(settlement{ID: first.id, Unsent: true})
	second, err := c.Grant(t.Context(), someModel, call(1))
	expect.OK(t, err)
	second.Settle(1, 0, 0)
	for s.Balances()[0].Settled.Calls != 1 {
		time.Sleep(10 * time.Millisecond)
	}
	expect.Same(t, "granted", s.Balances()[0].Granted, call(1))
}

func TestATokenGuardsEveryPath(t *testing.T) {
	limits := anyAccount(accountLimits{})
	s, err := Start(Config{Listen: "127.0.0.1:0", Limits: limits, State: t.TempDir(), Token: "right", Notice: func(string) {}})
	expect.OK(t, err)
	defer s.Close()
	for _, path := range []string{
		"GET /v1/accounts", "POST /v1/grants", "POST /v1/check", "POST /v1/heartbeats", "POST /v1/settlements", "GET /",
	} {
		for header, want := range map[string]int{
			"": 401, "Bearer wrong": 401, "right": 401, "Basic right": 401, "Bearer": 401, "Bearer right": 0, "bearer right": 0,
		} {
			method, path, _ := strings.Cut(path, " ")
			req, err := http.NewRequestWithContext(t.Context(), method, s.URL+path, strings.NewReader("{}"))
			expect.OK(t, err)
			req.Header.Set("Authorization", header)
			resp, err := http.DefaultClient.Do(req)
			expect.OK(t, err, resp.Body.Close())
			if want > 0 && resp.StatusCode != want || want == 0 && resp.StatusCode == 401 {
				t.Errorf("%s %s with %q: status %d, want %d, or any but 401 with the right token", method, path, header, resp.StatusCode, want)
			}
		}
	}
	_, err = dial(t, Options{URL: s.URL, Token: "wrong"}).Check(t.Context(), []ModelAccount{someModel})
	var r *Refused
	if !errors.As(err, &r) || !strings.Contains(r.Reason, "EVALRUN_LEDGER_TOKEN") {
		t.Errorf("a wrong token: %v, want a hint of EVALRUN_LEDGER_TOKEN", err)
	}
	_, err = dial(t, Options{URL: s.URL, Token: "right"}).Check(t.Context(), []ModelAccount{someModel})
	expect.OK(t, err)
}

func TestStrangeRequestsGetNothing(t *testing.T) {
	s, err := Start(Config{Listen: "127.0.0.1:0", Limits: anyAccount(accountLimits{}), State: t.TempDir(), Notice: func(string) {}})
	expect.OK(t, err)
	defer s.Close()
	for body, want := range map[string]int{
		`{`: 400, `[]`: 400, `{}`: 400, `{"id":"x","owner":"y","cost":{"calls":-1}}`: 400, `{"id":"x","owner":"y","cost":{"tokens":1e30}}`: 400,
		`{"id":"x","owner":"y","cost":{"calls":9223372036854775807}}`: 400, `{"id":"x","owner":"y","cost":{"money":1e300}}`: 400,
		`{"id":"` + strings.Repeat("x", 2<<20) + `"}`: 400, `{"id":"x","owner":"y"}`: 200,
	} {
		expect.Same(t, body[:min(len(body), 60)], post(t, s.URL+"/v1/grants", body), want)
	}
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.URL+"/v1/accounts", http.NoBody)
	expect.OK(t, err)
	req.Header.Set("Origin", "https://elsewhere.example")
	resp, err := http.DefaultClient.Do(req)
	expect.OK(t, err, resp.Body.Close())
	expect.Same(t, "status for a page", resp.StatusCode, 403)
}

func post(t *testing.T, url, body string) (status int) {
	t.Helper()
	resp, err := http.Post(url, "application/json", strings.NewReader(body))
	expect.OK(t, err, resp.Body.Close())
	return resp.StatusCode
}

// A cost that is negative or too large is refused, with all that came with it: it would refill the budget.
func TestImpossibleSettlementsRefillNothing(t *testing.T) {
	limits := anyAccount(accountLimits{Budget: amount{Tokens: 100, Money: 1}})
	s, err := Start(Config{Listen: "127.0.0.1:0", Limits: limits, State: t.TempDir(), Notice: func(string) {}})
	expect.OK(t, err)
	defer s.Close()
	c := dial(t, Options{URL: s.URL})
	g, err := c.Grant(t.Context(), someModel, amount{Calls: 1, Tokens: 90, Money: 0.9})
	expect.OK(t, err)
	for cost, want := range map[string]int{
		`"tokens":-1000`: 400, `"money":-5`: 400, `"money":1e999`: 400, `"money":NaN`: 400, `"money":1e300`: 400,
		`"tokens":9223372036854775807`: 400,
		`"retryAfterMs":-1`:            400, `"retryAfterMs":9223372036854775807`: 400, `"tokens":1e3`: 400,
	} {
		expect.Same(t, cost, post(t, s.URL+"/v1/settlements", `[{"id":"`+g.id+`","tokens":1},{"id":"`+g.id+`",`+cost+`}]`), want)
	}
	expect.Same(t, "settled", s.Balances()[0].Settled, amount{})
	var said notes
	other := dial(t, Options{URL: s.URL, Notice: said.add})
	other.queue(settlement{ID: "x", Tokens: -1})
	for said.String() == "" {
		time.Sleep(10 * time.Millisecond)
	}
	expect.Contains(t, "said", said.String(), "the ledger refuses what calls cost")
	other.queue(settlement{ID: g.id, Tokens: 90, Money: 0.9}) // which the refused one does not hold up
	for s.Balances()[0].Settled.Calls == 0 {
		time.Sleep(10 * time.Millisecond)
	}
	_, err = c.Grant(t.Context(), someModel, call(11))
	expect.Contains(t, "a call above the budget", fmt.Sprint(err), "the budget of 100 tokens is spent")
}

// A page whose own name leads to this machine gets nothing; with a certificate its names are good.
func TestOnlyTheNamesOfTheLedgerAreServed(t *testing.T) {
	cert, key := certificate(t)
	for _, c := range []Config{{Listen: "127.0.0.1:0"}, {Listen: ":0", Token: "x", Cert: cert, CertKey: key}} {
		c.Limits, c.State, c.Notice = anyAccount(accountLimits{}), t.TempDir(), func(string) {}
		s, err := Start(c)
		expect.OK(t, err)
		defer s.Close()
		for host, want := range map[string]bool{
			"evil.example": false, "127.0.0.1.evil.example": false, "localhost.evil.example:80": false, "": false,
			"127.0.0.1": true, "localhost:1": true, "[::1]:9": true, "192.0.2.1:8421": c.Cert != "", "ledger.test:1": c.Cert != "",
		} {
			expect.Same(t, c.Listen+" as "+host, s.allows(host), want)
		}
	}
}

// What GET /v1/accounts returns is what others build on.
func TestAccountsAreReturnedAsJSON(t *testing.T) {
	s, err := Start(Config{Listen: "127.0.0.1:0", Limits: anyAccount(accountLimits{}), State: t.TempDir(), Notice: func(string) {}})
	expect.OK(t, err)
	defer s.Close()
	g, err := dial(t, Options{URL: s.URL}).Grant(t.Context(), someModel, amount{Calls: 1, Tokens: 20, Money: 0.5})
	expect.OK(t, err)
	g.Settle(12, 0.25, 0)
	for s.Balances()[0].Settled.Calls == 0 {
		time.Sleep(10 * time.Millisecond)
	}
	resp, err := http.Get(s.URL + "/v1/accounts")
	expect.OK(t, err)
	text, err := io.ReadAll(resp.Body)
	expect.OK(t, err, resp.Body.Close())
	want := fmt.Sprintf(`{"accounts":[{"service":"https://svc","key":%q,"model":"svc-pro","granted":{"calls":1,"tokens":20,"money":0.5},`+
		`"settled":{"calls":1,"tokens":12,"money":0.25},"refused":{"calls":0,"tokens":0,"money":0}}]}`+"\n", wire.Fingerprint("k"))
	expect.Same(t, "accounts", string(text), want)
}

// Beyond this machine nothing is served without a certificate and a token, and nothing is sent in the clear.
func TestOpenLedgersAreRefused(t *testing.T) {
	cert, key := certificate(t)
	for name, c := range map[string]Config{
		"no certificate": {Listen: ":0", Token: "x"},
		"no token":       {Listen: "0.0.0.0:0", Cert: cert, CertKey: key},
		"no key":         {Listen: "127.0.0.1:0", Cert: cert},
		"no port":        {Listen: "127.0.0.1"},
		"a bad file":     {Listen: "127.0.0.1:0", Cert: key, CertKey: key},
	} {
		c.State = t.TempDir()
		if s, err := Start(c); err == nil {
			s.Close()
			t.Errorf("%s: got a ledger that has started, want an error", name)
		}
	}
	for _, url := range []string{
		"http://10.0.0.1:80", "http://ledger.example", "ftp://127.0.0.1", "127.0.0.1:80", "http://u:p@127.0.0.1", "http://127.0.0.1/x",
		"http://localhost.example:1",
	} {
		if _, err := Dial(Options{URL: url}); err == nil {
			t.Errorf("%s: got a client, want an error", url)
		}
	}
	s, err := Start(Config{
		Listen: ":0", Token: "x", Cert: cert, CertKey: key, Limits: anyAccount(accountLimits{}), State: t.TempDir(), Notice: func(string) {},
	})
	expect.OK(t, err)
	defer s.Close()
	_, port, _ := net.SplitHostPort(strings.TrimPrefix(s.URL, "https://"))
	url := "https://127.0.0.1:" + port
	_, err = dial(t, Options{URL: url, Token: "x", CA: cert}).Check(t.Context(), []ModelAccount{someModel})
	expect.OK(t, err)
	c := dial(t, Options{URL: url, Token: "x", Wait: time.Millisecond})
	if _, err = c.Check(t.Context(), []ModelAccount{someModel}); !errors.Is(err, errLost) {
		t.Errorf("a certificate of an unknown issuer: got %v, want %v", err, errLost)
	}
}

func certificate(t *testing.T) (cert, key string) {
	t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	expect.OK(t, err)
	about := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "ledger"}, NotAfter: time.Now().Add(time.Hour),
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, DNSNames: []string{"ledger.test"}, IsCA: true, BasicConstraintsValid: true,
	}
	der, err := x509.CreateCertificate(rand.Reader, about, about, &private.PublicKey, private)
	expect.OK(t, err)
	secret, err := x509.MarshalPKCS8PrivateKey(private)
	expect.OK(t, err)
	dir := t.TempDir()
	write := func(name, kind string, data []byte) string {
		path := filepath.Join(dir, name)
		expect.OK(t, os.WriteFile(path, pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: data}), 0o600))
		return path
	}
	return write("cert.pem", "CERTIFICATE", der), write("key.pem", "PRIVATE KEY", secret)
}

func TestAnAccountWithoutAnEntryIsNamed(t *testing.T) {
	limits := anyAccount(accountLimits{Rates: rates.Rates{TokensPerMinute: 5}, Budget: amount{Money: 1}})
	limits[0].model = "svc-*"
	s, err := Start(Config{Listen: "127.0.0.1:0", Limits: limits, State: t.TempDir(), Notice: func(string) {}})
	expect.OK(t, err)
	defer s.Close()
	c := dial(t, Options{URL: s.URL})
	needs, err := c.Check(t.Context(), []ModelAccount{someModel})
	expect.OK(t, err)
	expect.Same(t, "needs", needs, []CallTerms{{Tokens: true, Money: true}})
	_, err = c.Check(t.Context(), []ModelAccount{someModel, {Service: "https://svc", Model: "other"}})
	var r *Refused
	if !errors.As(err, &r) || r.Budget || !strings.Contains(r.Reason, "model other at https://svc") {
		t.Errorf("%v, want a refusal that names the model and its address", err)
	}
	if slices.ContainsFunc(s.Balances(), func(b accountBalance) bool { return b.Model == "other" }) {
		t.Error("got a balance of an account without an entry, want none")
	}
}

func TestWhatIsNotALedgerIsNamedSo(t *testing.T) {
	for _, answer := range []string{"<html>hello</html>", `{"error":5}`, `[1]`} {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		expect.OK(t, err)
		handler := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, answer) })
		server := &http.Server{Handler: handler, ReadHeaderTimeout: time.Second}
		go server.Serve(l)
		_, err = dial(t, Options{URL: "http://" + l.Addr().String()}).Check(t.Context(), []ModelAccount{someModel})
		expect.Contains(t, answer, fmt.Sprint(err), "is not a ledger of evalrun")
		_ = server.Close()
	}
}
