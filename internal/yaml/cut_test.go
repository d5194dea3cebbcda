package yaml

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"gopkg.in/yaml.v3"

	"github.com/evalrun/evalrun/diag"
	"github.com/evalrun/evalrun/internal/testing/expect"
	"github.com/evalrun/evalrun/internal/testing/hostile"
)

// suites are files with a list of cases, and others.
func suites(t testing.TB) (out []string) {
	t.Helper()
	for _, pattern := range []string{"../../suite/testdata/*/*.yaml", "../../examples/*/*.yaml"} {
		files, err := filepath.Glob(pattern)
		if err != nil || len(files) == 0 {
			t.Fatalf("%s: %d files, %v, want some", pattern, len(files), err)
		}
		for _, file := range files {
			data, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			out = append(out, string(data))
		}
	}
	return out
}

// handmade are lists that are written in ways that a cutter by lines could take for others.
func handmade() []string {
	return []string{
		"cases:\n- {name: a}\n- {name: b}\nname: x\n",
		"a: 1\ncases:\n  - name: a\n    vars: {x: 1}\n\n  # b is next\n  - name: b\n# end\nz: 1",
		"cases:\n  - |\n    - x\n    text\n  - >-\n   folded\n\n   text\n  - b",
		"cases:\n- |2\n   x\n- |+\n  x\n\n\n- c\n", "cases:\n  - \"a\n  - b\"\n  - c\n",
		"cases:\n  - {a: 1,\n  b: 2}\n  - c\n", "cases:\n- [a,\n- b]\n", "cases:\n  - a\n   - b\n",
		"cases:\n  - a\n - b\n", "cases:\n  - a\n\t- b\n", "cases:\n  - a\n---\n  - b\n",
		"cases:\n  - a\n...\n  - b\n", "cases:\n  - &x a\n  - *x\n", "a: &x {k: v}\ncases:\n  - *x\n",
		"cases:\n  - {<<: {a: 1}, b: 2}\n", "cases:\n  - - a\n    - b\n  -\n    c: d\n  -\n",
		"cases:\n  - a\ncases:\n  - b\n", "text: |\n cases:\n  - a\ncases:\n  - b\n", "text: \"x\ncases:\n  - a\"\n",
		"cases: # these\n  - a\n", "cases:\n  - a: 1\n    a: 2\n", "cases:\n  - ? [a]\n    : b\n",
		"cases:\n  - !x a\n", "cases:\n  - !!str 1\n  - 2001-01-01\n  - 0o7\n",
		"%YAML 1.2\n---\ncases:\n  - a\n  - b\n", "cases:\r\n  - a\r\n  - b\r\n", "cases:\n  - a\r  - b\n",
		"cases:\n  - \"a\u2028b\"\n  - c\n", "\ufeffcases:\n  - a\n", "cases:\n  - a\nb:\n- c\n", "? cases\n: - a\n",
		"{cases:\n  - a}\n", "cases:\n  - a\n }", "- cases:\n  - a\n", "cases:\n\n  # first\n\n  - a\n\n\n  - b\n\n",
		"cases:\n  -a\n  -b\n", "cases:\n  - a\n  -\tb\n", "cases:\n  - a #\n  #\n  - b\n  c: d\n", "cases:\n",
		"cases:\n  - " + strings.Repeat("[", 62) + strings.Repeat("]", 62) + "\n",
		"cases:\n  - " + strings.Repeat("[", 63) + strings.Repeat("]", 63) + "\n",
	}
}

// A file whose list was cut gives the same values in the same places as one that was parsed as a whole.
func TestCutListsAreTheSame(t *testing.T) {
	t.Parallel()
	cut := 0
	for _, src := range append(suites(t), handmade()...) {
		for _, piece := range []int{1, 300} {
			if sameCut(t, src, piece) {
				cut++
			}
		}
	}
	if cut < 100 {
		t.Errorf("got %d lists that were cut, want at least 100", cut)
	}
}

// So does one in which something was changed by accident.
func TestCutListsAreTheSameAfterMutations(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(19, 5)) // reproducible
	seeds := append(suites(t), handmade()...)
	cut := 0
	for range 6_000 {
		src := hostile.Mutated(random, seeds[random.IntN(len(seeds))])
		if sameCut(t, src, 1+random.IntN(400)) {
			cut++
		}
	}
	if cut < 1000 {
		t.Errorf("got %d lists that were cut, want at least 1000", cut)
	}
}

