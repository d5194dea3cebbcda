package reports

import (
	"strings"

	"github.com/aymanbagabas/go-udiff"

	"github.com/evalrun/evalrun/internal/text"
)

// maxDiffLines is the most lines of a diff of two answers.
const maxDiffLines = 8

// answerDiff is a line diff of two texts: - before, + after.
func answerDiff(base, head string) []string {
	const most = 1 << 16 // no reader needs more, and comparing is slow
	base, head = text.CutText(base, most), text.CutText(head, most)
	diff := udiff.Unified("", "", base+"\n", head+"\n")
	var out []string
	for _, line := range strings.Split(diff, "\n") {
		if !isChange(line) {
			continue
		}
		if len(out) == maxDiffLines {
			return append(out, "...")
		}
		out = append(out, line[:1]+" "+line[1:])
	}
	return out
}

// isChange reports whether a line of a unified diff is an added or removed one.
func isChange(line string) bool {
	heading := strings.HasPrefix(line, "---") || strings.HasPrefix(line, "+++")
	return !heading && (strings.HasPrefix(line, "+") || strings.HasPrefix(line, "-"))
}
