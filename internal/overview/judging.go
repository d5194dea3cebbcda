package overview

import (
	"cmp"
	"fmt"
	"iter"
	"slices"

	"github.com/evalrun/evalrun/compare"
	"github.com/evalrun/evalrun/diag"
	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/stats"
	"github.com/evalrun/evalrun/internal/text"
	"github.com/evalrun/evalrun/journal"
)

// judging counts the calls of judges. It also has their agreement: with themselves in repeats, and with
// each other in panels.
type judging struct {
	journal.JudgeRequests
	Agreement []selfAgreement `json:"agreement,omitempty"`
	// People is their agreement with the labels of people.
	People []eval.MeasuredJudge `json:"people,omitempty"`
}

// selfAgreement is the agreement of a scorer's judgements on the answers of an arm, over repeats or over
// the judges of a panel.
type selfAgreement struct {
	Suite  string `json:"suite"`
	Arm    string `json:"arm"`
	Scorer string `json:"scorer"` // its name, or its kind
	Judge  string `json:"judge"`  // for a panel, the names of its judges: a, b, c
	// Panel is the number of judges in the panel; 0 for the agreement of one judge with itself.
	Panel   int `json:"panel,omitempty"`
	Repeats int `json:"repeats"` // of each judge
	Answers int `json:"answers"`
	// Agreement is the share of pairs of repeats, or of judges of a panel, with the same result, averaged
	// over the answers.
	Agreement float64 `json:"agreement"`
	// Kappa is Fleiss' kappa, the agreement beyond chance; nil if all rulings are equal.
	Kappa *float64 `json:"kappa"`
}

// JudgingOf returns nil if the run called no judge. Otherwise it reads all trials.
func JudgingOf(d *journal.Document) *judging {
	if d.Summary.JudgeRequests == (journal.JudgeRequests{}) {
		return nil
	}
	out := &judging{JudgeRequests: d.Summary.JudgeRequests, People: d.Judges}
	all := map[agreementKey][][]eval.Ruling{}
	var order []agreementKey
	for r, err := range d.Trials() {
		if err != nil { // the caller gets the same error when it lists trials
			continue
		}
		for i := range r.Scores {
			for k, rulings := range agreeing(r, &r.Scores[i]) {
				if all[k] == nil {
					order = append(order, k)
				}
				all[k] = append(all[k], rulings)
			}
		}
	}
	for _, k := range order {
		out.Agreement = append(out.Agreement, agreementOf(k, all[k]))
	}
	return out
}

// agreementKey groups the answers of one selfAgreement.
type agreementKey struct {
	suite, arm, scorer, judge string
	panel, repeats            int
}

// agreeing yields the sets of rulings about an answer whose agreement counts: the repeats of each judge,
// and the votes of a panel.
func agreeing(r *eval.Result, s *eval.Score) iter.Seq2[agreementKey, []eval.Ruling] {
	return func(yield func(agreementKey, []eval.Ruling) bool) {
		j := s.Judged
		if j == nil || j.Agreement == nil {
			return
		}
		k := agreementKey{suite: r.Suite, arm: r.Arm, scorer: cmp.Or(s.Name, s.Scorer), judge: j.Judge, repeats: len(j.Rulings)}
		if len(j.Panel) == 0 {
			yield(k, j.Rulings)
			return
		}
		k.panel, k.repeats = len(j.Panel), len(j.Rulings)/len(j.Panel)
		if !yield(k, j.Panel) || k.repeats < 2 {
			return
		}
		k.panel = 0
		for some := range slices.Chunk(j.Rulings, k.repeats) { // judge by judge
			if k.judge = some[0].Judge; !yield(k, some) {
				return
			}
		}
	}
}

func agreementOf(k agreementKey, all [][]eval.Ruling) selfAgreement {
	out := selfAgreement{
		Suite: k.suite, Arm: k.arm, Scorer: k.scorer, Judge: k.judge, Panel: k.panel, Repeats: k.repeats, Answers: len(all),
	}
	rows := countRulings(all)
	for _, row := range rows {
		out.Agreement += pairsAlike(row) / float64(out.Answers)
	}
	if kappa, ok := stats.FleissKappa(rows); ok {
		out.Kappa = &kappa
	}
	return out
}

// pairsAlike returns the share of pairs with the same choice. counts has how often each choice was made.
func pairsAlike(counts []int) float64 {
	n, same := 0, 0
	for _, c := range counts {
		n += c
		same += c * (c - 1)
	}
	return float64(same) / float64(n*(n-1))
}

// countRulings counts the choices, in a row for each answer.
func countRulings(all [][]eval.Ruling) [][]int {
	var words []string
	for _, some := range all {
		for _, r := range some {
			if !slices.Contains(words, r.Choice) {
				words = append(words, r.Choice)
			}
		}
	}
	rows := make([][]int, len(all))
	for i, some := range all {
		rows[i] = make([]int, len(words))
		for _, r := range some {
			rows[i][slices.Index(words, r.Choice)]++
		}
	}
	return rows
}

// GateNotes say what the gate rests on: OriginNotes and the judges.
func GateNotes(d *journal.Document) []string { return append(OriginNotes(d), judgeNotes(d)...) }

// OriginNotes say what is weaker than in the gate and the cases of another version, where no comparison says it.
func OriginNotes(d *journal.Document) (lines []string) {
	for i := range d.Run.Suites {
		s := &d.Run.Suites[i]
		c := d.Comparison()
		if s.GateOf == nil || c != nil && slices.ContainsFunc(c.Arms, func(a compare.ArmComparison) bool { return a.Suite == s.Name }) {
			continue
		}
		for _, line := range text.Weaker(s.GateOf) {
			if len(d.Run.Suites) > 1 {
				line = s.Name + ": " + line
			}
			lines = append(lines, line)
		}
	}
	return lines
}

// judgeNotes say who judged the values of a run, and how far those judges agree with people. Verdicts on arms and
// broken rules say it themselves.
func judgeNotes(d *journal.Document) (lines []string) {
	said := map[string]bool{}
	if c := d.Comparison(); c != nil {
		for i := range c.Arms {
			for _, m := range c.Arms[i].Judges {
				said[m.Words()] = true
			}
		}
	}
	for _, r := range Rules(d) {
		said[r.Why] = said[r.Why] || !r.Standing.Holds()
	}
	type note struct{ arm, words string }
	var notes []note
	of, unmeasured := map[string]int{}, map[note]bool{}
	for i := range d.Judges {
		m := &d.Judges[i]
		n, judge := note{m.Suite + " on " + m.Arm, m.Words()}, note{m.Suite + " on " + m.Arm, m.Judge}
		if said[n.words] || unmeasured[judge] || slices.Contains(notes, n) {
			continue
		}
		notes, unmeasured[judge] = append(notes, n), m.Answers == 0 // the same of each scorer of a judge
		of[n.words]++
	}
	for _, n := range notes {
		line := n.words
		if said[line] {
			continue
		}
		said[line] = true
		if of[line] == 1 && len(notes) > 1 {
			line = n.arm + ": " + line
		}
		lines = append(lines, diag.CleanLine(line))
	}
	if more := len(lines) - maxJudgeNotes; more > 0 {
		lines = append(lines[:maxJudgeNotes], fmt.Sprintf("and %d more like these", more))
	}
	return lines
}

const maxJudgeNotes = 10
