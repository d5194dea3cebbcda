package eval_test

import (
	"encoding/hex"
	"encoding/json"
	"strings"
	"testing"

	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/testing/expect"
	"github.com/evalrun/evalrun/internal/testing/hostile"
)

func TestPromptIsTheTextOfTheLastMessage(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		in   eval.Input
		want string
	}{
		"no message":      {eval.Input{System: "be brief"}, ""},
		"one message":     {eval.Input{Messages: []eval.Message{{Role: "user", Text: "hi"}}}, "hi"},
		"several":         {eval.Input{Messages: []eval.Message{{Role: "user", Text: "a"}, {Role: "user", Text: "ج"}}}, "ج"},
		"an empty answer": {eval.Input{Messages: []eval.Message{{Role: "user", Text: "a"}, {Role: "user"}}}, ""},
	} {
		expect.Same(t, "prompt of "+name, test.in.Prompt(), test.want)
	}
}

func TestTraceIDIsSixteenBytesOfHexAndTheSameForASession(t *testing.T) {
	t.Parallel()
	known := map[string]string{}
	for _, session := range hostile.Strings() {
		id := eval.TraceID(session)
		raw, err := hex.DecodeString(id)
		if err != nil || len(raw) != 16 || id != strings.ToLower(id) {
			t.Errorf("session %q: got the trace id %q, want 32 lower-case hex digits", session, id)
		}
		expect.Same(t, "trace id the second time", eval.TraceID(session), id)
		if other, twice := known[id]; twice && other != session {
			t.Errorf("sessions %q and %q: got the same trace id %s, want two", session, other, id)
		}
		known[id] = session
	}
}

func secretRequest() *eval.Rendered {
	return &eval.Rendered{Payload: &eval.HTTP{
		Method: "POST", URL: "https://app.example/chat?key=hush", Shown: "https://app.example/chat?key=${env:KEY}", Body: `{"q":"שלום"}`,
		Stream: true, Headers: []eval.Header{
			{Name: "Authorization", Value: "Bearer hush", Secret: true},
			{Name: "X-Team", Value: "shop"},
			{Name: "X-Question", Value: "2+2", Data: true},
		},
	}}
}

func asJSON(t *testing.T, v any) string {
	t.Helper()
	text, err := json.Marshal(v)
	expect.OK(t, err)
	return string(text)
}

func TestRecordedRequestHoldsNoSecretAndLeavesTheOriginalAlone(t *testing.T) {
	t.Parallel()
	r := secretRequest()
	before := asJSON(t, r)
	out := r.WithoutSecrets()
	if text := asJSON(t, out); strings.Contains(text, "hush") {
		t.Errorf("got the secret in %s, want it left out", text)
	}
	expect.Same(t, "the request that is sent", asJSON(t, r), before)
	expect.Same(t, "address", out.Payload.(*eval.HTTP).URL, "https://app.example/chat?key=${env:KEY}")
	expect.Same(t, "headers", out.Payload.(*eval.HTTP).Headers, []eval.Header{
		{Name: "Authorization", Secret: true}, {Name: "X-Team", Value: "shop"}, {Name: "X-Question", Value: "2+2", Data: true},
	})
	expect.Same(t, "length of the digest", len(out.Payload.(*eval.HTTP).Digest), 64)
	expect.Same(t, "recorded twice", out.WithoutSecrets(), out)
}

func TestRecordedRequestsOfTwoAddressesHaveTwoIdentities(t *testing.T) {
	t.Parallel()
	one, other := secretRequest(), secretRequest()
	other.Payload.(*eval.HTTP).URL = "https://app.example/chat?key=other"
	expect.Same(t, "what is written", asJSON(t, one.WithoutSecrets()), asJSON(t, other.WithoutSecrets()))
	if got := asJSON(t, one.WithoutSecrets().Identity()); got == asJSON(t, other.WithoutSecrets().Identity()) {
		t.Errorf("got the identity %s for both addresses, want two identities", got)
	}
}

