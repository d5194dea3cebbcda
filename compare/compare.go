// Package compare pairs the cases of two arms and decides whether one is worse than the other. The result is an
// estimate, an interval, and, with a margin, a verdict whose error rates are bounded.
//
// The case is the unit: its repeats are averaged first, and cases of one cluster count as one. Cases are paired by
// their requests, never by their place. It refuses to compare what is not comparable, and says why; it reads no
// files.
//
// The usual order: a Side for each arm, Compare for each pair of arms, Decide over all of them.
package compare

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"github.com/evalrun/evalrun/diag"
	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/stats"
)

// Side is what a comparison needs of an arm of a suite in a run.
type Side struct {
	Run, Suite, Arm string
	Partial         bool // the run is not complete
	// NotRun are cases of the suite that the run left out by its selection. Unlisted reports whether a case may be another one
	// of them; nil when NotRun has all. UnknownCoverage says that the run does not record what it left out.
	NotRun          []*eval.NotRun
	Unlisted        func(*CaseTotals) bool
	UnknownCoverage bool
	Metrics         []string
	Cases           []*CaseTotals // in the order of the plan
	Categories      []Category
	Versions        []string // of the models that answered, as the service reports them
	// Classes are the classes of the suite's classification, and ClassPairs the distinct classifications of its cases;
	// both are nil without one.
	Classes    []string
	ClassPairs []eval.Pair
}

// CaseTotals is a case on an arm, summed over its repeats.
type CaseTotals struct {
	Name, ID, Scorers, Cluster string
	Vars                       string // hash of its variables; "" when the run does not record it
	Request                    string // hash of the rendered request; "" when the run does not record it
	Folded                     string // hash of the prompt without differences of form; "" when the run does not record it
	Tags                       []string
	Quarantined                bool
	FormerScorers              string // hash of the scorers of before its answers were scored again; "" when they were not
	Passed, Failed, Errors     int
	Ran, Blocked               int
	Unused                     int // trials that did not run, or were left out, because the verdict was known early
	LatencyMs, Tokens          eval.Sum
	Metrics                    []eval.Sum // in the order of Side.Metrics
	HeadPreferred              eval.Sum   // a judge's preferences over the other side: 1 won, 0.5 tie, 0 lost
	Contradicted               eval.Sum   // over pairs of different answers: 1 where the preference changed with their order
	First                      eval.Sum   // over the judge's rulings for one answer: 1 where it preferred the first
	Classes                    []ClassCount
	Answers                    []uint64 // hashes of the ids of its answers, of those that have one
	TrialAt                    int64    // offset in the run file of a failed trial, else of the first; 0: not known
	// Repeats has the values of each repeat if the estimand is the suite: pass, blocked and then Side.Metrics, where
	// missing ones are NaN. A repeat that could not be judged is nil.
	Repeats [][]float64
	// Alike says that all repeats, at a temperature above 0, got the same answer.
	Alike bool
}

// PassRate is the share of scored repeats that passed, false when none was scored.
func (c *CaseTotals) PassRate() (float64, bool) {
	return eval.Sum{Total: float64(c.Passed), N: c.Passed + c.Failed}.Mean()
}

// Of is the case's total for a metric.
func (c *CaseTotals) Of(s *Side, metric string) eval.Sum {
	switch metric {
	case eval.MetricPass:
		return eval.Sum{Total: float64(c.Passed), N: c.Passed + c.Failed}
	case eval.MetricBlocked:
		return eval.Sum{Total: float64(c.Blocked), N: c.answered()}
	}
	if at := slices.Index(s.Metrics, metric); at >= 0 && at < len(c.Metrics) {
		return c.Metrics[at]
	}
	return eval.Sum{}
}

func (c *CaseTotals) answered() int { return c.Ran - c.Errors }

func (c *CaseTotals) blockRate() (float64, bool) {
	return eval.Sum{Total: float64(c.Blocked), N: c.answered()}.Mean()
}

// Category counts the answers of an arm by their rating in a safety category.
type Category struct {
	Name                 string
	Rated, High, Blocked int
}

