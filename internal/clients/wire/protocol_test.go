package wire

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/testing/expect"
	"github.com/evalrun/evalrun/internal/testing/hostile"
)

func user(parts ...eval.Part) eval.Content { return eval.Content{Role: eval.RoleUser, Parts: parts} }

func say(text string) eval.Part { return eval.TextPart{Text: text} }

func raw(text string) eval.Part { return eval.RawPart{Raw: json.RawMessage(text)} }

func file(mime string) *eval.Image {
	return &eval.Image{Path: "dir/a.bin", MIMEType: mime, Data: []byte("bytes")}
}

func plain() eval.Request {
	return eval.Request{Model: "m", Contents: []eval.Content{user(say("Hi"))}}
}

// bodies are what the three protocols send for one request, in the order of All.
type bodies [3]string

func (want bodies) check(t *testing.T, r *eval.Request) {
	t.Helper()
	for i, p := range all() {
		if want[i] == "" {
			continue
		}
		expect.OK(t, p.Check(r))
		expect.Same(t, string(p.Name), string(p.Body(r, options{})), strings.ReplaceAll(want[i], "\n", ""))
	}
}

func TestAQuestionIsSent(t *testing.T) {
	t.Parallel()
	r := plain()
	bodies{
		`{"model":"m","messages":[{"role":"user","content":"Hi"}]}`,
		`{"model":"m","input":[{"role":"user","content":"Hi"}]}`,
		`{"model":"m","max_tokens":4096,"messages":[{"role":"user","content":"Hi"}]}`,
	}.check(t, &r)
	r.Stream, r.System = true, "Be brief."
	bodies{
		`{"model":"m","messages":[{"role":"system","content":"Be brief."},{"role":"user","content":"Hi"}],
"stream":true,"stream_options":{"include_usage":true}}`,
		`{"model":"m","instructions":"Be brief.","input":[{"role":"user","content":"Hi"}],"stream":true}`,
		`{"model":"m","max_tokens":4096,"system":"Be brief.","messages":[{"role":"user","content":"Hi"}],"stream":true}`,
	}.check(t, &r)
}

// The settings go by each protocol's names, with numbers as the suite writes them.
func TestSettingsAreSent(t *testing.T) {
	t.Parallel()
	r := plain()
	r.GenerationConfig = &eval.GenerationConfig{Temperature: new(0.0), TopP: new(0.9), MaxOutputTokens: new(64)}
	bodies{
		`{"model":"m","messages":[{"role":"user","content":"Hi"}],"temperature":0,"top_p":0.9,"max_completion_tokens":64}`,
		`{"model":"m","input":[{"role":"user","content":"Hi"}],"temperature":0,"top_p":0.9,"max_output_tokens":64}`,
		`{"model":"m","max_tokens":64,"messages":[{"role":"user","content":"Hi"}],"temperature":0,"top_p":0.9}`,
	}.check(t, &r)
	r.GenerationConfig = &eval.GenerationConfig{StopSequences: []string{"END"}, Extra: eval.Extra{
		"candidateCount": json.RawMessage("2"), "seed": json.RawMessage("7"), "presencePenalty": json.RawMessage("0.10"),
		"frequencyPenalty": json.RawMessage("1"), "responseMimeType": json.RawMessage(`"application/json"`),
		"thinkingConfig": json.RawMessage(`{"thinkingLevel":"low"}`),
	}}
	bodies{`{"model":"m","messages":[{"role":"user","content":"Hi"}],"stop":["END"],"n":2,"seed":7,"presence_penalty":0.10,
"frequency_penalty":1,"response_format":{"type":"json_object"},"reasoning_effort":"low"}`}.check(t, &r)
	r.GenerationConfig = &eval.GenerationConfig{
		MaxOutputTokens: new(4000),
		TopK:            new(5),
		StopSequences:   []string{"END"},
		Extra: eval.Extra{
			"candidateCount": json.RawMessage("1"), "thinkingConfig": json.RawMessage(`{"thinkingBudget":2000,"includeThoughts":true}`),
		},
	}
	bodies{2: `{"model":"m","max_tokens":4000,"messages":[{"role":"user","content":"Hi"}],
"thinking":{"type":"enabled","budget_tokens":2000},"top_k":5,"stop_sequences":["END"]}`}.check(t, &r)
}

