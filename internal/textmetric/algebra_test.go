package textmetric

import (
	"fmt"
	"math"
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode"

	"github.com/google/go-cmp/cmp"

	"github.com/evalrun/evalrun/internal/testing/expect"
)

// alphabets are what random texts are made of: a few units, so that texts share some.
var alphabets = map[string][]string{
	"letters":   {"a", "b", "c", " "},
	"words":     {"the ", "cat ", "sat ", "on ", "mat. ", "Mat, ", "3.14 "},
	"marks":     {"e", "\u0301", "\u0323", "é", " "},
	"han":       {"吾", "輩", "は", "猫", "。", " "},
	"emoji":     {"👍", "🏽", "👨", "\u200d", "👩", " ", "🇩", "🇪"},
	"Hebrew":    {"ש", "\u05c1", "\u05b8", "ל", " ", "ו"},
	"signs":     {"-", "'", "&", "&lt;", "<skipped>", "\r\n", "\t", "\u2003", "a", "1", "."},
	"any bytes": {"\xff", "\xc3", "a", "\x00", " "},
}

// eachText calls a test for many random texts of each alphabet, the same in every run.
func eachText(t *testing.T, test func(t *testing.T, text func() string)) {
	t.Helper()
	for name, units := range alphabets {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			random := rand.New(rand.NewPCG(1, 2))
			text := func() string {
				var b strings.Builder
				for range random.IntN(14) {
					b.WriteString(units[random.IntN(len(units))])
				}
				return b.String()
			}
			for range 60 {
				test(t, text)
			}
		})
	}
}

// similarities are all measures of two texts with a value from 0 to 1.
func similarities() map[string]func(answer, reference string) float64 {
	out := map[string]func(a, b string) float64{
		"distance":     func(a, b string) float64 { _, v := Distance(a, b); return v },
		"indel":        IndelRatio,
		"Jaro-Winkler": func(a, b string) float64 { return JaroWinkler([]rune(a), []rune(b)) },
	}
	for _, tokenizer := range []string{"13a", "intl", "char", "zh", "none"} {
		for _, smoothing := range []string{"exp", "floor", "add-k", "none"} {
			b := BLEU{Tokenize: tokenizer, Smoothing: smoothing, Effective: true, Lowercase: smoothing == "none"}
			out["BLEU "+tokenizer+" "+smoothing] = func(x, y string) float64 { return b.of(x, y) }
		}
	}
	for _, c := range []ChrF{
		{Chars: 6, Beta: 2},
		{Chars: 6, Words: 2, Beta: 2, Lowercase: true},
		{Chars: 2, Beta: 1, Whitespace: true},
		{Chars: 3, Words: 1, Beta: 3, Eps: true},
	} {
		out[fmt.Sprintf("chrF %+v", c)] = func(x, y string) float64 { return c.of(x, y) }
	}
	for _, g := range rouges() {
		out[fmt.Sprintf("ROUGE %+v", g)] = func(x, y string) float64 { return g.of(x, y).F }
	}
	return out
}

func rouges() []Rouge {
	var out []Rouge
	for _, kind := range []string{"1", "2", "3", "4", "L", "Lsum"} {
		out = append(
			out, Rouge{Kind: kind, Definition: "unicode"}, Rouge{Kind: kind, Definition: "rouge-score"},
			Rouge{Kind: kind, Definition: "rouge-score", Stem: true},
		)
	}
	return out
}

func TestEveryMeasureIsBetweenZeroAndOne(t *testing.T) {
	t.Parallel()
	measures := similarities()
	eachText(t, func(t *testing.T, text func() string) {
		a, b := text(), text()
		for name, measure := range measures {
			if v := measure(a, b); math.IsNaN(v) || v < 0 || v > 1+1e-12 {
				t.Errorf("%s of %q and %q: got %v, want a value from 0 to 1", name, a, b, v)
			}
		}
	})
}

func TestAnEmptyTextSharesNothingWithAnother(t *testing.T) {
	t.Parallel()
	for name, measure := range similarities() {
		for _, pair := range [][2]string{{"", "the cat sat on the mat"}, {"the cat sat on the mat", ""}} {
			if v := measure(pair[0], pair[1]); v > 1e-15 { // Eps stands for nothing
				t.Errorf("%s of %q and %q: got %v, want 0", name, pair[0], pair[1], v)
			}
		}
	}
}

