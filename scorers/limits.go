package scorers

import (
	_ "embed" // the figures
	"strings"
	"sync"
)

// limits.txt says how each kind was measured and what it does not do. TestLimitsAreWhatTheFileSays measures all figures again, and
// `make golden` writes them, so help and documentation cannot disagree.
//
//go:embed limits.txt
var limitsFile string

// limits are the sections of limits.txt, by kind.
var limits = sync.OnceValue(func() map[string]string {
	out := map[string]string{}
	for section := range strings.SplitSeq(limitsFile, "## ") {
		kind, text, _ := strings.Cut(section, "\n")
		out[kind] = strings.Join(strings.Fields(text), " ")
	}
	return out
})

// withLimits adds the sections of limits.txt to the kinds.
func withLimits(t Table) Table {
	for i := range t {
		t[i].Limits = limits()[t[i].Name]
	}
	return t
}
