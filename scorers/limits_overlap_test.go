//go:build unix

package scorers_test

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/evalrun/evalrun/scorers"
)

func overlapLimits() []limit {
	return []limit{
		{[]string{"levenshtein"}, levenshteinFigures},
		{[]string{"jaroWinkler"}, jaroFigures},
		{[]string{"rouge"}, rougeFigures},
		{[]string{"bleu", "chrf"}, sacreFigures},
		{[]string{"bleu"}, nltkFigures},
		{[]string{"gleu"}, gleuFigures},
		{[]string{"tokenF1", "exactMatch"}, squadFigures},
		{[]string{"rouge", "bleu", "chrf", "gleu", "tokenF1"}, meaning},
	}
}

// comes reports whether the value of an entry is a reference value.
func comes(t *testing.T, entry, text string, want, tolerance float64) bool {
	t.Helper()
	if strings.Contains(problemsOf(entry), "an empty text") { // which shares nothing
		return want == 0
	}
	s := score(t, entry, answer(text))
	return isScored(s) && math.Abs(valueOf(s)-want) <= tolerance
}

type editCase struct {
	A, B                           string
	Distance                       int
	Similarity, Ratio, JaroWinkler float64
}

// editCases are those of an answer with a text: an empty one fails whatever the distance.
func editCases(t *testing.T) (out []editCase) {
	for _, c := range vectors[editCase](t, "edit_distance.json") {
		if c.A != "" && c.B != "" {
			out = append(out, c)
		}
	}
	return out
}

func levenshteinFigures(t *testing.T) string {
	var n tally
	for _, c := range editCases(t) {
		at := "- levenshtein: {normalize: none, to: " + quoted(c.B)
		n.add(passes(t, fmt.Sprintf("%s, max: %d}", at, c.Distance), c.A) && comes(t, at+", max: 9}", c.A, c.Similarity, 1e-12))
		n.add(comes(t, at+", ratio: 0, definition: indel}", c.A, c.Ratio, 1e-12))
	}
	return fmt.Sprintf("It agrees with python-Levenshtein and NLTK on %s values. An answer of more than %s characters is not compared: it "+
		"fails where its length alone is too far off, and is unscored otherwise. It counts spelling, not meaning: `not` is 3 away from "+
		"nothing, and 1 from `now`.", n, grouped(scorers.MaxEdit))
}

func jaroFigures(t *testing.T) string {
	var n tally
	for _, c := range editCases(t) {
		n.add(comes(t, "- jaroWinkler: {normalize: none, min: 0, to: "+quoted(c.B)+"}", c.A, c.JaroWinkler, 1e-12))
	}
	var names tally
	for _, c := range editCases(t) {
		names.add(c.Distance > 1 && c.JaroWinkler >= 0.9)
	}
	return fmt.Sprintf("It agrees with jellyfish on %s values. Beginnings count most, so that unlike texts come near: %d of the %d pairs "+
		"reach 0.9 with more than one edit between them. An answer of more than %s characters fails where its length says so, and is unscored "+
		"otherwise.", n, names.right, names.all, grouped(scorers.MaxEdit))
}

func rougeFigures(t *testing.T) string {
	var n tally
	eachROUGE(t, func(metric string, stem bool, hypothesis, reference string, expect map[string]float64, tolerance float64) {
		for measure, short := range map[string]string{"f": "f", "precision": "p", "recall": "r"} {
			entry := fmt.Sprintf("- rouge: {to: %s, min: 0, definition: rouge-score, type: %s, stem: %v, measure: %s}",
				quoted(reference), strings.TrimPrefix(metric, "rouge"), stem, measure)
			n.add(comes(t, entry, hypothesis, expect[short], tolerance))
		}
	})
	return fmt.Sprintf("With `definition: rouge-score` it agrees with rouge-score on %s values.", n)
}

func sacreFigures(t *testing.T) string {
	var n tally
	for _, c := range vectors[overlapCase](t, "sacrebleu_sentence.json") {
		for setting, want := range c.BLEU {
			options := strings.NewReplacer("tok=", "tokenize: ", ",smooth=", ", smoothing: ", "floor0.1", "floor", "add-k1", "add-k",
				",eff=True", ", effectiveOrder: true", ",eff=False", ", effectiveOrder: false").Replace(setting)
			n.add(comes(t, "- bleu: {min: 0, to: "+quotedList(c.References)+", "+options+"}", c.Hypothesis, want/100, 1e-12))
		}
		for setting, want := range c.ChrF {
			options := strings.NewReplacer("char=", "charOrder: ", "word=", "wordOrder: ", "beta=", "beta: ",
				"eps=", "epsSmoothing: ", "ws=", "whitespace: ", "lc=", "lowercase: ", ",", ", ").Replace(setting)
			n.add(comes(t, "- chrf: {min: 0, to: "+quotedList(c.References)+", "+options+"}", c.Hypothesis, want/100, 1e-12))
		}
	}
	return fmt.Sprintf("`bleu` and `chrf` agree with sacreBLEU on %s values.", n)
}

