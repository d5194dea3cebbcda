package openai

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/clients/wire"
	"github.com/evalrun/evalrun/internal/testing/expect"
	"github.com/evalrun/evalrun/internal/testing/replies"
)

type outcome struct {
	Kind      eval.ErrorKind
	Status    int
	Code      string
	Permanent bool
	Wait      time.Duration
}

// failure is an answer that is an error, and the error that it is.
type failure struct {
	status int
	header http.Header
	body   string
	want   outcome
	text   string
}

func refusals() map[string]failure {
	return map[string]failure{
		"rate limit": {
			429,
			http.Header{"Retry-After": {"7"}},
			`{"error":{"message":"slow down","type":"requests","code":"rate_limit_exceeded"}}`,
			outcome{Kind: eval.KindQuota, Status: 429, Code: "rate_limit_exceeded", Wait: 7 * time.Second},
			"slow down",
		},
		"milliseconds": {
			429,
			http.Header{"Retry-After-Ms": {"1500"}, "Retry-After": {"2"}},
			`{"error":{"message":"slow down"}}`,
			outcome{Kind: eval.KindQuota, Status: 429, Wait: 1500 * time.Millisecond},
			"slow down",
		},
		"spent": {
			429, nil, `{"error":{"message":"You exceeded your current quota","type":"insufficient_quota","code":"insufficient_quota"}}`,
			outcome{Kind: eval.KindQuota, Status: 429, Code: "insufficient_quota", Permanent: true},
			"current quota",
		},
		"no money": {402, nil, `{"error":{"message":"Insufficient Balance"}}`, outcome{Kind: eval.KindQuota, Status: 402, Permanent: true}, ""},
		"key refused": {
			401, nil, `{"error":{"message":"Incorrect API key provided: ` + canary + `","code":"invalid_api_key"}}`,
			outcome{Kind: eval.KindAuth, Status: 401, Code: "invalid_api_key"},
			"provided: [key]",
		},
		"no such model": {
			404, nil, `{"error":{"message":"The model x does not exist","code":"model_not_found"}}`,
			outcome{Kind: eval.KindStatus, Status: 404, Code: "model_not_found"},
			"does not exist",
		},
		"too long": {
			400, nil, `{"error":{"message":"This model's maximum context length is 8192 tokens","code":"context_length_exceeded"}}`,
			outcome{Kind: eval.KindOverLimit, Status: 400, Code: "context_length_exceeded"},
			"8192",
		},
		"too long, in words": {
			400, nil, `{"object":"error","message":"This model's maximum context length is 4096 tokens.","type":"BadRequestError","code":400}`,
			outcome{Kind: eval.KindOverLimit, Status: 400, Code: "BadRequestError"},
			"4096",
		},
		"a rate in words of length": {
			429, nil, `{"message":"Too many tokens, please wait before trying again."}`, outcome{Kind: eval.KindQuota, Status: 429}, "tokens",
		},
		"a request too large for a rate": {
			429, nil, `{"error":{"message":"Request too large on tokens per min (TPM): Limit 6000, Requested 9000, reduce it and try again"}}`,
			outcome{Kind: eval.KindOverLimit, Status: 429},
			"TPM",
		},
		"a wait in words": {
			429, nil, `{"error":{"message":"Rate limit reached on requests per day (RPD). Please try again in 1m8.5s. Visit us."}}`,
			outcome{Kind: eval.KindQuota, Status: 429, Wait: 68500 * time.Millisecond},
			"RPD",
		},
		"a long wait in words": {
			429, nil, `{"error":{"message":"Exceeded the token rate limit. Please retry after 86400 seconds."}}`,
			outcome{Kind: eval.KindQuota, Status: 429, Permanent: true, Wait: 24 * time.Hour},
			"rate",
		},
		"a quota of a day": {
			429, nil, `{"error":{"message":"Rate limit exceeded: free-models-per-day. Add 10 credits","code":429}}`,
			outcome{Kind: eval.KindQuota, Status: 429, Permanent: true},
			"per-day",
		},
		"a capital letter": {
			403, nil, `{"Message":"You don't have access to the model."}`, outcome{Kind: eval.KindAuth, Status: 403}, "access to the model",
		},
		"busy": {503, nil, `{"error":"overloaded"}`, outcome{Kind: eval.KindStatus, Status: 503}, "overloaded"},
	}
}