// Options configure a comparison.
type Options struct {
	Alpha     float64             // one-sided error rate of a decision; the interval has the level 1-2*Alpha
	Margins   []eval.MetricMargin // the metrics that get a verdict; none: estimates only
	MaxErrors float64             // share of errors above which a side is not comparable
	Seed      uint64              // of the resampling tests
	Estimand  eval.Estimand       // "" is OfPopulation
	Extended  bool                // head grew after a look: only tests that hold at all times decide
	// EarlyVerdict is the early stop of head's arm that this comparison explains; nil without one.
	EarlyVerdict *eval.KnownVerdict
	// MinPaired is the least share of the baseline cases covered by head that must be compared; 0 means no minimum.
	MinPaired float64
	// Selected reports whether head has to cover a case of the baseline, by its name and tags there; nil means all.
	Selected func(*CaseTotals) bool
	// SameAnswers says that scorers are compared, on answers that both sides have, and Replayed that head's answers are
	// recorded ones.
	SameAnswers, Replayed bool
	// Accepted are patterns of cases of the baseline that head may lose without a consequence.
	Accepted eval.Accepted
}

// Compare compares an arm with its baseline. Decide adds the verdicts.
func Compare(base, head *Side, o Options) ArmComparison {
	p := pairUp(base, head, &o)
	p.MinPaired = o.MinPaired
	scored, measured := p.scored, p.scored
	var notes []string
	if o.Estimand == eval.OfSuite { // what could not be judged counts too
		measured, notes = p.all(), []string{"about these " + diag.Count(p.Paired, "case")}
		if p.Paired == 1 {
			notes[0] = "about this case"
		}
	}
	c := ArmComparison{
		EarlyVerdict: o.EarlyVerdict,
		Suite:        head.Suite,
		BaseArm:      base.Arm,
		HeadArm:      head.Arm,
		Estimand:     cmp.Or(o.Estimand, eval.OfPopulation),
		Cases:        p.Pairing,
		Notes:        notes,
		Metrics:      []MetricComparison{},
	}
	for _, note := range []string{p.acceptedNote(), p.rescoredNote()} {
		if note != "" {
			c.Notes = append(c.Notes, note)
		}
	}
	m := newMeasure(o, measured)
	c.Cases.Units = m.units(eval.MetricPass, base, head).n
	c.Cases.CallsPerCase, c.Cases.TokensPerCase = costs(scored)
	c.Cases.Duplicates = m.groups.duplicates(scored)
	for _, metric := range o.metricsOf(base, head, m.hasPreferences()) {
		one := m.metric(metric, base, head)
		if g, gated := o.gatedAs(metric); gated {
			one.Gated, one.Margin = true, &g.Margin
			m.atWorst(&one, &p, base, head)
		}
		if one.N > 0 || one.Gated {
			c.Metrics = append(c.Metrics, one)
		}
	}
	for i, g := range o.Margins { // a missing metric must not count as "not worse"
		if !slices.ContainsFunc(c.Metrics, func(m MetricComparison) bool { return m.Name == g.Name }) {
			c.Metrics = append(c.Metrics, MetricComparison{
				Name:          g.Name,
				MetricChange:  MetricChange{Level: 1 - 2*o.Alpha},
				MetricTests:   MetricTests{Gated: true, Margin: &o.Margins[i].Margin},
				MetricVerdict: MetricVerdict{Advice: "no case has this metric on both sides"},
			})
		}
	}
	c.Why = incomparable(base, head, p, o)
	if o.Estimand == eval.OfSuite {
		c.Why = cmp.Or(c.Why, looksCached(base, "the baseline"), looksCached(head, "the run"))
	}
	if !o.SameAnswers {
		c.oneAnswer(scored, o.Replayed)
		if o.Estimand != eval.OfSuite {
			c.Cases.Questions = m.groups.questions(scored)
		}
	}
	c.Flips = flips(scored)
	c.sendsFor(scored)
	c.Slices = m.slices()
	c.Safety = safety(base.Categories, head.Categories)
	c.Points = m.points(c.Metrics, base, head)
	return c
}

