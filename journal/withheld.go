package journal

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"io"

	"github.com/evalrun/evalrun/eval"
)

// WriteWithheld writes the run file as --no-content would have kept it: without prompts, answers, and words that may
// quote them. It has the lines of the header, of trials, of early verdicts, of resumes and of the end; lines that are
// damaged are left out.
func (d *Document) WriteWithheld(out io.Writer) error {
	w := &lineWriter{out: bufio.NewWriterSize(out, 1<<16)}
	run := d.Run
	options := *run.Options()
	options.NoContent, options.Vars = true, nil
	run.CommandOptions = &options
	run.Copies = nil
	run.Signature = ""
	if err := w.write("run", &run); err != nil {
		return err
	}
	lines := newReader(d.file.head())
	for {
		data, err := readLine(lines, maxLine)
		if err != nil && !errors.Is(err, io.EOF) {
			return err
		}
		if len(data) == 0 {
			return w.out.Flush()
		}
		if err := w.withheld(bytes.TrimSuffix(data, []byte("\n"))); err != nil {
			return err
		}
	}
}

// withheld writes a line without content, if it may be kept at all.
func (w *lineWriter) withheld(data []byte) error {
	l, err := check(data)
	if err != nil { // it is damaged, and does not count
		return nil
	}
	record := newRecord(l.Type)
	if record == nil {
		return nil
	}
	if err := json.Unmarshal(data, record); err != nil {
		return err
	}
	if r, ok := record.(*eval.Result); ok {
		r.Withhold()
	}
	return w.write(l.Type, record)
}

// newRecord is an empty record for a line that may be kept without content, else nil.
func newRecord(kind string) any {
	switch kind {
	case trialKind:
		return &eval.Result{}
	case "stop":
		return &eval.EarlyVerdict{}
	case "resume":
		return &Resumed{}
	case "end":
		return &eval.End{}
	}
	return nil
}
