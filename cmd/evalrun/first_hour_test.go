package main

import (
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/evalrun/evalrun/internal/testing/expect"
)

// standIns answer for the hosts of vendors, behind a proxy and with certificates of their own. They count calls.
type standIns struct {
	answer func(http.ResponseWriter, *http.Request)
	proxy  *httptest.Server
	ca     authority

	mu    sync.Mutex
	calls []string // such as POST api.vendor.example/v1/chat/completions
	keys  []string // whatever the headers of the calls have of keys
}

func serveStandIns(t *testing.T, answer func(http.ResponseWriter, *http.Request)) *standIns {
	t.Helper()
	s := &standIns{answer: answer}
	s.ca.issue(t, "authority")
	hosts := httptest.NewUnstartedServer(s)
	hosts.TLS = &tls.Config{GetCertificate: func(hello *tls.ClientHelloInfo) (*tls.Certificate, error) {
		s.mu.Lock()
		defer s.mu.Unlock()
		pair, err := tls.X509KeyPair(s.ca.issue(t, hello.ServerName))
		return &pair, err
	}}
	hosts.Config.ErrorLog = quiet()
	hosts.StartTLS()
	t.Cleanup(hosts.Close)
	s.proxy = httptest.NewServer(tunnel(hosts.Listener.Addr().String()))
	t.Cleanup(s.proxy.Close)
	return s
}

// tunnel is a proxy that leads everywhere to one address.
func tunnel(address string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodConnect {
			http.Error(w, "only tunnels", http.StatusBadRequest)
			return
		}
		to, err := net.Dial("tcp", address)
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadGateway)
			return
		}
		from, _, err := http.NewResponseController(w).Hijack()
		if err != nil {
			return
		}
		_, _ = io.WriteString(from, "HTTP/1.1 200 OK\r\n\r\n")
		go func() {
			_, _ = io.Copy(to, from)
			_ = to.Close()
		}()
		_, _ = io.Copy(from, to)
		_ = from.Close()
	}
}

func (s *standIns) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	s.calls = append(s.calls, r.Method+" "+r.Host+r.URL.Path)
	for name, values := range r.Header {
		if strings.Contains(strings.Join(values, " "), "key-of-") {
			s.keys = append(s.keys, name+": "+values[0])
		}
	}
	s.mu.Unlock()
	s.answer(w, r)
}

// taken returns what was counted, each once and in order, and begins again.
func (s *standIns) taken() (calls, keys []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	calls, keys = s.calls, s.keys
	s.calls, s.keys = nil, nil
	slices.Sort(keys)
	return calls, slices.Compact(keys)
}

func (s *standIns) reached(b *box) {
	b.t.Helper()
	b.write("authority.pem", string(s.ca.pem))
	b.env = append(
		b.env, noNap, "EVALRUN_BASE_URL=", "HTTPS_PROXY="+s.proxy.URL, "NO_PROXY=", "no_proxy=", "SSL_CERT_FILE="+b.path("authority.pem"),
	)
}

// capitals answers questions of the first suite, in the protocol of a path.
func capitals(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	if r.Method == http.MethodGet {
		http.NotFound(w, r)
		return
	}
	answer := "Paris"
	if strings.Contains(string(body), "Japan") {
		answer = "Tokyo"
	}
	w.Header().Set("Content-Type", "application/json")
	_, _ = io.WriteString(w, spoken(r.URL.Path, answer))
}

// patience is how long a call takes that comes after a refusal, so that the run has time to stop before the next one.
const patience = 100 * time.Millisecond

func spoken(path, text string) string {
	switch {
	case strings.HasSuffix(path, "/messages"):
		return fmt.Sprintf(`{"type": "message", "role": "assistant", "content": [{"type": "text", "text": %q}], "stop_reason": "end_turn",
			"usage": {"input_tokens": 9, "output_tokens": 1}}`, text)
	case strings.HasSuffix(path, ":generateContent"):
		return fmt.Sprintf(`{"candidates": [{"content": {"role": "model", "parts": [{"text": %q}]}, "finishReason": "STOP"}],
			"usageMetadata": {"promptTokenCount": 9, "candidatesTokenCount": 1}}`, text)
	}
	return fmt.Sprintf(`{"choices": [{"message": {"role": "assistant", "content": %q}, "finish_reason": "stop"}],
		"usage": {"prompt_tokens": 9, "completion_tokens": 1}}`, text)
}

