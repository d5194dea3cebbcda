package emulator

import (
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"strings"
	"testing"

	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/testing/expect"
)

const proStream = "/v1beta/models/svc-pro:streamGenerateContent"

// texts are the texts of the chunks of a stream, in either form.
func texts(t *testing.T, body string) (out []string, chunks []wireResponse) {
	t.Helper()
	if strings.HasPrefix(body, "[") {
		if err := json.Unmarshal([]byte(body), &chunks); err != nil {
			t.Fatalf("%v: %s", err, body)
		}
	} else {
		for _, event := range strings.Split(strings.TrimSuffix(body, "\r\n\r\n"), "\r\n\r\n") {
			var c wireResponse
			if err := json.Unmarshal([]byte(strings.TrimPrefix(event, "data: ")), &c); err != nil {
				t.Fatalf("%v: %s", err, event)
			}
			chunks = append(chunks, c)
		}
	}
	for _, c := range chunks {
		for _, one := range c.Candidates {
			if one.Content != nil {
				out = append(out, one.Content.text())
			}
		}
	}
	return out, chunks
}

// Both forms carry the same chunks, which join to the whole answer.
func TestStreamsJoinToTheWholeAnswer(t *testing.T) {
	t.Parallel()
	server := serve(
		t,
		"usage: true\nrules: [{match: {text: even}, reply: abcdé, stream: {chunks: 3}}, {match: {text: blocked}, blockReason: SAFETY}]",
		nil,
	)
	long := strings.Repeat("word ", 20) + "end"
	for path, contentType := range map[string]string{
		proStream: "application/json; charset=UTF-8", proStream + "?alt=sse": "text/event-stream",
	} {
		status, body, header := post(t, server, path, text(long))
		got, chunks := texts(t, body)
		expect.Same(t, path+": status", status, 200)
		expect.Same(t, path+": content type", header.Get("Content-Type"), contentType)
		expect.Same(t, path, strings.Join(got, ""), long)
		expect.Same(t, path+": number of chunks", len(chunks), 6)
		for i, c := range chunks {
			checkChunk(t, c, i == 0, i == len(chunks)-1)
		}
		_, body, _ = post(t, server, path, `{"contents":[{"parts":[{"text":"even"}]}],"generationConfig":{"candidateCount":2}}`)
		if got, chunks := texts(t, body); len(chunks) != 3 ||
			strings.Join(got, "|") != "ab|ab|cd|cd|é|é" && strings.Join(got, "|") != "ab|ab|c|c|dé|dé" {
			t.Errorf("%s: %q, want 3 chunks in pairs, with whole characters", path, got)
		}
		_, body, _ = post(t, server, path, `{"contents":[{"parts":[{"text":"blocked"}]}]}`)
		if _, chunks := texts(t, body); len(chunks) != 1 || chunks[0].PromptFeedback.BlockReason != "SAFETY" || chunks[0].Candidates != nil {
			t.Errorf("%s: %s, want one chunk without candidates, blocked for SAFETY", path, body)
		}
		refuses(t, server, path, `{"contents":[]}`, "INVALID_ARGUMENT")
	}
	status, _, _ := post(t, server, "/v1/models/embedding-001:streamGenerateContent", `{}`)
	expect.Same(t, "status", status, 404)
}

// checkChunk wants feedback in the first chunk alone, and a reason and the usage in the last.
func checkChunk(t *testing.T, c wireResponse, first, last bool) {
	t.Helper()
	if (c.Candidates[0].FinishReason == "STOP") != last || (c.UsageMetadata != nil) != last || (c.PromptFeedback != nil) != first {
		t.Errorf("first %t, last %t: %+v, want the finish reason and the usage in the last alone, the feedback in the first", first, last, c)
	}
}

// refuses wants a request to be refused with some words.
func refuses(t *testing.T, server *httptest.Server, path, body, want string) {
	t.Helper()
	if status, out, _ := post(t, server, path, body); status != 400 || !strings.Contains(out, want) {
		t.Errorf("%s: %.80s: %d %s, want 400 with %s", path, body, status, out, want)
	}
}

// embeddable is the body of a request for the vector of a text.
func embeddable(s string) string {
	return `{"model":"models/embedding-001","content":{"parts":[{"text":` + quoted(s) + `}]}}`
}

// batchOf is the body of a request for the vectors of n texts.
func batchOf(n int) string {
	requests := make([]string, n)
	for i := range requests {
		requests[i] = embeddable(fmt.Sprintf("text %d", i))
	}
	return `{"requests":[` + strings.Join(requests, ",") + `]}`
}

