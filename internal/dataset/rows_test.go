package dataset_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"testing"

	"github.com/evalrun/evalrun/internal/dataset"
	"github.com/evalrun/evalrun/internal/expr"
	"github.com/evalrun/evalrun/internal/testing/expect"
)

const nested = `{"version": "1.1", "note": null,
 "data": [
  {"title": "Rivers", "name": "rivers", "tags": ["a"], "paragraphs": [
    {"qas": [{"id": 1.0, "q": "one"},
             {"id": 2, "q": "two", "title": "own", "z": {"k": 1.50, "b": [true, null]}}],
     "context": "It rises."}]},
  {"paragraphs": [
    {"context": "Oaks.", "qas": [{"id": 3, "q": "three", "name": "third"}]}]}]}
`

// selected writes down the rows that an expression selects, a line a row; * marks a row that is lent its name.
func selected(t *testing.T, format dataset.FileFormat, text, expression string) string {
	t.Helper()
	rows, problem := expr.CompileRows(expression)
	if problem != nil {
		t.Fatalf("%s: %v, want no problem", expression, problem)
	}
	var b strings.Builder
	for row, err := range dataset.Read(strings.NewReader(text), dataset.Options{Format: format, RowPath: rows}) {
		switch {
		case err != nil:
			fmt.Fprintf(&b, "! %s\n", err)
		case row.LentName:
			fmt.Fprintf(&b, "%d* %s\n", row.Line, row.Vars)
		default:
			fmt.Fprintf(&b, "%d %s\n", row.Line, row.Vars)
		}
	}
	return b.String()
}

func TestAnExpressionSelectsRows(t *testing.T) {
	t.Parallel()
	const third = `8 {"context":"Oaks.","id":"3","name":"third","note":"","q":"three","version":"1.1"}` + "\n"
	const second = `5* {"context":"It rises.","id":"2","name":"rivers","note":"","q":"two","title":"own","version":"1.1",` +
		`"z":{"k":1.50,"b":[true,null]}}` + "\n"
	const all = `4* {"context":"It rises.","id":"1.0","name":"rivers","note":"","q":"one","title":"Rivers",` +
		`"version":"1.1"}` + "\n" + second + third
	for name, test := range map[string][3]string{
		"a path":                 {`.data[].paragraphs[].qas[]`, all},
		"every object of a name": {`.. | objects | select(has("q"))`, all},
		"a condition":            {`.data[] | .paragraphs[].qas[] | select(.id > 1)`, second + third},
		"the last":               {`last(.data[].paragraphs[].qas[])`, third},
		"the whole":              {`[.data[].paragraphs[].qas[]] | .[-1]`, third},
		"objects that it makes": {
			`.data[].paragraphs[] | .context as $c | .qas[] | {c: $c, z, q}`,
			`3 {"c":"It rises.","q":"one","z":""}` + "\n" +
				`3 {"c":"It rises.","q":"two","z":{"k":1.50,"b":[true,null]}}` + "\n" + `7 {"c":"Oaks.","q":"three","z":""}` + "\n",
		},
		"what it changes is made": {`.data[1].paragraphs[0].qas[0] | .q = "x"`, `1 {"id":"3","name":"third","q":"x"}` + "\n"},
		"one object": {
			`.data[0].paragraphs[0].qas[1].z`,
			`5* {"b":[true,null],"context":"It rises.","id":"2","k":"1.50","name":"rivers","note":"","q":"two",` +
				`"title":"own","version":"1.1"}` + "\n",
		},
		"nothing":                    {`.data[] | select(.title == "none")`, ""},
		"no such key":                {`.dat[].x`, "! line 1: `rows` takes the items of .dat, which the file lacks\n"},
		"no such key below":          {`.data.x[].y`, "! line 2: `rows` takes the items of .data.x, which the file lacks\n"},
		"no list":                    {`.version[]`, "! line 1: `rows` takes the items of .version, which is not a list\n"},
		"no such list in some items": {`.data[] | .tags[] | {x: .}`, "3 {\"x\":\"a\"}\n! line 7: `rows` fails here: cannot iterate over: null\n"},
		"a list": {
			`.data[] | .paragraphs`,
			"! line 3: `rows` selects a list as row 1, and a row is an object\n! line 7: `rows` selects a list as row 2, and a row is an object\n",
		},
		"texts":           {`.data[0].title`, "! line 1: `rows` selects a text as row 1, and a row is an object\n"},
		"an endless loop": {`def f: f; f`, "! line 1: `rows` takes more than 1000000 steps on the file\n"},
		"an endless loop of an item": {
			`.data[] | def f: f; f`,
			"! line 3: `rows` takes more than 1000000 steps on an item of the list\n" +
				"! line 7: `rows` takes more than 1000000 steps on an item of the list\n",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			expect.Same(t, test[0], selected(t, dataset.JSON, nested, test[0]), test[1])
		})
	}
}

