package generative

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/testing/expect"
	"github.com/evalrun/evalrun/internal/wirejson"
)

var mixed = []string{
	`{"text":"I think. ","thought":true}`, `{"text":"Still. ","thought":true}`, `{"text":"Let me "}`, `{"text":"see."}`,
	`{"functionCall":{"id":"c1","name":"get_time","args":{"top_p":"<x>","n":1.10}},"thoughtSignature":"s1"}`,
	`{"text":"","thoughtSignature":"s2"}`, `{"text":"And "}`, `{"text":"then","thoughtSignature":"s3"}`, `{"text":" this."}`,
	`{"executableCode":{"language":"PYTHON","code":"1"}}`, `{"text":"hm","thought":true,"thoughtSignature":"s4"}`,
	`{"functionCall":{"name":"stop"}}`,
}

func mixedPieces() []eval.Piece {
	return []eval.Piece{
		eval.ReasoningPiece{Reasoning: "I think. Still. "},
		eval.TextPiece{Text: "Let me see."},
		eval.CallPiece{Call: &eval.FunctionCall{ID: "c1", Name: "get_time", Args: json.RawMessage(`{"top_p":"<x>","n":1.10}`)}},
		eval.TextPiece{Text: "And then this."},
		eval.OtherPiece{Other: json.RawMessage(`{"executableCode":{"language":"PYTHON","code":"1"}}`)},
		eval.ReasoningPiece{Reasoning: "hm"},
		eval.CallPiece{Call: &eval.FunctionCall{Name: "stop"}},
	}
}

const details = `"finishReason":"STOP","citationMetadata":{"a": 1}`

// An answer that is more than text keeps its parts in order, and the candidate as it came. Its text is that of the text parts.
func TestPartsOfAnAnswerKeepTheirOrder(t *testing.T) {
	t.Parallel()
	raw := `{"content":{"parts":[` + strings.Join(mixed, ",") + `],"role":"model"},` + details + `}`
	resp, err := parseResponse([]byte(`{"candidates":[` + raw + `]}`))
	expect.OK(t, err)
	c := resp.Candidates[0]
	expect.Same(t, "the text", c.Text, "Let me see.And then this.")
	expect.Same(t, "the parts", c.Pieces, mixedPieces())
	expect.Same(t, "as it came", string(c.Raw), strings.ReplaceAll(raw, `"a": 1`, `"a":1`))
	expect.Same(t, "the reasons", []string{c.FinishReason, c.VendorReason}, []string{"TOOL_CALLS", "STOP"})
	expect.Same(t, "the calls", len(c.FunctionCalls()), 2)
	if !c.HasContent() || c.Extra["parts"] == nil || c.Extra["citationMetadata"] == nil {
		t.Errorf("%+v, want content, and the other parts and fields", c)
	}
}

// However a stream cuts an answer into chunks, it is the same answer. Neighbouring texts are joined in what came, and signatures stay
// where they were.
func TestPartsOfAStreamAreThoseOfTheWhole(t *testing.T) {
	t.Parallel()
	joined := []string{
		`{"text":"I think. Still. ","thought":true}`, `{"text":"Let me see."}`, mixed[4], mixed[5], mixed[6], mixed[7], mixed[8], mixed[9],
		mixed[10], mixed[11],
	}
	raw := `{"content":{"parts":[` + strings.Join(joined, ",") + `],"role":"model"},"citationMetadata":{"a":1},"finishReason":"STOP"}`
	for size := 1; size <= len(mixed); size++ {
		var chunks []string
		for from := 0; from < len(mixed); from += size {
			parts := mixed[from:min(from+size, len(mixed))]
			chunks = append(chunks, `{"candidates":[{"content":{"parts":[`+strings.Join(parts, ",")+`],"role":"model"}}]}`)
		}
		chunks = append(chunks, `{"candidates":[{`+details+`}]}`)
		got, e, _ := askStream(t, "application/json", "["+strings.Join(chunks, ",")+"]")
		if e != nil {
			t.Fatal(e)
		}
		c := got.Candidates[0]
		expect.Same(t, "the text", c.Text, "Let me see.And then this.")
		expect.Same(t, "the parts", c.Pieces, mixedPieces())
		expect.Same(t, fmt.Sprintf("in chunks of %d", size), string(c.Raw), raw)
		expect.Same(t, "the reasons", []string{c.FinishReason, c.VendorReason}, []string{"TOOL_CALLS", "STOP"})
	}
}

