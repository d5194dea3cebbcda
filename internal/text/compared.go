package text

import "strings"

// The labels of a compared text, of one width.
const wantLabel, gotLabel = "expected: ", "actual:   "

// Compared is an expected text over the actual one, as the diff of a score has them.
func Compared(want, got string) string { return wantLabel + want + "\n" + gotLabel + got }

// CutCompared is the two texts of Compared again; false for another text. Run files keep a diff as one text, in which scorers
// write other forms too, such as the lines of a JSON diff. An expected text with the second label at the beginning of a line
// is cut there.
func CutCompared(text string) (want, got string, ok bool) {
	want, got, ok = strings.Cut(text, "\n"+gotLabel)
	want, labelled := strings.CutPrefix(want, wantLabel)
	if !ok || !labelled {
		return "", "", false
	}
	return want, got, true
}
