// Package overview has what all reports say of a run: figures for programs, and short texts for people. What they say of a
// single trial is in internal/text.
//
// Its texts may have control characters: reports for a terminal must clean them.
package overview

import (
	"fmt"
	"slices"
	"strings"

	"github.com/evalrun/evalrun/compare"
	"github.com/evalrun/evalrun/diag"
	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/stats"
	"github.com/evalrun/evalrun/internal/text"
	"github.com/evalrun/evalrun/journal"
)

const version = 1

// Overview is a run without its trials, in the JSON report.
type Overview struct {
	Version int          `json:"version"`
	Run     runStatus    `json:"run"`
	Totals  totals       `json:"summary"`
	Arms    []armFigures `json:"arms"`
	// FailingTags are tags whose cases fail out of proportion, at most three.
	FailingTags []failingTag `json:"failingTags,omitempty"`
	// Gate is nil if no gate was applied. Then NotApplied says so.
	Gate       *journal.Gate `json:"gate"`
	NotApplied string        `json:"noVerdict,omitempty"`
	// Comparison is with the baseline of the gate.
	Comparison *comparedGate `json:"comparison,omitempty"`
	// Drift is what the nights up to the run say, in suites with a rule about them.
	Drift []journal.Drift `json:"drift,omitempty"`
	// Ranking ranks the arms of suites with a rule about the best arm, or with a race.
	Ranking []compare.Ranking `json:"ranking,omitempty"`
	// Race is set in a run with --race.
	Race *RaceResult `json:"race,omitempty"`
}

// comparedGate is the comparison of a gate with its baseline. With --no-baseline it has only the run that was not
// compared.
type comparedGate struct {
	*compare.Comparison
	NotCompared bool `json:"notCompared,omitempty"`
}

type runStatus struct {
	eval.Run
	FinishedAt  string         `json:"finishedAt,omitempty"`
	Reason      eval.EndReason `json:"reason,omitempty"`
	Message     string         `json:"message,omitempty"`
	Interrupted bool           `json:"interrupted"`
	Partial     bool           `json:"partial"`
	// Waiting is set while the run waits for its batches.
	Waiting *journal.Waiting `json:"waiting,omitempty"`
	Damaged []string         `json:"damaged,omitempty"`
	Spent   *eval.Spent      `json:"spent,omitempty"`
}

// totals has the totals of a run over all suites and arms.
type totals struct {
	Trials int `json:"trials"`
	eval.Counts
	PassRate *float64 `json:"passRate"`
	// Cut counts incomplete answers: they reached the limit of tokens, or were blocked after some text.
	Cut cut `json:"cut"`
	// Integrity counts the trials of programs; nil without one. Late counts those that were scored when their time was up,
	// Limited those that were at a limit of steps, tokens or money.
	Integrity *journal.IntegrityCounts `json:"integrity,omitempty"`
	Late      int                      `json:"late,omitempty"`
	Limited   int                      `json:"limited,omitempty"`
	Tokens    journal.Tokens           `json:"tokens"`
	Judging   *judging                 `json:"judging,omitempty"` // calls of judges; not included in Tokens
	Cases     journal.CaseCounts       `json:"cases"`
}

// cut counts incomplete answers by reason.
type cut struct {
	MaxTokens int `json:"maxTokens"`
	Blocked   int `json:"blocked"`
}

type armFigures struct {
	Suite string `json:"suite"`
	Arm   string `json:"arm"`
	eval.Counts
	PassRate      *float64                `json:"passRate"`
	Interval      *[2]float64             `json:"interval"`
	Level         float64                 `json:"level"`
	Tokens        journal.Tokens          `json:"tokens"`
	MeanLatencyMs float64                 `json:"meanLatencyMs"`
	Metrics       map[string]metricFigure `json:"metrics"`
	Repeats       *repeatsOf              `json:"repeats,omitempty"` // of cases that were scored more than once
	// Classification is nil if the suite has none.
	Classification *eval.Report `json:"classification,omitempty"`
	// Target and the following fields describe what is under test, in runs that record it.
	Target   string    `json:"target,omitempty"`
	Model    string    `json:"model,omitempty"`
	App      string    `json:"app,omitempty"`     // for people
	Version  string    `json:"version,omitempty"` // of the model
	Sampling *sampling `json:"sampling,omitempty"`
	Stream   bool      `json:"stream,omitempty"`
}

// metricFigure is the mean of a named scorer or of a derived metric, over N cases.
type metricFigure struct {
	Mean     float64    `json:"mean"`
	N        int        `json:"n"`
	Interval [2]float64 `json:"interval"`
}

