package main

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/evalrun/evalrun/internal/testing/expect"
)

type vendor struct {
	*httptest.Server
	calls, keyed, looked atomic.Int64 // POST requests, those with the right key, and GET requests

	mu     sync.Mutex
	reply  func(w http.ResponseWriter, n int64)
	bodies []string
	paths  []string
}

// newVendor serves all protocols, and every requested model exists. POST requests are answered by reply, or, if that is nil, with the
// same vector for each text to be embedded.
func newVendor(t *testing.T, key string, reply func(w http.ResponseWriter, n int64)) *vendor {
	t.Helper()
	v := &vendor{reply: reply}
	v.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodGet {
			v.looked.Add(1)
			name := r.URL.Path[strings.LastIndex(r.URL.Path, "/")+1:]
			fmt.Fprintf(w, `{"name":"models/%s","id":%q,"object":"model"}`, name, name)
			return
		}
		if strings.HasSuffix(r.URL.Path, "/count_tokens") {
			_, _ = io.WriteString(w, `{"input_tokens":3}`)
			return
		}
		body, _ := io.ReadAll(r.Body)
		v.mu.Lock()
		v.bodies, v.paths = append(v.bodies, string(body)), append(v.paths, r.URL.Path)
		reply := v.reply
		v.mu.Unlock()
		n := v.calls.Add(1)
		for _, sent := range []string{
			r.Header.Get("X-Svc-Api-Key"), r.Header.Get("X-Api-Key"), strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer "),
		} {
			if sent == key && key != "" {
				v.keyed.Add(1)
			}
		}
		if reply == nil {
			reply = vectors(t, body)
		}
		reply(w, n)
	}))
	t.Cleanup(v.Close)
	return v
}

func (v *vendor) answers(reply func(w http.ResponseWriter, n int64)) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.reply = reply
}

// says answers with a text, in the words of the generative protocol.
func says(text string) func(http.ResponseWriter, int64) {
	return sent(fmt.Sprintf(`{"candidates":[{"content":{"parts":[{"text":%q}]},"finishReason":"STOP"}]}`, text))
}

func sent(body string) func(http.ResponseWriter, int64) {
	return func(w http.ResponseWriter, _ int64) { _, _ = io.WriteString(w, body) }
}

// vectors answers a request for embeddings, in the words of the openai protocol. How many texts are in one depends on what
// else the machine has to do.
func vectors(t *testing.T, request []byte) func(http.ResponseWriter, int64) {
	var texts struct{ Input []string }
	if err := json.Unmarshal(request, &texts); err != nil {
		t.Error(err)
	}
	var data []string
	for i := range texts.Input {
		data = append(data, fmt.Sprintf(`{"index":%d,"embedding":[1,0]}`, i))
	}
	return sent(`{"data":[` + strings.Join(data, ",") + `]}`)
}

func status(code int, header ...string) func(http.ResponseWriter, int64) {
	return func(w http.ResponseWriter, _ int64) {
		for i := 0; i < len(header); i += 2 {
			w.Header().Set(header[i], header[i+1])
		}
		w.WriteHeader(code)
		fmt.Fprintf(w, `{"error":{"code":%d,"message":"no"}}`, code)
	}
}

