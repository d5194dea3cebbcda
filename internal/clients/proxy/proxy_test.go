package proxy_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/clients/anthropic"
	"github.com/evalrun/evalrun/internal/clients/generative"
	"github.com/evalrun/evalrun/internal/clients/openai"
	"github.com/evalrun/evalrun/internal/clients/proxy"
	"github.com/evalrun/evalrun/internal/clients/wire"
	"github.com/evalrun/evalrun/internal/testing/expect"
	"github.com/evalrun/evalrun/internal/testing/replies"
)

const key = "canary-of-the-service"

type line interface {
	proxy.Line
	Generate(ctx context.Context, call *eval.Call) (*eval.Response, error)
}

func lineOf(p eval.ProtocolName, at string) line {
	s := wire.Server{BaseURL: at, Key: key}
	switch p {
	case eval.OpenAI:
		return openai.New(s)
	case eval.Responses:
		return openai.NewResponses(s)
	case eval.Anthropic:
		return anthropic.New(s)
	case eval.Generative:
	}
	s.HeaderPrefix = "x-goog"
	return generative.New(s)
}

func proxied(t *testing.T, protocol eval.ProtocolName, handle http.HandlerFunc) (*proxy.Proxy, line) {
	t.Helper()
	server := httptest.NewServer(handle)
	t.Cleanup(server.Close)
	to := lineOf(protocol, server.URL)
	send := func(ctx context.Context, call *eval.Call) (*eval.Response, error) {
		return proxy.Attempt(ctx)(call, to)
	}
	p, err := proxy.New([]*proxy.Service{{Name: "s", Protocol: protocol, Line: to, Send: send}})
	expect.OK(t, err)
	t.Cleanup(p.Close)
	return p, to
}

func open(p *proxy.Proxy) (trial *proxy.Trial, env map[string]string) {
	return openWith(p, proxy.Config{ID: "t", Services: []string{"s"}})
}

func openWith(p *proxy.Proxy, config proxy.Config) (trial *proxy.Trial, env map[string]string) {
	trial = p.Open(config)
	env = map[string]string{}
	for _, one := range trial.Env() {
		name, value, _ := strings.Cut(one, "=")
		env[name] = value
	}
	return trial, env
}

func post(t *testing.T, at, token, body string) (*http.Response, []byte) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, at, strings.NewReader(body))
	expect.OK(t, err)
	req.Header.Set("Authorization", "Bearer "+token)
	resp, err := http.DefaultClient.Do(req)
	expect.OK(t, err)
	defer resp.Body.Close()
	said, err := io.ReadAll(resp.Body)
	expect.OK(t, err)
	return resp, said
}

// paths are those of the protocols, below the address in the environment.
var paths = map[eval.ProtocolName]string{
	eval.OpenAI: "/chat/completions", eval.Responses: "/responses", eval.Anthropic: "/v1/messages",
	eval.Generative: "/v1beta/models/m:generateContent",
}