// New computes the overview of a run.
func New(d *journal.Document) Overview {
	out := Overview{
		Version: version,
		Run:     newRunStatus(d),
		Totals:  newTotals(d),
		Arms:    []armFigures{}, FailingTags: FailingTags(d),
		Gate: applied(d.Gate()), Comparison: gateComparison(d), Drift: d.Drift, Ranking: d.Ranking(), Race: RaceOf(d),
	}
	if d.Gate() == nil {
		out.NotApplied = NotApplied
	}
	for s, a := range d.Summary.Arms {
		arm := newArmFigures(s.Name, a)
		arm.describe(&d.Run)
		arm.Repeats = RepeatsOf(d, s.Name, a)
		out.Arms = append(out.Arms, arm)
	}
	return out
}

func gateComparison(d *journal.Document) *comparedGate {
	switch c := d.Comparison(); {
	case d.NotCompared():
		run := compare.Compared{Run: d.Run.ID, StartedAt: d.Run.StartedAt}
		said := compare.Finding{Headline: "NOT COMPARED with the baseline: --no-baseline", State: compare.NotCompared}
		return &comparedGate{&compare.Comparison{Head: run, Finding: said, Arms: []compare.ArmComparison{}}, true}
	case c != nil:
		return &comparedGate{Comparison: c}
	}
	return nil
}

// applied returns the gate with rules that encode as [] rather than null; nil if no gate was applied.
func applied(g *journal.Gate) *journal.Gate {
	if g == nil || g.Rules != nil {
		return g
	}
	return &journal.Gate{Exit: g.Exit, Rules: []journal.GateRule{}}
}

func newRunStatus(d *journal.Document) runStatus {
	out := runStatus{
		Run:         d.Run,
		Partial:     d.Partial(),
		Waiting:     d.Waits(),
		Interrupted: d.End == nil && !d.Running || d.End != nil && d.End.Reason == eval.EndInterrupted,
		Damaged:     d.Damaged,
	}
	out.Copies, out.Signature = nil, "" // only evalrun itself uses these
	if d.End != nil {
		out.FinishedAt, out.Reason, out.Message, out.Spent = d.End.FinishedAt, d.End.Reason, d.End.Message, d.End.Spent
	}
	return out
}

func newTotals(d *journal.Document) totals {
	s, cases := &d.Summary, NewGateCases(d)
	out := totals{
		Trials:  s.Counts.Total(),
		Counts:  s.Counts,
		Cut:     cut{s.Cut, s.PartlyBlocked},
		Tokens:  s.Tokens,
		Judging: JudgingOf(d),
		Cases:   cases.In(s.Cases, cases.rules),
	}
	if s.Integrity != (journal.IntegrityCounts{}) {
		out.Integrity = &s.Integrity
	}
	out.Late, out.Limited = s.Late, s.Limited
	if rate, ok := s.PassRate(); ok {
		out.PassRate = &rate
	}
	return out
}

func newArmFigures(suite string, a *journal.ArmSummary) armFigures {
	out := armFigures{
		Suite:         suite,
		Arm:           a.Name,
		Counts:        a.Counts,
		Level:         level,
		Tokens:        a.Tokens,
		MeanLatencyMs: a.MeanLatencyMs,
		Metrics:       map[string]metricFigure{},
	}
	if rate, ok := a.PassRate(); ok {
		lo, hi := Interval(rate, a.Scored)
		out.PassRate, out.Interval = &rate, &[2]float64{lo, hi}
	}
	out.Classification = a.Classified()
	for _, m := range a.Metrics {
		mean, _ := m.Mean()
		lo, hi := Interval(mean, m.N)
		out.Metrics[m.Name] = metricFigure{mean, m.N, [2]float64{lo, hi}}
	}
	return out
}

func (a *armFigures) describe(run *eval.Run) {
	name, _, _ := strings.Cut(a.Arm, "/")
	t := run.Target(a.Suite, name)
	if t == nil {
		return
	}
	m := run.Model(t)
	a.Target, a.Model, a.App, a.Stream = t.Name, t.Model, t.App, t.Stream
	if t.App == "" {
		a.Sampling = new(NewSampling(t.GenerationConfig, m))
	}
	if m != nil {
		a.Version = m.Version
	}
}

// level is the level of two-sided intervals in reports. Each bound holds with 95 %.
const level = 0.9

// Interval returns the Wilson interval of a mean over n cases.
func Interval(mean float64, n int) (lo, hi float64) { return stats.Wilson(mean, float64(n), stats.Z95) }

