package emulator

import (
	"encoding/json"
	"fmt"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/evalrun/evalrun/internal/testing/expect"
)

const count = "/v1beta/models/svc-pro:countTokens"

// asking is the body of a request with a question and further top-level fields.
func asking(question, fields string) string {
	return strings.TrimSuffix(text(question), "}") + "," + fields + "}"
}

// loop is the body of a request with the turns of a tool loop: a question, the parts of the model, and the results.
func loop(model, results string) string {
	return fmt.Sprintf(
		`{"contents":[{"role":"user","parts":[{"text":"Where is A17?"}]},{"role":"model","parts":[%s]},{"role":"user","parts":[%s]}]}`,
		model, results,
	)
}

const (
	callF   = `{"functionCall":{"name":"f","args":{"id":"A17"}}}`
	resultF = `{"functionResponse":{"name":"f","response":{"status":"shipped"}}}`
	declare = `"tools":[{"functionDeclarations":[{"name":"f","description":"d","parameters":{"type":"object",` +
		`"properties":{"mime_type":{"type":"STRING"}},"required":["mime_type"]}},{"name":"g"}]}]`
)

// What the service takes, in either spelling.
func TestRequestsWithToolsAreAccepted(t *testing.T) {
	t.Parallel()
	ok := func(body string) struct {
		path, body string
		status     int
		want       string
	} {
		return struct {
			path, body string
			status     int
			want       string
		}{pro, body, 200, `"text":"x"`}
	}
	exchanges{
		"system":            ok(asking("x", `"systemInstruction":{"parts":[{"text":"Be brief."},{"text":" Please."}]}`)),
		"snake case system": ok(asking("x", `"system_instruction":{"role":"system","parts":[{"text":"Be brief."}]}`)),
		"tools":             ok(asking("x", declare)),
		"snake case tools": ok(asking("x", `"tools":[{"function_declarations":[{"name":"f"}]}],"tool_config":{"function_calling_config":`+
			`{"mode":"AUTO"}}`)),
		"other tools":  ok(asking("x", `"tools":[{"googleSearch":{}}]`)),
		"modes by no.": ok(asking("x", declare+`,"toolConfig":{"functionCallingConfig":{"mode":3}}`)),
		"settings": ok(asking("x", `"generationConfig":{"candidateCount":1,"seed":7,"presencePenalty":-0.5,"frequencyPenalty":2,`+
			`"responseMimeType":"application/json","responseSchema":{"type":"OBJECT","properties":{"a":{"type":["string","null"]},`+
			`"b":{"type":"array","items":{"type":"integer"}}},"required":["a"]},"thinkingConfig":{"thinkingBudget":-1,"includeThoughts":true}}`)),
		"no parameters": ok(asking("x", `"tools":[{"functionDeclarations":[{"name":"f","parameters":null}]}]`)),
		"other parts":   {pro, `{"contents":[{"parts":[{"text":"x"},{"fileData":{"fileUri":"u"}}]}]}`, 200, `"text":"x"`},
		"audio":         {vision, `{"contents":[{"parts":[{"text":"x"},{"inlineData":{"mimeType":"audio/mpeg","data":"aGk="}}]}]}`, 200, `"x"`},
		"video and PDF": {
			vision, `{"contents":[{"parts":[{"text":"x"},` + inline("video/mp4", 1) + `,` + inline("application/pdf", 20) + `]}]}`, 200, `"x"`,
		},
		"result": {pro, loop(callF, resultF), 200, `"text":"Where is A17?"`},
		"ids": {
			pro, loop(`{"functionCall":{"id":"1","name":"f"}}`, `{"functionResponse":{"id":"1","name":"f","response":{}}}`), 200, `"STOP"`,
		},
		"id of a client": {pro, loop(callF, `{"functionResponse":{"id":"own","name":"f","response":{}}}`), 200, `"STOP"`},
		"two results":    {pro, loop(callF+","+callF, resultF+","+resultF), 200, `"STOP"`},
	}.run(t, serve(t, "rules: []", nil))
}

