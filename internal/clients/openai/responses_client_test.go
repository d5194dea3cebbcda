package openai

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/clients/wire"
	"github.com/evalrun/evalrun/internal/testing/expect"
	"github.com/evalrun/evalrun/internal/testing/replies"
)

const message = `{"type":"message","content":[{"type":"output_text","text":"a"}]}`

// A response ends as its status says, and as the details of one that is incomplete say.
func TestEndingsFollowTheStatus(t *testing.T) {
	t.Parallel()
	call := `{"type":"function_call","call_id":"1","name":"f","arguments":"{}"}`
	refusal := `{"type":"message","content":[{"type":"refusal","refusal":"no"}]}`
	for name, test := range map[string]struct{ output, end, reason, vendor string }{
		"done":          {message, `"status":"completed"`, "STOP", "completed"},
		"calls":         {call, `"status":"completed"`, "TOOL_CALLS", "completed"},
		"refusal":       {refusal, `"status":"completed"`, "SAFETY", "completed"},
		"cut":           {message, `"status":"incomplete","incomplete_details":{"reason":"max_output_tokens"}`, "MAX_TOKENS", "incomplete"},
		"filtered":      {message, `"status":"incomplete","incomplete_details":{"reason":"content_filter"}`, "SAFETY", "incomplete"},
		"for no reason": {message, `"status":"incomplete"`, "OTHER", "incomplete"},
		"no status":     {message, `"x":1`, "", ""},
		"a text":        {`{"type":"message","content":"a"}`, `"status":"completed"`, "STOP", "completed"},
		"custom":        {custom, `"status":"completed"`, "TOOL_CALLS", "completed"},
		"vendor's tool": {call + `,{"type":"web_search_call","id":"w","status":"completed"}`, `"status":"completed"`, "TOOL_CALLS", "completed"},
	} {
		got, err := fetch(t, &replies.Canned{Body: []byte(`{"output":[` + test.output + `],` + test.end + `}`)}, false)
		expect.OK(t, err)
		c := got.Candidates[0]
		expect.Same(t, name, []string{c.FinishReason, c.VendorReason}, []string{test.reason, test.vendor})
	}
	for status, kind := range map[string]eval.ErrorKind{
		"queued": eval.KindTruncated, "in_progress": eval.KindTruncated, "cancelled": eval.KindTruncated, "failed": eval.KindStatus,
	} {
		for _, output := range []string{"", message} {
			_, err := fetch(t, &replies.Canned{Body: []byte(`{"output":[` + output + `],"status":"` + status + `"}`)}, false)
			if err == nil || eval.AsError(err).Kind != kind || kind == eval.KindTruncated && !strings.Contains(err.Error(), status) {
				t.Errorf("%s: got %v, want an error of kind %s that names the status", status, err, kind)
			}
		}
	}
	for _, status := range []string{"queued", "in_progress"} { // the output may be missing until it is there
		_, err := fetch(t, &replies.Canned{Body: []byte(`{"id":"r","status":"` + status + `"}`)}, false)
		if e := eval.AsError(err); e == nil || e.Kind != eval.KindTruncated || e.Retry != eval.RetryNever {
			t.Errorf("%s: got %v, want an incomplete answer that is not asked again", status, err)
		}
	}
}

// Where the last event has no items, those of the events before count, and pieces where an item did not end.
func TestStreamsWithoutAWholeResponseUseTheirItems(t *testing.T) {
	t.Parallel()
	event := func(text string) string { return "data: " + text + "\n\n" }
	last := event(`{"type":"response.completed","response":{"status":"completed","output":[]}}`)
	text := event(`{"type":"response.output_text.delta","output_index":0,"delta":"a"}`)
	for name, body := range map[string]string{
		"items":  text + event(`{"type":"response.output_item.done","output_index":0,"item":`+message+`}`) + last,
		"pieces": event(`{"type":"response.output_item.added","output_index":0,"item":{"type":"message","content":[]}}`) + text + last,
		"deltas": text + last,
		"whole":  `{"status":"completed","output":[` + message + `]}`,
	} {
		got, err := fetch(t, &replies.Canned{Body: []byte(body)}, true)
		expect.OK(t, err)
		expect.Same(t, name, []string{got.Text(), got.Candidates[0].FinishReason}, []string{"a", "STOP"})
	}
	whole := event(`{"type":"response.completed","response":{"id":"y","status":"completed","output":[` + message + `]}}`)
	refusal := event(`{"type":"response.refusal.delta","output_index":0,"delta":"no"}`)
	for name, test := range map[string]struct{ body, reason string }{
		"another id of the same text":     {event(`{"type":"response.created","response":{"id":"x"}}`) + text + whole, "STOP"},
		"a refusal the last event leaves": {text + refusal + whole, "SAFETY"},
	} {
		got, err := fetch(t, &replies.Canned{Body: []byte(test.body)}, true)
		expect.OK(t, err)
		expect.Same(t, name, got.Candidates[0].FinishReason, test.reason)
	}
	call := event(
		`{"type":"response.output_item.added","output_index":0,"item":{"type":"function_call","call_id":"1","name":"f","arguments":""}}`,
	)
	for _, piece := range []string{`{\"n\":`, `1.0}`} {
		call += event(`{"type":"response.function_call_arguments.delta","output_index":0,"delta":"` + piece + `"}`)
	}
	call += event(`{"type":"response.output_item.added","output_index":1,"item":`+
		`{"type":"custom_tool_call","call_id":"2","name":"g","input":""}}`) +
		event(`{"type":"response.custom_tool_call_input.delta","output_index":1,"delta":"4 + 4"}`)
	got, err := fetch(t, &replies.Canned{Body: []byte(call + last)}, true)
	expect.OK(t, err)
	want := []eval.FunctionCall{
		{ID: "1", Name: "f", Args: json.RawMessage(`{"n":1.0}`)}, {ID: "2", Name: "g", Args: json.RawMessage(`"4 + 4"`)},
	}
	expect.Same(t, "a call in pieces", got.Candidates[0].FunctionCalls(), want)
	if _, err := fetch(t, &replies.Canned{Body: []byte(text + event("[DONE]"))}, true); err == nil ||
		eval.AsError(err).Kind != eval.KindTruncated {
		t.Errorf("got %v of a stream without its last event, want a cut one", err)
	}
}

