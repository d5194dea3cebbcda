package scorers

import "strings"

// afterLetter returns the classes after an index, with the closing bracket of a letter in brackets.
func afterLetter(classes string, at int) string {
	if classes[at-1] == bracketedLetter {
		return ")" + classes[at:]
	}
	return classes[at:]
}

// endsWell reports whether the text after an affirmed letter leaves it affirmed.
func endsWell(tail string, surety int) bool {
	tail = closed.Regexp().ReplaceAllString(tail, "$1")
	tail = tail[len(ofQuestion.Regexp().FindString(tail)):]
	other := otherThan
	if surety > openingOnly {
		other = otherThanAny
	}
	if m := other.Regexp().FindString(tail); m != "" {
		return endsWell(tail[len(m):], surety)
	}
	switch {
	case tail == "" || reason.Matches(tail):
		return true
	case tail[0] == andWord:
		return surety > openingOnly && asideEndsWell(tail[1:], surety) && !vagueAddition.Matches(tail)
	case !isOf(tail[0], ',', ':', '-', '(', ')', butWord):
		return false
	}
	return asidesEndWell(tail, surety)
}

// asidesEndWell checks each part of the sentence after an affirmed letter.
func asidesEndWell(tail string, surety int) bool {
	for tail != "" {
		but := tail[0] == butWord
		part := tail[1:]
		if end := indexOf(part, ',', ':', '-', '(', butWord); end >= 0 {
			part = part[:end]
		}
		tail = tail[1+len(part):]
		part = strings.Trim(part, ")")
		switch {
		case part != "" && part[0] == becauseWord:
			return true
		case !asideEndsWell(part, surety), but && part != "" && !lettered(part) && !has(part, othersWord):
			return false
		}
	}
	return true
}

// asideEndsWell reports whether a part of a sentence, or the sentence after a bare letter, leaves the
// letter affirmed.
func asideEndsWell(part string, surety int) bool {
	switch {
	case part == "" || harmless.Matches(part):
		return true
	case lettered(part):
		return !hedgedLetter.Matches(part) &&
			(letterDenied.Matches(part) || surety > openingOnly && letterSaid.Matches(part))
	case surety > openingOnly:
		return !spoils.Matches(part)
	}
	return !spoils.Matches(part) && !spoilsOpening.Matches(part)
}

// unread reports whether a sentence continues after a letter with unknown words in a script without spaces.
// Japanese denies at the end of a sentence, so any unknown word may deny: 答えはBとは言えません. The text of an
// option, after a mark, and reasons cannot.
func (c clauses) unread(place int) bool {
	for _, l := range c.lexemes[place+1:] {
		switch {
		case l.cut:
			return true
		case isOf(l.class, '(', ')', ':', '-', becauseWord, asWord):
			return false
		}
	}
	return false
}