// FuzzCut holds the same for whatever a fuzzer makes up.
func FuzzCut(f *testing.F) {
	for _, src := range append(append(suites(f), handmade()...), hostile.Strings()...) {
		f.Add(src, 1)
	}
	f.Fuzz(func(t *testing.T, src string, piece int) { sameCut(t, src, piece) })
}

// sameCut compares both ways to read a file, and reports whether its list was cut.
func sameCut(t *testing.T, src string, piece int) bool {
	t.Helper()
	var diags, wanted diag.List
	got, ok := Cutting{Key: "cases", Piece: piece}.Parse("f.yaml", []byte(src), &diags)
	want, wantOK := Parse("f.yaml", []byte(src), &wanted)
	if !got.IsCut() {
		if diff := cmp.Diff(wanted.Sorted(), diags.Sorted()); diff != "" || ok != wantOK {
			t.Errorf("%q was not cut (-want +got):\n%s", src, diff)
		}
		return false
	}
	values := dump(got)
	if got.Broken() {
		return false
	}
	if !ok || !wantOK || wanted.Len() > 0 || diags.Len() > 0 {
		t.Errorf("%q: got %v and %v when cut, want the problems of %v and %v, as a whole", src, ok, diags.Sorted(), wantOK, wanted.Sorted())
		return false
	}
	expect.Same(t, src+": cut", values, dump(want))
	return true
}

// Pieces are parsed ahead of the one whose items are looked at. Their items come in order all the same, none behind a piece that
// cannot be read on its own, and a reader that stops early may read the list again.
func TestPiecesParsedAheadComeInOrder(t *testing.T) {
	t.Parallel()
	const cases = 200
	for _, bad := range []int{0, 1, 2, 3, cases / 2, cases - 1, cases} { // the item that ends the list; cases: none does
		var src strings.Builder
		src.WriteString("cases:\n")
		for i := range cases {
			item := strconv.Itoa(i)
			if i == bad {
				item = "&x " + item
			}
			src.WriteString("- " + item + "\n")
		}
		root, ok := Cutting{Key: "cases", Piece: 1}.Parse("f.yaml", []byte(src.String()), &diag.List{})
		if !ok || !root.IsCut() {
			t.Fatalf("parsed %v, cut %v, want both", ok, root.IsCut())
		}
		for _, most := range []int{1, 2, 7, cases} {
			got := 0
			for item := range root.Map().Get("cases").Each() {
				if want := fmt.Sprintf("f.yaml:%d:3 %d", got+2, got); fmt.Sprint(item.Pos(), " ", item.Str()) != want {
					t.Fatalf("item %d is %s at %s, want %s", got, item.Str(), item.Pos(), want)
				}
				if got++; got == most {
					break
				}
			}
			if want := min(most, bad); got != want {
				t.Errorf("%d items before a bad one at %d, want %d", got, bad, want)
			}
		}
		if root.Broken() != (bad < cases) {
			t.Errorf("got broken %v with a bad item at %d, want it for those before the end", root.Broken(), bad)
		}
	}
}

// dump writes down all that is known of a value, one line for each value inside.
func dump(n Node) []string {
	if n.IsZero() {
		return nil
	}
	var out []string
	var walk func(n Node)
	walk = func(n Node) {
		y := n.y
		out = append(out, fmt.Sprintf("%s: %d %s %q &%s %d", n.Pos(), y.Kind, y.Tag, y.Value, y.Anchor, y.Style))
		if y.Kind == yaml.SequenceNode {
			for item := range n.Each() {
				walk(item)
			}
			return
		}
		for _, child := range y.Content {
			walk(Node{child, n.d})
		}
	}
	walk(n)
	return slices.Clip(out)
}

// A value that was packed is the same in the same places, and one that is more than its values is not packed.
func TestPackedValuesAreTheSame(t *testing.T) {
	t.Parallel()
	for _, src := range append(suites(t), handmade()...) {
		var diags diag.List
		n, ok := Parse("f.yaml", []byte(src), &diags)
		if !ok {
			continue
		}
		packed, ok := n.Pack()
		if ok == linked(n.y) {
			t.Errorf("%q: packed %v, want the opposite of aliases", src, ok)
		}
		if !ok {
			continue
		}
		if diff := cmp.Diff(dump(n), dump(packed.Node())); diff != "" {
			t.Errorf("%q, packed (-want +got):\n%s", src, diff)
		}
	}
}

// linked reports whether there are anchors or aliases in a value.
func linked(y *yaml.Node) bool {
	return y.Anchor != "" || y.Kind == yaml.AliasNode || slices.ContainsFunc(y.Content, linked)
}
