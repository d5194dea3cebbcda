package dataset_test

import (
	"errors"
	"fmt"
	"io"
	"runtime"
	"strings"
	"testing"

	"github.com/evalrun/evalrun/internal/dataset"
	"github.com/evalrun/evalrun/internal/testing/expect"
	"github.com/evalrun/evalrun/internal/testing/hostile"
)

// read writes down what comes out of a file, a line a row.
func read(format dataset.FileFormat, text string) string {
	var b strings.Builder
	for row, err := range dataset.Read(strings.NewReader(text), dataset.Options{Format: format}) {
		if err != nil {
			fmt.Fprintf(&b, "! %s\n", err)
			continue
		}
		fmt.Fprintf(&b, "%d %s\n", row.Line, row.Vars)
	}
	return b.String()
}

func TestReadGivesTheRowsOfEachFormat(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name   string
		format dataset.FileFormat
		text   string
		want   string
	}{
		{"plain", dataset.CSV, "country,capital\nFrance,Paris\nSpain,Madrid\n", "2 {\"capital\":\"Paris\",\"country\":\"France\"}\n3 " +
			"{\"capital\":\"Madrid\",\"country\":\"Spain\"}\n"},
		{
			"byte order mark, CRLF, no last line break", dataset.CSV, "\ufeffa,b\r\n1,\"x\r\ny\"\r\n\r\n3,4",
			"2 {\"a\":\"1\",\"b\":\"x\\ny\"}\n5 {\"a\":\"3\",\"b\":\"4\"}\n",
		},
		{"quotes", dataset.CSV, "a,b\n\"say \"\"hi\"\", you\",\n", "2 {\"a\":\"say \\\"hi\\\", you\",\"b\":\"\"}\n"},
		{"numbers stay as written", dataset.CSV, "a\n010\n1.10\n", "2 {\"a\":\"010\"}\n3 {\"a\":\"1.10\"}\n"},
		{"header alone", dataset.CSV, "a,b\n", ""},
		{"empty", dataset.CSV, "", "! line 1: the file is empty\n"},
		{"empty lines alone", dataset.CSV, "\ufeff\n\n", "! line 1: the file is empty\n"},
		{
			"lines in cells and between rows", dataset.CSV, "a,b\n\n1,\"x\n\ny\"\n\n2,z\n",
			"3 {\"a\":\"1\",\"b\":\"x\\n\\ny\"}\n7 {\"a\":\"2\",\"b\":\"z\"}\n",
		},
		{"tabs", dataset.TSV, "a\tb\n1,2\t3\n", "2 {\"a\":\"1,2\",\"b\":\"3\"}\n"},
		{"ragged rows are told and passed over", dataset.CSV, "a,b\n1\n1,2\n1,2,3\n", "! line 2: the row has 1 cell, and the header names 2 " +
			"columns\n3 {\"a\":\"1\",\"b\":\"2\"}\n! line 4: the row has 3 cells, and the header names 2 columns\n"},
		{"twice", dataset.CSV, "a, a\n1,2\n", "! line 1: the columns 1 and 2 have the same name, \"a\"\n"},
		{"no name", dataset.CSV, "a,,b\n1,2,3\n", "! line 1: column 2 has no name\n"},
		{"semicolons", dataset.CSV, "a;b\n1;2\n", "! line 1: the cells seem to be separated by something else than ','\n"},
		{"stray quote", dataset.CSV, "a,b\n1,x\"y\n", "! line 2: a quote inside a cell that is not quoted\n"},
		{"open quote", dataset.CSV, "a,b\n1,2\n3,\"x\ny\n", "2 {\"a\":\"1\",\"b\":\"2\"}\n! line 3: a quoted cell does not end, or has text " +
			"after its closing quote\n"},
		{"not UTF-8", dataset.CSV, "a\n\xff\nx\n", "! line 2: the text is not UTF-8\n3 {\"a\":\"x\"}\n"},
		{"UTF-16", dataset.CSV, "\xff\xfea\x00", "! line 1: the file is in UTF-16\n"},
		{"right to left", dataset.CSV, "שם\nשלום\n", "2 {\"שם\":\"שלום\"}\n"},

		{
			"lines", dataset.JSONLines, "\ufeff{\"a\":\"x\",\"n\":1.10,\"t\":true,\"z\":null}\n\n{\"l\":[1,{\"k\":\"v\"}],\"e\":[]}",
			"1 {\"a\":\"x\",\"n\":\"1.10\",\"t\":\"true\",\"z\":\"\"}\n3 {\"e\":[],\"l\":[1,{\"k\":\"v\"}]}\n",
		},
		{
			"bad lines", dataset.JSONLines, "{\"a\":1}\n{\"a\":\n[1]\n{\"a\":1,\"a\":2}\n{\"a\":2} {}\n{\"a\":3}\r\n",
			"1 {\"a\":\"1\"}\n! line 2: this is not JSON\n" +
				"! line 3: a row is an object: {\"column\": \"value\"}\n" +
				"! line 4: the key \"a\" appears twice in an object\n! line 5: this is not JSON\n6 {\"a\":\"3\"}\n",
		},
		{"no lines", dataset.JSONLines, "", ""},
		{"empty lines", dataset.JSONLines, "\ufeff\n\r\n\n", ""},
		{
			"more bad lines", dataset.JSONLines, "\"x\"\nnull\n{'a':1}\n{\"a\":1,}\n// {\"a\":1}\n" +
				"{\"a\":\"\xff\"}\n{\"a\":{\"b\":1,\"b\":2}}\n{\"a\":7}",
			"! line 1: a row is an object: {\"column\": \"value\"}\n! line 2: a row is an object: {\"column\": \"value\"}\n" +
				"! line 3: this is not JSON\n! line 4: this is not JSON\n! line 5: this is not JSON\n! line 6: the text is not UTF-8\n" +
				"! line 7: the key \"b\" appears twice in an object\n8 {\"a\":\"7\"}\n",
		},

		{"list", dataset.JSON, "[\n {\"a\": 1},\n\n {\"a\":\n 2}]\n", "2 {\"a\":\"1\"}\n4 {\"a\":\"2\"}\n"},
		{"empty list", dataset.JSON, "[]", ""},
		{"lists over lines", dataset.JSON, "[\n{\"a\":\n1},\n\n{}, {}]", "2 {\"a\":\"1\"}\n5 {}\n5 {}\n"},
		{"white space alone", dataset.JSON, "\n\n", "! line 1: the file is empty\n"},
		{"no list", dataset.JSON, "{\"a\": 1}", "! line 1: the file is not a list of objects\n"},
		{"no JSON", dataset.JSON, "[{\"a\": 1},\n{\"a\": x}]", "1 {\"a\":\"1\"}\n! line 2: this is not JSON\n"},
		{"cut", dataset.JSON, "[{\"a\": 1},\n{\"a\"", "1 {\"a\":\"1\"}\n! line 2: the file ends in the middle of the list\n"},
		{"more", dataset.JSON, "[{\"a\": 1}]\n[]", "1 {\"a\":\"1\"}\n! line 2: something follows after the end of the list\n"},
		{"nothing", dataset.JSON, "", "! line 1: the file is empty\n"},
		{"numbers in a list", dataset.JSON, "[1, {\"a\": 1}]", "! line 1: a row is an object: {\"column\": \"value\"}\n1 {\"a\":\"1\"}\n"},
	} {
		expect.Same(t, test.name, read(test.format, test.text), test.want)
	}
}

