package reports

import (
	"bufio"
	"encoding/json"
	"io"

	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/overview"
	"github.com/evalrun/evalrun/journal"
)

// writeJSONLines writes one trial per line, in plan order. Each line says whether its answer comes from the emulator.
func writeJSONLines(w io.Writer, d *journal.Document, _ Options) error {
	out := bufio.NewWriter(w)
	for line, err := range d.Lines() {
		if err != nil {
			return err
		}
		if d.Run.Emulator && isOfModel(&d.Run, line) {
			line = append(line[:len(line)-1], `,"emulator":true}`...)
		}
		_, _ = out.Write(line) // write errors surface in Flush
		_ = out.WriteByte('\n')
	}
	return out.Flush()
}

// isOfModel reports whether the answer in a line of the run file comes from a model. Applications run next to an
// emulator too.
func isOfModel(run *eval.Run, line []byte) bool {
	if !overview.HasApps(run) {
		return true
	}
	var of struct{ Suite, Target string }
	return json.Unmarshal(line, &of) != nil || appOf(run, of.Suite, of.Target) == ""
}