// A text is the best answer to itself, where it has the runs that are measured.
func TestATextIsItsOwnBestAnswer(t *testing.T) {
	t.Parallel()
	eachText(t, func(t *testing.T, text func() string) {
		s := text()
		_, similarity := Distance(s, s)
		want := map[string]bool{"distance": true, "indel": true, "Jaro-Winkler": true}
		got := map[string]bool{
			"distance": similarity == 1, "indel": IndelRatio(s, s) == 1, "Jaro-Winkler": JaroWinkler([]rune(s), []rune(s)) == 1,
		}
		for _, tokenizer := range []string{"13a", "intl", "char", "zh", "none"} {
			b := BLEU{Tokenize: tokenizer, Smoothing: "exp", Effective: true}
			want["BLEU "+tokenizer] = true
			got["BLEU "+tokenizer] = b.Units(s).Len() == 0 || math.Abs(b.of(s, "x y", s)-1) < 1e-12
		}
		c := ChrF{Chars: 6, Words: 2, Beta: 2}
		want["chrF"], got["chrF"] = true, len(Fields(s)) == 0 || math.Abs(c.of(s, s)-1) < 1e-12
		for _, g := range rouges() {
			name := fmt.Sprintf("ROUGE %+v", g)
			runs := len(g.Split(strings.ReplaceAll(s, "\n", " ")))
			if slices.Contains([]string{"2", "3", "4"}, g.Kind) {
				runs -= int(g.Kind[0] - '1')
			}
			want[name], got[name] = true, runs <= 0 || cmp.Equal(PRF{1, 1, 1}, g.of(s, s), near(1e-12))
		}
		expect.Same(t, fmt.Sprintf("the measure of %q with itself", s), got, want)
	})
}

func TestSymmetricMeasuresDoNotCareWhichTextIsTheAnswer(t *testing.T) {
	t.Parallel()
	eachText(t, func(t *testing.T, text func() string) {
		a, b := text(), text()
		d, similarity := Distance(a, b)
		back, same := Distance(b, a)
		expect.Same(t, "distance", d, back)
		expect.Same(t, "similarity", similarity, same)
		expect.Same(t, "indel ratio", IndelRatio(a, b), IndelRatio(b, a))
		f := ChrF{Chars: 4, Words: 1, Beta: 1}
		if x, y := f.of(a, b), f.of(b, a); math.Abs(x-y) > 1e-12 {
			t.Errorf("chrF with beta 1 of %q and %q: got %v, the other way %v, want the same", a, b, x, y)
		}
		for _, g := range rouges() {
			if g.Kind == "Lsum" { // its union takes the lines of the reference
				continue
			}
			x, y := g.of(a, b), g.of(b, a)
			what := fmt.Sprintf("%+v of %q and %q with precision and recall swapped", g, a, b)
			expect.Same(t, what, x, PRF{y.Recall, y.Precision, y.F}, near(1e-12))
		}
	})
}

func TestDistanceIsAMetric(t *testing.T) {
	t.Parallel()
	eachText(t, func(t *testing.T, text func() string) {
		a, b, c := text(), text(), text()
		ab, similarity := Distance(a, b)
		bc, _ := Distance(b, c)
		ac, _ := Distance(a, c)
		if ac > ab+bc {
			t.Errorf("from %q to %q: got %d, want at most that by way of %q, %d", a, c, ac, b, ab+bc)
		}
		x, y := []rune(a), []rune(b)
		if shortest := max(len(x)-len(y), len(y)-len(x)); ab < shortest || ab > max(len(x), len(y)) {
			t.Errorf("%q and %q: distance %d, want %d to %d", a, b, ab, shortest, max(len(x), len(y)))
		}
		if (ab == 0) != (string(x) == string(y)) || (similarity == 1) != (ab == 0) {
			t.Errorf("%q and %q: got the distance %d and the similarity %v, want 0 and 1 for the same text alone", a, b, ab, similarity)
		}
		// A replacement is one put in and one taken out.
		indel := math.Round(float64(len(x)+len(y)) * (1 - IndelRatio(a, b)))
		if indel < float64(ab) || indel > 2*float64(ab) {
			t.Errorf("%q and %q: %v put in or taken out, want %d to %d", a, b, indel, ab, 2*ab)
		}
	})
}

