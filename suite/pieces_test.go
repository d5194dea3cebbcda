package suite_test

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"

	"github.com/evalrun/evalrun/diag"
	"github.com/evalrun/evalrun/internal/files"
	"github.com/evalrun/evalrun/internal/testing/hostile"
	"github.com/evalrun/evalrun/scorers"
	"github.com/evalrun/evalrun/suite"
)

// A suite that is read in pieces, with scorers of several cases as one, reports the same and makes the same cases as
// one that was read as a whole. The suites of this repository do,
func TestPiecesAreTheWhole(t *testing.T) {
	t.Parallel()
	tried := 0
	for _, file := range suiteFiles(t) {
		root, text := opened(t, file)
		if samePieces(t, root, filepath.Base(file), text, 100) {
			tried++
		}
	}
	if tried < 20 {
		t.Errorf("got %d suites that were read in pieces, want at least 20", tried)
	}
}

// and so do these suites with accidents in them,
func TestPiecesAreTheWholeAfterMutations(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(20, 5)) // reproducible
	tried := 0
	for _, file := range suiteFiles(t) {
		if strings.HasSuffix(file, "template_budget.yaml") { // each reading of it spends the whole budget
			continue
		}
		root, text := opened(t, file)
		for range 5 {
			if samePieces(t, root, filepath.Base(file), hostile.Mutated(random, text), 1+random.IntN(300)) {
				tried++
			}
		}
	}
	if tried < 30 {
		t.Errorf("got %d suites that were read in pieces, want at least 30", tried)
	}
}

// and suites with many cases that have much in common.
func TestPiecesOfManyCasesAreTheWhole(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(21, 5)) // reproducible
	tried, failed := 0, 0
	for range 60 {
		text := manyAlike(random)
		if samePieces(t, fstest.MapFS{}, "s.yaml", text, max(-1, random.IntN(2000)-400)) {
			tried++
		} else {
			failed++
		}
	}
	if tried < 15 || failed < 15 {
		t.Errorf("got %d suites in pieces and %d as a whole, want at least 15 of each", tried, failed)
	}
}

func suiteFiles(t *testing.T) (out []string) {
	t.Helper()
	for _, pattern := range []string{"testdata/*/*.yaml", "../examples/*/*.yaml"} {
		files, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, files...)
	}
	return out
}

// opened is the folder of a suite, and its text.
func opened(t *testing.T, file string) (folder fs.FS, text string) {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	root, err := os.OpenRoot(filepath.Dir(file))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { root.Close() })
	return root.FS(), string(data)
}

// manyAlike makes a suite of cases with scorers out of a short list. Some have a problem, mostly a warning.
func manyAlike(random *rand.Rand) string {
	var b strings.Builder
	b.WriteString("version: 1\nname: s\ntargets: [{name: t, model: m}, {name: u, model: m}]\n" +
		"prompts:\n  - {name: p, text: \"{{.q}}\", tools: [{name: f, description: d}]}\n" +
		"scorerSets:\n  both: [{contains: a}, {contains: b}]\n" +
		"defaults:\n  vars: {q: 1, r: 2}\n  scorers: [{contains: a}, {finishReason: STOP}, {use: both}]\ncases:\n")
	common := []string{
		"{contains: a}", "{contains: a}", "{contains: b, name: n%d}", "{finishReason: STOP}",
		"{length: {words: {max: 3}}}", "{use: both}", "{contains: \"{{.q}}\"}", "{not: {contains: z%d}}",
		"{contains: z%d, weight: 2}", "{expr: \"len(answer) > 1\"}", "{regex: a.c}",
	}
	problems := []string{ // warnings first
		"{contains: a, arms: u/p}", "{contains: \" \"}", "{toolCalls: {calls: [{name: g}]}}",
		"{contains: a, arms: x/*}", "{expr: \"vars.q + 1 > 'a'\"}", "{expr: \"vars.zz == 'a'\"}",
		"{contains: \"{{.nothing}}\"}", "{contians: a}", "{contains: a, turn: 1}", "{firstToken: 1s}",
		"{length: {max: -1}}", "{contains: a, name: b}",
	}
	mood := random.IntN(3) // 0: nothing is reported; 1: warnings; 2: everything
	for i := range 20 + random.IntN(60) {
		fmt.Fprintf(&b, "  - name: c%d\n", i-random.IntN(200)/199)
		if random.IntN(3) == 0 {
			fmt.Fprintf(&b, "    vars: {q: %d}\n", random.IntN(3))
		}
		if mood > 0 && random.IntN(20) == 0 {
			b.WriteString([]string{"    each: [{x: 1}]\n", "    cluster: x\n", "    vars2: {x: 1}\n", "    id: same\n"}[random.IntN(2*mood)])
		}
		if random.IntN(4) == 0 {
			b.WriteString([]string{"    tags: [a, b]\n", "    repeats: 2\n", "    inheritScorers: false\n", "    arms: t/*\n"}[random.IntN(4)])
		}
		b.WriteString("    scorers:\n")
		for range 1 + random.IntN(4) {
			list := common
			switch {
			case mood == 1 && random.IntN(6) == 0:
				list = problems[:3]
			case mood == 2 && random.IntN(60) == 0:
				list = problems
			}
			one := list[random.IntN(len(list))]
			if strings.Contains(one, "%d") {
				one = fmt.Sprintf(one, random.IntN(1000))
			}
			b.WriteString("      - " + one + "\n")
		}
	}
	return b.String()
}