// Replies of vendors pass byte by byte, and are read as their own clients read them.
func TestVendorsRepliesPassAsTheyAre(t *testing.T) {
	t.Parallel()
	all, err := replies.In("openai", "compatible", "responses", "anthropic")
	expect.OK(t, err)
	for _, r := range all {
		protocol := map[string]eval.ProtocolName{"responses": eval.Responses, "anthropic": eval.Anthropic}[r.Folder]
		if protocol == "" {
			protocol = eval.OpenAI
		}
		t.Run(r.Name(), func(t *testing.T) {
			t.Parallel()
			var sent []string
			p, direct := proxied(t, protocol, func(w http.ResponseWriter, req *http.Request) {
				body, _ := io.ReadAll(req.Body)
				sent = append(sent, string(body))
				if found := req.Header.Get("Authorization") + req.Header.Get("X-Api-Key"); !strings.HasSuffix(found, key) {
					t.Errorf("the service got the key %q", found)
				}
				maps.Copy(w.Header(), r.Header())
				w.WriteHeader(r.Status)
				_, _ = w.Write(r.Body)
			})
			trial, env := open(p)
			const body = "{\n \"model\": \"m\",  \"messages\": [], \"stream\": false}"
			at := env[wire.ClientsOf(protocol).AddressEnv] + paths[protocol]
			resp, said := post(t, at, env[wire.ClientsOf(protocol).KeyEnv[0]], body)
			expect.Same(t, "status", resp.StatusCode, r.Status)
			if of := r.Header().Get("Content-Type"); of != "" {
				expect.Same(t, "type", resp.Header.Get("Content-Type"), of)
			}
			if !bytes.Equal(said, r.Body) {
				t.Errorf("got %q, want %q", said, r.Body)
			}
			expect.Same(t, "sent", sent, []string{body})
			made := trial.Close()
			expect.Same(t, "calls", len(made), 1)
			want, failed := direct.Generate(t.Context(), &eval.Call{Request: eval.Request{Model: "m", Stream: r.Stream}})
			if (made[0].Error == nil) != (failed == nil) || made[0].Model != "m" {
				t.Fatalf("got the error %v for %q, want %v", made[0].Error, made[0].Model, failed)
			}
			if failed != nil || r.Status != http.StatusOK { // a refusal of the prompt is an answer for evalrun alone
				return
			}
			expect.Same(t, "text", made[0].Response.Text(), want.Text())
			expect.Same(t, "calls of tools", made[0].FunctionCalls(), (&eval.AnsweredCall{Response: *want}).FunctionCalls())
			if u := want.Usage; u != nil && u.Source != "" {
				got := made[0].Usage
				expect.Same(t, "tokens of the prompt", got.PromptTokens, u.PromptTokens)
				expect.Same(t, "tokens of the output", got.OutputTokens, u.OutputTokens)
				expect.Same(t, "cached tokens", got.CachedTokens, u.CachedTokens)
			}
		})
	}
}

// What is no call of a trial, or none that can be counted, is refused in words that the libraries of its protocol read.
func TestWhatCannotBeCountedIsRefused(t *testing.T) {
	t.Parallel()
	p, _ := proxied(t, eval.OpenAI, func(http.ResponseWriter, *http.Request) { t.Error("a request reached the service") })
	trial, env := open(p)
	other, _ := open(p)
	expect.Same(t, "calls", len(other.Close()), 0)
	refused := func(path, token string, status int, why string) {
		t.Helper()
		resp, said := post(t, env["OPENAI_BASE_URL"]+path, token, `{"model": "m"}`)
		if resp.StatusCode != status || !strings.Contains(string(said), why) || resp.Header.Get("X-Should-Retry") != "false" {
			t.Errorf("%s: got %d %s, want %d and %q", path, resp.StatusCode, said, status, why)
		}
	}
	refused("/chat/completions", "sk-real", http.StatusUnauthorized, "does not know this key")
	refused("/chat/completions", slices.Collect(maps.Values(env))[0]+"x", http.StatusUnauthorized, "does not know this key")
	refused("/batches", env["OPENAI_API_KEY"], http.StatusNotFound, "cannot count what POST /batches costs")
	refused("/x/../../v1/chat/completions", env["OPENAI_API_KEY"], http.StatusNotFound, "cannot count")
	for _, path := range []string{"/files", "/responses/resp_1", "/models/../files"} { // of the account, and not of the trial
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, env["OPENAI_BASE_URL"]+path, nil)
		expect.OK(t, err)
		req.Header.Set("Authorization", "Bearer "+env["OPENAI_API_KEY"])
		resp, err := http.DefaultClient.Do(req)
		expect.OK(t, err)
		expect.Same(t, "GET "+path, resp.StatusCode, http.StatusNotFound)
		expect.OK(t, resp.Body.Close())
	}
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, env["OPENAI_BASE_URL"]+"/realtime", nil)
	expect.OK(t, err)
	req.Header.Set("Connection", "Upgrade")
	req.Header.Set("Upgrade", "websocket")
	req.Header.Set("X-Api-Key", env["OPENAI_API_KEY"])
	resp, err := http.DefaultClient.Do(req)
	expect.OK(t, err)
	expect.Same(t, "web socket", resp.StatusCode, http.StatusBadRequest)
	expect.OK(t, resp.Body.Close())
	expect.Same(t, "calls", len(trial.Close()), 0)
	refused("/chat/completions", env["OPENAI_API_KEY"], http.StatusUnauthorized, "does not know this key") // its trial has ended
}

