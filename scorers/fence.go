package scorers

import (
	"cmp"
	"strings"
)

// fencedBlock is the first fenced block of a text whose info string begins with the word, ignoring case, without
// its last line break. An empty word accepts any block. Fences follow CommonMark (spec 0.31, 4.5), but may have
// any indentation, as inside lists; an unclosed block extends to the end of the text.
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

// openFence parses an opening fence: its indentation, the fence, and the info string after it.
func openFence(line string) (indent int, fence, info string, ok bool) {
	rest := strings.TrimLeft(line, " \t")
	if !strings.HasPrefix(rest, "```") && !strings.HasPrefix(rest, "~~~") {
		return 0, "", "", false
	}
	info = strings.TrimLeft(rest, rest[:1])
	fence = rest[:len(rest)-len(info)]
	return len(line) - len(rest), fence, strings.Trim(info, " \t"), fence[0] == '~' || !strings.Contains(info, "`")
}

// isClosing reports a closing fence: at least as long as the opening one, and alone on its line.
func isClosing(line, fence string) bool {
	line = strings.Trim(line, " \t")
	return len(line) >= len(fence) && strings.Trim(line, fence[:1]) == ""
}

// unindented removes up to n characters of leading white space.
func unindented(line string, n int) string {
	blank := len(line) - len(strings.TrimLeft(line, " \t"))
	return line[min(n, blank):]
}

// unfenced is the first fenced block of a text, or the whole text without one.
func unfenced(text string) string {
	if block, ok := fencedBlock(text, ""); ok {
		return block
	}
	return text
}