func brokenAnswers() map[string]failure {
	return map[string]failure{
		"behind 2": {
			400, nil, `{"error":{"message":"Provider returned error","code":400,"metadata":{"raw":"too hot"}}}`,
			outcome{Kind: eval.KindStatus, Status: 400},
			"error: too hot",
		},
		"an error": {200, nil, `{"error":{"message":"boom","code":503}}`, outcome{Kind: eval.KindStatus, Status: 503}, "boom"},
		"bare error": {
			200, nil, `{"message":"boom","code":"server_error"}`, outcome{Kind: eval.KindStatus, Status: 500, Code: "server_error"}, "boom",
		},
		"errors in a list": {
			400, nil, `{"success":false,"errors":[{"code":6003,"message":"Invalid request headers","error_chain":` +
				`[{"code":6111,"message":"Invalid format for Authorization header"}]}],"result":null}`,
			outcome{Kind: eval.KindAuth, Status: 400},
			"Invalid format",
		},
		"a refused key under a code": {
			400, nil, `{"error":{"message":"Key expected","type":"auth_error","code":"400"}}`,
			outcome{Kind: eval.KindAuth, Status: 400, Code: "auth_error"},
			"expected",
		},
		"a refused key under success": {
			200, nil, `{"id":"","choices":null,"usage":{"total_tokens":0},"base_resp":{"status_code":1004,"status_msg":"login fail: send a key"}}`,
			outcome{Kind: eval.KindAuth},
			"login fail",
		},
		"a code of their own": {
			200, nil, `{"code":1113,"msg":"boom","success":false}`, outcome{Kind: eval.KindStatus, Code: "1113"}, "boom",
		},
		"another": {200, nil, `{"candidates":[]}`, outcome{Kind: eval.KindMalformed}, "has no `choices`"},
		"broken off": {
			200, nil, `{"choices":[{"message":{"content":"a"},"finish_reason":"error"}]}`, outcome{Kind: eval.KindTruncated}, `"error"`,
		},
		"in a choice": {
			200, nil, `{"choices":[{"error":{"code":502,"message":"gone"},"message":{"content":"a"}}]}`,
			outcome{Kind: eval.KindStatus, Status: 502},
			"gone",
		},
	}
}

// MiniMax sends errors with status 200 and a code of its own.
func TestCodesOfMiniMaxTellTheKind(t *testing.T) {
	t.Parallel()
	for code, want := range map[int]outcome{
		1000: {Kind: eval.KindStatus, Status: 500},
		1001: {Kind: eval.KindStatus, Status: 504},
		1002: {Kind: eval.KindQuota},
		1004: {Kind: eval.KindAuth},
		1008: {Kind: eval.KindQuota, Permanent: true},
		1039: {Kind: eval.KindQuota},
		2013: {Kind: eval.KindStatus, Status: 400},
		2049: {Kind: eval.KindAuth},
		2056: {Kind: eval.KindQuota, Permanent: true},
	} {
		body := fmt.Sprintf(`{"id":"","choices":null,"base_resp":{"status_code":%d,"status_msg":"oh"}}`, code)
		_, err := ask(t, &replies.Canned{Status: 200, Body: []byte(body)}, false)
		e := cmp.Or(eval.AsError(err), &eval.Error{})
		expect.Same(t, strconv.Itoa(code), outcome{Kind: e.Kind, Status: e.Status, Permanent: e.Retry == eval.RetryNever}, want)
	}
}