// Of three services one refuses its key and one is throttled: the third gets all of its calls, and the messages name the others.
func TestServicesHoldUpNoOther(t *testing.T) {
	t.Parallel()
	const trials = 200
	healthy := newVendor(t, "key-of-healthy", says("hi"))
	refusing := newVendor(t, "key-of-refusing", status(http.StatusUnauthorized))
	throttled := newVendor(t, "key-of-throttled", status(http.StatusTooManyRequests, "Retry-After", "1"))
	b := newBox(t, nil, map[string]string{"suite.yaml": fmt.Sprintf(`version: 1
name: s
services:
  healthy: {baseUrl: %q, keyEnv: HEALTHY_API_KEY}
  refusing: {baseUrl: %q, keyEnv: REFUSING_API_KEY}
  throttled: {baseUrl: %q, keyEnv: EVALRUN_THROTTLED}
targets:
  - {name: a, service: refusing, model: m}
  - {name: b, service: throttled, model: m}
  - {name: c, service: healthy, model: m}
prompts: [{name: p, text: hello}]
limits: {attempts: 2}
defaults: {scorers: [{equals: hi}]}
cases: [{name: some, arms: ["b/*"]}, {name: many, repeats: %d, arms: ["a/*", "c/*"]}]
`, healthy.URL, refusing.URL, throttled.URL, trials)})
	b.env = append(b.env, "HEALTHY_API_KEY=key-of-healthy", "REFUSING_API_KEY=key-of-refusing", "EVALRUN_THROTTLED=key-of-throttled")
	b.exits(4, "run", "suite.yaml", "--out", "run", "-o", "json=run.json", "-o", "table")
	expect.Same(t, "calls of the healthy service", healthy.calls.Load(), trials)
	expect.Same(t, "calls of it with its key", healthy.keyed.Load(), trials)
	expect.Same(t, "calls of the throttled service", throttled.calls.Load(), 2)
	if n := refusing.calls.Load(); n == 0 || n > 8 {
		t.Errorf("the refusing service got %d calls, want those that were under way at once", n)
	}
	refused := "the service `refusing` (" + refusing.URL + ") refuses the key in REFUSING_API_KEY: 401: no"
	b.says("warning: "+refused+"; what needs it is skipped, the rest continues", "evalrun: "+refused)
	report := strings.Join(strings.Fields(b.read("run.json")), "")
	for _, want := range []string{`"arm":"c/p","pass":200,"fail":0,"error":0,"skip":0`, `"arm":"b/p","pass":0,"fail":0,"error":1,"skip":0`} {
		expect.Contains(t, "the report", report, want)
	}
	if strings.Contains(report+b.read("run/run.jsonl")+b.out+b.errs, "key-of-") {
		t.Error("a key is in the report, in the run file, or in what was said, want none")
	}

	// With a good key the run continues: judged trials stay, and nothing is sent to the healthy service again.
	refusing.answers(says("hi"))
	throttled.answers(says("hi"))
	b.exits(0, "resume", "run")
	expect.Same(t, "calls of the healthy service", healthy.calls.Load(), trials)
	expect.Same(t, "calls of the throttled service", throttled.calls.Load(), 3)
	b.says("PASS  401 trials")
}

// A service that refuses before the run begins is left out of it, and so is the unnamed one. When all refuse, nothing runs.
func TestServicesThatRefuseFromTheStartAreLeftOut(t *testing.T) {
	t.Parallel()
	healthy := newVendor(t, "", says("hi"))
	var unnamed atomic.Int64
	b := newBox(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		unnamed.Add(1)
		status(http.StatusUnauthorized)(w, 1)
	}), nil)
	b.write("suite.yaml", fmt.Sprintf(`version: 1
name: s
services: {healthy: {baseUrl: %q}, gone: {baseUrl: "http://127.0.0.1:9"}}
targets: [{name: a, model: m}, {name: b, service: gone, model: m}, {name: c, service: healthy, model: m}]
prompts: [{name: p, text: hello}]
limits: {attempts: 1}
cases: [{name: c, repeats: 5, scorers: [{equals: hi}]}]
`, healthy.URL))
	b.exits(4, "run", "suite.yaml", "--out", "run", "-o", "table", "-v")
	b.says(
		"15 trials: 5 pass, 0 fail, 0 error, 10 skip", "refuses the key in EVALRUN_API_KEY: 401: no",
		"the service `gone`: no answer from 127.0.0.1:9", "what needs it is skipped", "evalrun resume run",
	)
	expect.Same(t, "calls of the unnamed service", unnamed.Load(), 1)
	expect.Same(t, "calls of the healthy service", healthy.calls.Load(), 5)
	b.exits(4, "run", "suite.yaml", "--arm", "a/*", "--arm", "b/*", "--out", "none")
	b.says("refuses the key in EVALRUN_API_KEY", "the service `gone`: no answer from 127.0.0.1:9")
	b.exits(0, "run", "suite.yaml", "--arm", "c/*")
}

