package suite_test

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/evalrun/evalrun/internal/testing/expect"
)

// dataTest is a suite with its files, the cases that it makes and what loading it reports.
type dataTest struct {
	name  string
	files map[string]string
	want  string
	said  string
}

func checkData(t *testing.T, tests []dataTest) {
	t.Helper()
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			s, said := fromFiles(test.files)
			expect.Same(t, "said", said, test.said)
			expect.Same(t, "cases", outline(s), test.want)
			if n := len(slices.Collect(s.Outlines())); n != s.CaseCount() || n != strings.Count(test.want, "\n") {
				t.Errorf("%d outlines, %d cases, want as many as lines", n, s.CaseCount())
			}
		})
	}
}

func TestRowsAreCases(t *testing.T) {
	t.Parallel()
	checkData(t, []dataTest{
		{
			name: "settings out of columns",
			files: map[string]string{
				"s.yaml": "defaults: {repeats: 3, scorers: [{equals: e}]}\ncases:\n  - dataset: a.csv\n    name: \"n {{.x}}\"\n    tags: " +
					"[\"{{.t}}\", fixed]\n    cluster: \"{{.c}}\"\n    repeats: \"{{.r}}\"\n    threshold: \"{{.th}}\"\n    scorers: [{contains: " +
					"\"{{.y}}\"}]\n",
				"a.csv": "\ufeffx,y,t,c,r,th\r\none,{{.x}},\"a, b\",k,2,0.5\r\ntwo,z,,,,\r\n",
			},
			want: "n one: \"one\" tags [\"a\" \"b\" \"fixed\"] cluster k repeats 2 threshold 0.5 {\"equals\":\"e\"} {\"contains\":\"{{.x}}\"}\n" +
				"n two: \"two\" tags [\"fixed\"] repeats 3 {\"equals\":\"e\"} {\"contains\":\"z\"}\n",
		},
		{
			name: "names that are taken, and of several lines",
			files: map[string]string{
				"s.yaml": "cases:\n  - dataset: a.csv\n    name: \"{{.x}}\"\n    scorers: [{equals: e}]\n  - {name: last, vars: {x: l}, scorers: " +
					"[{equals: e}]}\n",
				"a.csv": "x\nA\nA\n\"A (2)\"\nA\n\"B\nC\"\n",
			},
			want: "A: \"A\" {\"equals\":\"e\"}\nA (2): \"A\" {\"equals\":\"e\"}\nA (2) (2): \"A (2)\" {\"equals\":\"e\"}\nA (3): \"A\" " +
				"{\"equals\":\"e\"}\nB C: \"B\\nC\" {\"equals\":\"e\"}\nlast: \"l\" {\"equals\":\"e\"}\n",
			said: "s.yaml:7:11: 3 cases have the name of another case and are numbered, such as `A (2)` at a.csv:3:1\n",
		},
		{
			name: "empty cells of ids",
			files: map[string]string{
				"s.yaml": "cases:\n  - {dataset: a.csv, id: \"{{.i}}\", scorers: [{equals: e}]}\n",
				"a.csv":  "x,i\n1,\n2,\n3,k\n4,k\n",
			},
			want: "a 1: \"1\" {\"equals\":\"e\"}\na 2: \"2\" {\"equals\":\"e\"}\na 3: \"3\" {\"equals\":\"e\"}\na 4: \"4\" {\"equals\":\"e\"}\n",
			said: "a.csv:5:1: duplicate case id `k`, first on line 4\n",
		},
		{
			name: "YAML and the column name",
			files: map[string]string{
				"s.yaml": "cases:\n  - dataset: a.yaml\n    scorers: [{equals: e}]\n",
				"a.yaml": "- {name: first, x: 010}\n- {x: [a, {b: 1.10}]}\n",
			},
			want: "first: \"010\" {\"equals\":\"e\"}\na 2: \"[\\\"a\\\",{\\\"b\\\":1.10}]\" {\"equals\":\"e\"}\n",
		},
		{
			name: "several files",
			files: map[string]string{
				"s.yaml":     "cases:\n  - dataset: \"d/*.json\"\n    limit: 3\n    scorers: [{equals: e}]\n",
				"d/b.json":   "[{\"x\":3},{\"x\":4}]",
				"d/a.json":   "[{\"x\":1},{\"x\":2}]",
				"d/.c.json":  "[",
				"d/e/f.text": "",
			},
			want: "a 1: \"1\" {\"equals\":\"e\"}\na 2: \"2\" {\"equals\":\"e\"}\nb 3: \"3\" {\"equals\":\"e\"}\n",
		},
		{
			name: "files that are cases",
			files: map[string]string{
				"s.yaml": "cases:\n  - dataset: \"d/*.txt\"\n    vars: {x: \"v\"}\n    name: \"{{.file}}\"\n    scorers: [{equals: " +
					"\"{{.text}}\"}]\n  - {dataset: \"d/*.json\", format: file, scorers: [{equals: \"{{.text}}\"}], vars: {x: y}}\n",
				"d/b.txt":     "\ufeffB\r\n",
				"d/sub/a.txt": "שלום",
				"d/c.json":    "[",
			},
			want: "d/b.txt: \"v\" {\"equals\":\"B\\r\\n\"}\nd/sub/a.txt: \"v\" {\"equals\":\"שלום\"}\nc: \"y\" {\"equals\":\"[\"}\n",
		},
	})
}

