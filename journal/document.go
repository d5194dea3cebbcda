package journal

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"os"
	"path/filepath"
	"runtime"
	"slices"

	"github.com/gofrs/flock"

	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/files"
	"github.com/evalrun/evalrun/internal/wirejson"
)

// Document is a run as reports see it: its header, its summary, and a cursor over its trials in
// the order of the plan. It holds an index, not the trials.
type Document struct {
	Dir string
	Run eval.Run
	End *eval.End // nil: the run was killed, or is still running

	// Decision is what the gate, the baseline and the ranking came to. The caller that applies the rules fills it in, as
	// evalrun.Report and evalrun.Result.Open do. nil means that no gate was applied, and reports say so.
	Decision *Decision

	// Judges are the judges whose scores the run has, by arm. The caller that applies the rules fills them in.
	Judges []eval.MeasuredJudge

	// Drift is what the nights up to the run say, by suite, rule and arm. The caller that applies the rules fills it in.
	Drift []Drift

	Summary Summary
	Damaged []string // the damaged lines, which were left out
	Running bool     // a process still writes to the run

	// Stops are the arms that stopped before all their trials had run.
	Stops  []eval.ArmStop
	notRun *notRun // nil when the file does not say

	// Spent is the cost of the run so far, as recorded in its file.
	Spent eval.Spent
	// Unpriced are the tokens, by model, that Spent.Money does not include: those used since the run last ended.
	Unpriced map[string]eval.Usage

	file      runFile
	index     index     // of the trials with a result
	unsettled unsettled // trials without a final result
	sessions  sessions
	batches   batches
}

// Partial reports whether trials of the plan are missing, skipped or unreadable.
func (d *Document) Partial() bool {
	c := d.Summary.Counts
	return d.End == nil || d.End.Reason != eval.EndCompleted || d.file.unhealed ||
		c.Skip > d.Summary.SkippedEarly || c.Total() < d.Run.Plan.Trials
}

// ErrEdited is wrapped by the errors of a file with lines that evalrun did not write, or that are gone.
var ErrEdited = errors.New("it was edited")

// Edited returns an error that wraps ErrEdited for a run with damaged lines, which no resume has run again; else nil. A run that
// broke off is not edited.
func (d *Document) Edited() error {
	if !d.file.unhealed || len(d.Damaged) == 0 {
		return nil
	}
	return fmt.Errorf("%w: %s", ErrEdited, d.Damaged[len(d.Damaged)-1])
}

// NotRun are the cases that the run leaves out by its selection, of one suite or more. known is false when the file does
// not say: earlier versions recorded none, and their exports not even that there was a selection.
func (d *Document) NotRun() (lists []*eval.NotRun, known bool) {
	if d.notRun != nil {
		return d.notRun.Lists, true
	}
	return nil, d.Run.CommandOptions != nil && !d.Run.Options().Narrows()
}

// StopOf returns why an arm stopped before all its trials had run, nil if it did not.
func (d *Document) StopOf(suite, arm string) eval.ArmStop {
	for _, stop := range d.Stops {
		if of := stop.Stopped(); of.Suite == suite && of.Arm == arm {
			return stop
		}
	}
	return nil
}

// Raced reports whether arms left a race.
func (d *Document) Raced() bool {
	return slices.ContainsFunc(d.Stops, func(stop eval.ArmStop) bool { _, left := stop.(*eval.RaceExit); return left })
}

// ErrNoRun is returned by Open when the directory holds no run file.
var ErrNoRun = errors.New("there is no run")

// Reading says how a run is read, beyond what all need.
type Reading func(*Document)

// KeepFacts keeps what Facts yields in memory, some 150 bytes a case and 40 a repeat, so that the file is read once.
func KeepFacts(d *Document) { d.index.kept = &kept{at: map[factsKind]uint32{}} }

// Open reads the run file in a run directory; path may name the file itself. The caller closes
// the document.
func Open(path string, how ...Reading) (*Document, error) {
	file, path, err := openRun(path)
	if err != nil {
		return nil, err
	}
	d := &Document{Dir: filepath.Dir(path), file: runFile{File: file}, index: newIndex()}
	for _, keep := range how {
		keep(d)
	}
	if err = d.read(); err == nil && d.End == nil {
		_, err = d.Follow()
	}
	if err != nil {
		_ = file.Close() // the first error is the one to report
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return d, nil
}

// openRun opens the run file in a run directory, or at a path, and returns its path as well.
func openRun(path string) (*os.File, string, error) {
	if info, err := os.Stat(path); err == nil && info.IsDir() {
		path = filepath.Join(path, FileName)
	}
	file, err := files.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, path, fmt.Errorf("%w at %s", ErrNoRun, path)
	}
	return file, path, err
}

func isLocked(dir string) bool {
	return locked(filepath.Join(dir, lockName)) || locked(filepath.Join(dir, FileName))
}

