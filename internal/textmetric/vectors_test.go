package textmetric

import (
	"encoding/json"
	"math"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// vectors reads the cases of a file. Those of package scorers hold the same measures behind YAML.
func vectors[T any](t *testing.T, file string) []T {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var in struct{ Cases []T }
	if err := json.Unmarshal(data, &in); err != nil {
		t.Fatal(err)
	}
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

func (b NLTKBLEU) of(answer string, references ...string) float64 {
	return score(b, b.Order+1, answer, references)
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

type sacreCase struct {
	ID         string
	Hypothesis string
	References []string
	BLEU, ChrF map[string]float64
}

// options reads a setting such as tok=13a,smooth=exp,eff=True.
func options(setting string) map[string]string {
	out := map[string]string{}
	for part := range strings.SplitSeq(setting, ",") {
		key, value, _ := strings.Cut(part, "=")
		out[key] = value
	}
	return out
}

func TestBLEUIsThatOfSacreBLEU(t *testing.T) {
	t.Parallel()
	smoothing := map[string]string{"exp": "exp", "none": "none", "floor0.1": "floor", "add-k1": "add-k"}
	for _, c := range vectors[sacreCase](t, "../../scorers/testdata/sacrebleu_sentence.json") {
		t.Run(c.ID, func(t *testing.T) {
			t.Parallel()
			got, want := map[string]float64{}, map[string]float64{}
			for setting, value := range c.BLEU {
				o := options(setting)
				b := BLEU{Tokenize: o["tok"], Smoothing: smoothing[o["smooth"]], Effective: o["eff"] == "True"}
				got[setting], want[setting] = b.of(c.Hypothesis, c.References...), value/100
			}
			if diff := cmp.Diff(want, got, near(1e-12)); diff != "" {
				t.Errorf("%q against %q (-want +got):\n%s", c.Hypothesis, c.References, diff)
			}
		})
	}
}

func TestChrFIsThatOfSacreBLEU(t *testing.T) {
	t.Parallel()
	number := map[string]float64{"0": 0, "1": 1, "2": 2, "3": 3, "6": 6}
	for _, c := range vectors[sacreCase](t, "../../scorers/testdata/sacrebleu_sentence.json") {
		t.Run(c.ID, func(t *testing.T) {
			t.Parallel()
			got, want := map[string]float64{}, map[string]float64{}
			for setting, value := range c.ChrF {
				o := options(strings.ToLower(setting))
				f := ChrF{
					Chars: int(number[o["char"]]), Words: int(number[o["word"]]), Beta: number[o["beta"]],
					Lowercase: o["lc"] == "true", Whitespace: o["ws"] == "true", Eps: o["eps"] == "true",
				}
				got[setting], want[setting] = f.of(c.Hypothesis, c.References...), value/100
			}
			if diff := cmp.Diff(want, got, near(1e-12)); diff != "" {
				t.Errorf("%q against %q (-want +got):\n%s", c.Hypothesis, c.References, diff)
			}
		})
	}
}

type nltkSentence struct {
	Name, Hypothesis string
	References       []string
	BLEU, ChrF       map[string]float64
	GLEU             float64
}

func TestBLEUIsThatOfNLTKWithEachSmoothing(t *testing.T) {
	t.Parallel()
	for _, c := range vectors[nltkSentence](t, "testdata/nltk_sentences.json") {
		t.Run(c.Name, func(t *testing.T) {
			t.Parallel()
			got := map[string]float64{}
			for method := range c.BLEU {
				got[method] = NLTKBLEU{Order: 4, Smoothing: method}.of(c.Hypothesis, c.References...)
			}
			if diff := cmp.Diff(c.BLEU, got, near(1e-12)); diff != "" {
				t.Errorf("%q against %q (-want +got):\n%s", c.Hypothesis, c.References, diff)
			}
		})
	}
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
			if diff := cmp.Diff(c.ChrF, got, near(1e-9)); diff != "" {
				t.Errorf("%q against %q (-want +got):\n%s", c.Hypothesis, c.References[0], diff)
			}
		})
	}
}

// gleu is the part of the shared runs in those of the longer text, as the scorer has it.
func gleu(answer, reference string) float64 {
	u, ref := WordUnits(Fields(answer)), WordUnits(Fields(reference))
	shared, mine, theirs := 0.0, 0, 0
	for i, n := range NewNgramCounts(4, ref).Shared(u) {
		shared, mine, theirs = shared+n, mine+u.Runs(i+1), theirs+ref.Runs(i+1)
	}
	return shared / float64(max(mine, theirs))
}

