// Package dataset reads rows of named values out of data files: CSV, TSV, JSON lines and JSON, compressed with gzip or
// not. It streams: it holds one row at a time, so that a file of any size is read in flat memory. Only a JSON document
// whose rows an expression selects is held as a whole. A bad row is an Error with its line, after which reading
// continues at the next row that begins for sure.
//
// It refuses what would silently change: text that is not UTF-8, columns without a name of their own, rows with more or
// fewer cells than the header, duplicate keys.
package dataset

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"iter"

	"github.com/evalrun/evalrun/internal/jq"
	"github.com/evalrun/evalrun/variable"
)

// FileFormat is how the rows of a file are written.
type FileFormat string

// The formats.
const (
	CSV       FileFormat = "csv"   // RFC 4180, the first record being the header
	TSV       FileFormat = "tsv"   // the same with tabs
	JSONLines FileFormat = "jsonl" // one object a line
	JSON      FileFormat = "json"  // a list of objects
)

// MaxRow is the longest row in bytes.
const MaxRow = 16 << 20

// Options say how a file is read.
type Options struct {
	Format    FileFormat
	Separator rune     // between the cells of CSV; 0: a comma
	Columns   []string // the names of the cells of a table without a header; nil: its first record is one
	Rows      *jq.Rows // selects the rows of JSON, or those of each line of JSON lines; nil: they are a list, or the lines
	Packed    bool     // the file must be compressed with gzip. Any file may be: its bytes show it.
}

// DataRow is one row.
type DataRow struct {
	Line     int // where it begins, from 1
	Vars     variable.Dict
	LentName bool // its `name` is that of an object around it
}

// LineError is what is wrong with a file at a line. Line and Col are 0 where they are not known.
type LineError struct {
	Line, Col int
	Message   string
	Hint      string
}

func (e *LineError) Error() string {
	if e.Line == 0 {
		return e.Message
	}
	return fmt.Sprintf("line %d: %s", e.Line, e.Message)
}

// Read yields the rows of a file. The error is a *Foreign, an *Error, or one of r. After an *Error the rows that follow
// come too, as far as it is known where they begin.
func Read(r io.Reader, o Options) iter.Seq2[DataRow, error] {
	return func(yield func(DataRow, error) bool) {
		in, err := open(r, o.Packed)
		if err != nil {
			yield(DataRow{}, err)
			return
		}
		switch o.Format {
		case CSV, TSV:
			table(in, o, yield)
		case JSONLines:
			lines(in, o.Rows, yield)
		case JSON:
			if o.Rows != nil {
				whole(in, o.Rows, yield)
				return
			}
			list(in, yield)
		}
	}
}

// open begins to read a file: it unpacks gzip, and checks for signs of a file without rows.
func open(r io.Reader, packed bool) (*source, error) {
	file := bufio.NewReaderSize(r, bufferSize)
	head, err := peek(file, len(gzipMagic))
	switch {
	case err != nil:
		return nil, err
	case string(head) == gzipMagic:
		file = bufio.NewReaderSize(&unpacked{in: counted{r: file}}, bufferSize)
	case packed:
		return nil, notPacked(len(head) == 0)
	}
	if head, err = peek(file, HeadBytes); err != nil {
		return nil, err
	}
	if foreign := ForeignContent(head); foreign != nil {
		return nil, foreign
	}
	in := &source{r: file}
	return in, in.skipBOM()
}

// peek is how a file begins, which may be shorter.
func peek(r *bufio.Reader, n int) ([]byte, error) {
	head, err := r.Peek(n)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	return head, nil
}

const bufferSize = 64 << 10

// source is the file. It refuses to hand out more than a row may have since the last mark, and knows on which line an
// offset is.
type source struct {
	r        *bufio.Reader
	read     int64 // bytes handed out
	mark     int64 // read when the row began
	lines    bool  // whether lineAt is called
	newlines []int64
	line     int // of the last offset that was looked up, less 1
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
	head, err := peek(s.r, 3)
	if err != nil {
		return err
	}
	if bytes.HasPrefix(head, []byte("\xef\xbb\xbf")) {
		_, err = s.r.Discard(3)
		return err
	}
	return UTF16(head)
}

// UTF16 is the error of a file that begins with the mark of UTF-16, nil for others.
func UTF16(head []byte) error {
	if bytes.HasPrefix(head, []byte("\xff\xfe")) || bytes.HasPrefix(head, []byte("\xfe\xff")) {
		return &LineError{Line: 1, Message: "the file is in UTF-16", Hint: "save it as UTF-8"}
	}
	return nil
}

func tooLong(line int) error {
	return &LineError{Line: line, Message: fmt.Sprintf("a row has more than %d bytes", MaxRow), Hint: "is a quote or a bracket open?"}
}