// Waiting helps neither a prompt that is too long nor a wrong key, in the words of many servers.
func TestWordsOfServersTellTheKind(t *testing.T) {
	t.Parallel()
	for kind, messages := range map[eval.ErrorKind][]string{
		eval.KindOverLimit: {
			"The input token count (1200000) exceeds the maximum number of tokens allowed (1048576).",
			"The input token count exceeds the maximum number of tokens allowed 1048576.",
			"The input exceeds the model's maximum context limit of 8192 tokens.",
			"Your prompt is longer than the model's context length of 2048.",
			"Input tokens exceed the configured limit of 272000 tokens.",
			"The request payload size has exceed context limit.",
			"request (67311 tokens) exceeds the available context size (65536 tokens), try increasing it",
			"`inputs` tokens + `max_new_tokens` must be <= 4096. Given: 5000 `inputs` tokens",
		},
		eval.KindAuth: {
			"Incorrect API key provided. You can obtain an API key from the console.", "API key not valid. Please pass a valid API key.",
			"Invalid API key", "invalid x-api-key", "API key expired. Please renew the API key.", "The API key is invalid.",
			"You didn't provide an API key.", "This organization has been disabled.", "User location is not supported for the API use.",
			"The API key you provided is invalid.", "Missing or invalid Authorization header.", "Authentication Error, No key passed in.",
			"bad request: Authorization header is badly formatted", "The security token included in the request is invalid.",
			"Multiple authentication credentials received. Please pass only one.", "Unauthorized",
			"Authorization header is correct, but the token seems invalid",
		},
		eval.KindQuota: {
			"Your prepayment credits are depleted.", "Your project has exceeded its monthly spending cap.",
			"Your team has either used all available credits or reached its monthly spending limit.",
			"You have reached your specified API usage limits. You will regain access on the first.",
			"Budget has been exceeded! Current cost: 0.12, Max budget: 0.1", "Your team doesn't have any credits yet.",
		},
		eval.KindStatus: {
			"Invalid 'user': string too long. Expected a string with maximum length 64.", "max_tokens must be at least 16",
			"2 validation errors: {'input': 'What is my spending limit? " + strings.Repeat("I travel a lot. ", 40) + "'}",
			"2 validation errors: {'input': 'Say, Authorization: authorization header is required. Unauthorized!'}", "Unexpected token is invalid",
			"The context is large.", "Unknown parameter: 'api_key_id'.", "max_tokens exceeds the number of tokens of an answer",
		},
	} {
		for _, message := range messages {
			body := wire.Object("code", wire.Quoted("Client specified an invalid argument"), "error", wire.Quoted(message))
			_, err := ask(t, &replies.Canned{Status: 400, Body: body}, false)
			if e := eval.AsError(err); e == nil || e.Kind != kind {
				t.Errorf("%s: got %v, want the kind %s", message, err, kind)
			}
		}
	}
}

// Errors have the kind that decides about retries, whatever form the server gives them.
func TestErrorsHaveTheirKind(t *testing.T) {
	t.Parallel()
	all := refusals()
	maps.Copy(all, brokenAnswers())
	for name, test := range all {
		for _, stream := range []bool{false, true} {
			_, err := ask(t, &replies.Canned{Status: test.status, Header: test.header, Body: []byte(test.body)}, stream)
			e := eval.AsError(err)
			if e == nil {
				t.Fatalf("%s: got an answer, want an error", name)
			}
			if stream && test.status == 200 { // in words of its own
				continue
			}
			expect.Same(t, name, outcome{e.Kind, e.Status, e.Code, e.Retry == eval.RetryNever, e.RetryAfter}, test.want)
			if !strings.Contains(e.Message, test.text) || strings.Contains(e.Message, canary) {
				t.Errorf("%s: got %q, want %q in it, and no key", name, e.Message, test.text)
			}
		}
	}
}

