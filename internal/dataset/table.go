package dataset

import (
	"cmp"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"github.com/evalrun/evalrun/diag"
	"github.com/evalrun/evalrun/eval"
)

// table reads records. The first one has the names of the columns, unless o has them.
func table(in *countedReader, o Options, yield func(DataRow, error) bool) {
	r := csv.NewReader(in)
	r.Comma = cmp.Or(o.Separator, ',')
	r.ReuseRecord = true
	r.FieldsPerRecord = -1
	if o.Format == TSV {
		r.Comma = '\t'
	}
	head := columnNames{names: o.Columns, given: o.Columns != nil}
	if !head.given {
		var err error
		if head.names, err = header(r); err != nil {
			yield(DataRow{}, err)
			return
		}
	}
	for line := 1; ; {
		in.row()
		record, err := r.Read()
		if errors.Is(err, io.EOF) {
			return
		}
		if err != nil {
			yield(DataRow{}, recordError(line+1, err))
			return // where the next record begins is a guess after a stray quote
		}
		line, _ = r.FieldPos(0)
		row, err := head.row(r, record)
		row.Line = line
		if !yield(row, err) {
			return
		}
	}
}

type columnNames struct {
	names []string
	given bool // from Options: the table has no header
}

func header(r *csv.Reader) ([]string, error) {
	names, err := r.Read()
	if errors.Is(err, io.EOF) {
		return nil, &LineError{Line: 1, Message: "the file is empty", Hint: "its first line names the columns"}
	}
	if err != nil {
		return nil, recordError(1, err)
	}
	return columnsOf(r, names)
}

func columnsOf(r *csv.Reader, header []string) ([]string, error) {
	first := map[string]int{}
	columns := make([]string, len(header))
	for i, name := range header {
		line, col := r.FieldPos(i)
		name = strings.TrimSpace(name)
		other, twice := first[name]
		switch {
		case !utf8.ValidString(name):
			return nil, notUTF8(line, col)
		case name == "":
			return nil, &LineError{line, col, fmt.Sprintf("column %d has no name", i+1), "name it, or remove the column"}
		case twice:
			return nil, &LineError{line, col, fmt.Sprintf("the columns %d and %d have the same name, %q", other, i+1, name), "rename one of them"}
		case len(header) == 1 && strings.ContainsAny(name, ";\t"):
			return nil, otherSeparator(r.Comma, line, col)
		}
		first[name] = i + 1
		columns[i] = name
	}
	return columns, nil
}

func comma(r rune) string {
	if r == '\t' {
		return "tabs"
	}
	return fmt.Sprintf("%q", r)
}

func otherSeparator(r rune, line, col int) *LineError {
	return &LineError{
		line,
		col,
		"the cells seem to be separated by something else than " + comma(r),
		"write `separator: \";\"` next to `dataset`, or name a file with tabs .tsv",
	}
}

func (c *columnNames) row(r *csv.Reader, record []string) (DataRow, error) {
	if len(record) != len(c.names) {
		line, _ := r.FieldPos(0)
		return DataRow{}, c.otherCount(r.Comma, record, line)
	}
	vars := make(eval.Dict, len(c.names))
	for i, cell := range record {
		if !utf8.ValidString(cell) {
			return DataRow{}, notUTF8(r.FieldPos(i))
		}
		vars[c.names[i]] = cell
	}
	return DataRow{Vars: vars}, nil
}

// otherCount returns the error for a row with more or fewer cells than columns.
func (c *columnNames) otherCount(separator rune, record []string, line int) *LineError {
	if c.given && len(record) == 1 && strings.ContainsAny(record[0], ";\t") {
		return otherSeparator(separator, line, 0)
	}
	hint := "quote a cell that contains " + comma(separator)
	if len(record) < len(c.names) {
		hint = "write a cell for every column; one with nothing in it is empty"
	}
	names := "the header names"
	if c.given {
		names = "`columns` names"
	}
	message := fmt.Sprintf("the row has %s, and %s %s", diag.Count(len(record), "cell"), names, diag.Count(len(c.names), "column"))
	return &LineError{line, 0, message, hint}
}

func notUTF8(line, col int) error {
	return &LineError{line, col, "the text is not UTF-8", "save the file as UTF-8"}
}

func recordError(line int, err error) error {
	var parse *csv.ParseError
	switch {
	case errors.Is(err, errLong):
		return tooLong(line)
	case !errors.As(err, &parse):
		return err
	case errors.Is(parse.Err, csv.ErrBareQuote):
		return &LineError{
			parse.Line,
			parse.Column,
			"a quote inside a cell that is not quoted",
			`quote the cell, and double the quotes in it: "a ""word"""`,
		}
	case errors.Is(parse.Err, csv.ErrQuote):
		return &LineError{
			parse.StartLine,
			0,
			"a quoted cell does not end, or has text after its closing quote",
			`quotes inside a quoted cell are doubled: "a ""word"""`,
		}
	}
	return &LineError{parse.Line, parse.Column, parse.Err.Error(), ""}
}
