// Package judging measures how far judges agree with people who labelled answers, and lets a judge prefer one of two answers.
package judging

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/evalrun/evalrun/diag"
	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/gate"
	"github.com/evalrun/evalrun/internal/stats"
	"github.com/evalrun/evalrun/journal"
	"github.com/evalrun/evalrun/scorers"
	"github.com/evalrun/evalrun/scorers/labels"
)

// AgreementReport is the result of Check and CheckPeople.
type AgreementReport struct {
	Judges   []agreement `json:"judges"`
	Unjudged int         `json:"untold"` // labelled answers that no judge scored, or that the run lacks
	// Divided counts answers of which as many people say one thing as another. NotInRun counts labelled answers that
	// are not in the run. People is the agreement between two people. The last two are only set for labels from evalrun view.
	Divided  int         `json:"divided,omitempty"`
	NotInRun int         `json:"elsewhere,omitempty"`
	People   []twoPeople `json:"people,omitempty"`
	// AllPeople is the agreement between all people, for each suite with answers that several of them labelled.
	AllPeople []manyPeople `json:"allPeople,omitempty"`
}

type manyPeople struct {
	Suite   string `json:"suite"`
	Answers int    `json:"answers"` // with two labels or more
	Labels  int    `json:"labels"`  // of these answers
	// Alpha is Krippendorff's, for words without an order: 1 for complete agreement, 0 for what chance would give. nil if
	// all labels are the same.
	Alpha *float64 `json:"krippendorffAlpha"`
}

// agreement is the agreement of a judge with people. Intervals are at 90 %. They count cases, because
// answers to the same case are not independent.
type agreement struct {
	Suite  string `json:"suite"`
	Scorer string `json:"scorer"` // its name, or its kind
	Judge  string `json:"judge"`  // for a panel, the names of its judges: a, b, c
	Panel  bool   `json:"panel,omitempty"`
	// Answers counts the answers with a label and a score of the judge, and Cases the cases of these
	// answers.
	Answers int `json:"answers"`
	Cases   int `json:"cases"`
	// Agreement is the share of answers on which both agree.
	Agreement wilsonShare `json:"agreement"`
	// Kappa is Cohen's kappa, the agreement beyond chance; nil if both always give the same single label.
	// The interval treats the agreement by chance as known.
	Kappa         *float64    `json:"kappa"`
	KappaInterval *[2]float64 `json:"kappaInterval"`
	// FalsePass is the share of the answers with the label fail that the judge passed; FalseFail is the
	// reverse. Both are nil for labels that are choices.
	FalsePass *wilsonShare `json:"falsePass,omitempty"`
	FalseFail *wilsonShare `json:"falseFail,omitempty"`
	// Arms has sensitivity and specificity on each arm, as a gate takes them; none for labels that are choices. Favours
	// says where the judge treats arms differently.
	Arms    []armFigures `json:"arms,omitempty"`
	Favours []string     `json:"favours,omitempty"`
	// Disagreements are the first answers on which the judge and people disagree, of all Disagreed.
	Disagreements []Disagreement `json:"disagreements,omitempty"`
	Disagreed     int            `json:"disagreed"`
	// Confusion counts answers by label and by the judge's word, in the order of Words.
	Words     []string `json:"words"`
	Confusion [][]int  `json:"confusion"`
}

type wilsonShare struct {
	Part     int        `json:"part"`
	Of       int        `json:"of"`
	Share    *float64   `json:"share"` // nil if Of is 0
	Interval [2]float64 `json:"interval"`
}

// newProportion counts the pairs for which part is true. The interval counts cases instead of pairs.
func newProportion(pairs []labelled, part func(labelled) bool) wilsonShare {
	p := wilsonShare{Of: len(pairs), Interval: [2]float64{0, 1}}
	cases := map[string]bool{}
	for _, one := range pairs {
		cases[one.caseName] = true
		if part(one) {
			p.Part++
		}
	}
	if p.Of > 0 {
		p.Share = new(float64(p.Part) / float64(p.Of))
		p.Interval[0], p.Interval[1] = stats.Wilson(*p.Share, float64(len(cases)), stats.Z95)
	}
	return p
}

type armFigures struct {
	Arm string `json:"arm"`
	eval.JudgeFigures
}

// Disagreement is an answer on which a judge and people disagree.
type Disagreement struct {
	Case   string `json:"case"`
	Arm    string `json:"arm"`
	Repeat int    `json:"repeat"`
	People string `json:"people"`
	Judge  string `json:"judge"`
}

