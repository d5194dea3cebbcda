package scorers

import (
	"cmp"
	"strings"
)

// fencedBlock is the first fenced block of a text whose info string begins with the word (in whatever case), without
// the line break before the closing fence. An empty word takes any block. Fences are CommonMark's (spec 0.31, 4.5),
// but may be indented as far as they like, as inside lists; a block without an end goes to the end of the text.
func fencedBlock(text, word string) (string, bool) {
	var block []string
	var fence string
	indent := 0
	open, wanted := false, false
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, "\r\n")
		if !open {
			var info string
			if indent, fence, info, open = openFence(line); open {
				first, _, _ := strings.Cut(strings.ReplaceAll(info, "\t", " "), " ")
				wanted = strings.EqualFold(first, cmp.Or(word, first))
			}
			continue
		}
		if isClosing(line, fence) {
			if wanted {
				return strings.Join(block, "\n"), true
			}
			open = false
			continue
		}
		if wanted {
			block = append(block, unindented(line, indent))
		}
	}
	return strings.Join(block, "\n"), open && wanted
}

// openFence reads a line that opens a block: its indentation, the fence, and the info string behind that.
func openFence(line string) (indent int, fence, info string, ok bool) {
	rest := strings.TrimLeft(line, " \t")
	if !strings.HasPrefix(rest, "```") && !strings.HasPrefix(rest, "~~~") {
		return 0, "", "", false
	}
	info = strings.TrimLeft(rest, rest[:1])
	fence = rest[:len(rest)-len(info)]
	return len(line) - len(rest), fence, strings.Trim(info, " \t"), fence[0] == '~' || !strings.Contains(info, "`")
}

// isClosing: a closing fence is at least as long as the one that it closes, and alone in its line.
func isClosing(line, fence string) bool {
	line = strings.Trim(line, " \t")
	return len(line) >= len(fence) && strings.Trim(line, fence[:1]) == ""
}

// unindented is the line without so much white space before it, or as much of it as there is.
func unindented(line string, n int) string {
	blank := len(line) - len(strings.TrimLeft(line, " \t"))
	return line[min(n, blank):]
}

// unfenced is the first fenced block of a text, or the text when there is none.
func unfenced(text string) string {
	if block, ok := fencedBlock(text, ""); ok {
		return block
	}
	return text
}
