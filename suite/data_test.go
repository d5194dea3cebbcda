package suite_test

import (
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"

	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/testing/expect"
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
	s, diags := fromFolder(fsys, suite.Options{})
	var said strings.Builder
	for _, d := range diags.Sorted() {
		fmt.Fprintf(&said, "%s: %s\n", d.Pos, d.Message)
	}
	return s, said.String()
}

func outline(s *suite.Suite) string {
	var b strings.Builder
	for c := range s.Cases() {
		prompt, err := s.Render(c, c.Arms[0])
		if err != nil {
			fmt.Fprintf(&b, "! %s\n", err)
			continue
		}
		fmt.Fprintf(&b, "%s: %q%s\n", c.Name, prompt.Contents[0].Parts[0].(eval.TextPart).Text, settings(c))
	}
	return b.String()
}

// settings are those of a case that are not the usual ones, and its scorers.
func settings(c *suite.Case) string {
	var b strings.Builder
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
	return b.String()
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
func TestSampleIsTheSameForItsSeed(t *testing.T) {
	t.Parallel()
	data := table(5000)
	ten, twenty := sample(t, 10, 1, data), sample(t, 20, 1, data)
	if len(ten) != 10 || len(twenty) != 20 {
		t.Errorf("samples of %d and %d rows, want 10 and 20", len(ten), len(twenty))
	}
	if !slices.Equal(ten, sample(t, 10, 1, data)) || slices.Equal(ten, sample(t, 10, 2, data)) {
		t.Errorf("%v, want the same by seed 1 again, and others by seed 2", ten)
	}
	if n := newcomers(ten, twenty); n > 0 {
		t.Errorf("%d rows are among 10 and not among 20, want none", n)
	}
	if n := newcomers(sample(t, 20, 1, "x\nnew\n"+strings.TrimPrefix(data, "x\n")), twenty); n > 1 {
		t.Errorf("a new row changes %d of the sample, want at most 1", n)
	}
	expect.Same(t, "the number of all rows", len(sample(t, 100, 1, table(7))), 7)
}

// sample are the rows of a table that a suite takes.
func sample(t *testing.T, n, seed int, data string) []string {
	t.Helper()
	s, said := fromFiles(map[string]string{
		"s.yaml": fmt.Sprintf("cases:\n  - {dataset: a.csv, sample: %d, seed: %d, name: \"{{.x}}\", scorers: [{equals: e}]}\n", n, seed),
		"a.csv":  data,
	})
	expect.Same(t, "problems", said, "")
	var names []string
	for c := range s.Cases() {
		names = append(names, c.Name)
	}
	return names
}

// newcomers counts the names that are not among others.
func newcomers(names, others []string) int {
	n := 0
	for _, name := range names {
		if !slices.Contains(others, name) {
			n++
		}
	}
	return n
}

// The case of a row stays the same when the row moves.
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
		t.Errorf("%v and %v, want the same, with an id for each row", a, b)
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

// What is too large to be kept is read again each time, and reported when it cannot be.
func TestLargeFilesAreReadAgainEachTime(t *testing.T) {
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
	if said != "" || s.CaseCount() != 18 || s.KeepsData() {
		t.Fatalf("%s: %d cases, data kept %t, want no problem, 18 and false", said, s.CaseCount(), s.KeepsData())
	}
	for name := range s.Sources() {
		expect.Same(t, "the file that is kept", name, "s.yaml")
	}
	hash := s.Hash()
	fsys.MapFS["a.csv"].Data[16<<20] = 'y'
	changed, _ := fromFS(fsys)
	if changed.Hash() == hash {
		t.Errorf("the hash with other data is %s too, want another one", hash)
	}
	hasCases(t, s, 18)
	fsys.gone = true
	if n := len(slices.Collect(s.Cases())); n != 0 || s.Err() == nil {
		t.Errorf("%d cases, %v, want none and an error", n, s.Err())
	}
}

func hasCases(t *testing.T, s *suite.Suite, want int) {
	t.Helper()
	if n := len(slices.Collect(s.Cases())); n != want || s.Err() != nil {
		t.Errorf("got %d cases (%v), want %d", n, s.Err(), want)
	}
}

func TestSmallFilesAreKept(t *testing.T) {
	t.Parallel()
	kept, _ := fromFiles(map[string]string{"s.yaml": "cases: [{dataset: a.csv, scorers: [{equals: e}]}]\n", "a.csv": "x\n1\n"})
	if !kept.KeepsData() {
		t.Error("a small file is not kept, want it kept")
	}
}

// A name may be that of all rows: when the numbers of each were tried from the start, this would not end.
func TestOneNameForAllRowsIsNumbered(t *testing.T) {
	t.Parallel()
	const rows = 150_000
	s, said := fromFiles(map[string]string{
		"s.yaml": "cases: [{dataset: a.csv, name: n, scorers: [{equals: e}]}]\n",
		"a.csv":  "x\n" + strings.Repeat("1\n", rows),
	})
	expect.Contains(t, "problems", said, fmt.Sprintf("%d cases have the name of another case", rows-1))
	last := ""
	for c := range s.Outlines() {
		last = c.Name
	}
	expect.Same(t, "the last name", last, fmt.Sprintf("n (%d)", rows))
}

// Files that are rows are kept no more than others.
func TestManyFilesAreNotKept(t *testing.T) {
	t.Parallel()
	fsys := seventyMegabytes()
	s, said := fromFS(fsys)
	if said != "" {
		t.Fatalf("want no problem, got:\n%s", said)
	}
	kept := 0
	for _, text := range s.Sources() {
		kept += len(text)
	}
	if kept > 65<<20 || s.KeepsData() {
		t.Errorf("%d bytes are kept, all of them: %t, want 65 MiB at most", kept, s.KeepsData())
	}
	hash := s.Hash()
	fsys["9.yml"].Data[10] = 'y'
	if changed, _ := fromFS(fsys); changed.Hash() == hash {
		t.Errorf("the hash is %s too, want another one for a file that is not kept", hash)
	}
	if n := len(slices.Collect(s.Outlines())); n != 71 || s.CaseCount() != 71 || s.Err() != nil {
		t.Errorf("%d outlines and %d cases (%v), want 71", n, s.CaseCount(), s.Err())
	}
}

// seventyMegabytes is a suite with a case for each of many large files.
func seventyMegabytes() fstest.MapFS {
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
	return fsys
}
