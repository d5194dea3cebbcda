package suite_test

import (
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"

	"github.com/evalrun/evalrun/diag"
	"github.com/evalrun/evalrun/scorers"
	"github.com/evalrun/evalrun/suite"
)

const head = `version: 1
name: s
targets: [{name: t, model: m}]
prompts: [{name: p, text: "{{.x}}"}]
`

// fromFiles loads s.yaml, which begins with head, out of files.
func fromFiles(files map[string]string) (*suite.Suite, string) {
	fsys := fstest.MapFS{}
	for name, text := range files {
		if name == "s.yaml" {
			text = head + text
		}
		fsys[name] = &fstest.MapFile{Data: []byte(text)}
	}
	return fromFS(fsys)
}

func fromFS(fsys fs.FS) (*suite.Suite, string) {
	var diags diag.List
	s := suite.Load(fsys, "s.yaml", "s.yaml", scorers.Builtin(), suite.Options{}, &diags)
	var said strings.Builder
	for _, d := range diags.Sorted() {
		fmt.Fprintf(&said, "%s: %s\n", d.Pos, d.Message)
	}
	return s, said.String()
}

// told writes down the cases of a suite.
func told(s *suite.Suite) string {
	var b strings.Builder
	for c := range s.Cases() {
		contents, err := s.Render(c, c.Arms[0])
		if err != nil {
			fmt.Fprintf(&b, "! %s\n", err)
			continue
		}
		fmt.Fprintf(&b, "%s: %q", c.Name, contents[0].Parts[0].Text)
		if len(c.Tags) > 0 {
			fmt.Fprintf(&b, " tags %q", c.Tags)
		}
		if c.Cluster != "" {
			fmt.Fprintf(&b, " cluster %s", c.Cluster)
		}
		if c.Repeats != 1 {
			fmt.Fprintf(&b, " repeats %d", c.Repeats)
		}
		if c.Threshold != nil {
			fmt.Fprintf(&b, " threshold %g", *c.Threshold)
		}
		for _, sc := range c.Scorers {
			fmt.Fprintf(&b, " %s", sc.JSON())
		}
		b.WriteString("\n")
	}
	return b.String()
}

