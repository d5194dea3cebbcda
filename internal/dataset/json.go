package dataset

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"io"

	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/expr"
)

// lines reads one object per line, or one document per line, from which rows selects. It skips empty lines.
func lines(in *countedReader, rows *expr.Rows, yield func(DataRow, error) bool) {
	r := bufio.NewReaderSize(in, bufferSize)
	var row []byte
	for line := 1; ; line++ {
		in.row()
		var err error
		row, err = readLine(r, row[:0], line)
		if errors.Is(err, io.EOF) {
			return
		}
		if err != nil {
			yield(DataRow{}, err)
			return
		}
		if len(bytes.TrimSpace(row)) > 0 && !oneLine(row, line, rows, yield) {
			return
		}
	}
}

func oneLine(text []byte, line int, rows *expr.Rows, yield func(DataRow, error) bool) bool {
	if rows != nil {
		return documentOf(text, line, rows, yield)
	}
	vars, err := object(text, line)
	return yield(DataRow{Line: line, Vars: vars}, err)
}

// readLine appends a line of any length to row. It returns io.EOF after the last line.
func readLine(r *bufio.Reader, row []byte, line int) ([]byte, error) {
	for {
		part, err := r.ReadSlice('\n')
		row = append(row, part...)
		switch {
		case errors.Is(err, bufio.ErrBufferFull):
			continue
		case errors.Is(err, errLong):
			err = tooLong(line)
		case errors.Is(err, io.EOF) && len(row) > 0:
			err = nil
		}
		return row, err
	}
}

func list(in *countedReader, yield func(DataRow, error) bool) {
	in.lines = true
	dec := json.NewDecoder(in)
	first, err := dec.Token()
	if err != nil {
		yield(DataRow{}, syntax(in, dec, err))
		return
	}
	if first != json.Delim('[') {
		yield(DataRow{}, &LineError{Line: 1, Message: "the file is not a list of objects", Hint: notAList})
		return
	}
	for dec.More() {
		in.row()
		var raw json.RawMessage
		if err := dec.Decode(&raw); err != nil {
			yield(DataRow{}, syntax(in, dec, err))
			return
		}
		line := in.lineAt(dec.InputOffset() - int64(len(raw)))
		vars, err := object(raw, line)
		if !yield(DataRow{Line: line, Vars: vars}, err) {
			return
		}
	}
	if err := endOfList(in, dec); err != nil {
		yield(DataRow{}, err)
	}
}

func endOfList(in *countedReader, dec *json.Decoder) error {
	if _, err := dec.Token(); err != nil {
		return syntax(in, dec, err)
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return &LineError{Line: in.lineAt(dec.InputOffset()), Message: "something follows after the end of the list"}
	}
	return nil
}

const notAList = "when a list inside it holds the rows, write `rows: .data[]` with its path; one object a line is a " +
	"file named .jsonl"

func syntax(in *countedReader, dec *json.Decoder, err error) error {
	var bad *json.SyntaxError
	var known *LineError
	switch {
	case errors.As(err, &known): // already explained, such as damaged gzip
		return known
	case errors.Is(err, errLong):
		return tooLong(in.lineAt(beginning(dec)))
	case errors.Is(err, io.EOF) && dec.InputOffset() == 0:
		return &LineError{Line: 1, Message: "the file is empty"}
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return &LineError{Line: in.lineAt(in.read), Message: "the file ends in the middle of the list"}
	case errors.As(err, &bad):
		return &LineError{Line: in.lineAt(bad.Offset), Message: "this is not JSON"}
	}
	return err
}

// beginning returns the offset at which the next value begins.
func beginning(dec *json.Decoder) int64 {
	offset := dec.InputOffset()
	ahead := bufio.NewReader(dec.Buffered())
	for {
		c, err := ahead.ReadByte()
		if err != nil || !bytes.ContainsRune([]byte(" \t\r\n,"), rune(c)) {
			return offset
		}
		offset++
	}
}

// object reads the values of a row. Texts stay as they are, numbers and booleans keep their spelling, and
// null is the empty text, like an empty cell of a table. Values inside lists and objects keep their types.
func object(raw []byte, line int) (eval.Dict, error) {
	vars, err := eval.ParseDict(raw)
	var twice *eval.TwiceError
	switch {
	case err == nil:
		return vars, nil
	case errors.Is(err, eval.ErrUTF8):
		return nil, notUTF8(line, 0)
	case errors.Is(err, eval.ErrJSON):
		return nil, &LineError{line, 0, "this is not JSON", "one whole object a line"}
	case errors.Is(err, eval.ErrObject):
		return nil, &LineError{line, 0, "a row is an object: {\"column\": \"value\"}", ""}
	case errors.As(err, &twice):
		return nil, &LineError{line, 0, err.Error(), "remove one of them"}
	}
	return nil, &LineError{line, 0, err.Error(), ""}
}
