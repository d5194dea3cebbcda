package emulator

import (
	"encoding/json"
	"fmt"
	"math"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/expect"
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
func TestStreams(t *testing.T) {
	t.Parallel()
	server := serve(
		t,
		"usage: true\nrules: [{match: {text: even}, reply: abcdé, stream: {chunks: 3}}, {match: {text: blocked}, blockReason: SAFETY}]",
		nil,
	)
	long := strings.Repeat("word ", 20) + "end"
	for path, contentType := range map[string]string{proStream: "application/json; charset=UTF-8", proStream + "?alt=sse": "text/event-stream"} {
		status, body, header := post(t, server, path, text(long))
		got, chunks := texts(t, body)
		if status != 200 || header.Get("Content-Type") != contentType || strings.Join(got, "") != long || len(chunks) != 6 {
			t.Errorf("%s: %d %s %d chunks: %q", path, status, header.Get("Content-Type"), len(chunks), got)
		}
		for i, c := range chunks {
			last := i == len(chunks)-1
			if (c.Candidates[0].FinishReason == "STOP") != last || (c.UsageMetadata != nil) != last || (c.PromptFeedback != nil) != (i == 0) {
				t.Errorf("%s: chunk %d: %+v", path, i, c)
			}
		}
		_, body, _ = post(t, server, path, `{"contents":[{"parts":[{"text":"even"}]}],"generationConfig":{"candidateCount":2}}`)
		if got, chunks := texts(t, body); len(chunks) != 3 ||
			strings.Join(got, "|") != "ab|ab|cd|cd|é|é" && strings.Join(got, "|") != "ab|ab|c|c|dé|dé" {
			t.Errorf("%s: %q", path, got)
		}
		_, body, _ = post(t, server, path, `{"contents":[{"parts":[{"text":"blocked"}]}]}`)
		if _, chunks := texts(t, body); len(chunks) != 1 || chunks[0].PromptFeedback.BlockReason != "SAFETY" || chunks[0].Candidates != nil {
			t.Errorf("%s: %s", path, body)
		}
		if status, body, _ := post(t, server, path, `{"contents":[]}`); status != 400 || !strings.Contains(body, "INVALID_ARGUMENT") {
			t.Errorf("%s: %d %s", path, status, body)
		}
	}
	if status, _, _ := post(t, server, "/v1/models/embedding-001:streamGenerateContent", `{}`); status != 404 {
		t.Errorf("status %d", status)
	}
}

// Streams go wrong where the script says.
func TestStreamFaults(t *testing.T) {
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
			t.Errorf("%s: %q", fault, body)
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

// Similar texts are near, the order is that of the requests, and limits are kept.
func TestEmbeddings(t *testing.T) {
	t.Parallel()
	server := serve(t, "rules: []", nil)
	one := func(body string) []float64 {
		status, out, _ := post(t, server, "/v1/models/embedding-001:embedContent", body)
		var answer struct{ Embedding wireEmbedding }
		if err := json.Unmarshal([]byte(out), &answer); err != nil || status != 200 || len(answer.Embedding.Values) != dimensions {
			t.Fatalf("%d %v %s", status, err, out)
		}
		return answer.Embedding.Values
	}
	of := func(s string) string {
		return `{"model":"models/embedding-001","content":{"parts":[{"text":` + quoted(s) + `}]}}`
	}
	a, b, c := one(of("The cat sat on the mat.")), one(of("A cat is sitting on the mat!")), one(of("Quarterly revenue grew by 7 %"))
	if dot(a, b) < 0.5 || dot(a, c) > 0.3 || math.Abs(dot(a, a)-1) > 1e-6 {
		t.Errorf("near %v, far %v, self %v", dot(a, b), dot(a, c), dot(a, a))
	}
	one(`{"content":{"role":"user","parts":[{"text":"?!"}]},"taskType":"RETRIEVAL_QUERY"}`)
	batch := func(n int) (int, string) {
		requests := make([]string, n)
		for i := range requests {
			requests[i] = of(fmt.Sprintf("text %d", i))
		}
		status, out, _ := post(t, server, "/v1beta/models/embedding-001:batchEmbedContents", `{"requests":[`+strings.Join(requests, ",")+`]}`)
		return status, out
	}
	status, out := batch(100)
	var answer struct{ Embeddings []wireEmbedding }
	if err := json.Unmarshal([]byte(out), &answer); err != nil || status != 200 || len(answer.Embeddings) != 100 {
		t.Fatalf("%d %v", status, err)
	}
	if math.Abs(dot(answer.Embeddings[42].Values, one(of("text 42")))-1) > 1e-6 {
		t.Error("the order is not that of the requests")
	}
	for body, want := range map[string]string{
		of(""): "the text is empty", of(strings.Repeat("x", 4*2048+1)): "takes at most 2048", `{}`: "content.parts is required",
		`x`: "not the JSON",
		`{"model":"models/other","content":{"parts":[{"text":"x"}]}}`:                                    "another one than that of the path",
		`{"content":{"parts":[{"inline_data":{"mime_type":"image/png","data":"AA=="}}]}}`:                "only text",
		`{"model":"models/embedding-001","content":{"parts":[{"text":"a"},{"inlineData":{"data":""}}]}}`: "only text",
	} {
		if status, out, _ := post(t, server, "/v1/models/embedding-001:embedContent", body); status != 400 || !strings.Contains(out, want) {
			t.Errorf("%.80s: %d %s", body, status, out)
		}
	}
	if status, out := batch(101); status != 400 || !strings.Contains(out, "at most 100") {
		t.Errorf("%d %s", status, out)
	}
	if status, _ := batch(0); status != 400 {
		t.Errorf("%d", status)
	}
	if status, _, _ := post(t, server, "/v1/models/svc-pro:embedContent", of("x")); status != 404 {
		t.Errorf("%d", status)
	}
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
	for k, v := range header {
		req.Header[k] = v
	}
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

func TestModelPaging(t *testing.T) {
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
			t.Fatal(status, body)
		}
		for _, m := range page.Models {
			names = append(names, m.ID())
		}
		if token = page.NextPageToken; token == "" {
			break
		}
	}
	if len(names) != 8 || names[7] != "other" {
		t.Error(names)
	}
	for _, query := range []string{"pageSize=x", "pageSize=-1", "pageToken=made-up", "pageToken=from-99"} {
		if status, _ := get(t, server.URL+"/v1/models?key=k&"+query, nil); status != 400 {
			t.Errorf("%s: %d", query, status)
		}
	}
}

// Tokens are checked: that they are good, and for which project they are used.
func TestBearerTokens(t *testing.T) {
	t.Parallel()
	now := func(o *Options) { o.Consent, o.Project = ConsentAuto, "right" }
	server := serve(t, "rules: []", now)
	client := &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	// The verifier and its challenge are those of RFC 7636, appendix B.
	const verifier, challenge = "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk", "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM"
	code := func(change url.Values) *url.URL {
		q := url.Values{
			"client_id": {oauthClient}, "response_type": {"code"}, "redirect_uri": {"http://127.0.0.1:1/cb"}, "state": {"s"},
			"scope": {"https://x/auth/cloud-platform"}, "code_challenge": {challenge}, "code_challenge_method": {"S256"},
		}
		for k, v := range change {
			q[k] = v
		}
		resp, err := client.Get(server.URL + "/oauth/authorize?" + q.Encode())
		expect.OK(t, err)
		resp.Body.Close()
		u, err := resp.Location()
		if err != nil {
			return &url.URL{Opaque: resp.Status}
		}
		return u
	}
	for name, test := range map[string]struct {
		change url.Values
		want   string
	}{
		"client":        {url.Values{"client_id": {"other"}}, "401"},
		"redirect":      {url.Values{"redirect_uri": {"https://evil.example/"}}, "400"},
		"redirect host": {url.Values{"redirect_uri": {"http://127.0.0.1.evil.example/"}}, "400"},
		"type":          {url.Values{"response_type": {"token"}}, "error=unsupported_response_type"},
		"plain":         {url.Values{"code_challenge_method": {"plain"}}, "error=invalid_request"},
		"no challenge":  {url.Values{"code_challenge": {""}}, "error=invalid_request"},
		"scope":         {url.Values{"scope": {"x"}}, "error=invalid_scope"},
	} {
		if got := code(test.change).String(); !strings.Contains(got, test.want) {
			t.Errorf("%s: %s", name, got)
		}
	}
	trade := func(form url.Values) (int, tokenAnswer, string) {
		for k, v := range map[string]string{"client_id": oauthClient, "client_secret": oauthSecret} {
			if !form.Has(k) {
				form.Set(k, v)
			}
		}
		resp, err := client.PostForm(server.URL+"/oauth/token", form)
		expect.OK(t, err)
		defer resp.Body.Close()
		var raw json.RawMessage
		expect.OK(t, json.NewDecoder(resp.Body).Decode(&raw))
		var a tokenAnswer
		_ = json.Unmarshal(raw, &a)
		return resp.StatusCode, a, string(raw)
	}
	exchange := func(change url.Values) (int, tokenAnswer, string) {
		form := url.Values{
			"grant_type":    {"authorization_code"},
			"code":          {code(nil).Query().Get("code")},
			"redirect_uri":  {"http://127.0.0.1:1/cb"},
			"code_verifier": {verifier},
		}
		for k, v := range change {
			form[k] = v
		}
		return trade(form)
	}
	for name, test := range map[string]struct {
		change url.Values
		want   string
	}{
		"verifier": {url.Values{"code_verifier": {"wrong"}}, "invalid_grant"},
		"redirect": {url.Values{"redirect_uri": {"http://127.0.0.1:2/cb"}}, "invalid_grant"},
		"code":     {url.Values{"code": {"made up"}}, "invalid_grant"},
		"secret":   {url.Values{"client_secret": {"x"}}, "invalid_client"},
		"type":     {url.Values{"grant_type": {"password"}}, "unsupported_grant_type"},
	} {
		if status, _, raw := exchange(test.change); status < 400 || !strings.Contains(raw, test.want) {
			t.Errorf("%s: %d %s", name, status, raw)
		}
	}
	_, first, raw := exchange(nil)
	if first.AccessToken == "" || first.ExpiresIn != 3600 {
		t.Fatal(raw)
	}
	list := func(token, project string) int {
		status, _ := get(t, server.URL+"/v1/models", http.Header{"Authorization": {"Bearer " + token}, "X-Svc-User-Project": {project}})
		return status
	}
	if got := []int{list(first.AccessToken, "right"), list(first.AccessToken, "wrong"), list(first.AccessToken, ""), list("made-up", "right")}; fmt.Sprint(
		got,
	) != "[200 403 403 401]" {
		t.Error(got)
	}
	refresh := func(token string) (int, tokenAnswer, string) {
		return trade(url.Values{"grant_type": {"refresh_token"}, "refresh_token": {token}})
	}
	_, second, _ := refresh(first.RefreshToken)
	if list(second.AccessToken, "right") != 200 || second.RefreshToken == first.RefreshToken {
		t.Errorf("%+v", second)
	}
	if status, _, raw := refresh(first.RefreshToken); status != 400 || !strings.Contains(raw, "used before") { // a replay ends it all
		t.Error(status, raw)
	}
	if status, _, _ := refresh(second.RefreshToken); status != 400 || list(second.AccessToken, "right") != 401 {
		t.Error("the login goes on after a replayed refresh token")
	}
	_, third, _ := exchange(nil)
	resp, err := client.PostForm(server.URL+"/oauth/revoke", url.Values{"token": {third.AccessToken}})
	expect.OK(t, err)
	resp.Body.Close()
	if resp.StatusCode != 200 || list(third.AccessToken, "right") != 401 {
		t.Error("a revoked token is good")
	}
}

func TestTokensExpire(t *testing.T) {
	t.Parallel()
	a := newAuthServer(ConsentAuto, time.Hour, "")
	g := &grant{}
	a.access["old"] = &access{g, time.Now().Add(-time.Second)}
	a.access["new"] = &access{g, time.Now().Add(time.Minute)}
	if a.good("old") || !a.good("new") || a.good("") {
		t.Error("expiry")
	}
}

// Clients of this protocol spell things in ways that the specification does not show.
func TestLiberties(t *testing.T) {
	t.Parallel()
	server := serve(
		t,
		"rules: [{match: {text: rated}, reply: shown, safetyRatings: [{category: HARM_CATEGORY_HARASSMENT, probability: MEDIUM}]}]",
		nil,
	)
	turns := `[{"role":"user","parts":[{"text":"a"}]},{"role":"model","parts":[{"text":"b"}]},{"role":"model","parts":[{"text":"c"}]},{"role":"user","parts":[{"text":"d"}]}]`
	tool := `[{"role":"user","parts":[{"text":"a"}]},{"role":"model","parts":[{"functionCall":{}}]},{"role":"function","parts":[{"functionResponse":{}},{"text":"sunny"}]}]`
	for name, test := range map[string]struct {
		path, body string
		status     int
		want       string
	}{
		"query parameters":  {pro + "?alt=json&$alt=json%3Benum-encoding%3Dint&prettyPrint=false", text("x"), 200, `"finishReason":"STOP"`},
		"unknown fields":    {pro, `{"contents":[{"parts":[{"text":"x","thought":false}]}],"tools":[{"functionDeclarations":[]}],"cachedContent":""}`, 200, `"text":"x"`},
		"chunks as turns":   {pro, `{"contents":` + turns + `}`, 200, `"text":"d"`},
		"role function":     {pro, `{"contents":` + tool + `}`, 200, `"text":"sunny"`},
		"two user turns":    {pro, `{"contents":[{"role":"user","parts":[{"text":"a"}]},{"role":"user","parts":[{"text":"b"}]}]}`, 400, "alternate"},
		"enum names":        {pro, `{"contents":[{"parts":[{"text":"rated"}]}],"safetySettings":[{"category":"HARM_CATEGORY_HARASSMENT","threshold":"BLOCK_NONE"}]}`, 200, `"text":"shown"`},
		"enum numbers":      {pro, `{"contents":[{"parts":[{"text":"rated"}]}],"safety_settings":[{"category":7,"threshold":4}]}`, 200, `"text":"shown"`},
		"unknown enums":     {pro, `{"contents":[{"parts":[{"text":"rated"}]}],"safetySettings":[{"category":"HARM_CATEGORY_OTHER","threshold":99}]}`, 200, `"finishReason":"SAFETY"`},
		"numbers as text":   {pro, `{"contents":[{"parts":[{"text":"abcdefgh"}]}],"generation_config":{"max_output_tokens":"1","candidateCount":2.0}}`, 200, `"MAX_TOKENS","index":1`},
		"more than the cap": {pro, `{"contents":[{"parts":[{"text":"x"}]}],"generationConfig":{"maxOutputTokens":8192}}`, 200, `"STOP"`},
		"no number":         {pro, `{"contents":[{"parts":[{"text":"x"}]}],"generationConfig":{"maxOutputTokens":"many"}}`, 400, "not a whole number"},
		"wrong type":        {pro, `{"contents":{"parts":[]}}`, 400, "contents cannot be a object"},
		"base64url":         {vision, `{"contents":[{"parts":[{"inlineData":{"mimeType":"image/png","data":"_-8"}},{"text":"x"}]}]}`, 200, `"text":"x"`},
		"count, wrapped":    {"/v1beta/models/svc-pro:countTokens", `{"generateContentRequest":{"model":"models/svc-pro","contents":[{"parts":[{"text":"12345678"}]}],"systemInstruction":{"parts":[{"text":"1234"}]}}}`, 200, `"totalTokens":3`},
		"count, snake case": {"/v1beta/models/svc-pro:countTokens", `{"generate_content_request":{"contents":[{"parts":[{"text":"12345678"}]}]}}`, 200, `"totalTokens":2`},
		"dimensions":        {"/v1beta/models/embedding-001:embedContent", `{"content":{"parts":[{"text":"x"}]},"taskType":"CLUSTERING","outputDimensionality":1}`, 200, `{"embedding":{"values":[1]}}`},
	} {
		if status, body, _ := post(t, server, test.path, test.body); status != test.status || !strings.Contains(body, test.want) {
			t.Errorf("%s: %d %s", name, status, body)
		}
	}
	req, err := http.NewRequest(http.MethodOptions, server.URL+pro, nil)
	expect.OK(t, err)
	req.Header.Set("Origin", "https://page.example")
	req.Header.Set("Access-Control-Request-Headers", "x-svc-api-key,content-type")
	resp, err := http.DefaultClient.Do(req)
	expect.OK(t, err)
	resp.Body.Close()
	if resp.StatusCode != 204 || resp.Header.Get("Access-Control-Allow-Headers") != "x-svc-api-key,content-type" {
		t.Error(resp.StatusCode, resp.Header)
	}
}
