package reports

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/evalrun/evalrun/diag"
	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/stats"
	"github.com/evalrun/evalrun/journal"
)

// judging is what judges were asked, and how far those that were asked repeatedly agree with themselves.
type judging struct {
	journal.Judging
	Agreement []judgeAgreement `json:"agreement,omitempty"`
}

// judgeAgreement is over the answers of an arm that a scorer had judged repeatedly.
type judgeAgreement struct {
	Suite   string `json:"suite"`
	Arm     string `json:"arm"`
	Scorer  string `json:"scorer"` // its name, or its kind when it has none
	Judge   string `json:"judge"`
	Repeats int    `json:"repeats"`
	Answers int    `json:"answers"`
	// Agreement is the share of pairs of repeats that say the same, averaged over the answers.
	Agreement float64 `json:"agreement"`
	// Kappa is Fleiss' kappa: the agreement beyond chance. nil when all replies say the same.
	Kappa *float64 `json:"kappa"`
}

// judgingOf is nil when no judge was asked. It reads the trials when one was.
func judgingOf(d *journal.Document) *judging {
	if d.Summary.Judging == (journal.Judging{}) {
		return nil
	}
	out := &judging{Judging: d.Summary.Judging}
	type key struct {
		suite, arm, scorer, judge string
		repeats                   int
	}
	all := map[key][]*eval.Judged{}
	var order []key
	for r, err := range d.Trials() {
		if err != nil { // it is told where trials are listed
			continue
		}
		for _, s := range r.Scores {
			if s.Judged == nil || s.Judged.Agreement == nil {
				continue
			}
			k := key{r.Suite, r.Arm, cmp.Or(s.Name, s.Scorer), s.Judged.Judge, len(s.Judged.Rulings)}
			if all[k] == nil {
				order = append(order, k)
			}
			all[k] = append(all[k], s.Judged)
		}
	}
	for _, k := range order {
		one := judgeAgreement{Suite: k.suite, Arm: k.arm, Scorer: k.scorer, Judge: k.judge, Repeats: k.repeats, Answers: len(all[k])}
		for _, j := range all[k] {
			one.Agreement += *j.Agreement / float64(one.Answers)
		}
		if kappa, ok := stats.FleissKappa(countRulings(all[k])); ok {
			one.Kappa = &kappa
		}
		out.Agreement = append(out.Agreement, one)
	}
	return out
}

// countRulings counts the choices, a row for each answer.
func countRulings(all []*eval.Judged) [][]int {
	var words []string
	for _, j := range all {
		for _, r := range j.Rulings {
			if !slices.Contains(words, r.Choice) {
				words = append(words, r.Choice)
			}
		}
	}
	rows := make([][]int, len(all))
	for i, j := range all {
		rows[i] = make([]int, len(words))
		for _, r := range j.Rulings {
			rows[i][slices.Index(words, r.Choice)]++
		}
	}
	return rows
}

// judging tells what judges were asked.
func (t *tableReport) judging() {
	j := judgingOf(t.d)
	if j == nil {
		return
	}
	t.line("judging: %s, %d tokens beside those", diag.Count(j.Calls, "call"), j.Tokens.Total)
	for _, a := range j.Agreement {
		text := fmt.Sprintf(
			"%s on %s: %d replies of the judge %s to each of %s agree on %.1f %%", a.Scorer, a.Arm, a.Repeats, a.Judge,
			diag.Count(a.Answers, "answer"), 100*a.Agreement,
		)
		if len(t.d.Run.Suites) > 1 {
			text = a.Suite + ": " + text
		}
		if a.Kappa != nil {
			text += fmt.Sprintf(", kappa %.3f", *a.Kappa)
		}
		t.wrapped("", text)
	}
}

// rulings tells what a judge said each time, when it was asked several times.
func (c *caseReport) rulings(j *eval.Judged) {
	if j == nil || len(j.Rulings) < 2 {
		return
	}
	for i, r := range j.Rulings {
		c.printf(
			"    judge %s, repeat %d: %s (%.3g): %s\n", diag.CleanLine(j.Judge), i+1, diag.CleanLine(r.Choice), r.Value,
			diag.CleanLine(r.Reason),
		)
	}
}
