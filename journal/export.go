package journal

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"slices"

	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/wirejson"
)

// Path is the run file, as it was opened.
func (d *Document) Path() string { return d.file.Name() }

// Export writes a run file with what comparisons need. Hashes replace requests. Prompts, answers, reasons and
// everything that may quote them are left out.
func (d *Document) Export(out io.Writer) error {
	w := &lineWriter{out: bufio.NewWriterSize(out, 1<<16)}
	run := d.Run
	run.CommandOptions, run.Exported = selectedBy(&run), true
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
	if d.notRun != nil {
		if err := w.write(notRunKind, d.notRun); err != nil {
			return err
		}
	}
	var different differentAnswers
	for i := range d.index.entries {
		r, err := d.At(d.index.entries[i].place())
		if err != nil {
			return err
		}
		sampled := r.Request.Sampled()
		withhold(r)
		different.number(r, sampled)
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

// withhold removes what an export must not have. Comparisons need named scores, without reasons.
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

// differentAnswers numbers the different answers of a case. In an export numbers replace the hashes, by which short answers could
// be guessed; answers that were not sampled have none.
type differentAnswers struct {
	of     [3]string // suite, arm and case
	hashes []string
}

func (n *differentAnswers) number(r *eval.Result, sampled bool) {
	if of := [3]string{r.Suite, r.Arm, r.Case}; of != n.of {
		n.of, n.hashes = of, nil
	}
	answers := []*eval.Response{r.Response}
	for i := range r.Calls {
		answers = append(answers, &r.Calls[i].Response)
	}
	for _, call := range r.ModelCalls() {
		answers = append(answers, call.Response)
	}
	for at, answer := range answers {
		if answer == nil {
			continue
		}
		for i := range answer.Candidates {
			w := answer.Candidates[i].Withheld
			hash := w.SHA256
			if w.SHA256 = ""; at > 0 || i > 0 || !sampled || w.Bytes == 0 {
				continue
			}
			if !slices.Contains(n.hashes, hash) {
				n.hashes = append(n.hashes, hash)
			}
			w.Number = 1 + slices.Index(n.hashes, hash)
		}
	}
}

// selectedBy keeps of the flags those that selected the trials, which no comparison may forget; nil when they are not known.
func selectedBy(run *eval.Run) *eval.RunOptions {
	if run.CommandOptions == nil {
		return nil
	}
	was := run.Options()
	selection := was.SelectionOptions
	selection.Repeats, selection.MaxTrials, selection.AllowEmpty = 0, 0, false
	return &eval.RunOptions{Options: eval.Options{NoContent: true, SelectionOptions: selection, Seed: was.Seed}}
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
	lines := newReader(io.NewSectionReader(d.file, 0, d.file.whole))
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
	case notRunKind:
		return decoded[notRun](data)
	case "end":
		return decoded[eval.End](data)
	}
	return nil, nil
}

func decoded[T any](data []byte) (*T, error) {
	record := new(T)
	return record, wirejson.DecodeAnyCase(data, record)
}