func TestSharedRunsGiveGLEUOfNLTK(t *testing.T) {
	t.Parallel()
	for _, c := range vectors[nltkSentence](t, "testdata/nltk_sentences.json") {
		got := gleu(c.Hypothesis, c.References[0])
		if diff := cmp.Diff(c.GLEU, got, near(1e-12)); diff != "" {
			t.Errorf("%s: %q against %q (-want +got):\n%s", c.Name, c.Hypothesis, c.References[0], diff)
		}
	}
}

// prf has the names of the vectors.
type prf struct{ P, R, F float64 }

func shortPRF(s PRF) prf { return prf{s.Precision, s.Recall, s.F} }

func TestROUGEIsThatOfRougeScore(t *testing.T) {
	t.Parallel()
	for _, c := range vectors[struct {
		ID, Hypothesis, Reference string
		Expect                    map[string]prf
	}](t, "../../scorers/testdata/rouge_oracle.json") {
		t.Run(c.ID, func(t *testing.T) {
			t.Parallel()
			got := map[string]prf{}
			for setting := range c.Expect {
				kind, stem := strings.CutSuffix(strings.TrimPrefix(setting, "rouge"), "_stem")
				g := Rouge{Kind: kind, Definition: "rouge-score", Stem: stem}
				got[setting] = shortPRF(g.of(c.Hypothesis, c.Reference))
			}
			if diff := cmp.Diff(c.Expect, got, near(1e-12)); diff != "" {
				t.Errorf("%q against %q (-want +got):\n%s", c.Hypothesis, c.Reference, diff)
			}
		})
	}
}

// The values are those of the Perl program ROUGE-1.5.5.
func TestROUGEIsThatOfTheFirstProgram(t *testing.T) {
	t.Parallel()
	for _, c := range vectors[struct {
		Metric, Hypothesis, Reference string
		Stem                          bool
		Expect                        prf
		Tolerance                     float64
	}](t, "../../scorers/testdata/rouge_google_groundtruth.json") {
		g := Rouge{Kind: strings.TrimPrefix(c.Metric, "rouge"), Definition: "rouge-score", Stem: c.Stem}
		if diff := cmp.Diff(c.Expect, shortPRF(g.of(c.Hypothesis, c.Reference)), near(c.Tolerance)); diff != "" {
			t.Errorf("%s, stem %v: %q against %q (-want +got):\n%s", c.Metric, c.Stem, c.Hypothesis, c.Reference, diff)
		}
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
				if diff := cmp.Diff(c, got, near(1e-12)); diff != "" {
					t.Errorf("%q and %q (-want +got):\n%s", c.A, c.B, diff)
				}
			})
		}
	}
}

func TestStemmerIsThatOfNLTK(t *testing.T) {
	t.Parallel()
	data, err := os.ReadFile("testdata/porter.txt")
	if err != nil {
		t.Fatal(err)
	}
	got, want := map[string]string{}, map[string]string{}
	for line := range strings.Lines(string(data)) {
		if f := strings.Fields(line); f[0] != "#" {
			got[f[0]], want[f[0]] = porter(f[0]), f[1]
		}
	}
	if len(want) < 500 {
		t.Fatalf("%d words, want 500", len(want))
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("stems (-want +got):\n%s", diff)
	}
}

func TestSquadWordsAreThoseOfTheOfficialScript(t *testing.T) {
	t.Parallel()
	for _, c := range vectors[struct {
		Text  string
		Words []string
	}](t, "testdata/squad_words.json") {
		if diff := cmp.Diff(c.Words, append([]string{}, SquadWords(c.Text)...)); diff != "" {
			t.Errorf("%q (-want +got):\n%s", c.Text, diff)
		}
	}
}

func TestFoldCaseIsThatOfPython(t *testing.T) {
	t.Parallel()
	for _, c := range vectors[struct{ S, Casefold string }](t, "../../scorers/testdata/casefold.json") {
		if diff := cmp.Diff(c.Casefold, FoldCase(c.S)); diff != "" {
			t.Errorf("%q (-want +got):\n%s", c.S, diff)
		}
	}
}