// A recorded reply in one piece, and the same in chunks of a part each, are read alike.
func TestRecordedRepliesInChunksAreTheSame(t *testing.T) {
	t.Parallel()
	for name, data := range recordings(t, "unary-success*.json") {
		whole, err := ParseReply(data)
		expect.OK(t, err)
		var reply struct {
			Candidates []map[string]json.RawMessage `json:"candidates"`
		}
		expect.OK(t, json.Unmarshal(data, &reply))
		var chunks []string
		for i, c := range reply.Candidates {
			var content struct{ Parts []json.RawMessage }
			if c["content"] != nil {
				expect.OK(t, json.Unmarshal(c["content"], &content))
			}
			delete(c, "content")
			for _, part := range content.Parts {
				chunks = append(chunks, fmt.Sprintf(`{"candidates":[{"index":%d,"content":{"parts":[%s]}}]}`, i, part))
			}
			rest, err := wirejson.Marshal(c)
			expect.OK(t, err)
			chunks = append(chunks, `{"candidates":[`+string(rest)+`]}`)
		}
		streamed, err := ParseReply([]byte("[" + strings.Join(chunks, ",") + "]"))
		expect.OK(t, err)
		for i := range whole.Candidates {
			a, b := whole.Candidates[i], streamed.Candidates[i]
			expect.Same(t, "the parts of "+name, b.Pieces, a.Pieces)
			if (a.Raw == nil) != (b.Raw == nil) || a.Raw != nil && !json.Valid(b.Raw) {
				t.Errorf("%s: %s, want what is like %s", name, b.Raw, a.Raw)
			}
			a.Raw, b.Raw = nil, nil
			expect.Same(t, name, b, a)
		}
	}
}

// An answer of text alone has no parts, and nothing of it is kept twice.
func TestPlainAnswersHaveNoParts(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		`{"candidates":[{"content":{"parts":[{"text":"a"},{"text":"b"}],"role":"model"},"finishReason":"STOP","index":0,` +
			`"safetyRatings":[{"category":"C","probability":"LOW","blocked":false}]}],"responseId":"x"}`,
		`{"candidates":[{"content":{"parts":[{"text":"ab"}]},"finishReason":"STOP"},{"content":{"parts":[]},"finishReason":"STOP","index":1}]}`,
		`[{"candidates":[{"content":{"parts":[{"text":"a"}]}}],"responseId":"x"},` +
			`{"candidates":[{"content":{"parts":[{"text":"b"}]},"finishReason":"STOP"}]}]`,
	} {
		resp, err := ParseReply([]byte(text))
		expect.OK(t, err)
		for _, c := range resp.Candidates {
			if c.Pieces != nil || c.Raw != nil || c.VendorReason != "" {
				t.Errorf("%s: %+v, want text alone", text, c)
			}
		}
		expect.Same(t, "the text", resp.Text(), "ab")
	}
}

func TestAnAnswerThatEndsInCallsSaysSo(t *testing.T) {
	t.Parallel()
	const call, text, thought = `{"functionCall":{"name":"f"}}`, `{"text":"x"}`, `{"text":"x","thought":true}`
	for _, test := range []struct{ parts, reason, want, vendor string }{
		{call, `"STOP"`, "TOOL_CALLS", "STOP"},
		{text + "," + call, `"STOP"`, "TOOL_CALLS", "STOP"},
		{call + "," + thought, `"STOP"`, "TOOL_CALLS", "STOP"},
		{call + `,{"toolCall":{"id":"y"}},{"toolResponse":{"id":"y"}}`, `"STOP"`, "TOOL_CALLS", "STOP"},
		{call, `""`, "TOOL_CALLS", ""},
		{call, `null`, "TOOL_CALLS", ""},
		{call, `"FINISH_REASON_UNSPECIFIED"`, "TOOL_CALLS", "FINISH_REASON_UNSPECIFIED"},
		{call, `"MAX_TOKENS"`, "MAX_TOKENS", ""},
		{call, `"SAFETY"`, "SAFETY", ""},
		{call + "," + text, `"STOP"`, "STOP", ""},
		{thought, `"STOP"`, "STOP", ""},
	} {
		resp, err := parseResponse([]byte(`{"candidates":[{"content":{"parts":[` + test.parts + `]},"finishReason":` + test.reason + `}]}`))
		expect.OK(t, err)
		c := resp.Candidates[0]
		expect.Same(t, test.parts+" "+test.reason, []string{c.FinishReason, c.VendorReason}, []string{test.want, test.vendor})
	}
}

// A call that cannot be read is no answer that could be judged.
func TestMalformedCallsAreErrors(t *testing.T) {
	t.Parallel()
	for _, call := range []string{
		`"f"`, `[]`, `{"name":5}`, `{"willContinue":true}`, `{"name":"f","partialArgs":[{"jsonPath":"a","stringValue":"x"}]}`,
		`{"name":"f","partialArgs":[{"jsonPath":"$[99999]","stringValue":"x"}]}`, `{"name":"f","partialArgs":{}}`,
		`{"args":{}}`, `{"name":"f","args":"x"}`, `{"name":"f","args":[1]}`, `{"name":"f","id":7}`,
	} {
		_, err := parseResponse([]byte(`{"candidates":[{"content":{"parts":[{"functionCall":` + call + `}]},"finishReason":"STOP"}]}`))
		if e := eval.AsError(err); e == nil || e.Kind != eval.KindMalformed {
			t.Errorf("%s: %v, want an error of kind %s", call, err, eval.KindMalformed)
		}
	}
	for _, none := range []string{`null`, `{}`} {
		resp, err := parseResponse([]byte(`{"candidates":[{"content":{"parts":[{"text":"x"},` +
			`{"functionCall":` + none + `}]},"finishReason":"STOP"}]}`))
		expect.OK(t, err)
		expect.Same(t, none, len(resp.Candidates[0].FunctionCalls()), 0)
	}
}

