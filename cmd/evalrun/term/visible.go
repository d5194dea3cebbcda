package term

import (
	"bytes"
	"fmt"
	"io"
	"slices"
	"sync"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/evalrun/evalrun/diag"
)

// Visible is a stream that writes characters that reorder or hide text as \uXXXX. Colours and line ends stay.
type Visible struct {
	W io.Writer

	mu   sync.Mutex
	rest []byte // the beginning of a character whose other bytes come with the next Write
}

func (v *Visible) Write(p []byte) (int, error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	data := slices.Concat(v.rest, p)
	whole := len(data) - len(partial(data))
	v.rest = bytes.Clone(data[whole:])
	if _, err := v.W.Write(visible(data[:whole])); err != nil {
		return 0, err
	}
	return len(p), nil
}

// Close writes a character that was never completed.
func (v *Visible) Close() error {
	v.mu.Lock()
	defer v.mu.Unlock()
	_, err := v.W.Write(visible(v.rest))
	v.rest = nil
	return err
}

// partial returns the bytes at the end of data that may be the beginning of a character.
func partial(data []byte) []byte {
	for n := 1; n < utf8.UTFMax && n <= len(data); n++ {
		if end := data[len(data)-n:]; utf8.RuneStart(end[0]) {
			if utf8.FullRune(end) {
				return nil
			}
			return end
		}
	}
	return nil
}

func visible(data []byte) []byte {
	if !bytes.ContainsFunc(data, func(r rune) bool { return r >= 0x7f }) {
		return data
	}
	out := make([]byte, 0, len(data)+16)
	for len(data) > 0 {
		r, size := utf8.DecodeRune(data)
		switch {
		case r == utf8.RuneError && size == 1:
			out = fmt.Appendf(out, `\x%02x`, data[0])
		case r < 0x7f || diag.Plain(r):
			out = append(out, data[:size]...)
		default:
			for _, unit := range utf16.Encode([]rune{r}) {
				out = fmt.Appendf(out, `\u%04x`, unit)
			}
		}
		data = data[size:]
	}
	return out
}