func embedded(t *testing.T, server *httptest.Server, body string) []float64 {
	t.Helper()
	status, out, _ := post(t, server, "/v1/models/embedding-001:embedContent", body)
	var answer struct{ Embedding wireEmbedding }
	if err := json.Unmarshal([]byte(out), &answer); err != nil || status != 200 || len(answer.Embedding.Values) != dimensions {
		t.Fatalf("%d %v %s, want %d values with the status 200", status, err, out, dimensions)
	}
	return answer.Embedding.Values
}

// Streams go wrong where the script says.
func TestStreamsGoWrongWhereTheScriptSays(t *testing.T) {
	t.Parallel()
	for fault, want := range map[string]*regexp.Regexp{
		"{cut: true}":                       regexp.MustCompile(`(?s)^\[\{.*\}\n,\r\n\{.*\}\n,\r\n\{"candidates":\[.*[^\]\n]$`),
		"{cut: true, after: 0}":             regexp.MustCompile(`^\[\{"candidates":\[\{"content".*[^\]]$`),
		"{malformed: json}":                 regexp.MustCompile(`(?s)^\[\{.*,\r\n\{"candidates": \[\}\n\]`),
		"{malformed: error, after: 1}":      regexp.MustCompile(`(?s)^\[\{.*,\r\n\{"error":\{"code":500,"message":".*\n\]`),
		"{malformed: html}":                 regexp.MustCompile(`^<!DOCTYPE`),
		"{malformed: none}":                 regexp.MustCompile(`^\{"candidates": \[\]\}$`),
		"{status: 503}":                     regexp.MustCompile(`"UNAVAILABLE"`),
		"{malformed: type, after: 2}":       regexp.MustCompile(`(?s),\r\n\{"candidates": "none"\}\n\]`),
		"{cut: true, after: 99, rate: 1.0}": regexp.MustCompile(`(?s)^\[(\{.*\}\n,\r\n){3}\{"candidates":`),
	} {
		server := serve(t, "rules: [{reply: one two three four, stream: {chunks: 4}, faults: ["+fault+"]}]", nil)
		if _, body, _ := post(t, server, proStream, `{"contents":[{"parts":[{"text":"x"}]}]}`); !want.MatchString(body) {
			t.Errorf("%s: %q, want %s", fault, body, want)
		}
	}
}

func TestEndlessStreamEnds(t *testing.T) {
	t.Parallel()
	server := serve(t, "rules: [{reply: x, faults: [{endless: true}]}]", nil)
	req, err := http.NewRequest(http.MethodPost, server.URL+proStream+"?alt=sse", strings.NewReader(`{"contents":[{"parts":[{"text":"x"}]}]}`))
	expect.OK(t, err)
	req.Header.Set("x-svc-api-key", "k")
	resp, err := http.DefaultClient.Do(req)
	expect.OK(t, err)
	buf := make([]byte, 4096)
	for read := 0; read < 4096; {
		n, err := resp.Body.Read(buf)
		expect.OK(t, err)
		read += n
	}
	resp.Body.Close() // the server's handler ends with it, or the test hangs in Close
}

// Similar texts are near, and the order is that of the requests.
func TestSimilarTextsHaveNearEmbeddings(t *testing.T) {
	t.Parallel()
	server := serve(t, "rules: []", nil)
	a := embedded(t, server, embeddable("The cat sat on the mat."))
	b := embedded(t, server, embeddable("A cat is sitting on the mat!"))
	c := embedded(t, server, embeddable("Quarterly revenue grew by 7 %"))
	if dot(a, b) < 0.5 || dot(a, c) > 0.3 || math.Abs(dot(a, a)-1) > 1e-6 {
		t.Errorf("near %v, far %v, self %v, want near at least 0.5, far at most 0.3, self 1", dot(a, b), dot(a, c), dot(a, a))
	}
	embedded(t, server, `{"content":{"role":"user","parts":[{"text":"?!"}]},"taskType":"RETRIEVAL_QUERY"}`)
	status, out, _ := post(t, server, "/v1beta/models/embedding-001:batchEmbedContents", batchOf(100))
	var answer struct{ Embeddings []wireEmbedding }
	if err := json.Unmarshal([]byte(out), &answer); err != nil || status != 200 || len(answer.Embeddings) != 100 {
		t.Fatalf("%d %v, want 100 embeddings with the status 200", status, err)
	}
	if math.Abs(dot(answer.Embeddings[42].Values, embedded(t, server, embeddable("text 42")))-1) > 1e-6 {
		t.Error("text 42 has another embedding in a batch than alone, want the same")
	}
}