func TestAnotherReferenceNeverTakesRunsAway(t *testing.T) {
	t.Parallel()
	eachText(t, func(t *testing.T, text func() string) {
		b := BLEU{Tokenize: "none"}
		u, one, two := b.Units(text()), b.Units(text()), b.Units(text())
		alone := NewNgramCounts(BLEUOrder, one).Shared(u)
		both := NewNgramCounts(BLEUOrder, one, two).Shared(u)
		expect.Same(t, "the order of references counts", NewNgramCounts(BLEUOrder, two, one).Shared(u), both)
		for i := range alone {
			if both[i] < alone[i] || both[i] > float64(u.Runs(i+1)) {
				t.Errorf("runs of %d: got %[3]v with two references, want %[2]v of one at least and %[4]d at most", i+1, alone[i], both[i], u.Runs(i+1))
			}
		}
	})
}

// The closest reference decides on brevity; of two as close the shorter does.
func TestTheClosestReferenceDecidesOnBrevity(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		words int
		refs  []string
		want  int
	}{
		"the only one":            {9, []string{"a"}, 0},
		"the nearest":             {3, []string{"a", "a b c d", "a b c d e f"}, 1},
		"of two the shorter":      {3, []string{"a b c d", "a b"}, 1},
		"of equals the first":     {3, []string{"a b", "c d"}, 0},
		"an empty one of several": {0, []string{"a", ""}, 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var refs []Units
			for _, r := range test.refs {
				refs = append(refs, WordUnits(Fields(r)))
			}
			expect.Same(t, fmt.Sprintf("%d words and %q", test.words, test.refs), Closest(test.words, refs), test.want)
		})
	}
}

// The three replacements that sacreBLEU's TokenizerV14International makes.
var mtevalV14 = []struct {
	re *regexp.Regexp
	to string
}{
	{regexp.MustCompile(`(\P{N})(\p{P})`), "$1 $2 "},
	{regexp.MustCompile(`(\p{P})(\P{N})`), " $1 $2"},
	{regexp.MustCompile(`(\p{S})`), " $1 "},
}

func TestInternationalTokenizerIsItsRegularExpressions(t *testing.T) {
	t.Parallel()
	alphabets := []rune("a1½٣.,-$€+«»、。猫é\u0301👍🏽\n \t_—%Ⅷ")
	random := rand.New(rand.NewPCG(3, 4))
	for range 3000 {
		var b strings.Builder
		for range random.IntN(12) {
			b.WriteRune(alphabets[random.IntN(len(alphabets))])
		}
		want := strings.ReplaceAll(b.String(), "\n", " ") // the dot of (.) aside, a line's end is no sign
		text := want
		for _, m := range mtevalV14 {
			want = m.re.ReplaceAllString(want, m.to)
		}
		expect.Same(t, fmt.Sprintf("%q", text), international(text), want)
	}
}

func TestTokenizersSplitAsDefined(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		tokenizer, text string
		want            []string
	}{
		"a number keeps its point and comma":      {"13a", "3.14, 1,000. x", []string{"3.14", ",", "1,000", ".", "x"}},
		"a dash behind a digit stands alone":      {"13a", "1-2 a-b", []string{"1", "-", "2", "a-b"}},
		"a word cut at a line's end is whole":     {"13a", "Zug-\nfahrt\nheim", []string{"Zugfahrt", "heim"}},
		"entities are signs":                      {"13a", "&quot;a&quot; &amp;lt;", []string{`"`, "a", `"`, "<"}},
		"skipped segments are gone":               {"13a", "a <skipped>b", []string{"a", "b"}},
		"signs of other scripts stay in 13a":      {"13a", "猫。«a»", []string{"猫。«a»"}},
		"signs of other scripts stand alone":      {"intl", "猫。«a»", []string{"猫", "。", "«", "a", "»"}},
		"a currency stands alone":                 {"intl", "5€", []string{"5", "€"}},
		"Chinese characters stand alone":          {"zh", "我们2010年.", []string{"我", "们", "2010", "年", "."}},
		"characters by code point":                {"char", "a 🏽e\u0301", []string{"a", "🏽", "e", "\u0301"}},
		"white space of every kind parts words":   {"none", "a\u2003b\u00a0c\x1cd\u3000e\u0085f", []string{"a", "b", "c", "d", "e", "f"}},
		"nothing but white space holds no word":   {"13a", " \r\n\t", nil},
		"a zero-width space does not part a word": {"none", "a\u200bb", []string{"a\u200bb"}},
		"white space at the end is cut first":     {"intl", "3. \n", []string{"3."}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			u := BLEU{Tokenize: test.tokenizer}.Units(test.text)
			expect.Same(t, fmt.Sprintf("%s of %q", test.tokenizer, test.text), unitTexts(u), test.want)
		})
	}
}

