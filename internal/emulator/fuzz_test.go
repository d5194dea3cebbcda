package emulator

import (
	"encoding/json"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/evalrun/evalrun/diag"
	"github.com/evalrun/evalrun/internal/testing/expect"
	"github.com/evalrun/evalrun/internal/testing/hostile"
)

// FuzzScript checks that a script has problems, or that each of its rules answers with JSON, in a time that is not
// negative.
func FuzzScript(f *testing.F) {
	f.Add(string(demo), "hello")
	for _, s := range append(
		hostile.Strings(), "rules:\n  - match: {text: '*x*', regex: '(a)|b', model: 'svc-*', turns: 1, image: false}\n    reply: '{{index "+
			".groups 1}} {{.prompt}}'\n    latency: {p50: 1ms, p99: 2540400h}\n",
		"usage: true\nrules:\n  - replies: [{text: a, weight: 1e-9}, {text: '{{.model}}'}]\n    stream: {chunks: 3, gap: 1ms}\n    faults: "+
			"[{status: 429, retryAfter: 2s, rate: 0.5}, {malformed: html, first: 2, after: 1}]\n",
		"requestFields: [a]\nrules:\n  - match: {step: 1, system: '*', result: 'f*', resultText: '{*}'}\n    toolCalls: [{name: f, args: "+
			"{a: ['{{.prompt}}', 1.50, null], b: {c: '{{json .results}}'}}, id: '1'}]\n    reasoning: '{{.step}}'\n    usage: "+
			"{toolUsePromptTokenCount: 1}\n    unknownFields: 1\n",
		"rules:\n  - {raw: {a: [1, {b: ~}]}}\n  - {raw: [{a: 1}, 'x'], stream: {chunks: 2}}\n  - {replies: "+
			"[{toolCalls: [{name: f}]}, {text: a}]}\n",
		"rules: [{finishReason: SAFETY, safetyRatings: [{category: C, probability: HIGH}], blockReason: X}]", "rules: [{reply: '{{range "+
			".groups}}{{.}}{{end}}'}]", "rules: [null, {}, {reply: ''}]",
	) {
		f.Add(s, s)
	}
	f.Fuzz(func(t *testing.T, script, prompt string) {
		var diags diag.List
		s := LoadScript("script.yaml", []byte(script), &diags)
		if diags.HasErrors() {
			return
		}
		e := New(Options{Script: s})
		m := e.model("svc-pro")
		req := &request{Contents: []content{{Role: "user", Parts: []wirePart{{Text: &prompt}}}}}
		rng := rand.New(rand.NewPCG(1, 2))
		s.match(req, "svc-pro")
		for _, r := range s.rules {
			if d := r.latency(rng); d < 0 {
				t.Errorf("a latency of %s, want none below 0", d)
			}
			if fault := r.fault(rng, 1); fault != nil && fault.words() == "" {
				t.Errorf("%+v, want a fault with words", fault)
			}
			answer, err := e.answer(&query{request: req, model: m, real: "svc-pro"}, r, rng)
			if err != nil {
				continue
			}
			checkForms(t, answer, r.chunks)
		}
	})
}

// FuzzCut checks that the pieces of a text add up to the text, and that their number is right.
func FuzzCut(f *testing.F) {
	for _, s := range hostile.Strings() {
		f.Add(s, 0)
		f.Add(s, 3)
	}
	f.Fuzz(func(t *testing.T, text string, n int) {
		n = max(0, n) % 1000
		pieces := cut(text, n)
		if strings.Join(pieces, "") != text || n > 0 && len(pieces) != n {
			t.Errorf("%d: %q, want the whole text in that number of pieces", n, pieces)
		}
	})
}

// FuzzMethods checks that each of the methods answers whatever comes with JSON: an answer, or an error of the client's.
func FuzzMethods(f *testing.F) {
	for _, s := range append(
		hostile.Strings(), `{"content":{"parts":[{"text":"x"}]},"taskType":1}`,
		`{"requests":[{"model":"models/embedding-001","content":{"parts":[{"text":"x"}]}}]}`,
		`{"generateContentRequest":{"contents":[]}}`, asking("x", declare+`,"toolConfig":{"functionCallingConfig":{"mode":2}}`),
		`{"generate_content_request":`+asking("x", `"system_instruction":{"parts":[{"text":"s"}]}`)+`}`, loop(callF, resultF),
		loop(`{"text":"t","thought":true},{"function_call":{"id":"1","name":"f"},"thought_signature":"eA=="}`,
			`{"function_response":{"id":"1","name":"f","response":{"top_p":[1]}}}`),
		`{"contents":[{"parts":[{"inline_data":{"mime_type":"image/png","data":"!"}}]}],"generation_config":{"top_k":"3","temperature":-0}}`,
	) {
		f.Add(s)
		f.Add(text(s))
	}
	e := New(Options{})
	f.Fuzz(func(t *testing.T, body string) {
		for _, path := range []string{
			"svc-pro:generateContent", "svc-pro:countTokens", "svc-pro:streamGenerateContent",
			"embedding-001:embedContent", "embedding-001:batchEmbedContents",
		} {
			w := httptest.NewRecorder()
			e.ServeHTTP(w, httptest.NewRequest(http.MethodPost, "/v1/models/"+path+"?key=k", strings.NewReader(body)))
			if w.Code != 200 && w.Code != 400 || !json.Valid(w.Body.Bytes()) {
				t.Errorf("%s: %d %s, want the status 200 or 400, and JSON", path, w.Code, w.Body)
			}
		}
	})
}

