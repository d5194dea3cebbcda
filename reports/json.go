package reports

import (
	"bufio"
	"io"

	"github.com/evalrun/evalrun/internal/overview"
	"github.com/evalrun/evalrun/internal/wirejson"
	"github.com/evalrun/evalrun/journal"
)

// writeJSON writes the whole run as one JSON object, with one trial per line.
func writeJSON(w io.Writer, d *journal.Document, _ Options) error {
	head, err := wirejson.Marshal(overview.New(d))
	if err != nil {
		return err
	}
	out := bufio.NewWriter(w)
	_, _ = out.Write(head[:len(head)-1]) // write errors surface in Flush
	_, _ = out.WriteString(",\"trials\":[")
	first := true
	for line, err := range d.Lines() {
		if err != nil {
			return err
		}
		if !first {
			_ = out.WriteByte(',')
		}
		first = false
		_ = out.WriteByte('\n')
		_, _ = out.Write(line)
	}
	_, _ = out.WriteString("\n]}\n")
	return out.Flush()
}
