package text

import (
	"testing"
	"unicode/utf8"

	"github.com/evalrun/evalrun/internal/testing/expect"
	"github.com/evalrun/evalrun/internal/testing/hostile"
)

// The beginning of a text is whole characters, and never longer than the limit.
func TestCutTextKeepsCharactersWhole(t *testing.T) {
	t.Parallel()
	expect.Same(t, "a short text", CutText("日本", 6), "日本")
	expect.Same(t, "a cut character", CutText("日本", 5), "日")
	expect.Same(t, "nothing left", CutText("日本", 2), "")
	for _, text := range hostile.Strings() {
		for most := range 9 {
			got := CutText(text, most)
			if len(got) > most || utf8.ValidString(text) && !utf8.ValidString(got) {
				t.Errorf("%q cut at %d is %q, want at most that many bytes of UTF-8", text, most, got)
			}
		}
	}
}