func TestIdentityKeepsNamesOfHeadersAndValuesWithDataOfTheCase(t *testing.T) {
	t.Parallel()
	base := asJSON(t, secretRequest().Identity())
	for name, test := range map[string]struct {
		change func(*eval.HTTP)
		same   bool
	}{
		"another secret":           {func(h *eval.HTTP) { h.Headers[0].Value = "Bearer other" }, true},
		"another plain value":      {func(h *eval.HTTP) { h.Headers[1].Value = "bank" }, true},
		"a name in capitals":       {func(h *eval.HTTP) { h.Headers[1].Name = "X-TEAM" }, true},
		"another value with data":  {func(h *eval.HTTP) { h.Headers[2].Value = "3+3" }, false},
		"another header":           {func(h *eval.HTTP) { h.Headers[1].Name = "X-Other" }, false},
		"one header more":          {func(h *eval.HTTP) { h.Headers = append(h.Headers, eval.Header{Name: "X-More"}) }, false},
		"another body":             {func(h *eval.HTTP) { h.Body = "" }, false},
		"another method":           {func(h *eval.HTTP) { h.Method = "PUT" }, false},
		"another address":          {func(h *eval.HTTP) { h.URL += "&x=1" }, false},
		"an own digest":            {func(h *eval.HTTP) { h.Digest = "ab" }, false},
		"an answer without stream": {func(h *eval.HTTP) { h.Stream = false }, false},
	} {
		r := secretRequest()
		test.change(r.Payload.(*eval.HTTP))
		if got := asJSON(t, r.Identity()); (got == base) != test.same {
			t.Errorf("%s: got the identity %s, want it to be the same as %s: %v", name, got, base, test.same)
		}
	}
}

func TestWithheldRequestSaysHowItWasSentAndNoMore(t *testing.T) {
	t.Parallel()
	program := &eval.ProgramRun{
		Command: []string{"python3", "agent.py"}, Files: map[string]string{"agent.py": "ab12"}, Workspace: "cd34",
		Input: json.RawMessage(`{"prompt":"secret"}`),
	}
	for want, r := range map[string]*eval.Rendered{
		`{"http":{"method":"POST","url":"","stream":true}}`:                                                          secretRequest(),
		`{"program":{"command":["python3","agent.py"],"files":{"agent.py":"ab12"},"input":null,"workspace":"cd34"}}`: {Payload: program},
		`{"echo":true}`: {Payload: eval.EchoRun{}},
		`{"grpc":null}`: {Payload: &eval.Unknown{JSON: json.RawMessage(`{"grpc":{"prompt":"secret"}}`)}},
	} {
		expect.Same(t, "withheld request", asJSON(t, r.Withheld()), want)
	}
}

// Programs and echoes have no secrets, and go into run files as they are.
func TestRequestsWithoutAnAddressAreRecordedAsTheyAre(t *testing.T) {
	t.Parallel()
	for _, r := range []*eval.Rendered{
		{Payload: eval.EchoRun{}},
		{Payload: &eval.ProgramRun{Command: []string{"a b", ""}, Input: json.RawMessage("{}")}},
	} {
		if got := r.WithoutSecrets(); got.Payload != r.Payload {
			t.Errorf("recorded: got %+v, want the request itself", got)
		}
		if got := r.Identity(); got.Payload != r.Payload {
			t.Errorf("identity: got %+v, want the request itself", got)
		}
	}
}

func TestOnlyRequestsOfOneKindAreRead(t *testing.T) {
	t.Parallel()
	const notOne = "a request to an application has one of http, program and echo"
	for text, want := range map[string]string{
		`{"echo":true}`:                                   "",
		`{"http":{"method":"GET","url":"/"}}`:             "",
		`{"program":{"command":["a"],"input":{}}}`:        "",
		`{"grpc":{"method":"x","n":1.10}}`:                "", // of a later version
		`{}`:                                              notOne,
		`{"echo":false}`:                                  notOne,
		`{"http":{"method":"GET","url":"/"},"echo":true}`: notOne,
		`{"http":{"method":"GET","url":"/"},"program":{"input":{}}}`: notOne,
	} {
		var r eval.Rendered
		err := json.Unmarshal([]byte(text), &r)
		if want == "" {
			expect.OK(t, err)
			expect.Same(t, "written again", asJSON(t, r), text)
			continue
		}
		if err == nil || err.Error() != want {
			t.Errorf("%s: got the error %v, want %s", text, err, want)
		}
	}
}