// Arguments that come in pieces are those of one call, which goes back whole.
func TestArgumentsInPiecesAreThoseOfOneCall(t *testing.T) {
	t.Parallel()
	piece := func(call, rest string) string {
		return `{"candidates":[{"content":{"parts":[{"functionCall":` + call + `}` + rest + `]}}]}`
	}
	got, e, _ := askStream(t, "", `[{"candidates":[{"content":{"parts":[{"functionCall":{"id":"1","name":"f","willContinue":true},`+
		`"thoughtSignature":"s"}]}}]},`,
		piece(`{"partialArgs":[{"jsonPath":"$.city","stringValue":"Pa","willContinue":true}],"willContinue":true}`, "")+",",
		piece(`{"partialArgs":[{"jsonPath":"$.city","stringValue":"ris"},`+
			`{"jsonPath":"$['stops'][1].n","numberValue":1.50}],"willContinue":true}`, "")+",",
		piece(`{"partialArgs":[{"jsonPath":"$.stops[0]","boolValue":true},`+
			`{"jsonPath":"$.none","nullValue":"NULL_VALUE"}],"willContinue":true}`, "")+",",
		piece(`{}`, `,{"functionCall":{"name":"g","args":{"a":1}}}`)+",",
		`{"candidates":[{"finishReason":"STOP"}]}]`)
	if e != nil {
		t.Fatal(e)
	}
	c := got.Candidates[0]
	expect.Same(t, "the calls", c.FunctionCalls(), []eval.FunctionCall{
		{ID: "1", Name: "f", Args: json.RawMessage(`{"city":"Paris","none":null,"stops":[true,{"n":1.50}]}`)},
		{Name: "g", Args: json.RawMessage(`{"a":1}`)},
	})
	expect.Same(t, "the reason", c.FinishReason, "TOOL_CALLS")
	want := `{"functionCall":{"args":{"city":"Paris","none":null,"stops":[true,{"n":1.50}]},"id":"1","name":"f"},"thoughtSignature":"s"}`
	if !strings.Contains(string(c.Raw), want) || strings.Contains(string(c.Raw), "partialArgs") {
		t.Errorf("got %s, want the call whole", c.Raw)
	}
	_, e, _ = askStream(t, "", `[`+piece(`{"name":"f","willContinue":true}`, "")+`,{"candidates":[{"finishReason":"STOP"}]}]`)
	if e == nil || e.Kind != eval.KindTruncated {
		t.Errorf("got %v of a call that does not end, want that it was cut", e)
	}
}

// A key that is spread over chunks does not get through in thoughts, parts, or what came.
func TestPartsNeverShowTheKey(t *testing.T) {
	t.Parallel()
	half := len(canary) / 2
	var chunks []string
	for _, text := range []string{canary[:half], canary[half:]} {
		chunks = append(chunks, `{"candidates":[{"content":{"parts":[{"text":"`+text+`","thought":true}]}}]}`)
	}
	for _, text := range []string{canary[:half], canary[half:]} {
		chunks = append(chunks, `{"candidates":[{"content":{"parts":[{"text":"`+text+`"}]}}]}`)
	}
	chunks = append(chunks, `{"candidates":[{"content":{"parts":[{"functionCall":{"name":"f","args":{"k":"`+canary+`"}}}]},`+
		`"finishReason":"STOP"}]}`)
	got, e, _ := askStream(t, "", "["+strings.Join(chunks, ",")+"]")
	if e != nil {
		t.Fatal(e)
	}
	c := got.Candidates[0]
	pieces, err := json.Marshal(c.Pieces)
	expect.OK(t, err)
	for what, data := range map[string][]byte{"text": []byte(c.Text), "parts": pieces, "raw": c.Raw} {
		if bytes.Contains(data, []byte(canary)) || !bytes.Contains(data, []byte("[key]")) {
			t.Errorf("%s: %s, want [key] for the key", what, data)
		}
	}
}

func TestReasoningTokensCountAsOutput(t *testing.T) {
	t.Parallel()
	const chunk = `{"candidates":[{"content":{"parts":[{"text":"x"}]},"finishReason":"STOP"}],"usageMetadata":{"promptTokenCount":10,` +
		`"candidatesTokenCount":6,"thoughtsTokenCount":100,"totalTokenCount":116}}`
	want := eval.Usage{PromptTokens: 10, OutputTokens: 106, ReasoningTokens: 100, TotalTokens: 116, Source: eval.UsageService}
	for _, reply := range []string{chunk, "[" + strings.NewReplacer(":100,", ":40,", `"x"`, `"y"`).Replace(chunk) + "," + chunk + "]"} {
		resp, err := ParseReply([]byte(reply))
		expect.OK(t, err)
		expect.Same(t, reply+": usage", resp.Usage, &want)
	}
	sum := want
	sum.Add(&want)
	expect.Same(t, "of two calls", sum.ReasoningTokens, 200)
}
