package scorers

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/evalrun/evalrun/internal/testing/expect"
)

// phrasing is an answer and what is to be read in it.
type letterPhrasing struct {
	text, want, kind, language string
	line                       int
}

// phrasings reads a file with sections "## LANGUAGE KIND WANT".
func letterPhrasings(t testing.TB, name string) (out []letterPhrasing) {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	var now letterPhrasing
	for i, line := range strings.Split(string(data), "\n") {
		switch {
		case strings.HasPrefix(line, "## "):
			if _, err := fmt.Sscanf(line, "## %s %s %s", &now.language, &now.kind, &now.want); err != nil {
				t.Fatalf("%s:%d: %v, want no error", name, i+1, err)
			}
		case line != "" && !strings.HasPrefix(line, "# "):
			now.text, now.line = strings.ReplaceAll(line, `\n`, "\n"), i+1
			out = append(out, now)
		}
	}
	return out
}

// figures are how phrasings were read. A false reading names a letter that is not to be named.
type letterFigures struct{ Plain, Read, Adversarial, False int }

func measuredLetters(t *testing.T, name string) map[string]letterFigures {
	out := map[string]letterFigures{}
	for _, p := range letterPhrasings(t, name) {
		labels, how := Named(p.text, []string{"A", "B", "C", "D"})
		got := strings.Join(labels, "")
		right := got == p.want
		f := out[p.language]
		switch p.kind {
		case "plain":
			f.Plain++
			if right {
				f.Read++
			} else {
				t.Logf("%s:%d: %q: read %q, not %s", name, p.line, p.text, got, p.want)
			}
		default:
			f.Adversarial++
			if how != "" && len(labels) == 1 && !right {
				f.False++
				t.Errorf("%s:%d: %q: got %q, want the right letter or none", name, p.line, p.text, got)
			}
		}
		out[p.language] = f
	}
	return out
}

// TestPhrasingsAreReadAsTheDocsSay holds the figures that docs/reference/scorers.md gives.
func TestPhrasingsAreReadAsTheDocsSay(t *testing.T) {
	t.Parallel()
	expect.Same(t, "development.txt", measuredLetters(t, "development.txt"), map[string]letterFigures{
		"en": {Plain: 1015, Read: 1011, Adversarial: 2698},
		"de": {Plain: 243, Read: 241, Adversarial: 525},
		"fr": {Plain: 210, Read: 210, Adversarial: 464},
		"es": {Plain: 203, Read: 203, Adversarial: 438},
		"ja": {Plain: 9, Read: 8, Adversarial: 27},
		"zh": {Plain: 3, Read: 3, Adversarial: 7},
		"ko": {Plain: 1, Read: 1, Adversarial: 3},
	})
	expect.Same(t, "holdout.txt", measuredLetters(t, "holdout.txt"), map[string]letterFigures{
		"en": {Plain: 50, Read: 50, Adversarial: 109},
		"de": {Plain: 7, Read: 7, Adversarial: 21},
		"fr": {Plain: 6, Read: 6, Adversarial: 21},
		"es": {Plain: 6, Read: 6, Adversarial: 21},
	})
}

// TestLimitsOfTheDocsAreMeasured holds the sentence of the documentation to what is measured.
func TestLimitsOfTheDocsAreMeasured(t *testing.T) {
	t.Parallel()
	unseen, all := measuredLetters(t, "holdout.txt"), 0
	for _, f := range measuredLetters(t, "development.txt") {
		all += f.Plain + f.Adversarial
	}
	var sum letterFigures
	for _, f := range unseen {
		sum = letterFigures{sum.Plain + f.Plain, sum.Read + f.Read, sum.Adversarial + f.Adversarial, sum.False + f.False}
	}
	en, de, fr, es := unseen["en"], unseen["de"], unseen["fr"], unseen["es"]
	for _, want := range []string{
		fmt.Sprintf("%d of %d plain answers (English %d, German %d, French %d, Spanish %d)",
			sum.Read, sum.Plain, en.Read, de.Read, fr.Read, es.Read),
		fmt.Sprintf("%d of %d adversarial ones (%d, %d, %d, %d)",
			sum.False, sum.Adversarial, en.Adversarial, de.Adversarial, fr.Adversarial, es.Adversarial),
		fmt.Sprintf("%d,%03d phrasings", all/1000, all%1000),
	} {
		if !strings.Contains(LetterLimits, want) {
			t.Errorf("got no %q in the documentation, want it", want)
		}
	}
}
