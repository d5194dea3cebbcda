package reports

import (
	"fmt"
	"io"
	"strings"

	"github.com/aymanbagabas/go-udiff"

	"github.com/evalrun/evalrun/diag"
	"github.com/evalrun/evalrun/internal/overview"
)

// maxDiffLines is how much of two answers is shown.
const maxDiffLines = 8

// answerDiff shows what changed between two texts, line by line: - before, + after.
func answerDiff(base, head string) []string {
	const most = 1 << 16 // nobody reads more, and comparing takes long
	base, head = overview.CutText(base, most), overview.CutText(head, most)
	diff := udiff.Unified("", "", base+"\n", head+"\n")
	var out []string
	for _, line := range strings.Split(diff, "\n") {
		if strings.HasPrefix(line, "---") || strings.HasPrefix(line, "+++") || strings.HasPrefix(line, "@@") ||
			!strings.HasPrefix(line, "+") && !strings.HasPrefix(line, "-") {
			continue
		}
		if len(out) == maxDiffLines {
			return append(out, "...")
		}
		out = append(out, line[:1]+" "+line[1:])
	}
	return out
}

// Bounds of a diff that is shown in full: how much of two texts is compared, how many lines are shown, and how much of each.
const maxFullDiff, maxFullLines, maxFullLine = 1 << 20, 400, 2000

// Diff shows what changed between two texts with the lines around, as `diff -u` does but for the names of files. A text that is nil is a
// file that is not there.
func Diff(w io.Writer, before, after *string, color bool) error {
	whole := func(text *string) string {
		if text == nil {
			return ""
		}
		return overview.CutText(*text, maxFullDiff) + "\n"
	}
	lines := strings.Split(strings.TrimSuffix(udiff.Unified("", "", whole(before), whole(after)), "\n"), "\n")
	lines = lines[min(2, len(lines)):] // which name the files
	for i, line := range lines {
		if i == maxFullLines {
			_, err := fmt.Fprintf(w, "... and %s\n", diag.Count(len(lines)-i, "line"))
			return err
		}
		shown := diag.Clean(overview.CutText(line, maxFullLine))
		if len(line) > maxFullLine {
			shown += "..."
		}
		if code := diffColors[line[:min(1, len(line))]]; color && code != "" {
			shown = "\x1b[" + code + "m" + shown + "\x1b[0m"
		}
		if _, err := fmt.Fprintln(w, shown); err != nil {
			return err
		}
	}
	if len(lines) == 0 {
		_, err := fmt.Fprintf(w, "they differ after the first %d bytes\n", maxFullDiff)
		return err
	}
	return nil
}

var diffColors = map[string]string{"+": "32", "-": "31", "@": "36"}