// nested is a schema with others in it.
func nested(n int) string { return strings.Repeat(`{"items":`, n) + `{}` + strings.Repeat(`}`, n) }

func inline(mimeType string, n int) string {
	one := fmt.Sprintf(`{"inline_data":{"mime_type":%q,"data":"aGk="}}`, mimeType)
	return strings.TrimSuffix(strings.Repeat(one+",", n), ",")
}

// What is refused names the field that is wrong.
func TestRefusedRequestsNameTheField(t *testing.T) {
	t.Parallel()
	server := serve(t, "rules: []", nil)
	tools := func(declarations string) string {
		return asking("x", `"tools":[{"functionDeclarations":[`+declarations+`]}]`)
	}
	settings := func(c string) string { return asking("x", `"generationConfig":{`+c+`}`) }
	const calling = `,"toolConfig":{"functionCallingConfig":`
	for want, body := range map[string]string{
		"systemInstruction.parts is required":                    asking("x", `"systemInstruction":{}`),
		"systemInstruction.parts[1] must be a text":              asking("x", `"systemInstruction":{"parts":[{"text":"a"},`+callF+`]}`),
		"systemInstruction cannot be a string":                   asking("x", `"systemInstruction":"Be brief."`),
		"tools cannot be a object":                               asking("x", `"tools":{}`),
		"functionDeclarations[0].name is required":               tools(`{}`),
		"functionDeclarations[1].name: \\\"f\\\" is declared tw": tools(`{"name":"f"},{"name":"f"}`),
		"functionDeclarations[0].name: \\\"get order\\\" is not": tools(`{"name":"get order"}`),
		"functionDeclarations[0].description cannot be a number": tools(`{"name":"f","description":1}`),
		"functionDeclarations[0] cannot be a string":             tools(`"f"`),
		"functionDeclarations[0].parameters cannot be a array":   tools(`{"name":"f","parameters":[]}`),
		"parameters.type must be object, not \\\"string\\\"":     tools(`{"name":"f","parameters":{"type":"string"}}`),
		"parameters.properties.id.type: \\\"text\\\" is not":     tools(`{"name":"f","parameters":{"properties":{"id":{"type":"text"}}}}`),
		"parameters.properties.id cannot be a string":            tools(`{"name":"f","parameters":{"properties":{"id":"string"}}}`),
		"parameters.anyOf[0].items.type: 9 is not a type":        tools(`{"name":"f","parameters":{"anyOf":[{"items":{"type":9}}]}}`),
		"parameters.required[0]: there is no property \\\"a\\\"": tools(`{"name":"f","parameters":{"type":"object","required":["a"]}}`),
		"is nested more than 32 deep":                            tools(`{"name":"f","parameters":` + nested(40) + `}`),
		"functionCallingConfig.mode must be AUTO":                asking("x", declare+calling+`{"mode":"auto"}}`),
		"mode is ANY, and tools declares no function":            asking("x", `"tools":[]`+calling+`{"mode":"ANY"}}`),
		"allowedFunctionNames needs the mode ANY":                asking("x", declare+calling+`{"allowedFunctionNames":["f"]}}`),
		"allowedFunctionNames[1]: tools declares no function":    asking("x", declare+calling+`{"mode":"ANY","allowedFunctionNames":["f","h"]}}`),
		"generationConfig.seed: x is not a whole number":         settings(`"seed":"x"`),
		"generationConfig.temperature cannot be a string":        settings(`"temperature":"warm"`),
		"generationConfig.candidateCount must be from 1 to 8":    settings(`"candidateCount":9`),
		"generationConfig.presencePenalty must be from -2":       settings(`"presencePenalty":-2.1`),
		"generationConfig.frequencyPenalty must be from -2":      settings(`"frequencyPenalty":3`),
		"generationConfig.responseMimeType must be one of":       settings(`"responseMimeType":"json"`),
		"generationConfig.responseSchema needs the":              settings(`"responseSchema":{"type":"string"}`),
		"generationConfig.responseSchema.items.type: \\\"int": settings(
			`"responseMimeType":"application/json","responseSchema":{"items":{"type":"int"}}`,
		),
		"thinkingConfig.thinkingBudget must be at least -1": settings(`"thinkingConfig":{"thinkingBudget":-2}`),
		"thinkingConfig cannot be a bool":                   settings(`"thinkingConfig":true`),
	} {
		refuses(t, server, pro, body, want)
	}
}