// A message about a field or a protocol that does not fit comes with what to do.
func TestErrorsComeWithAFix(t *testing.T) {
	t.Parallel()
	for message, want := range map[string]struct{ field, fix string }{
		"Unrecognized request argument supplied: max_completion_tokens": {
			"", "set `maxTokensField: max_tokens` at the service",
		},
		"[{'type': 'extra_forbidden', 'loc': ('body', 'max_completion_tokens')}]": {
			"", "set `maxTokensField: max_tokens` at the service",
		},
		"Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead.": {
			"max_tokens", "remove `maxTokensField: max_tokens` from the service",
		},
		"Unsupported parameter: 'max_tokens' of a router. Use 'max_completion_tokens'.": {"", "Use 'max_completion_tokens'."},
		"This model is only supported in v1/responses and not in v1/chat/completions.": {
			"", "set `protocol: responses` at the service",
		},
	} {
		body, err := json.Marshal(map[string]any{"error": map[string]any{"message": message}})
		expect.OK(t, err)
		c := New(wire.Server{
			BaseURL: "http://service.invalid", MaxTokensField: want.field, Transport: &replies.Canned{Status: 400, Body: body},
		})
		_, err = c.Generate(t.Context(), &eval.Call{Request: eval.Request{Model: "m"}})
		if err == nil || !strings.HasSuffix(err.Error(), want.fix) {
			t.Errorf("%q: got %v, want %q at its end", message, err, want.fix)
		}
	}
}

func TestABlockedPromptIsAnAnswer(t *testing.T) {
	t.Parallel()
	for body, status := range map[string]int{
		`{"error":{"message":"filtered","code":"content_filter","status":400,"innererror":{"code":"ResponsibleAIPolicyViolation"}}}`: 400,
		`{"error":{"message":"m requires moderation","code":403,"metadata":{"reasons":["violence"],"flagged_input":"..."}}}`:         403,
	} {
		got, err := ask(t, &replies.Canned{Status: status, Body: []byte(body)}, false)
		expect.OK(t, err)
		expect.Same(t, "blocked", got.Blocked(), "SAFETY")
	}
}

type candidate struct {
	Text, Reason, Vendor string
	Parts                []eval.Piece
}

func calls(all ...eval.FunctionCall) []eval.Piece {
	var out []eval.Piece
	for _, c := range all {
		out = append(out, eval.CallPiece{Call: &c})
	}
	return out
}

func call(id, name, args string) eval.FunctionCall {
	if args == "" {
		return eval.FunctionCall{ID: id, Name: name}
	}
	return eval.FunctionCall{ID: id, Name: name, Args: json.RawMessage(args)}
}

func TestUsageCountsThoughtsThatTheVendorLeavesOut(t *testing.T) {
	t.Parallel()
	for usage, want := range map[string]*eval.Usage{
		`{"prompt_tokens":5,"completion_tokens":3,"total_tokens":8,"completion_tokens_details":{"reasoning_tokens":2}}`: {
			PromptTokens: 5, OutputTokens: 3, TotalTokens: 8, ReasoningTokens: 2, Source: "service",
		},
		`{"prompt_tokens":5,"completion_tokens":3,"total_tokens":10,"completion_tokens_details":{"reasoning_tokens":2}}`: {
			PromptTokens: 5, OutputTokens: 5, TotalTokens: 10, ReasoningTokens: 2, Source: "service",
		},
		`{"prompt_tokens":"5","completion_tokens":3.0,"prompt_cache_hit_tokens":4}`: {
			PromptTokens: 5, OutputTokens: 3, TotalTokens: 8, CachedTokens: 4, Source: "service",
		},
		`{"prompt_tokens":5}`: {PromptTokens: 5, TotalTokens: 5},
		`{}`:                  nil, `{"prompt_tokens":-1,"completion_tokens":2}`: nil, `"none"`: nil,
	} {
		got, err := ask(t, &replies.Canned{Body: []byte(`{"choices":[],"usage":` + usage + `}`)}, false)
		expect.OK(t, err)
		expect.Same(t, usage, got.Usage, want)
	}
}

// tokens hand out an access token, and another one when it is refused.
type tokens struct{ token string }

