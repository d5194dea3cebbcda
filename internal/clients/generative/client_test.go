package generative

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/clients/wire"
	"github.com/evalrun/evalrun/internal/testing/expect"
)

const canary = "canary/key+with=odd&signs-0123456789"

func newClient(t *testing.T, h http.HandlerFunc, change func(*wire.Server)) *Client {
	t.Helper()
	server := httptest.NewServer(h)
	t.Cleanup(server.Close)
	cfg := wire.Server{BaseURL: server.URL, Key: canary}
	if change != nil {
		change(&cfg)
	}
	c := New(cfg)
	t.Cleanup(c.Close)
	return c
}

func ask(t *testing.T, c *Client) (*eval.Response, *eval.Error) {
	t.Helper()
	call := &eval.Call{Request: eval.Request{Model: "svc-pro", Contents: []eval.Content{{Role: "user", Parts: []eval.Part{
		eval.TextPart{Text: "hi"},
	}}}}}
	resp, err := c.Generate(context.Background(), call)
	if err == nil {
		return resp, nil
	}
	var e *eval.Error
	if !errors.As(err, &e) {
		t.Fatalf("%T: %v, want %T", err, err, e)
	}
	return nil, e
}

func TestRequestIsSentAsSpecified(t *testing.T) {
	t.Parallel()
	var got *http.Request
	var body []byte
	c := newClient(t, func(w http.ResponseWriter, r *http.Request) {
		got = r
		body, _ = io.ReadAll(r.Body)
		fmt.Fprint(w, `{"candidates":[{"content":{"parts":[{"text":"ok"}]}}]}`)
	}, func(c *wire.Server) { c.HeaderPrefix = "x-brand" })
	zero, limit := 0.0, 5
	call := &eval.Call{TrialID: "t", Request: eval.Request{
		Model: "svc-pro", APIVersion: "v1beta",
		Contents: []eval.Content{
			{
				Role: "user",
				Parts: []eval.Part{
					eval.TextPart{Text: "a <b> & \"c\"\n"},
					eval.ImagePart{Image: &eval.Image{MIMEType: "image/png", Data: []byte{0xff, 0xfe, 0xfd, 0xfc}}},
				},
			},
			{Role: "model", Parts: []eval.Part{eval.TextPart{Text: "ready"}}},
		},
		GenerationConfig: &eval.GenerationConfig{Temperature: &zero, MaxOutputTokens: &limit, StopSequences: []string{"\n"}},
		SafetySettings:   []eval.SafetySetting{{Category: "HARM_CATEGORY_HARASSMENT", Threshold: "BLOCK_ONLY_HIGH"}},
	}}
	if _, err := c.Generate(context.Background(), call); err != nil {
		t.Fatal(err)
	}
	if got.URL.Path != "/v1beta/models/svc-pro:generateContent" || got.Header.Get("x-brand-api-key") != canary ||
		got.Header.Get("Content-Type") != "application/json" {
		t.Errorf("%s with %v, want the path of svc-pro, the key and the content type", got.URL, got.Header)
	}
	if got.Header.Get(wire.TrialHeader) != "" {
		t.Errorf("the trial header is %q, want it for the own emulator alone", got.Header.Get(wire.TrialHeader))
	}
	want := `{"contents":[{"role":"user","parts":[{"text":"a <b> & \"c\"\n"},{"inline_data":{"mime_type":"image/png",` +
		`"data":"//79/A=="}}]},` +
		`{"role":"model","parts":[{"text":"ready"}]}],"generationConfig":{"temperature":0,"maxOutputTokens":5,"stopSequences":["\n"]},` +
		`"safetySettings":[{"category":"HARM_CATEGORY_HARASSMENT","threshold":"BLOCK_ONLY_HIGH"}]}`
	expect.Same(t, "the body", string(body), want)
	if call.Timing.LatencyMs <= 0 {
		t.Errorf("latency %v ms, want more than 0", call.Timing.LatencyMs)
	}
	if _, err := c.CountTokens(context.Background(), call); err == nil || !strings.HasPrefix(string(body), `{"contents":[`) ||
		strings.Contains(string(body), "safety") {
		t.Errorf("%v after %s, want an error after contents without safety settings", err, body)
	}
}

