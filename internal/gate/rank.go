package gate

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/evalrun/evalrun/compare"
	"github.com/evalrun/evalrun/diag"
	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/journal"
)

// RankBy says how to rank the arms of a run.
type RankBy struct {
	Suite  string          // the only one to rank; "" ranks all that have two arms
	Metric string          // pass, blocked, or a named metric
	Alpha  float64         // error rate of the set of the best
	Arms   []string        // the arms to rank, none for all
	Prices *eval.PriceList // nil takes those of the run
	Within float64         // name the arms that are worse than the best by less than this; 0: none
}

func (o *RankBy) takes(s *journal.SuiteSummary, side *compare.Side) bool {
	return side.Suite == s.Name && (len(o.Arms) == 0 || slices.Contains(o.Arms, side.Arm)) && hasArm(s, side.Arm)
}

// Rank ranks the arms of a run by suite. It returns an error for an unknown metric or arm.
func Rank(d *journal.Document, o RankBy) ([]compare.Ranking, error) {
	for _, arm := range o.Arms {
		if err := CheckArm(d, arm); err != nil {
			return nil, err
		}
	}
	sides, err := sidesOf(d, eval.OfPopulation)
	if err != nil {
		return nil, err
	}
	if err := rankedBy(sides, o.Metric); err != nil {
		return nil, err
	}
	if o.Prices == nil {
		o.Prices = pricesOf(d)
	}
	var out []compare.Ranking
	for i := range d.Summary.Suites {
		s := &d.Summary.Suites[i]
		if o.Suite != "" && s.Name != o.Suite {
			continue
		}
		arms := slices.DeleteFunc(slices.Clone(sides), func(side *compare.Side) bool { return !o.takes(s, side) })
		if len(arms) > 1 || o.Suite != "" && len(arms) > 0 {
			out = append(out, rankSuite(d, s, arms, o))
		}
	}
	if len(out) == 0 {
		return nil, eval.BadInput("the run %s has no suite with two arms, so there is nothing to rank", d.Run.ID)
	}
	return out, nil
}

// standings ranks the arms of a run that ended as planned by pass rate, where no verdict or rule is about the best of them.
func standings(d *journal.Document) []compare.Ranking {
	several := func(s journal.SuiteSummary) bool { return len(s.Arms) > 1 }
	if len(d.Ranking()) > 0 || d.Comparison() != nil || !d.End.Completed() || !slices.ContainsFunc(d.Summary.Suites, several) {
		return nil
	}
	all, err := Rank(d, RankBy{Metric: eval.MetricPass, Alpha: eval.DefaultAlpha})
	if err != nil { // no suite has two arms of its present version
		return nil
	}
	return slices.DeleteFunc(all, func(r compare.Ranking) bool { return Unrankable(d, r.Suite) != "" })
}

// hasArm reports whether the suite itself has an arm, rather than an earlier version that ran next to it.
func hasArm(s *journal.SuiteSummary, arm string) bool {
	return slices.ContainsFunc(s.Arms, func(a journal.ArmSummary) bool { return a.Name == arm }) &&
		!strings.Contains(arm, "@")
}

// rankedBy returns the error for a metric by which arms cannot be ranked, with the ones by which they can.
func rankedBy(sides []*compare.Side, metric string) error {
	known := []string{eval.MetricPass, eval.MetricBlocked}
	for _, s := range sides {
		for _, name := range s.Metrics {
			if !slices.Contains(known, name) {
				known = append(known, name)
			}
		}
	}
	switch {
	case slices.Contains(known, metric):
		return nil
	case overCases(metric):
		return eval.BadInput(
			"arms are not ranked by %s, which single cases do not have; --metric takes %s", metric, strings.Join(known, ", "),
		)
	case eval.IsRatio(metric):
		return eval.BadInput(
			"arms are not ranked by %s: a ranking shows it next to each arm; --metric takes %s", metric, strings.Join(known, ", "),
		)
	}
	return eval.BadInput(
		"the run has no metric %s to rank by, which each case has a value of between 0 and 1; %s", metric, diag.DidYouMean(metric, known),
	)
}

// overCases reports whether a metric is about all cases: of a classification, or a share of latencies.
func overCases(metric string) bool {
	of, _, single := strings.Cut(metric, ".")
	if single {
		return of == eval.MetricLatency || slices.Contains(
			[]string{eval.Precision, eval.Recall, eval.F1}, of,
		)
	}
	return slices.Contains(eval.OverallClassMetrics(), metric)
}

