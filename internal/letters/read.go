package letters

import (
	"regexp"
	"slices"
	"strings"

	"github.com/evalrun/evalrun/internal/lazy"
)

// A choice is read in four steps: marks are cut into sentences of lexemes, a sentence affirms a letter when one of its clauses has a form
// that does so and nothing that it does not know, what else it says of letters denies or leaves them open, and the letter that is affirmed
// alone is the choice.

// statement is what a sentence says of letters, or of what was said before it.
type statement struct {
	kind   byte  // one of the following
	labels []int // more than one when they are joined: B or C
	surety int
	weakly bool // of a denial: by a word that is perhaps about something else
	at     int  // where in its sentence
}

const (
	affirms   = 'a'
	denies    = 'd'
	leaves    = 'h' // open
	takesBack = 't'
	corrects  = 'c' // what was affirmed before, by what is affirmed next
)

// normal is the sentence with its letters joined, and without the commas around adverbs. A "no" of its own is a correction.
func (s sentence) normal() sentence {
	all := slices.Clone(s.lexemes)
	for i := range all {
		if all[i].class == 'x' && (i == 0 || strings.IndexByte(",:-(", all[i-1].class) >= 0) && i+1 < len(all) && strings.IndexByte(",:", all[i+1].class) >= 0 {
			all[i].class = 'R'
		}
	}
	s.lexemes = joinedLetters(withoutAsides(all))
	return s
}

// withoutAsides leaves out the commas around adverbs: the answer, therefore, is B.
func withoutAsides(all []lexeme) []lexeme {
	var out []lexeme
	for i := 0; i < len(all); i++ {
		end := i + 1
		for end < len(all) && strings.IndexByte("bRy", all[end].class) >= 0 {
			end++
		}
		if all[i].class == ',' && i > 0 && all[i-1].class != 'R' && all[end-1].class != 'R' && end > i+1 && end+1 < len(all) && all[end].class == ',' &&
			(all[end-1].class != 'y' || strings.IndexByte("cCEWMhxz", all[end+1].class) >= 0) {
			out = append(out, slices.DeleteFunc(slices.Clone(all[i+1:end]), func(l lexeme) bool { return l.class == 'y' })...)
			i = end
			continue
		}
		out = append(out, all[i])
	}
	return out
}

// joinedLetters makes one lexeme of letters that are joined: A, B and C.
func joinedLetters(all []lexeme) []lexeme {
	var out []lexeme
	for i := 0; i < len(all); i++ {
		l := all[i]
		if l.labels == nil {
			out = append(out, l)
			continue
		}
		for n := joinedAt(out, all[i+1:]); n > 0; n = joinedAt(out, all[i+1:]) {
			l = lexeme{joined, append(slices.Clone(l.labels), all[i+n].labels...)}
			i += n
		}
		out = append(out, l)
	}
	return out
}

var joinsNext = regexp.MustCompile(`^(?:,?j?[jJ]|,|-)(?:D?o?)([LB])(.?)`)

// joinedAt is how many lexemes join the next letter to the one before rest; 0 when none does.
func joinedAt(before, rest []lexeme) int {
	classes := sentence{lexemes: rest[:min(8, len(rest))]}.classes()
	m := joinsNext.FindStringSubmatchIndex(classes)
	if m == nil {
		return 0
	}
	head, next := classes[:m[2]], classes[m[4]:m[5]]
	if n := len(before); n > 0 && head == "," && strings.IndexByte("elx", before[n-1].class) >= 0 {
		return 0 // unlike B, A ...
	}
	said := strings.ContainsAny(sentence{lexemes: before}.classes(), "cEvpm:")
	if next != "" && strings.Contains("cEMxhz", next) && !strings.Contains(head, "J") && said {
		return 0 // the answer is A, and B is wrong
	}
	return m[3]
}

// reading reads the sentences of a text one after the other.
type reading struct {
	said     []statement
	repeats  bool // the options are repeated in it
	asked    bool // the sentence before was a question
	affirmed bool // a letter was affirmed in the text so far
	// elsewhere says that another letter was mentioned since, so that "that is wrong" may be about it.
	elsewhere bool
}