// Parts hold one thing each, and results come right after the calls that they answer.
func TestTurnsOutOfOrderAreRefused(t *testing.T) {
	t.Parallel()
	server := serve(t, "rules: []", nil)
	for want, body := range map[string]string{
		"contents[0].parts[0] is empty":                          `{"contents":[{"parts":[{}]}]}`,
		"contents[0].parts[0] holds text and functionCall":       `{"contents":[{"parts":[{"text":"x","functionCall":{"name":"f"}}]}]}`,
		"parts[0].functionCall must be in a turn of the model":   `{"contents":[{"parts":[` + callF + `]}]}`,
		"parts[0].functionResponse must be in a turn of the use": loop(resultF, `{"text":"x"}`),
		"contents[1].parts[0].functionCall.name is required":     loop(`{"functionCall":{}}`, resultF),
		"functionCall.args must be an object":                    loop(`{"functionCall":{"name":"f","args":[]}}`, resultF),
		"contents[2].parts[0].functionResponse.name is required": loop(callF, `{"functionResponse":{"response":{}}}`),
		"functionResponse.response is required":                  loop(callF, `{"functionResponse":{"name":"f"}}`),
		"functionResponse.response must be an object":            loop(callF, `{"functionResponse":{"name":"f","response":"shipped"}}`),
		"contents[0] has function responses: they must come":     `{"contents":[{"parts":[` + resultF + `]}]}`,
		"contents[2] has function responses: they must come":     loop(`{"text":"hm"}`, resultF),
		"functionResponse.name: the turn before has no call of":  loop(`{"functionCall":{"name":"g"}}`, resultF),
		"contents[2] has 1 function responses for 2 function ca": loop(callF+","+callF, resultF),
		"parts[1].functionResponse.name: the turn before has no": loop(callF, resultF+","+resultF),
		"functionResponse.id is required: the call has the id":   loop(`{"functionCall":{"id":"1","name":"f"}}`, resultF),
		"functionResponse.id: the turn before has no call of": loop(
			`{"functionCall":{"id":"1","name":"f"}}`, `{"functionResponse":{"id":"2","name":"f","response":{}}}`,
		),
		"contents[0].parts[0].inlineData: the mimeType":       `{"contents":[{"parts":[` + inline("application/zip", 1) + `]}]}`,
		"contents[0].parts[0].inlineData: the image type":     `{"contents":[{"parts":[` + inline("image/tiff", 1) + `]}]}`,
		"svc-pro takes text only; send images and other data": `{"contents":[{"parts":[` + inline("audio/wav", 1) + `]}]}`,
	} {
		refuses(t, server, pro, body, want)
	}
}

// countTokens counts all that is sent: the system text, declarations, calls and results too.
func TestWholeRequestsAreCounted(t *testing.T) {
	t.Parallel()
	server := serve(t, "rules: []", nil)
	whole := func(request string) string { return `{"generateContentRequest":` + request + `}` }
	tools := `"tools":[{"functionDeclarations":[{ "name": "get_order" }]}]` // 20 bytes without spaces
	for body, want := range map[string]int{
		text("12345678"):        2,
		whole(text("12345678")): 2,
		whole(asking("12345678", `"systemInstruction":{"parts":[{"text":"1234567890"}]}`)): 5,
		whole(asking("12345678", tools)):                                                                                 7,
		whole(asking("1234", `"model":"models/svc-pro"`)):                                                                1,
		whole(`{"contents":[{"parts":[{"text":"1234"},` + inline("audio/wav", 2) + `]}]}`):                               1 + 2*258,
		loop(`{"text":"never counted","thought":true},{"text":"1234567"}`, `{"text":"12"}`):                              (13 + 7 + 2 + 3) / 4,
		loop(`{"functionCall":{"name":"f","args":{ "a": 1 }}}`, `{"functionResponse":{"name":"f","response":{"b":""}}}`): (13 + 8 + 8 + 3) / 4,
	} {
		status, got, _ := post(t, server, count, body)
		if wanted := fmt.Sprintf(`{"totalTokens":%d}`, want); status != 200 || strings.TrimSpace(got) != wanted {
			t.Errorf("%s: got %d %s, want 200 %s", body, status, got, wanted)
		}
	}
	refuses(t, server, count, asking("x", `"generateContentRequest":`+text("x")), "exclude each other")
	refuses(t, server, count, whole(asking("x", `"model":"models/other"`)), "generateContentRequest.model")
	refuses(t, server, count, whole(`{"contents":[{"parts":[{}]}]}`), "contents[0].parts[0] is empty")
	refuses(t, server, pro, whole(text("x")), "contents is required")
}

