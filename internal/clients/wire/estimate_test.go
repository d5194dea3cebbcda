package wire

import (
	"testing"

	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/testing/expect"
)

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