func (k *tokens) Token(context.Context) (string, error) { return k.token, nil }

func (k *tokens) Renew(_ context.Context, refused string) (bool, error) {
	renewed := refused == k.token
	k.token = "renewed-0123456789"
	return renewed, nil
}

// The request goes to the address of the protocol with the key, the headers, and the trial for the emulator.
func TestRequestsAreSent(t *testing.T) {
	t.Parallel()
	var seen *http.Request
	canned := &replies.Canned{
		Body: []byte(`{"choices":[{"message":{"content":"` + canary + `"}}]}`),
		Seen: func(r *http.Request, _ []byte) { seen = r },
	}
	one := &eval.Call{Request: eval.Request{Model: "org/m"}, TrialID: "t1"}
	c := New(wire.Server{
		BaseURL: "https://service.invalid/v1/", Key: canary, Headers: http.Header{"x-team": {"red"}}, UserAgent: "evalrun/1", ToEmulator: true,
		Transport: canned,
	})
	got, err := c.Generate(t.Context(), one)
	expect.OK(t, err)
	expect.Same(t, "the text", got.Text(), "[key]")
	expect.Same(t, "the request", []string{
		seen.Method, seen.URL.String(), seen.Header.Get("Authorization"), seen.Header.Get("X-Team"), seen.UserAgent(),
		seen.Header.Get("X-Evalrun-Trial"),
	}, []string{"POST", "https://service.invalid/v1/chat/completions", "Bearer " + canary, "red", "evalrun/1", "t1"})
	c = New(wire.Server{BaseURL: "http://service.invalid", Path: "deployments/{model}/chat?version=1", Transport: canned})
	_, err = c.Generate(t.Context(), one)
	expect.OK(t, err)
	expect.Same(
		t,
		"a gateway",
		[]string{seen.URL.String(), seen.Header.Get("Authorization")},
		[]string{"http://service.invalid/deployments/org%2Fm/chat?version=1", ""},
	)
	access := &tokens{"access-0123456789"}
	c = New(
		wire.Server{
			BaseURL:     "http://service.invalid",
			TokenSource: access,
			Transport:   &replies.Canned{Status: 401, Body: []byte("access-0123456789"), Seen: canned.Seen},
		},
	)
	_, err = c.Generate(t.Context(), one)
	if e := eval.AsError(err); e == nil || e.Retry != eval.RetryWithLogin || strings.Contains(e.Error(), "access-") {
		t.Errorf("got %+v, want a renewed token, and none in the error", e)
	}
	expect.Same(t, "a token", seen.Header.Get("Authorization"), "Bearer access-0123456789")
}

// A key that comes back in pieces is put together nowhere.
func TestAKeySpreadOverPiecesDoesNotShow(t *testing.T) {
	t.Parallel()
	var body strings.Builder
	for i := range len(canary) {
		piece := canary[i : i+1]
		body.WriteString(`data: {"choices":[{"index":0,"delta":{"content":"` + piece + `","reasoning_content":"` + piece +
			`","tool_calls":[{"index":0,"id":"1","function":{"name":"f","arguments":"` +
			map[bool]string{true: `{\"k\":\"`}[i == 0] + piece + `"}}]}}]}` + "\n\n")
	}
	body.WriteString(
		`data: {"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"function":{"arguments":"\"}"}}]},"finish_reason":"stop"}]}` + "\n\n",
	)
	got, err := ask(t, &replies.Canned{Body: []byte(body.String())}, true)
	expect.OK(t, err)
	text, err := json.Marshal(got)
	expect.OK(t, err)
	if strings.Contains(string(text), canary) || !strings.Contains(string(text), "[key]") {
		t.Errorf("got %s, want [key] in it, and no key", text)
	}
}