func unitTexts(u Units) []string {
	var out []string
	for i := range u.Len() {
		out = append(out, u.run(i, 1))
	}
	return out
}

// The words of UAX #29 hold a letter or a number, and are the same however a text is composed.
func TestUnicodeWordsHoldALetterOrANumber(t *testing.T) {
	t.Parallel()
	g := Rouge{Kind: "1", Definition: "unicode"}
	for name, test := range map[string]struct {
		text string
		want []string
	}{
		"case is folded":                 {"Straße STRASSE", []string{"strasse", "strasse"}},
		"composed and decomposed":        {"caf\u00e9 cafe\u0301", []string{"caf\u00e9", "caf\u00e9"}},
		"punctuation is no word":         {"Well… «yes» — 3.14!", []string{"well", "yes", "3.14"}},
		"an apostrophe is inside a word": {"don't l’eau", []string{"don't", "l’eau"}},
		"Chinese by character":           {"我们在北京", []string{"我", "们", "在", "北", "京"}},
		"katakana by run":                {"カタカナ", []string{"カタカナ"}},
		"Hebrew with points":             {"שָׁלוֹם עולם", []string{"שָׁלוֹם", "עולם"}},
		"emoji are no words":             {"👍🏽 ok 👨‍👩‍👧 🇩🇪", []string{"ok"}},
		"numbers of other scripts":       {"٣٤ Ⅷ", []string{"٣٤", "ⅷ"}},
		"nothing":                        {" \r\n", nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			expect.Same(t, fmt.Sprintf("%q", test.text), g.Split(test.text), test.want)
		})
	}
}

func TestStemmerNeverMakesAWordLonger(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(5, 6))
	endings := []string{"ing", "ed", "eed", "ies", "ied", "sses", "y", "ational", "logi", "alli", "ll", "e", "s", "ion", ""}
	for range 5000 {
		var b strings.Builder
		for range random.IntN(6) {
			b.WriteByte("aeioulytszbx1"[random.IntN(13)])
		}
		w := b.String() + endings[random.IntN(len(endings))]
		if stem := porter(w); len(stem) > len(w) || w != "" && stem == "" && len(w) <= 2 {
			t.Errorf("%q: got the stem %q, want none that is longer or empty", w, stem)
		}
	}
}

// Letters that differ in case alone are one letter, and folding them twice changes nothing.
func TestFoldCaseJoinsAllCasesOfALetter(t *testing.T) {
	t.Parallel()
	seen := 0
	for r := rune(0); r <= unicode.MaxRune; r++ {
		other := unicode.SimpleFold(r)
		if other == r {
			continue
		}
		seen++
		folded := FoldCase(string(r))
		if also := FoldCase(string(other)); also != folded {
			t.Errorf("%q: got %q, want %[4]q as for %[3]q", r, folded, other, also)
		}
		if twice := FoldCase(folded); twice != folded {
			t.Errorf("%q folds to %q: got %q when folded twice, want the same", r, folded, twice)
		}
	}
	if seen < 2000 {
		t.Errorf("%d letters with cases, want thousands", seen)
	}
}

// What takes longer than a trial may is said before it begins.
func TestROUGESaysWhatIsTooLong(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("word ", 200_000)
	for _, test := range []struct {
		kind, answer, reference string
		words                   int
		want                    bool
	}{
		{"L", long, "a b", 2, false},
		{"L", long, long, 200_000, true},
		{"Lsum", long, "a b", 2, false},
		{"Lsum", long, strings.Repeat("a ", 1000), 1000, true},
		{"1", long, long, 200_000, false},
	} {
		g := Rouge{Kind: test.kind, Definition: "rouge-score"}
		words, tooLong := g.TooLong(g.Cut(test.answer), []RougeText{g.Cut(test.reference)})
		if words != test.words || tooLong != test.want {
			t.Errorf("%s, reference of %d words: got %d words, too long %v, want %d, %v",
				test.kind, test.words, words, tooLong, test.words, test.want)
		}
	}
}
