package dataset_test

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"

	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/dataset"
	"github.com/evalrun/evalrun/internal/testing/expect"
)

// rows reads a file that must have no problem.
func rows(t *testing.T, r io.Reader, format dataset.FileFormat, comma rune) []map[string]string {
	t.Helper()
	out := []map[string]string{}
	for row, err := range dataset.Read(r, dataset.Options{Format: format, Separator: comma}) {
		if err != nil {
			t.Fatalf("after %d rows: %v, want no error", len(out), err)
		}
		cells := map[string]string{}
		for name, value := range row.Vars {
			cells[name] = fmt.Sprint(value)
		}
		out = append(out, cells)
	}
	return out
}

// cell is a text that a file has to quote, or looks like something else.
func cell(random *rand.Rand) string {
	parts := []string{
		"a", "", " ", ",", ";", "\t", "|", `"`, `""`, "\n", "007", "1.10", "null", "é", "e\u0301", "日本", "👍🏽", "שלום",
		"{{.x}}", "'", "=1+1", "#",
	}
	var b strings.Builder
	for range random.IntN(5) {
		b.WriteString(parts[random.IntN(len(parts))])
	}
	return b.String()
}

func table(random *rand.Rand) (header []string, records [][]string, want []map[string]string) {
	header, want = []string{"name", "größe", "日本"}, []map[string]string{}
	for range random.IntN(6) {
		record, cells := []string{}, map[string]string{}
		for _, column := range header {
			text := cell(random)
			record, cells[column] = append(record, text), text
		}
		records, want = append(records, record), append(want, cells)
	}
	return header, records, want
}

func TestTablesReadBackAsTheyWereWritten(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(1, 2))
	for _, comma := range []rune{',', ';', '\t', '|', '¦'} {
		for range 200 {
			header, records, want := table(random)
			var b bytes.Buffer
			w := csv.NewWriter(&b)
			w.Comma = comma
			expect.OK(t, w.WriteAll(append([][]string{header}, records...)))
			format, separator := dataset.CSV, comma
			if comma == '\t' {
				format, separator = dataset.TSV, 0
			}
			expect.Same(t, fmt.Sprintf("%q", b.String()), rows(t, bytes.NewReader(b.Bytes()), format, separator), want)
		}
	}
}

func TestObjectsReadBackAsTheyWereWritten(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(3, 4))
	for range 200 {
		_, _, want := table(random)
		var lines bytes.Buffer
		for _, row := range want {
			expect.OK(t, json.NewEncoder(&lines).Encode(row))
		}
		list, err := json.MarshalIndent(want, "", "\t")
		expect.OK(t, err)
		for format, text := range map[dataset.FileFormat]string{dataset.JSONLines: lines.String(), dataset.JSON: string(list)} {
			expect.Same(t, fmt.Sprintf("%s %q", format, text), rows(t, strings.NewReader(text), format, 0), want)
		}
	}
}

// What a program adds at the beginning of a file, the ends of its lines, and how a disk hands it out change no row.
func TestTheFormOfAFileChangesNoRow(t *testing.T) {
	t.Parallel()
	want := []map[string]string{{"a": "1", "b": "x y"}, {"a": "é", "b": "日本"}}
	for format, text := range map[dataset.FileFormat]string{
		dataset.CSV:       "a,b\n1,x y\né,\"日本\"\n",
		dataset.TSV:       "a\tb\n1\tx y\né\t日本\n",
		dataset.JSONLines: "{\"a\":1,\"b\":\"x y\"}\n{\"a\":\"é\",\"b\":\"日本\"}\n",
		dataset.JSON:      "[{\"a\":1,\"b\":\"x y\"},\n{\"a\":\"é\",\"b\":\"日本\"}]\n",
	} {
		t.Run(string(format), func(t *testing.T) {
			t.Parallel()
			for name, r := range map[string]io.Reader{
				"as it is":              strings.NewReader(text),
				"a mark":                strings.NewReader("\ufeff" + text),
				"CRLF":                  strings.NewReader(strings.ReplaceAll(text, "\n", "\r\n")),
				"a mark and CRLF":       strings.NewReader("\ufeff" + strings.ReplaceAll(text, "\n", "\r\n")),
				"no end of the last":    strings.NewReader(strings.TrimSuffix(text, "\n")),
				"empty lines":           strings.NewReader(strings.ReplaceAll(text, "\n", "\n\n")),
				"byte by byte":          iotest.OneByteReader(strings.NewReader("\ufeff" + text)),
				"its end with its data": iotest.DataErrReader(strings.NewReader(text)),
			} {
				expect.Same(t, name, rows(t, r, format, 0), want)
			}
		})
	}
}

func TestAReaderCanStopAtAnyRow(t *testing.T) {
	t.Parallel()
	for format, text := range map[dataset.FileFormat]string{
		dataset.CSV: "a\n1\nx,y\n3\n", dataset.JSONLines: "{\"a\":1}\nno\n{\"a\":3}\n", dataset.JSON: "[{\"a\":1},2,{\"a\":3}]",
	} {
		for stop := 1; stop <= 3; stop++ {
			n := 0
			for range dataset.Read(strings.NewReader(text), dataset.Options{Format: format}) {
				if n++; n == stop {
					break
				}
			}
			if n != stop {
				t.Errorf("%s: %d rows and problems, want to stop at %d", format, n, stop)
			}
		}
	}
}

// Scalars are texts as they are written; lists and objects stay what they are.
func TestValuesOfObjectsStayAsWritten(t *testing.T) {
	t.Parallel()
	const line = `{"n":1.10,"big":12345678901234567890,"exp":1E+2,"t":true,"z":null,"e":"","l":[1,[true]],"o":{"k":0.0},"u":"\ud83d\udc4d"}`
	want := eval.Dict{
		"n": "1.10", "big": "12345678901234567890", "exp": "1E+2", "t": "true", "z": "", "e": "",
		"l": eval.Array{eval.Number("1"), eval.Array{eval.Boolean("true")}},
		"o": eval.Object{{Name: "k", Value: eval.Number("0.0")}}, "u": "👍",
	}
	for row, err := range dataset.Read(strings.NewReader(line), dataset.Options{Format: dataset.JSONLines}) {
		if diff := cmp.Diff(want, row.Vars); diff != "" || err != nil {
			t.Errorf("%v (-want +got):\n%s", err, diff)
		}
	}
}

// The bound is on a row: a file of many rows may be larger.
func TestAFileMayBeLargerThanTheLongestRow(t *testing.T) {
	t.Parallel()
	text := strings.Repeat("x", dataset.MaxRow/4)
	for format, parts := range map[dataset.FileFormat][2]string{
		dataset.CSV: {"a\n", text + "\n"}, dataset.TSV: {"a\n", text + "\n"}, dataset.JSONLines: {"", `{"a":"` + text + "\"}\n"},
		dataset.JSON: {"[{}", `,{"a":"` + text + "\"}\n"},
	} {
		t.Run(string(format), func(t *testing.T) {
			t.Parallel()
			in := []io.Reader{strings.NewReader(parts[0])}
			for range 6 {
				in = append(in, strings.NewReader(parts[1]))
			}
			if format == dataset.JSON {
				in = append(in, strings.NewReader("]"))
			}
			n := 0
			for row, err := range dataset.Read(io.MultiReader(in...), dataset.Options{Format: format}) {
				if err != nil {
					t.Fatalf("after %d rows: %v, want no error", n, err)
				}
				if row.Vars["a"] != nil {
					n++
				}
			}
			expect.Same(t, "rows", n, 6)
		})
	}
}
