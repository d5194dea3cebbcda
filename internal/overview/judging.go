package overview

import (
	"cmp"
	"slices"

	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/stats"
	"github.com/evalrun/evalrun/journal"
)

// Judging counts the calls of judges, and says how far judges agree with themselves where answers were judged repeatedly.
type Judging struct {
	journal.Judging
	Agreement []Agreement `json:"agreement,omitempty"`
}

// Agreement is over the answers of an arm that a scorer had judged repeatedly.
type Agreement struct {
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

// JudgingOf is nil when the run called no judge. It reads the trials otherwise.
func JudgingOf(d *journal.Document) *Judging {
	if d.Summary.Judging == (journal.Judging{}) {
		return nil
	}
	out := &Judging{Judging: d.Summary.Judging}
	all := map[judgedBy][]*eval.Judged{}
	var order []judgedBy
	for r, err := range d.Trials() {
		if err != nil { // the caller meets it again where it lists trials
			continue
		}
		for _, s := range r.Scores {
			if s.Judged == nil || s.Judged.Agreement == nil {
				continue
			}
			k := judgedBy{r.Suite, r.Arm, cmp.Or(s.Name, s.Scorer), s.Judged.Judge, len(s.Judged.Rulings)}
			if all[k] == nil {
				order = append(order, k)
			}
			all[k] = append(all[k], s.Judged)
		}
	}
	for _, k := range order {
		out.Agreement = append(out.Agreement, agreementOf(k, all[k]))
	}
	return out
}

// judgedBy is what answers have in common whose agreement is one number.
type judgedBy struct {
	suite, arm, scorer, judge string
	repeats                   int
}

func agreementOf(k judgedBy, all []*eval.Judged) Agreement {
	out := Agreement{Suite: k.suite, Arm: k.arm, Scorer: k.scorer, Judge: k.judge, Repeats: k.repeats, Answers: len(all)}
	for _, j := range all {
		out.Agreement += *j.Agreement / float64(out.Answers)
	}
	if kappa, ok := stats.FleissKappa(countRulings(all)); ok {
		out.Kappa = &kappa
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
