package docs

import (
	"cmp"
	"math"
	"slices"
	"strings"
	"sync"
	"unicode"
)

// maxFound is how many pages About names, and asWritten what a page gets for the words as they were written.
const (
	maxFound  = 6
	asWritten = 0.7
)

// Synonyms are what pages say instead of words that people look up, by stem.
var Synonyms = map[string]string{
	"ab": "compare prompts", "autocomplet": "editors complete", "benchmark": "rank", "cancel": "interrupted", "ci": "github gitlab",
	"concurrenc": "running progress", "confidential": "content", "dock": "install", "excel": "csv spreadsheets",
	"convers": "chat turns", //nolint:misspell // a stem
	"flak":    "repeats quarantine", "mock": "emulator", "nightl": "history github", "offlin": "record replay emulator",
	"pipelin": "github gitlab", "pr": "pull", "privac": "publish content", "python": "program", "regression": "baseline",
	"rubric": "judge criteria", "sampl": "power statistics", "shar": "publish", "significanc": "verdicts intervals",
	"statistical": "statistics", "temperatur": "generation config sampling", "threshold": "gate",
	"timeout": "limits retries", "vscod": "editors",
}

// unsaid are words of a question that say nothing about a page.
var unsaid = map[string]bool{
	"a": true, "an": true, "and": true, "as": true, "can": true, "do": true, "for": true, "from": true, "how": true, "i": true, "in": true,
	"is": true, "it": true, "my": true, "of": true, "on": true, "or": true, "the": true, "to": true, "use": true, "what": true, "with": true,
}

// stems counts the words of a page by stem, each place by its weight.
type stems map[string]float64

// Weights of a word in a title or name, and in a heading; in a text it is 1.
const (
	inTitle   = 40
	inHeading = 10
)

var indexed = sync.OnceValue(func() []stems {
	var out []stems
	for _, p := range Pages() {
		all := stems{}
		for _, w := range words(p.Name) {
			all[stem(w)] += inTitle
		}
		title := true
		p.lines(func(line string, heading int) bool {
			weight := 1.0
			if heading > 0 {
				weight = inHeading
			}
			if title {
				weight, title = inTitle, false
			}
			for _, w := range words(line) {
				all[stem(w)] += weight
			}
			return true
		})
		out = append(out, all)
	}
	return out
})

// About finds up to six pages about words: those that have most of the words, and have them in titles, headings, or often.
// Other forms of a word count, as in classify and classification.
func About(text string) (found []Page) {
	pages, score := Pages(), map[string]float64{}
	for _, w := range words(text) {
		if s := stem(w); !unsaid[w] {
			best := map[string]float64{}
			for i, other := range append([]string{s}, words(Synonyms[s])...) {
				for name, value := range about(stem(other)) {
					best[name] = max(best[name], value/float64(1+min(i, 1)))
				}
			}
			for name, value := range best {
				score[name] += value
			}
		}
	}
	for _, p := range pages {
		if strings.Contains(strings.ToLower(p.Text), strings.ToLower(text)) {
			score[p.Name] += asWritten
		}
		if score[p.Name] > 0 {
			found = append(found, p)
		}
	}
	slices.SortStableFunc(found, func(a, b Page) int { return cmp.Compare(score[b.Name], score[a.Name]) })
	return found[:min(maxFound, len(found))]
}

// about scores the pages with a stem: rare words count more, and many in a page hardly more than some (as in BM25).
func about(s string) map[string]float64 {
	const some = 12
	out := map[string]float64{}
	for i, p := range Pages() {
		if n := indexed()[i][s]; n > 0 {
			out[p.Name] = n / (n + some)
		}
	}
	rare := math.Log(1 + float64(len(Pages()))/float64(1+len(out)))
	for name := range out {
		out[name] *= rare
	}
	return out
}

// words returns the words of a text in lower case, also those of names such as toolCalls.
func words(text string) (out []string) {
	for _, w := range strings.FieldsFunc(text, func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) }) {
		begin := 0
		for i, r := range w {
			if i > 0 && unicode.IsUpper(r) && unicode.IsLower(rune(w[i-1])) {
				out, begin = append(out, strings.ToLower(w[begin:i])), i
			}
		}
		out = append(out, strings.ToLower(w[begin:]))
	}
	return out
}

// endings are those of other forms of a word, longest first.
var endings = []string{"ications", "ication", "ations", "ation", "ings", "ing", "ies", "ied", "ers", "er", "ed", "es", "s", "y", "e"}

func stem(word string) string {
	for _, ending := range endings {
		if s, ok := strings.CutSuffix(word, ending); ok && len(s) > 2 {
			return s
		}
	}
	return word
}
