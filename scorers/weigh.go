// Finds out which letter of a multiple-choice question an answer chooses. Limits says how well.

package scorers

import (
	"fmt"
	"maps"
	"slices"
)

// LetterLimits describes for the documentation how well Named reads. A test checks its figures.
const LetterLimits = "It was measured on phrasings that were written before they were tried, and then left alone. It read " +
	"69 of 69 plain answers (English 50, German 7, French 6, Spanish 6) and took a letter wrongly in 0 of 172 " +
	"adversarial ones (109, 21, 21, 21). Of the five harder lists before that one, it first read 916 of 974 plain " +
	"answers and took a letter wrongly in 33 of 2,747. Most were answers that a later remark takes back in unusual " +
	"words. Those lists are now part of the 5,846 phrasings that the tests hold. Other languages have only the " +
	"words for `answer`, `is` and `not`."

// maxMentions bounds the letters that are read. A text with more of them chooses none.
const maxMentions = 1000

// Named returns the letters that a text chooses and the way in which it does so: "" if it clearly chooses
// none.
func Named(text string, of []string) (choices []string, how string) {
	marks, letters := marksOf(unquotedLetter(plainText(answerMember(text))), of)
	if letters > maxMentions {
		return []string{fmt.Sprintf("%d letters", maxMentions), "more"}, "standing alone"
	}
	chosen, surety := weigh(statementsOf(sentencesOf(marks)))
	for _, i := range chosen {
		choices = append(choices, of[i])
	}
	return choices, [...]string{"", "the answer opens with it", "said to be the answer", "said to be the final answer"}[surety]
}

// weigh returns the letter that is affirmed and not denied. It returns several if they are affirmed
// equally.
func weigh(said []statement) (chosen []int, surety int) {
	w := weights{}
	for _, s := range said {
		w.count(s)
	}
	for surety = final; surety > 0; surety-- {
		if chosen = slices.Sorted(maps.Keys(w.affirmed[surety])); len(chosen) > 0 {
			break
		}
	}
	if len(chosen) == 1 && w.against(chosen[0], surety) {
		return nil, 0
	}
	return chosen, surety
}

// weights counts statements for and against letters.
type weights struct {
	affirmed        [final + 1]map[int]bool
	denied, doubted map[int]bool
	opened          map[int]bool // left open after a letter was affirmed
	corrected       bool
}

func (w *weights) count(s statement) {
	switch s.kind {
	case takesBack:
		*w = weights{}
	case corrects:
		w.corrected = true
	case affirms:
		w.affirm(s)
	case denies:
		if s.weakly {
			note(&w.doubted, s.choices)
		} else {
			note(&w.denied, s.choices)
		}
	case leaves:
		note(&w.opened, s.choices)
	}
}

// affirm counts an affirmed letter. A correction and the first final answer discard earlier affirmed
// letters, but not denied ones.
func (w *weights) affirm(s statement) {
	if w.corrected || (s.surety == final && len(w.affirmed[final]) == 0) {
		denied := w.denied
		*w = weights{denied: denied}
	}
	w.opened = nil
	note(&w.affirmed[s.surety], s.choices)
}

// against reports whether any statement speaks against the only affirmed letter.
func (w *weights) against(choice, surety int) bool {
	if w.denied[choice] || surety == openingOnly && w.doubted[choice] {
		return true
	}
	for other := range w.opened {
		if other != choice {
			return true
		}
	}
	return false
}

func note(set *map[int]bool, choices []int) {
	if *set == nil {
		*set = map[int]bool{}
	}
	for _, l := range choices {
		(*set)[l] = true
	}
}