// Data as it is published: rows inside JSON, tables without a header, compressed files.
func TestRowsAreReadAsTheyArePublished(t *testing.T) {
	t.Parallel()
	checkData(t, []dataTest{
		{
			name: "rows inside JSON have what is around them, and are not named after it",
			files: map[string]string{
				"s.yaml": "cases:\n  - {dataset: a.json, rows: '.sets[].q[]', limit: 3, scorers: [{equals: '{{.lang}} {{.name}}'}]}\n",
				"a.json": `{"name": "all", "sets": [{"lang": "de", "q": [{"x": 1.0}, {"x": 2, "name": "own"}]}, {"lang": "fr", "q": [{"x": 3}, {}]}]}`,
			},
			want: "a 1: \"1.0\" {\"equals\":\"de all\"}\nown: \"2\" {\"equals\":\"de own\"}\na 3: \"3\" {\"equals\":\"fr all\"}\n",
		},
		{
			name: "rows of each line of several compressed files, by where and sample",
			files: map[string]string{
				"s.yaml":        "cases:\n  - {dataset: '*.jsonl.gz', rows: '.q[]', where: 'x != \"2\"', sample: 9, scorers: [{equals: '{{.k}}'}]}\n",
				"a.jsonl.gz":    gzipped("{\"k\": \"a\", \"q\": [{\"x\": 1}, {\"x\": 2}]}\n{\"k\": \"b\", \"q\": [{\"x\": 3}]}\n"),
				"b.v1.jsonl.gz": gzipped("{\"k\": \"c\", \"q\": [{\"x\": 4}]}\n"),
			},
			want: "a 1: \"1\" {\"equals\":\"a\"}\na 3: \"3\" {\"equals\":\"b\"}\nb.v1 4: \"4\" {\"equals\":\"c\"}\n",
		},
		{
			name: "a table without a header, whose columns are checked like others",
			files: map[string]string{
				"s.yaml":   "cases:\n  - {dataset: a.txt.GZ, format: csv, columns: [x, y], separator: ';', scorers: [{equals: '{{.z}}'}]}\n",
				"a.txt.GZ": gzipped("1;2\n3;4\n"),
			},
			want: "a 1: \"1\"\na 2: \"3\"\n",
			said: "s.yaml:6:93: a.txt.GZ has no column `z`\n",
		},
		{
			name: "a file that is no text is a case when the suite says so",
			files: map[string]string{
				"s.yaml": "cases:\n  - {dataset: a.zip, format: file, vars: {x: v}, scorers: [{equals: '{{.file}}'}]}\n",
				"a.zip":  "PK\x03\x04",
			},
			want: "a: \"v\" {\"equals\":\"a.zip\"}\n",
		},
	})
}

func gzipped(text string) string {
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	_, _ = w.Write([]byte(text)) // memory takes what it gets
	_ = w.Close()
	return b.String()
}

