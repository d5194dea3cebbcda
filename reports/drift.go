package reports

import (
	"fmt"
	"io"

	"github.com/evalrun/evalrun/internal/overview"
	"github.com/evalrun/evalrun/journal"
)

// Drift writes what the nights of arms say.
func Drift(w io.Writer, all []journal.Drift, o Options) error {
	t := newScreen(nil, o)
	if len(all) == 0 {
		t.line("no nights yet: the history is empty")
	}
	for i := range all {
		t.nights(&all[i])
	}
	return t.writeTo(w)
}

func (t *screen) nights(f *journal.Drift) {
	t.folded("", driftTitle(f), 1)
	for i, line := range overview.DriftLines(f, t.o.Verbose) {
		indent := "        "
		if i == 0 {
			indent = ""
		}
		t.folded(indent, line, 4)
	}
}

// drift says what the nights say of each arm, in a list.
func (m *markdown) drift() {
	for i := range m.d.Drift {
		f := &m.d.Drift[i]
		m.add("- %s\n", codeOf(driftTitle(f), maxMdReason))
		for _, line := range overview.DriftLines(f, false) {
			m.add("  - %s\n", codeOf(line, maxMdReason))
		}
	}
}

// driftTitle names what the nights are about.
func driftTitle(f *journal.Drift) string {
	return fmt.Sprintf("drift: %s of %s on %s", f.Metric, f.Suite, f.Arm)
}