func TestRowsAreTakenFromOtherDocuments(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		format           dataset.FileFormat
		text, rows, want string
	}{
		"a list": {dataset.JSON, "\ufeff[{\"a\": 1},\n {\"a\": 2}]", `.[]`, "1 {\"a\":\"1\"}\n2 {\"a\":\"2\"}\n"},
		"an object of objects": {
			dataset.JSON, `{"x": {"a": 1}, "b": 5, "c": {"a": 2}}`, `.[] | objects`,
			"1 {\"a\":\"1\",\"b\":\"5\"}\n1 {\"a\":\"2\",\"b\":\"5\"}\n",
		},
		"lines": {
			dataset.JSONLines, "{\"s\":\"x\",\"q\":[{\"a\":1},{\"a\":2}]}\n\n{\"q\":[]}\nno\n{\"q\":[{\"a\":3}]}\n", `.q[]`,
			"1 {\"a\":\"1\",\"s\":\"x\"}\n1 {\"a\":\"2\",\"s\":\"x\"}\n! line 4: this is not JSON\n5 {\"a\":\"3\"}\n",
		},
		"the key of a list that is a list": {
			dataset.JSON, `[[1]]`, `.data[]`,
			"! line 1: `rows` takes the items of .data, which the file lacks\n",
		},
		"no JSON":   {dataset.JSON, "{\"a\": [\n{\"b\": x}]}", `.a[]`, "! line 2: this is not JSON\n"},
		"cut":       {dataset.JSON, "{\"a\": [\n{\"b\": 1},\n", `.a[]`, "! line 3: this is not JSON\n"},
		"empty":     {dataset.JSON, " \n", `.a[]`, "! line 1: the file is empty\n"},
		"not UTF-8": {dataset.JSON, "{\"a\":\n[{\"b\": \"\xff\"}]}", `.a[]`, "! line 2: the text is not UTF-8\n"},
		"a key twice in a row": {
			dataset.JSON, `{"a": [{"b": 1, "b": 2}, {"b": 3}]}`, `.a[]`,
			"! line 1: the key \"b\" appears twice in an object\n1 {\"b\":\"3\"}\n",
		},
		"a key twice around a row": {dataset.JSON, `{"b": 1, "b": 2, "a": [{}]}`, `.a[]`, "! line 1: the key \"b\" appears twice in an object\n"},
		"a long number": {
			dataset.JSON, `{"a": [{"b": 1e999999}]}`, `.a[] | {c: (.b + 1)}`, "! line 1: the number 1e999999 cannot be computed with\n",
		},
		"a long number, selected": {dataset.JSON, `{"a": [{"b": 1e999999}]}`, `.a[]`, "1 {\"b\":\"1e999999\"}\n"},
		"an empty object":         {dataset.JSON, `{"a": [{}], "k": "v"}`, `.a[]`, "1 {\"k\":\"v\"}\n"},
		"deep": {
			dataset.JSON, `{"a": [` + strings.Repeat("[", 100) + strings.Repeat("]", 100) + `]}`, `.a[]`,
			"! line 1: nested deeper than 64 levels\n",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			expect.Same(t, test.rows, selected(t, test.format, test.text, test.rows), test.want)
		})
	}
}

// A made row is as long as any other at most, however small the expression that makes it.
func TestARowThatIsMadeIsBounded(t *testing.T) {
	t.Parallel()
	text := `{"a": [{"b": "` + strings.Repeat("x", 1<<20) + `"}]}`
	got := selected(t, dataset.JSON, text, `.a[] | {c: [range(20) as $i | .b]}`)
	expect.Same(t, "a row of 20 MiB", got, "! line 1: a row has more than 16777216 bytes\n")
}

// The outer objects of a large file are read once and not for each row, and an item is forgotten when the next one comes.
func TestManyNestedRowsReadOuterObjectsOnce(t *testing.T) {
	const items, each = 2000, 50
	var b strings.Builder
	b.WriteString(`{"version": 1, "data": [`)
	for i := range items {
		if i > 0 {
			b.WriteString(",\n")
		}
		fmt.Fprintf(&b, `{"title": "t%d", "qas": [{"q": 0}%s], "context": %q}`, i, strings.Repeat(`,{"q": 1}`, each-1), strings.Repeat("c", 1000))
	}
	b.WriteString("]}")
	rows, problem := expr.CompileRows(".data[].qas[]")
	if problem != nil {
		t.Fatal(problem)
	}
	n, held := 0, int64(0)
	heap := func() int64 {
		var m runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&m)
		return int64(m.HeapAlloc)
	}
	before := heap()
	for row, err := range dataset.Read(strings.NewReader(b.String()), dataset.Options{Format: dataset.JSON, RowPath: rows}) {
		if err != nil || row.Line != 1+n/each || row.Vars["title"] != fmt.Sprintf("t%d", n/each) {
			t.Fatalf("row %d: line %d, %v, %v, want line %d of title t%d", n, row.Line, row.Vars["title"], err, 1+n/each, n/each)
		}
		if n++; n == items*each-1 {
			held = heap() - before
		}
	}
	if n != items*each || held > int64(3*b.Len()) {
		t.Errorf("got %d rows with %d bytes held, want %d and at most three times the %d bytes of the file", n, held, items*each, b.Len())
	}
}

// FuzzRows holds that a path gives what encoding/json finds there, and that nothing in a file ends the program.
func FuzzRows(f *testing.F) {
	for _, s := range []string{
		nested, `{"a": [{"b": 1}]}`, `[{"a": [{}]}]`, `{"a":{"x":{"c":1}}}`,
		`{"a": [{"b":"\u00e9"}], "a": 1}`, "{\"a\": \xff",
	} {
		f.Add([]byte(s))
	}
	rows, problem := expr.CompileRows(".a[]")
	if problem != nil {
		f.Fatal(problem)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		n := 0
		for row, err := range dataset.Read(strings.NewReader(string(data)), dataset.Options{Format: dataset.JSON, RowPath: rows}) {
			var e *dataset.LineError
			var foreign *dataset.Foreign
			switch {
			case err == nil && row.Vars == nil:
				t.Fatal("got a row without variables, want some or an error")
			case err == nil:
				n++
			case !errors.As(err, &e) && !errors.As(err, &foreign):
				t.Fatalf("%v, want an error of a row or of what reads it", err)
			}
		}
		var want struct{ A []map[string]any }
		dec := json.NewDecoder(strings.NewReader(string(data)))
		if dec.Decode(&want) == nil && n > len(want.A) && len(want.A) > 0 {
			t.Fatalf("%d rows, want at most %d", n, len(want.A))
		}
	})
}