func statementsOf(sentences []sentence) []statement {
	r := &reading{repeats: repeatsOptions(sentences)}
	for i, s := range sentences {
		after := ""
		if i+1 < len(sentences) && !s.ends {
			after = sentences[i+1].normal().classes()
		}
		r.sentence(s.normal(), after, sentenceNo().MatchString(s.classes()))
	}
	return r.said
}

// repeatsOptions reports whether two lines begin with different letters.
func repeatsOptions(sentences []sentence) bool {
	seen := map[int]bool{}
	for _, s := range sentences {
		if !s.opens {
			continue
		}
		classes := s.classes()
		m := listItem().FindStringSubmatchIndex(classes)
		switch {
		case m != nil:
			seen[s.lexemes[m[2]].labels[0]] = true
		case !s.ends && (classes == "L" || classes == "B"):
			seen[s.lexemes[0].labels[0]] = true
		}
	}
	return len(seen) > 1
}

func (r *reading) add(one statement) {
	r.said = append(r.said, one)
	r.affirmed = r.affirmed || one.kind == affirms
}

// sentence adds what a sentence says. after is what follows it in its line.
func (r *reading) sentence(s sentence, after string, denied bool) {
	classes := s.classes()
	asked := r.asked
	r.asked = s.question
	if r.affirmed && (denied && !asked && !s.question || r.takesBack(classes, s.question, asked)) {
		r.add(statement{kind: takesBack})
	}
	if s.question {
		return
	}
	first := len(r.said)
	used := r.affirm(s, classes, after)
	if !strings.ContainsRune(classes, 'q') {
		r.deny(s, classes, used)
	}
	r.elsewhere = len(used) == 0 && (r.elsewhere || strings.ContainsAny(classes, "LBG"))
	slices.SortStableFunc(r.said[first:], func(a, b statement) int { return a.at - b.at })
}

// takesBack reports whether a sentence takes back what was said before it.
func (r *reading) takesBack(classes string, question, asked bool) bool {
	switch {
	case question:
		return askedBack().MatchString(classes)
	case asked:
		return false
	case strings.HasPrefix(classes, "R:"), fragment().MatchString(classes), justNo().MatchString(classes), onlyWait().MatchString(classes), said().MatchString(classes):
		return true
	case strings.HasPrefix(strings.TrimLeft(classes, "b,j"), "R") && strings.ContainsAny(classes, "xmrUhq"):
		return !strings.ContainsAny(classes, "LBG")
	}
	return !r.elsewhere && !strings.ContainsAny(classes, "LBG") && (takenBack().MatchString(classes) || strings.Contains(classes, "U"))
}

// affirm adds the letters that a sentence affirms, and says at which of its lexemes they are.
func (r *reading) affirm(s sentence, classes, after string) (used []int) {
	for at := range classes {
		if at > 0 && !strings.ContainsRune(",:-(yj", rune(classes[at-1])) && !strings.ContainsRune("yj", rune(classes[at])) {
			continue
		}
		if at > 0 && !correction().MatchString(classes[at:]) && hindered(classes[:at], classes[at]) {
			continue
		}
		place, surety := r.clause(s, classes, at, after)
		if surety == 0 || slices.Contains(used, place) {
			continue
		}
		if strings.ContainsRune(classes[:place], 'R') {
			r.add(statement{kind: corrects, at: at})
		}
		r.add(statement{kind: affirms, labels: s.lexemes[place].labels, surety: surety, at: place})
		used = append(used, place)
	}
	return used
}

// hindered reports whether what is in front of a clause keeps it from saying what it says: if ..., he says: ...
func hindered(intro string, next byte) bool {
	last := intro[len(intro)-1]
	switch {
	case next == 'b' && reported().MatchString(intro):
		return strings.ContainsAny(intro, `q"`)
	case next == 'y' && strings.ContainsAny(intro, "LBG"):
		return strings.ContainsAny(intro, `q"`)
	case next == 't':
		return strings.Trim(intro, "bfyjR,") != ""
	case strings.ContainsAny(intro, `qS"`):
		return true
	case last == ':' || last == '-':
		return strings.ContainsAny(intro, "xmehlr") && !strings.ContainsAny(intro, "LBG")
	}
	if strings.ContainsAny(intro, "LBG") {
		return false
	}
	return strings.ContainsAny(intro, "hP") ||
		strings.ContainsRune(intro, 'x') && strings.IndexByte("kyKH", intro[0]) < 0 && strings.IndexByte("yb", next) < 0
}