// A judge of a service that refuses costs those trials alone that ask it. Embeddings have a service too.
func TestHelpersOfOtherServicesFailAlone(t *testing.T) {
	t.Parallel()
	model := newVendor(t, "", says("hi"))
	judge := newVendor(t, "", status(http.StatusUnauthorized))
	embedding := newVendor(t, "", nil)
	b := newBox(t, nil, map[string]string{"suite.yaml": fmt.Sprintf(`version: 1
name: s
services:
  model: {baseUrl: %q}
  judge: {protocol: anthropic, baseUrl: %q, metadata: false}
  embedding: {protocol: openai, baseUrl: %q, metadata: false}
targets: [{name: t, service: model, model: m}]
judges: [{name: j, service: judge, model: big}]
embedding: {service: embedding, model: text-embedding}
prompts: [{name: p, text: hello}]
limits: {concurrency: 1}
cases:
  - {name: judged, repeats: 40, scorers: [{judge: {rubric: "is it good?"}}]}
  - {name: compared, scorers: [{similar: {to: good day, min: 0.9}}]}
  - {name: plain, repeats: 20, scorers: [{equals: hi}]}
`, model.URL, judge.URL, embedding.URL)})
	b.exits(4, "run", "suite.yaml", "--out", "run")
	b.says("the service `judge` (" + judge.URL + ") refuses requests without a key: 401: no")
	b.says("name the variable that holds one by `keyEnv`", "21 pass")
	expect.Same(t, "metadata that were requested", judge.looked.Load()+embedding.looked.Load(), 0)
	expect.Same(t, "calls for embeddings", embedding.paths[0], "/embeddings")
	if n := judge.calls.Load(); n == 0 || n > 4 {
		t.Errorf("the judge got %d calls, want those that were under way", n)
	}
	if n := model.calls.Load(); n > 30 {
		t.Errorf("got %d calls of the model, want at most 30: the judge of 40 trials refuses", n)
	}

	// Once the judge answers, the answers that were kept are judged, and only what was never sent is sent.
	before := model.calls.Load()
	judge.answers(sent(`{"type":"message","role":"assistant","content":[{"type":"text","text":"{\"reason\": \"It is.\", \"score\": 1}"}],` +
		`"stop_reason":"end_turn","usage":{"input_tokens":1,"output_tokens":1}}`))
	b.exits(0, "resume", "run")
	expect.Same(t, "calls of the model", model.calls.Load(), 61)
	if before >= 61 {
		t.Errorf("got %d calls before the judge answered, want less than 61", before)
	}
	if !strings.HasPrefix(judge.paths[0], "/v1/messages") || !strings.Contains(judge.bodies[0], `"max_tokens":`) {
		t.Errorf("got %s to %s, want messages with max_tokens", judge.bodies[0], judge.paths[0])
	}
}

// A judge that does not answer holds up no answers that wait for another one, however many wait for it.
func TestSlowJudgeHoldsUpNoOther(t *testing.T) {
	t.Parallel()
	const few = 40
	model := newVendor(t, "", says("hi"))
	verdict := says(`{"reason": "It is.", "score": 1}`)
	done := make(chan struct{})
	quick := newVendor(t, "", func(w http.ResponseWriter, n int64) {
		verdict(w, n)
		if n == few {
			close(done)
		}
	})
	slow := newVendor(t, "", func(w http.ResponseWriter, n int64) {
		<-done
		verdict(w, n)
	})
	b := newBox(t, nil, map[string]string{"suite.yaml": fmt.Sprintf(`version: 1
name: s
services: {one: {baseUrl: %q}, two: {baseUrl: %[1]q}, quick: {baseUrl: %q}, slow: {baseUrl: %q}}
targets: [{name: a, service: one, model: m}, {name: b, service: two, model: m}]
judges: [{name: quick, service: quick, model: m}, {name: slow, service: slow, model: m}]
prompts: [{name: p, text: "{{.n}}"}]
defaults: {vars: {n: 0}}
cases:
  - {name: many, repeats: 1200, arms: ["a/*"], scorers: [{judge: {judge: slow, rubric: "is it good?"}}]}
  - {name: few, dataset: rows.csv, arms: ["b/*"], scorers: [{judge: {judge: quick, rubric: "is it {{.n}}?"}}]}
`, model.URL, quick.URL, slow.URL)})
	rows := []byte("n\n")
	for n := range few {
		rows = fmt.Appendf(rows, "%d\n", n)
	}
	b.write("rows.csv", string(rows))
	b.exits(0, "run", "suite.yaml", "--timeout", "5m")
	expect.Same(t, "calls of the quick judge", quick.calls.Load(), few)
}