// maxDisagreements bounds the answers that a report lists for a judge.
const maxDisagreements = 200

type labelled struct {
	caseName     string
	arm          string
	repeat       int
	people, said string
}

type checkKey struct {
	suite, scorer, judge string
	panel                bool
}

// Check compares the judges of a run, and each judge of a panel, with the labels in a file. Problems of the
// file are exit 2. If there is nothing to compare, it is exit 4.
func Check(d *journal.Document, file string) (*AgreementReport, error) {
	given, err := readLabels(file)
	if err != nil {
		return nil, err
	}
	c := newLabelCheck(given)
	if err := c.read(d); err != nil {
		return nil, err
	}
	if !c.hasJudges && len(given.all)+len(given.problems) > 0 {
		return nil, errNoJudges
	}
	c.unmatched(d)
	c.unknownWords()
	if err := given.err(); err != nil {
		return nil, err
	}
	return c.report(file)
}

var errNoJudges = eval.BadInput("this run has no scores of judges to measure against the labels: run a suite that has the scorer `judge`")

func (c *labelCheck) read(d *journal.Document) error {
	for r, err := range d.Trials() {
		if err != nil {
			return eval.Incomplete("the run cannot be read: %w", err)
		}
		c.trial(r)
	}
	return nil
}

// report measures each judge. from names the source of the labels, for messages.
func (c *labelCheck) report(from string) (*AgreementReport, error) {
	if len(c.order) == 0 {
		return nil, eval.Incomplete("nothing to compare: no answer that %s labels was judged", from)
	}
	out := &AgreementReport{Unjudged: c.unjudged}
	for _, k := range c.order {
		out.Judges = append(out.Judges, newAgreement(k, c.pairs[k], c.choices[k]))
	}
	out.Divided, out.AllPeople = c.divided, c.agreements()
	return out, nil
}

// labelCheck matches labels with the trials of a run.
type labelCheck struct {
	labels    *labelFile
	order     []checkKey
	pairs     map[checkKey][]labelled
	choices   map[checkKey]bool     // whether the labels are choices
	divided   int                   // answers on which people are divided
	suites    []string              // with labels of several people
	several   map[string][][]string // their labels, answer by answer
	words     []string              // valid labels
	hasJudges bool                  // whether any answer has a judge's score
	unjudged  int
	people    *wholeLabels // labels of whole answers; nil for a file that names cases
}

func newLabelCheck(given *labelFile) *labelCheck {
	return &labelCheck{
		labels: given, pairs: map[checkKey][]labelled{}, choices: map[checkKey]bool{}, several: map[string][][]string{},
		words: append([]string{passWord, failWord}, scorers.JudgeChoices()...),
	}
}

func (c *labelCheck) problem(l *label, format string, args ...any) {
	c.labels.problem(l.line, format, args...)
}

func (c *labelCheck) trial(r *eval.Result) {
	c.hasJudges = c.hasJudges || len(r.Judgements) > 0
	for _, s := range r.Scores {
		if s.Judged == nil {
			continue
		}
		c.hasJudges = true
		for _, word := range s.Judged.Choices {
			if !slices.Contains(c.words, word) {
				c.words = append(c.words, word)
			}
		}
	}
	var about []*labelledScore
	for _, l := range c.labels.by[r.Case] {
		if l.fits(r) {
			about = c.labelled(about, l, r)
		}
	}
	for _, one := range about {
		c.decide(one, r)
	}
	if c.people != nil {
		c.peopleOn(r)
	}
}

// labelledScore is a judge's score of an answer with its labels; without a score the answer could not be judged.
type labelledScore struct {
	scorer string
	score  *eval.Score
	labels []*label
}

// labelled matches a label with a score of an answer. It reports labels that match several answers, and two different labels
// of one person.
func (c *labelCheck) labelled(about []*labelledScore, l *label, r *eval.Result) []*labelledScore {
	if l.met++; l.met > 1 {
		if l.met == 2 {
			c.problem(l, "the label fits several answers to case `%s`: say `suite`, `arm` or `repeat`", l.Case)
		}
		return about
	}
	s, problem := l.choose(r)
	if problem != "" {
		c.problem(l, "%s", problem)
		return about
	}
	scorer := l.Scorer
	if s != nil {
		scorer = cmp.Or(s.Name, s.Scorer)
	}
	i := slices.IndexFunc(about, func(one *labelledScore) bool { return one.scorer == scorer })
	if i < 0 {
		return append(about, &labelledScore{scorer, s, []*label{l}})
	}
	for _, before := range about[i].labels {
		switch {
		case before.Who == "" || before.Who != l.Who:
		case !strings.EqualFold(before.Label, l.Label):
			c.problem(
				l, "`%s` contradicts `%s` on line %d, which %s says of the same answer", l.Label, before.Label, before.line, l.Who,
			)
			return about
		default:
			return about
		}
	}
	about[i].labels = append(about[i].labels, l)
	return about
}