func nltkFigures(t *testing.T) string {
	var n tally
	for _, c := range vectors[nltkCase](t, "nltk_translate.json") {
		for _, method := range []int{0, 1, 2, 3, 4, 5, 7} {
			entry := fmt.Sprintf("- bleu: {min: 0, definition: nltk, smoothing: method%d, to: %s}", method, quotedList(c.references()))
			n.add(comes(t, entry, strings.Join(c.Answer, " "), min(1, c.Expect[fmt.Sprintf("bleu4_method%d", method)]), 1e-12))
		}
	}
	return fmt.Sprintf("With `definition: nltk` it agrees with NLTK on %s values.", n)
}

func gleuFigures(t *testing.T) string {
	var n tally
	for _, c := range vectors[nltkCase](t, "nltk_translate.json") {
		for order, key := range map[int]string{4: "gleu_1_4", 2: "gleu_1_2"} {
			entry := fmt.Sprintf("- gleu: {min: 0, maxOrder: %d, to: %s}", order, quotedList(c.references()))
			n.add(comes(t, entry, strings.Join(c.Answer, " "), c.Expect[key], 1e-12))
		}
	}
	return fmt.Sprintf("It agrees with NLTK on %s values.", n)
}

func squadFigures(t *testing.T) string {
	var n tally
	for _, c := range vectors[struct {
		Gold, Answer string
		F1           float64
		Exact        bool
	}](t, "squad.json") {
		n.add(comes(t, "- tokenF1: {min: 0, to: "+quoted(c.Gold)+"}", c.Answer, c.F1, 1e-12))
		n.add(passes(t, "- exactMatch: "+quoted(c.Gold), c.Answer) == c.Exact)
	}
	var same tally
	for _, pair := range [][2]string{
		{"der Turm", "Turm"},
		{"la tour", "tour"},
		{"el perro", "perro"},
		{"Paris。", "Paris"},
		{"«oui»", "oui"},
		{"l'eau", "eau"},
		{"the tower", "tower"},
		{"\"yes\"", "yes"},
		{"An apple.", "apple"},
	} {
		same.add(passes(t, "- exactMatch: "+quoted(pair[1]), pair[0]))
	}
	return fmt.Sprintf("`tokenF1` and `exactMatch` agree with SQuAD's script on %s values. Articles and punctuation are those of English: of "+
		"%d pairs that differ in no more, in five languages, %d match. What is nothing but articles and punctuation (`A`) matches anything "+
		"of that sort (`the`).", n, same.all, same.right)
}

// meaning measures what shared words say of meaning: answers that say the opposite in the same words, and the same in others.
func meaning(t *testing.T) string {
	opposite := [][2]string{
		{"The bridge was closed at dawn.", "The bridge was not closed at dawn."},
		{"The dog bit the man.", "The man bit the dog."},
		{"Sales rose by 5 percent in May.", "Sales fell by 5 percent in May."},
		{"The test was positive for both patients.", "The test was negative for both patients."},
		{"You may take this with milk.", "You may never take this with milk."},
		{"The meeting is on Monday at nine.", "The meeting is on Tuesday at nine."},
	}
	same := [][2]string{
		{"The bridge was closed at dawn.", "They shut the crossing at daybreak."},
		{"Sales rose by 5 percent in May.", "May saw revenue go up a twentieth."},
		{"You may take this with milk.", "Milk does no harm when swallowing it."},
		{"The meeting is on Monday at nine.", "We meet at 9 a.m. on the first day of the week."},
	}
	var wrong, missed tally
	for _, pair := range opposite {
		wrong.add(passes(t, "- rouge: {type: L, min: 0.7, to: "+quoted(pair[0])+"}", pair[1]))
	}
	for _, pair := range same {
		missed.add(!passes(t, "- rouge: {type: L, min: 0.7, to: "+quoted(pair[0])+"}", pair[1]))
	}
	return fmt.Sprintf("Shared words are not meaning. %s sentences that say the opposite in nearly the same words "+
		"reach a ROUGE-L of 0.7. Of sentences that say the same in other words, %s do not reach it.\nAn answer times "+
		"its references may have %s bytes, and the references %s; beyond that it is unscored.",
		wrong, missed, grouped(scorers.MaxCompared), grouped(scorers.MaxReferences))
}