func TestData(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name  string
		files map[string]string
		want  string
		said  string
	}{
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
			said: "a.tsv:3:1: case `a 2` has no scorer, so nothing would be judged\n",
		},
		{
			name: "cells that are no scorers",
			files: map[string]string{
				"s.yaml": "cases:\n  - dataset: a.jsonl\n    scorerColumn: s\n    scorers: [{equals: e}]\n",
				"a.jsonl": "{\"x\":\"1\",\"s\":\"[]\"}\n{\"x\":\"2\",\"s\":{\"contains\":\"b\"}}\n{\"x\":\"3\",\"s\":\"{contains: b, arms: " +
					"t/q}\"}\n{\"x\":\"4\",\"s\":\"\\n\\n{contains: b, turn: 2}\"}\n{\"x\":\"5\",\"s\":\"\\n\\nexpr: wor\"}\n",
			},
			want: "a 1: \"1\" {\"equals\":\"e\"}\na 2: \"2\" {\"equals\":\"e\"}\na 3: \"3\" {\"equals\":\"e\"} " +
				"{\"contains\":\"b\",\"arms\":\"t/q\"}\na 4: \"4\" {\"equals\":\"e\"} {\"contains\":\"b\",\"turn\":2}\na 5: \"5\" " +
				"{\"equals\":\"e\"} {\"expr\":\"wor\"}\n",
			said: "a.jsonl:1:1: in the column `s`: the list of scorers is empty\n" +
				"a.jsonl:2:1: in the column `s`: scorers stand in a text, and this is a list or a mapping\n" +
				"a.jsonl:3:1: in the column `s`: `t/q` matches no arm\n" +
				"a.jsonl:4:1: the prompt `p` is no live chat, so that it has no turn 2\n" +
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
			name: "variables that are columns too",
			files: map[string]string{
				"s.yaml": "cases:\n  - dataset: a.csv\n    each: [{y: \"1\"}]\n    matrix:\n      x: [k]\n    scorers: [{equals: \"{{.y}}\"}]\n",
				"a.csv":  "x,y\nA,B\n",
			},
			want: "a 1 [y=1, x=k]: \"k\" {\"equals\":\"1\"}\n",
			said: "s.yaml:7:11: the variable `y` of `each` is a column of a.csv too\ns.yaml:9:7: the variable `x` is a column of a.csv too\n",
		},
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
				"s.yaml":  "cases:\n  - {dataset: a.jsonl, where: 'meta?.lang == \"de\" and len(tags) > 1', scorers: [{equals: e}]}\n",
				"a.jsonl": "{\"x\":\"1\",\"meta\":{\"lang\":\"de\"},\"tags\":[1,2]}\n{\"x\":\"2\",\"meta\":{\"lang\":\"en\"},\"tags\":[1,2]}\n{\"x\":\"3\",\"tags\":[]}\n",
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
			said: "a.jsonl:2:1: `where` cannot be told of the row: it has no `meta.lang`\na.jsonl:3:1: `where` cannot be told of the row: it " +
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
			said: "d/b.csv:2:1: `where` cannot be told of the row: it has no `n`\n",
		},
		{
			name: "where copes with what rows lack",
			files: map[string]string{
				"s.yaml":  "cases:\n  - {dataset: a.jsonl, where: '(n ?? \"\") == \"\"', scorers: [{equals: e}]}\n",
				"a.jsonl": "{\"x\":\"1\",\"n\":2}\n{\"x\":\"2\"}\n{\"x\":\"3\",\"n\":null}\n",
			},
			want: "a 2: \"2\" {\"equals\":\"e\"}\na 3: \"3\" {\"equals\":\"e\"}\n",
		},
		{
			name: "YAML and the column name",
			files: map[string]string{
				"s.yaml": "cases:\n  - dataset: a.yaml\n    scorers: [{equals: e}]\n",
				"a.yaml": "- {name: first, x: 010}\n- {x: [a, {b: 1.10}]}\n",
			},
			want: "first: \"010\" {\"equals\":\"e\"}\na 2: \"[\\\"a\\\",{\\\"b\\\":\\\"1.10\\\"}]\" {\"equals\":\"e\"}\n",
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
	} {
		s, said := fromFiles(test.files)
		if diff := cmp.Diff(test.said, said); diff != "" {
			t.Errorf("%s: said (-want +got):\n%s", test.name, diff)
		}
		if diff := cmp.Diff(test.want, told(s)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", test.name, diff)
		}
		if n := len(slices.Collect(s.Outlines())); n != s.CaseCount() || n != strings.Count(test.want, "\n") {
			t.Errorf("%s: %d outlines, %d cases", test.name, n, s.CaseCount())
		}
	}
}

func table(n int) string {
	var b strings.Builder
	b.WriteString("x\n")
	for i := range n {
		fmt.Fprintf(&b, "%d\n", i)
	}
	return b.String()
}

// A sample is the same for the same seed, grows with its size, and hardly changes when rows come and go.
func TestSample(t *testing.T) {
	t.Parallel()
	sample := func(n, seed int, data string) []string {
		s, said := fromFiles(map[string]string{
			"s.yaml": fmt.Sprintf("cases:\n  - {dataset: a.csv, sample: %d, seed: %d, name: \"{{.x}}\", scorers: [{equals: e}]}\n", n, seed),
			"a.csv":  data,
		})
		if said != "" {
			t.Error(said)
		}
		var names []string
		for c := range s.Cases() {
			names = append(names, c.Name)
		}
		return names
	}
	data := table(5000)
	ten, twenty := sample(10, 1, data), sample(20, 1, data)
	if len(ten) != 10 || len(twenty) != 20 || !slices.Equal(ten, sample(10, 1, data)) || slices.Equal(ten, sample(10, 2, data)) {
		t.Error(ten, twenty)
	}
	for _, name := range ten {
		if !slices.Contains(twenty, name) {
			t.Errorf("%s is among 10 and not among 20", name)
		}
	}
	moved := 0
	for _, name := range sample(20, 1, "x\nnew\n"+strings.TrimPrefix(data, "x\n")) {
		if !slices.Contains(twenty, name) {
			moved++
		}
	}
	if moved > 1 {
		t.Errorf("a new row changes %d of the sample", moved)
	}
	if all := sample(100, 1, table(7)); len(all) != 7 {
		t.Error(all)
	}
}

// The case of a row is the same one wherever the row stands.
func TestRowsAreTheSameCases(t *testing.T) {
	t.Parallel()
	ids := func(data string) map[string]string {
		s, _ := fromFiles(map[string]string{"s.yaml": "cases: [{dataset: a.csv, name: \"{{.x}}\", scorers: [{equals: e}]}]\n", "a.csv": data})
		out := map[string]string{}
		for c := range s.Cases() {
			out[c.Name] = c.ID
		}
		return out
	}
	if a, b := ids("x,y\na,1\nb,2\n"), ids("y,x\n2,b\n1,a\n"); !cmp.Equal(a, b) || a["a"] == a["b"] {
		t.Error(a, b)
	}
}