// Results of tool calls belong to the call of the model that asked for them, however often later requests repeat them.
func TestResultsGoWithTheirCalls(t *testing.T) {
	t.Parallel()
	for _, one := range []struct {
		protocol  eval.ProtocolName
		asks      string
		first     string
		then      string
		wantFails bool
	}{
		{
			eval.OpenAI, `{"choices":[{"index":0,"message":{"role":"assistant",` +
				`"tool_calls":[{"id":"c1","type":"function","function":{"name":"get","arguments":"{}"}}]},` +
				`"finish_reason":"tool_calls"}],"usage":{"prompt_tokens":5,"completion_tokens":2,"total_tokens":7}}`,
			`{"model":"m","messages":[]}`,
			`{"model":"m","messages":[{"role":"tool","tool_call_id":"c1","content":"{\"error\": \"gone\"}"}]}`, true,
		},
		{
			eval.Responses, `{"id":"r","object":"response","status":"completed",` +
				`"output":[{"type":"function_call","call_id":"c1","name":"get","arguments":"{}"}],` +
				`"usage":{"input_tokens":5,"output_tokens":2,"total_tokens":7}}`,
			`{"model":"m","input":"hi"}`, `{"model":"m","input":[{"type":"function_call_output","call_id":"c1","output":"gone"}]}`, false,
		},
		{
			eval.Anthropic, `{"type":"message","role":"assistant","content":[{"type":"tool_use","id":"c1","name":"get","input":{}}],` +
				`"stop_reason":"tool_use","usage":{"input_tokens":5,"output_tokens":2}}`,
			`{"model":"m","messages":[]}`,
			`{"model":"m","messages":[{"role":"user","content":[{"type":"tool_result","tool_use_id":"c1","is_error":true,` +
				`"content":[{"type":"text","text":"gone"}]}]}]}`,
			true,
		},
		{
			eval.Generative, `{"candidates":[{"content":{"role":"model","parts":[{"functionCall":{"name":"get","args":{}}}]},` +
				`"finishReason":"STOP"}],` +
				`"usageMetadata":{"promptTokenCount":5,"candidatesTokenCount":2,"totalTokenCount":7}}`,
			`{"contents":[]}`,
			`{"contents":[{"role":"user","parts":[{"functionResponse":{"name":"get","response":{"result":"gone"}}}]}]}`, false,
		},
	} {
		t.Run(string(one.protocol), func(t *testing.T) {
			t.Parallel()
			p, _ := proxied(t, one.protocol, func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, one.asks) })
			trial, env := open(p)
			variables := wire.ClientsOf(one.protocol)
			for _, body := range []string{one.first, one.then, one.then} {
				post(t, env[variables.AddressEnv]+paths[one.protocol], env[variables.KeyEnv[0]], body)
			}
			made := trial.Close()
			expect.Same(t, "calls", len(made), 3)
			expect.Same(t, "results", []int{len(made[0].Results), len(made[1].Results), len(made[2].Results)}, []int{1, 0, 0})
			result := made[0].Results[0]
			if result.Name != "get" || !strings.Contains(result.Text, "gone") || result.Failed != one.wantFails {
				t.Errorf("got %+v, want a result of get", result)
			}
			expect.Same(t, "tokens", proxy.Usage(made).TotalTokens, 21)
		})
	}
}