// rankSuite ranks the arms of one suite. After a race it only says which arms stayed, because the arms were
// not sent the same cases.
func rankSuite(d *journal.Document, s *journal.SuiteSummary, arms []*compare.Side, o RankBy) compare.Ranking {
	var r compare.Ranking
	raced, errors := raceIn(d, s.Name), optionsFor(nil, d, s.Name).MaxErrors
	if len(raced) > 0 || d.Run.Options().Race != "" && len(arms) > 1 { // the race has used up the error rate
		metric, alpha := gateConfig(d, s.Name).RaceBy(d.Run.Options())
		r = compare.RankRaced(arms, raced, compare.RankOptions{Metric: metric, Alpha: alpha, MaxErrors: errors})
		r.Race.Saved = notSent(s, raced)
		switch {
		case o.Metric != metric:
			r.Refuse("the arms raced on " + metric + ", and were not sent the same cases: rank by that")
		case len(o.Arms) > 0:
			r.Refuse("a race is about all of its arms: leave out --arms")
		case o.Within > 0:
			r.Refuse("the arms raced, and were not sent the same cases: --within needs a run without --race")
		}
	} else {
		r = compare.Rank(arms, compare.RankOptions{
			Metric: o.Metric, Alpha: o.Alpha, MaxErrors: errors, Seed: comparisonSeed, Within: o.Within,
		})
	}
	if why := Unrankable(d, s.Name); why != "" && (len(raced) == 0 || why != unequal) {
		r.Refuse(why)
	}
	for _, arm := range arms {
		r.Judges = append(r.Judges, judgesOn(d, s.Name, arm.Arm, r.Metric)...)
	}
	currency := ""
	if o.Prices != nil {
		currency = o.Prices.Currency
	}
	r.Price(currency, func(arm string) compare.Taken {
		at := slices.IndexFunc(arms, func(s *compare.Side) bool { return s.Arm == arm })
		return TakenBy(d, arms[at], o.Prices)
	})
	return r
}

// pricesOf is the price list of a run, nil without one.
func pricesOf(d *journal.Document) *eval.PriceList {
	var list eval.PriceList
	if len(d.Run.Prices) == 0 || json.Unmarshal(d.Run.Prices, &list) != nil {
		return nil
	}
	return &list
}

// unequal says why only the race itself can rank arms that raced.
const unequal = "the arms raced, and were not sent the same cases"

// Unrankable says why a run cannot rank the arms of a suite, whatever their results, "" if it can. It
// cannot if it is a shard, if its cases were selected by outcome, or if some arms were sent fewer cases.
func Unrankable(d *journal.Document, suite string) string {
	if shard := d.Run.Plan.Shard; shard != nil {
		return fmt.Sprintf("this is shard %d of %d: merge them first", shard.Index, shard.Of)
	}
	if why := chosenByOutcome("the run", d); why != "" {
		return why
	}
	for _, stop := range d.Stops {
		of := stop.Stopped()
		if of.Suite != suite {
			continue
		}
		switch stop.(type) {
		case *eval.RaceExit:
			return unequal
		case *eval.KnownVerdict, *eval.BaseExit:
			return fmt.Sprintf("%s stopped early, when its verdict was known: the arms were not sent the same cases", of.Arm)
		}
	}
	return ""
}

// notSent counts the trials of arms that left a race and were not sent.
func notSent(s *journal.SuiteSummary, left map[string]int) (n int) {
	for i := range s.Arms {
		if _, gone := left[s.Arms[i].Name]; gone {
			n += s.Arms[i].Counts.Skip
		}
	}
	return n
}

// raceIn returns the arms of a suite that left a race, with the number of units after which each left.
func raceIn(d *journal.Document, suite string) map[string]int {
	out := map[string]int{}
	for _, stop := range d.Stops {
		if left, ok := stop.(*eval.RaceExit); ok && left.Suite == suite {
			out[left.Arm] = left.Units
		}
	}
	return out
}

