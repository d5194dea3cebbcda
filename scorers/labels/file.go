package labels

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/evalrun/evalrun/internal/files"
)

// maxFile bounds a file of labels, in bytes.
const maxFile = 64 << 20

// File has people's labels of the answers to a suite.
type File struct {
	Path string

	said     map[AnswerKey][]Label // the last label of each person, in the order of the file
	people   []string              // names, sorted
	problems []error
}

// Read reads the labels of a suite in a folder; there are none if the file is missing. The error is about a
// file that cannot be read, or an invalid name. Err returns the problems of lines.
func Read(dir, suite string) (*File, error) {
	name, err := FileName(suite)
	if err != nil {
		return nil, err
	}
	f, err := ReadFile(filepath.Join(dir, name))
	if errors.Is(err, fs.ErrNotExist) {
		return &File{Path: filepath.Join(dir, name)}, nil
	}
	return f, err
}

// ReadFile reads a file of labels. Err returns the problems of its lines.
func ReadFile(path string) (*File, error) {
	data, err := files.ReadFile(path, maxFile)
	if err != nil {
		return nil, fmt.Errorf("the labels cannot be read: %w", err)
	}
	f := &File{Path: path, said: map[AnswerKey][]Label{}}
	f.take(data)
	return f, nil
}

// take reads all lines. It reports invalid ones and leaves them out.
func (f *File) take(data []byte) {
	suite := f.Suite()
	number := 0
	for line := range bytes.Lines(bytes.TrimPrefix(data, []byte("\xEF\xBB\xBF"))) {
		number++
		if len(bytes.TrimSpace(line)) == 0 {
			continue
		}
		l, column, err := parse(line)
		if err == nil && !strings.EqualFold(l.Suite, suite) {
			err = fmt.Errorf("`suite` is %q, and the file is that of %q: move the line to %s%s", l.Suite, suite, l.Suite, Suffix)
		}
		if err != nil {
			f.problems = append(f.problems, fmt.Errorf("%s:%d:%d: %w", f.Path, number, column, err))
			continue
		}
		l.line = number
		f.add(l)
	}
}

// parse reads a line. The column is the position of a problem, counted from 1.
func parse(line []byte) (l *Label, column int, err error) {
	if slices.Contains([]string{"<<<<<<<", "=======", ">>>>>>>"}, string(line[:min(7, len(line))])) {
		return nil, 1, errors.New("git left a conflict here: keep the labels of both sides and remove this line")
	}
	l = &Label{}
	dec := json.NewDecoder(bytes.NewReader(line))
	dec.DisallowUnknownFields()
	if err := dec.Decode(l); err != nil {
		var syntax *json.SyntaxError
		if errors.As(err, &syntax) {
			return nil, max(1, int(syntax.Offset)), fmt.Errorf("not a label: %w", err)
		}
		return nil, max(1, int(dec.InputOffset())), fmt.Errorf("not a label: %w", err)
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return nil, int(dec.InputOffset()) + 1, errors.New("more than one JSON value in a line: write one label a line")
	}
	if err := l.Check(); err != nil {
		return nil, 1, err
	}
	if l.time.After(time.Now().Add(ahead)) { // it would replace all labels of the person until then
		return nil, 1, fmt.Errorf("`at` is in the future: %s", l.At)
	}
	return l, 1, nil
}

// ahead is how much other clocks may be ahead of this machine's.
const ahead = 24 * time.Hour

// Suite returns the suite of the labelled answers.
func (f *File) Suite() string { return strings.TrimSuffix(filepath.Base(f.Path), Suffix) }

// add replaces an earlier label of the same person. Merges by git may put lines of two branches in any order, so the later
// time wins, and for equal times the later line.
func (f *File) add(l *Label) {
	if i, known := slices.BinarySearch(f.people, l.Who); !known {
		f.people = slices.Insert(f.people, i, l.Who)
	}
	all := f.said[l.Key()]
	i := slices.IndexFunc(all, func(one Label) bool { return one.Who == l.Who })
	switch {
	case i < 0:
		f.said[l.Key()] = append(all, *l)
	case !l.time.Before(all[i].time):
		all[i] = *l
	}
}

// Err returns the problems of all lines, with their positions; nil when there are none.
func (f *File) Err() error { return errors.Join(f.problems...) }

// Of returns the last label of each person for an answer, by name. It leaves out labels that were taken back.
func (f *File) Of(k AnswerKey) []Label {
	all := slices.DeleteFunc(slices.Clone(f.said[k]), func(l Label) bool { return l.Label == None && l.Comment == "" })
	slices.SortFunc(all, func(a, b Label) int { return strings.Compare(a.Who, b.Who) })
	return all
}

// Answers returns the answers with a label of pass or fail, in the order of the file.
func (f *File) Answers() []AnswerKey {
	type lineOfAnswer struct {
		AnswerKey
		line int
	}
	var found []lineOfAnswer
	for k, all := range f.said {
		if AnyWord(all) {
			found = append(found, lineOfAnswer{k, all[0].line})
		}
	}
	slices.SortFunc(found, func(a, b lineOfAnswer) int { return cmp.Compare(a.line, b.line) })
	out := make([]AnswerKey, len(found))
	for i := range found {
		out[i] = found[i].AnswerKey
	}
	return out
}

// People returns the names of the people who labelled, sorted.
func (f *File) People() []string { return slices.Clone(f.people) }

// AnyWord reports whether any label is pass or fail, not only a comment.
func AnyWord(all []Label) bool {
	return slices.ContainsFunc(all, func(l Label) bool { return l.Label != None })
}

// Decide returns the label of the majority: Pass, Fail, or None for a tie and without labels.
func Decide(all []Label) string {
	balance := 0
	for _, l := range all {
		switch l.Label {
		case Pass:
			balance++
		case Fail:
			balance--
		}
	}
	switch {
	case balance > 0:
		return Pass
	case balance < 0:
		return Fail
	}
	return None
}
