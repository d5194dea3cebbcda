package reports

import (
	"strings"

	"github.com/aymanbagabas/go-udiff"
)

// maxDiffLines is how much of two answers is shown.
const maxDiffLines = 8

// answerDiff shows what changed between two texts, line by line: - before, + after.
func answerDiff(base, head string) []string {
	const most = 1 << 16 // nobody reads more, and comparing takes long
	base, head = cutText(base, most), cutText(head, most)
	diff := udiff.Unified("", "", base+"\n", head+"\n")
	var out []string
	for _, line := range strings.Split(diff, "\n") {
		if strings.HasPrefix(line, "---") || strings.HasPrefix(line, "+++") || strings.HasPrefix(line, "@@") || !strings.HasPrefix(line, "+") && !strings.HasPrefix(line, "-") {
			continue
		}
		if len(out) == maxDiffLines {
			return append(out, "...")
		}
		out = append(out, line[:1]+" "+line[1:])
	}
	return out
}

func cutText(s string, most int) string {
	if len(s) <= most {
		return s
	}
	return strings.ToValidUTF8(s[:most], "")
}
