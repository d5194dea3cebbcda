package scorers

import (
	_ "embed"
	"slices"
	"strings"
	"sync"

	"github.com/evalrun/evalrun/internal/textmetric"
)

// wordList says which words and phrases have which class.
//
//go:embed words.txt
var wordList string

type classed struct {
	words []string
	class byte
}

// classedPhrases are the phrases of words.txt by their first word, the longest first.
var classedPhrases = sync.OnceValue(func() map[string][]classed {
	byFirst := map[string][]classed{}
	for line := range strings.Lines(wordList) {
		head, list, ok := strings.Cut(strings.TrimSpace(line), ": ")
		if !ok || strings.HasPrefix(line, "#") {
			continue
		}
		for text := range strings.SplitSeq(list, ", ") {
			words := wordsOf(text)
			byFirst[words[0]] = append(byFirst[words[0]], classed{words, head[0]})
		}
	}
	for _, phrases := range byFirst {
		slices.SortStableFunc(phrases, func(a, b classed) int { return len(b.words) - len(a.words) })
	}
	return byFirst
})

// wordsOf splits a phrase in the same way as a text: it's becomes two words. Parts of contractions are
// words too: n't, 's, l'.
func wordsOf(phrase string) (words []string) {
	for word := range strings.FieldsSeq(textmetric.FoldCase(phrase)) {
		if strings.HasPrefix(word, "'") || strings.HasSuffix(word, "'") || word == "n't" {
			words = append(words, word)
		} else {
			words = append(words, contracted(word)...)
		}
	}
	return words
}
