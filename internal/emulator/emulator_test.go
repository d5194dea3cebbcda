package emulator

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/evalrun/evalrun/diag"
	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/testing/expect"
)

func serve(t *testing.T, script string, change func(*Options)) *httptest.Server {
	t.Helper()
	var diags diag.List
	o := Options{Script: LoadScript("script.yaml", []byte(script), &diags)}
	expect.OK(t, diags.Err())
	if change != nil {
		change(&o)
	}
	e := New(o)
	server := httptest.NewServer(e)
	t.Cleanup(func() { close(e.stop); server.Close() })
	return server
}

func post(t *testing.T, server *httptest.Server, path, body string) (int, string, http.Header) {
	t.Helper()
	req, err := http.NewRequest(http.MethodPost, server.URL+path, strings.NewReader(body))
	expect.OK(t, err)
	req.Header.Set("x-svc-api-key", "k")
	resp, err := http.DefaultClient.Do(req)
	expect.OK(t, err)
	defer resp.Body.Close()
	data, err := io.ReadAll(resp.Body)
	if err != nil && !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Fatal(err)
	}
	return resp.StatusCode, string(data), resp.Header
}

const pro, vision = "/v1/models/svc-pro:generateContent", "/v1/models/svc-pro-vision:generateContent"

func text(s string) string {
	out, err := json.Marshal(s)
	if err != nil {
		panic(err)
	}
	return `{"contents":[{"role":"user","parts":[{"text":` + string(out) + `}]}]}`
}

// The rules of the specification, enforced with errors as JSON.
func TestRulesOfTheSpecificationAreEnforced(t *testing.T) {
	t.Parallel()
	server := serve(t, "rules: []", nil)
	image := `{"inline_data":{"mime_type":"image/png","data":"aGk="}}`
	for name, test := range map[string]struct {
		path, body string
		status     int
		want       string
	}{
		"echo":             {pro, text("hello"), 200, `"text":"hello"`},
		"v1beta":           {"/v1beta/models/svc-pro:generateContent", text("hello"), 200, "hello"},
		"version":          {"/v2/models/svc-pro:generateContent", text("hello"), 404, "no version"},
		"model":            {"/v1/models/nothere:generateContent", text("hello"), 404, "not found"},
		"method":           {"/v1/models/embedding-001:generateContent", text("hello"), 404, "does not support"},
		"unknown method":   {"/v1/models/svc-pro:sing", text("hello"), 404, "does not support"},
		"image to svc-pro": {pro, `{"contents":[{"parts":[` + image + `]}]}`, 400, "takes text only"},
		"text to vision":   {vision, text("hello"), 400, "without an image"},
		"image":            {vision, `{"contents":[{"parts":[` + image + `,{"text":"x"}]}]}`, 200, `"text":"x"`},
		"camelCase": {
			vision, `{"contents":[{"parts":[{"inlineData":{"mimeType":"image/png","data":"aGk="}},{"text":"x"}]}]}`, 200, `"text":"x"`,
		},
		"image type": {vision, `{"contents":[{"parts":[{"inline_data":{"mime_type":"image/gif","data":"aGk="}}]}]}`, 400, "image/gif"},
		"base64":     {vision, `{"contents":[{"parts":[{"inline_data":{"mime_type":"image/png","data":"aG\nk="}}]}]}`, 400, "base64"},
		"images": {
			vision, `{"contents":[{"parts":[` + strings.TrimSuffix(strings.Repeat(image+",", 17), ",") + `]}]}`, 400, "17 images",
		},
		"size":        {pro, text(strings.Repeat("x", 4<<20+1)), 400, "at most 4194304"},
		"tokens":      {pro, text(strings.Repeat("x", 4*30720+1)), 400, "30721 tokens"},
		"fits":        {pro, text(strings.Repeat("x", 4*30720)), 200, "MAX_TOKENS"},
		"no contents": {pro, `{}`, 400, "contents is required"},
		"no parts":    {pro, `{"contents":[{"role":"user"}]}`, 400, "parts is required"},
		"role":        {pro, `{"contents":[{"role":"assistant","parts":[{"text":"x"}]}]}`, 400, "role"},
		"turns": {
			pro, `{"contents":[{"role":"user","parts":[{"text":"x"}]},{"role":"user","parts":[{"text":"x"}]}]}`, 400, "alternate",
		},
		"last turn": {
			pro, `{"contents":[{"role":"user","parts":[{"text":"x"}]},{"role":"model","parts":[{"text":"x"}]}]}`, 400, "last turn",
		},
		"not JSON":        {pro, `hello`, 400, "INVALID_ARGUMENT"},
		"maxOutputTokens": {pro, `{"contents":[{"parts":[{"text":"x"}]}],"generationConfig":{"maxOutputTokens":0}}`, 400, "at least 1"},
		"snake config": {
			pro, `{"contents":[{"parts":[{"text":"abcdefgh"}]}],"generation_config":{"max_output_tokens":1}}`, 200, `"text":"abcd"`,
		},
		"unknown fields": {pro + "?alt=json", `{"surprise":1,"contents":[{"parts":[{"text":"x"}]}]}`, 200, `"text":"x"`},
		"count":          {"/v1/models/svc-pro:countTokens", text("12345"), 200, `{"totalTokens":2}`},
		"count image":    {"/v1/models/svc-pro-vision:countTokens", `{"contents":[{"parts":[` + image + `]}]}`, 200, `{"totalTokens":258}`},
		"two candidates": {pro, `{"contents":[{"parts":[{"text":"x"}]}],"generationConfig":{"candidateCount":2}}`, 200, `"index":1`},
		"stop sequence": {
			pro, `{"contents":[{"parts":[{"text":"one two"}]}],"generationConfig":{"stopSequences":[" "]}}`, 200, `"text":"one"}`,
		},
		"characters intact": {
			pro, `{"contents":[{"parts":[{"text":"ééééé"}]}],"generationConfig":{"maxOutputTokens":1}}`, 200, `"text":"éé"}`,
		},
	} {
		status, body, _ := post(t, server, test.path, test.body)
		if status != test.status || !strings.Contains(body, test.want) {
			t.Errorf("%s: %d %.300s; want %d %s", name, status, body, test.status, test.want)
		}
		if status != 200 {
			var e wireError
			if err := json.Unmarshal([]byte(body), &e); err != nil || e.Error.Code != status || e.Error.Message == "" {
				t.Errorf("%s: %s, want the status %d and a message", name, body, status)
			}
		}
	}
}