func TestErrorsInStreamsHaveTheirKind(t *testing.T) {
	t.Parallel()
	for data, want := range map[string]eval.Error{
		`{"type":"error","code":"server_error","message":"boom"}`: {Kind: eval.KindStatus, Status: 500, Code: "server_error", Message: "boom"},
		`{"type":"error","error":{"type":"tokens","code":"rate_limit_exceeded","message":"slow"}}`: {
			Kind: eval.KindQuota, Status: 429, Code: "rate_limit_exceeded", Message: "slow",
		},
		`{"type":"response.failed","response":{"status":"failed","error":{"code":"server_error","message":"boom"}}}`: {
			Kind: eval.KindStatus, Status: 500, Code: "server_error", Message: "boom",
		},
	} {
		_, err := fetch(t, &replies.Canned{Body: []byte("data: " + data + "\n\n")}, true)
		e := eval.AsError(err)
		if e == nil {
			t.Fatalf("%s: got an answer, want an error", data)
		}
		expect.Same(t, data, *e, want)
	}
}

const custom = `{"type":"custom_tool_call","call_id":"2","name":"g","input":"4 + 4"}`

func TestItemsGoBackAsTheyCame(t *testing.T) {
	t.Parallel()
	items := `{"id":"r1","type":"reasoning","summary":[],"encrypted_content":"x"},` +
		`{"type":"function_call","call_id":"1","name":"f","arguments":"{}"},` + custom
	got, err := fetch(t, &replies.Canned{Body: []byte(`{"output":[` + items + `],"status":"completed"}`)}, false)
	expect.OK(t, err)
	expect.Same(t, "the input of a custom tool", string(got.Candidates[0].FunctionCalls()[1].Args), `"4 + 4"`)
	turn := eval.AnsweredCall{Response: *got, Results: []eval.CallResult{{ID: "1", Name: "f", Text: "ok"}, {ID: "2", Name: "g", Text: "8"}}}
	var sent string
	var seen *http.Request
	canned := &replies.Canned{Body: []byte(`{"output":[]}`), Seen: func(r *http.Request, b []byte) { seen, sent = r, string(b) }}
	c := NewResponses(wire.Server{BaseURL: "http://service.invalid/v1", Key: canary, Transport: canned})
	_, err = c.Generate(t.Context(), &eval.Call{Request: (&eval.Request{Model: "m"}).After([]eval.AnsweredCall{turn})})
	expect.OK(t, err)
	results := `{"type":"function_call_output","call_id":"1","output":"ok"},{"type":"custom_tool_call_output","call_id":"2","output":"8"}`
	expect.Same(t, "the request", sent, `{"model":"m","input":[`+items+`,`+results+`]}`)
	expect.Same(t, "where it goes", seen.URL.Path+seen.Header.Get("Authorization"), "/v1/responsesBearer "+canary)
}

func TestAModelOfTheOtherProtocolIsAnError(t *testing.T) {
	t.Parallel()
	body := `{"error":{"message":"This model is only supported in v1/chat/completions and not in v1/responses."}}`
	_, err := fetch(t, &replies.Canned{Status: 404, Body: []byte(body)}, false)
	if err == nil || !strings.Contains(err.Error(), "set `protocol: openai` at the service") {
		t.Errorf("got %v, want the fix", err)
	}
}

// A server without the protocol is an error that names what to look at; an unknown model is not.
func TestAServerWithoutTheProtocolIsAnError(t *testing.T) {
	t.Parallel()
	const hint = "check `protocol` and `baseUrl` of the service: it has nothing at "
	for body, want := range map[string]bool{
		`{"error":{"message":"Invalid URL (POST /v1/responses)"}}`: true, `{"detail":"Not Found"}`: true, "404 page not found": true,
		`{"error":{"message":"The model x does not exist","code":"model_not_found"}}`: false,
		`{"error":{"message":"No endpoints found for x.","code":404}}`:                false,
		`{"error":{"message":"It does not exist.","code":"DeploymentNotFound"}}`:      false,
	} {
		_, err := fetch(t, &replies.Canned{Status: 404, Body: []byte(body)}, false)
		if err == nil || strings.Contains(err.Error(), hint) != want {
			t.Errorf("%s: got %v, the hint is wanted: %v", body, err, want)
		}
	}
}