// maxTokensField names the field for servers that know the old one alone.
func TestTheLimitMayHaveItsOldName(t *testing.T) {
	t.Parallel()
	r := plain()
	r.GenerationConfig = &eval.GenerationConfig{MaxOutputTokens: new(64)}
	expect.Same(
		t, "openai", string(OpenAI().Body(&r, options{MaxTokensField: "max_tokens"})),
		`{"model":"m","messages":[{"role":"user","content":"Hi"}],"max_tokens":64}`,
	)
}

// A schema is sent with the word that holds the model to it only where it leaves nothing open.
func TestSchemasAreSent(t *testing.T) {
	t.Parallel()
	closedSchema := `{"type":"object","properties":{"b":{"type":"string"},"a":{"type":"array","items":{"type":"number"}}},` +
		`"required":["b","a"],"additionalProperties":false}`
	for schema, strict := range map[string]string{closedSchema: `,"strict":true`, `{"type":"object","properties":{"a":{}}}`: ""} {
		r := plain()
		r.GenerationConfig = &eval.GenerationConfig{Extra: eval.Extra{"responseSchema": json.RawMessage(schema)}}
		bodies{
			`{"model":"m","messages":[{"role":"user","content":"Hi"}],"response_format":{"type":"json_schema","json_schema":` +
				`{"name":"response","schema":` + schema + strict + `}}}`,
			`{"model":"m","input":[{"role":"user","content":"Hi"}],"text":{"format":{"type":"json_schema","name":"response","schema":` +
				schema + strict + `}}}`,
			`{"model":"m","max_tokens":4096,"messages":[{"role":"user","content":"Hi"}],"output_config":{"format":` +
				`{"type":"json_schema","schema":` + schema + `}}}`,
		}.check(t, &r)
	}
}

// loop is a conversation in which the model called a function and got its result, after a turn that came as given.
func loop(came ...eval.Part) eval.Request {
	r := plain()
	r.Contents = append(r.Contents, eval.Content{Role: eval.RoleModel, Parts: came}, user(
		eval.ResultPart{Result: &eval.CallResult{ID: "c1", Name: "f", Text: "shipped"}},
		eval.ResultPart{Result: &eval.CallResult{ID: "c2", Name: "g", Text: "no such order", Failed: true}},
	))
	return r
}

// The model's own turn goes back as it came, and results go with the ids of their calls, in order.
func TestToolLoopsAreSent(t *testing.T) {
	t.Parallel()
	message := `{"role":"assistant","content":null,"tool_calls":[{"id":"c1","type":"function",` +
		`"function":{"name":"f","arguments":"{\"n\": 1.0}"}}]}`
	r := loop(raw(message))
	bodies{`{"model":"m","messages":[{"role":"user","content":"Hi"},` + message + `,
{"role":"tool","tool_call_id":"c1","content":"shipped"},
{"role":"tool","tool_call_id":"c2","content":"{\"error\":\"no such order\"}"}]}`}.check(t, &r)
	think, call := `{"type":"reasoning","id":"r1","summary":[]}`, `{"type":"function_call","call_id":"c1","name":"f","arguments":"{}"}`
	r = loop(raw(think), raw(call))
	bodies{1: `{"model":"m","input":[{"role":"user","content":"Hi"},` + think + `,` + call + `,
{"type":"function_call_output","call_id":"c1","output":"shipped"},
{"type":"function_call_output","call_id":"c2","output":"{\"error\":\"no such order\"}"}]}`}.check(t, &r)
	think, call = `{"type":"thinking","thinking":"so","signature":"s"}`, `{"type":"tool_use","id":"c1","name":"f","input":{"n":1.0}}`
	r = loop(raw(think), raw(call))
	bodies{2: `{"model":"m","max_tokens":4096,"messages":[{"role":"user","content":"Hi"},
{"role":"assistant","content":[` + think + `,` + call + `]},{"role":"user","content":[
{"type":"tool_result","tool_use_id":"c1","content":"shipped"},
{"type":"tool_result","tool_use_id":"c2","content":"no such order","is_error":true}]}]}`}.check(t, &r)
	r.Contents = r.Contents[:2]
	r.Contents[1].Parts = []eval.Part{raw(`{"type":"tool_use","id":"c1","name":"f","input":"{\"n\":"}`)}
	bodies{2: `{"model":"m","max_tokens":4096,"messages":[{"role":"user","content":"Hi"},
{"role":"assistant","content":[{"id":"c1","input":{"invalidJSON":"{\"n\":"},"name":"f","type":"tool_use"}]}]}`}.check(t, &r)
}

