package journal

import (
	"cmp"
	"slices"
	"strings"

	"github.com/evalrun/evalrun/eval"
)

// Summary is a run in numbers.
type Summary struct {
	Counts eval.Counts
	Cases  CaseCounts // every case of every suite and arm, repeats folded
	Tokens Tokens
	// JudgeRequests counts requests to judges; it is no part of Tokens.
	JudgeRequests JudgeRequests
	// PartlyBlocked are the answers that were blocked after some text, and Cut the answers that reached their limit of
	// tokens.
	PartlyBlocked, Cut int
	Integrity          IntegrityCounts
	// Late are the trials that were scored when their time was up, Limited those that were when they had made their calls.
	Late, Limited int
	// SkippedEarly are the skips of trials that did not have to run: the verdict was known.
	SkippedEarly int
	Suites       []SuiteSummary // in the order of the plan
}

// Suite finds a suite; it is empty when the run has no trial of it.
func (s *Summary) Suite(name string) *SuiteSummary {
	for i := range s.Suites {
		if one := &s.Suites[i]; one.Name == name {
			return one
		}
	}
	return &SuiteSummary{}
}

// Arms yields the arms of all suites, each with its suite.
func (s *Summary) Arms(yield func(*SuiteSummary, *ArmSummary) bool) {
	for i := range s.Suites {
		for j := range s.Suites[i].Arms {
			if !yield(&s.Suites[i], &s.Suites[i].Arms[j]) {
				return
			}
		}
	}
}

// IntegrityCounts counts trials of programs by whether they could have seen the right answers.
type IntegrityCounts struct {
	Clean   int `json:"clean"`
	Open    int `json:"open"`
	Tainted int `json:"tainted"`
}

func (c *IntegrityCounts) add(f flags) {
	f.count(isClean, &c.Clean)
	f.count(isOpen, &c.Open)
	f.count(isTainted, &c.Tainted)
}

// Tokens add up the usage of trials.
type Tokens struct {
	Prompt int `json:"prompt"`
	Output int `json:"output"`
	Total  int `json:"total"`
}

func tokensOf(u eval.Usage) Tokens { return Tokens{u.PromptTokens, u.OutputTokens, u.TotalTokens} }

func (t *Tokens) add(o Tokens) {
	t.Prompt += o.Prompt
	t.Output += o.Output
	t.Total += o.Total
}

// CaseCounts tallies cases on arms, the repeats of each folded into one: the
// counts of a JUnit file. A case fails when any repeat does; else it errs when any does; else it
// is skipped when any repeat is, or when it is in quarantine.
type CaseCounts struct {
	Tests    int `json:"tests"`
	Failures int `json:"failures"`
	Errors   int `json:"errors"`
	Skipped  int `json:"skipped"`
}

func (c *CaseCounts) add(other CaseCounts) {
	c.Tests += other.Tests
	c.Failures += other.Failures
	c.Errors += other.Errors
	c.Skipped += other.Skipped
}

// Fold is the outcome of a case whose repeats have these outcomes.
func Fold(c eval.Counts) eval.Outcome {
	switch {
	case c.Fail > 0:
		return eval.Fail
	case c.Error > 0:
		return eval.Err
	case c.Skip > 0:
		return eval.Skip
	}
	return eval.Pass
}

// SuiteSummary is one suite of a run in numbers.
type SuiteSummary struct {
	Name   string
	Counts eval.Counts
	Arms   []ArmSummary // in the order of the plan
	// Gated are the counts without cases in quarantine and without trials that did not have to run.
	Gated       eval.Counts
	Blocked     int // among the trials that count for the gate
	Quarantined int // cases
	Cases       int // including cases that only an earlier version of the suite has
	Earlier     int // cases that only an earlier version of the suite has
}

// OwnCases are the cases of the suite without the ones that only an earlier version has.
func (s *SuiteSummary) OwnCases() int { return s.Cases - s.Earlier }

