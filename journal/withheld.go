package journal

import (
	"bufio"
	"bytes"
	"errors"
	"io"

	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/wirejson"
)

// WriteWithheld writes the run file as --no-content would have kept it: without prompts, answers, and words that may
// quote them. It has the lines of the header, of trials, of stops, of resumes and of the end; lines that are
// damaged are left out.
func (d *Document) WriteWithheld(out io.Writer) error {
	w := &lineWriter{out: bufio.NewWriterSize(out, 1<<16)}
	run := d.Run
	options := *run.Options()
	options.NoContent, options.Vars = true, nil
	run.CommandOptions = &eval.RunOptions{Options: options}
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
	record, err := withoutContent(l.Type, data)
	if record == nil || err != nil {
		return err
	}
	return w.write(l.Type, record)
}

// withoutContent is the record of a line without content, nil for a line that may not be kept.
func withoutContent(kind string, data []byte) (any, error) {
	switch kind {
	case trialKind:
		r, err := decodeTrial(data)
		if err != nil {
			return nil, err
		}
		r.Withhold()
		return r, nil
	case "stop":
		return eval.ReadStop(data)
	case "resume":
		return decoded[Resumed](data)
	case "end":
		return decoded[eval.End](data)
	}
	return nil, nil
}

func decoded[T any](data []byte) (*T, error) {
	record := new(T)
	return record, wirejson.DecodeAnyCase(data, record)
}