// FuzzProtocols checks that each of the other protocols answers whatever comes with JSON or events: an answer, or an error of the client's.
func FuzzProtocols(f *testing.F) {
	const model, messages = `{"model":"m","max_tokens":9,`, `"messages":[{"role":"user","content":"x"}]`
	for _, s := range append(
		hostile.Strings(), `{}`, model+messages+`}`, model+messages+`,"stream":true}`, model+`"input":"x","stream":true}`,
		model+`"messages":[{"role":"user","content":[{"type":"text","text":"x"},`+
			`{"type":"image_url","image_url":{"url":"data:image/png;base64,eA=="}}]},`+
			`{"role":"assistant","tool_calls":[{"id":"c","function":{"name":"f","arguments":"{"}}]},`+
			`{"role":"tool","tool_call_id":"c","content":"y"}]}`,
		model+messages+`,"tools":[{"type":"function","function":{"name":"f","parameters":{}}}],`+
			`"tool_choice":{"type":"function","name":"f"},"n":2}`,
		model+`"messages":[{"role":"user","content":"x"},{"role":"assistant","content":[{"type":"thinking","signature":"eA=="},`+
			`{"type":"tool_use",`+
			`"id":"c","name":"f","input":{}}]},{"role":"user","content":[{"type":"tool_result","tool_use_id":"c","content":[{"text":"y"}]}]}],`+
			`"tools":[{"name":"f","input_schema":{"type":"object"}}],"tool_choice":{"type":"any"},"thinking":{"type":"disabled"}}`,
		model+`"input":[{"role":"user","content":[{"type":"input_text","text":"x"}]},{"type":"reasoning"},`+
			`{"type":"function_call","call_id":"c",`+
			`"name":"f","arguments":"{}"},{"type":"function_call_output","call_id":"c","output":"{}"}],"tools":[{"type":"function","name":"f"}]}`,
		`{"model":"m","input":["x"],"encoding_format":"base64","dimensions":3}`,
	) {
		f.Add(s)
	}
	e := New(Options{AnyModel: true})
	f.Fuzz(func(t *testing.T, body string) {
		for _, path := range []string{"/v1/chat/completions", "/v1/responses", "/v1/messages", "/v1/messages/count_tokens", "/v1/embeddings"} {
			w := httptest.NewRecorder()
			e.ServeHTTP(w, httptest.NewRequest(http.MethodPost, path, strings.NewReader(body)))
			events := strings.HasPrefix(w.Header().Get("Content-Type"), "text/event-stream")
			if w.Code != 200 && w.Code != 400 && w.Code != 404 || !events && !json.Valid(w.Body.Bytes()) {
				t.Errorf("%s: %d %s, want the status 200, 400 or 404, and JSON or events", path, w.Code, w.Body)
			}
		}
	})
}