func TestWhatCannotBeExpressedIsNotSent(t *testing.T) {
	t.Parallel()
	sent := 0
	c := New(wire.Server{BaseURL: "http://service.invalid", Transport: &replies.Canned{Seen: func(*http.Request, []byte) { sent++ }}})
	_, err := c.Generate(t.Context(), &eval.Call{Request: eval.Request{GenerationConfig: &eval.GenerationConfig{TopK: new(5)}}})
	if e := eval.AsError(err); e == nil || e.Retry != eval.RetryNever || !strings.Contains(e.Message, "topK") || sent > 0 {
		t.Errorf("got %v after %d requests, want an error that names topK", err, sent)
	}
}

func TestModelsAreListedWithTheirLimits(t *testing.T) {
	t.Parallel()
	for body, want := range map[string][]eval.Model{
		`{"object":"list","data":[{"id":"a","max_model_len":4096},` +
			`{"id":"b","context_length":8192,"top_provider":{"max_completion_tokens":100}}]}`: {
			{Name: "a", InputTokenLimit: 4096}, {Name: "b", InputTokenLimit: 8192, OutputTokenLimit: 100},
		},
		`[{"id":"c","context_length":null},{"object":"x"}]`: {{Name: "c"}}, `{"data":[]}`: nil,
	} {
		c := New(wire.Server{BaseURL: "http://service.invalid", Transport: &replies.Canned{Body: []byte(body)}})
		got, err := c.Models(t.Context(), "")
		expect.OK(t, err)
		expect.Same(t, body, got, want)
	}
	for body, kind := range map[string]eval.ErrorKind{
		`{}`: eval.KindMalformed, `{"error":{"message":"x","code":500}}`: eval.KindStatus, `5`: eval.KindMalformed,
	} {
		c := New(wire.Server{BaseURL: "http://service.invalid", Transport: &replies.Canned{Body: []byte(body)}})
		if _, err := c.Models(t.Context(), ""); err == nil || eval.AsError(err).Kind != kind {
			t.Errorf("%s: got %v, want an error of kind %s", body, err, kind)
		}
	}
	c := New(
		wire.Server{
			BaseURL:   "http://service.invalid",
			Transport: &replies.Canned{Status: 404, Body: []byte(`{"error":{"message":"no such model"}}`)},
		},
	)
	if _, err := c.Model(t.Context(), "", "x"); err == nil || !eval.AsError(err).NotFound() {
		t.Errorf("got %v, want an error of status 404", err)
	}
}

func TestEmbedReturnsVectorsInTheOrderOfTheTexts(t *testing.T) {
	t.Parallel()
	for body, want := range map[string][][]float64{
		`{"data":[{"index":1,"embedding":[3,4]},{"index":0,"embedding":[1,2]}]}`: {{1, 2}, {3, 4}},
		`{"data":[{"embedding":[1,2]},{"embedding":[3,4]}]}`:                     {{1, 2}, {3, 4}},
		`{"data":[{"index":0,"embedding":[1,2]}]}`:                               nil,
		`{"data":[{"index":0,"embedding":[1,2]},{"index":1,"embedding":[3]}]}`:   nil,
		`{"data":[{"index":1,"embedding":[1]},{"index":1,"embedding":[3]}]}`:     nil,
		`{"data":[{"index":0,"embedding":[1]},{"index":9,"embedding":[3]}]}`:     nil,
	} {
		var sent string
		c := New(
			wire.Server{
				BaseURL: "http://service.invalid/v1",
				Transport: &replies.Canned{Body: []byte(body), Seen: func(r *http.Request, b []byte) {
					sent = r.URL.Path + string(b)
				}},
			},
		)
		got, err := c.Embed(t.Context(), &eval.EmbedCall{Model: "e", Texts: []string{"a", "b"}})
		if (err != nil) != (want == nil) {
			t.Errorf("%s: got the error %v, want one exactly where there is no answer: %v", body, err, want)
		}
		expect.Same(t, body, got, want)
		expect.Same(t, "the request", sent, `/v1/embeddings{"model":"e","input":["a","b"],"encoding_format":"float"}`)
	}
}
