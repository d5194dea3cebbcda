package reports

import (
	"fmt"
	"math"
	"time"

	"github.com/evalrun/evalrun/diag"
	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/overview"
	"github.com/evalrun/evalrun/internal/text"
)

// arms draws a line per arm of every suite.
func (t *table) arms() {
	var rows [][]string
	for s, a := range t.d.Summary.Arms {
		row := armRow(a)
		if len(t.d.Summary.Suites) > 1 {
			row[0] = diag.CleanLine(s.Name) + ": " + row[0]
		}
		rows = append(rows, row)
	}
	t.grid([]gridColumn{
		{Header: "arm", Least: 16},
		{Header: "pass"},
		{Header: "fail"},
		{Header: "error"},
		{Header: "skip", Optional: 1},
		{Header: "pass rate", Optional: 2},
		{Header: "90 % interval", Optional: 3},
		{Header: "tokens", Optional: 4},
		{Header: "latency", Optional: 5},
	}, rows)
	t.metrics()
	t.out.WriteString("\n")
}

// metrics lists the means of named scorers.
func (t *table) metrics() {
	for _, a := range t.d.Summary.Arms {
		for _, m := range a.Metrics {
			mean, _ := m.Mean()
			lo, hi := overview.Interval(mean, m.N)
			t.wrapped(" ", fmt.Sprintf("%s on %s: mean %.3f, 90 %% interval %.3f-%.3f, n=%d", m.Name, a.Name, mean, lo, hi, m.N))
		}
	}
}

// targets shows the model and sampling of each target, or the application. A target that an earlier version of the
// suite shares is shown once.
func (t *table) targets() {
	shown := map[string]bool{}
	for i := range t.d.Run.Plan.Targets {
		text := targetText(&t.d.Run, &t.d.Run.Plan.Targets[i])
		if !shown[text] {
			t.wrapped(" ", text)
		}
		shown[text] = true
	}
}

func targetText(run *eval.Run, one *eval.RunTarget) string {
	m := run.Model(one)
	text := one.Name + ": " + testedWords(one.Model, one)
	if len(run.Suites) > 1 {
		text = one.Suite + ": " + text
	}
	if m != nil && m.Version != "" {
		text += ", version " + m.Version
	}
	if how := overview.NewSampling(one.GenerationConfig, m).String(); how != "" && one.App == "" {
		text += ", " + how
	}
	return text
}

// saved counts the calls that an early verdict or a race saved.
func (t *table) saved() {
	if r := overview.RaceOf(t.d); r != nil {
		t.race(r)
		return
	}
	if n := t.d.Summary.SkippedEarly; n > 0 {
		t.line("%s saved: the verdict was known", diag.Count(n, "call"))
	}
}

// race says what a race saved, and which arms stayed. The ranking shows who left, and when.
func (t *table) race(r *overview.RaceResult) {
	t.line("%s", r.Words())
	for i := range r.Suites {
		t.wrapped("  ", r.Suites[i].Stayed(len(r.Suites) > 1))
	}
	if words := r.Rates(); words != "" {
		t.wrapped("  ", words)
	}
}

// closing shows the cost of the run, how steady its cases are, and its targets.
func (t *table) closing() {
	t.saved()
	used := diag.Count(t.d.Summary.Tokens.Total, "token")
	if took := t.took(); took != "" {
		used += " in " + took
	}
	t.line("%s", used)
	t.judging()
	if t.d.End != nil && t.d.End.Spent != nil {
		if s := t.d.End.Spent; t.d.Run.RescoredFrom != "" {
			t.line("rescored with %s, %s", diag.Count(s.Attempts, "call"), diag.Count(s.Tokens, "token"))
		}
		t.budget(t.d.End.Spent)
	}
	t.repeats()
	t.quarantined()
	t.targets()
}

// manyQuarantined is the share of quarantined cases that is worth a warning.
const manyQuarantined = 0.05

// repeats shows how steady repeated cases are.
func (t *table) repeats() {
	for s, a := range t.d.Summary.Arms {
		if r := overview.RepeatsOf(t.d, s.Name, a); r != nil {
			t.wrapped("", fmt.Sprintf("%s on %s: %s", s.Name, a.Name, r))
		}
	}
}

func (t *table) quarantined() {
	for _, s := range t.d.Summary.Suites {
		if s.Quarantined > 0 {
			text := fmt.Sprintf("%s: %d of %s in quarantine, out of the gate", s.Name, s.Quarantined, diag.Count(s.OwnCases(), "case"))
			if float64(s.Quarantined) > manyQuarantined*float64(s.OwnCases()) {
				text += "; warning: a gate that leaves out more than one in twenty guards little"
			}
			t.wrapped("", text)
		}
	}
}

func (t *table) budget(s *eval.Spent) {
	switch {
	case s.BudgetMoney > 0:
		t.line("cost: %s of %s %s", text.Money(s.Money), text.Money(s.BudgetMoney), diag.CleanLine(s.Currency))
	case s.Currency != "":
		t.line("cost: %s %s", text.Money(s.Money), diag.CleanLine(s.Currency))
	}
	if s.BudgetCalls > 0 {
		t.line("budget: %d of %s", s.Attempts, diag.Count(s.BudgetCalls, "call"))
	}
	if s.BudgetTokens > 0 {
		t.wrapped("", fmt.Sprintf("budget: %d of %s%s", s.Tokens, diag.Count(s.BudgetTokens, "token"), t.tokensNote(s)))
	}
}

// tokensNote says where tokens went that no answer shows.
func (t *table) tokensNote(s *eval.Spent) string {
	if s.Tokens > s.BudgetTokens {
		return fmt.Sprintf(", %d over: answers were longer than was reserved for them", s.Tokens-s.BudgetTokens)
	}
	if rest := s.Tokens - t.d.Summary.Tokens.Total - t.d.Summary.JudgeRequests.Tokens.Total; rest > 0 {
		return fmt.Sprintf(", %d of them for embeddings and calls that gave no answer", rest)
	}
	return ""
}

// took is how long the run took; "" when unknown.
func (t *table) took() string {
	if d := t.d.Worked(); t.d.End != nil && d > 0 {
		return text.Duration(float64(d) / float64(time.Millisecond))
	}
	return ""
}

// judging shows the cost of judges, and how far they agree with themselves and with each other.
func (t *screen) judging() {
	j := overview.JudgingOf(t.d)
	if j == nil {
		return
	}
	t.line("judging: %s, %s in addition", diag.Count(j.Attempts, "call"), diag.Count(j.Tokens.Total, "token"))
	for _, a := range j.Agreement {
		line := fmt.Sprintf(
			"%s on %s: %d replies of the judge %s to each of %s agree on %s", a.Scorer, a.Arm, a.Repeats, a.Judge,
			diag.Count(a.Answers, "answer"), diag.Percent(a.Agreement),
		)
		if a.Panel > 0 {
			line = fmt.Sprintf(
				"%s on %s: the %d judges %s agree on %s over %s", a.Scorer, a.Arm, a.Panel, a.Judge, diag.Percent(a.Agreement),
				diag.Count(a.Answers, "answer"),
			)
		}
		if len(t.d.Run.Suites) > 1 {
			line = a.Suite + ": " + line
		}
		if a.Kappa != nil {
			line += fmt.Sprintf(", kappa %.3f", math.Round(1000**a.Kappa)/1000+0) // adding 0 avoids -0.000
		}
		t.wrapped("", line)
	}
}