// vanishing is a file system whose files can be taken away, or get more than any bound of what is kept.
type vanishing struct {
	fstest.MapFS
	gone bool
}

func (v *vanishing) Open(name string) (fs.File, error) {
	if v.gone {
		return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrNotExist}
	}
	return v.MapFS.Open(name)
}

// What is too large to be kept is read again each time, and told when it cannot be.
func TestLargeFiles(t *testing.T) {
	t.Parallel()
	row := strings.Repeat("x", 1<<20) + "\n"
	fsys := &vanishing{MapFS: fstest.MapFS{
		"s.yaml": {
			Data: []byte(
				head + "cases: [{dataset: a.csv, scorers: [{equals: e}]}, {dataset: a.csv, name: first, limit: 1, scorers: [{equals: e}]}]\n",
			),
		},
		"a.csv": {Data: []byte("x\n" + strings.Repeat(row, 17))},
	}}
	s, said := fromFS(fsys)
	if said != "" || s.CaseCount() != 18 || s.KeepsData() || s.Err() != nil {
		t.Fatal(said, s.CaseCount(), s.KeepsData(), s.Err())
	}
	for name := range s.Sources() {
		if name != "s.yaml" {
			t.Errorf("%s is kept", name)
		}
	}
	hash := s.Hash()
	fsys.MapFS["a.csv"].Data[16<<20] = 'y'
	changed, _ := fromFS(fsys)
	if changed.Hash() == hash {
		t.Error("the hash does not see the data")
	}
	if n := len(slices.Collect(s.Cases())); n != 18 || s.Err() != nil {
		t.Error(n, s.Err())
	}
	fsys.gone = true
	if n := len(slices.Collect(s.Cases())); n != 0 || s.Err() == nil {
		t.Error(n, s.Err())
	}
	kept, _ := fromFiles(map[string]string{"s.yaml": "cases: [{dataset: a.csv, scorers: [{equals: e}]}]\n", "a.csv": "x\n1\n"})
	if !kept.KeepsData() {
		t.Error("a small file is not kept")
	}
}

// A name may be that of all rows: when the numbers of each were tried from the start, this would not end.
func TestOneNameForAllRows(t *testing.T) {
	t.Parallel()
	const rows = 150_000
	s, said := fromFiles(map[string]string{
		"s.yaml": "cases: [{dataset: a.csv, name: n, scorers: [{equals: e}]}]\n",
		"a.csv":  "x\n" + strings.Repeat("1\n", rows),
	})
	if !strings.Contains(said, fmt.Sprintf("%d cases have the name of another case", rows-1)) {
		t.Error(said)
	}
	last := ""
	for c := range s.Outlines() {
		last = c.Name
	}
	if last != fmt.Sprintf("n (%d)", rows) {
		t.Error(last)
	}
}

// Files that are rows are kept no more than others.
func TestManyFilesAreNotKept(t *testing.T) {
	t.Parallel()
	fsys := fstest.MapFS{
		"s.yaml": {
			Data: []byte(
				head + "cases: [{dataset: \"*.txt\", scorers: [{equals: e}], vars: {x: v}}, {dataset: \"*.yml\", scorers: [{equals: e}]}]\n",
			),
		},
	}
	megabyte := strings.Repeat("x", 1<<20)
	for i := range 70 {
		fsys[fmt.Sprintf("%d.txt", i)] = &fstest.MapFile{Data: []byte(megabyte)}
	}
	fsys["9.yml"] = &fstest.MapFile{Data: []byte("- x: " + megabyte)}
	s, said := fromFS(fsys)
	if said != "" || s.CaseCount() != 71 {
		t.Fatal(said, s.CaseCount())
	}
	kept := 0
	for _, text := range s.Sources() {
		kept += len(text)
	}
	if kept > 65<<20 || s.KeepsData() {
		t.Errorf("%d bytes are kept", kept)
	}
	hash := s.Hash()
	fsys["9.yml"].Data[10] = 'y'
	if changed, _ := fromFS(fsys); changed.Hash() == hash {
		t.Error("the hash does not see a file that is not kept")
	}
	if n := len(slices.Collect(s.Outlines())); n != 71 || s.Err() != nil {
		t.Error(n, s.Err())
	}
}