// Limits of embeddings are kept.
func TestEmbeddingsOverTheLimitsAreRefused(t *testing.T) {
	t.Parallel()
	server := serve(t, "rules: []", nil)
	for body, want := range map[string]string{
		embeddable(""): "the text is empty", embeddable(strings.Repeat("x", 4*2048+1)): "takes at most 2048",
		`{}`: "content.parts is required", `x`: "not the JSON",
		`{"model":"models/other","content":{"parts":[{"text":"x"}]}}`:                                    "is not that of the path",
		`{"content":{"parts":[{"inline_data":{"mime_type":"image/png","data":"AA=="}}]}}`:                "only text",
		`{"model":"models/embedding-001","content":{"parts":[{"text":"a"},{"inlineData":{"data":""}}]}}`: "only text",
	} {
		refuses(t, server, "/v1/models/embedding-001:embedContent", body, want)
	}
	refuses(t, server, "/v1beta/models/embedding-001:batchEmbedContents", batchOf(101), "at most 100")
	refuses(t, server, "/v1beta/models/embedding-001:batchEmbedContents", batchOf(0), "")
	status, _, _ := post(t, server, "/v1/models/svc-pro:embedContent", embeddable("x"))
	expect.Same(t, "status of another model", status, 404)
}

func dot(a, b []float64) float64 {
	sum := 0.0
	for i := range a {
		sum += a[i] * b[i]
	}
	return sum
}

func get(t *testing.T, address string, header http.Header) (int, string) {
	t.Helper()
	req, err := http.NewRequest(http.MethodGet, address, nil)
	expect.OK(t, err)
	maps.Copy(req.Header, header)
	resp, err := http.DefaultClient.Do(req)
	expect.OK(t, err)
	defer resp.Body.Close()
	var b strings.Builder
	buf := make([]byte, 1<<16)
	for {
		n, err := resp.Body.Read(buf)
		b.Write(buf[:n])
		if err != nil {
			return resp.StatusCode, b.String()
		}
	}
}

func TestModelPagesListEachModelOnce(t *testing.T) {
	t.Parallel()
	server := serve(t, "rules: []", func(o *Options) { o.Alias = map[string]string{"other": "svc-pro"} })
	var names []string
	token := ""
	for range 10 {
		status, body := get(t, server.URL+"/v1/models?key=k&pageSize=3&pageToken="+url.QueryEscape(token), nil)
		var page struct {
			Models        []eval.Model
			NextPageToken string
		}
		if err := json.Unmarshal([]byte(body), &page); err != nil || status != 200 || len(page.Models) > 3 {
			t.Fatalf("got %v, %v, want at most 3 models with the status 200", status, body)
		}
		for _, m := range page.Models {
			names = append(names, m.ID())
		}
		if token = page.NextPageToken; token == "" {
			break
		}
	}
	expect.Same(t, "names", len(names), 8)
	expect.Same(t, "the last name", names[len(names)-1], "other")
	for _, query := range []string{"pageSize=x", "pageSize=-1", "pageToken=made-up", "pageToken=from-99"} {
		status, _ := get(t, server.URL+"/v1/models?key=k&"+query, nil)
		expect.Same(t, query, status, 400)
	}
}

// Clients of this protocol spell things in ways that the specification does not show.
func TestLibertiesOfClientsAreAccepted(t *testing.T) {
	t.Parallel()
	turns := `[{"role":"user","parts":[{"text":"a"}]},{"role":"model","parts":[{"text":"b"}]},{"role":"model",` +
		`"parts":[{"text":"c"}]},{"role":"user","parts":[{"text":"d"}]}]`
	tool := `[{"role":"user","parts":[{"text":"a"}]},{"role":"model","parts":[{"functionCall":{"name":"f"}}]},` +
		`{"role":"function","parts":[{"functionResponse":{"name":"f","response":{}}},{"text":"sunny"}]}]`
	exchanges{
		"query parameters": {pro + "?alt=json&$alt=json%3Benum-encoding%3Dint&prettyPrint=false", text("x"), 200, `"finishReason":"STOP"`},
		"unknown fields": {
			pro, `{"contents":[{"parts":[{"text":"x","thought":false}]}],"tools":[{"functionDeclarations":[]}],"cachedContent":""}`, 200,
			`"text":"x"`,
		},
		"chunks as turns": {pro, `{"contents":` + turns + `}`, 200, `"text":"d"`},
		"role function":   {pro, `{"contents":` + tool + `}`, 200, `"text":"sunny"`},
		"two user turns": {
			pro, `{"contents":[{"role":"user","parts":[{"text":"a"}]},{"role":"user","parts":[{"text":"b"}]}]}`, 400, "alternate",
		},
	}.run(t, serve(t, "rules: []", nil))
}