// A row with too few cells needs other advice than one with too many.
func TestRaggedRowsHaveTheirHint(t *testing.T) {
	t.Parallel()
	for row, want := range map[string]string{"1": "write a cell for every column", "1,2,3": "quote a cell that contains ','"} {
		for _, err := range dataset.Read(strings.NewReader("a,b\n"+row), dataset.Options{Format: dataset.CSV}) {
			var e *dataset.LineError
			if !errors.As(err, &e) || !strings.HasPrefix(e.Hint, want) {
				t.Errorf("%s: %v, want the hint %q", row, err, want)
			}
		}
	}
}

// endless is a file that never ends, and counts how much of it was read.
type endless struct {
	head string
	read int
}

func (e *endless) Read(p []byte) (int, error) {
	n := copy(p, e.head)
	e.head = e.head[n:]
	for i := n; i < len(p); i++ {
		p[i] = 'x'
	}
	e.read += len(p)
	return len(p), nil
}

func TestOpenQuotesEnd(t *testing.T) {
	t.Parallel()
	for format, head := range map[dataset.FileFormat]string{
		dataset.CSV: "a\n1\n\"", dataset.TSV: "a\n1\n", dataset.JSONLines: "{\"a\":1}\n{\"a\":\"", dataset.JSON: "[{\"a\":1},\n{\"a\":\"",
	} {
		in := &endless{head: head}
		var last error
		rows := 0
		for _, err := range dataset.Read(in, dataset.Options{Format: format}) {
			if last = err; err == nil {
				rows++
			}
		}
		var e *dataset.LineError
		if !errors.As(last, &e) || e.Line < 2 || rows != 1 || in.read > 2*dataset.MaxRow+1<<20 {
			t.Errorf("%s: %v after %d rows and %d bytes, want an error with its line after one row, and no more than the longest row in memory",
				format, last, rows, in.read)
		}
	}
}

