package diag

import (
	"strings"

	"github.com/clipperhouse/displaywidth"
)

// Wrap divides a text into lines of at most width columns, between words; width below 20 leaves it whole.
func Wrap(text string, width int) []string {
	if width < 20 {
		return []string{text}
	}
	var out []string
	line := ""
	for _, word := range strings.Fields(text) {
		if line != "" && displaywidth.String(line+" "+word) > width {
			out = append(out, line)
			line = ""
		}
		line = strings.TrimSpace(line + " " + word)
	}
	return append(out, line)
}
