package estimate

import (
	"testing"

	"github.com/evalrun/evalrun/eval"
)

func TestEstimates(t *testing.T) {
	t.Parallel()
	contents := []eval.Content{{Parts: []eval.Part{{Text: "12345"}, {Image: &eval.Image{}}}}}
	if got := Prompt(contents); got != 2+TokensPerImage {
		t.Error(got)
	}
	if Tokens(0) != 0 || Tokens(4) != 1 || Tokens(5) != 2 {
		t.Error("bytes / 4, rounded up")
	}
}
