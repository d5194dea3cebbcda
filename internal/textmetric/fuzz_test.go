package textmetric

import (
	"regexp"
	"slices"
	"strings"
	"testing"
)

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
