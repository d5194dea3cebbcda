package journal

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"iter"
)

// Place is the place of a line, mostly of a trial, in the run file. It is valid as long as the document is open, whatever Follow finds.
type Place struct {
	offset int64
	length uint32
}

// Bytes is the length of the trial's line.
func (p Place) Bytes() int { return int(p.length) }

// Places yields the places of the trials, in the order of the plan.
func (d *Document) Places() iter.Seq[Place] {
	return func(yield func(Place) bool) {
		for i := range d.index.entries {
			if e := &d.index.entries[i]; !yield(e.place()) {
				return
			}
		}
	}
}

// ErrReplaced is returned by Follow when another file has replaced the run file.
var ErrReplaced = errors.New("the run file was replaced")

// News is the result of Follow.
type News struct {
	Trials []Place // in the order of the file; a trial may replace an earlier one with the same N
	// Resumed says that the run was resumed, so that trials may have been dropped.
	Resumed bool
	Ended   bool // no process writes any more
}

// Follow reads the lines that were written to the run file since it was opened or last followed. It leaves
// an incomplete line for the next call. The document must not be used concurrently.
func (d *Document) Follow() (News, error) {
	var news News
	held := isLocked(d.Dir) // before it reads: a writer writes all, and only then lets go
	err := d.file.measure()
	if err != nil {
		return news, err
	}
	if d.file.size < d.file.whole {
		return news, ErrReplaced
	}
	before := len(d.index.entries)
	damaged := len(d.Damaged)
	lines := d.file.lines
	if news.Resumed, err = d.readOn(); err != nil {
		return news, err
	}
	running := d.Running
	d.Running = d.End == nil && held
	news.Ended = running && !d.Running
	if d.file.lines == lines && len(d.Damaged) == damaged {
		return news, nil
	}
	if !news.Resumed {
		news.Trials = d.index.places(before)
	}
	d.index.sort()
	d.index.byID = nil
	d.Summary = summarize(&d.index, &d.Run)
	return news, nil
}

// places are those of the trials from a place in the index on.
func (x *index) places(from int) (out []Place) {
	for _, e := range x.entries[from:] {
		out = append(out, e.place())
	}
	return out
}

// readOn reads the new complete lines, and reports whether one of them resumed the run.
func (d *Document) readOn() (resumed bool, err error) {
	r := newReader(io.NewSectionReader(d.file, d.file.whole, d.file.size-d.file.whole))
	for !d.file.over {
		data, err := readLine(r, maxLine)
		if err != nil && !errors.Is(err, io.EOF) {
			return resumed, err
		}
		if !bytes.HasSuffix(data, []byte("\n")) {
			break
		}
		if d.file.unended && len(data) == 1 { // the break of a line that was taken up without
			d.file.end()
			continue
		}
		did, err := d.further(data)
		if err != nil {
			return resumed, fmt.Errorf("the run file: %w", err)
		}
		resumed = resumed || did
	}
	return resumed, nil
}

// further reads one more line, and reports whether it resumed the run.
func (d *Document) further(data []byte) (resumed bool, err error) {
	trials, end := len(d.index.entries), d.End
	if err := d.line(d.file.lines+1, data); errors.Is(err, errRest) {
		d.file.over = true
	} else if err != nil {
		return false, err
	}
	return end != nil && d.End == nil || len(d.index.entries) < trials, nil
}
