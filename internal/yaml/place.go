package yaml

import (
	"strings"
	"unicode/utf8"

	"github.com/evalrun/evalrun/diag"
)

// Offset returns the position of byte i of Str in the file. If it cannot match the text with the source, it
// returns the beginning of the scalar.
func (n Node) Offset(i int) diag.Pos {
	y, pos := n.resolve(), n.d.pos(n.resolve())
	if i < 0 || i > len(y.Value) || n.d.at != nil {
		return pos
	}
	// Value and source differ in indentation, line breaks, quotes and escapes. So this looks for the word
	// at i, which occurs in the source as often before it.
	word := y.Value[i:]
	if end := strings.IndexAny(word, " \t\r\n}|\"'\\"); end > 0 {
		word = word[:end]
	}
	before := strings.Count(y.Value[:i], word)
	source := n.d.from(pos.Line)
	if start := byteOfColumn(source, pos.Col); start < len(source) {
		if at := nthIndex(source[start:], word, before+1); at >= 0 {
			return advance(pos, source[start:start+at])
		}
	}
	return pos
}

// from returns the source from the beginning of a line.
func (d *doc) from(line int) string {
	if d.starts == nil {
		d.starts = []int{0}
		for i, c := range d.src {
			if c == '\n' {
				d.starts = append(d.starts, i+1)
			}
		}
	}
	if line < 1 || line > len(d.starts) {
		return ""
	}
	return string(d.src[d.starts[line-1]:min(len(d.src), d.starts[line-1]+maxScalarSource)])
}

// maxScalarSource bounds the source that is searched for a position inside a scalar, in bytes.
const maxScalarSource = 1 << 18

func byteOfColumn(text string, col int) int {
	for i := range text {
		if col--; col == 0 {
			return i
		}
	}
	return len(text)
}

// nthIndex returns the offset of the n-th occurrence of word, -1 if there are fewer.
func nthIndex(text, word string, n int) int {
	at := 0
	for {
		i := strings.Index(text[at:], word)
		if i < 0 {
			return -1
		}
		if n--; n == 0 {
			return at + i
		}
		at += i + len(word)
	}
}

func advance(pos diag.Pos, text string) diag.Pos {
	if lines := strings.Count(text, "\n"); lines > 0 {
		pos.Line += lines
		pos.Col = 1
		text = text[strings.LastIndexByte(text, '\n')+1:]
	}
	pos.Col += utf8.RuneCountInString(text)
	return pos
}