// A script that lists fields makes the emulator as strict as the service.
func TestScriptsListFields(t *testing.T) {
	t.Parallel()
	server := serve(t, "requestFields: [labels]\nrules: []", nil)
	known := `"labels":{},"systemInstruction":{"parts":[{"text":"s"}]},"tool_config":{},"generation_config":{},"cachedContent":"c"`
	if status, body, _ := post(t, server, pro, asking("x", known)); status != 200 {
		t.Errorf("got %d %s, want 200", status, body)
	}
	refuses(t, server, pro, asking("x", `"surprise":1`), `unknown name \"surprise\"`)
	refuses(t, server, count, asking("x", `"systemInstruction":{"parts":[{"text":"s"}]}`), `unknown name \"systemInstruction\"`)
	if status, body, _ := post(t, server, count, text("x")); status != 200 {
		t.Errorf("got %d %s, want 200", status, body)
	}
}

const orderScript = `
usage: true
rules:
  - match: {text: "*order*", step: 1}
    toolCalls: [{name: get_order, id: call-1, args: {id: "{{index .groups 1}}", deep: [{q: "{{.prompt}}"}], n: 1.50, top_p: true}}]
  - match: {result: get_order, resultText: '*"error"*'}
    reply: "I cannot find it: {{.result.error}}."
  - match: {result: get_*, step: 2}
    reply: "It is {{.result.status}} ({{.results.get_order.items}}, {{json .result.late}}); you asked {{.prompt}}"
  - match: {step: 3}
    reply: "step {{.step}}: {{.results.get_order.status}} and {{.result.sum}}"
  - match: {system: "*pirate*"}
    reply: "Arr, {{.system}}"
  - match: {text: think}
    reasoning: "They said {{.prompt}} and so on and on."
    reply: first
    toolCalls: [{name: f, args: {b: 1, a: "<x>"}}, {name: g}]
`

func scripted(t *testing.T) *httptest.Server {
	t.Helper()
	return serve(t, strings.Replace(orderScript, `text: "*order*"`, `regex: 'order (\w+)'`, 1), nil)
}

// answered is the decoded answer to a request that must succeed.
func answered(t *testing.T, server *httptest.Server, body string) wireResponse {
	t.Helper()
	status, got, _ := post(t, server, pro, body)
	var out wireResponse
	if err := json.Unmarshal([]byte(got), &out); err != nil || status != 200 {
		t.Fatalf("%s: got %d %s, want 200", body, status, got)
	}
	return out
}

// sentParts are the parts of the only candidate, as they were sent.
func sentParts(t *testing.T, r wireResponse) string {
	t.Helper()
	out, err := json.Marshal(r.Candidates[0].Content.Parts)
	expect.OK(t, err)
	return string(out)
}

// turns is the body of a request with turns of alternating roles, each the JSON of its parts.
func turns(parts ...string) string {
	out := make([]string, len(parts))
	for i, p := range parts {
		out[i] = fmt.Sprintf(`{"role":%q,"parts":%s}`, []string{"user", "model"}[i%2], p)
	}
	return `{"contents":[` + strings.Join(out, ",") + `]}`
}

