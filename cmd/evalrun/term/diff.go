package term

import (
	"fmt"
	"io"
	"strings"

	"github.com/aymanbagabas/go-udiff"

	"github.com/evalrun/evalrun/diag"
	"github.com/evalrun/evalrun/internal/text"
)

// Bounds of a diff: bytes of both texts, lines, and characters of a line.
const maxFullDiff, maxFullLines, maxFullLine = 1 << 20, 400, 2000

// Diff writes a unified diff of two texts, without the names of files. nil is a missing file.
func Diff(w io.Writer, before, after *string, color bool) error {
	diff := udiff.Unified("", "", wholeText(before), wholeText(after))
	lines := strings.Split(strings.TrimSuffix(diff, "\n"), "\n")
	lines = lines[min(2, len(lines)):] // the first two lines name files
	var out strings.Builder
	for _, line := range lines[:min(maxFullLines, len(lines))] {
		out.WriteString(diffLine(line, color) + "\n")
	}
	switch more := len(lines) - maxFullLines; {
	case len(lines) == 0:
		fmt.Fprintf(&out, "they differ after the first %d bytes\n", maxFullDiff)
	case more > 0:
		fmt.Fprintf(&out, "... and %s\n", diag.Count(more, "line"))
	}
	_, err := io.WriteString(w, out.String())
	return err
}

func wholeText(body *string) string {
	if body == nil {
		return ""
	}
	return text.CutText(*body, maxFullDiff) + "\n"
}

func diffLine(line string, color bool) string {
	diffColors := map[string]string{"+": "32", "-": "31", "@": "36"}

	out := diag.Clean(text.CutText(line, maxFullLine))
	if len(line) > maxFullLine {
		out += "..."
	}
	if code := diffColors[line[:min(1, len(line))]]; color && code != "" {
		out = "\x1b[" + code + "m" + out + "\x1b[0m"
	}
	return out
}
