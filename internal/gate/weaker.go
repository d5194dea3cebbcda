package gate

import (
	"cmp"
	"fmt"
	"math"
	"time"

	"github.com/evalrun/evalrun/compare"
	"github.com/evalrun/evalrun/diag"
	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/text"
	"github.com/evalrun/evalrun/journal"
	"github.com/evalrun/evalrun/suite"
)

// caseRules are what decides, besides the kinds of scorers, whether a case passes and how much it counts.
type caseRules struct {
	threshold   float64 // infinite: every scorer must pass
	weights     []float64
	required    []bool
	texts       string // of the scorers in the suite; "" where they are not known
	cluster     string
	repeats     int // as the suite has them; 0 where it is not known
	quarantined bool
}

func newCaseRules(threshold *float64) caseRules {
	if threshold == nil {
		return caseRules{threshold: math.Inf(1)}
	}
	return caseRules{threshold: *threshold}
}

func (r *caseRules) scorer(weight float64, required bool) {
	r.weights, r.required = append(r.weights, weight), append(r.required, required)
}

type weakerCases struct{ thresholds, scorers, weights, others, clusters, repeats, quarantined int }

func (n *weakerCases) add(was, is caseRules) {
	count := func(to *int, weaker bool) {
		if weaker {
			*to++
		}
	}
	less := false
	for i := range min(len(was.weights), len(is.weights)) {
		less = less || is.weights[i] < was.weights[i] || was.required[i] && !is.required[i]
	}
	count(&n.thresholds, is.threshold < was.threshold)
	count(&n.scorers, len(is.weights) < len(was.weights))
	count(&n.weights, less)
	count(&n.others, is.texts != was.texts)
	count(&n.clusters, is.cluster != was.cluster && is.cluster != "")
	count(&n.repeats, is.repeats < was.repeats)
	count(&n.quarantined, is.quarantined && !was.quarantined)
}

func (n *weakerCases) texts() (out []string) {
	for _, one := range []struct {
		n    int
		what string
	}{
		{n.thresholds, "a lower threshold"},
		{n.scorers, "fewer scorers"},
		{n.weights, "a scorer that weighs less"},
		{n.others, "other scorers"},
		{n.clusters, "a new cluster"},
		{n.repeats, "fewer repeats"},
		{n.quarantined, "a new quarantine"},
	} {
		if one.n > 0 {
			out = append(out, fmt.Sprintf("%s in %s", one.what, diag.Count(one.n, "case")))
		}
	}
	return out
}

// weakerSuite lists what is weaker in the cases of a suite than in those of the same names in another version of it.
func weakerSuite(was, is *suite.Suite) []string {
	if was == nil {
		return nil
	}
	now := time.Now().UTC().Format(time.RFC3339)
	rules := func(c *suite.Case) caseRules {
		r := newCaseRules(c.Threshold)
		for _, s := range c.Scorers {
			r.scorer(s.Weight, s.Required)
			r.texts += string(s.JSON()) + "\n"
		}
		r.cluster, r.repeats, r.quarantined = c.Cluster, c.Repeats, c.Quarantine.Holds(now)
		return r
	}
	before := map[string]caseRules{}
	for c := range was.Cases() {
		before[c.Name] = rules(c)
	}
	var n weakerCases
	for c := range is.Cases() {
		if of, known := before[c.Name]; known {
			n.add(of, rules(c))
		}
	}
	return n.texts()
}

// mostRead bounds the cases whose trials are read for a list of what is weaker.
const mostRead = 1000

// weakerArm lists what is weaker in the cases of an arm than in those of the same names in the baseline.
func weakerArm(p armPair, base, head *journal.Document) []string {
	before := make(map[string]*compare.CaseTotals, len(p.base.Cases))
	for _, c := range p.base.Cases {
		before[c.Name] = c
	}
	var n weakerCases
	read := 0
	for _, c := range p.head.Cases {
		of := before[c.Name]
		if of == nil {
			continue
		}
		var was, is caseRules
		if cmp.Or(of.FormerScorers, of.Scorers) != c.Scorers && read < mostRead {
			read++
			if before, ok := recordedRules(base, of); ok {
				if now, ok := recordedRules(head, c); ok {
					was, is = before, now
				}
			}
		}
		was.cluster, was.quarantined, is.cluster, is.quarantined = of.Cluster, of.Quarantined, c.Cluster, c.Quarantined
		n.add(was, is)
	}
	return n.texts()
}

// recordedRules are those of a case in a run; false where none of its trials was scored.
func recordedRules(d *journal.Document, c *compare.CaseTotals) (r caseRules, ok bool) {
	if c.TrialAt == 0 {
		return r, false
	}
	t, err := d.TrialAt(c.TrialAt)
	if err != nil || t.Outcome() != eval.Pass && t.Outcome() != eval.Fail {
		return r, false
	}
	r = newCaseRules(t.Threshold)
	for _, s := range t.Scores {
		r.scorer(s.Weight, s.Required)
	}
	return r, true
}

// weakerThan says what is weaker in the gate of a suite of head, and in the cases of an arm, than in those of base. The rule of a
// comparison counts as the gate's own.
func weakerThan(base, head *journal.Document, p armPair, what Comparing) []string {
	s := runSuite(head, p.head.Suite)
	if s == nil {
		return nil
	}
	of := eval.GateOrigin{Name: cmp.Or(what.Base, base.Run.ID)}
	if what.Gate && s.GateOf != nil {
		of = *s.GateOf
	} else if base != head {
		own := &eval.GateConfig{}
		if s.Gate != nil {
			*own = *s.Gate
		}
		if rule := what.Rules(p.head.Suite); rule != nil {
			own.Baseline = rule
		}
		before := gateConfig(base, p.head.Suite)
		if before != nil {
			_, of.Weaker = stricter(before, own)
		}
		if own.Baseline != nil && (before == nil || before.Baseline == nil) {
			var w weakened
			w.accepted(&eval.BaselineRule{}, &eval.BaselineRule{}, own.Baseline)
			of.Weaker = append(of.Weaker, w.texts...)
		}
	}
	if base != head {
		of.Cases = joined(of.Cases, weakerArm(p, base, head))
	}
	return text.Weaker(&of)
}
