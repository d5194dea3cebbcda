package journal

import (
	"bufio"
	"io"
	"slices"

	"github.com/evalrun/evalrun/eval"
)

// Path is the run file, as it was opened.
func (d *Document) Path() string { return d.file.Name() }

// Export writes a run file with what comparisons need. Hashes replace requests. Prompts, answers, reasons and
// everything that may quote them are left out.
func (d *Document) Export(out io.Writer) error {
	w := &lineWriter{out: bufio.NewWriterSize(out, 1<<16)}
	run := d.Run
	run.CommandOptions = selectedBy(&run)
	run.Copies = nil
	run.Signature = ""
	run.Ledger = nil
	run.ProjectFile = "" // of the machine that exports, as the folders below
	run.Suites = slices.Clone(run.Suites)
	for i := range run.Suites {
		run.Suites[i].Dir = ""
	}
	if err := w.write("run", &run); err != nil {
		return err
	}
	for i := range d.index.entries {
		r, err := d.at(d.index.entries[i].position())
		if err != nil {
			return err
		}
		withhold(r)
		if err := w.write(trialKind, r); err != nil {
			return err
		}
	}
	if d.End != nil {
		if err := w.write("end", d.End); err != nil {
			return err
		}
	}
	return w.out.Flush()
}

// withhold removes the parts of a result that an export must not have. Comparisons need the named scores, but not their
// reasons.
func withhold(r *eval.Result) {
	r.Withhold()
	r.Request, r.Judgements = nil, nil
	scores := r.Scores[:0]
	for _, s := range r.Scores {
		if s.Name != "" {
			scores = append(scores, s.Bare())
		}
	}
	r.Scores = scores
}

// selectedBy keeps of the flags that the outcomes of another run selected the trials, which no comparison may forget;
// nil where none did.
func selectedBy(run *eval.Run) *eval.RunOptions {
	if run.Options().FailedIn == "" {
		return nil
	}
	return &eval.RunOptions{Options: eval.Options{
		NoContent: true, SelectionOptions: eval.SelectionOptions{FailedIn: run.Options().FailedIn},
	}}
}

type lineWriter struct {
	out *bufio.Writer
	seq int
	buf []byte
}

func (w *lineWriter) write(kind string, record any) error {
	b, err := appendLine(w.buf[:0], kind, record, w.seq)
	if err != nil {
		return err
	}
	w.buf = b
	w.seq++
	_, err = w.out.Write(b)
	return err
}