// best applies the rule about the arm that must be among the best.
func (r *rulings) best(rule *eval.BestRule) {
	found := journal.GateRule{RuleName: journal.RuleBest, Arm: rule.Arm, Limit: rule.Alpha}
	if rule.Within > 0 {
		found.RuleName, found.Limit = journal.RuleWithin, rule.Within
	}
	verdict := eval.Invalid
	all, err := Rank(r.doc, RankBy{Suite: r.suite.Name, Metric: rule.Metric, Alpha: rule.Alpha, Within: rule.Within})
	r.ranked = append(r.ranked, all...)
	at := -1
	if err == nil {
		at = slices.IndexFunc(all[0].Arms, func(a compare.RankedArm) bool { return a.Arm == rule.Arm })
	}
	switch {
	case err != nil:
		found.Why = err.Error()
	case all[0].Why != "":
		found.Why = all[0].Why
	case at < 0:
		found.Why = "the run has no trials of it"
	case rule.Within > 0:
		verdict, found.Why = all[0].Arms[at].Verdict, all[0].WhyWithin(at)
	case !slices.Contains(all[0].Best(), rule.Arm):
		verdict, found.Why = eval.Regressed, "it is ruled out: the best is "+oneOf(all[0].Best())
	case rule.Sole && len(all[0].Best()) > 1:
		verdict = eval.Inconclusive
		found.Why = fmt.Sprintf("it is one of %d arms that may be the best: %s", len(all[0].Best()), few(all[0].Best()))
	default:
		verdict, found.Why = eval.NotWorse, "the best is "+oneOf(all[0].Best())
	}
	r.verdict(found, verdict, eval.OnFail)
}

func oneOf(arms []string) string {
	if len(arms) == 1 {
		return arms[0]
	}
	return "one of " + few(arms)
}

// fewArms bounds the arms that a rule lists; rankings have all.
const fewArms = 6

func few(arms []string) string {
	if more := len(arms) - fewArms; more > 0 {
		return strings.Join(arms[:fewArms], ", ") + fmt.Sprintf(" and %d more", more)
	}
	return strings.Join(arms, ", ")
}

// afterRace returns the ranking of a suite whose arms raced without a rule about the best.
func afterRace(d *journal.Document, suite string) []compare.Ranking {
	o := d.Run.Options()
	if o.Race == "" || len(raceIn(d, suite)) == 0 {
		return nil
	}
	metric, alpha := gateConfig(d, suite).RaceBy(o)
	all, err := Rank(d, RankBy{Suite: suite, Metric: metric, Alpha: alpha})
	if err != nil { // the metric is nowhere, since nothing was judged
		return nil
	}
	return all
}

// TakenBy returns an arm's average cost of a trial, without judges. prices may be nil.
func TakenBy(d *journal.Document, arm *compare.Side, prices *eval.PriceList) compare.Taken {
	t := compare.Taken{Cost: costOf(d, arm, prices)}
	var tokens eval.Sum
	for _, c := range arm.Cases {
		if !c.Quarantined {
			tokens.Total, tokens.N = tokens.Total+c.Tokens.Total, tokens.N+c.Tokens.N
		}
	}
	if x, ok := tokens.Mean(); ok && x > 0 {
		t.Tokens = &x
	}
	if v, ok := d.LatencyQuantile(arm.Suite, arm.Arm, 0.5); ok {
		t.LatencyP50Ms = &v
	}
	if v, ok := d.LatencyQuantile(arm.Suite, arm.Arm, 0.95); ok {
		t.LatencyP95Ms = &v
	}
	return t
}

// costOf is the mean cost of the arm's scored trials; nil where the list does not name the model of one, or its tokens are unknown.
func costOf(d *journal.Document, arm *compare.Side, prices *eval.PriceList) *float64 {
	if prices == nil {
		return nil
	}
	var cost eval.Sum
	for i := range d.Len() {
		k := d.Indexed(i)
		if k.Suite != arm.Suite || k.Arm != arm.Arm || k.Outcome != eval.Pass && k.Outcome != eval.Fail {
			continue
		}
		r, err := d.Trial(i)
		if err != nil || r.Usage == nil {
			return nil
		}
		one, known := prices.OfTrial(r.Model, r.Usage, r.ModelCalls())
		if !known {
			return nil
		}
		cost.Add(one)
	}
	if x, ok := cost.Mean(); ok {
		return &x
	}
	return nil
}

// ArmNames are the names of the arms of a run, each once.
func ArmNames(d *journal.Document) (names []string) {
	for _, s := range d.Summary.Suites {
		for i := range s.Arms {
			if name := s.Arms[i].Name; !slices.Contains(names, name) {
				names = append(names, name)
			}
		}
	}
	return names
}

// CheckArm says that a run has no such arm.
func CheckArm(d *journal.Document, arm string) error {
	names := ArmNames(d)
	if slices.Contains(names, arm) {
		return nil
	}
	return eval.BadInput("the run %s has no arm %s; %s", d.Run.ID, arm, diag.DidYouMean(arm, names))
}