// decide takes what most people say of an answer. What each of them says counts for the agreement of people.
func (c *labelCheck) decide(one *labelledScore, r *eval.Result) {
	if one.score == nil {
		c.unjudged++
		return
	}
	var words []string
	var choice bool
	for _, l := range one.labels {
		word, is, ok := c.fits(l, r, one.score)
		if ok {
			words, choice = append(words, word), is
		}
	}
	c.note(r.Suite, words)
	switch word := mostFrequent(words); {
	case word != "":
		c.take(word, choice, r, one.score)
	case len(words) > 0:
		c.divided++
	}
}

// mostFrequent is the word that is there most often, "" for a tie.
func mostFrequent(words []string) (most string) {
	counts, best := map[string]int{}, 0
	for _, w := range words {
		counts[w]++
		best = max(best, counts[w])
	}
	for w, n := range counts {
		switch {
		case n < best:
		case most != "":
			return ""
		default:
			most = w
		}
	}
	return most
}

// note keeps the labels that several people gave an answer.
func (c *labelCheck) note(suite string, words []string) {
	if len(words) < 2 {
		return
	}
	if c.several[suite] == nil {
		c.suites = append(c.suites, suite)
	}
	c.several[suite] = append(c.several[suite], words)
}

// agreements measures how far all people agree, suite by suite.
func (c *labelCheck) agreements() (out []manyPeople) {
	for _, suite := range c.suites {
		one := manyPeople{Suite: suite, Answers: len(c.several[suite])}
		var words []string
		for _, said := range c.several[suite] {
			one.Labels += len(said)
			words = append(words, said...)
		}
		slices.Sort(words)
		words = slices.Compact(words)
		var rows [][]int
		for _, said := range c.several[suite] {
			row := make([]int, len(words))
			for _, w := range said {
				row[slices.Index(words, w)]++
			}
			rows = append(rows, row)
		}
		if alpha, ok := stats.KrippendorffAlpha(rows); ok {
			one.Alpha = &alpha
		}
		out = append(out, one)
	}
	return out
}

// fits returns the word of a label in the spelling of a score's judge. It reports a label that this judge could not give.
func (c *labelCheck) fits(l *label, r *eval.Result, s *eval.Score) (word string, choice, ok bool) {
	k := keyOf(r, s)
	word = inWords(l.Label, slices.Concat([]string{passWord, failWord}, s.Judged.Choices, scorers.JudgeChoices()))
	choice = word != passWord && word != failWord
	if known, seen := c.choices[k]; seen && known != choice {
		c.problem(
			l, "`%s`, where other labels of `%s` are %s", l.Label, k.scorer,
			map[bool]string{true: "choices", false: "pass or fail"}[known],
		)
		return word, choice, false
	}
	c.choices[k] = choice
	if own := s.Judged.Choices; choice && own != nil && !slices.Contains(own, word) {
		c.problem(l, "`%s` is not a choice of `%s`: %s", l.Label, k.scorer, strings.Join(own, ", "))
		return word, choice, false
	}
	return word, choice, true
}

func keyOf(r *eval.Result, s *eval.Score) checkKey {
	return checkKey{r.Suite, cmp.Or(s.Name, s.Scorer), s.Judged.Judge, len(s.Judged.Panel) > 0}
}

// take pairs what people say with a score, and with the vote of each judge of a panel.
func (c *labelCheck) take(word string, choice bool, r *eval.Result, s *eval.Score) {
	k := keyOf(r, s)
	p := labelled{r.Case, r.Arm, r.Repeat, word, said(choice, s.Judged.Choice, s.Passed())}
	c.pair(k, p, choice)
	for _, vote := range s.Judged.Panel {
		k.judge, k.panel = vote.Judge, false
		p.said = said(choice, vote.Choice, vote.Passed)
		c.pair(k, p, choice)
	}
}