func TestWrongKeysAreRefused(t *testing.T) {
	t.Parallel()
	server := serve(t, "rules: []", func(o *Options) { o.Key = "right"; o.HeaderPrefix = "x-brand" })
	for name, test := range map[string]struct {
		header, key, query string
		status             int
	}{
		"none":         {"x-brand-api-key", "", "", 403},
		"wrong":        {"x-brand-api-key", "wrong", "", 400},
		"header":       {"x-brand-api-key", "right", "", 200},
		"other header": {"x-svc-api-key", "right", "", 403},
		"query":        {"x-brand-api-key", "", "?key=right", 200},
	} {
		req, err := http.NewRequest(http.MethodGet, server.URL+"/v1/models/svc-pro"+test.query, nil)
		expect.OK(t, err)
		req.Header.Set(test.header, test.key)
		resp, err := http.DefaultClient.Do(req)
		expect.OK(t, err)
		resp.Body.Close()
		expect.Same(t, name, resp.StatusCode, test.status)
	}
}

func TestModelsAreListedAndFoundByName(t *testing.T) {
	t.Parallel()
	server := serve(t, "rules: []", func(o *Options) { o.Alias = map[string]string{"brand-pro": "svc-pro"} })
	get := func(path string) string {
		resp, err := http.Get(server.URL + path + "?key=k")
		expect.OK(t, err)
		defer resp.Body.Close()
		data, _ := io.ReadAll(resp.Body)
		return string(data)
	}
	var list struct{ Models []eval.Model }
	if err := json.Unmarshal([]byte(get("/v1/models")), &list); err != nil || len(list.Models) != 8 {
		t.Errorf("%d models, %v, want 8", len(list.Models), err)
	}
	limits := map[string][2]int{
		"chat-bison-001": {4096, 1024}, "text-bison-001": {8196, 1024}, "embedding-gecko-001": {1024, 1}, "svc-pro": {30720, 2048},
		"svc-pro-vision": {12288, 4096}, "embedding-001": {2048, 1}, "aqa": {7168, 1024}, "brand-pro": {30720, 2048},
	}
	for _, m := range list.Models {
		if got := [2]int{m.InputTokenLimit, m.OutputTokenLimit}; limits[m.ID()] != got {
			t.Errorf("%s: %v, want %v", m.ID(), got, limits[m.ID()])
		}
		if embedding := strings.HasPrefix(m.ID(), "embedding"); embedding != (m.Temperature == nil) {
			t.Errorf("%s: temperature %v, want none: %t", m.ID(), m.Temperature, embedding)
		}
		expect.Contains(t, m.ID(), m.Description, "No model is behind this name")
	}
	expect.Contains(t, "one model", get("/v1/models/brand-pro"), `"name":"models/brand-pro"`)
	expect.Contains(t, "calls for models", get("/emulator/stats"), `"models":2`)
	if status, body, _ := post(t, server, "/v1/models/brand-pro:generateContent", text("x")); status != 200 {
		t.Errorf("%d %s, want 200", status, body)
	}
}

