package scorers

// clauses reads the clauses of a sentence.
type clauses struct {
	sentence
	classes       string
	after         string // the rest of its line
	repeats       bool   // the text repeats the options
	afterQuestion bool   // the previous sentence is a question
}

// startsAt reports whether a clause may begin at this index.
func (c clauses) startsAt(at int) bool {
	return at == 0 ||
		isOf(c.classes[at-1], ',', ':', '-', '(', butWord, andWord) ||
		isOf(c.classes[at], butWord, andWord)
}

// read returns the index of the letter that the clause at this index affirms, and how surely; 0 if it
// affirms none.
func (c clauses) read(at int) (place, surety int) {
	next := c.classes[at:min(len(c.classes), at+maxClause)]
	if !lettered(next) || at > 0 && !correction.Matches(next) && hindered(c.classes[:at], next[0]) {
		return 0, 0
	}
	for _, f := range clauseForms {
		m := f.clause.Regexp().FindStringSubmatchIndex(c.classes[at:])
		if m == nil || f.reasoned && (at == 0 || c.classes[0] != becauseWord) {
			continue
		}
		if surety := f.suretyOf(c.classes[at:at+m[1]], afterLetter(c.classes, at+m[1])); surety > 0 {
			return at + matchedGroup(m), surety
		}
	}
	return c.bare(at)
}

// maxClause bounds the distance from the beginning of a clause to its letter, in classes.
const maxClause = 40

// groupOf returns the beginning of the first group that matched, or of the whole match.
func matchedGroup(m []int) int {
	for i := 2; i < len(m); i += 2 {
		if m[i] >= 0 {
			return m[i]
		}
	}
	return m[0]
}

// suretyOf returns how surely a clause of this form affirms its letter; 0 if the rest of the sentence takes
// it back.
func (f clauseForm) suretyOf(clause, rest string) int {
	surety := f.surety
	if has(clause, finalWord) {
		surety = final
	}
	if has(clause, wouldBeWord) && !onlyReasons.Matches(rest) {
		return 0 // B would be correct, were it not ...
	}
	if !endsWell(rest, surety) {
		return 0
	}
	return surety
}

// hindered reports an introduction after which a clause affirms nothing: if ..., he says: ...
func hindered(intro string, next byte) bool {
	const quotation = '"'
	switch {
	case next == soWord && reported.Matches(intro), next == butWord && lettered(intro): // he says that ..., so the answer is B
		return has(intro, ifWord, quotation)
	case next == thatWord:
		return !allOf(intro, soWord, thinkWord, butWord, andWord, waitWord, ',')
	case has(intro, ifWord, saysWord, quotation):
		return true
	case lettered(intro):
		return false
	case endsWith(intro, ':', '-'):
		return has(intro, notWord, wrongWord, rejectWord, insteadWord, exceptWord, maybeWord)
	case has(intro, maybeWord, openWord):
		return true
	}
	return !isOf(next, butWord, soWord) && deniedIntro.Matches(intro)
}

// bare reads a letter that is the whole clause, or that the text of its option follows.
func (c clauses) bare(at int) (place, surety int) {
	m := bareLetter.Regexp().FindStringSubmatchIndex(c.classes[at:])
	if m == nil || !endsWell(afterLetter(c.classes, at+m[1]), openingOnly) {
		return 0, 0
	}
	announced, contrasted := has(c.classes[at+m[2]:at+m[3]], soWord, thinkWord, waitWord), m[5] > m[4]
	if at > 0 {
		return at + m[6], c.within(at, at+m[1], announced, contrasted)
	}
	return m[6], c.opening(m[1], announced)
}

// within returns how surely a bare letter is affirmed after other parts of its sentence: it isn't A but B;
// A is wrong, so B.
func (c clauses) within(at, end int, announced, contrasted bool) int {
	intro := c.classes[:at]
	switch {
	case lettered(intro) && !letterDenied.Matches(intro) && !has(c.classes[:end], waitWord):
		return 0
	case contrasted && has(intro, notWord), end == len(c.classes) && intro[0] == becauseWord:
		return stated
	case announced:
		return openingOnly
	}
	return 0
}

// opening returns how surely a bare letter is affirmed at the beginning of a sentence.
func (c clauses) opening(end int, announced bool) int {
	whole := end == len(c.classes)
	switch {
	case !announced && !c.opens && !whole && !c.afterQuestion:
		return 0
	case !announced && c.repeats && (!whole || !c.ends):
		return 0
	case whole && c.after != "" && !asideEndsWell(c.after, openingOnly):
		return 0
	case whole && c.ends:
		return stated
	}
	return openingOnly
}
