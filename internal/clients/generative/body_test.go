package generative

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"testing"

	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/testing/expect"
)

func whole() eval.Request {
	zero := 0.0
	return eval.Request{
		Model: "m", Contents: []eval.Content{{Role: "user", Parts: []eval.Part{eval.TextPart{Text: "hi"}}}}, System: "Be <terse>.",
		GenerationConfig: &eval.GenerationConfig{Temperature: &zero, Extra: eval.Extra{"seed": []byte("7"), "candidateCount": []byte("2")}},
		SafetySettings:   []eval.SafetySetting{{Category: "C", Threshold: "T"}},
		Tools: []eval.Declaration{
			{Name: "now"}, {Name: "get", Description: "Gets.", Parameters: []byte(`{"type":"object","properties":{"top_p":{"type":"string"}}}`)},
		},
		ToolChoice: &eval.Choice{Mode: eval.Auto},
		Extra:      eval.Extra{"labels": []byte(`{"team":"a"}`), "cachedContent": []byte(`"c/1"`)},
	}
}

const (
	wholeInstructions = `"systemInstruction":{"parts":[{"text":"Be <terse>."}]},"tools":[{"functionDeclarations":[{"name":"now"},` +
		`{"name":"get","description":"Gets.","parameters":{"type":"object","properties":{"top_p":{"type":"string"}}}}]}],` +
		`"toolConfig":{"functionCallingConfig":{"mode":"AUTO"}}`
	wholeConfig = `"generationConfig":{"temperature":0,"candidateCount":2,"seed":7}`
)

// System text, tools and fields of the suite follow what was there before, byte by byte.
func TestWholeRequestIsSentByteByByte(t *testing.T) {
	t.Parallel()
	r := whole()
	const contents = `{"contents":[{"role":"user","parts":[{"text":"hi"}]}],`
	want := contents + wholeConfig + `,"safetySettings":[{"category":"C","threshold":"T"}],` + wholeInstructions +
		`,"cachedContent":"c/1","labels":{"team":"a"}}`
	expect.Same(t, "the body", string(requestBody(&r)), want)
	only := eval.Request{Contents: r.Contents, System: "s"}
	expect.Same(t, "with a system text alone", string(requestBody(&only)), contents+`"systemInstruction":{"parts":[{"text":"s"}]}}`)
	only = eval.Request{Contents: r.Contents, Extra: eval.Extra{"x": []byte("1")}}
	expect.Same(t, "with one field more", string(requestBody(&only)), contents+`"x":1}`)
}

// A prompt that is more than contents is counted as a whole; what does not go to the model as prompt is left out.
func TestCountTokensSendsWholeRequests(t *testing.T) {
	t.Parallel()
	const open, contents = `{"generateContentRequest":{"model":"models/m",`, `"contents":[{"role":"user","parts":[{"text":"hi"}]}]`
	answered := eval.Request{Model: "m", Contents: []eval.Content{{Parts: []eval.Part{
		eval.ResultPart{Result: &eval.CallResult{Name: "f", Text: "x"}},
	}}}}
	system := whole()
	system.Tools, system.ToolChoice, system.GenerationConfig = nil, nil, nil
	all := whole()
	for want, r := range map[string]*eval.Request{
		open + contents + `,` + wholeConfig + `,` + wholeInstructions + `}}`:                            &all,
		open + contents + `,"systemInstruction":{"parts":[{"text":"Be <terse>."}]}}}`:                   &system,
		open + `"contents":[{"parts":[{"functionResponse":{"name":"f","response":{"result":"x"}}}]}]}}`: &answered,
	} {
		var sent string
		c := newClient(t, func(w http.ResponseWriter, r *http.Request) {
			data, err := io.ReadAll(r.Body)
			expect.OK(t, err)
			sent = string(data)
			fmt.Fprint(w, `{"totalTokens":7}`)
		}, nil)
		n, err := c.CountTokens(context.Background(), &eval.Call{Request: *r})
		expect.OK(t, err)
		expect.Same(t, "tokens", n, 7)
		expect.Same(t, "the body", sent, want)
	}
}