// FuzzBatches checks that whatever is submitted is refused with JSON, or is a batch that ends with a result for each item.
func FuzzBatches(f *testing.F) {
	const item = `{"custom_id":"a","method":"POST","url":"/v1/responses","body":{"model":"m","input":"x"}}`
	for _, s := range append(
		hostile.Strings(), item, item+"\n{}\n\n"+item, strings.ReplaceAll(item, `"x"`, `{`),
		`{"requests":[{"custom_id":"a","params":{"model":"m","max_tokens":9,`+
			`"messages":[{"role":"user","content":"x"}]}},{"custom_id":"b","params":{}}]}`, `{"a":[{}],"requests":[],"requests":[1]}`,
		`{"batch":{"display_name":"k","input_config":{"requests":{"requests":[{"request":`+text("x")+
			`,"metadata":{"key":"a"}},{"request":{}}]}}}}`,
		`{"batch":{"displayName":"k","inputConfig":{"fileName":"f"},"a_":{}}}`,
	) {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, body string) {
		e := New(Options{AnyModel: true})
		expect.OK(t, e.batches.files.write("file-a", func(w io.Writer) error {
			_, err := io.WriteString(w, body)
			return err
		}))
		for _, one := range []struct{ path, body string }{
			{"/v1/batches", `{"input_file_id":"file-a","endpoint":"/v1/responses","completion_window":"24h"}`},
			{"/v1/messages/batches", body},
			{"/v1beta/models/m:batchGenerateContent", body},
		} {
			if status, got := tell(t, e, http.MethodPost, one.path, jsonType, one.body); status != 200 && status != 400 || !json.Valid([]byte(got)) {
				t.Errorf("%s: %d %s, want the status 200 or 400, and JSON", one.path, status, got)
			}
		}
		for _, b := range e.batches.all {
			if p := e.askBatch(b); p != nil || b.End == "" {
				t.Errorf("got %v and a batch that is %q, want one that has ended", p, b.End)
			}
			n := 0
			expect.OK(t, e.eachResult(b, func(one *batchResult) error {
				n++
				if one.Status != 0 && !json.Valid(one.Body) {
					t.Errorf("%s: %s, want JSON", one.Item, one.Body)
				}
				return nil
			}))
			if n != b.Items && b.End != endFailed {
				t.Errorf("%d results, want one for each of %d items", n, b.Items)
			}
		}
	})
}

// FuzzLogin checks that the authorization server redirects to this machine alone, gives no token without a code, and
// writes what it was sent into its pages as text.
func FuzzLogin(f *testing.F) {
	const good = "client_id=" + oauthClient + "&redirect_uri=http%3A%2F%2F127.0.0.1%3A9%2Fx&response_type=code" +
		"&code_challenge_method=S256&code_challenge=0123456789012345678901234567890123456789012"
	f.Add(good+"&state=s", "grant_type=authorization_code&code=x&code_verifier=y")
	f.Add(good+"&scope=<b>&state=%0d%0aX:y", "grant_type=refresh_token&refresh_token=x&client_id="+oauthClient+"&client_secret="+oauthSecret)
	for _, s := range hostile.Strings() {
		f.Add("client_id="+url.QueryEscape(s), s)
		f.Add("client_id="+oauthClient+"&redirect_uri="+url.QueryEscape("http://localhost"+s), "grant_type="+url.QueryEscape(s))
	}
	e := New(Options{Consent: ConsentAuto})
	f.Fuzz(func(t *testing.T, query, form string) {
		r := httptest.NewRequest(http.MethodGet, "/oauth/authorize", nil)
		r.URL.RawQuery = query
		w := httptest.NewRecorder()
		e.ServeHTTP(w, r)
		if to := w.Header().Get("Location"); to != "" {
			checkRedirect(t, to)
		} else if id := r.URL.Query().Get("client_id"); strings.Contains(id, "<") && strings.Contains(w.Body.String(), "There is no client "+id) {
			t.Errorf("got the page %s, want it to escape the client's name", w.Body)
		}
		r = httptest.NewRequest(http.MethodPost, "/oauth/token", strings.NewReader(form))
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		w = httptest.NewRecorder()
		e.ServeHTTP(w, r)
		if w.Code != 400 && w.Code != 401 || !json.Valid(w.Body.Bytes()) || strings.Contains(w.Body.String(), "access_token") {
			t.Errorf("%d %s, want the status 400 or 401 as JSON, without a token", w.Code, w.Body)
		}
	})
}

// checkRedirect wants an address of this machine, on one line.
func checkRedirect(t *testing.T, to string) {
	t.Helper()
	u, err := url.Parse(to)
	expect.OK(t, err)
	if u.Scheme != "http" || !slices.Contains([]string{"127.0.0.1", "localhost", "::1"}, u.Hostname()) ||
		strings.ContainsAny(to, "\r\n") {
		t.Errorf("redirected to %q, want an address of this machine without line breaks", to)
	}
}

// checkForms wants JSON of an answer in every form, in one piece and in several.
func checkForms(t *testing.T, answer *outcome, n int) {
	t.Helper()
	for _, answer.odd = range []bool{false, true} {
		for _, in := range []answerWriter{native{}, completions{}, messages{}, responses{}} {
			for _, chunk := range append(in.pieces(answer, n), string(in.whole(answer))) {
				for _, line := range strings.Split(chunk, "\n") {
					data, isData := strings.CutPrefix(line, "data: ")
					if !isData && (line == "" || strings.HasPrefix(line, "event: ")) || data == "[DONE]" {
						continue
					}
					if isData && !json.Valid([]byte(data)) || !isData && !json.Valid([]byte(chunk)) {
						t.Errorf("%s, want JSON", chunk)
					}
				}
			}
		}
	}
}