// An empty folder, `init`, the key and `run`: that is all that a vendor takes, and its key goes to its own host alone.
func TestVendorsRunFromAnEmptyFolder(t *testing.T) {
	t.Parallel()
	vendors := serveStandIns(t, capitals)
	for _, test := range []struct{ vendor, model, key, at string }{
		{"openai", "gpt-4o-mini", "Authorization: Bearer key-of-openai", "api.openai.com/v1/chat/completions"},
		{"anthropic", "claude-haiku-4-5", "X-Api-Key: key-of-anthropic", "api.anthropic.com/v1/messages"},
		{
			"google", "gemini-2.5-flash", "X-Goog-Api-Key: key-of-google",
			"generativelanguage.googleapis.com/v1beta/models/gemini-2.5-flash:generateContent",
		},
		{"mistral", "mistral-small-latest", "Authorization: Bearer key-of-mistral", "api.mistral.ai/v1/chat/completions"},
	} {
		b := newBox(t, nil, nil)
		vendors.reached(b)
		b.env = append(b.env, "OPENAI_API_KEY=key-of-openai", "ANTHROPIC_API_KEY=key-of-anthropic", "GEMINI_API_KEY=key-of-google",
			"MISTRAL_API_KEY=key-of-mistral")
		b.exits(0, "init", "--vendor", test.vendor, "--model", test.model)
		b.exits(0, "run")
		b.says("PASS  2 trials")
		calls, keys := vendors.taken()
		host, _, _ := strings.Cut(test.at, "/")
		asked := slices.DeleteFunc(calls, func(call string) bool { return strings.HasPrefix(call, "GET "+host+"/") }) // about the model
		expect.Same(t, "calls", strings.Join(asked, "\n"), "POST "+test.at+"\nPOST "+test.at)
		expect.Same(t, "keys", strings.Join(keys, "\n"), test.key)
	}
}

// A server of vLLM lists its models and describes none of them.
func TestOwnServerRunsFromAnEmptyFolder(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	var calls []string
	b := newBox(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		calls = append(calls, r.Method+" "+r.URL.Path+" "+r.Header.Get("Authorization"))
		mu.Unlock()
		switch r.URL.Path {
		case "/v1/models":
			_, _ = io.WriteString(w, `{"object": "list", "data": [{"id": "Qwen/Qwen3-8B", "object": "model", "max_model_len": 4096}]}`)
		case "/v1/chat/completions":
			capitals(w, r)
		default:
			w.WriteHeader(http.StatusNotFound)
			_, _ = io.WriteString(w, `{"detail": "Not Found"}`)
		}
	}), nil)
	b.env = append(b.env, noNap, "EVALRUN_BASE_URL=", "OPENAI_API_KEY=key-of-openai")
	b.exits(0, "init", "--vendor", "vllm", "--base-url", b.url+"/v1", "--model", "Qwen/Qwen3-8B")
	b.exits(0, "run")
	b.says("PASS  2 trials")
	mu.Lock()
	said := slices.Clone(calls)
	mu.Unlock()
	asked := slices.DeleteFunc(slices.Clone(said), func(call string) bool { return strings.HasPrefix(call, "GET /v1/models") })
	expect.Same(t, "calls", strings.Join(asked, "\n"), "POST /v1/chat/completions \nPOST /v1/chat/completions ")
	if strings.Contains(strings.Join(said, "\n"), "key-of-") {
		t.Errorf("got the calls %q, want no key in them", said)
	}
	b.exits(0, "init", "other.yaml", "--vendor", "vllm", "--base-url", b.url+"/v1", "--model", "Qwen/Qwen3-8")
	b.exits(0, "run", "other.yaml")
	b.says("Qwen/Qwen3-8B")
}