// Some servers refuse what their own models thought, and others want it back with the calls of tools.
func TestThoughtsGoBackAsTheServiceWantsThem(t *testing.T) {
	t.Parallel()
	thought := func(name string) string { return `{"role":"assistant","` + name + `":"so","content":"a"}` }
	r := loop(raw(thought("reasoning")))
	r.Contents = append([]eval.Content{
		user(say("Hi")), {Role: eval.RoleModel, Parts: []eval.Part{raw(thought("reasoning_content"))}},
	}, r.Contents...)
	for resend, want := range map[string][]bool{ResendAlways: {true, true}, ResendNever: {false, false}, resendInLoop: {false, true}} {
		body := string(OpenAI().Body(&r, options{Resend: resend}))
		got := []bool{strings.Contains(body, thought("reasoning_content")), strings.Contains(body, thought("reasoning"))}
		expect.Same(t, "which thoughts go back: "+resend, got, want)
		expect.Same(t, "the answers that go back", strings.Count(body, `"content":"a"`), 2)
	}
}

func TestToolsAreSent(t *testing.T) {
	t.Parallel()
	r := plain()
	r.Tools = []eval.Declaration{{Name: "f", Description: "d", Parameters: json.RawMessage(`{"type":"object"}`)}, {Name: "g"}}
	names := map[string][3]string{
		"auto": {`"auto"`, `"auto"`, `{"type":"auto"}`}, "none": {`"none"`, `"none"`, `{"type":"none"}`},
		"required": {`"required"`, `"required"`, `{"type":"any"}`},
		"f":        {`{"type":"function","function":{"name":"f"}}`, `{"type":"function","name":"f"}`, `{"type":"tool","name":"f"}`},
	}
	for word, want := range names {
		r.ToolChoice = &eval.Choice{Mode: eval.ChoiceMode(word)}
		if word == "f" {
			r.ToolChoice = &eval.Choice{Name: word}
		}
		bodies{
			`{"model":"m","messages":[{"role":"user","content":"Hi"}],"tools":[
{"type":"function","function":{"name":"f","description":"d","parameters":{"type":"object"}}},
{"type":"function","function":{"name":"g"}}],"tool_choice":` + want[0] + `}`,
			`{"model":"m","input":[{"role":"user","content":"Hi"}],"tools":[
{"type":"function","name":"f","description":"d","parameters":{"type":"object"},"strict":false},
{"type":"function","name":"g","parameters":{"type":"object","properties":{}},"strict":false}],"tool_choice":` + want[1] + `}`,
			`{"model":"m","max_tokens":4096,"messages":[{"role":"user","content":"Hi"}],"tools":[
{"name":"f","description":"d","input_schema":{"type":"object"}},
{"name":"g","input_schema":{"type":"object","properties":{}}}],"tool_choice":` + want[2] + `}`,
		}.check(t, &r)
	}
}