// ArmSummary is one arm of a run in numbers.
type ArmSummary struct {
	Name      string
	Counts    eval.Counts
	Integrity IntegrityCounts
	Late      int
	Limited   int
	Cases     CaseCounts
	Tokens    Tokens
	Repeats   RepeatCounts

	// What follows is over the trials that count for the gate: those of cases in quarantine do not, nor answers that came when the
	// verdict was known.

	Scored  int     // cases with at least one pass or fail
	passSum float64 // sum of their pass rates
	// MeanLatencyMs is over the trials that were scored.
	MeanLatencyMs float64
	Metrics       MetricSums // over the cases that have them, repeats averaged inside; by name
	// Classification is the confusion matrix of the suite's classification, nil without one.
	Classification *eval.Matrix
	Unclassified   int // trials that could not be scored, and are not in the matrix
}

// RepeatCounts says how steady cases are that were scored more than once.
type RepeatCounts struct {
	StablePass int `json:"stablePass"` // every repeat passed
	StableFail int `json:"stableFail"` // none did
	Flaky      int `json:"flaky"`
}

func (c *CaseCounts) count(o eval.Outcome) {
	c.Tests++
	switch o {
	case eval.Fail:
		c.Failures++
	case eval.Err:
		c.Errors++
	case eval.Skip:
		c.Skipped++
	}
}

// PassRate is pass/(pass+fail) by case, repeats averaged inside, without cases in quarantine; false when nothing was scored.
func (a *ArmSummary) PassRate() (float64, bool) {
	if a.Scored == 0 {
		return 0, false
	}
	return a.passSum / float64(a.Scored), true
}

// Mean is the mean of a named metric; false when no case has it.
func (a *ArmSummary) Mean(metric string) (float64, bool) {
	for i := range a.Metrics {
		if a.Metrics[i].Name == metric {
			return a.Metrics[i].Mean()
		}
	}
	return 0, false
}

// PassRate is the pass rate of all arms together, in which each case counts once for each of its arms; false when nothing
// was scored.
func (s *Summary) PassRate() (float64, bool) {
	sum, scored := 0.0, 0
	for _, a := range s.Arms {
		sum += a.passSum
		scored += a.Scored
	}
	return sum / float64(max(1, scored)), scored > 0
}

// summarize adds up an index in the order of the plan.
func summarize(x *index, run *eval.Run) Summary {
	var s Summary
	suites := map[string]*summaryTally{}
	var order []string
	for i := range x.entries {
		r := x.digest(&x.entries[i])
		s.add(&r)
		if j := x.judgingOf(&x.entries[i]); j != nil {
			s.JudgeRequests.add(*j)
		}
		t, ok := suites[r.suite]
		if !ok {
			t = &summaryTally{byArm: map[string]*armTally{}}
			t.classes = run.Suite(r.suite).Classes
			suites[r.suite] = t
			order = append(order, r.suite)
		}
		t.add(&r)
	}
	for _, name := range order {
		one := suites[name].summary(name, run.Plan.Arms)
		for i := range one.Arms {
			s.Cases.add(one.Arms[i].Cases)
		}
		s.Suites = append(s.Suites, one)
	}
	return s
}

func (s *Summary) add(r *digest) {
	s.Counts.Add(r.outcome)
	s.Tokens.add(tokensOf(r.usage))
	s.Integrity.add(r.flags)
	r.flags.count(isSkippedEarly, &s.SkippedEarly)
	r.flags.count(isPartlyBlocked, &s.PartlyBlocked)
	r.flags.count(isCut, &s.Cut)
	r.flags.count(isLate, &s.Late)
	r.flags.count(isLimited, &s.Limited)
}

func (t *summaryTally) summary(name string, arms []string) SuiteSummary {
	out := SuiteSummary{
		Name: name, Arms: t.arms(arms), Gated: t.gated, Blocked: t.blocked,
		Quarantined: t.quarantined, Cases: t.cases, Earlier: t.earlier,
	}
	for i := range out.Arms {
		out.Counts = out.Counts.Plus(out.Arms[i].Counts)
	}
	return out
}

type summaryTally struct {
	byArm                       map[string]*armTally
	gated                       eval.Counts
	blocked                     int
	quarantined, cases, earlier int
	caseName                    string // the last one
	classes                     []string
}

type armTally struct {
	arm             ArmSummary
	suite, caseName string // the current case
	counts          eval.Counts
	rated           eval.Counts // of the case's trials that count for the gate
	quarantined     bool
	sums            MetricSums // of the case
	latency         eval.Sum
	classes         classTally
}