// oneAnswer counts the pairs whose answers are one recorded answer on both sides. They show nothing about a change.
func (c *ArmComparison) oneAnswer(pairs []pair, replayed bool) {
	n := 0
	for _, p := range pairs {
		if recordedIn(p.head, p.base) || recordedIn(p.base, p.head) { // an extension has more repeats than the run it extends
			n++
		}
	}
	c.Cases.OneAnswer = n
	why := fmt.Sprintf("the answers of all %s are the same recorded ones on both sides", diag.Count(n, "pair"))
	switch {
	case n == 0:
	case n < len(pairs):
		c.Notes = append(c.Notes, fmt.Sprintf("%d of %s are one recorded answer each", n, diag.Count(len(pairs), "pair")))
	case replayed && c.Why == "":
		c.NotCompared = why
	default:
		c.Why = cmp.Or(c.Why, why+", so they cannot show a change: run again, without --cache or --extend")
	}
}

// recordedIn reports whether all answers of a case are among those of another one.
func recordedIn(c, other *CaseTotals) bool {
	lacks := func(id uint64) bool { return !slices.Contains(other.Answers, id) }
	return len(c.Answers) > 0 && len(c.Answers) == c.answered() && !slices.ContainsFunc(c.Answers, lacks)
}

// atWorst tests a metric again with each error of head, and each case that head lost, at its worst possible value:
// what has no value must not be the reason why nothing got worse.
func (m *measure) atWorst(c *MetricComparison, paired *paired, base, head *Side) {
	all := m.pairs
	if m.Estimand != eval.OfSuite { // whose tests have each error at its worst
		all = slices.Concat(paired.scored, paired.errored)
		c.HeadErrors = m.withoutValue(c.Name, all, base, head)
	}
	if c.Lost = len(paired.lost); c.PNonInferior == nil || c.Lost == 0 && (c.HeadErrors == 0 || m.Estimand == eval.OfSuite) {
		return
	}
	worst := newMeasure(m.Options, slices.Concat(all, paired.lost))
	worst.worst, worst.testsOnly = true, true
	w := worst.metric(c.Name, base, head)
	c.PWithErrors = &[2]float64{orOne(w.PNonInferior), orOne(w.PBetter)}
	c.unseen = paired.unseen(c.HeadErrors)
}

// withoutValue counts the errors of head, and the cases that are scored but have no value of the metric.
func (m *measure) withoutValue(metric string, pairs []pair, base, head *Side) (n int) {
	ofBase, ofHead := m.values(metric, base, head)
	for _, p := range pairs {
		n += p.head.Errors
		_, before := ofBase(p.base)
		if _, now := ofHead(p.head); before && !now && p.head.Errors == 0 && !eval.IsRatio(metric) && metric != eval.MetricPreference {
			n++
		}
	}
	return n
}

func costs(pairs []pair) (calls, tokens float64) {
	for _, p := range pairs {
		calls += float64(p.head.Ran)
		tokens += p.head.Tokens.Total
	}
	n := float64(max(1, len(pairs)))
	return calls / n, tokens / n
}

func (o *Options) metricsOf(base, head *Side, preferences bool) []string {
	out := []string{eval.MetricPass}
	if preferences {
		out = append(out, eval.MetricPreference)
	}
	for _, name := range head.Metrics {
		if slices.Contains(base.Metrics, name) && !slices.Contains(out, name) {
			out = append(out, name)
		}
	}
	ofClasses := []string{eval.MacroF1, eval.WeightedF1, eval.Kappa} // which are shown after the accuracy
	for _, gated := range o.Margins {
		ofClasses = append(ofClasses, gated.Name)
	}
	for _, name := range ofClasses {
		if isClassMetric(name, base, head) && !slices.Contains(out, name) {
			out = append(out, name)
		}
	}
	return append(out, eval.MetricBlocked, eval.MetricLatency, eval.MetricTokens)
}

