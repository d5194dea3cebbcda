package journal

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"iter"

	"github.com/evalrun/evalrun/eval"
)

// Mark is where a trial stands in the run file. It is good as long as the document is open, whatever Follow finds.
type Mark struct {
	offset int64
	length uint32
}

// Bytes is the length of the trial's line.
func (m Mark) Bytes() int { return int(m.length) }

// Marks yields where the trials stand, in the order of the plan.
func (d *Document) Marks() iter.Seq[Mark] {
	return func(yield func(Mark) bool) {
		for i := range d.index.entries {
			if e := &d.index.entries[i]; !yield(Mark{e.offset, e.length}) {
				return
			}
		}
	}
}

// Marked reads a trial.
func (d *Document) Marked(m Mark) (*eval.Result, error) {
	return d.at(entry{offset: m.offset, length: m.length})
}

// ErrReplaced is returned by Follow when the run file is no longer the one that was opened.
var ErrReplaced = errors.New("the run file was replaced")

// News is what Follow found.
type News struct {
	Trials []Mark // in the order of the file; one may take the place of another with its N
	// Resumed says that the run was gone on with, so that trials may have gone.
	Resumed bool
	Ended   bool // nobody writes any more
}

// Follow takes up what was written to the run file since it was opened, or followed last. A line that is not yet
// written to its end is left for the next time. Whoever calls it sees to it that nobody else uses the document.
func (d *Document) Follow() (News, error) {
	var news News
	info, err := d.file.Stat()
	if err != nil {
		return news, err
	}
	if d.size = info.Size(); d.size < d.whole {
		return news, ErrReplaced
	}
	before, damaged, end, lines := len(d.index.entries), len(d.Damaged), d.End, d.lines
	r := newReader(io.NewSectionReader(d.file, d.whole, d.size-d.whole))
	for !d.over {
		data, err := readLine(r, maxLine)
		if err != nil && !errors.Is(err, io.EOF) {
			return news, err
		}
		if !bytes.HasSuffix(data, []byte("\n")) {
			break
		}
		if d.unended && len(data) == 1 { // the break of a line that was taken up without
			d.unended = false
			d.whole++
			continue
		}
		at := len(d.index.entries)
		if err := d.line(d.lines+1, data); errors.Is(err, errRest) {
			d.over = true
		} else if err != nil {
			return news, fmt.Errorf("the run file: %w", err)
		}
		news.Resumed = news.Resumed || end != nil && d.End == nil || len(d.index.entries) < at
		end = d.End
	}
	running := d.Running
	d.Running = d.End == nil && isLocked(d.Dir)
	news.Ended = running && !d.Running
	if d.lines == lines && len(d.Damaged) == damaged {
		return news, nil
	}
	if !news.Resumed {
		for _, e := range d.index.entries[before:] {
			news.Trials = append(news.Trials, Mark{e.offset, e.length})
		}
	}
	d.index.sort()
	d.index.byID = nil
	d.Summary = summarize(&d.index, d.Run.Plan)
	return news, nil
}