// Values may be spelled in several ways.
func TestValuesMayBeSpelledInSeveralWays(t *testing.T) {
	t.Parallel()
	server := serve(
		t,
		"rules: [{match: {text: rated}, reply: shown, safetyRatings: [{category: HARM_CATEGORY_HARASSMENT, probability: MEDIUM}]}]",
		nil,
	)
	exchanges{
		"enum names": {
			pro,
			`{"contents":[{"parts":[{"text":"rated"}]}],"safetySettings":[{"category":"HARM_CATEGORY_HARASSMENT","threshold":"BLOCK_NONE"}]}`,
			200, `"text":"shown"`,
		},
		"enum numbers": {
			pro, `{"contents":[{"parts":[{"text":"rated"}]}],"safety_settings":[{"category":7,"threshold":4}]}`, 200, `"text":"shown"`,
		},
		"unknown enums": {
			pro, `{"contents":[{"parts":[{"text":"rated"}]}],"safetySettings":[{"category":"HARM_CATEGORY_OTHER","threshold":99}]}`, 200,
			`"finishReason":"SAFETY"`,
		},
		"numbers as text": {
			pro, `{"contents":[{"parts":[{"text":"abcdefgh"}]}],"generation_config":{"max_output_tokens":"1","candidateCount":2.0}}`, 200,
			`"MAX_TOKENS","index":1`,
		},
		"more than the cap": {pro, `{"contents":[{"parts":[{"text":"x"}]}],"generationConfig":{"maxOutputTokens":8192}}`, 200, `"STOP"`},
		"no number": {
			pro, `{"contents":[{"parts":[{"text":"x"}]}],"generationConfig":{"maxOutputTokens":"many"}}`, 400, "not a whole number",
		},
		"wrong type": {pro, `{"contents":{"parts":[]}}`, 400, "contents cannot be a object"},
		"base64url": {
			vision, `{"contents":[{"parts":[{"inlineData":{"mimeType":"image/png","data":"_-8"}},{"text":"x"}]}]}`, 200, `"text":"x"`,
		},
		"count, wrapped": {
			"/v1beta/models/svc-pro:countTokens",
			`{"generateContentRequest":{"model":"models/svc-pro","contents":[{"parts":[{"text":"12345678"}]}],` +
				`"systemInstruction":{"parts":[{"text":"1234"}]}}}`,
			200, `"totalTokens":3`,
		},
		"count, snake case": {
			"/v1beta/models/svc-pro:countTokens",
			`{"generate_content_request":{"contents":[{"parts":[{"text":"12345678"}]}]}}`, 200, `"totalTokens":2`,
		},
		"dimensions": {
			"/v1beta/models/embedding-001:embedContent", `{"content":{"parts":[{"text":"x"}]},"taskType":"CLUSTERING","outputDimensionality":1}`,
			200, `{"embedding":{"values":[1]}}`,
		},
	}.run(t, server)
}

// exchanges are requests, by what is special about them, and their answers.
type exchanges map[string]struct {
	path, body string
	status     int
	want       string
}

func (all exchanges) run(t *testing.T, server *httptest.Server) {
	t.Helper()
	for name, test := range all {
		status, body, _ := post(t, server, test.path, test.body)
		expect.Same(t, name+": status", status, test.status)
		expect.Contains(t, name, body, test.want)
	}
}

// Pages of other sites may send requests only where the emulator is started for them.
func TestPreflightAllowsOtherSitesIfWanted(t *testing.T) {
	t.Parallel()
	for allowed, status := range map[bool]int{true: 204, false: 404} {
		server := serve(t, "rules: []", func(o *Options) { o.CORS = allowed })
		req, err := http.NewRequest(http.MethodOptions, server.URL+pro, nil)
		expect.OK(t, err)
		req.Header.Set("Origin", "https://page.example")
		req.Header.Set("Access-Control-Request-Headers", "x-svc-api-key,content-type")
		resp, err := http.DefaultClient.Do(req)
		expect.OK(t, err)
		resp.Body.Close()
		expect.Same(t, "status code", resp.StatusCode, status)
		origin, headers := "", ""
		if allowed {
			origin, headers = "*", "x-svc-api-key,content-type"
		}
		expect.Same(t, "origins that are allowed", resp.Header.Get("Access-Control-Allow-Origin"), origin)
		expect.Same(t, "headers that are allowed", resp.Header.Get("Access-Control-Allow-Headers"), headers)
	}
}