var (
	correction = lazy.Regexp(`^y?I?R`)
	// reasoned is what may follow a letter that would be the answer.
	reasoned = lazy.Regexp(`^\)?(?:b|g?(?:[Di][nbp]{0,2})?Q[wn]?)*(?:,?[kK].*|,?[ex][Do]*[LBG])?$`)
)

// clause is the place of the letter that the clause from at on affirms, and how surely.
func (r *reading) clause(s sentence, classes string, at int, after string) (place, surety int) {
	for _, f := range forms {
		m := f.clause().FindStringSubmatchIndex(classes[at:])
		if m == nil {
			continue
		}
		place = at + groupOfMatch(m)
		core, rest := classes[at:at+m[1]], afterLetter(classes, at+m[1])
		surety = f.surety
		if strings.ContainsRune(core, 'F') {
			surety = final
		}
		if strings.ContainsRune(core, 'W') && !reasoned().MatchString(rest) {
			continue // B would be correct, were it not ...
		}
		if endsWell(rest, surety) {
			return place, surety
		}
	}
	if m := inverted().FindStringSubmatchIndex(classes[at:]); m != nil && at > 0 && classes[0] == 'k' &&
		endsWell(afterLetter(classes, at+m[1]), stated) {
		return at + groupOfMatch(m), stated
	}
	return r.bare(s, classes, at, after)
}

// groupOfMatch is where the group of a match begins that took part in it.
func groupOfMatch(m []int) int {
	for i := 2; i < len(m); i += 2 {
		if m[i] >= 0 {
			return m[i]
		}
	}
	return m[0]
}

// bare reads a letter that is the whole clause, or opens it with the text of its option.
func (r *reading) bare(s sentence, classes string, at int, after string) (place, surety int) {
	m := bareLetter().FindStringSubmatchIndex(classes[at:])
	if m == nil || !endsWell(afterLetter(classes, at+m[1]), openingOnly) {
		return 0, 0
	}
	place = at + m[6]
	whole := at+m[1] == len(classes)
	contrast := classes[at+m[4]:at+m[5]] != "" && strings.ContainsRune(classes[:at], 'x') || whole && at > 0 && classes[0] == 'k'
	switch {
	case at > 0 && strings.ContainsAny(classes[:at], "LBG") && !letterDenied().MatchString(classes[:at]) && !strings.ContainsRune(classes[:place], 'R'):
		return 0, 0
	case at > 0 && m[3] == m[2] && !contrast:
		return 0, 0
	case at == 0 && m[3] == m[2] && !s.opens && !whole && !r.asked:
		return 0, 0
	case at == 0 && r.repeats && !(whole && s.ends) && m[3] == m[2]:
		return 0, 0
	case at == 0 && whole && after != "" && !asideEndsWell(after, openingOnly):
		return 0, 0
	case whole && at == 0 && s.ends || contrast:
		return place, stated
	}
	return place, openingOnly
}

var (
	ofQuestion   = lazy.Regexp(`^(?:b+|g?(?:[Di][nbp]{0,2})?Q[wn]?|t[cE]D?p+)`)
	otherThan    = lazy.Regexp(`^,?(?:e|j?b*x)[Dopa]*[LBG]\)?`)
	otherThanAll = lazy.Regexp(`^,?(?:[el]|j?b*x)[Dopa]*[LBG]\)?`)
	hedgedLetter = lazy.Regexp(`h.*[LBG]|^J|P`)
	letterDenied = lazy.Regexp(`[xelmrZ].*[LBG]|[LBG].*[xmrh]`)
	letterSaid   = lazy.Regexp(`[cCEMzvwh]`)
	reason       = lazy.Regexp(`^(?:k(?:[^n]|n[^,]*c|$)|K[DLBGO])`)
	leftOpen     = lazy.Regexp(`h.*[LBG]|[LBG].*h.*[paz]|[LBG][cCE]b+h|P|^J`)
	saidAsWell   = lazy.Regexp(`[LBG].*[pz]`)
	reported     = lazy.Regexp(`St.*,$`)
	sentenceNo   = lazy.Regexp(`^b*x,`)
	goesOn       = lazy.Regexp(`^[cCEWzMqelhHSxZP]`)
)

