// Package judging measures how far judges agree with people who labelled answers, and lets a judge prefer one of two answers.
package judging

import (
	"cmp"
	"errors"
	"slices"
	"strings"

	"github.com/evalrun/evalrun/diag"
	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/stats"
	"github.com/evalrun/evalrun/journal"
	"github.com/evalrun/evalrun/scorers"
	"github.com/evalrun/evalrun/scorers/labels"
)

// AgreementReport is the result of Check and CheckPeople.
type AgreementReport struct {
	Judges   []agreement `json:"judges"`
	Unjudged int         `json:"untold"` // labelled answers that no judge scored, or that the run lacks
	// Divided counts answers with equal numbers of pass and fail labels, and NotInRun labelled answers
	// that are not in the run. People is the agreement between people. All three are only set for labels
	// from evalrun view.
	Divided  int         `json:"divided,omitempty"`
	NotInRun int         `json:"elsewhere,omitempty"`
	People   []twoPeople `json:"people,omitempty"`
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

type labelled struct {
	caseName     string
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
	return out, nil
}

// labelCheck matches labels with the trials of a run.
type labelCheck struct {
	labels    *labelFile
	order     []checkKey
	pairs     map[checkKey][]labelled
	choices   map[checkKey]bool // whether the labels are choices
	taken     map[answerKey]*label
	words     []string // valid labels
	hasJudges bool     // whether any answer has a judge's score
	unjudged  int
	people    *wholeLabels // labels of whole answers; nil for a file that names cases
}

func newLabelCheck(given *labelFile) *labelCheck {
	return &labelCheck{
		labels: given, pairs: map[checkKey][]labelled{}, choices: map[checkKey]bool{}, taken: map[answerKey]*label{},
		words: append([]string{passWord, failWord}, scorers.JudgeChoices()...),
	}
}

// answerKey identifies a score of an answer, which counts once even if it has several labels.
type answerKey struct {
	suite, caseName, arm string
	repeat               int
	scorer               string
}

func (c *labelCheck) problem(l *label, format string, args ...any) {
	c.labels.problem(l.line, format, args...)
}

// trial matches an answer with its labels.
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
	for _, l := range c.labels.by[r.Case] {
		if l.fits(r) {
			c.labelled(l, r)
		}
	}
	if c.people != nil {
		c.peopleOn(r)
	}
}

// labelled matches a label with an answer. It reports labels that match several answers.
func (c *labelCheck) labelled(l *label, r *eval.Result) {
	if l.met++; l.met > 1 {
		if l.met == 2 {
			c.problem(l, "the label fits several answers to case `%s`: say `suite`, `arm` or `repeat`", l.Case)
		}
		return
	}
	s, problem := l.choose(r)
	if problem != "" {
		c.problem(l, "%s", problem)
		return
	}
	key := answerKey{r.Suite, r.Case, r.Arm, r.Repeat, l.Scorer}
	if s != nil {
		key.scorer = cmp.Or(s.Name, s.Scorer)
	}
	if before := c.taken[key]; before != nil {
		if !strings.EqualFold(before.Label, l.Label) {
			c.problem(l, "`%s` contradicts `%s` on line %d, which is about the same answer", l.Label, before.Label, before.line)
		}
		return
	}
	c.taken[key] = l
	if s == nil {
		c.unjudged++
		return
	}
	c.take(l, r, s)
}

// take pairs a label with a score, and with the vote of each judge of a panel.
func (c *labelCheck) take(l *label, r *eval.Result, s *eval.Score) {
	k := checkKey{r.Suite, cmp.Or(s.Name, s.Scorer), s.Judged.Judge, len(s.Judged.Panel) > 0}
	word := inWords(l.Label, slices.Concat([]string{passWord, failWord}, s.Judged.Choices, scorers.JudgeChoices()))
	choice := word != passWord && word != failWord
	switch {
	case !slices.Contains(c.order, k):
		c.choices[k] = choice
	case c.choices[k] != choice:
		c.problem(
			l, "`%s`, where other labels of `%s` are %s", l.Label, k.scorer,
			map[bool]string{true: "choices", false: "pass or fail"}[c.choices[k]],
		)
		return
	}
	if own := s.Judged.Choices; choice && own != nil && !slices.Contains(own, word) {
		c.problem(l, "`%s` is not a choice of `%s`: %s", l.Label, k.scorer, strings.Join(own, ", "))
		return
	}
	c.pair(k, labelled{r.Case, word, said(choice, s.Judged.Choice, s.Passed())}, choice)
	for _, vote := range s.Judged.Panel {
		k.judge, k.panel = vote.Judge, false
		c.pair(k, labelled{r.Case, word, said(choice, vote.Choice, vote.Passed)}, choice)
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
	}
	return c
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

// wholeLabels has labels of whole answers.
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
	out.Divided = c.people.divided
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

// peopleOn matches an answer with the labels of people.
func (c *labelCheck) peopleOn(r *eval.Result) {
	file := c.people.bySuite[r.Suite]
	key, ok := labels.KeyOf(r)
	if file == nil || !ok {
		return
	}
	said := file.Of(key)
	word := labels.Decide(said)
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
			c.take(&label{Label: word}, r, s)
		}
	}
	if !judged {
		c.unjudged++
	}
}
