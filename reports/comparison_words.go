package reports

import (
	"fmt"

	"github.com/evalrun/evalrun/compare"
	"github.com/evalrun/evalrun/eval"
)

var verdictWords = map[eval.Verdict]string{
	eval.Improved: "improved", eval.NotWorse: "not worse", eval.Regressed: "REGRESSED", eval.Inconclusive: "CANNOT TELL YET",
	eval.Invalid: "NOT COMPARABLE",
}

// sideName is the user's name for a run, with its id.
func sideName(c *compare.Compared) string {
	switch {
	case c.Name == "":
		return c.Run
	case c.Run == "" || c.Run == c.Name:
		return c.Name
	}
	return c.Name + " (" + c.Run + ")"
}

// flipNote says how much evidence one changed case is.
func flipNote(f *compare.Flip) string {
	switch {
	case f.SingleSample:
		return " (one sample each: no evidence by itself)"
	case f.P == nil:
		return " (few samples: weak evidence)"
	}
	return fmt.Sprintf(" (p %.3g over all cases)", *f.P)
}