// The same text is blocked under the default and passes under a higher threshold.
func TestSafetyBlocksAboveTheThreshold(t *testing.T) {
	t.Parallel()
	server := serve(t, `
rules:
  - {match: {text: medium}, reply: here, safetyRatings: [{category: HARM_CATEGORY_HARASSMENT, probability: MEDIUM}]}
  - {match: {text: prompt}, blockReason: SAFETY, safetyRatings: [{category: HARM_CATEGORY_HARASSMENT, probability: HIGH}]}
  - {match: {text: recite}, reply: here, finishReason: RECITATION}
`, nil)
	ask := func(prompt, threshold string) string {
		body := strings.TrimSuffix(text(prompt), "}")
		if threshold != "" {
			body += `,"safety_settings":[{"category":"HARM_CATEGORY_HARASSMENT","threshold":"` + threshold + `"}]`
		}
		status, answer, _ := post(t, server, pro, body+"}")
		if status != 200 {
			t.Fatalf("%d %s, want 200", status, answer)
		}
		return answer
	}
	for threshold, blocked := range map[string]bool{
		"": true, "BLOCK_ONLY_HIGH": false, "BLOCK_MEDIUM_AND_ABOVE": true, "BLOCK_NONE": false, "BLOCK_LOW_AND_ABOVE": true,
	} {
		got := ask("medium", threshold)
		if strings.Contains(got, `"finishReason":"SAFETY"`) != blocked || strings.Contains(got, "here") == blocked {
			t.Errorf("%q: %s, want it blocked: %t", threshold, got, blocked)
		}
	}
	if got := ask("prompt", ""); !strings.Contains(got, `"blockReason":"SAFETY"`) || strings.Contains(got, "candidates") {
		t.Errorf("%s, want a blocked prompt and no candidate", got)
	}
	if got := ask("recite", ""); !strings.Contains(got, "RECITATION") || strings.Contains(got, "here") {
		t.Errorf("%s, want RECITATION and no text", got)
	}
}

func TestScriptsChooseTheFirstRuleThatFits(t *testing.T) {
	server := serve(t, `
usage: true
rules:
  - {match: {model: "*-vision", image: true}, reply: "{{.images}} image"}
  - {match: {regex: 'capital of (\w+)'}, reply: "{{index .groups 1}}?"}
  - {match: {turns: 3}, reply: "turn {{.turns}}"}
  - {match: {text: "*world"}, reply: "You asked: {{.prompt}} of {{.model}}"}
`, nil)
	for body, want := range map[string]string{
		text("the capital of France"): `"text":"France?"`,
		text("hello world"):           `You asked: hello world of svc-pro`,
		text("{{.prompt}}"):           `"text":"{{.prompt}}"`, // what comes in is data
		`{"contents":[{"role":"user","parts":[{"text":"a"}]},{"role":"model","parts":[{"text":"b"}]},{"role":"user",` +
			`"parts":[{"text":"c"}]}]}`: `turn 3`,
	} {
		if _, got, _ := post(t, server, pro, body); !strings.Contains(got, want) ||
			!strings.Contains(got, `"usageMetadata":{"promptTokenCount":`) {
			t.Errorf("%s: %s, want %s and usage", body, got, want)
		}
	}
}

