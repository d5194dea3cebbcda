package reports

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/evalrun/evalrun/compare"
	"github.com/evalrun/evalrun/diag"
	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/overview"
	"github.com/evalrun/evalrun/journal"
)

// When to advise a comparison, or more cases.
const (
	adviceMargin  = 0.05
	adviceRepeats = 5
	mostCounted   = 10_000 // trials; in larger runs no cluster is large enough to matter
)

// comparing suggests commands that compare arms, or the run with the next one, unless it was compared already. A
// comparison with a margin is suggested only when there are enough cases: otherwise it could only be inconclusive.
func (t *table) comparing(run string) []suggestion {
	switch {
	case t.d.NotCompared():
		return nil
	case t.d.Comparison() != nil:
		return t.changedAnswers(run)
	}
	c := t.d.Summary.Counts
	arms, passed := t.twoArms(), c.Pass == c.Total()
	if arms == nil && !passed {
		return nil
	}
	need := compare.WithoutFlip(1, adviceMargin, eval.DefaultAlpha)
	if units := t.units(); units < need {
		return t.fewCases(run, units, need)
	}
	var all []suggestion
	if arms != nil {
		args := append([]string{"compare", run, "--margin", "0.05", "--arms"}, arms...)
		all = append(all, whichIsBest(run), suggestion{args, "is the second arm worse?"})
	}
	if passed {
		base, next := run, latest
		switch run {
		case t.d.Dir: // made with --out, so the next run may be too, and latest does not find it
			next = "NEXT-RUN"
		case latest: // latest will be the next run
			base = filepath.Base(t.d.Dir)
		}
		all = append(all, suggestion{[]string{"compare", base, next, "--margin", "0.05"}, "after the next run: is it worse?"})
	}
	return all
}

func whichIsBest(run string) suggestion {
	return suggestion{[]string{"compare", run, "--rank"}, "which arm is best?"}
}

// changedAnswers suggests a diff of the answers of newly failing cases: the report of the run has only the
// reasons.
func (t *table) changedAnswers(run string) []suggestion {
	c := t.d.Comparison()
	at := slices.IndexFunc(c.Arms, func(a compare.ArmComparison) bool {
		return slices.ContainsFunc(a.Flips, func(f compare.Flip) bool { return f.Worse() })
	})
	const why = "what changed in the answers"
	switch {
	case at < 0:
		return nil
	case c.Base.Run == c.Head.Run: // both are arms of this run
		return []suggestion{{[]string{"compare", run, "--arms", c.Arms[at].BaseArm, c.Arms[at].HeadArm}, why}}
	case c.Base.Name == "":
		return nil
	}
	return []suggestion{{[]string{"compare", c.Base.Name, run}, why}}
}

// sinceBaseline shows a diff of the answer of a newly failing case.
func (t *table) sinceBaseline(e *example) {
	if e.group.standing != overview.NewlyFailing {
		return
	}
	k := t.d.Indexed(e.place)
	for i := range t.d.Comparison().Arms {
		a := &t.d.Comparison().Arms[i]
		if a.Suite != k.Suite || a.HeadArm != k.Arm {
			continue
		}
		at := slices.IndexFunc(a.Flips, func(f compare.Flip) bool { return f.Case == k.Case })
		if at < 0 || a.Flips[at].BaseAnswer == "" || a.Flips[at].HeadAnswer == "" {
			continue
		}
		t.line("     answer to %s, before and now:", e.label)
		t.answers(a.Flips[at].BaseAnswer, a.Flips[at].HeadAnswer)
		return
	}
}

// fewCases suggests what to do in a run with too few independent cases.
func (t *table) fewCases(run string, units, need int) []suggestion {
	var all []suggestion
	if arms := t.twoArms(); arms != nil {
		all = append(
			all,
			whichIsBest(run),
			suggestion{append([]string{"compare", run, "--arms"}, arms...), "how do the arms differ? (no verdict)"},
		)
	}
	if args := t.repeatArgs(nil, adviceRepeats); args != nil && !t.repeated() {
		all = append(all, suggestion{args, fmt.Sprintf("do the cases always pass? (pass^%d)", adviceRepeats)})
	}
	if c := t.d.Summary.Counts; c.Pass == c.Total() && t.ungated() {
		all = append(all, suggestion{nil, "a gate that suits few cases, in the suite: gate: {passRate: {min: 0.9}}"})
	}
	return append(all, suggestion{nil, fmt.Sprintf(
		"%s: a comparison with a margin of %g takes %d (%d more)", diag.Count(units, "independent case"), adviceMargin, need, need-units,
	)})
}

// repeated reports whether cases were scored more than once.
func (t *table) repeated() bool {
	for _, a := range t.d.Summary.Arms {
		if a.Repeats != (journal.RepeatCounts{}) {
			return true
		}
	}
	return false
}

func (t *table) ungated() bool {
	for i := range t.d.Run.Suites {
		if t.d.Run.Suites[i].Gate != nil {
			return false
		}
	}
	return true
}

// units is the number of independent cases of a comparison, on the arm with the fewest. Quarantined cases do not count. A
// cluster counts once, and so do cases with the same request.
func (t *table) units() int {
	if t.d.Len() > mostCounted {
		return mostCounted
	}
	sides := map[[2]string]*compare.Side{}
	for f, err := range t.d.Facts() {
		if err != nil {
			return 0
		}
		addUnit(sides, f)
	}
	least := mostCounted
	for _, s := range sides {
		least = min(least, compare.NewPreview(s, s, nil).Effective)
	}
	return least
}

// addUnit counts the case of a trial.
func addUnit(sides map[[2]string]*compare.Side, f *journal.Facts) {
	key := [2]string{f.Suite, f.Arm}
	s := sides[key]
	if s == nil {
		s = &compare.Side{}
		sides[key] = s
	}
	if n := len(s.Cases); n > 0 && s.Cases[n-1].Name == f.Case && s.Cases[n-1].ID == f.CaseID {
		return
	}
	s.Cases = append(s.Cases, &compare.CaseTotals{
		Name: strings.Clone(f.Case), ID: strings.Clone(f.CaseID), Request: strings.Clone(f.RequestHash),
		Cluster: strings.Clone(f.Cluster), Quarantined: f.Quarantined,
	})
}
