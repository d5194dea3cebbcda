// Package dataset reads rows of named values out of data files: CSV, TSV, JSON lines and JSON. It streams: what it
// holds at a time is one row, so that a file of any size is read in flat memory. A bad row is an Error with its line, after which
// reading goes on where the next row can be told.
//
// It refuses what would silently become something else: text that is not UTF-8, columns without a name or with
// the name of another, rows with more or fewer cells than the header, keys that stand twice in an object.
package dataset

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"iter"

	"github.com/evalrun/evalrun/variable"
)

// Format is how the rows of a file are written.
type Format string

// The formats.
const (
	CSV       Format = "csv"   // RFC 4180, the first record being the header
	TSV       Format = "tsv"   // the same with tabs
	JSONLines Format = "jsonl" // one object a line
	JSON      Format = "json"  // a list of objects
)

// MaxRow is the longest row in bytes.
const MaxRow = 16 << 20

// Row is one row.
type Row struct {
	Line int // where it begins, from 1
	Vars variable.Dict
}

// Error is what is wrong with a file at a line. Col is 0 where it is not known.
type Error struct {
	Line, Col int
	Message   string
	Hint      string
}

func (e *Error) Error() string { return fmt.Sprintf("line %d: %s", e.Line, e.Message) }

// Read yields the rows of a file; comma is what separates the cells of CSV, 0 for the usual one. The error is an *Error, or
// one of r. After an *Error the rows that follow come too, as far as they can be told.
func Read(r io.Reader, format Format, comma rune) iter.Seq2[Row, error] {
	return func(yield func(Row, error) bool) {
		in := &source{r: bufio.NewReaderSize(r, bufferSize)}
		if err := in.skipBOM(); err != nil {
			yield(Row{}, err)
			return
		}
		switch format {
		case CSV, TSV:
			if comma == 0 {
				comma = ','
			}
			if format == TSV {
				comma = '\t'
			}
			table(in, comma, yield)
		case JSONLines:
			lines(in, yield)
		case JSON:
			list(in, yield)
		}
	}
}

const bufferSize = 64 << 10

// source is the file. It refuses to hand out more than a row may have since the last mark, and knows on which line an
// offset is.
type source struct {
	r        *bufio.Reader
	read     int64 // bytes handed out
	mark     int64 // read when the row began
	lines    bool  // whether lineAt is asked
	newlines []int64
	line     int // of the last offset that was asked for, less 1
}

var errLong = errors.New("too long")

func (s *source) Read(p []byte) (int, error) {
	if s.read-s.mark > MaxRow {
		return 0, errLong
	}
	n, err := s.r.Read(p)
	for i, c := range p[:n] {
		if s.lines && c == '\n' {
			s.newlines = append(s.newlines, s.read+int64(i))
		}
	}
	s.read += int64(n)
	return n, err
}

// row begins the next row.
func (s *source) row() { s.mark = s.read }

// lineAt is the line of an offset; offsets must not go back.
func (s *source) lineAt(offset int64) int {
	n := 0
	for n < len(s.newlines) && s.newlines[n] < offset {
		n++
	}
	s.newlines = s.newlines[n:]
	s.line += n
	return s.line + 1
}

// skipBOM skips the mark with which some programs begin UTF-8, and refuses those of other encodings.
func (s *source) skipBOM() error {
	head, err := s.r.Peek(3)
	if err != nil && !errors.Is(err, io.EOF) {
		return err
	}
	switch {
	case bytes.HasPrefix(head, []byte("\xef\xbb\xbf")):
		_, err = s.r.Discard(3)
		return err
	case bytes.HasPrefix(head, []byte("\xff\xfe")), bytes.HasPrefix(head, []byte("\xfe\xff")):
		return &Error{Line: 1, Message: "the file is in UTF-16", Hint: "save it as UTF-8"}
	}
	return nil
}

func tooLong(line int) error {
	return &Error{Line: line, Message: fmt.Sprintf("a row has more than %d bytes", MaxRow), Hint: "is a quote or a bracket open?"}
}
