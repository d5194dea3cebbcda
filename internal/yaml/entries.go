package yaml

import (
	"bytes"
	"regexp"
)

// blockHeader matches the rest of a line that begins a block text, after the indicator of its key or item: properties, the style with
// its indicators, and a comment.
var blockHeader = regexp.MustCompile(`[:?-][ \t]+(?:[&!][^ \t]+[ \t]+)*[|>][-+1-9]{0,2}[ \t]*(?:[ \t]#.*)?\r?$`)

// entries bounds how many values a file has, by its lines and commas. Those of block texts hold none. Where it is in doubt whether
// lines are a block text, they count: a text that only looks like a block in quotes has no values in its lines either, and within
// brackets the parser stops at the indicator.
func entries(src []byte) (n int) {
	const outside = -1
	block := outside // indentation of the key or item whose block text the lines are
	for len(src) > 0 {
		line, rest, _ := bytes.Cut(src, []byte("\n"))
		src = rest
		if block != outside && (isBlank(line) || indentation(line) > block) {
			continue
		}
		block = outside
		n += 1 + bytes.Count(line, []byte(","))
		if isComment := bytes.Contains(line, []byte(" #")) || bytes.HasPrefix(bytes.TrimLeft(line, " "), []byte("#")); !isComment &&
			blockHeader.Match(line) {
			block = keyColumn(line)
		}
	}
	return n
}

func isBlank(line []byte) bool { return len(bytes.TrimRight(line, " \t\r")) == 0 }

func indentation(line []byte) int { return len(line) - len(bytes.TrimLeft(line, " ")) }

// keyColumn is where the key of a line begins, or its last item if it has no key.
func keyColumn(line []byte) int {
	at := indentation(line)
	for {
		rest, isItem := bytes.CutPrefix(line[at:], []byte("- "))
		text := bytes.TrimLeft(rest, " ")
		if !isItem || len(text) == 0 || bytes.IndexByte([]byte("|>&!"), text[0]) >= 0 {
			return at
		}
		at = len(line) - len(text)
	}
}
