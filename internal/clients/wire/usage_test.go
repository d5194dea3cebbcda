package wire

import (
	"fmt"
	"testing"

	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/testing/expect"
)

// What the service reports stays; what it leaves out is estimated, and says so.
func TestUsageIsEstimatedWhereTheServiceIsSilent(t *testing.T) {
	t.Parallel()
	answer := func(text string, usage *eval.Usage) *eval.Response {
		return &eval.Response{Candidates: []eval.Candidate{{Text: text}, {Text: text}}, Usage: usage}
	}
	for name, test := range map[string]struct {
		response *eval.Response
		want     eval.Usage
	}{
		"all is reported": {
			answer("12345678", &eval.Usage{PromptTokens: 1, OutputTokens: 2, TotalTokens: 9, Source: eval.UsageService}),
			eval.Usage{PromptTokens: 1, OutputTokens: 2, TotalTokens: 9, Source: eval.UsageService},
		},
		"nothing is": {
			answer("12345678", nil), eval.Usage{PromptTokens: 7, OutputTokens: 4, TotalTokens: 11, Source: eval.UsageEstimated},
		},
		"the prompt alone": {
			answer("12345678", &eval.Usage{PromptTokens: 5}),
			eval.Usage{PromptTokens: 5, OutputTokens: 4, TotalTokens: 9, Source: eval.UsageEstimated},
		},
		"the prompt alone, of an answer without text": {
			answer("", &eval.Usage{PromptTokens: 5}), eval.Usage{PromptTokens: 5, TotalTokens: 5, Source: eval.UsageService},
		},
		"tools, too": {
			answer("12345678", &eval.Usage{PromptTokens: 5, ToolUseTokens: 3}),
			eval.Usage{PromptTokens: 5, OutputTokens: 4, ToolUseTokens: 3, TotalTokens: 12, Source: eval.UsageEstimated},
		},
		"a larger total": {
			answer("12345678", &eval.Usage{PromptTokens: 5, TotalTokens: 100}),
			eval.Usage{PromptTokens: 5, OutputTokens: 4, TotalTokens: 100, Source: eval.UsageEstimated},
		},
	} {
		var before eval.Usage
		if test.response.Usage != nil {
			before = *test.response.Usage
		}
		expect.Same(t, name, *Usage(&eval.Call{PromptTokens: 7}, test.response), test.want)
		if test.response.Usage != nil {
			expect.Same(t, name+": what the service reported", *test.response.Usage, before)
		}
	}
}

// Each text is rounded up for itself; tokens never shrink as texts grow.
func TestTextsAreEstimatedOneByOne(t *testing.T) {
	t.Parallel()
	expect.Same(t, "texts", Texts([]string{"1", "12345", "", "日本"}), 1+2+0+2)
	expect.Same(t, "no texts", Texts(nil), 0)
	for n := range 100 {
		if got := Tokens(n); got*4 < n || got*4 >= n+4 {
			t.Errorf("%d bytes are %d tokens, want a token for each 4 bytes, rounded up", n, got)
		}
	}
	for text, want := range map[string]int{"": 0, "1234": 1, "日本語": 3} {
		got := Prompt([]eval.Content{{Parts: []eval.Part{eval.TextPart{Text: text}}}, {Parts: []eval.Part{eval.TextPart{}}}})
		expect.Same(t, fmt.Sprintf("prompt of %q", text), got, want)
	}
	images := []eval.Content{
		{Parts: []eval.Part{eval.ImagePart{Image: &eval.Image{}}, eval.TextPart{Text: "12"}}},
		{Parts: []eval.Part{eval.ImagePart{Image: &eval.Image{}}, eval.TextPart{Text: "34"}}},
	}
	expect.Same(t, "texts of several contents, rounded up together", Prompt(images), 2*TokensPerImage+1)
}

func TestEstimatesCountAllThatIsSent(t *testing.T) {
	t.Parallel()
	contents := []eval.Content{{Parts: []eval.Part{eval.TextPart{Text: "12345"}, eval.ImagePart{Image: &eval.Image{}}}}}
	expect.Same(t, "prompt", Prompt(contents), 2+TokensPerImage)
	r := eval.Request{Contents: contents, System: "four", Tools: []eval.Declaration{{Name: "f"}}}
	declared := len(`[{"functionDeclarations":[{"name":"f"}]}]`)
	if got, want := Request(&r), Tokens(9+declared)+TokensPerImage; got != want {
		t.Errorf("%d with a system text and a tool, want %d", got, want)
	}
	if Tokens(0) != 0 || Tokens(4) != 1 || Tokens(5) != 2 {
		t.Errorf("got %d, %d and %d tokens for 0, 4 and 5 bytes; want 0, 1 and 2", Tokens(0), Tokens(4), Tokens(5))
	}
}
