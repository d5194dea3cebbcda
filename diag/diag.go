// Package diag holds what evalrun says about a user's files: a position, a message, a hint. A reader of a file collects
// every problem in a List and continues; the caller sorts, renders and decides.
//
// It never stops at the first problem and never guesses positions: a Diagnostic without a line is about the file as a
// whole. What messages share is here, too: the nearest known word, plurals, line breaks, and texts without control
// characters.
package diag

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// Pos is a place in a file. Line and Col count from 1; Col counts code points.
// Line 0 means the file as a whole.
type Pos struct {
	File string
	Line int
	Col  int
}

// String gives file:line:col, or less where less is known.
func (p Pos) String() string {
	switch {
	case p.Line == 0:
		return p.File
	case p.Col == 0:
		return fmt.Sprintf("%s:%d", p.File, p.Line)
	}
	return fmt.Sprintf("%s:%d:%d", p.File, p.Line, p.Col)
}

// SeenFrom describes p in a message that is reported at another position: "on line 3", or "in parts.yaml:3".
func (p Pos) SeenFrom(at Pos) string {
	if p.File == at.File {
		return fmt.Sprintf("on line %d", p.Line)
	}
	return fmt.Sprintf("in %s:%d", p.File, p.Line)
}

// Severity separates errors from warnings.
type Severity int

// The zero Severity is invalid on purpose.
const (
	Error Severity = iota + 1
	Warning
)

// Diagnostic is one problem of a file, as a user reads it.
type Diagnostic struct {
	Severity Severity
	Pos      Pos
	Message  string // what is wrong
	Hint     string // what to do about it; optional
	// Placed says that the message names another place itself, such as the row of a dataset.
	Placed bool
	// Private says that the source line is not shown: it may hold a secret.
	Private bool
}

// maxItems is how many diagnostics a list keeps. More are of no use to a reader, and a hostile file makes millions.
const maxItems = 10_000

// List collects diagnostics. The zero List is ready to use.
type List struct {
	items    []Diagnostic
	seen     map[Diagnostic]bool
	included map[string]Pos // where files are included
	rows     map[Diagnostic]*repeatedProblem
	repeated int // problems of rows that an earlier row has too
}

// repeatedProblem are the rows of data with the same problem.
type repeatedProblem struct {
	item  int // in the list
	first Pos
	more  int
}

// AddInclude notes where a file is included, so that a report about it can show the chain of includes.
func (l *List) AddInclude(file string, at Pos) {
	if l.included == nil {
		l.included = map[string]Pos{}
	}
	if _, known := l.included[file]; !known {
		l.included[file] = at
	}
}

// Chain lists where a file is included, where the file that includes it is included, and so on.
func (l *List) Chain(file string) []Pos {
	var out []Pos
	for at, ok := l.included[file]; ok && len(out) <= len(l.included); at, ok = l.included[at.File] {
		out = append(out, at)
	}
	return out
}

// Errorf adds an error.
func (l *List) Errorf(pos Pos, hint, format string, args ...any) {
	l.Add(Diagnostic{Severity: Error, Pos: pos, Message: fmt.Sprintf(format, args...), Hint: hint})
}

// Warnf adds a warning.
func (l *List) Warnf(pos Pos, hint, format string, args ...any) {
	l.Add(Diagnostic{Severity: Warning, Pos: pos, Message: fmt.Sprintf(format, args...), Hint: hint})
}

// PlacedErrorf adds an error whose message names another place itself.
func (l *List) PlacedErrorf(pos Pos, hint, format string, args ...any) {
	l.Add(Diagnostic{Severity: Error, Pos: pos, Message: fmt.Sprintf(format, args...), Hint: hint, Placed: true})
}

// Add appends d unless the list has the same already: a problem in `defaults` would otherwise appear once per case.
func (l *List) Add(d Diagnostic) {
	if l.seen == nil {
		l.seen = map[Diagnostic]bool{}
	}
	if l.seen[d] || len(l.items) >= maxItems {
		return
	}
	l.seen[d] = true
	l.items = append(l.items, d)
}

// AddRow adds a problem that comes from a row of data. Rows with the same problem are one item, which names the first.
func (l *List) AddRow(d Diagnostic, row Pos) {
	if l.rows == nil {
		l.rows = map[Diagnostic]*repeatedProblem{}
	}
	if same := l.rows[d]; same != nil {
		same.more++
		l.repeated++
		l.items[same.item].Message = fmt.Sprintf("%s (in the row at %s, and in %d more)", d.Message, same.first, same.more)
		return
	}
	in, before := d, l.Len()
	in.Message += fmt.Sprintf(" (in the row at %s)", row)
	if l.Add(in); l.Len() > before {
		l.rows[d] = &repeatedProblem{item: before, first: row}
	}
}

// Repeated is how often AddRow met a problem again.
func (l *List) Repeated() int { return l.repeated }

// Merge adds the problems of other, and where its files are included. A problem that l has already is not added again.
func (l *List) Merge(other List) {
	for _, d := range other.items {
		l.Add(d)
	}
	for file, at := range other.included {
		l.AddInclude(file, at)
	}
}

// HasErrors reports whether any item is an error.
func (l *List) HasErrors() bool { return l.count(Error) > 0 }

// Len is the number of errors and warnings.
func (l *List) Len() int { return len(l.items) }

func (l *List) count(s Severity) int {
	n := 0
	for _, d := range l.items {
		if d.Severity == s {
			n++
		}
	}
	return n
}

// Sorted returns the items by file, line and column, errors first.
func (l *List) Sorted() []Diagnostic {
	out := slices.Clone(l.items)
	slices.SortStableFunc(out, func(a, b Diagnostic) int {
		return cmp.Or(
			strings.Compare(a.Pos.File, b.Pos.File),
			cmp.Compare(a.Pos.Line, b.Pos.Line),
			cmp.Compare(a.Pos.Col, b.Pos.Col),
			cmp.Compare(a.Severity, b.Severity),
		)
	})
	return out
}

// Err returns the list as an error, nil when it has only warnings.
func (l *List) Err() error {
	if !l.HasErrors() {
		return nil
	}
	return &ListError{List: l}
}

// ListError is a List with at least one error, as an error. The command line
// shows it with source lines; Error gives the short form.
type ListError struct{ List *List }

func (m *ListError) Error() string {
	for _, d := range m.List.Sorted() {
		if d.Severity != Error {
			continue
		}
		if n := m.List.count(Error); n > 1 {
			return fmt.Sprintf("%s: %s (and %d more)", d.Pos, d.Message, n-1)
		}
		return fmt.Sprintf("%s: %s", d.Pos, d.Message)
	}
	return "no problems"
}