// Draws depend on the seed and on the request, not on the order of arrival; temperature 0 takes the heaviest reply,
// and more spreads.
func TestRepliesAreDrawnBySeedAndRequest(t *testing.T) {
	t.Parallel()
	script := "rules: [{replies: [{text: often, weight: 9}, {text: seldom, weight: 1}]}]"
	share := func(seed uint64, temperature float64) (float64, string) {
		server := serve(t, script, func(o *Options) { o.Seed = seed })
		seldom, all := 0, ""
		for i := range 400 {
			body := fmt.Sprintf(`{"contents":[{"parts":[{"text":"%d"}]}],"generationConfig":{"temperature":%g}}`, i, temperature)
			_, got, _ := post(t, server, pro, body)
			if strings.Contains(got, "seldom") {
				seldom++
				all += fmt.Sprint(i, " ")
			}
		}
		return float64(seldom) / 400, all
	}
	if s, _ := share(1, 0); s != 0 {
		t.Errorf("temperature 0: %v, want 0", s)
	}
	one, first := share(1, 1)
	if one < 0.05 || one > 0.16 {
		t.Errorf("temperature 1: %v, want 0.05 to 0.16", one)
	}
	if hot, _ := share(1, 3); hot <= one {
		t.Errorf("temperature 3: %v, want more than %v", hot, one)
	}
	if _, second := share(1, 1); second != first {
		t.Errorf("the same seed gives\n%s\nwant\n%s", second, first)
	}
	if _, other := share(2, 1); other == first {
		t.Errorf("another seed gives the same too, want other answers:\n%s", other)
	}
}

func TestFaultsHappenAsTheScriptSays(t *testing.T) {
	t.Parallel()
	server := serve(t, `
rules:
  - {match: {text: seq}, reply: fine, faults: [{status: 429, retryAfter: 2s, first: 1}, {status: 503, first: 2}]}
  - {match: {text: cut}, reply: a longer text, faults: [{cut: true}]}
  - {match: {text: html}, faults: [{malformed: html}]}
  - {match: {text: rate}, reply: fine, faults: [{status: 500, rate: 0.3}]}
  - {match: {text: hang}, faults: [{hang: true}]}
  - {match: {text: slow}, reply: fine, latency: {p50: 1ms, p99: 3ms}}
`, nil)
	var seq []int
	for range 4 {
		status, _, header := post(t, server, pro, text("seq"))
		seq = append(seq, status)
		if status == 429 {
			expect.Same(t, "Retry-After", header.Get("Retry-After"), "2")
		}
	}
	expect.Same(t, "statuses", seq, []int{429, 503, 200, 200})
	if _, body, _ := post(t, server, pro, text("cut")); json.Valid([]byte(body)) || body == "" {
		t.Errorf("%q, want JSON that is cut", body)
	}
	if _, body, _ := post(t, server, pro, text("html")); !strings.Contains(body, "<html>") {
		t.Errorf("%q, want HTML", body)
	}
	bad := 0
	for range 200 {
		if status, _, _ := post(t, server, pro, text("rate")); status == 500 {
			bad++
		}
	}
	if bad < 35 || bad > 90 {
		t.Errorf("%d of 200 at a rate of 0.3, want 35 to 90", bad)
	}
	status, _, _ := post(t, server, pro, text("slow"))
	expect.Same(t, "status of a slow answer", status, 200)
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Millisecond)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, server.URL+pro+"?key=k", strings.NewReader(text("hang")))
	expect.OK(t, err)
	if _, err := http.DefaultClient.Do(req); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("got %v, want %v", err, context.DeadlineExceeded)
	}
}

func TestScriptProblemsAreReported(t *testing.T) {
	t.Parallel()
	var diags diag.List
	LoadScript("s.yaml", []byte(`
rules:
  - {match: {txt: x}, reply: a, replies: [{text: b}]}
  - {match: {regex: "("}, reply: "{{.x", latency: {p50: 5ms}}
  - {faults: [{rate: 2}, {malformed: sometimes}]}
`), &diags)
	var got []string
	for _, d := range diags.Sorted() {
		got = append(got, fmt.Sprintf("%d:%d", d.Pos.Line, d.Pos.Col))
	}
	if want := "[3:14 3:33 4:21 4:34 4:51 5:15 5:22 5:38]"; fmt.Sprint(got) != want {
		t.Errorf("%v, want %s\n%v", got, want, diags.Sorted())
	}
}

func TestDemoScriptLoads(t *testing.T) { DemoScript() }

func FuzzRequest(f *testing.F) {
	f.Add(text("x"))
	e := New(Options{})
	f.Fuzz(func(t *testing.T, body string) {
		w := httptest.NewRecorder()
		r := httptest.NewRequest(http.MethodPost, pro+"?key=k", strings.NewReader(body))
		e.ServeHTTP(w, r)
		if w.Code != 200 && w.Code != 400 || !json.Valid(w.Body.Bytes()) {
			t.Errorf("%d %s, want 200 or 400, and JSON", w.Code, w.Body)
		}
	})
}
