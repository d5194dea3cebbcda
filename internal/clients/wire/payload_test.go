package wire

import (
	"bytes"
	"testing"

	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/testing/expect"
)

func TestContentsAreSentByteByByte(t *testing.T) {
	t.Parallel()
	image := &eval.Image{MIMEType: "image/png", Data: []byte{0xff, 0xfe}}
	for want, contents := range map[string][]eval.Content{
		`[]`:                            nil,
		`[{"parts":[]}]`:                {{}},
		`[{"parts":[{"text":"a\"b"}]}]`: {{Parts: []eval.Part{eval.TextPart{Text: `a"b`}}}},
		`[{"role":"user","parts":[{"text":"x"},{"inline_data":{"mime_type":"image/png","data":"//4="}}]},` +
			`{"role":"model","parts":[{"text":"y"}]}]`: {
			{Role: "user", Parts: []eval.Part{
				eval.TextPart{Text: "x"}, eval.ImagePart{Image: image},
			}}, {Role: "model", Parts: []eval.Part{eval.TextPart{Text: "y"}}},
		},
		`[{"parts":[{"inline_data":{"mime_type":"application/pdf","data":"//4="}}]}]`: {
			{Parts: []eval.Part{eval.DataPart{Data: &eval.Image{MIMEType: "application/pdf", Data: image.Data}}}},
		},
		`[{"role":"model","parts":[{"functionCall":{"name":"f"}, "thoughtSignature": "s"},{"text":"y"}]}]`: {
			{Role: "model", Parts: []eval.Part{
				eval.RawPart{Raw: []byte(`{"functionCall":{"name":"f"}, "thoughtSignature": "s"}`)}, eval.TextPart{Text: "y"},
			}},
		},
		`[{"role":"user","parts":[{"functionResponse":{"id":"c1","name":"f","response":{"a": 1}}},` +
			`{"functionResponse":{"name":"g","response":{"result":"[3]"}}},{"functionResponse":{"name":"g","response":{"error":"no"}}}]}]`: {
			{Role: "user", Parts: []eval.Part{
				eval.ResultPart{Result: &eval.CallResult{ID: "c1", Name: "f", Text: `{"a": 1}`}},
				eval.ResultPart{Result: &eval.CallResult{Name: "g", Text: "[3]"}},
				eval.ResultPart{Result: &eval.CallResult{Name: "g", Text: "no", Failed: true}},
			}},
		},
	} {
		expect.Same(t, "contents", string(Append(nil, contents)), want)
		expect.Same(t, "after what is there", string(Append([]byte("x"), contents)), "x"+want)
		expect.Same(t, "size of "+want, Size(contents), len(want))
	}
	expect.Same(t, "the image after its size was asked", image.Data, []byte{0xff, 0xfe})
}

func TestImagesAreAsLongAsPredicted(t *testing.T) {
	t.Parallel()
	for n := range 100 {
		contents := []eval.Content{
			{Parts: []eval.Part{
				eval.ImagePart{Image: &eval.Image{Data: bytes.Repeat([]byte{1}, n)}}, eval.ImagePart{Image: &eval.Image{Data: []byte("x")}},
			}},
		}
		data := Append(nil, contents)
		expect.Same(t, "size", Size(contents), len(data))
		if bytes.ContainsAny(data, "\r\n") {
			t.Errorf("an image of %d bytes: got line breaks, want none", n)
		}
	}
}

func TestTextsAndImagesAreCounted(t *testing.T) {
	t.Parallel()
	contents := []eval.Content{
		{Role: "user", Parts: []eval.Part{eval.TextPart{Text: "日本"}, eval.ImagePart{Image: &eval.Image{Data: []byte("123")}}}},
		{Role: "model", Parts: []eval.Part{
			eval.TextPart{Text: "abc"}, eval.ImagePart{Image: &eval.Image{}}, eval.ImagePart{Image: &eval.Image{}},
		}},
	}
	expect.Same(t, "bytes and images", [2]int{textBytes(contents), Images(contents)}, [2]int{9, 3})
	expect.Same(t, "of nothing", [2]int{textBytes(nil), Images(nil)}, [2]int{0, 0})
	contents = []eval.Content{{Parts: []eval.Part{
		eval.DataPart{Data: &eval.Image{}},
		eval.RawPart{Raw: []byte(`{"fileData":{}}`)},
		eval.RawPart{Raw: []byte(`{"text":"x"}`)},
		eval.ResultPart{Result: &eval.CallResult{Text: "{}"}},
		eval.ImagePart{Image: &eval.Image{}},
	}}}
	expect.Same(t, "bytes, images and files", [3]int{textBytes(contents), Images(contents), Files(contents)}, [3]int{15 + 12 + 2, 1, 3})
}

// A system text and declarations make another prompt, and longer.
func TestInstructionsAreOfThePrompt(t *testing.T) {
	t.Parallel()
	plain := eval.Request{Contents: []eval.Content{{Parts: []eval.Part{eval.TextPart{Text: "abc"}}}}}
	system, tools, choice, answered := plain, plain, plain, plain
	system.System = "four"
	tools.Tools = []eval.Declaration{{Name: "f", Parameters: []byte(`{"type":"object"}`)}}
	choice.Tools, choice.ToolChoice = tools.Tools, &eval.Choice{Mode: eval.None}
	answered.Contents = []eval.Content{{Parts: []eval.Part{eval.ResultPart{Result: &eval.CallResult{Name: "f", Text: "x"}}}}}
	seen := map[string]bool{}
	for _, r := range []*eval.Request{&plain, &system, &tools, &choice, &answered} {
		seen[string(AppendPrompt(nil, r))] = true
	}
	expect.Same(t, "different prompts", len(seen), 5)
	expect.Same(t, "plain", []bool{IsPlain(&plain), IsPlain(&system), IsPlain(&tools), IsPlain(&answered)}, []bool{true, false, false, false})
	expect.Same(t, "bytes", []int{PromptBytes(&plain), PromptBytes(&system), PromptBytes(&tools)}, []int{
		3, 7, 3 + len(`[{"functionDeclarations":[{"name":"f","parameters":{"type":"object"}}]}]`),
	})
}

func TestToolChoiceIsSentInTheWordsOfTheService(t *testing.T) {
	t.Parallel()
	for want, c := range map[string]eval.Choice{
		`{"functionCallingConfig":{"mode":"AUTO"}}`:                                    {Mode: eval.Auto},
		`{"functionCallingConfig":{"mode":"NONE"}}`:                                    {Mode: eval.None},
		`{"functionCallingConfig":{"mode":"ANY"}}`:                                     {Mode: eval.Required},
		`{"functionCallingConfig":{"mode":"ANY","allowedFunctionNames":["get_time"]}}`: {Name: "get_time"},
	} {
		expect.Same(t, "choice", string(appendToolChoice(nil, &c)), want)
	}
}