// rowsOf is a file of many short rows.
type rowsOf struct {
	row  string
	left int
}

func (r *rowsOf) Read(p []byte) (int, error) {
	n := 0
	for ; r.left > 0 && n+len(r.row) <= len(p); r.left-- {
		n += copy(p[n:], r.row)
	}
	if n == 0 {
		return 0, io.EOF
	}
	return n, nil
}

func TestShortRowsAreNotRemembered(t *testing.T) {
	const rows = 1_000_000
	for format, in := range map[dataset.FileFormat]io.Reader{
		dataset.CSV: &rowsOf{"1\n", rows}, dataset.JSONLines: &rowsOf{"{}\n", rows},
		dataset.JSON: io.MultiReader(strings.NewReader("[{}"), &rowsOf{",\n{}", rows}, strings.NewReader("]")),
	} {
		heap := func() uint64 {
			var m runtime.MemStats
			runtime.GC()
			runtime.ReadMemStats(&m)
			return m.HeapAlloc
		}
		before, held, n := heap(), uint64(0), 0
		for _, err := range dataset.Read(in, dataset.Options{Format: format}) {
			if err != nil {
				t.Fatal(format, err)
			}
			if n++; n == rows-1 {
				held = heap()
			}
		}
		if n < rows-1 || held > before+2<<20 {
			t.Errorf("%s: got %d bytes in memory after %d rows, want at most 2 MiB", format, int64(held)-int64(before), n)
		}
	}
}

// Were each level of this row read again with the one around it, it would not end.
func TestNestedRowsAreReadOnce(t *testing.T) {
	t.Parallel()
	nested := func(n int, in string) string {
		return "{\"a\":" + strings.Repeat("[", n) + in + strings.Repeat("]", n) + "}\n"
	}
	got := read(dataset.JSONLines, nested(9000, "\""+strings.Repeat("x", 1<<20)+"\"")+nested(63, "1")+nested(64, "1"))
	want := "! line 1: nested deeper than 64 levels\n2 " + nested(63, "1") + "! line 3: nested deeper than 64 levels\n"
	expect.Same(t, "rows", got, want)
}

func TestABrokenFileEndsInItsError(t *testing.T) {
	t.Parallel()
	broken := errors.New("the disk is gone")
	for format, head := range map[dataset.FileFormat]string{
		dataset.CSV: "a\n1\n2", dataset.JSONLines: "{\"a\":1}\n", dataset.JSON: "[{\"a\":1},",
	} {
		var last error
		for _, err := range dataset.Read(io.MultiReader(strings.NewReader(head), failing{broken}), dataset.Options{Format: format}) {
			last = err
		}
		if !errors.Is(last, broken) {
			t.Errorf("%s: %v, want %v", format, last, broken)
		}
	}
}

type failing struct{ err error }

func (f failing) Read([]byte) (int, error) { return 0, f.err }

// FuzzRead holds that reading any file ends, and that lines of rows and errors only grow.
func FuzzRead(f *testing.F) {
	for _, s := range append(hostile.Strings(), "a,b\n1,2\n", "[{\"a\":1}]", "{\"a\":1}\n", "a\n\"1\n2\"\n") {
		f.Add([]byte(s))
		f.Add([]byte("a,b\n" + s + ",2\n"))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		for _, format := range []dataset.FileFormat{dataset.CSV, dataset.TSV, dataset.JSONLines, dataset.JSON} {
			last := 0
			for row, err := range dataset.Read(strings.NewReader(string(data)), dataset.Options{Format: format}) {
				line := lineOf(t, row, err)
				packed := strings.HasPrefix(string(data), "\x1f\x8b") // whose lines are not those of data
				if !packed && (line < last || line > 1+strings.Count(string(data), "\n")) {
					t.Fatalf("%s: line %d after %d, want a line of the file from the last one on", format, line, last)
				}
				last = line
			}
		}
	})
}

func lineOf(t *testing.T, row dataset.DataRow, err error) int {
	t.Helper()
	var e *dataset.LineError
	var foreign *dataset.Foreign
	switch {
	case errors.As(err, &foreign):
		return 0
	case errors.As(err, &e):
		return e.Line
	}
	if err != nil || row.Vars == nil {
		t.Fatalf("%v %v, want a row", row, err)
	}
	return row.Line
}