func TestModelNamesAreOnePathSegment(t *testing.T) {
	t.Parallel()
	var path string
	c := newClient(t, func(_ http.ResponseWriter, r *http.Request) { path = r.URL.EscapedPath() }, nil)
	_, _ = c.Generate(context.Background(), &eval.Call{Request: eval.Request{Model: "../../x?y#z"}})
	if path != "/v1/models/..%2F..%2Fx%3Fy%23z:generateContent" {
		t.Errorf("%s, want the name of the model escaped", path)
	}
}

// What is odd and harmless is taken.
func TestHarmlessOdditiesAreAccepted(t *testing.T) {
	t.Parallel()
	good := `{"candidates":[{"content":{"parts":[{"text":"fine"}]},"finishReason":"STOP"}]`
	for _, body := range []string{
		"\xEF\xBB\xBF" + good + "}", good + `,"error":null}`,
		good + `,"promptFeedback":null,"usageMetadata":null}`,
	} {
		resp, e := ask(t, newClient(t, func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, body) }, nil))
		if e != nil || resp.Text() != "fine" {
			t.Errorf("%q: %v, want the text `fine`", body, e)
		}
	}
}

// Every way in which an answer can be wrong is an error of a kind, with a cause, and never
// a panic or a pass.
func TestUselessAnswersAreErrorsOfAKind(t *testing.T) {
	t.Parallel()
	faults{
		"html":               {text(200, "<html>Bad gateway</html>"), eval.KindMalformed, "a page and not JSON"},
		"empty":              {text(200, ""), eval.KindMalformed, "empty"},
		"null":               {text(200, "null"), "", ""},
		"cut":                {text(200, `{"candidates": [{"content": {"parts": [{"te`), eval.KindTruncated, "cut off after"},
		"array":              {text(200, `[]`), eval.KindMalformed, "shape"},
		"candidates text":    {text(200, `{"candidates": "none"}`), eval.KindMalformed, "candidates"},
		"parts object":       {text(200, `{"candidates": [{"content": {"parts": {"text": "x"}}}]}`), eval.KindMalformed, "content"},
		"text number":        {text(200, `{"candidates": [{"content": {"parts": [{"text": 5}]}}]}`), eval.KindMalformed, "parts"},
		"ratings text":       {text(200, `{"candidates": [{"safetyRatings": "low"}]}`), eval.KindMalformed, "safetyRatings"},
		"deep":               {text(200, strings.Repeat(`{"a":`, 20000)+"1"+strings.Repeat("}", 20000)), eval.KindMalformed, ""},
		"two values":         {text(200, `{} {}`), eval.KindMalformed, ""},
		"error in 200":       {text(200, `{"error": {"code": 500, "message": "boom", "status": "INTERNAL"}}`), eval.KindStatus, "boom"},
		"error array in 200": {text(200, `[{"error": {"code": 503, "message": "busy"}}]`), eval.KindStatus, "busy"},
	}.run(t)
}

// faults are what services send instead of answers, and the errors that come of it; "" is an answer without candidates.
type faults map[string]struct {
	serve http.HandlerFunc
	kind  eval.ErrorKind
	text  string
}

func (all faults) run(t *testing.T) {
	t.Helper()
	for name, test := range all {
		t.Run(name, func(t *testing.T) {
			resp, e := ask(t, newClient(t, test.serve, nil))
			if test.kind == "" {
				if e != nil || len(resp.Candidates) != 0 {
					t.Errorf("%+v %v, want no candidate and no error", resp, e)
				}
				return
			}
			if e == nil {
				t.Fatalf("%+v without an error, want %s", resp, test.kind)
			}
			if e.Kind != test.kind || !strings.Contains(e.Error(), test.text) || len(e.Message) > 1000 {
				t.Errorf("%s: %.200s; want %s: %s", e.Kind, e, test.kind, test.text)
			}
		})
	}
}

func text(status int, body string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(status)
		fmt.Fprint(w, body)
	}
}