func (c *labelCheck) pair(k checkKey, p labelled, choice bool) {
	if !slices.Contains(c.order, k) {
		c.order = append(c.order, k)
		c.choices[k] = choice
	}
	c.pairs[k] = append(c.pairs[k], p)
}

// said translates the ruling of a judge into the words of labels.
func said(choice bool, word string, passed bool) string {
	switch {
	case choice:
		return word
	case passed:
		return passWord
	}
	return failWord
}

// inWords returns a label in the spelling of the words. Case does not matter, as in replies of judges.
func inWords(label string, words []string) string {
	if i := slices.IndexFunc(words, func(w string) bool { return strings.EqualFold(w, label) }); i >= 0 {
		return words[i]
	}
	return label
}

// unknownWords reports labels that no judge of the run could give.
func (c *labelCheck) unknownWords() {
	for _, l := range c.labels.all {
		if word := inWords(l.Label, c.words); !slices.Contains(c.words, word) {
			c.problem(l, "`%s` is not a label: %s", l.Label, strings.Join(c.words, ", "))
		}
	}
}

// unmatched reports labels of answers that are not in the run.
func (c *labelCheck) unmatched(d *journal.Document) {
	var cases []string
	for _, l := range c.labels.all {
		if l.met > 0 {
			continue
		}
		if cases == nil {
			for row := range d.Rows() {
				cases = append(cases, row.Case)
			}
		}
		if slices.Contains(cases, l.Case) {
			c.problem(l, "case `%s` has no such arm, repeat or suite in the run", l.Case)
		} else {
			c.problem(l, "the run has no case `%s`; %s", l.Case, diag.DidYouMean(l.Case, cases))
		}
	}
}

func newAgreement(k checkKey, pairs []labelled, choices bool) agreement {
	c := agreement{Suite: k.suite, Scorer: k.scorer, Judge: k.judge, Panel: k.panel, Answers: len(pairs)}
	agree := func(p labelled) bool { return p.people == p.said }
	c.Agreement = newProportion(pairs, agree)
	cases := map[string]bool{}
	for _, p := range pairs {
		cases[p.caseName] = true
		c.Words = append(c.Words, p.people, p.said)
	}
	c.Cases = len(cases)
	slices.Sort(c.Words)
	c.Words = slices.Compact(c.Words)
	people, said := c.confuse(pairs)
	if kappa, ok := stats.CohenKappa(people, said); ok {
		c.Kappa = &kappa.Value
		c.KappaInterval = &[2]float64{kappa.Of(c.Agreement.Interval[0]), kappa.Of(c.Agreement.Interval[1])}
	}
	if !choices {
		of := func(word string) wilsonShare {
			other := func(p labelled) bool { return p.people != word }
			return newProportion(slices.DeleteFunc(slices.Clone(pairs), other), func(p labelled) bool { return !agree(p) })
		}
		c.FalsePass, c.FalseFail = new(of(failWord)), new(of(passWord))
		c.byArm(pairs)
	}
	for _, p := range pairs {
		if agree(p) {
			continue
		}
		if c.Disagreed++; c.Disagreed <= maxDisagreements {
			c.Disagreements = append(c.Disagreements, Disagreement{p.caseName, p.arm, p.repeat, p.people, p.said})
		}
	}
	return c
}

// byArm measures the judge on each arm, and compares its errors between arms.
func (c *agreement) byArm(pairs []labelled) {
	on := map[string][]eval.LabelledAnswer{}
	var arms []string
	for _, p := range pairs {
		if on[p.arm] == nil {
			arms = append(arms, p.arm)
		}
		on[p.arm] = append(on[p.arm], eval.LabelledAnswer{Case: p.caseName, People: p.people == passWord, Judge: p.said == passWord})
	}
	for _, arm := range arms {
		c.Arms = append(c.Arms, armFigures{arm, gate.Figures(on[arm])})
	}
	tests := float64(len(arms) * (len(arms) - 1)) // of two kinds of errors, for each pair of arms
	for i, one := range arms {
		for _, other := range arms[i+1:] {
			for _, people := range []bool{false, true} {
				a, ofA := wrongCases(on[one], people)
				b, ofB := wrongCases(on[other], people)
				if p, _ := stats.FisherExact(a, ofA, b, ofB); p*tests <= eval.DefaultAlpha {
					c.Favours = append(c.Favours, favours(one, other, people, a, ofA, b, ofB))
				}
			}
		}
	}
}

