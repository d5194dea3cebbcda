package textmetric

import "strings"

// porter returns the stem of a lower-case English word, with the extensions of NLTK's PorterStemmer, which
// rouge-score uses.
func porter(w string) string {
	if stem := irregular(w); stem != "" {
		return stem
	}
	if len(w) <= 2 {
		return w
	}
	w = porter1a(w)
	w = porter1b(w)
	w = porter1c(w)
	w = porter2(w)
	w = porter3(w)
	w = porter4(w)
	return porter5(w)
}

// irregular returns the stem of a word for which the rules fail.
func irregular(w string) string {
	switch w {
	case "sky", "skies":
		return "sky"
	case "dying", "lying", "tying":
		return w[:1] + "ie"
	case "innings", "outings", "cannings":
		return w[:len(w)-1]
	case "news", "inning", "outing", "canning", "howe", "proceed", "exceed", "succeed":
		return w
	}
	return ""
}

// replaced applies the first rule whose ending the word has, if the measure of the rest is above a bound.
func replaced(w string, above int, rules [][2]string) string {
	for _, r := range rules {
		if stem, ok := strings.CutSuffix(w, r[0]); ok {
			if measure(stem) > above {
				return stem + r[1]
			}
			return w
		}
	}
	return w
}

func porter1a(w string) string {
	switch {
	case strings.HasSuffix(w, "ies") && len(w) == 4:
		return w[:3]
	case strings.HasSuffix(w, "sses"), strings.HasSuffix(w, "ies"):
		return w[:len(w)-2]
	case strings.HasSuffix(w, "ss"):
		return w
	}
	return strings.TrimSuffix(w, "s")
}

func porter1b(w string) string {
	if stem, ok := strings.CutSuffix(w, "ied"); ok {
		if len(w) == 4 {
			return stem + "ie"
		}
		return stem + "i"
	}
	if stem, ok := strings.CutSuffix(w, "eed"); ok {
		if measure(stem) > 0 {
			return stem + "ee"
		}
		return w
	}
	for _, end := range []string{"ed", "ing"} {
		if stem, ok := strings.CutSuffix(w, end); ok && hasVowel(stem) {
			return completed(stem)
		}
	}
	return w
}

// completed adds the ending of the verb to a stem without "ed" or "ing": "hopp" becomes "hop", "fil"
// becomes "file".
func completed(stem string) string {
	last := len(stem) - 1
	switch {
	case strings.HasSuffix(stem, "at"), strings.HasSuffix(stem, "bl"), strings.HasSuffix(stem, "iz"):
		return stem + "e"
	case last > 0 && stem[last] == stem[last-1] && consonant(stem, last):
		if strings.IndexByte("lsz", stem[last]) >= 0 {
			return stem
		}
		return stem[:last]
	case measure(stem) == 1 && endsCVC(stem):
		return stem + "e"
	}
	return stem
}

func porter1c(w string) string {
	if stem, ok := strings.CutSuffix(w, "y"); ok && len(stem) > 1 && consonant(stem, len(stem)-1) {
		return stem + "i"
	}
	return w
}

func porter5(w string) string {
	if stem, ok := strings.CutSuffix(w, "e"); ok && (measure(stem) > 1 || measure(stem) == 1 && !endsCVC(stem)) {
		w = stem
	}
	if strings.HasSuffix(w, "ll") && measure(w[:len(w)-1]) > 1 {
		w = w[:len(w)-1]
	}
	return w
}

func porter2(w string) string {
	rules := [...][2]string{
		{"ational", "ate"},
		{"tional", "tion"},
		{"enci", "ence"},
		{"anci", "ance"},
		{"izer", "ize"},
		{"bli", "ble"},
		{"alli", "al"},
		{"entli", "ent"},
		{"eli", "e"},
		{"ousli", "ous"},
		{"ization", "ize"},
		{"ation", "ate"},
		{"ator", "ate"},
		{"alism", "al"},
		{"iveness", "ive"},
		{"fulness", "ful"},
		{"ousness", "ous"},
		{"aliti", "al"},
		{"iviti", "ive"},
		{"biliti", "ble"},
		{"fulli", "ful"},
	}
	if stem, ok := strings.CutSuffix(w, "alli"); ok && measure(stem) > 0 {
		return porter2(stem + "al")
	}
	if next := replaced(w, 0, rules[:]); next != w {
		return next
	}
	if strings.HasSuffix(w, "logi") && measure(w[:len(w)-3]) > 0 {
		return w[:len(w)-1]
	}
	return w
}

func porter3(w string) string {
	return replaced(w, 0, [][2]string{
		{"icate", "ic"}, {"ative", ""}, {"alize", "al"}, {"iciti", "ic"}, {"ical", "ic"}, {"ful", ""}, {"ness", ""},
	})
}

func porter4(w string) string {
	for _, end := range [...]string{
		"al", "ance", "ence", "er", "ic", "able", "ible", "ant", "ement", "ment", "ent", "ion", "ou", "ism", "ate", "iti",
		"ous", "ive", "ize",
	} {
		stem, ok := strings.CutSuffix(w, end)
		if !ok {
			continue
		}
		if measure(stem) > 1 && (end != "ion" || strings.HasSuffix(stem, "s") || strings.HasSuffix(stem, "t")) {
			return stem
		}
		return w
	}
	return w
}

func consonant(w string, i int) bool {
	if strings.IndexByte("aeiou", w[i]) >= 0 {
		return false
	}
	// A y is a consonant at the beginning and after a vowel, so the letters of a row of y alternate.
	vowel := false
	for ; w[i] == 'y' && i > 0; i-- {
		vowel = !vowel
	}
	return vowel != (w[i] == 'y' || strings.IndexByte("aeiou", w[i]) < 0)
}

// measure counts the changes from vowels to consonants, which Porter calls m.
func measure(w string) int {
	n, vowel := 0, false
	for i := range len(w) {
		now := strings.IndexByte("aeiou", w[i]) >= 0 || w[i] == 'y' && i > 0 && !vowel
		if vowel && !now {
			n++
		}
		vowel = now
	}
	return n
}

func hasVowel(w string) bool {
	for i := range len(w) {
		if !consonant(w, i) {
			return true
		}
	}
	return false
}

func endsCVC(w string) bool {
	n := len(w)
	if n == 2 {
		return !consonant(w, 0) && consonant(w, 1)
	}
	return n >= 3 && consonant(w, n-3) && !consonant(w, n-2) && consonant(w, n-1) && strings.IndexByte("wxy", w[n-1]) < 0
}
