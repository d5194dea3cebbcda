package textmetric

import (
	"encoding/json"
	"fmt"
	"math"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/evalrun/evalrun/internal/testing/expect"
)

// vectors reads the cases of a file. Those of package scorers hold the same measures behind YAML.
func vectors[T any](t *testing.T, file string) []T {
	t.Helper()
	data, err := os.ReadFile(file)
	expect.OK(t, err)
	var in struct{ Cases []T }
	expect.OK(t, json.Unmarshal(data, &in))
	if len(in.Cases) < 8 {
		t.Fatalf("%s has %d cases, want at least 8", file, len(in.Cases))
	}
	return in.Cases
}

// near compares numbers within a tolerance.
func near(tolerance float64) cmp.Option {
	return cmp.Comparer(func(a, b float64) bool { return math.Abs(a-b) <= tolerance })
}

func score(b interface {
	Units(s string) Units
	Score(u Units, shared []float64, refLen int) float64
}, order int, answer string, references []string,
) float64 {
	var refs []Units
	for _, r := range references {
		refs = append(refs, b.Units(r))
	}
	u := b.Units(answer)
	return b.Score(u, NewNgramCounts(order, refs...).Shared(u), refs[Closest(u.Len(), refs)].Len())
}

func (b BLEU) of(answer string, references ...string) float64 {
	return score(b, BLEUOrder, answer, references)
}

// of is the best value against any of the references, as sacreBLEU's is.
func (c ChrF) of(answer string, references ...string) float64 {
	best := 0.0
	for _, r := range references {
		best = max(best, c.Score(c.Cut(answer), c.Reference(r)))
	}
	return best
}

func (g Rouge) of(answer, reference string) PRF {
	return g.Compare(g.Cut(answer), g.Reference(reference))
}

type nltkSentence struct {
	Name, Hypothesis string
	References       []string
	BLEU, ChrF       map[string]float64
	GLEU             float64
}

// NLTK's chrF takes the mean over the orders last, as Eps does.
func TestChrFWithEpsIsThatOfNLTK(t *testing.T) {
	t.Parallel()
	settings := map[string]ChrF{
		"beta3":       {Chars: 6, Beta: 3, Eps: true},
		"beta1":       {Chars: 6, Beta: 1, Eps: true},
		"beta2chars2": {Chars: 2, Beta: 2, Eps: true},
		"beta3spaces": {Chars: 6, Beta: 3, Eps: true, Whitespace: true},
	}
	for _, c := range vectors[nltkSentence](t, "testdata/nltk_sentences.json") {
		t.Run(c.Name, func(t *testing.T) {
			t.Parallel()
			got := map[string]float64{}
			for setting := range c.ChrF {
				got[setting] = settings[setting].of(c.Hypothesis, c.References[0])
			}
			expect.Same(t, fmt.Sprintf("%q against %q", c.Hypothesis, c.References[0]), got, c.ChrF, near(1e-9))
		})
	}
}

type editCase struct {
	A, B        string
	Distance    int
	Ratio       float64
	JaroWinkler float64
}

// Combining marks, joined emoji, flags, points of Hebrew and letters outside of the first plane count by code point.
func TestEditMeasuresCountCodePoints(t *testing.T) {
	t.Parallel()
	for _, file := range []string{"testdata/edit_scripts.json", "../../scorers/testdata/edit_distance.json"} {
		for _, c := range vectors[editCase](t, file) {
			t.Run(c.A+" and "+c.B, func(t *testing.T) {
				t.Parallel()
				d, _ := Distance(c.A, c.B)
				got := editCase{c.A, c.B, d, IndelRatio(c.A, c.B), JaroWinkler([]rune(c.A), []rune(c.B))}
				expect.Same(t, fmt.Sprintf("%q and %q", c.A, c.B), got, c, near(1e-12))
			})
		}
	}
}

func TestStemmerIsThatOfNLTK(t *testing.T) {
	t.Parallel()
	data, err := os.ReadFile("testdata/porter.txt")
	expect.OK(t, err)
	got, want := map[string]string{}, map[string]string{}
	for line := range strings.Lines(string(data)) {
		if f := strings.Fields(line); f[0] != "#" {
			got[f[0]], want[f[0]] = porter(f[0]), f[1]
		}
	}
	if len(want) < 500 {
		t.Fatalf("%d words, want 500", len(want))
	}
	expect.Same(t, "stems", got, want)
}

func TestSquadWordsAreThoseOfTheOfficialScript(t *testing.T) {
	t.Parallel()
	for _, c := range vectors[struct {
		Text  string
		Words []string
	}](t, "testdata/squad_words.json") {
		expect.Same(t, fmt.Sprintf("%q", c.Text), append([]string{}, SquadWords(c.Text)...), c.Words)
	}
}

// The four replacements of mteval-v13a as sacreBLEU writes them.
var mteval = []struct {
	re *regexp.Regexp
	to string
}{
	{regexp.MustCompile("([\\{-\\~\\[-\\` -\\&\\(-\\+\\:-\\@\\/])"), " $1 "},
	{regexp.MustCompile(`([^0-9])([\.,])`), "$1 $2 "},
	{regexp.MustCompile(`([\.,])([^0-9])`), " $1 $2"},
	{regexp.MustCompile(`([0-9])(-)`), "$1 $2 "},
}

// FuzzWestern holds the tokenizer of BLEU against the regular expressions that define it.
func FuzzWestern(f *testing.F) {
	for _, s := range []string{"Hello, world! It's 3.14% (approx.)", "1-2 a-b ..., ,1.", "é.é,吾.", "-", "{~[`/@"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		s = strings.ToValidUTF8(s, "?")
		want := s
		for _, m := range mteval {
			want = m.re.ReplaceAllString(want, m.to)
		}
		if got := western(s); got != want {
			t.Errorf("%q: %q, want %q", s, got, want)
		}
	})
}

// FuzzCommonLength holds the longest common subsequence against its table.
func FuzzCommonLength(f *testing.F) {
	f.Add("kitten", "sitting")
	f.Add(strings.Repeat("ab", 200), strings.Repeat("aab", 100))
	f.Add(strings.Repeat("a", 64), strings.Repeat("a", 65))
	f.Fuzz(func(t *testing.T, x, y string) {
		if len(x)*len(y) > 1_000_000 {
			return
		}
		a, b := []rune(x), []rune(y)
		row := make([]int, len(b)+1)
		for _, r := range a {
			above := slices.Clone(row)
			for j, s := range b {
				row[j+1] = max(above[j+1], row[j])
				if r == s {
					row[j+1] = above[j] + 1
				}
			}
		}
		if got := commonLength(places(b), len(b), a); got != row[len(b)] {
			t.Errorf("%q %q: %d, want %d", x, y, got, row[len(b)])
		}
	})
}