// stream is an answer in two events and an end mark.
var stream = []string{
	`data: {"choices":[{"index":0,"delta":{"content":"Hello"}}]}` + "\n\n",
	`data: {"choices":[{"index":0,"delta":{},"finish_reason":"stop"}],` +
		`"usage":{"prompt_tokens":5,"completion_tokens":2,"total_tokens":7}}` + "\n\n",
	"data: [DONE]\n\n",
}

// A stream passes event by event. One that the program leaves ends at the service too, and one that it leaves at the end mark is whole.
func TestStreamsPassAsTheyCome(t *testing.T) {
	t.Parallel()
	gone := make(chan struct{}, 2)
	next := make(chan string)
	p, _ := proxied(t, eval.OpenAI, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		for {
			select {
			case event := <-next:
				_, _ = io.WriteString(w, event)
				_ = http.NewResponseController(w).Flush()
			case <-r.Context().Done():
				gone <- struct{}{}
				return
			}
		}
	})
	trial, env := open(p)
	leaveAfter := func(events ...string) {
		ctx, leave := context.WithCancel(t.Context())
		defer leave()
		body := strings.NewReader(`{"model":"m","stream":true}`)
		req, err := http.NewRequestWithContext(ctx, http.MethodPost, env["OPENAI_BASE_URL"]+"/chat/completions", body)
		expect.OK(t, err)
		req.Header.Set("Api-Key", env["OPENAI_API_KEY"])
		got := make(chan *http.Response, 1)
		go func() {
			resp, err := http.DefaultClient.Do(req)
			if err != nil {
				t.Error(err)
			}
			got <- resp
		}()
		next <- events[0]
		resp := <-got
		buffer := make([]byte, 1000)
		for i, event := range events {
			if i > 0 {
				next <- event
			}
			n, err := resp.Body.Read(buffer)
			expect.OK(t, err)
			expect.Same(t, "an event", string(buffer[:n]), event)
		}
		leave()
		<-gone
		_ = resp.Body.Close()
	}
	leaveAfter(stream[0])
	leaveAfter(stream...)
	made := trial.Close()
	expect.Same(t, "calls", len(made), 2)
	if e := made[0].Error; e == nil || e.Kind != eval.KindCanceled {
		t.Errorf("got the error %v for the stream that was left, want canceled", e)
	}
	expect.Same(t, "text", made[1].Response.Text(), "Hello")
	expect.Same(t, "tokens", made[1].Usage.TotalTokens, 7)
	if made[1].Timing.FirstTokenMs == 0 {
		t.Error("got no time of the first token, want one")
	}
}

// A key that a service sends back is not in the record of the program's calls, and the program's next request, which repeats it, is
// recorded as a replay will send it.
func TestKeysAreMaskedInTheRecord(t *testing.T) {
	t.Parallel()
	list := func(a, b, c, d, e string) string {
		return `[{"candidates":[{"index":0,"text":"` + a + `"},{"index":1,"text":"` + b + `"}]},` + "\n" +
			`{"candidates":[{"index":0,"text":"` + c + `"},{"index":1,"text":"` + d + `"}]},` +
			`{"candidates":[{"text":"` + e + `","index":1}]}]`
	}
	events := func(a, b string) string {
		event := "event: a\r\ndata: {\"delta\": {\"text\": \"%s\"}}\r\n\r\n"
		return fmt.Sprintf(event+event, a, b)
	}
	for _, one := range []struct {
		status     int
		said, want string
	}{
		{http.StatusOK, `{"error":{"message":"not the key ` + key + `"},"choices":[]}`, `{"error":{"message":"not the key [key]"},"choices":[]}`},
		{http.StatusUnauthorized, `{"error":{"message":"not ` + key + `"},"choices":[]}`, `{"error":{"message":"not [key]"},"choices":[]}`},
		{http.StatusOK, `{"choices":[{"message":{"content":"\u0063` + key[1:] + `"}}]}`, `{"choices":[{"message":{"content":"[key]"}}]}`},
		{http.StatusOK, list("My "+key[:5], key[:7], key[5:]+"!", key[7:9], key[9:]), list("My [key]", "[key]", "!", "", "")},
		{http.StatusOK, events("It is "+key[:9], key[9:]+`\u00e4`), events("It is [key]", "ä")},
	} {
		p, _ := proxied(t, eval.OpenAI, func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(one.status)
			_, _ = io.WriteString(w, one.said)
		})
		trial, env := openWith(p, proxy.Config{ID: "t", Services: []string{"s"}, Keep: true})
		_, said := post(t, env["OPENAI_BASE_URL"]+"/chat/completions", env["OPENAI_API_KEY"], `{"said":"`+key+`"}`)
		if one.status == http.StatusOK {
			expect.Same(t, "what the program gets", string(said), one.said)
		}
		trial.Close()
		for _, kept := range trial.Exchanges() {
			expect.Same(t, "the request", string(kept.Request), `{"said":"[key]"}`)
			expect.Same(t, "the reply", string(kept.Reply), one.want)
		}
		expect.Same(t, "exchanges", len(trial.Exchanges()), 1)
	}
}

