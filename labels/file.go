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

	"github.com/evalrun/evalrun/internal/regular"
)

// maxFile bounds a file of labels, in bytes.
const maxFile = 64 << 20

// File is what people say of the answers to a suite.
type File struct {
	Path string

	said     map[Key][]Label // the last of each person, in the order in which they came
	people   []string        // by name
	problems []error
}

// Read reads the labels of a suite in a folder; without a file there are none. The error is about a file that cannot be
// read, or a name that is not that of a suite. Err has the problems of lines.
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

// ReadFile reads a file of labels by its path.
func ReadFile(path string) (*File, error) {
	data, err := regular.ReadFile(path, maxFile)
	if err != nil {
		return nil, fmt.Errorf("the labels cannot be read: %w", err)
	}
	f := &File{Path: path, said: map[Key][]Label{}}
	f.take(data)
	return f, nil
}

// take reads all lines. One that is wrong is reported and left out.
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

// parse reads a line; the column is that of a problem, from 1.
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
	if l.time.After(time.Now().Add(ahead)) { // it would win over all that the person says until then
		return nil, 1, fmt.Errorf("`at` is in the future: %s", l.At)
	}
	return l, 1, nil
}

// ahead is how far clocks may be ahead of this one.
const ahead = 24 * time.Hour

// Suite is the suite whose answers are labelled.
func (f *File) Suite() string { return strings.TrimSuffix(filepath.Base(f.Path), Suffix) }

// add lets a label take the place of an earlier one of the same person. Git may put lines of two branches in any order,
// so their times count, and then their order.
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

// Err is all that is wrong with lines of the file, each with its place; nil when nothing is.
func (f *File) Err() error { return errors.Join(f.problems...) }

// Of is what people say of an answer, by their names: the last label of each. A label that was taken back is left out.
func (f *File) Of(k Key) []Label {
	all := slices.DeleteFunc(slices.Clone(f.said[k]), func(l Label) bool { return l.Label == None && l.Comment == "" })
	slices.SortFunc(all, func(a, b Label) int { return strings.Compare(a.Who, b.Who) })
	return all
}

// Answers are the answers with a label of pass or fail, in the order of the file.
func (f *File) Answers() []Key {
	type placed struct {
		Key
		line int
	}
	var found []placed
	for k, all := range f.said {
		if AnyWord(all) {
			found = append(found, placed{k, all[0].line})
		}
	}
	slices.SortFunc(found, func(a, b placed) int { return cmp.Compare(a.line, b.line) })
	out := make([]Key, len(found))
	for i := range found {
		out[i] = found[i].Key
	}
	return out
}

// People are those who labelled, by name.
func (f *File) People() []string { return slices.Clone(f.people) }

// AnyWord reports whether a label is one of pass or fail, and not a comment alone.
func AnyWord(all []Label) bool {
	return slices.ContainsFunc(all, func(l Label) bool { return l.Label != None })
}

// Decide says what most people say of an answer: Pass, Fail, or None for a tie and without a label.
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
