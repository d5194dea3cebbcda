package journal

import (
	"bufio"
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"

	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/files"
	"github.com/evalrun/evalrun/internal/wirejson"
)

// read builds the index in one pass.
func (d *Document) read() error {
	_ = d.file.measure() // the size only helps to reserve memory
	if err := d.readLines(); err != nil {
		return err
	}
	if err := d.withHeader(); err != nil {
		return err
	}
	d.spendPending()
	d.index.names.forget() // mostly no more come
	d.index.sort()
	d.Summary = summarize(&d.index, &d.Run)
	return nil
}

// readLines reads the lines up to the end of the file, or up to where it no longer counts.
func (d *Document) readLines() error {
	r := newReader(d.file.File)
	limit := maxHeader
	for number := 1; ; number++ {
		data, err := readLine(r, limit)
		limit = maxLine
		if err != nil && !errors.Is(err, io.EOF) {
			return err
		}
		if len(data) == 0 {
			return nil
		}
		if err := d.line(number, data); errors.Is(err, errRest) {
			d.file.over = bytes.HasSuffix(data, []byte("\n"))
			return nil
		} else if err != nil {
			return err
		}
	}
}

var errNoHeader = errors.New("the run file has no header, and there is no " + headerName + " with a copy of it: it cannot be used")

// withHeader takes the copy of a header that should have been read by now: the first line is missing, or the file is empty.
func (d *Document) withHeader() error {
	if d.Run.Version != 0 {
		return nil
	}
	if filepath.Base(d.file.Name()) != FileName || d.headerCopy() != nil {
		return errNoHeader
	}
	d.damaged("it has no header; its copy in %s is taken", headerName)
	d.file.next = 1
	return nil
}

var errRest = errors.New("the rest is left out")

// line reads one line, with its line break if it has one.
func (d *Document) line(number int, data []byte) error {
	at := d.file.whole
	ended := bytes.HasSuffix(data, []byte("\n"))
	data = bytes.TrimSuffix(data, []byte("\n"))
	l, problem := d.file.check(data)
	if problem != nil {
		if number == 1 && bytes.HasPrefix(data, []byte(typePrefix+"run")) {
			problem = fmt.Errorf("%w: line 1: %w", ErrEdited, problem)
		}
		if err := d.damagedLine(number, ended, problem); err != nil {
			return err
		}
	} else if l.Type == "run" && d.Run.Version != 0 {
		d.damaged("line %d: another run begins; it and what follows is left out", number)
		return errRest
	}
	d.file.pass(number, len(data), ended)
	if problem != nil {
		d.file.next++
		return nil
	}
	if l.Type != "run" {
		if err := d.withHeader(); err != nil {
			return err
		}
	}
	if *l.Seq != d.file.next {
		d.damaged("line %d: sequence number %d where %d is due", number, *l.Seq, d.file.next)
	}
	d.file.next = max(d.file.next, *l.Seq+1)
	if err := d.take(l.Type, data, at); err != nil {
		return fmt.Errorf("line %d: %w", number, err)
	}
	return nil
}

// damagedLine notes a line that cannot be used. If it is the header, its copy is read instead.
func (d *Document) damagedLine(number int, ended bool, problem error) error {
	switch {
	case !ended && number > 1:
		return errRest // the last line of a run that is being written, or was killed
	case number > 1:
		d.damaged("line %d: %s", number, problem)
		return nil
	}
	if err := d.headerCopy(); err != nil {
		return fmt.Errorf("not a run file: %w", problem)
	}
	d.damaged("line 1: %s; its copy in %s is taken", problem, headerName)
	return nil
}

func (d *Document) damaged(format string, args ...any) {
	d.Damaged = append(d.Damaged, fmt.Sprintf(format, args...))
	d.file.unhealed = true
}

func (d *Document) headerCopy() error {
	data, err := files.ReadFile(filepath.Join(d.Dir, headerName), maxLine)
	if err != nil {
		return err
	}
	data = bytes.TrimSuffix(data, []byte("\n"))
	if _, err := check(data); err != nil {
		return err
	}
	return d.take("run", data, 0)
}

// maxLine bounds a line, in bytes: many times the largest answer.
const maxLine = 256 << 20

// maxHeader bounds the first line, because a file that is not a run file may have no line breaks at all.
const maxHeader = 64 << 20

func newReader(file io.Reader) *bufio.Reader { return bufio.NewReaderSize(file, 1<<16) }

