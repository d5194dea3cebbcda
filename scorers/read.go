package scorers

import "slices"

// A choice is read in four steps. Marks become sentences of lexemes. A sentence affirms a letter if one of
// its clauses has a known form and no unknown word. It denies the other letters that it mentions, or leaves
// them open. The choice is the only letter that is affirmed.

// statement is what a sentence says about letters, or about an earlier statement.
type statement struct {
	kind    byte
	choices []int // several if they are joined: B or C
	surety  int   // of an affirmed letter
	weakly  bool  // denied by a word that may be about something else
	at      int   // position in its sentence
}

// Kinds of statements.
const (
	affirms   = 'a'
	denies    = 'd'
	leaves    = 'l' // a letter open
	takesBack = 't' // an earlier statement
	corrects  = 'c' // what was affirmed before, by what is affirmed next
)

// reading reads the sentences of a text one after the other.
type reading struct {
	said          []statement
	repeats       bool // the text repeats the options
	afterQuestion bool // the previous sentence is a question
	affirmed      bool // an earlier sentence affirmed a letter
	// elsewhere says that another letter was mentioned since, so that "that is wrong" may be about that
	// one.
	elsewhere bool
}

func statementsOf(sentences []sentence) []statement {
	r := &reading{repeats: repeatsOptions(sentences)}
	for i, s := range sentences {
		after := ""
		if i+1 < len(sentences) && !s.ends {
			after = sentences[i+1].normal().classes()
		}
		if r.affirmed && r.takesBack(s) {
			r.add(statement{kind: takesBack})
		}
		if !s.question {
			r.sentence(s.normal(), after)
		}
		r.afterQuestion = s.question
	}
	return r.said
}

// repeatsOptions reports whether lines begin with different letters.
func repeatsOptions(sentences []sentence) bool {
	seen := map[int]bool{}
	for _, s := range sentences {
		if !s.opens {
			continue
		}
		classes := s.classes()
		if !s.ends {
			classes += "." // of B. Lyon
		}
		if m := listItem.Regexp().FindStringSubmatchIndex(classes); m != nil {
			seen[s.lexemes[matchedGroup(m)].choices[0]] = true
		}
	}
	return len(seen) > 1
}

func (r *reading) add(one statement) {
	r.said = append(r.said, one)
	r.affirmed = r.affirmed || one.kind == affirms
}

// sentence adds the statements of a sentence. after is the rest of its line.
func (r *reading) sentence(s sentence, after string) {
	classes := s.classes()
	if !lettered(classes) {
		return
	}
	first := len(r.said)
	c := clauses{sentence: s, classes: classes, after: after, repeats: r.repeats, afterQuestion: r.afterQuestion}
	used := r.affirm(c)
	if !has(classes, ifWord) {
		r.deny(s, classes, used)
	}
	r.elsewhere = len(used) == 0
	slices.SortStableFunc(r.said[first:], func(a, b statement) int { return a.at - b.at })
}

// takesBack reports whether a sentence takes back the statement before it.
func (r *reading) takesBack(s sentence) bool {
	classes := s.normal().classes()
	switch {
	case s.question:
		return counterQuestion.Matches(classes)
	case r.afterQuestion:
		return false // answers the question
	case saidNo.Matches(s.classes()),
		fragment.Matches(classes),
		justNo.Matches(classes),
		correcting.Matches(classes):
		return true
	}
	return !r.elsewhere && notIt.Matches(classes)
}

// affirm adds the letters that a sentence affirms and returns the indexes of their lexemes.
func (r *reading) affirm(c clauses) (used []int) {
	for at := range c.classes {
		if !c.startsAt(at) {
			continue
		}
		place, surety := c.read(at)
		if surety == 0 || slices.Contains(used, place) || c.unread(place) {
			continue
		}
		if has(c.classes[:place], waitWord) {
			r.add(statement{kind: corrects, at: at})
		}
		r.add(statement{kind: affirms, choices: c.lexemes[place].choices, surety: surety, at: place})
		used = append(used, place)
	}
	return used
}

// deny adds the letters that a sentence denies or leaves open. used has the letters that it affirms.
func (r *reading) deny(s sentence, classes string, used []int) {
	denied := deniedAt(classes)
	begin := 0
	for at := 0; at <= len(classes); at++ {
		if at < len(classes) && !isOf(classes[at], ',', ':', '-', '(', '"', butWord, andWord, becauseWord) {
			continue
		}
		for i := begin; i < at; i++ {
			if s.lexemes[i].choices == nil || slices.Contains(used, i) {
				continue
			}
			one := statement{choices: s.lexemes[i].choices, at: i, weakly: !denied[i]}
			if one.kind = saidOf(classes[begin:at], denied[i], len(used) > 0); one.kind != 0 {
				r.add(one)
			}
		}
		begin = at + 1
	}
}

// deniedAt returns the indexes of the letters that a sentence clearly denies.
func deniedAt(classes string) map[int]bool {
	denied := map[int]bool{}
	for _, form := range denyingForms {
		for _, m := range form.Regexp().FindAllStringSubmatchIndex(classes, -1) {
			denied[m[2]] = true
		}
	}
	return denied
}

// saidOf returns what a part of a sentence says about letters that it does not affirm, 0 for nothing.
func saidOf(part string, denied, affirmed bool) byte {
	switch {
	case denied || denying(part):
		return denies
	case leftOpen.Matches(part), affirmed && saidAsWell.Matches(part):
		return leaves
	}
	return 0
}