func (t *summaryTally) add(r *digest) {
	if t.cases == 0 || t.caseName != r.caseName {
		t.cases++
		t.caseName = r.caseName
		switch {
		case strings.Contains(r.arm, "@"): // names of targets and prompts have none
			t.earlier++
		case r.flags&isQuarantined != 0:
			t.quarantined++
		}
	}
	if r.flags&(isQuarantined|isSkippedEarly|isUnused) == 0 {
		t.gated.Add(r.outcome)
		r.flags.count(isBlocked, &t.blocked)
	}
	t.ofArm(r.arm).add(r)
}

func (t *summaryTally) ofArm(name string) *armTally {
	a, ok := t.byArm[name]
	if !ok {
		a = &armTally{arm: ArmSummary{Name: name}, classes: newClassTally(t.classes)}
		t.byArm[name] = a
	}
	return a
}

func (a *armTally) add(r *digest) {
	if a.suite != r.suite || a.caseName != r.caseName {
		a.closeCase()
		a.suite = r.suite
		a.caseName = r.caseName
		a.quarantined = r.flags&isQuarantined != 0
	}
	a.arm.Counts.Add(r.outcome)
	a.arm.Integrity.add(r.flags)
	r.flags.count(isLate, &a.arm.Late)
	r.flags.count(isLimited, &a.arm.Limited)
	a.counts.Add(r.outcome)
	a.arm.Tokens.add(tokensOf(r.usage))
	if r.flags&(isQuarantined|isUnused) != 0 {
		return
	}
	a.rated.Add(r.outcome)
	if r.outcome == eval.Pass || r.outcome == eval.Fail {
		a.latency.Add(r.latencyMs)
	}
	for _, m := range r.metrics {
		if r.outcome == eval.Err && r.class != nil && m.name == eval.Accuracy {
			continue // it is not in the matrix
		}
		a.sums.Add(m.name, m.value)
	}
	a.classes.add(r)
}

func (r *RepeatCounts) add(c eval.Counts) {
	switch {
	case c.Fail == 0:
		r.StablePass++
	case c.Pass == 0:
		r.StableFail++
	default:
		r.Flaky++
	}
}

// closeCase adds the case that was added up to its arm.
func (a *armTally) closeCase() {
	if a.counts.Total() == 0 {
		return
	}
	if scored := a.rated.Judged(); scored > 0 {
		a.arm.Scored++
		a.arm.passSum += float64(a.rated.Pass) / float64(scored)
	}
	if a.counts.Judged() > 1 {
		a.arm.Repeats.add(a.counts)
	}
	outcome := Fold(a.counts)
	if a.quarantined {
		outcome = eval.Skip
	}
	a.arm.Cases.count(outcome)
	a.counts, a.rated = eval.Counts{}, eval.Counts{}
	for _, m := range a.sums {
		mean, _ := m.Mean()
		a.arm.Metrics.Add(m.Name, mean)
	}
	a.sums = a.sums[:0]
	a.classes.closeCase()
}

// arms closes the tally; arms that the plan names come first, in its order.
func (t *summaryTally) arms(order []string) []ArmSummary {
	var out []ArmSummary
	for _, a := range t.byArm {
		a.closeCase()
		a.arm.Classification, a.arm.Unclassified = a.classes.matrix, a.classes.errors
		a.arm.MeanLatencyMs, _ = a.latency.Mean()
		slices.SortFunc(a.arm.Metrics, func(x, y MetricSum) int { return cmp.Compare(x.Name, y.Name) })
		out = append(out, a.arm)
	}
	place := func(name string) int {
		if i := slices.Index(order, name); i >= 0 {
			return i
		}
		return len(order)
	}
	slices.SortFunc(out, func(a, b ArmSummary) int { return cmp.Or(place(a.Name)-place(b.Name), cmp.Compare(a.Name, b.Name)) })
	return out
}

// JudgeRequests counts requests to judges, apart from requests to the models under test.
type JudgeRequests struct {
	Replies  int    `json:"replies"` // on which scores are based
	Attempts int    `json:"calls"`   // HTTP attempts: fewer than replies where several answers share a question
	Tokens   Tokens `json:"tokens"`
}

func (j *JudgeRequests) add(other JudgeRequests) {
	j.Replies += other.Replies
	j.Attempts += other.Attempts
	j.Tokens.add(other.Tokens)
}
