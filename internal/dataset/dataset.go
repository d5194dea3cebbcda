// Package dataset reads rows of named values from data files: CSV, TSV, JSON lines and JSON, with or
// without gzip. It streams one row at a time, so the memory does not depend on the size of the file. Only a
// JSON document whose rows an expression selects is read as a whole. A bad row is a LineError.
// Reading continues at the next row whose beginning is certain.
//
// The package refuses what it would silently change: text that is not UTF-8, columns without a unique name,
// rows with more or fewer cells than the header, and duplicate keys. For such files it says what they are:
// ForeignContent and ForeignName know other formats, such as spreadsheets.
package dataset

import (
	"bufio"
	"bytes"
	"compress/flate"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"iter"

	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/expr"
)

// FileFormat is the format of a data file.
type FileFormat string

// The formats that Read accepts.
const (
	CSV       FileFormat = "csv"   // RFC 4180, the first record being the header
	TSV       FileFormat = "tsv"   // the same with tabs
	JSONLines FileFormat = "jsonl" // one object a line
	JSON      FileFormat = "json"  // a list of objects
)

// MaxRow bounds a row, in bytes.
const MaxRow = 16 << 20

// Options say how to read a file.
type Options struct {
	Format    FileFormat
	Separator rune       // between the cells of CSV; 0: a comma
	Columns   []string   // the names of the cells of a table without a header; nil: its first record is one
	RowPath   *expr.Rows // selects the rows of JSON, or those of each line of JSON lines; nil: they are a list, or the lines
	Packed    bool       // the file must be compressed with gzip. Any file may be: its bytes show it.
}

// DataRow is one row of a file.
type DataRow struct {
	Line     int // where it begins, from 1
	Vars     eval.Dict
	LentName bool // `name` is inherited from an object around the row
}

// LineError is a problem of a file. Line and Col are 0 if unknown.
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

// Read yields the rows of a file. Its errors are a *Foreign, a *LineError, or an error of r. After a *LineError
// it yields the following rows, if it knows where they begin.
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
			lines(in, o.RowPath, yield)
		case JSON:
			if o.RowPath != nil {
				whole(in, o.RowPath, yield)
				return
			}
			list(in, yield)
		}
	}
}

// open unpacks gzip, and refuses files that cannot have rows.
func open(r io.Reader, packed bool) (*countedReader, error) {
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
	in := &countedReader{r: file}
	return in, in.skipBOM()
}

// peek returns fewer than n bytes for a short file.
func peek(r *bufio.Reader, n int) ([]byte, error) {
	head, err := r.Peek(n)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	return head, nil
}

const bufferSize = 64 << 10

// countedReader counts what is read since the last mark, and refuses rows beyond MaxRow. It also finds the line of
// an offset.
type countedReader struct {
	r        *bufio.Reader
	read     int64 // bytes read
	mark     int64 // the value of read at the beginning of the row
	lines    bool  // lineAt is used, so newlines are recorded
	newlines []int64
	line     int // the last line that lineAt returned, less 1
}

var errLong = errors.New("too long")

func (s *countedReader) Read(p []byte) (int, error) {
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

func (s *countedReader) row() { s.mark = s.read }

// lineAt returns the line of an offset. Offsets must not decrease, because it forgets earlier lines.
func (s *countedReader) lineAt(offset int64) int {
	n := 0
	for n < len(s.newlines) && s.newlines[n] < offset {
		n++
	}
	s.newlines = s.newlines[n:]
	s.line += n
	return s.line + 1
}

// skipBOM skips the byte order mark of UTF-8 and refuses those of other encodings.
func (s *countedReader) skipBOM() error {
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

// UTF16 returns an error for a file with the byte order mark of UTF-16, nil for others.
func UTF16(head []byte) error {
	if bytes.HasPrefix(head, []byte("\xff\xfe")) || bytes.HasPrefix(head, []byte("\xfe\xff")) {
		return &LineError{Line: 1, Message: "the file is in UTF-16", Hint: "save it as UTF-8"}
	}
	return nil
}

func tooLong(line int) error {
	return &LineError{
		Line:    line,
		Message: fmt.Sprintf("a row has more than %d bytes", MaxRow),
		Hint:    "is a quote or a bracket open?",
	}
}

const gzipMagic = "\x1f\x8b"

// A few bytes of gzip can unpack to gigabytes. So every window of output must use at least a maxRatio-th of
// its size in input. Published data rarely shrinks to less than a fiftieth.
const (
	window   = 32 << 20
	maxRatio = 100
)

// unpacked reads a gzip stream. Its errors are of type *LineError.
type unpacked struct {
	in        counted
	z         *gzip.Reader
	out, next int64 // bytes unpacked, and the count at which to check the ratio
	taken     int64 // bytes of the file that were read before this window
}

func (u *unpacked) Read(p []byte) (n int, err error) {
	if u.z == nil {
		u.next = window
		if u.z, err = gzip.NewReader(&u.in); err != nil {
			return 0, packedError(err)
		}
	}
	n, err = u.z.Read(p)
	if u.out += int64(n); u.out >= u.next {
		if u.in.n-u.taken < window/maxRatio {
			return 0, &LineError{
				Message: fmt.Sprintf("the compressed data grows to more than %d times its size", maxRatio),
				Hint:    "look at it: gunzip -c FILE | head -c 1000; when it is right, decompress it and name the plain file",
			}
		}
		u.next, u.taken = u.out+window, u.in.n
	}
	if err != nil && !errors.Is(err, io.EOF) {
		return n, packedError(err)
	}
	return n, err
}

// CheckPacked reads a gzip file to its end. It returns a *LineError when the file is incomplete or unpacks to
// too much, or an error of r.
func CheckPacked(r io.Reader) error {
	file := bufio.NewReaderSize(r, bufferSize)
	head, err := peek(file, len(gzipMagic))
	if err != nil || string(head) != gzipMagic {
		return err
	}
	_, err = io.Copy(io.Discard, &unpacked{in: counted{r: file}})
	return err
}

// packedError explains an error of the gzip reader. It returns errors of the file as they are.
func packedError(err error) error {
	const hint = "copy or download the file again; `gzip -t FILE` checks it"
	var corrupt flate.CorruptInputError
	switch {
	case errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, io.EOF):
		return &LineError{Message: "the compressed data ends in the middle: the file is cut off", Hint: hint}
	case errors.Is(err, gzip.ErrHeader), errors.Is(err, gzip.ErrChecksum), errors.As(err, &corrupt):
		return &LineError{Message: "the compressed data is damaged", Hint: hint}
	}
	return err
}

func notPacked(empty bool) *LineError {
	if empty {
		return &LineError{Message: "the file is empty", Hint: "copy or download it again"}
	}
	return &LineError{
		Message: "the file is named .gz, and what it holds is not compressed with gzip",
		Hint:    "rename it: drop the .gz",
	}
}

// counted implements io.ByteReader so that the decompressor does not read ahead, which would make the count
// too high.
type counted struct {
	r interface {
		io.Reader
		io.ByteReader
	}
	n int64
}

func (c *counted) Read(p []byte) (int, error) {
	n, err := c.r.Read(p)
	c.n += int64(n)
	return n, err
}

func (c *counted) ReadByte() (byte, error) {
	b, err := c.r.ReadByte()
	if err == nil {
		c.n++
	}
	return b, err
}
