package eval

import (
	"encoding/json"
	"reflect"
	"testing"

	"github.com/evalrun/evalrun/internal/testing/expect"
	"github.com/evalrun/evalrun/internal/wirejson"
)

func TestARequestReadsBackAsItWasWritten(t *testing.T) {
	t.Parallel()
	zero, k := 0.0, 3
	in := Request{
		Contents: []Content{
			{
				Role: "user",
				Parts: []Part{
					TextPart{Text: "<a>\u2028"},
					TextPart{Text: ""},
					ImagePart{Image: &Image{Path: "x.png", MIMEType: "image/png", SHA256: "00", Bytes: 3, Data: []byte("abc")}},
				},
			},
		},
		GenerationConfig: &GenerationConfig{
			Temperature: &zero, TopK: &k, Extra: map[string]json.RawMessage{"candidateCount": json.RawMessage("2"), "b": json.RawMessage(`"x"`)},
		},
	}
	data, err := wirejson.Marshal(in)
	expect.OK(t, err)
	want := `{"contents":[{"role":"user","parts":[{"text":"<a>\u2028"},{},` +
		`{"image":{"path":"x.png","mimeType":"image/png","sha256":"00","bytes":3}}]}],` +
		`"generationConfig":{"temperature":0,"topK":3,"b":"x","candidateCount":2}}`
	if string(data) != want {
		t.Errorf("got  %s\nwant %s", data, want)
	}
	var out Request
	expect.OK(t, json.Unmarshal(data, &out))
	second, err := wirejson.Marshal(out)
	expect.OK(t, err)
	expect.Same(t, "written again", string(second), want)
}

// Files may have no list of parts, null, an empty list or null in it: all are read as they always were, by both decoders.
func TestMissingPartsAreRead(t *testing.T) {
	t.Parallel()
	type both struct {
		Turn   Content
		Answer Candidate
	}
	for parts, want := range map[string]both{
		``:               {},
		`"parts":null`:   {},
		`"parts":[]`:     {Content{Parts: []Part{}}, Candidate{Pieces: []Piece{}}},
		`"parts":[null]`: {Content{Parts: []Part{TextPart{}}}, Candidate{Pieces: []Piece{TextPiece{}}}},
		`"PARTS":[{"Text":"a"},{},{"text":"b"}]`: {
			Content{Parts: []Part{TextPart{Text: "a"}, TextPart{}, TextPart{Text: "b"}}},
			Candidate{Pieces: []Piece{TextPiece{Text: "a"}, TextPiece{}, TextPiece{Text: "b"}}},
		},
	} {
		data := []byte(`{"turn":{` + parts + `},"answer":{` + parts + `}}`)
		var fast, slow both
		expect.OK(t, wirejson.DecodeAnyCase(data, &fast))
		expect.OK(t, json.Unmarshal(data, &slow))
		if !reflect.DeepEqual(fast, want) || !reflect.DeepEqual(slow, want) {
			t.Errorf("%s: got %#v and %#v, want %#v", data, fast, slow, want)
		}
	}
}

func TestOnlyReasonsOfBlocksAreBlocks(t *testing.T) {
	t.Parallel()
	for reason, blocked := range map[string]bool{
		"SAFETY": true, "RECITATION": true, "BLOCKLIST": true, "PROHIBITED_CONTENT": true, "SPII": true,
		"STOP": false, "MAX_TOKENS": false, "OTHER": false, "": false,
	} {
		r := Response{Candidates: []Candidate{{FinishReason: reason}}}
		if (r.Blocked() != "") != blocked {
			t.Errorf("%s: %q, want one exactly for what is blocked", reason, r.Blocked())
		}
	}
	for reason, blocked := range map[string]bool{"SAFETY": true, "NEW_ONE": true, "": false, "BLOCK_REASON_UNSPECIFIED": false, "0": false} {
		r := Response{PromptFeedback: &PromptFeedback{BlockReason: reason}}
		if (r.PromptBlock() != "") != blocked {
			t.Errorf("%s: %q, want one exactly for what is blocked", reason, r.PromptBlock())
		}
	}
}

func TestAModelIsFoundByItsVersionOfTheInterface(t *testing.T) {
	t.Parallel()
	run := Run{Models: []Model{{Name: "models/m", APIVersion: "v1", Version: "1"}, {Name: "models/m", APIVersion: "v1beta", Version: "2"}}}
	if m := run.Model(&RunTarget{Model: "m", APIVersion: "v1beta"}); m == nil || m.Version != "2" {
		t.Errorf("%+v, want the model of the version 2", m)
	}
}

func TestThoughtsInATextAreNoAnswer(t *testing.T) {
	t.Parallel()
	for text, want := range map[string][2]string{
		"<think>\nParis? Yes.\n</think>\n\nParis": {"Paris? Yes.", "Paris"},
		" <thinking>a</thinking>b":                {"a", "b"},
		"<think></think>b":                        {"", "b"},
		"so it is</think>\nParis":                 {"so it is", "Paris"},
		"<think>cut":                              {"", "<think>cut"},
		"Paris <think>a</think>":                  {"", "Paris <think>a</think>"},
		"<think>a</thinking>b":                    {"", "<think>a</thinking>b"},
		"a </b> c":                                {"", "a </b> c"},
		"<think>a</think>b</think>c":              {"a", "b</think>c"},
	} {
		thought, rest := cutThoughts(text)
		expect.Same(t, text, [2]string{thought, rest}, want)
	}
	call := CallPiece{&FunctionCall{Name: "f"}}
	r := &Response{Candidates: []Candidate{
		{Text: "<think>a</think>b", Raw: []byte("{}")},
		{Text: "<think>a</think>bc", Pieces: pieceList{TextPiece{"<think>a"}, call, TextPiece{"</think>b"}, TextPiece{"c"}}},
		{Text: "b"},
	}}
	got := r.WithoutThoughts()
	expect.Same(t, "the texts", []string{got.Candidates[0].Text, got.Candidates[1].Text, got.Candidates[2].Text}, []string{"b", "bc", "b"})
	expect.Same(t, "the parts", got.Candidates[0].Pieces, pieceList{ReasoningPiece{"a"}, TextPiece{"b"}})
	expect.Same(t, "parts in between", got.Candidates[1].Pieces, pieceList{ReasoningPiece{"a"}, call, TextPiece{"b"}, TextPiece{"c"}})
	expect.Same(t, "again", got.WithoutThoughts(), got)
	blocked := &Response{Candidates: []Candidate{}}
	expect.Same(t, "without candidates", blocked.WithoutThoughts(), blocked)
}