// intervals explains why two metrics with the same figures have different intervals; "" if there are none.
func intervals(metrics []compare.MetricComparison) string {
	for i := range metrics {
		for j := range metrics {
			if exact, other := &metrics[i], &metrics[j]; exact.Asymptotic != nil && approximate(other, exact) {
				return fmt.Sprintf(
					"the interval of %s is that of the exact tests, which decide its verdict; %s has no margin, "+
						"and an approximate interval",
					exact.Name, other.Name,
				)
			}
		}
	}
	return ""
}

// approximate reports whether a metric has the same figures as an exact one but another interval, which
// decides nothing.
func approximate(m, exact *compare.MetricComparison) bool {
	same := m.N == exact.N && m.Base == exact.Base && m.Head == exact.Head
	return same && !m.Gated && m.Interval != nil && exact.Interval != nil && *m.Interval != *exact.Interval
}

// headline says what the exit code of a run means, in a word and in a line.
type headline struct {
	Word, Why string
	Tone      text.Tone // of the word
	end       string    // with the exit code, where there is one
}

// String returns the headline on one line, with the exit code.
func (h headline) String() string { return h.Word + ": " + h.Why + h.end }

// NotGated is the word for a run to which no gate was applied.
const NotGated = "NOT GATED"

// HeadlineOf returns the headline of a run.
func HeadlineOf(d *journal.Document) headline {
	if d.Running {
		return headline{"IN PROGRESS", "the run is still in progress", text.Neutral, ""}
	}
	if d.Gate() == nil {
		return headline{NotGated, NotApplied, text.Neutral, ""}
	}
	word, why, tone := headlineOf(d)
	return headline{word, why, tone, fmt.Sprintf(" (exit %d)", d.Gate().Exit)}
}

// VerdictOf is what a run came to in a word, as the page and the list of runs say it first.
func VerdictOf(d *journal.Document) (verdict string, tone text.Tone) {
	h := HeadlineOf(d)
	isWorse := func(a compare.ArmComparison) bool { return a.Verdict == eval.Regressed }
	if c := d.Comparison(); h.Word == "FAIL" && c != nil && slices.ContainsFunc(c.Arms, isWorse) {
		return "Regressed", h.Tone
	} else if c != nil && h.Word == "PASS" && c.State == compare.NotWorseButWorse {
		return "Passed, but worse", text.Neutral
	}
	return map[string]string{
		"PASS": "Passed", "FAIL": "Failed", "INCONCLUSIVE": "Cannot tell", "ERROR": "Incomplete", "INCOMPLETE": "Incomplete",
		"INTERRUPTED": "Interrupted", "WAITING": "Waiting", "IN PROGRESS": "In progress", NotGated: "Not gated",
	}[h.Word], h.Tone
}

func headlineOf(d *journal.Document) (word, why string, tone text.Tone) {
	switch d.Gate().Exit {
	case eval.CodeOK:
		return passed(d)
	case eval.CodeInconclusive:
		return "INCONCLUSIVE", "there are too few cases for a verdict, and the gate says that this fails", text.Neutral
	case eval.CodeIncomplete:
		return notJudged(d)
	case eval.CodeWaiting:
		return "WAITING", "no gate is applied before all batches are answered", text.Neutral
	case eval.CodeInterrupted, eval.CodeTerminated:
		return "INTERRUPTED", "not every trial of the plan was judged", text.Alarm
	}
	if broken(d.Gate()) {
		return "FAIL", "the gate does not hold", text.Bad
	}
	return "FAIL", diag.Count(d.Summary.Counts.Fail, "trial") + " failed", text.Bad
}

func passed(d *journal.Document) (word, why string, tone text.Tone) {
	switch {
	case d.Run.Plan.Shard != nil:
		return NotGated, "a shard applies no gate", text.Neutral
	case len(d.Gate().Rules) > 0:
		return "PASS", "the gate holds", text.Good
	}
	return "PASS", "nothing that counts failed", text.Good
}

func notJudged(d *journal.Document) (word, why string, tone text.Tone) {
	switch {
	case d.End == nil:
		return "INTERRUPTED", "the run was killed", text.Alarm
	case d.Partial():
		return "INCOMPLETE", "not every trial of the plan was judged", text.Alarm
	case broken(d.Gate()):
		return "ERROR", "the gate does not hold", text.Alarm
	}
	return "ERROR", diag.Count(d.Summary.Counts.Error, "trial") + " could not be judged", text.Alarm
}

func broken(g *journal.Gate) bool {
	return slices.ContainsFunc(g.Rules, func(r journal.GateRule) bool { return !r.Standing.Holds() })
}