func TestDeadlineCoversTheBody(t *testing.T) {
	t.Parallel()
	c := newClient(t, func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprint(w, `{"candidates":`)
		w.(http.Flusher).Flush()
		<-r.Context().Done()
	}, nil)
	ctx, cancel := context.WithTimeout(context.Background(), 50*time.Millisecond)
	defer cancel()
	_, err := c.Generate(ctx, &eval.Call{Request: eval.Request{Model: "m"}})
	var e *eval.Error
	if !errors.As(err, &e) || e.Kind != eval.KindTimeout {
		t.Errorf("got %v, want %s", err, eval.KindTimeout)
	}
}

func noKey(t *testing.T, text string) {
	t.Helper()
	for _, form := range []string{
		canary, url.QueryEscape(canary), url.PathEscape(canary),
		strings.TrimRight(base64.StdEncoding.EncodeToString([]byte(canary)), "="),
	} {
		if strings.Contains(text, form) {
			t.Errorf("%s has the key as %s, want it masked", text, form)
		}
	}
}

// The key shows nowhere, whatever fails and wherever the service echoes it.
func TestKeyNeverShows(t *testing.T) {
	t.Parallel()
	echo := func(status int) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			w.WriteHeader(status)
			fmt.Fprintf(w, `{"error": {"message": "key %s, url %s, header %v"}}`, canary, r.URL, r.Header)
		}
	}
	handlers := map[string]http.HandlerFunc{
		"400": echo(400), "403": echo(403), "500": echo(500), "200": echo(200),
		"html":  func(w http.ResponseWriter, r *http.Request) { fmt.Fprint(w, "<p>", r.URL, r.Header) },
		"reset": func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) },
	}
	for name, h := range handlers {
		for _, inQuery := range []bool{false, true} {
			_, e := ask(t, newClient(t, h, func(c *wire.Server) { c.KeyInQuery = inQuery }))
			if e == nil {
				t.Fatalf("%s: no error, want one", name)
			}
			noKey(t, e.Error())
		}
	}
	for _, base := range []string{"http://127.0.0.1:1", "http://nowhere.invalid", "http://[::1]:1"} {
		_, e := ask(t, New(wire.Server{BaseURL: base, Key: canary, KeyInQuery: true}))
		noKey(t, e.Error())
	}
	resp, e := ask(t, newClient(t, func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprintf(w, `{"candidates":[{"content":{"parts":[{"text":"your key is %s"}]}}]}`, canary)
	}, nil))
	if e != nil {
		t.Fatal(e)
	}
	noKey(t, resp.Text())
}

func TestCountTokensReadsTheTotal(t *testing.T) {
	t.Parallel()
	for body, want := range map[string]int{
		`{"totalTokens":7}`: 7, `{"total_tokens":7}`: 7, `{"totalTokens":0,"x":1}`: 0, `{}`: -1,
		`{"totalTokens":-1}`: -1, `{"totalTokens":9223372036854775807}`: -1, `{"totalTokens":"7"}`: 7,
		`{"totalTokens":"x"}`: -1, `{"totalTokens":7,"error":{"message":"no"}}`: -1, ``: -1,
	} {
		var path, sent string
		c := newClient(t, func(w http.ResponseWriter, r *http.Request) {
			data, _ := io.ReadAll(r.Body)
			path, sent = r.URL.Path, string(data)
			fmt.Fprint(w, body)
		}, nil)
		got, err := c.CountTokens(context.Background(), &eval.Call{
			Request: eval.Request{
				Model:          "svc-pro",
				APIVersion:     "v1beta",
				Contents:       []eval.Content{{Parts: []eval.Part{eval.TextPart{Text: "hi"}}}},
				SafetySettings: []eval.SafetySetting{{}},
			},
		})
		if (err == nil) != (want >= 0) || err == nil && got != want {
			t.Errorf("%s: %d %v, want %d", body, got, err, want)
		}
		if path != "/v1beta/models/svc-pro:countTokens" || sent != `{"contents":[{"parts":[{"text":"hi"}]}]}` {
			t.Errorf("%s to %s, want the contents to countTokens", sent, path)
		}
	}
}