func TestFilesAreSent(t *testing.T) {
	t.Parallel()
	r := plain()
	r.Contents = []eval.Content{user(say("See:"), eval.ImagePart{Image: file("image/png")}, eval.DataPart{Data: file("application/pdf")})}
	bodies{
		`{"model":"m","messages":[{"role":"user","content":[{"type":"text","text":"See:"},
{"type":"image_url","image_url":{"url":"data:image/png;base64,Ynl0ZXM="}},
{"type":"file","file":{"filename":"a.bin","file_data":"data:application/pdf;base64,Ynl0ZXM="}}]}]}`,
		`{"model":"m","input":[{"role":"user","content":[{"type":"input_text","text":"See:"},
{"type":"input_image","image_url":"data:image/png;base64,Ynl0ZXM="},
{"type":"input_file","filename":"a.bin","file_data":"data:application/pdf;base64,Ynl0ZXM="}]}]}`,
		`{"model":"m","max_tokens":4096,"messages":[{"role":"user","content":[{"type":"text","text":"See:"},
{"type":"image","source":{"type":"base64","media_type":"image/png","data":"Ynl0ZXM="}},
{"type":"document","source":{"type":"base64","media_type":"application/pdf","data":"Ynl0ZXM="}}]}]}`,
	}.check(t, &r)
	r.Contents = []eval.Content{user(eval.DataPart{Data: file("audio/mpeg")}, raw(`{"type":"image_url","image_url":{"url":"u"}}`))}
	bodies{`{"model":"m","messages":[{"role":"user","content":[{"type":"input_audio","input_audio":{"data":"Ynl0ZXM=","format":"mp3"}},
{"type":"image_url","image_url":{"url":"u"}}]}]}`}.check(t, &r)
}

// What the suite adds at the top level is sent as it is. It replaces what evalrun would send, and null removes that.
func TestExtraFieldsAreSent(t *testing.T) {
	t.Parallel()
	r := plain()
	r.Stream = true
	r.Extra = eval.Extra{"user": json.RawMessage(`"u"`), "stream_options": json.RawMessage("null"), "top_k": json.RawMessage("5")}
	bodies{`{"model":"m","messages":[{"role":"user","content":"Hi"}],"stream":true,"top_k":5,"user":"u"}`}.check(t, &r)
	r.Extra = eval.Extra{"stream_options": json.RawMessage(`{"x":1}`)}
	bodies{`{"model":"m","messages":[{"role":"user","content":"Hi"}],"stream":true,"stream_options":{"x":1}}`}.check(t, &r)
}

func keys(t *testing.T, p Protocol, r *eval.Request) string {
	t.Helper()
	err := p.Check(r)
	if err == nil {
		return ""
	}
	var out []string
	for _, one := range err.(Refusals) {
		out = append(out, strings.TrimPrefix(one.Key, "generationConfig."))
		if one.Why == "" || !strings.Contains(err.Error(), one.Why) {
			t.Errorf("%s: %q says nothing of %+v, want a part that names it", p.Name, err, one)
		}
	}
	return strings.Join(out, " ")
}

func TestWhatAProtocolCannotExpressIsReportedAtOnce(t *testing.T) {
	t.Parallel()
	config := func(extra string) *eval.GenerationConfig {
		var c eval.GenerationConfig
		expect.OK(t, json.Unmarshal([]byte(extra), &c))
		return &c
	}
	for given, want := range map[string][3]string{
		`{"topK":5}`: {"topK", "topK", ""}, `{"seed":1}`: {"", "seed", "seed"}, `{"stopSequences":["x"]}`: {"", "stopSequences", ""},
		`{"presencePenalty":1,"frequencyPenalty":1}`: {"", "presencePenalty frequencyPenalty", "presencePenalty frequencyPenalty"},
		`{"candidateCount":3}`:                       {"", "candidateCount", "candidateCount"}, `{"temperature":1.5}`: {"", "", "temperature"},
		`{"mediaResolution":"LOW"}`:                  {"mediaResolution", "mediaResolution", "mediaResolution"},
		`{"responseMimeType":"text/x.enum"}`:         {"responseMimeType", "responseMimeType", "responseMimeType"},
		`{"responseMimeType":"application/json"}`:    {"", "", "responseMimeType"},
		`{"thinkingConfig":{"thinkingBudget":2048}}`: {"thinkingConfig.thinkingBudget", "thinkingConfig.thinkingBudget", ""},
		`{"thinkingConfig":{"thinkingBudget":10}}`: {
			"thinkingConfig.thinkingBudget", "thinkingConfig.thinkingBudget", "thinkingConfig.thinkingBudget",
		},
		`{"thinkingConfig":{"thinkingBudget":9000}}`: {
			"thinkingConfig.thinkingBudget", "thinkingConfig.thinkingBudget", "thinkingConfig.thinkingBudget",
		},
		`{"thinkingConfig":{"includeThoughts":true}}`:   {"thinkingConfig.includeThoughts", "", "thinkingConfig.thinkingBudget"},
		`{"thinkingConfig":{"x":1}}`:                    {"thinkingConfig.x", "thinkingConfig.x", "thinkingConfig.x"},
		`{"seed":"a","candidateCount":"b","topP":0.5}`:  {"candidateCount", "candidateCount seed", "candidateCount seed"},
		`{"thinkingConfig":{"thinkingLevel":"high"}}`:   {"", "", ""},
		`{"responseMimeType":"text/plain","topP":0.25}`: {"", "", ""},
	} {
		r := plain()
		r.GenerationConfig = config(given)
		for i, p := range all() {
			expect.Same(t, string(p.Name)+" of "+given, keys(t, p, &r), want[i])
		}
	}
}