func readLine(r *bufio.Reader, limit int) ([]byte, error) {
	data, err := r.ReadSlice('\n')
	if !errors.Is(err, bufio.ErrBufferFull) {
		return data, err
	}
	long := slices.Clone(data)
	for errors.Is(err, bufio.ErrBufferFull) {
		data, err = r.ReadSlice('\n')
		if long = append(long, data...); len(long) > limit {
			return nil, fmt.Errorf("not a run file: a line has more than %d bytes", limit)
		}
	}
	return long, err
}

// take reads the record of a line. It ignores unknown kinds, which are of later versions.
func (d *Document) take(kind string, data []byte, at int64) error {
	switch kind {
	case "run":
		return d.header(data)
	case "end":
		return d.ended(data)
	case "resume":
		var r Resumed
		if err := wirejson.DecodeAnyCase(data, &r); err != nil {
			return err
		}
		d.resumed(&r)
	case "stop":
		return d.stopped(data)
	case notRunKind:
		record, err := decoded[notRun](data)
		d.notRun = record
		return err
	case trialKind:
		d.trial(len(data), at)
	case "call":
		return d.booked(data)
	case answerKind:
		d.keptAnswer(Place{at, clip(len(data))})
	case judgementKind:
		d.keptJudgement(Place{at, clip(len(data))})
	case intentKind:
		return d.intent(data)
	case batchKind:
		return d.batch(data)
	case againKind:
		record, err := decoded[againLine](data)
		if err == nil {
			d.batches.again(record.ID)
		}
		return err
	}
	return nil
}

func (d *Document) resumed(r *Resumed) {
	d.End, d.file.unhealed = nil, false // what was lost runs again
	d.sessions.resume(r, parseTime(d.Run.StartedAt))
	d.index.drop(r.Dropped)
	d.Run.Ledger = cmp.Or(r.Ledger, d.Run.Ledger)
}

func (d *Document) header(data []byte) error {
	if err := wirejson.DecodeAnyCase(data, &d.Run); err != nil {
		return err
	}
	if d.Run.Version < 1 {
		return fmt.Errorf("the run file has an unknown version %d", d.Run.Version)
	}
	if d.Run.Version > Version {
		return fmt.Errorf("the run file has version %d; this evalrun reads up to %d", d.Run.Version, Version)
	}
	return nil
}

func (d *Document) ended(data []byte) error {
	d.End = &eval.End{}
	if err := wirejson.DecodeAnyCase(data, d.End); err != nil {
		return err
	}
	d.sessions.until = parseTime(d.End.FinishedAt)
	if !d.End.Waits() {
		d.batches.unanswered = 0
	}
	d.spendPending()
	if d.End.Spent != nil { // it knows of calls that no trial reports
		d.Spent, d.Unpriced = *d.End.Spent, nil
	}
	return nil
}

func (d *Document) stopped(data []byte) error {
	stop, err := eval.ReadStop(data)
	if err != nil {
		return err
	}
	d.Stops = append(d.Stops, stop)
	d.index.unuse(stop.Stopped().Unused)
	return nil
}

func (d *Document) trial(length int, at int64) {
	r := &d.file.trial
	d.End = nil // a resumed run
	delete(d.batches.repeated, r.id)
	d.sessions.answered(r)
	d.spendOn(r)
	var f flags
	if r.Quarantine.Until != "" && r.Quarantine.Holds(d.Run.StartedAt) {
		f |= isQuarantined
	}
	if d.StopOf(r.Suite, r.Arm) != nil {
		f |= isUnused
	}
	d.index.add(r, at, length, f)
	d.index.reserve(at, d.file.size)
}

func (d *Document) spendOn(r *scannedTrial) {
	cost := d.unsettled.settle(r)
	d.spend(cost.model, cost.attempts, cost.usage)
	for i := range r.Judgements {
		if j := &r.Judgements[i]; !j.Noted {
			d.spendJudge(j)
		}
	}
}

func (d *Document) spendJudge(j *scannedJudgement) {
	if !j.Cached {
		d.spend(j.Model, j.Attempts, j.Usage.Usage)
	}
}

func (d *Document) spend(model string, attempts int, usage eval.Usage) {
	if !d.sessions.books {
		d.Spent.Attempts += attempts
		d.Spent.Tokens += usage.TotalTokens
	}
	if d.sessions.priced || usage.TotalTokens == 0 && usage.PromptTokens == 0 && usage.OutputTokens == 0 {
		return
	}
	if d.Unpriced == nil {
		d.Unpriced = map[string]eval.Usage{}
	}
	model = d.index.names.at(d.index.names.place(model))
	u := d.Unpriced[model]
	u.Add(&usage)
	d.Unpriced[model] = u
}
