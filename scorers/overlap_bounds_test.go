package scorers_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/testing/expect"
	"github.com/evalrun/evalrun/scorers"
)

// A megabyte is scored, or refused with a reason, in bounded time.
func TestOverlapOfMegabytesTakesBoundedTime(t *testing.T) {
	t.Parallel()
	const words = "The quick brown fox. "
	texts := map[string]string{
		"words": strings.Repeat(words, 1<<20/21),
		"one":   strings.Repeat("a", 1<<20),
		"han":   strings.Repeat("吾輩は猫である。", 1<<20/24),
		"signs": strings.Repeat(".,-&", 1<<18),
		"marks": "a" + strings.Repeat("\u0301\u0323", 1<<18),
		"lines": strings.Repeat("a\n", 1<<19),
	}
	for _, kind := range []string{"rouge", "rouge L", "rouge Lsum", "bleu", "chrf", "gleu", "jaroWinkler", "tokenF1"} {
		o := overlapOf(kind, texts["words"], quoted(words+"吾輩は a"))
		if got := o.ends(t); !isScored(got) && kind != "jaroWinkler" {
			t.Errorf("%s: %s, want a value", kind, got.Reason)
		}
	}
	for _, kind := range []string{"rouge L", "chrf"} {
		ref := strings.ToValidUTF8(texts["words"][:200_000], "")
		overlapOf(kind, texts["words"], quoted(ref)).ends(t)
	}
	for _, kind := range []string{"rouge L", "bleu", "chrf"} {
		for _, name := range slices.Sorted(maps.Keys(texts)) {
			if got := overlapOf(kind, texts[name], quoted(words+"吾輩は a")).ends(t); !isScored(got) {
				t.Errorf("%s on %s: %s, want a value", kind, name, got.Reason)
			}
		}
	}
}

func TestOtherScorersOfMegabytesAreBounded(t *testing.T) {
	t.Parallel()
	words := answer(strings.Repeat("The quick brown fox. ", 1<<20/21))
	if got := score(t, "- exactMatch: x", words); got.Passed() {
		t.Errorf("got %v, want no pass", got.Reason)
	}
	got := score(t, "- chrf: {to: [a, b, c], min: 0}", words)
	expect.Contains(t, "unscored", got.Unscored(), "3 references; at most 699050 bytes")
}

// overlapOf compares an answer by a kind with its type, such as "rouge L".
func overlapOf(kind, text, ref string) overlap {
	name, options, typed := strings.Cut(kind, " ")
	if typed {
		options = ", type: " + options
	}
	return overlap{name, options, text, []string{ref}}
}

// ends scores an answer. What takes more than linear time shows as a test that does not end.
func (o overlap) ends(t *testing.T) eval.Score {
	t.Helper()
	c := compile(t, fmt.Sprintf("- {%s: {to: %s%s}, threshold: 0}", o.kind, o.refs[0], o.options))
	start := time.Now()
	got, err := c.Score(answer(o.answer))
	if err != nil {
		t.Errorf("%s: %v, want no error", o.kind, err)
	}
	t.Logf("%-12s %-12s: %6d ms %.60s", o.kind, o.options, time.Since(start).Milliseconds(), got.Reason)
	if !isScored(got) && !strings.Contains(got.Unscored(), "too ") {
		t.Errorf("%s: %s, want a value, or that it is too long", o.kind, got.Reason)
	}
	return got
}

// FuzzOverlap compares any answer with any reference: values stay in [0,1], a text is like itself, and the same
// answer scores the same.
func FuzzOverlap(f *testing.F) {
	for _, pair := range [][2]string{
		{"The cat sat.", "A cat sat on the mat."},
		{"", "x"},
		{"\xff\x00 a", "a\r\nb"},
		{"吾輩は猫", "猫"},
		{"e\u0301 שלום", "é"},
		{"- , .", "1-2.3,4"},
	} {
		f.Add(pair[0], pair[1])
	}
	f.Fuzz(func(t *testing.T, got, ref string) {
		if len(got)+len(ref) > 10_000 {
			return
		}
		ref = string([]rune(ref)) // as a suite has it
		for _, kind := range []string{
			"rouge: {to: %s}", "rouge: {to: %s, type: L}", "rouge: {to: %s, type: Lsum, definition: rouge-score, stem: true}", "bleu: {to: %s}",
			"bleu: {to: %s, tokenize: intl}", "bleu: {to: %s, tokenize: zh, smoothing: floor}", "chrf: {to: %s, wordOrder: 2}", "gleu: {to: %s}",
			"jaroWinkler: {to: %s}", "tokenF1: {to: %s}", "levenshtein: {to: %s}",
		} {
			entry := "- {" + fmt.Sprintf(kind, quoted(ref)) + ", threshold: 0}"
			if problemsOf(entry) != "" {
				return // no words, or nothing that YAML takes
			}
			c := compile(t, entry)
			if first, second := similarity(t, c, got), similarity(t, c, got); first != second {
				t.Errorf("%s on %q: got %[4]v, want %[3]v as before", entry, got, first, second)
			}
			if own := similarity(t, c, ref); own < 1-1e-9 && own != 0 {
				t.Errorf("%s on itself: %v, want 1 or 0", entry, own)
			}
		}
	})
}

// similarity is the value of an answer, from 0 to 1.
func similarity(t *testing.T, c *scorers.Compiled, text string) float64 {
	t.Helper()
	s, err := c.Score(answer(text))
	expect.OK(t, err)
	if !isScored(s) || !(valueOf(s) >= 0 && valueOf(s) <= 1) {
		t.Fatalf("on %q: %+v, want a value from 0 to 1", text, s)
	}
	return valueOf(s)
}