// What is wrong with a key, an address, a model or the network is said with its fix, and nothing is sent to a wrong place.
func TestBadInputOfTheFirstHour(t *testing.T) {
	t.Parallel()
	vendors := serveStandIns(t, capitals)
	long := strings.Repeat("m", 5000)
	for _, test := range []struct {
		args, key string // init's flags, and the key of openai
		exit      int    // of the first command that fails
		says      string
	}{
		{"--vendor opnai", "", 2, "there is no vendor \"opnai\"; did you mean `openai`"},
		{"--model opnai:gpt-4o", "", 2, "there is no vendor `opnai`"},
		{"--vendor openai --model " + long, "key-of-openai", 2, "the id of a model has at most 1000 bytes, and this one has 5000"},
		{"--vendor openai", "", 2, "the vendor openai needs a key: set OPENAI_API_KEY; see https://"},
		{"--vendor openai", "  ", 2, "the vendor openai needs a key: set OPENAI_API_KEY"},
		{"--vendor openai", "key-of-\nopenai", 2, "OPENAI_API_KEY, the key of the service `openai`, holds a space, a line break or"},
		{"--vendor openai", "key of-openai", 2, "is in no key: copy the key again, alone and in one line"},
		{"--vendor openai", "“key-of-openai”", 2, "OPENAI_API_KEY, the key of the service `openai`, holds a space"},
		{"--vendor openai --base-url https://eu.example/v1?key=x", "", 2, "must not hold a query or a fragment"},
		{"--vendor openai --base-url https://user:pw@eu.example/v1", "", 2, "must not hold a user or a password"},
		{"--vendor openai --base-url eu.example/v1", "", 2, "the base URL must begin with https:// or http://"},
		{"--vendor openai --base-url https://eu.example:77777/v1", "", 2, "the base URL has a port beyond 65535"},
		{"--vendor openai --base-url https://eu.example/v1/chat/completions", "", 2, "ends in /chat/completions: leave that out"},
		{"--vendor openai --base-url https://eu.example/v1/models", "", 2, "ends in /models: leave that out"},
		{"--vendor anthropic --base-url https://eu.example/v1", "", 2, "the base URL ends in /v1: leave the version out"},
		{"--vendor openai --base-url http://eu.example/v1", "key-of-openai", 2, "the key would travel in the clear to http://eu.example/v1"},
	} {
		b := newBox(t, nil, nil)
		vendors.reached(b)
		b.env = append(b.env, "OPENAI_API_KEY="+test.key)
		if cmd := b.command(append([]string{"init"}, strings.Fields(test.args)...)...); cmd.Run() != nil {
			b.exits(test.exit, append([]string{"init"}, strings.Fields(test.args)...)...)
			if _, err := os.Stat(b.path("suite.yaml")); err == nil {
				t.Errorf("%s: got a suite, want none", test.args)
			}
		} else {
			b.exits(test.exit, "run")
		}
		b.says(test.says)
		if len(b.errs) > 1500 || strings.Contains(b.errs, "pw@") || strings.Contains(b.errs, "key-of-") {
			t.Errorf("%.100s: got %d bytes, want a message in a few lines and without secrets:\n%.2000s", test.args, len(b.errs), b.errs)
		}
	}
	calls, _ := vendors.taken()
	expect.Same(t, "calls", len(calls), 0)
}

// A network that fails is said with its fix, and a key goes neither to a proxy nor where a server redirects to.
func TestNetworkOfTheFirstHour(t *testing.T) {
	t.Parallel()
	var proxied, wrong []string
	proxy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		proxied = append(proxied, r.Method+" "+r.Host+" "+r.Header.Get("Authorization"))
		w.Header().Set("Proxy-Authenticate", "Basic")
		http.Error(w, "<html>who are you?</html>", http.StatusProxyAuthRequired)
	}))
	t.Cleanup(proxy.Close)
	elsewhere := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { wrong = append(wrong, r.URL.Path) }))
	t.Cleanup(elsewhere.Close)
	redirect := func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, elsewhere.URL+r.URL.Path, http.StatusTemporaryRedirect)
	}
	page := func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		_, _ = io.WriteString(w, "<html><body>Sign in</body></html>")
	}
	secret := strings.Replace(proxy.URL, "//", "//user:s3cr3t-word@", 1)
	for name, test := range map[string]struct {
		answer func(http.ResponseWriter, *http.Request)
		proxy  string
		says   string
	}{
		"a proxy that asks": {capitals, proxy.URL, "407: the proxy in HTTPS_PROXY wants a user and a password: write them into it, as " +
			"http://USER:PASSWORD@HOST:PORT"},
		"a proxy that refuses": {capitals, secret, "the proxy in HTTPS_PROXY refuses the user and the password in it"},
		"no proxy":             {capitals, "http://127.0.0.1:1", "that is the proxy in HTTPS_PROXY"},
		"a redirect":           {redirect, "", "are not followed, since key and prompt would go along: name that address if it is right"},
		"a page":               {page, "", "the answer is a page and not JSON (a login, a proxy, or a wrong `baseUrl`)"},
	} {
		vendors := serveStandIns(t, test.answer)
		b := newBox(t, nil, nil)
		vendors.reached(b)
		b.env = append(b.env, "OPENAI_API_KEY=key-of-openai")
		if test.proxy != "" {
			b.env = append(b.env, "HTTPS_PROXY="+test.proxy)
		}
		b.exits(0, "init", "--vendor", "openai")
		b.exits(4, "run")
		b.errs = strings.Join(strings.Fields(b.out+b.errs), " ")
		b.says(test.says)
		if strings.Contains(b.errs, "s3cr3t") {
			t.Errorf("%s: got %s, want no password", name, b.errs)
		}
	}
	expect.Same(t, "calls elsewhere", len(wrong), 0)
	if len(proxied) == 0 || len(proxied) > 6 || strings.Contains(strings.Join(proxied, "\n"), "key-of-") {
		t.Errorf("got %q at the proxy, want few calls without the key", proxied)
	}
	b := newBox(t, nil, nil)
	b.env = append(b.env, noNap, "EVALRUN_BASE_URL=")
	b.exits(0, "init", "--vendor", "vllm", "--base-url", "http://127.0.0.1:1/v1")
	b.exits(4, "run")
	b.says("connection refused: check that the server runs, and the port")
	b.exits(0, "init", "other.yaml", "--vendor", "vllm", "--base-url", "https://models.invalid/v1")
	b.exits(4, "run", "other.yaml")
	b.says("no such host: check the address and the network; behind a proxy, set HTTPS_PROXY")
}