func TestScorerColumnsAreDataOfTheirRow(t *testing.T) {
	t.Parallel()
	checkData(t, []dataTest{
		{
			name: "a scorer column, whose texts are data",
			files: map[string]string{
				"s.yaml": "cases:\n  - dataset: a.jsonl\n    scorerColumn: s\n    scorers: [{equals: e}]\n",
				"a.jsonl": "{\"x\":\"1\",\"s\":\"contains: '{{.x}}'\"}\n{\"x\":\"2\",\"s\":null}\n{\"x\":\"3\",\"s\":\"[{\\\"contains\\\": " +
					"\\\"b\\\"}, {length: {max: 3}}]\"}\n",
			},
			want: "a 1: \"1\" {\"equals\":\"e\"} {\"contains\":\"{{.x}}\"}\na 2: \"2\" {\"equals\":\"e\"}\na 3: \"3\" {\"equals\":\"e\"} " +
				"{\"contains\":\"b\"} {\"length\":{\"max\":3}}\n",
		},
		{
			name: "a scorer column is enough",
			files: map[string]string{
				"s.yaml": "cases:\n  - dataset: a.tsv\n    scorerColumn: s\n",
				"a.tsv":  "x\ts\n1\tequals: a\n2\t\n",
			},
			want: "a 1: \"1\" {\"equals\":\"a\"}\na 2: \"2\"\n",
			said: "a.tsv:3:1: case `a 2` has no scorer, so nothing would be scored\n",
		},
		{
			name: "a cell with a problem is reported once, a cell with nothing as a case that nothing scores",
			files: map[string]string{
				"s.yaml":  "cases:\n  - dataset: a.jsonl\n    scorerColumn: s\n",
				"a.jsonl": "{\"x\":\"1\",\"s\":\"expr: wor\"}\n{\"x\":\"2\",\"s\":null}\n{\"x\":\"3\",\"s\":\"null\"}\n{\"x\":\"4\",\"s\":\"{}\"}\n",
			},
			want: "a 1: \"1\" {\"expr\":\"wor\"}\na 2: \"2\"\na 3: \"3\"\na 4: \"4\"\n",
			said: "a.jsonl:1:1: in the column `s`: in the expression: there is no `wor` here\n" +
				"a.jsonl:2:1: case `a 2` has no scorer, so nothing would be scored\n" +
				"a.jsonl:3:1: in the column `s`: a scorer is a kind with its argument\n" +
				"a.jsonl:4:1: in the column `s`: a scorer without a kind\n",
		},
		{
			name: "cells that are no scorers",
			files: map[string]string{
				"s.yaml": "cases:\n  - dataset: a.jsonl\n    scorerColumn: s\n    scorers: [{equals: e}]\n",
				"a.jsonl": "{\"x\":\"1\",\"s\":\"[]\"}\n{\"x\":\"2\",\"s\":{\"contains\":\"b\"}}\n{\"x\":\"3\",\"s\":\"{contains: b, arms: " +
					"t/q}\"}\n{\"x\":\"4\",\"s\":\"\\n\\n{contains: b, turn: 2}\"}\n{\"x\":\"5\",\"s\":\"\\n\\nexpr: wor\"}\n",
			},
			want: "a 1: \"1\" {\"equals\":\"e\"}\na 2: \"2\" {\"equals\":\"e\"} {\"contains\":\"b\"}\n" +
				"a 3: \"3\" {\"equals\":\"e\"} {\"contains\":\"b\",\"arms\":\"t/q\"}\na 4: \"4\" {\"equals\":\"e\"} " +
				"{\"contains\":\"b\",\"turn\":2}\na 5: \"5\" {\"equals\":\"e\"} {\"expr\":\"wor\"}\n",
			said: "a.jsonl:1:1: in the column `s`: the list of scorers is empty\n" +
				"a.jsonl:3:1: in the column `s`: `t/q` matches no arm\n" +
				"a.jsonl:4:1: the prompt `p` is not a live chat, so it has no turn 2\n" +
				"a.jsonl:5:1: in the column `s`: in the expression: there is no `wor` here\n",
		},
		{
			name: "arms of a scorer out of a column",
			files: map[string]string{
				"s.yaml": "cases:\n  - dataset: a.csv\n    scorers: [{equals: e}, {contains: e, arms: \"{{.a}}\"}]\n",
				"a.csv":  "x,a\n1,t/*\n2,T/*\n3,\n",
			},
			want: "a 1: \"1\" {\"equals\":\"e\"} {\"contains\":\"e\",\"arms\":\"t/*\"}\na 2: \"2\" {\"equals\":\"e\"} " +
				"{\"contains\":\"e\",\"arms\":\"T/*\"}\na 3: \"3\" {\"equals\":\"e\"} {\"contains\":\"e\",\"arms\":\"\"}\n",
			said: "s.yaml:7:48: `T/*` matches no arm (in the row at a.csv:3:1)\ns.yaml:7:48: the text is empty, so it matches no arm (in the " +
				"row at a.csv:4:1)\n",
		},
	})
}