// incomparable explains why two sides cannot be compared, "" when they can.
func incomparable(base, head *Side, p paired, o Options) string {
	switch {
	case base.Run == head.Run && base.Arm == head.Arm:
		return "it is the same run on both sides; compare two of its arms, or two runs"
	case base.Partial:
		return "the baseline is not complete"
	case head.Partial:
		return "the run is not complete"
	case p.Of == 0 && p.Unselected > 0 && o.MinPaired > 0:
		return tooFew(&p.Pairing, o.MinPaired)
	case len(p.scored) == 0 && p.Paired == 0:
		return "no case is in both"
	case len(p.scored) == 0:
		return "no case was scored on both sides"
	}
	return cmp.Or(tooFew(&p.Pairing, o.MinPaired), tooManyErrors(base, head, o.MaxErrors))
}

// tooManyErrors explains that a side has more errors than accepted, or far more than the other; "" when neither
// has.
func tooManyErrors(base, head *Side, most float64) string {
	before, after := errorsOf(base), errorsOf(head)
	for _, side := range []struct {
		name string
		eval.Sum
	}{{"the baseline", before}, {"the run", after}} {
		if share, ok := side.Mean(); ok && share > most {
			return fmt.Sprintf("%s of the trials of %s are errors, more than %g %%", diag.Percent(share), side.name, 100*most)
		}
	}
	if twoSided, _ := stats.FisherExact(int(before.Total), before.N, int(after.Total), after.N); twoSided < 0.01 {
		return "one side has far more errors than the other: what could not be judged is not like the rest"
	}
	return ""
}

// tooFew explains that too few cases of the baseline are compared, and which flag accepts that; "" when there are
// enough.
func tooFew(p *Pairing, minPaired float64) string {
	share, ok := eval.Sum{Total: float64(p.Compared), N: p.Of}.Mean()
	lessThan := fmt.Sprintf("less than %g %%", 100*minPaired)
	accept := fmt.Sprintf("--min-paired %.2f accepts it", math.Floor(100*share)/100)
	covered := p.Compared + len(p.Changed) + len(p.Added)
	switch {
	case !ok && minPaired > 0 && p.Unselected > 0:
		return "--case, --tag and --sample take none of the cases of the baseline, by their names and tags there"
	case p.UnknownCoverage && minPaired*float64(covered) > float64(p.Of):
		return fmt.Sprintf(
			"coverage unknown: an earlier version wrote the baseline, without the cases of its suite that did not run. It has %d, %s "+
				"of the run's %d: run the baseline again", p.Of, lessThan, covered,
		)
	case !ok || share >= minPaired:
		return ""
	case len(p.NotRun) > 0:
		return fmt.Sprintf(
			"compared %d of %d cases, %s: the baseline did not run %d of them. Compare with a run of the whole suite, or select the "+
				"same cases; %s", p.Compared, p.Of, lessThan, len(p.NotRun), accept,
		)
	}
	why := fmt.Sprintf("%d of %s of the baseline %s compared, %s: %s", p.Compared, diag.Count(p.Of, "case"),
		diag.Verb(cmp.Or(p.Compared, p.Of), "is", "are"), lessThan, accept)
	if byName := p.acceptance(); byName != "" {
		why += ", and " + byName + " accepts cases by name"
	}
	return why
}

func errorsOf(s *Side) (out eval.Sum) {
	for _, c := range s.Cases {
		if !c.Quarantined {
			out.Total += float64(c.Errors)
			out.N += c.Ran
		}
	}
	return out
}

// safety pairs the safety categories of both sides.
func safety(base, head []Category) []CategoryComparison {
	var out []CategoryComparison
	at := func(name string) *CategoryComparison {
		i := slices.IndexFunc(out, func(c CategoryComparison) bool { return c.Category == name })
		if i < 0 {
			i, out = len(out), append(out, CategoryComparison{Category: name})
		}
		return &out[i]
	}
	share := func(n, of int) float64 { return float64(n) / float64(max(1, of)) }
	for _, b := range base {
		c := at(b.Name)
		c.BaseRated, c.BaseHigh, c.BaseBlocked = b.Rated, share(b.High, b.Rated), share(b.Blocked, b.Rated)
	}
	for _, h := range head {
		c := at(h.Name)
		c.HeadRated, c.HeadHigh, c.HeadBlocked = h.Rated, share(h.High, h.Rated), share(h.Blocked, h.Rated)
	}
	slices.SortFunc(out, func(a, b CategoryComparison) int { return cmp.Compare(a.Category, b.Category) })
	return out
}