// Vendors' own words: what a refusal is about is closed, one model or the whole service.
func TestVendorsRefusalsCloseWhatTheyAreAbout(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		vendor, path string
		status       int
		body         string
		whole        bool // the service, with all its models
	}{
		{"openai", "/v1", 429, `{"error": {"message": "You exceeded your current quota, please check your plan and billing details.",
			"type": "insufficient_quota", "param": null, "code": "insufficient_quota"}}`, false},
		{"openai", "/v1", 403, `{"error": {"message": "Project ` + "`p`" + ` does not have access to model closed",
			"type": "invalid_request_error", "param": null, "code": "model_not_found"}}`, false},
		{"openai", "/v1", 401, `{"error": {"message": "Incorrect API key provided: k***e.", "type": "invalid_request_error",
			"param": null, "code": "invalid_api_key"}}`, true},
		{"anthropic", "", 403, `{"type": "error", "error": {"type": "permission_error",
			"message": "Your API key does not have permission to use the specified resource."}}`, false},
		{"anthropic", "", 400, `{"type": "error", "error": {"type": "invalid_request_error",
			"message": "Your credit balance is too low to access the Anthropic API."}}`, false},
		{"anthropic", "", 401, `{"type": "error", "error": {"type": "authentication_error", "message": "invalid x-api-key"}}`, true},
		{
			"google", "/v1beta", 403, `{"error": {"code": 403, "message": "The caller does not have permission", "status": "PERMISSION_DENIED"}}`,
			false,
		},
		{"google", "/v1beta", 429, `{"error": {"code": 429, "message": "You exceeded your current quota", "status": "RESOURCE_EXHAUSTED",
			"details": [{"@type": "type.googleapis.com/google.rpc.QuotaFailure", "violations": [{
			"quotaId": "GenerateRequestsPerDayPerProjectPerModel-FreeTier", "quotaValue": "20"}]}]}}`, false},
		{"google", "/v1beta", 400, `{"error": {"code": 400, "message": "API key not valid. Please pass a valid API key.",
			"status": "INVALID_ARGUMENT", "details": [{"@type": "type.googleapis.com/google.rpc.ErrorInfo", "reason": "API_KEY_INVALID",
			"domain": "googleapis.com"}]}}`, true},
		{"google", "/v1beta", 403, `{"error": {"code": 403, "message": "Your API key was reported as leaked. Please use another API key.",
			"status": "PERMISSION_DENIED"}}`, true},
	} {
		t.Run(fmt.Sprintf("%s %d %t", test.vendor, test.status, test.whole), func(t *testing.T) {
			t.Parallel()
			var mu sync.Mutex
			calls := map[bool]int{} // by whether they are about the closed model
			after := 0              // those of the other model that come when that one is refused
			b := newBox(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				body, _ := io.ReadAll(r.Body)
				closed := strings.Contains(string(body)+r.URL.Path, "closed")
				mu.Lock()
				calls[closed]++
				late := !closed && calls[true] > 0
				if late {
					after++
				}
				mu.Unlock()
				if late && test.whole {
					time.Sleep(patience)
				}
				if closed {
					w.WriteHeader(test.status)
					_, _ = io.WriteString(w, test.body)
					return
				}
				_, _ = io.WriteString(w, spoken(r.URL.Path, "hi"))
			}), nil)
			b.env = append(b.env, noNap, "EVALRUN_BASE_URL=", "V_API_KEY=key-of-v")
			b.write("suite.yaml", fmt.Sprintf(`version: 1
name: s
services: {v: {vendor: %s, baseUrl: "%s%s", keyEnv: V_API_KEY, metadata: false, limits: {concurrency: 1}}}
targets: [{name: closed, service: v, model: closed}, {name: open, service: v, model: open}]
prompts: [{name: p, text: hello}]
limits: {concurrency: 1}
cases: [{name: c, repeats: 14, scorers: [{equals: hi}]}]
`, test.vendor, b.url, test.path))
			b.exits(4, "run", "suite.yaml")
			closed := strings.Contains(b.errs, " (model closed); what needs it is skipped")
			expect.Same(t, "a closed model in "+b.errs, closed, !test.whole)
			expect.Same(t, "calls of the closed model", calls[true], 1)
			if test.whole && after > 2 || !test.whole && calls[false] != 14 {
				t.Errorf(
					"got %d calls of the other model, %d after the refusal, want all 14 unless the service refuses the key", calls[false], after,
				)
			}
		})
	}
}
