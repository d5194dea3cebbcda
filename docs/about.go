package docs

import (
	"slices"
	"strings"
	"unicode"
)

// maxFound is how many pages About names.
const maxFound = 5

// elsewhere are pages about words that people look up and that pages do not dwell on.
var elsewhere = map[string][]string{
	"ci": {"github", "gitlab"}, "pipeline": {"github", "gitlab"}, "nightly": {"github", "gitlab", "history"},
	"threshold": {"gate", "scorers"}, "benchmark": {"best", "race"}, "regression": {"compare", "verdicts"}, "mock": {"emulator"},
}

// WithSection returns the first page with a section of that anchor, preferring reference pages; nil when there is none.
func WithSection(anchor string) *Page {
	pages := slices.Clone(Pages())
	slices.SortStableFunc(pages, func(a, b Page) int { return rank(a) - rank(b) })
	for _, p := range pages {
		if slices.Contains(p.Anchors()[1:], anchor) {
			return &p
		}
	}
	return nil
}

// rank orders pages for people who look something up.
func rank(p Page) int {
	return slices.Index([]string{"reference", "how-to", "explanation", "tutorial"}, p.Part)
}

// About names up to five pages about a word, or words: first the ones that have it in a heading, then by how often
// they have it. A word matches others that begin like it, as classify does classification.
func About(word string) (names []string) {
	wanted := words(word)
	if len(wanted) == 0 {
		return nil
	}
	if pages := elsewhere[strings.Join(wanted, " ")]; pages != nil {
		return pages
	}
	hits := map[string]int{}
	for _, p := range Pages() {
		n := count(words(p.Text), wanted)
		p.lines(func(line string, heading int) bool {
			if heading > 0 {
				n += 100 * count(words(line), wanted)
			}
			return true
		})
		if n > 0 {
			hits[p.Name] = n
			names = append(names, p.Name)
		}
	}
	slices.SortStableFunc(names, func(a, b string) int { return hits[b] - hits[a] })
	return names[:min(maxFound, len(names))]
}

// words returns the words of a text, in lower case.
func words(text string) []string {
	return strings.FieldsFunc(strings.ToLower(text), func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) })
}

// count is how often words follow each other in a text.
func count(text, wanted []string) (n int) {
	for i := range text[:max(0, len(text)-len(wanted)+1)] {
		if slices.EqualFunc(text[i:i+len(wanted)], wanted, alike) {
			n++
		}
	}
	return n
}

// fewestLetters are the letters that words have in common at least, when they are forms of one.
const fewestLetters = 5

// alike reports whether two words are one, or differ in their last letters.
func alike(a, b string) bool {
	n := 0
	for n < min(len(a), len(b)) && a[n] == b[n] {
		n++
	}
	return a == b || n >= fewestLetters && n >= min(len(a), len(b))-1
}