func TestWhereSelectsRows(t *testing.T) {
	t.Parallel()
	checkData(t, []dataTest{
		{
			name: "where before limit",
			files: map[string]string{
				"s.yaml": "cases:\n  - dataset: a.csv\n    name: \"{{.x}}\"\n    where: int(n) > 1 and tags contains 'y'\n    limit: 2\n    " +
					"scorers: [{equals: e}]\n",
				"a.csv": "x,n,tags\nA,1,y\nB,2,xy\nC,3,x\nD,4,y\nE,5,y\n",
			},
			want: "B: \"B\" {\"equals\":\"e\"}\nD: \"D\" {\"equals\":\"e\"}\n",
		},
		{
			name: "where over objects",
			files: map[string]string{
				"s.yaml": "cases:\n  - {dataset: a.jsonl, where: 'meta?.lang == \"de\" and len(tags) > 1', scorers: [{equals: e}]}\n",
				"a.jsonl": "{\"x\":\"1\",\"meta\":{\"lang\":\"de\"},\"tags\":[1,2]}\n" +
					"{\"x\":\"2\",\"meta\":{\"lang\":\"en\"},\"tags\":[1,2]}\n{\"x\":\"3\",\"tags\":[]}\n",
			},
			want: "a 1: \"1\" {\"equals\":\"e\"}\n",
		},
		{
			name: "where names what rows lack",
			files: map[string]string{
				"s.yaml":  "cases:\n  - {dataset: a.jsonl, where: 'meta.lang != \"de\"', scorers: [{equals: e}]}\n",
				"a.jsonl": "{\"x\":\"1\",\"meta\":{\"lang\":\"en\"}}\n{\"x\":\"2\",\"meta\":{}}\n{\"x\":\"3\",\"Meta\":{}}\n",
			},
			want: "a 1: \"1\" {\"equals\":\"e\"}\n",
			said: "a.jsonl:2:1: `where` cannot be determined for the row: it has no `meta.lang`\n" +
				"a.jsonl:3:1: `where` cannot be determined for the row: it " +
				"has no `meta.lang`\n",
		},
		{
			name: "where names a column of one table of several",
			files: map[string]string{
				"s.yaml":  "cases:\n  - {dataset: \"d/*.csv\", where: 'n == \"1\"', scorers: [{equals: e}]}\n",
				"d/a.csv": "x,n\nA,1\n",
				"d/b.csv": "x,N\nB,1\n",
			},
			want: "a 1: \"A\" {\"equals\":\"e\"}\n",
			said: "d/b.csv:2:1: `where` cannot be determined for the row: it has no `n`\n",
		},
		{
			name: "where copes with what rows lack",
			files: map[string]string{
				"s.yaml":  "cases:\n  - {dataset: a.jsonl, where: '(n ?? \"\") == \"\"', scorers: [{equals: e}]}\n",
				"a.jsonl": "{\"x\":\"1\",\"n\":2}\n{\"x\":\"2\"}\n{\"x\":\"3\",\"n\":null}\n",
			},
			want: "a 2: \"2\" {\"equals\":\"e\"}\na 3: \"3\" {\"equals\":\"e\"}\n",
		},
	})
}