// Each protocol is spoken at its path, streams included, and usage comes back.
func TestServicesSpeakTheirProtocols(t *testing.T) {
	t.Parallel()
	chat := newVendor(t, "key-of-chat", sent(`{"id":"x","object":"chat.completion","model":"m-1","choices":[{"index":0,`+
		`"message":{"role":"assistant","content":"hi"},"finish_reason":"stop"}],`+
		`"usage":{"prompt_tokens":3,"completion_tokens":1,"total_tokens":4}}`))
	responses := newVendor(t, "key-of-chat", sent(`{"id":"r","object":"response","status":"completed","model":"m-1","output":[`+
		`{"type":"message","role":"assistant","status":"completed","content":[{"type":"output_text","text":"hi","annotations":[]}]}],`+
		`"usage":{"input_tokens":3,"output_tokens":1,"total_tokens":4}}`))
	messages := newVendor(t, "key-of-messages", sent(`{"id":"m","type":"message","role":"assistant","model":"m-1",`+
		`"content":[{"type":"text","text":"hi"}],"stop_reason":"end_turn","usage":{"input_tokens":3,"output_tokens":1}}`))
	b := newBox(t, nil, map[string]string{"suite.yaml": fmt.Sprintf(`version: 1
name: s
services:
  chat: {protocol: openai, baseUrl: "%s/v1", keyEnv: CHAT_API_KEY, maxTokensField: max_tokens, headers: {x-title: mine}}
  responses: {protocol: responses, baseUrl: "%s/v1", keyEnv: CHAT_API_KEY}
  messages: {protocol: anthropic, baseUrl: %q, keyEnv: MESSAGES_API_KEY}
targets:
  - {name: c, service: chat, model: vendor/m:free, generationConfig: {maxOutputTokens: 7}}
  - {name: r, service: responses, model: m, generationConfig: {maxOutputTokens: 7}}
  - {name: m, service: messages, model: m}
prompts: [{name: p, text: hello, system: be brief}]
limits: {budget: {tokens: 100000}}
cases: [{name: c, scorers: [{equals: hi}, {finishReason: STOP}]}]
`, chat.URL, responses.URL, messages.URL)})
	b.env = append(b.env, "CHAT_API_KEY=key-of-chat", "MESSAGES_API_KEY=key-of-messages")
	b.exits(0, "run", "suite.yaml", "--out", "run", "-o", "json=run.json", "-o", "table", "-v", "--record", "kept", "--cache")
	b.says("3 trials: 3 pass", "c: vendor/m:free, service chat", "the service `chat` cannot count tokens: those of its prompts are estimated")
	for _, v := range []struct {
		*vendor
		path, has string
	}{
		{chat, "/v1/chat/completions", `"max_tokens":7`},
		{responses, "/v1/responses", `"max_output_tokens":7`},
		{messages, "/v1/messages", `"max_tokens":4096`},
	} {
		got, body := v.paths[len(v.paths)-1], v.bodies[len(v.bodies)-1]
		if got != v.path || !strings.Contains(body, v.has) || v.keyed.Load() != v.calls.Load() {
			t.Errorf("%s was sent to %s, %d of %d times with the key; want %s with %s", v.bodies, got, v.keyed.Load(), v.calls.Load(), v.path, v.has)
		}
	}
	// From here on nothing is sent: the cache, the records and the run have the answers, each those of its own service.
	calls := chat.calls.Load() + responses.calls.Load()
	b.exits(0, "run", "suite.yaml", "--cache", "--out", "cached")
	b.exits(0, "run", "suite.yaml", "--replay", "kept", "--out", "replayed")
	b.exits(0, "rescore", "run", "--out", "again")
	b.exits(0, "compare", "run", "again")
	expect.Same(t, "calls after the first run", chat.calls.Load()+responses.calls.Load(), calls)
	var head struct {
		Services map[string]map[string]string `json:"services"`
		Plan     struct {
			Targets []map[string]any `json:"targets"`
		} `json:"plan"`
	}
	line, _, _ := strings.Cut(b.read("run/run.jsonl"), "\n")
	expect.OK(t, json.Unmarshal([]byte(line), &head))
	expect.Same(t, "the service of the head", head.Services["chat"]["baseUrl"], chat.URL+"/v1")
	expect.Same(t, "its protocol", head.Services["chat"]["protocol"], "openai")
	expect.Same(t, "the service of a target", head.Plan.Targets[0]["service"], any("chat"))
}