// A list that never ends is given up.
func TestEndlessModelPagesAreGivenUp(t *testing.T) {
	t.Parallel()
	n := 0
	c := newClient(t, func(w http.ResponseWriter, _ *http.Request) {
		n++
		fmt.Fprintf(w, `{"models":[{"name":"models/a"}],"nextPageToken":"%d"}`, n)
	}, nil)
	if _, err := c.Models(context.Background(), "v1"); eval.AsError(err).Kind != eval.KindTooLarge || n != wire.MaxPages {
		t.Errorf("%v after %d pages, want %s after %d", err, n, eval.KindTooLarge, wire.MaxPages)
	}
}

func TestModelPagesAreFollowed(t *testing.T) {
	t.Parallel()
	c := newClient(t, func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Query().Get("pageToken") {
		case "":
			fmt.Fprint(w, `{"models":[{"name":"models/a","input_token_limit":5}],"nextPageToken":"p 2"}`)
		case "p 2":
			fmt.Fprint(w, `{"models":[{"name":"models/b"}]}`)
		}
	}, nil)
	models, err := c.Models(context.Background(), "v1")
	if err != nil || len(models) != 2 || models[0].InputTokenLimit != 5 || models[1].ID() != "b" {
		t.Errorf("%+v %v, want 2 models: one with the limit 5, and b", models, err)
	}
}

type login struct {
	mu      sync.Mutex
	n       int
	renewed int
	err     error
}

func (l *login) Token(context.Context) (string, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return fmt.Sprintf("canary-token-%d", l.n), l.err
}

func (l *login) Renew(_ context.Context, refused string) (bool, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if refused == fmt.Sprintf("canary-token-%d", l.n) {
		l.n++
		l.renewed++
	}
	return true, nil
}

// With a login, requests carry the token and the project and no key. A token that is refused is
// replaced, and the error says so.
func TestBearerRequestsCarryTheTokenAndNoKey(t *testing.T) {
	t.Parallel()
	tokens := &login{}
	var got http.Header
	c := newClient(t, func(w http.ResponseWriter, r *http.Request) {
		got = r.Header
		if r.Header.Get("Authorization") != "Bearer canary-token-1" {
			w.WriteHeader(401)
			fmt.Fprintf(w, `{"error":{"code":401,"message":"bad token %s","status":"UNAUTHENTICATED"}}`, r.Header.Get("Authorization"))
			return
		}
		fmt.Fprintf(w, `{"candidates":[{"content":{"parts":[{"text":"you sent %s"}]},"finishReason":"STOP"}]}`, r.Header.Get("Authorization"))
	}, func(cfg *wire.Server) {
		cfg.TokenSource, cfg.Project, cfg.Key, cfg.HeaderPrefix = tokens, "my-project", "", "x-other"
	})
	_, e := ask(t, c)
	if e == nil || e.Kind != eval.KindAuth || e.Retry != eval.RetryWithLogin || strings.Contains(e.Error(), "canary") {
		t.Errorf("%+v, want a renewed token and %s, without the key", e, eval.KindAuth)
	}
	expect.Same(t, "renewals", tokens.renewed, 1)
	resp, e := ask(t, c)
	if e != nil {
		t.Fatal(e)
	}
	expect.Same(t, "the answer", resp.Text(), "you sent Bearer [key]")
	expect.Same(t, "the project", got.Get("X-Other-User-Project"), "my-project")
	expect.Same(t, "the key", got.Get("X-Other-Api-Key")+got.Get("X-Svc-Api-Key"), "")
	tokens.err = eval.Errorf(eval.KindAuth, "log in again")
	if _, e := ask(t, c); e == nil || e.Kind != eval.KindAuth || e.Retry == eval.RetryWithLogin {
		t.Errorf("%+v, want %s, and no renewed token", e, eval.KindAuth)
	}
}

func TestAPINotEnabledSaysWhereToEnableIt(t *testing.T) {
	t.Parallel()
	recorded, err := os.ReadFile("testdata/unary-failure-generativelanguage-api-not-enabled.json")
	expect.OK(t, err)
	c := newClient(t, text(403, string(recorded)), nil)
	const want = "enable it at https://console.developers.google.com/apis/api/generativelanguage.googleapis.com/overview?project=12345678,"
	if _, e := ask(t, c); e == nil || e.Kind != eval.KindAuth || !strings.Contains(e.Message, want) {
		t.Errorf("%v, want %s", e, want)
	}
}