func locked(path string) bool {
	if _, err := os.Stat(path); err != nil || files.Lockable(path) != nil {
		return false
	}
	lock := flock.New(path, flock.SetFlag(os.O_RDONLY))
	free, err := lock.TryRLock()
	if free {
		err = lock.Unlock()
	}
	return !free || err != nil
}

// Close releases the run file.
func (d *Document) Close() error { return d.file.Close() }

// IndexedTrial is the part of a trial that the index keeps.
type IndexedTrial struct {
	N                    int
	ID, Suite, Case, Arm string
	Outcome              eval.Outcome
	MayPass              bool // another attempt may not have its error
}

// Indexed looks up a trial by its place in the order of the plan, without reading the file.
func (d *Document) Indexed(place int) IndexedTrial {
	e := &d.index.entries[place]
	s := &d.index.shapes[e.shape]
	return IndexedTrial{int(e.n), d.index.idOf(e), s.suite, d.index.caseOf(e), s.arm, eval.Outcome(s.outcome), e.flags&isPassing != 0}
}

// Len is the number of trials in the file.
func (d *Document) Len() int { return len(d.index.entries) }

// Find is the place of the trial with an id, in the order of the plan.
func (d *Document) Find(id string) (place int, ok bool) { return d.index.find(newTrialID(id)) }

// Trial reads a trial by its place in the order of the plan.
func (d *Document) Trial(i int) (*eval.Result, error) { return d.At(d.index.entries[i].place()) }

// Trials yields the trials in the order of the plan. After the error of an unreadable line it continues.
func (d *Document) Trials() iter.Seq2[*eval.Result, error] {
	return func(yield func(*eval.Result, error) bool) {
		for i := range d.index.entries {
			r, err := d.At(d.index.entries[i].place())
			if !yield(r, err) {
				return
			}
		}
	}
}

// Lines yields the trials in the order of the plan as JSON, as Trials would be encoded.
func (d *Document) Lines() iter.Seq2[[]byte, error] {
	return func(yield func([]byte, error) bool) {
		for i := range d.index.entries {
			if !yield(d.Line(d.index.entries[i].place())) {
				return
			}
		}
	}
}

// Line is the JSON of the trial at a place, without the type, number and checksum of its line.
func (d *Document) Line(p Place) ([]byte, error) {
	data, err := d.file.lineAt(p)
	if err != nil {
		return nil, err
	}
	if c := content(data); c != nil {
		return c, nil
	}
	r, err := d.At(p)
	if err != nil {
		return nil, err
	}
	return wirejson.Marshal(r)
}

// At reads the trial at a place.
func (d *Document) At(p Place) (*eval.Result, error) {
	data, err := d.file.lineAt(p)
	if err != nil {
		return nil, err
	}
	return decodeTrial(data)
}

func decodeTrial(data []byte) (*eval.Result, error) {
	var r eval.Result
	if err := r.UnmarshalJSON(data); err != nil {
		return nil, err
	}
	return &r, nil
}

// Release frees the index, which takes most of the memory of a large run. From then on Trials, Facts, Find and all other
// methods that look at trials find none; the header, the summary, TrialAt and IDAt remain.
func (d *Document) Release() {
	large := len(d.index.entries) >= largeIndex
	d.index = newIndex()
	if large { // else the next run is read while this one is still in memory
		runtime.GC()
	}
}

// largeIndex is the number of trials from which freeing an index is worth a garbage collection.
const largeIndex = 1 << 18

// TrialAt reads the trial at Facts.At.
func (d *Document) TrialAt(at int64) (*eval.Result, error) {
	data, err := d.file.lineFrom(at)
	if err != nil {
		return nil, err
	}
	return decodeTrial(data)
}

// IDAt is the id of the trial at Facts.At.
func (d *Document) IDAt(at int64) (string, error) {
	data, err := d.file.lineFrom(at)
	if err != nil {
		return "", err
	}
	var trial struct {
		ID string `json:"id"`
	}
	err = wirejson.Decode(data, &trial)
	return trial.ID, err
}

// Header reads the header of a run file alone; path is as in Open.
func Header(path string) (*eval.Run, error) {
	file, path, err := openRun(path)
	if err != nil {
		return nil, err
	}
	defer file.Close() //nolint:errcheck // it was only read
	data, err := readLine(newReader(file), maxHeader)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	d := &Document{Dir: filepath.Dir(path), file: runFile{File: file}}
	if len(data) > 0 {
		if err := d.line(1, data); err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
	}
	if err := d.withHeader(); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return &d.Run, nil
}

// IsRun reports whether a file begins as that of a run, whatever follows, or has a copy of its beginning next to it.
func IsRun(path string) bool {
	if _, err := os.Stat(filepath.Join(filepath.Dir(path), headerName)); err == nil && filepath.Base(path) == FileName {
		return true
	}
	file, err := files.Open(path)
	if err != nil {
		return false
	}
	defer file.Close() //nolint:errcheck // it was only read
	head := []byte(`{"type":"run",`)
	found := make([]byte, len(head))
	_, err = io.ReadFull(file, found)
	return err == nil && bytes.Equal(found, head)
}
