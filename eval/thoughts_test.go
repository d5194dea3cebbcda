package eval

import (
	"testing"

	"github.com/evalrun/evalrun/internal/testing/expect"
)

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
