package term

import (
	"bytes"
	"testing"

	"github.com/evalrun/evalrun/internal/testing/expect"
)

// However a text is cut into writes, hidden characters show and all others stay.
func TestHiddenCharactersShowOnAStream(t *testing.T) {
	t.Parallel()
	const text = "\x1b[1mé\x1b[0m \u202eab\u200d\u0085\U000E0041 \u65e5\ufffd \x9b\n\xe2\x80"
	const want = "\x1b[1mé\x1b[0m \\u202eab\u200d\\u0085\\udb40\\udc41 \u65e5\ufffd \\x9b\n\\xe2\\x80"
	for size := 1; size <= len(text); size++ {
		var out bytes.Buffer
		v := &Visible{W: &out}
		for rest := []byte(text); len(rest) > 0; {
			n, err := v.Write(rest[:min(size, len(rest))])
			expect.OK(t, err)
			rest = rest[n:]
		}
		expect.OK(t, v.Close())
		expect.Same(t, "shown", out.String(), want)
	}
}