// samePieces compares both ways to read a suite, and reports whether reading it in pieces was enough.
func samePieces(t *testing.T, folder fs.FS, name, text string, piece int) bool {
	t.Helper()
	fsys := files.With{FS: folder, Name: name, Text: []byte(text)}
	var wanted, diags diag.List
	want, _ := suite.LoadBy(fsys, name, scorers.Builtin(), 0, &wanted)
	got, tried := suite.LoadBy(fsys, name, scorers.Builtin(), piece, &diags)
	if diff := cmp.Diff(wanted.Sorted(), diags.Sorted()); diff != "" {
		t.Errorf("%s\nproblems (-want, as a whole, +pieces):\n%s", text, diff)
		return tried
	}
	if wanted.HasErrors() {
		return tried
	}
	whole := allOf(want)
	for range 2 { // what is kept does not change
		if diff := cmp.Diff(whole, allOf(got)); diff != "" {
			t.Fatalf("%s\ncases (-want, as a whole, +pieces):\n%s", text, diff)
		}
	}
	return tried
}

// allOf is everything that a suite reports of its cases.
func allOf(s *suite.Suite) (out []string) {
	metrics, open := s.Metrics()
	out = append(out, fmt.Sprint(s.CaseCount(), metrics, open, s.Embeds(), s.Hash()))
	for c := range s.Outlines() {
		out = append(out, caseText(c))
	}
	for c := range s.Cases() {
		out = append(out, caseText(c))
		for _, a := range c.Arms {
			r, err := s.Render(c, a)
			out = append(out, fmt.Sprint(a.Name(), asJSON(r), err))
			for _, sc := range c.ScorersFor(a) {
				turn, _ := sc.Turn.Number()
				out = append(out, fmt.Sprint(
					sc.Kind, sc.Name, sc.Weight, sc.Required, asJSON(sc.Threshold), sc.Arms, sc.Candidate, turn, sc.Turn.All(), string(sc.JSON()),
				))
			}
		}
	}
	return slices.Clip(out)
}

func caseText(c *suite.Case) string {
	return fmt.Sprint(
		c.Name, c.ID, c.VarsHash, c.Tags, c.Cluster, c.Repeats, asJSON(c.Threshold), asJSON(c.Quarantine), len(c.Arms), c.Pos, c.Vars(),
	)
}

func asJSON(v any) string {
	data, err := json.Marshal(v)
	if err != nil {
		return err.Error()
	}
	return string(data)
}

// inline is a suite of cases whose last one has a scorer that no other case has.
func inline(cases int, last string) string {
	return "version: 1\nname: s\ntargets: [{name: t, model: m}]\nprompts: [{name: p, text: \"{{.q}}\"}]\ncases:\n" +
		numbered("  - {name: case %[1]d, vars: {q: %[1]d}, scorers: [{contains: Paris}, {not: {contains: London %[1]d}}]}\n", cases-1) +
		"  - {name: last, vars: {q: x}, scorers: [" + last + "]}\n"
}

func TestProblemsInLongSuitesHaveTheirPlaces(t *testing.T) {
	t.Parallel()
	for last, want := range map[string]string{
		"{contians: x}":                  "s.yaml:3005:43: unknown scorer kind `contians`",
		"{contains: \"{{.nothing}}\"}":   "s.yaml:3005:56: case `last` has no variable `nothing`",
		"{contains: Paris}, {contains: ": "s.yaml:3005:3: not valid YAML: did not find expected node content",
	} {
		_, diags := fromText(inline(3000, last), suite.Options{})
		if err := diags.Err(); err == nil || err.Error() != want {
			t.Errorf("%s: got %v, want %s", last, err, want)
		}
	}
}

// What is kept of an inline case is a few hundred bytes, however it was written.
func TestInlineCasesAreKeptSmall(t *testing.T) { //nolint:paralleltest // it looks at the memory of the process
	const cases, most = 10_000, 600 // bytes of a case, with its line in the file
	text := inline(cases, "{contains: x}")
	before := liveHeap()
	s, diags := fromText(text, suite.Options{})
	kept := (liveHeap() - before) / cases
	if err := diags.Err(); err != nil || s.CaseCount() != cases {
		t.Fatalf("got %d cases (%v), want %d", s.CaseCount(), err, cases)
	}
	if kept > most {
		t.Errorf("a case is kept in %d bytes, want at most %d", kept, most)
	}
	runtime.KeepAlive(s)
}

func liveHeap() int {
	runtime.GC()
	runtime.GC() // what finalizers have freed
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int(m.HeapAlloc) // memory has an end
}