// One text goes by embedContent, several by batchEmbedContents, as the specification shows.
func TestEmbedSendsOneOrManyTexts(t *testing.T) {
	t.Parallel()
	var path, body string
	c := newClient(t, func(w http.ResponseWriter, r *http.Request) {
		data, _ := io.ReadAll(r.Body)
		path, body = r.URL.Path, string(data)
		if strings.HasSuffix(path, ":embedContent") {
			fmt.Fprint(w, `{"embedding":{"values":[1,-0.5]}}`)
		} else {
			fmt.Fprint(w, `{"embeddings":[{"values":[1,2]},{"values":[3,4e-3]}]}`)
		}
	}, nil)
	got, err := c.Embed(context.Background(), &eval.EmbedCall{Model: "embedding-001", Texts: []string{"a <b>"}})
	expect.OK(t, err)
	expect.Same(t, "one vector", got, [][]float64{{1, -0.5}})
	expect.Same(t, "the path", path, "/v1/models/embedding-001:embedContent")
	expect.Same(t, "the body", body, `{"model":"models/embedding-001","content":{"parts":[{"text":"a <b>"}]}}`)
	call := &eval.EmbedCall{Model: "embedding-001", APIVersion: "v1beta", Texts: []string{"a", "b"}}
	got, err = c.Embed(context.Background(), call)
	expect.OK(t, err)
	expect.Same(t, "two vectors", got, [][]float64{{1, 2}, {3, 0.004}})
	if call.Timing.LatencyMs <= 0 {
		t.Errorf("got %v, want a latency", call.Timing)
	}
	want := `{"requests":[{"model":"models/embedding-001","content":{"parts":[{"text":"a"}]}},` +
		`{"model":"models/embedding-001","content":{"parts":[{"text":"b"}]}}]}`
	expect.Same(t, "the path", path, "/v1beta/models/embedding-001:batchEmbedContents")
	expect.Same(t, "the body", body, want)
}

// An answer without one vector for each text is an error.
func TestEmbedFaultsAreErrors(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct{ body, text string }{
		"too few":       {`{"embeddings":[{"values":[1]}]}`, "1 embeddings came for 2 texts"},
		"too many":      {`{"embeddings":[{"values":[1]},{"values":[1]},{"values":[1]}]}`, "3 embeddings came for 2 texts"},
		"none":          {`{}`, "0 embeddings came"},
		"single form":   {`{"embedding":{"values":[1]}}`, "1 embeddings came"},
		"NaN":           {`{"embeddings":[{"values":[1]},{"values":["NaN"]}]}`, "unexpected shape"},
		"bare NaN":      {`{"embeddings":[{"values":[1]},{"values":[NaN]}]}`, "not JSON"},
		"null":          {`{"embeddings":[{"values":[1]},{"values":[null]}]}`, "embedding 2 of 2 is not a list of numbers"},
		"no values":     {`{"embeddings":[{"values":[1]},{}]}`, "embedding 2 of 2 is not a list of numbers"},
		"infinite":      {`{"embeddings":[{"values":[1]},{"values":[1e999]}]}`, ""},
		"other lengths": {`{"embeddings":[{"values":[1]},{"values":[1,2]}]}`, "embedding 2 has 2 values and the first one 1"},
		"text":          {`{"embeddings":"none"}`, "unexpected shape"},
		"empty":         {``, "empty"},
		"error":         {`{"error":{"code":400,"message":"too long","status":"INVALID_ARGUMENT"}}`, "too long"},
	} {
		c := newClient(t, func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, test.body) }, nil)
		got, err := c.Embed(context.Background(), &eval.EmbedCall{Model: "m", Texts: []string{"a", "b"}})
		if e := eval.AsError(err); e == nil || !strings.Contains(e.Message, test.text) || e.Kind != eval.KindMalformed && name != "error" {
			t.Errorf("%s: %v %v, want %s with %q", name, got, err, eval.KindMalformed, test.text)
		}
	}
}