// wrongCases counts the cases with answers that people passed, or failed, and those in which the judge is wrong about at least
// half of them.
func wrongCases(answers []eval.LabelledAnswer, people bool) (wrong, of int) {
	balance := map[string]int{}
	for _, a := range answers {
		if a.People != people {
			continue
		}
		if a.Judge != people {
			balance[a.Case]++
		} else {
			balance[a.Case]--
		}
	}
	for _, n := range balance {
		if n >= 0 {
			wrong++
		}
	}
	return wrong, len(balance)
}

// favours says which of two arms the judge treats better, given in how many cases it is wrong on each.
func favours(one, other string, people bool, a, ofA, b, ofB int) string {
	what, better := "passes more of what people failed", a*ofB > b*ofA
	if people {
		what, better = "fails more of what people passed", a*ofB < b*ofA
	}
	favoured := other
	if better {
		favoured = one
	}
	if more := a*ofB > b*ofA; !more {
		one, other, a, ofA, b, ofB = other, one, b, ofB, a, ofA
	}
	return fmt.Sprintf(
		"the judge favours %s: it %s on %s (%d of %d cases) than on %s (%d of %d)", favoured, what, one, a, ofA, other, b, ofB,
	)
}

// confuse counts the pairs by their words, and returns the index of each word.
func (c *agreement) confuse(pairs []labelled) (people, said []int) {
	c.Confusion = make([][]int, len(c.Words))
	for i := range c.Confusion {
		c.Confusion[i] = make([]int, len(c.Words))
	}
	for _, p := range pairs {
		a, b := slices.Index(c.Words, p.people), slices.Index(c.Words, p.said)
		c.Confusion[a][b]++
		people, said = append(people, a), append(said, b)
	}
	return people, said
}

// twoPeople is the agreement of two people on the answers to a suite, in this run and others.
type twoPeople struct {
	Suite string `json:"suite"`
	labels.PeopleAgreement
}

type wholeLabels struct {
	bySuite map[string]*labels.File
	divided int
	met     map[labels.AnswerKey]bool
}

// CheckPeople compares the judges of a run with the labels that people gave in evalrun view, suite by
// suite. A label is about the whole answer, so all judges of the answer are compared with it. Problems of
// the files are exit 2. If there is nothing to compare, it is exit 4.
func CheckPeople(d *journal.Document, files []*labels.File) (*AgreementReport, error) {
	c := newLabelCheck(&labelFile{})
	c.people = &wholeLabels{bySuite: map[string]*labels.File{}, met: map[labels.AnswerKey]bool{}}
	var problems []error
	for _, f := range files {
		problems = append(problems, f.Err())
		c.people.bySuite[f.Suite()] = f
	}
	if err := errors.Join(problems...); err != nil {
		return nil, eval.WithCode(eval.CodeBadInput, err)
	}
	if err := c.read(d); err != nil {
		return nil, err
	}
	if !c.hasJudges {
		return nil, errNoJudges
	}
	out, err := c.report(files[0].Path)
	if err != nil {
		return nil, err
	}
	out.Divided += c.people.divided
	for _, f := range files {
		for _, k := range f.Answers() {
			if !c.people.met[k] {
				out.NotInRun++
			}
		}
		for _, a := range f.Agreements() {
			out.People = append(out.People, twoPeople{f.Suite(), a})
		}
	}
	return out, nil
}

func (c *labelCheck) peopleOn(r *eval.Result) {
	file := c.people.bySuite[r.Suite]
	key, ok := labels.KeyOf(r)
	if file == nil || !ok {
		return
	}
	said := file.Of(key)
	word := labels.Decide(said)
	if !c.people.met[key] { // repeats with the same answer share their labels
		var words []string
		for _, l := range said {
			if l.Label != labels.None {
				words = append(words, l.Label)
			}
		}
		c.note(r.Suite, words)
	}
	if word == labels.None {
		if labels.AnyWord(said) {
			c.people.met[key] = true
			c.people.divided++
		}
		return
	}
	c.people.met[key] = true
	judged := false
	for i := range r.Scores {
		if s := &r.Scores[i]; s.Judged != nil {
			judged = true
			if word, choice, ok := c.fits(&label{Label: word}, r, s); ok {
				c.take(word, choice, r, s)
			}
		}
	}
	if !judged {
		c.unjudged++
	}
}