func TestPartsThatAProtocolCannotExpressAreReported(t *testing.T) {
	t.Parallel()
	for mime, want := range map[string][3]string{
		"video/mp4": {"data", "data", "data"}, "audio/wav": {"", "data", "data"}, "audio/ogg": {"data", "data", "data"},
		"application/pdf": {"", "", ""},
	} {
		r := plain()
		r.Contents = []eval.Content{user(eval.DataPart{Data: file(mime)})}
		for i, p := range all() {
			expect.Same(t, string(p.Name)+" of "+mime, keys(t, p, &r), want[i])
		}
	}
	r := plain()
	r.Contents = []eval.Content{
		user(eval.ImagePart{Image: file("image/heic")}),
		{Role: eval.RoleModel, Parts: []eval.Part{eval.ImagePart{Image: file("image/png")}}},
	}
	r.SafetySettings = []eval.SafetySetting{{Category: "c", Threshold: "t"}}
	for i, want := range []string{"safetySettings image", "safetySettings image", "safetySettings image image"} {
		expect.Same(t, string(all()[i].Name), keys(t, all()[i], &r), want)
	}
}

// The protocols are found by their words, and none writes a field twice that a suite may add.
func TestProtocolsAreFoundByName(t *testing.T) {
	t.Parallel()
	for _, name := range []eval.ProtocolName{eval.OpenAI, eval.Responses, eval.Anthropic} {
		p, ok := Named(name)
		expect.Same(t, string(name), []any{p.Name, ok}, []any{name, true})
		for _, field := range p.Published() {
			if ofPrompt, others := p.Owned(); ofPrompt[field]+others[field] != "" {
				t.Errorf("%s: `%s`: got it from a suite, want evalrun alone to set it", name, field)
			}
		}
	}
	if _, ok := Named("generative"); ok {
		t.Error("got a protocol for `generative`, want none: it is the service's own")
	}
}

// FuzzBody checks that what is sent is JSON with the texts in it, whatever they are.
func FuzzBody(f *testing.F) {
	for _, s := range hostile.Strings() {
		f.Add(s, s)
	}
	f.Fuzz(func(t *testing.T, a, b string) {
		r := loop(say(a), eval.ImagePart{Image: file(b)})
		r.System, r.Tools, r.ToolChoice = b, []eval.Declaration{{Name: a, Description: b}}, &eval.Choice{Name: a}
		r.GenerationConfig = &eval.GenerationConfig{StopSequences: []string{a}}
		r.Contents[2].Parts[0].(eval.ResultPart).Result.Text = b
		for _, p := range all() {
			body := p.Body(&r, options{})
			var sent map[string]any
			expect.OK(t, json.Unmarshal(body, &sent))
			text, err := json.Marshal(string([]rune(b)))
			expect.OK(t, err)
			var second any
			expect.OK(t, json.Unmarshal(text, &second))
			if !contains(sent, second) {
				t.Errorf("%s: got no %s in %s, want it", p.Name, text, body)
			}
		}
	})
}

func contains(in, want any) bool {
	switch in := in.(type) {
	case map[string]any:
		for _, v := range in {
			if contains(v, want) {
				return true
			}
		}
	case []any:
		for _, v := range in {
			if contains(v, want) {
				return true
			}
		}
	}
	text, isText := in.(string)
	return isText && text == want
}