func TestAToolLoopRunsToItsEnd(t *testing.T) {
	t.Parallel()
	server := scripted(t)
	question := `[{"text":"Where is order A17?"}]`
	first := answered(t, server, turns(question))
	calls := sentParts(t, first)
	expect.Same(t, "the first answer", calls, `[{"functionCall":{"id":"call-1","name":"get_order","args":`+
		`{"deep":[{"q":"Where is order A17?"}],"id":"A17","n":1.50,"top_p":true}}}]`)
	expect.Same(t, "its finish reason", first.Candidates[0].FinishReason, "STOP")
	result := func(name, response string) string {
		return `[{"functionResponse":{"id":"call-1","name":"` + name + `","response":` + response + `}}]`
	}
	shipped := result("get_order", `{"status":"shipped","items":2,"late":false,"top_k":null}`)
	second := answered(t, server, turns(question, calls, shipped))
	expect.Same(t, "the answer to the result", second.Candidates[0].Content.text(), "It is shipped (2, false); you asked Where is order A17?")
	failed := answered(t, server, turns(question, calls, result("get_order", `{"error":"no such order"}`)))
	expect.Same(t, "the answer to an error", failed.Candidates[0].Content.text(), "I cannot find it: no such order.")
	third := answered(t, server, turns(
		question, calls, shipped, `[{"functionCall":{"name":"add"}}]`, `[{"functionResponse":{"name":"add","response":{"sum":3}}}]`,
	))
	expect.Same(t, "the third step", third.Candidates[0].Content.text(), "step 3: shipped and 3")
	followUp := answered(t, server, turns(question, calls, shipped, `[{"text":"Shipped."}]`, `[{"text":"And order B2?"}]`))
	expect.Same(t, "the call for the next question", sentParts(t, followUp),
		strings.NewReplacer("Where is order A17?", "And order B2?", `"A17"`, `"B2"`).Replace(calls))
}

func TestRulesMatchTheSystemText(t *testing.T) {
	t.Parallel()
	got := answered(t, scripted(t), asking("x", `"systemInstruction":{"parts":[{"text":"Be a "},{"text":"pirate."}]}`))
	expect.Same(t, "answer", got.Candidates[0].Content.text(), "Arr, Be a pirate.")
	expect.Same(t, "answer without it", answered(t, scripted(t), text("x")).Candidates[0].Content.text(), "x")
}

// A thought comes before the text, is counted by itself, and signs the calls; the signatures must come back.
func TestThoughtsComeBeforeTheTextAndSignCalls(t *testing.T) {
	t.Parallel()
	server := scripted(t)
	answer := answered(t, server, text("think"))
	parts := answer.Candidates[0].Content.Parts
	if len(parts) != 4 || !parts[0].Thought || *parts[0].Text != "They said think and so on and on." || *parts[1].Text != "first" {
		t.Fatalf("got %s, want a thought, a text and two calls", sentParts(t, answer))
	}
	expect.Same(t, "usage", *answer.UsageMetadata, wireUsage{Prompt: 2, Candidates: 7, Thoughts: 9, Total: 18})
	results := `[` + resultF + `,{"functionResponse":{"name":"g","response":{}}}]`
	sent := sentParts(t, answer)
	answered(t, server, turns(`[{"text":"think"}]`, sent, results))
	answered(t, server, turns(`[{"text":"think"}]`, strings.Replace(sent, `"a":"\u003cx\u003e","b":1`, `"b": 1, "a": "<x>"`, 1), results))
	signed := parts[2].ThoughtSignature
	for change, want := range map[[2]string]string{
		{`,"thoughtSignature":"` + signed + `"`, ``}: "contents[1].parts[2].thoughtSignature is missing",
		{`"b":1`, `"b":2`}:                           "contents[1].parts[2].thoughtSignature is not the one of this call",
		{signed, parts[3].ThoughtSignature}:          "contents[1].parts[2].thoughtSignature is not the one of this call",
	} {
		if !strings.Contains(sent, change[0]) {
			t.Fatalf("got %s, want a part %s", sent, change[0])
		}
		refuses(t, server, pro, turns(`[{"text":"think"}]`, strings.Replace(sent, change[0], change[1], 1), results), want)
	}
	hidden := answered(t, server, asking("think", `"generationConfig":{"thinkingConfig":{"includeThoughts":false}}`))
	got := sentParts(t, hidden)
	if strings.Contains(got, "They said") || !strings.Contains(got, signed) || hidden.UsageMetadata.Thoughts != 9 {
		t.Errorf("got %s, %d thoughts, want signed calls, no thought, and 9 counted", got, hidden.UsageMetadata.Thoughts)
	}
}