// A key in an answer does not reach the account, nor one that comes in the pieces of a stream.
func TestKeysAreMaskedInTheAccount(t *testing.T) {
	t.Parallel()
	piece := func(said string) string {
		return `data: {"choices":[{"index":0,"delta":{"content":"` + said + `"}}]}` + "\n\n"
	}
	end := `data: {"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}` + "\n\ndata: [DONE]\n\n"
	for _, said := range []string{piece("It is " + key), piece("It is "+key[:9]) + piece(key[9:])} {
		p, _ := proxied(t, eval.OpenAI, func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, said+end) })
		trial, env := open(p)
		_, _ = post(t, env["OPENAI_BASE_URL"]+"/chat/completions", env["OPENAI_API_KEY"], `{"model":"m","stream":true}`)
		expect.Same(t, "the text", trial.Close()[0].Response.Text(), "It is [key]")
	}
}

// Large uploads, clients that ask before they send, and HTTP/2 pass; what is too large is refused.
func TestUnusualRequestsPass(t *testing.T) {
	t.Parallel()
	var sizes []int
	p, _ := proxied(t, eval.OpenAI, func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		sizes = append(sizes, len(body))
		_, _ = io.WriteString(w, `{"choices":[{"index":0,"message":{"content":"ok"},"finish_reason":"stop"}]}`)
	})
	trial, env := open(p)
	image := `{"model":"m","messages":[{"role":"user","content":"` + strings.Repeat("A", 20<<20) + `"}]}`
	two := &http.Transport{Protocols: new(http.Protocols)}
	two.Protocols.SetUnencryptedHTTP2(true)
	defer two.CloseIdleConnections()
	for _, one := range []struct {
		body   string
		by     http.RoundTripper
		expect string
		status int
	}{
		{image, http.DefaultTransport, "", http.StatusOK},
		{image, http.DefaultTransport, "100-continue", http.StatusOK},
		{image, two, "", http.StatusOK},
		{strings.Repeat(image, 4), http.DefaultTransport, "", http.StatusRequestEntityTooLarge},
	} {
		at := env["OPENAI_BASE_URL"] + "/chat/completions"
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, at, strings.NewReader(one.body))
		expect.OK(t, err)
		req.Header.Set("Authorization", "Bearer "+env["OPENAI_API_KEY"])
		if one.expect != "" {
			req.Header.Set("Expect", one.expect)
		}
		resp, err := one.by.RoundTrip(req)
		expect.OK(t, err)
		expect.Same(t, "status", resp.StatusCode, one.status)
		expect.OK(t, resp.Body.Close())
	}
	expect.Same(t, "sizes", sizes, []int{len(image), len(image), len(image)})
	made := trial.Close()
	expect.Same(t, "calls", len(made), 3)
	if n := made[0].Usage.PromptTokens; n > 1000 { // a file is no text
		t.Errorf("got %d tokens for a picture", n)
	}
}
