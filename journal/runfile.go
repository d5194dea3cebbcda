package journal

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"os"

	"github.com/evalrun/evalrun/internal/wirejson"
)

// runFile is an open run file, and how far it is read: the first whole bytes, which are lines lines, damaged ones
// included. What follows them is not written completely, or does not count.
type runFile struct {
	*os.File
	size    int64 // when it was opened or last followed
	whole   int64
	lines   int
	unended bool // the last line lacks only its line break
	next    int  // number of the next line to be written
	over    bool // the rest of the file does not count
	// unhealed says that something was damaged, and that the run has not been resumed since.
	unhealed bool
	// trial and judgement are the line in hand; reused for every line.
	trial     scannedTrial
	judgement scannedReply
}

func (f *runFile) measure() error {
	info, err := f.Stat()
	if err == nil {
		f.size = info.Size()
	}
	return err
}

// check verifies a line, and scans a line of a trial.
func (f *runFile) check(data []byte) (l line, problem error) {
	l, problem = ends(data)
	if problem != nil {
		return l, problem
	}
	switch l.Type {
	case trialKind, answerKind:
		problem = f.trial.scan(data)
	case judgementKind:
		f.judgement = scannedReply{}
		problem = wirejson.Scan(data, &f.judgement)
	default:
		if !wirejson.Valid(data) {
			return l, errNotJSON
		}
	}
	if problem != nil {
		problem = fmt.Errorf("%w: %w", errNotJSON, problem)
	}
	return l, problem
}

// pass takes up a line, whose length is without its line break.
func (f *runFile) pass(number, length int, ended bool) {
	f.lines, f.unended = number, !ended
	if f.whole += int64(length); ended {
		f.whole++
	}
}

// end takes up the line break that the last line lacked.
func (f *runFile) end() {
	f.unended = false
	f.whole++
}

func (f *runFile) lineAt(p Place) ([]byte, error) {
	data := make([]byte, p.length)
	_, err := f.ReadAt(data, p.offset)
	return data, err
}

func (f *runFile) decode(p Place, v any) error {
	data, err := f.lineAt(p)
	if err != nil {
		return err
	}
	return wirejson.DecodeAnyCase(data, v)
}

func (f *runFile) lineFrom(at int64) ([]byte, error) {
	r := bufio.NewReader(io.NewSectionReader(f, at, maxLine))
	data, err := r.ReadBytes('\n')
	if err == io.EOF && len(data) > 0 { // the last line of a run that was killed
		err = nil
	}
	return bytes.TrimSuffix(data, []byte("\n")), err
}