// Chunks hold pieces of the thought, then of the text, then the calls.
func TestStreamsSendThoughtsThenTextThenCalls(t *testing.T) {
	t.Parallel()
	server := scripted(t)
	for _, path := range []string{proStream, proStream + "?alt=sse"} {
		_, body, _ := post(t, server, path, text("think"))
		_, chunks := texts(t, body)
		var got []string
		for i, c := range chunks {
			p := c.Candidates[0].Content.Parts
			switch {
			case len(p) != 1:
				t.Fatalf("%s: chunk %d has %d parts, want 1", path, i, len(p))
			case p[0].FunctionCall != nil:
				got = append(got, "call "+p[0].FunctionCall.Name)
			case p[0].Thought:
				got = append(got, "thought "+*p[0].Text)
			default:
				got = append(got, "text "+*p[0].Text)
			}
			checkChunk(t, c, i == 0, i == len(chunks)-1)
		}
		expect.Same(t, path, got, []string{"thought They said think and ", "thought so on and on.", "text first", "call f", "call g"})
	}
}

// A request says whether there may be calls, and which.
func TestTheModeOfCallingIsObeyed(t *testing.T) {
	t.Parallel()
	server := serve(t, `
rules:
  - {match: {text: f}, toolCalls: [{name: f, args: {a: 1}}, {name: g}]}
  - {match: {text: both}, reply: words, toolCalls: [{name: f}]}
  - {match: {text: only}, replies: [{toolCalls: [{name: f}], weight: 9}, {text: seldom}]}
  - {match: {text: cut}, reply: one two three four, toolCalls: [{name: f}]}
`, nil)
	f, g, words := `{"functionCall":{"name":"f","args":{}}}`, `{"functionCall":{"name":"g","args":{}}}`, `{"text":"words"}`
	fa := strings.Replace(f, "{}", `{"a":1}`, 1)
	for _, test := range []struct{ question, config, want string }{
		{"f", `{}`, fa + "," + g},
		{"f", `{"mode":"NONE"}`, `{"text":"f"}`},
		{"f", `{"mode":"ANY"}`, fa + "," + g},
		{"f", `{"mode":2,"allowedFunctionNames":["g"]}`, g},
		{"both", `{"mode":"AUTO"}`, words + "," + f},
		{"both", `{"mode":"NONE"}`, words},
		{"both", `{"mode":"ANY"}`, words + "," + f},
		{"both", `{"mode":"ANY","allowedFunctionNames":["g","f"]}`, words + "," + f},
		{"both", `{"mode":"ANY","allowedFunctionNames":["g"]}`, g},
		{"x", `{"mode":"AUTO"}`, `{"text":"x"}`},
		{"x", `{"mode":"ANY"}`, f},
		{"only", `{}`, f},
	} {
		body := asking(test.question, declare+`,"generationConfig":{"temperature":0},"toolConfig":{"functionCallingConfig":`+test.config+`}`)
		expect.Same(t, test.question+" "+test.config, sentParts(t, answered(t, server, body)), "["+test.want+"]")
	}
	cut := answered(t, server, asking("cut", `"generationConfig":{"maxOutputTokens":1}`))
	expect.Same(t, "an answer that is cut before its calls", sentParts(t, cut)+cut.Candidates[0].FinishReason, `[{"text":"one "}]MAX_TOKENS`)
}