// afterLetter is what follows a place, with the bracket that closes a letter in brackets.
func afterLetter(classes string, at int) string {
	if classes[at-1] == bracketed {
		return ")" + classes[at:]
	}
	return classes[at:]
}

// endsWell reports whether what follows an affirmed letter lets it be.
func endsWell(tail string, surety int) bool {
	if text := strings.TrimLeft(tail, ")"); text == "" || text == tail || strings.IndexByte(",:-(ykj", text[0]) >= 0 {
		tail = text
	}
	for m := ofQuestion().FindString(tail); m != ""; m = ofQuestion().FindString(tail) {
		tail = tail[len(m):]
	}
	other := otherThan
	if surety > openingOnly {
		other = otherThanAll
	}
	if m := other().FindString(tail); m != "" {
		return endsWell(tail[len(m):], surety)
	}
	switch {
	case tail == "" || reason().MatchString(tail):
		return true
	case tail[0] == 'j':
		return surety > openingOnly && asideEndsWell(tail[1:], surety) && (strings.ContainsAny(tail, "LBGO") || !strings.ContainsAny(tail, "xmrhN"))
	}
	return strings.IndexByte(",:-()y", tail[0]) >= 0 && asidesEndWell(tail, surety)
}

// asidesEndWell looks at the parts of a sentence behind an affirmed letter.
func asidesEndWell(tail string, surety int) bool {
	for tail != "" {
		but := tail[0] == 'y'
		tail = tail[1:]
		end := strings.IndexAny(tail, ",:-(y")
		if end < 0 {
			end = len(tail)
		}
		part := strings.Trim(tail[:end], ")")
		tail = tail[end:]
		switch {
		case strings.HasPrefix(part, "k"):
			return true
		case strings.HasPrefix(part, "K") && (strings.ContainsAny(part, "LBGO") || !strings.ContainsAny(part, "hmRSPU")):
			continue
		case surety == openingOnly && strings.ContainsRune(part, 'R'):
			return false
		}
		if !asideEndsWell(part, surety) || but && part != "" && !strings.ContainsAny(part, "LBGO") {
			return false
		}
	}
	return true
}

func asideEndsWell(part string, surety int) bool {
	switch {
	case part == "":
		return true
	case strings.ContainsAny(part, "LBG"):
		return !hedgedLetter().MatchString(part) && (letterDenied().MatchString(part) || surety > openingOnly && letterSaid().MatchString(part))
	case strings.HasPrefix(part, "O"), strings.HasPrefix(part, "k"):
		return true
	case strings.ContainsRune(part, 'U'), takenBack().MatchString(part):
		return false
	case surety > openingOnly:
		return strings.IndexByte("qelHxZJ", part[0]) < 0 && part[len(part)-1] != 'x' && !strings.ContainsAny(part, "rRShmNPU")
	}
	return !goesOn().MatchString(part) && !strings.ContainsAny(part, "xmhrqUSNPZ=")
}

// deny adds the letters that a sentence denies or leaves open. The others are those it affirms.
func (r *reading) deny(s sentence, classes string, used []int) {
	strong := map[int]bool{}
	for _, d := range []func() *regexp.Regexp{deniedBefore, deniedFar, deniedAfter, deniedNoun} {
		for _, m := range d().FindAllStringSubmatchIndex(classes, -1) {
			strong[m[2]] = true
		}
	}
	begin := 0
	for at := 0; at <= len(classes); at++ {
		if at < len(classes) && strings.IndexByte(`,:-(yk"j`, classes[at]) < 0 {
			continue
		}
		for i := begin; i < at; i++ {
			if s.lexemes[i].labels != nil && !slices.Contains(used, i) {
				r.leave(s.lexemes[i].labels, i, classes[begin:at], strong[i], len(used) > 0)
			}
		}
		begin = at + 1
	}
}

// leave adds what a part of a sentence says of letters that it does not affirm.
func (r *reading) leave(labels []int, at int, part string, strong, affirmed bool) {
	switch {
	case strong || strings.ContainsAny(part, "xmelrZ"):
		r.add(statement{kind: denies, labels: labels, weakly: !strong, at: at})
	case leftOpen().MatchString(part), affirmed && saidAsWell().MatchString(part):
		r.add(statement{kind: leaves, labels: labels, at: at})
	}
}