// Two services that have a model of one name have each their own answers, in caches and records too.
func TestServicesKeepTheirAnswersApart(t *testing.T) {
	t.Parallel()
	one, two := newVendor(t, "", says("one")), newVendor(t, "", says("two"))
	b := newBox(t, nil, map[string]string{"suite.yaml": fmt.Sprintf(`version: 1
name: s
services:
  one: {baseUrl: %q}
  two: {baseUrl: %q}
targets: [{name: a, service: one, model: m}, {name: b, service: two, model: m}]
prompts: [{name: p, text: hello}]
cases: [{name: c, scorers: [{equals: one, arms: ["a/*"]}, {equals: two, arms: ["b/*"]}]}]
`, one.URL, two.URL)})
	b.exits(0, "run", "suite.yaml", "--cache", "--record", "kept")
	b.exits(0, "run", "suite.yaml", "--cache")
	b.exits(0, "run", "suite.yaml", "--replay", "kept")
	expect.Same(t, "calls", one.calls.Load()+two.calls.Load(), 2)
	// Another address is another service for the cache, and the flag wins over the suite.
	b.exits(1, "run", "suite.yaml", "--cache", "--service", "two.baseUrl="+one.URL)
	expect.Same(t, "calls of the other address", one.calls.Load(), 2)
}

// The limits of a service hold for it alone, and those of the suite for all together.
func TestServicesHaveTheirLimits(t *testing.T) {
	t.Parallel()
	var now, most, all, mostOfAll atomic.Int64
	slow := func(w http.ResponseWriter, n int64) {
		raise(&mostOfAll, all.Add(1))
		raise(&most, now.Add(1))
		time.Sleep(20 * time.Millisecond)
		now.Add(-1)
		all.Add(-1)
		says("hi")(w, n)
	}
	other := func(w http.ResponseWriter, n int64) {
		raise(&mostOfAll, all.Add(1))
		time.Sleep(20 * time.Millisecond)
		all.Add(-1)
		says("hi")(w, n)
	}
	one, two := newVendor(t, "", slow), newVendor(t, "", other)
	suite := fmt.Sprintf(`version: 1
name: s
services:
  one: {baseUrl: %q, limits: {concurrency: 2}}
  two: {baseUrl: %q}
targets: [{name: a, service: one, model: m}, {name: b, service: two, model: m}]
prompts: [{name: p, text: hello}]
cases: [{name: c, repeats: 30, scorers: [{equals: hi}]}]
`, one.URL, two.URL)
	b := newBox(t, nil, map[string]string{"suite.yaml": suite})
	b.exits(0, "run", "suite.yaml")
	expect.Same(t, "calls of the limited service at once", most.Load(), 2)
	if n := mostOfAll.Load(); n < 5 || n > 10 {
		t.Errorf("%d calls at once, want up to 2 of one service and 8 of the other", n)
	}
	mostOfAll.Store(0)
	b.exits(0, "run", "suite.yaml", "--concurrency", "3")
	expect.Same(t, "calls at once with --concurrency 3", mostOfAll.Load(), 3)
}

func raise(most *atomic.Int64, n int64) {
	for old := most.Load(); n > old && !most.CompareAndSwap(old, n); old = most.Load() {
	}
}

// Answers that were made elsewhere may be replies of any protocol.
func TestAnswersOfAnyProtocolAreReplayed(t *testing.T) {
	t.Parallel()
	b := newBox(t, nil, map[string]string{
		"suite.yaml": "version: 1\nname: s\ntargets: [{name: t, model: m}]\nprompts: [{name: p, text: hello}]\n" +
			"defaults: {scorers: [{equals: hi}, {finishReason: STOP}]}\ncases: [{name: a}, {name: b}, {name: c}, {name: d}]\n",
		"answers.jsonl": `{"case": "a", "response": {"candidates": [{"content": {"parts": [{"text": "hi"}]}, "finishReason": "STOP"}]}}
{"case": "b", "response": {"choices": [{"index": 0, "message": {"role": "assistant", "content": "hi"}, "finish_reason": "stop"}]}}
{"case": "c", "response": {"status": "completed", "output": [{"type": "message", "content": [{"type": "output_text", "text": "hi"}]}]}}
{"case": "d", "response": {"type": "message", "role": "assistant", "content": [{"type": "text", "text": "hi"}], "stop_reason": "end_turn"}}
`,
	})
	b.exits(0, "run", "suite.yaml", "--answers", "answers.jsonl")
	b.says("PASS  4 trials")
	b.write("answers.jsonl", `{"case": "a", "response": {"choices": [{"message": 7}]}}`+"\n")
	b.exits(2, "run", "suite.yaml", "--answers", "answers.jsonl")
	b.says("answers.jsonl:1: not an answer: `response` is neither that of a run file nor a reply of a service")
}