func TestMatrixMultipliesRows(t *testing.T) {
	t.Parallel()
	checkData(t, []dataTest{
		{
			name: "variables that are columns too",
			files: map[string]string{
				"s.yaml": "cases:\n  - dataset: a.csv\n    each: [{y: \"1\"}]\n    matrix:\n      x: [k]\n    scorers: [{equals: \"{{.y}}\"}]\n",
				"a.csv":  "x,y\nA,B\n",
			},
			want: "a 1 [y=1, x=k]: \"k\" {\"equals\":\"1\"}\n",
			said: "s.yaml:7:11: the variable `y` of `each` is a column of a.csv too\ns.yaml:9:7: the variable `x` is a column of a.csv too\n",
		},
		{
			name: "matrix",
			files: map[string]string{
				"s.yaml": "cases:\n  - name: \"m {{.x}}\"\n    each: [{x: a}, {x: b}]\n    matrix: {y: [1, 2], z: [\"long text of more than forty " +
					"characters, to be cut\"]}\n    scorers: [{equals: \"{{.y}} {{.z}}\"}]\n",
			},
			want: "m a [y=1, z=long text of more than forty characters…]: \"a\" {\"equals\":\"1 long text of more than forty characters, to be " +
				"cut\"}\n" +
				"m a [y=2, z=long text of more than forty characters…]: \"a\" {\"equals\":\"2 long text of more than forty characters, to be cut\"}\n" +
				"m b [y=1, z=long text of more than forty characters…]: \"b\" {\"equals\":\"1 long text of more than forty characters, to be cut\"}\n" +
				"m b [y=2, z=long text of more than forty characters…]: \"b\" {\"equals\":\"2 long text of more than forty characters, to be cut\"}\n",
		},
		{
			name: "rows times matrix",
			files: map[string]string{
				"s.yaml": "cases:\n  - dataset: a.csv\n    name: \"{{.x}}\"\n    matrix: {y: [1, 2]}\n    scorers: [{equals: \"{{.y}}\"}]\n",
				"a.csv":  "x\nA\nB\n",
			},
			want: "A [y=1]: \"A\" {\"equals\":\"1\"}\nA [y=2]: \"A\" {\"equals\":\"2\"}\nB [y=1]: \"B\" {\"equals\":\"1\"}\nB [y=2]: \"B\" " +
				"{\"equals\":\"2\"}\n",
		},
	})
}

func TestIncludedCasesLoadWithTheirDefaults(t *testing.T) {
	t.Parallel()
	checkData(t, []dataTest{
		{
			name: "includes",
			files: map[string]string{
				"s.yaml": "include: [a.part, b.part]\ndefaults: {vars: {v: own}, scorers: [{name: n, equals: own}]}\ncases:\n  - {name: c, vars: " +
					"{x: \"1\"}, scorers: [{equals: \"{{.v}} {{.w}}\"}]}\n",
				"a.part": "include: b.part\ndefaults: {repeats: 2, vars: {v: a, w: a}, scorers: [{name: n, equals: a}, {name: k, equals: " +
					"a}]}\ncases:\n  - {name: from a, vars: {x: a}}\n",
				"b.part":  "version: 1\ndefaults: {repeats: 5, vars: {w: b}, tags: [b]}\n",
				"unknown": "",
			},
			want: "from a: \"a\" tags [\"b\"] repeats 2 {\"name\":\"k\",\"equals\":\"a\"} {\"name\":\"n\",\"equals\":\"own\"}\n" +
				"c: \"1\" tags [\"b\"] repeats 2 {\"name\":\"k\",\"equals\":\"a\"} {\"name\":\"n\",\"equals\":\"own\"} {\"equals\":\"own a\"}\n",
		},
	})
}

// Rows whose templates give the same texts share their scorers; others have their own, however many there are and in whatever
// order they come.
func TestRowsWithTheSameTextsShareScorers(t *testing.T) {
	t.Parallel()
	var rows strings.Builder
	rows.WriteString("x,a,b\n")
	var want []string
	for i := range 3000 {
		a, b := fmt.Sprint("a", i%7), fmt.Sprint("b", i*i%1500)
		fmt.Fprintf(&rows, "x%d,%s,%s\n", i, a, b)
		want = append(want, fmt.Sprintf(`{"contains":%q} {"any":[{"contains":%q},{"contains":"not %s, %s"}]}`, a, b, b, a))
	}
	s, said := fromFiles(map[string]string{
		"s.yaml": "cases:\n  - dataset: a.csv\n    name: \"{{.x}}\"\n    scorers:\n      - {contains: \"{{.a}}\"}\n" +
			"      - any: [{contains: \"{{.b}}\"}, {contains: \"not {{.b}}, {{.a}}\"}]\n",
		"a.csv": rows.String(),
	})
	if said != "" {
		t.Fatalf("got %v, want no problem", said)
	}
	i, made := 0, map[any]bool{}
	for c := range s.Cases() {
		if got := fmt.Sprintf("%s %s", c.Scorers[0].JSON(), c.Scorers[1].JSON()); got != want[i] {
			t.Fatalf("row %d: got %s, want %s", i, got, want[i])
		}
		made[c.Scorers[0]] = true
		i++
	}
	expect.Same(t, "scorers that were made", len(made), 7)
}
