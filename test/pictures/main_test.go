package main

import (
	"encoding/xml"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/evalrun/evalrun/internal/testing/expect"
	"github.com/google/go-cmp/cmp"
)

func TestLinesKeepColoursAndColumns(t *testing.T) {
	t.Parallel()
	for in, want := range map[string][][]styledText{
		"":                      {nil},
		"a\r\nb\r\n":            {{{text: "a"}}, {{text: "b"}}},
		"50 %\r\x1b[Kdone\r\n":  {{{text: "done"}}},
		"\x1b[1;31mF\x1b[0m ok": {{{style: style{"#ff7b72", true, false}, text: "F"}, {column: 1, text: " ok"}}},
		"日本\x1b[32mx\x1b[39my":  {{{text: "日本"}, {style: style{color: "#7ee787"}, column: 4, text: "x"}, {column: 5, text: "y"}}},
		"\x1b[38;5;1mx\x1b[mz":  {{{text: "x"}, {column: 1, text: "z"}}},
		"\x1b]0;title\x07a\x00": {{{text: "a"}}},
	} {
		expect.Same(t, in, lines(in), want, cmp.AllowUnexported(styledText{}, style{}))
	}
}

// Whatever was printed, the picture is XML that loads nothing.
func FuzzDraw(f *testing.F) {
	for _, s := range []string{"", "a < b & c", "\x1b[31m</svg><script>", "\x1b[", "\xff\xfe", "שלום", "\x1b]8;;http://x\x07y"} {
		f.Add(s, s)
	}
	f.Fuzz(func(t *testing.T, title, transcript string) {
		var b strings.Builder
		draw(&b, title, lines(transcript))
		known := map[string]bool{"svg": true, "title": true, "rect": true, "circle": true, "g": true, "text": true}
		for dec := xml.NewDecoder(strings.NewReader(b.String())); ; {
			token, err := dec.Token()
			if errors.Is(err, io.EOF) {
				return
			}
			if err != nil {
				t.Fatalf("%v\n%s", err, b.String())
			}
			if start, ok := token.(xml.StartElement); ok && !known[start.Name.Local] {
				t.Fatalf("got a %s, want only known elements\n%s", start.Name.Local, b.String())
			}
		}
	})
}
