package gate

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/evalrun/evalrun/diag"
	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/text"
	"github.com/evalrun/evalrun/journal"
	"github.com/evalrun/evalrun/suite"
)

// stricter returns the stricter rule of two gates, key by key, and lists what is weaker in own than in of. The error rate of a verdict
// is always that of `of`, because a smaller one is neither stricter nor weaker: it moves doubt from one verdict to another.
func stricter(of, own *eval.GateConfig) (both *eval.GateConfig, weaker []string) {
	both = new(*own)
	var w weakened
	both.PassRateBound = w.bound(of, both)
	for _, rule := range eval.GateLimits() {
		a, b := *rule.Share(of), *rule.Share(both)
		if rule.Name == string(journal.RuleErrors) {
			a, b = new(of.MostErrors()), new(both.MostErrors())
		}
		*rule.Share(both) = w.limit(rule.Name, rule.Bound == "min", a, b)
	}
	if of.Integrity != "" && own.Integrity == "" {
		w.note("the rule %s is gone, was %s", journal.RuleIntegrity, of.Integrity)
		both.Integrity = of.Integrity
	}
	both.FailuresMax = w.limit("failures", false, of.FailuresMax, both.FailuresMax)
	both.LatencyP95Ms = w.limit("latency p95", false, of.LatencyP95Ms, both.LatencyP95Ms)
	both.Means = w.means("mean ", of.Means, both.Means)
	both.Classification = w.means("classification ", of.Classification, both.Classification)
	both.Best = w.best(of.Best, both.Best)
	both.Judges = w.judges(of.Judges, both.Judges)
	both.Baseline = w.baseline(of.Baseline, both.Baseline)
	both.Drift = w.drift(of.Drift, both.Drift)
	return both, w.texts
}

// weakened collects in words what is weaker in a gate than in another.
type weakened struct{ texts []string }

func (w *weakened) note(format string, args ...any) {
	w.texts = append(w.texts, fmt.Sprintf(format, args...))
}

// limit is the stricter of two limits, nil for none.
func (w *weakened) limit(name string, least bool, of, own *float64) *float64 {
	switch {
	case of == nil:
		return own
	case own == nil:
		w.note("the rule %s is gone, was %g", name, *of)
		return of
	case least && *own < *of, !least && *own > *of:
		w.note("%s %g, was %g", name, *own, *of)
		return of
	}
	return own
}

// bound is the stricter way to judge a pass rate. A bound that has to be reached is stricter than the rate seen, and one that
// only must not be missed is weaker.
func (w *weakened) bound(of, own *eval.GateConfig) *eval.BoundRule {
	if of.PassRateMin == nil || own.PassRateMin == nil {
		if own.PassRateMin == nil {
			return of.PassRateBound
		}
		return own.PassRateBound
	}
	strictness := func(b *eval.BoundRule) (kind int, alpha float64) {
		switch {
		case b == nil:
			return 2, 0
		case b.OnInconclusive == eval.OnFail:
			return 3, -b.Alpha
		}
		return slices.Index([]eval.OnInconclusive{eval.OnPass, eval.OnWarn}, b.OnInconclusive), b.Alpha
	}
	was, wasAlpha := strictness(of.PassRateBound)
	if is, isAlpha := strictness(own.PassRateBound); is > was || is == was && isAlpha >= wasAlpha {
		return own.PassRateBound
	}
	w.note("alpha or onInconclusive of passRate is weaker")
	return of.PassRateBound
}

func (w *weakened) means(kind string, of, own []eval.MeanMin) []eval.MeanMin {
	both := slices.Clone(own)
	for _, a := range of {
		at := slices.IndexFunc(both, func(m eval.MeanMin) bool { return m.Metric == a.Metric })
		if at < 0 {
			w.note("the rule %s%s is gone, was %g", kind, a.Metric, a.Min)
			both = append(both, a)
			continue
		}
		both[at].Min = *w.limit(kind+a.Metric, true, &a.Min, &both[at].Min)
	}
	return both
}

// drift keeps the rules of both. One that looks at other nights, or that only warns, is weaker.
func (w *weakened) drift(of, own []eval.DriftRule) []eval.DriftRule {
	both := slices.Clone(own)
	for _, a := range of {
		at := slices.IndexFunc(both, func(r eval.DriftRule) bool { return r.Metric == a.Metric })
		switch {
		case at < 0:
			w.note("the rule %s is gone", journal.RuleDrift(a.Metric))
			both = append(both, a)
		case both[at].Nights != a.Nights || both[at].OnAlarm == eval.OnWarn && a.OnAlarm != eval.OnWarn:
			w.note("runs or onAlarm of %s is another one", journal.RuleDrift(a.Metric))
			both[at] = a
		}
	}
	return both
}

func (w *weakened) judges(of, own *eval.JudgesRule) *eval.JudgesRule {
	if of == nil {
		return own
	}
	if own == nil {
		own = &eval.JudgesRule{}
	}
	return &eval.JudgesRule{
		Sensitivity: w.limit("sensitivity of judges", true, of.Sensitivity, own.Sensitivity),
		Specificity: w.limit("specificity of judges", true, of.Specificity, own.Specificity),
		Kappa:       w.limit("kappa of judges", true, of.Kappa, own.Kappa),
	}
}

func (w *weakened) best(of, own *eval.BestRule) *eval.BestRule {
	switch {
	case of == nil:
		return own
	case own == nil:
		w.note("the rule best is gone, was %s", of.Arm)
	case *own != *of:
		w.note("another rule best")
	}
	return of
}

func (w *weakened) baseline(of, own *eval.BaselineRule) *eval.BaselineRule {
	switch {
	case of == nil:
		return own
	case own == nil:
		w.note("the rule baseline is gone")
		return of
	}
	both := *of
	if own.Alpha > of.Alpha {
		w.note("alpha %g, was %g", own.Alpha, of.Alpha)
	}
	order := []eval.OnInconclusive{eval.OnPass, eval.OnWarn, eval.OnFail}
	if strict := slices.Index(order, own.OnInconclusive) - slices.Index(order, of.OnInconclusive); strict > 0 {
		both.OnInconclusive = own.OnInconclusive
	} else if strict < 0 {
		w.note("onInconclusive %s, was %s", own.OnInconclusive, of.OnInconclusive)
	}
	both.MinPaired = w.limit("minPaired", true, new(of.LeastPaired()), new(own.LeastPaired()))
	both.Metrics = w.margins(of.Metrics, own.Metrics)
	both.StopEarly = of.StopEarly || own.StopEarly
	if own.Estimand != eval.OfSuite {
		both.Estimand = own.Estimand
	} else if of.Estimand != eval.OfSuite {
		w.note("estimand suite, was population")
	}
	if own.Looks < of.Looks {
		w.note("looks %d, was %d", own.Looks, of.Looks)
	}
	w.accepted(&both, of, own)
	switch {
	case of.Total == nil:
		both.Total = own.Total
	case own.Total == nil:
		w.note("the rule total is gone, was %g", of.Total.Margin)
	default:
		total := *of.Total
		total.Margin = *w.limit("margin in total", false, &of.Total.Margin, &own.Total.Margin)
		both.Total = &total
	}
	return &both
}

// accepted makes the patterns of both rules those of a third.
func (w *weakened) accepted(both, of, own *eval.BaselineRule) {
	both.AllowRemoved = w.globs("allowRemoved", of.AllowRemoved, own.AllowRemoved)
	both.Accepted = eval.Accepted{
		Removed:     w.globs("accepted.removed", of.Accepted.Removed, own.Accepted.Removed),
		Changed:     w.globs("accepted.changed", of.Accepted.Changed, own.Accepted.Changed),
		Quarantined: w.globs("accepted.quarantined", of.Accepted.Quarantined, own.Accepted.Quarantined),
	}
}

func (w *weakened) margins(of, own []eval.MetricMargin) []eval.MetricMargin {
	both := slices.Clone(own)
	for _, a := range of {
		at := slices.IndexFunc(both, func(m eval.MetricMargin) bool { return m.Name == a.Name })
		if at < 0 {
			w.note("%s is no longer compared, was by a margin of %g", a.Name, a.Margin)
			both = append(both, a)
			continue
		}
		b, word := &both[at], "margin"
		if eval.IsRatio(a.Name) {
			word = "limit"
		}
		b.Margin = *w.limit(word+" of "+a.Name, false, &a.Margin, &b.Margin)
		if b.Cap != a.Cap {
			w.note("cap of %s %g, was %g", a.Name, b.Cap, a.Cap)
			b.Cap = a.Cap
		}
		if a.Strict && !b.Strict {
			w.note("%s is not strict any more", a.Name)
			b.Strict = true
		}
	}
	return both
}

// globs are the entries that both lists have.
func (w *weakened) globs(name string, of, own []string) (both []string) {
	for _, glob := range own {
		if slices.Contains(of, glob) {
			both = append(both, glob)
			continue
		}
		w.note("%s: %s is new", name, glob)
	}
	return both
}

// maxWeaker bounds the weaker rules that a note lists.
const maxWeaker = 20

// Origin is a gate that counts next to the one of a suite, where it is the stricter one.
type Origin struct {
	Name     string // as people see it, such as origin/main
	Gate     *eval.GateConfig
	Defaults *eval.Options  // of its project file; nil: its gate has them already
	Run      string         // the run to compare with where the options name none; "" for none
	Commit   string         // in git, whose baseline files count; "" for a run or a file
	Suite    *suite.Suite   // that version; nil for a run
	Repeats  map[string]int // by case
	Raised   int            // cases of the suite itself that have fewer, and run as often
}

func (c *Checks) origin(i int) *Origin {
	if i >= len(c.Origins) {
		return nil
	}
	return c.Origins[i]
}

// gate is the gate of a suite with the options in it, and what is weaker in it than in another version of the suite.
func (c *Checks) gate(i int, s *suite.Suite) (*eval.GateConfig, *eval.GateOrigin, error) {
	of, options := c.origin(i), c.Options
	if r := &options.Rule; of != nil && of.Run != "" && (r.Margin > 0 || len(r.Metrics) > 0) {
		with := *options
		with.Defaults.Baseline = eval.NamedBaseline(of.Run)
		options = &with
	}
	base, ref := s.BaseVersion()
	own, err := overridden(s.Gate, ref, options)
	switch {
	case err != nil:
		return nil, nil, err
	case of != nil:
		return c.gateOf(s, own, of)
	case base == nil || own == nil:
		return own, nil, nil
	}
	before, err := overridden(base.Gate, ref, asDefaults(options, options.Defaults))
	if err != nil || before == nil {
		return own, nil, err
	}
	_, weaker := stricter(before, own)
	return own, &eval.GateOrigin{Name: ref, Weaker: weaker, Cases: weakerSuite(base, s)}, nil
}

// gateOf is the stricter of two gates, for a suite whose own gate is given.
func (c *Checks) gateOf(s *suite.Suite, own *eval.GateConfig, of *Origin) (*eval.GateConfig, *eval.GateOrigin, error) {
	gate := of.Gate
	if of.Defaults != nil {
		var err error
		if gate, err = overridden(of.Gate, "", asDefaults(c.Options, *of.Defaults)); err != nil {
			return nil, nil, err
		}
	}
	if gate == nil {
		return nil, nil, eval.BadInput(
			"--gate-of %s: %s has no gate there: leave the flag out, or name what has one", c.Options.GateOf, s.Name,
		)
	}
	if own == nil {
		own = &eval.GateConfig{}
	}
	if c.Options.Untrusted && own.Baseline != nil { // it could be any file
		rule := *own.Baseline
		rule.Against = nil
		own.Baseline = &rule
	}
	both, weaker := stricter(gate, own)
	if of.Raised > 0 {
		weaker = append(weaker, "fewer repeats in "+diag.Count(of.Raised, "case"))
	}
	if both.Baseline != nil {
		rule := *both.Baseline
		rule.Against = c.against(s, rule.Against, of)
		if err := cmp.Or(c.acceptChanges(s, &rule, gate.Baseline, own.Baseline, of.Name), c.replacedArm(s, &rule, of)); err != nil {
			return nil, nil, err
		}
		if both.Baseline = &rule; rule.Against == nil {
			return nil, nil, eval.BadInput(
				"an untrusted suite cannot name a run to compare with, and --gate-of %s has none: name it by --baseline", c.Options.GateOf,
			)
		}
	}
	return both, &eval.GateOrigin{Name: of.Name, Weaker: weaker, Cases: weakerSuite(of.Suite, s), Counts: true}, nil
}

// replacedArm refuses a comparison with an arm of the run that sends something else in the version whose gate counts: like a baseline
// file that a change replaces.
func (c *Checks) replacedArm(s *suite.Suite, rule *eval.BaselineRule, of *Origin) error {
	against, ok := rule.Against.(eval.BaseArm)
	if !ok || of.Suite == nil || of.Suite.Unwritten() != (suite.Unwritten{}) || c.Options.AcceptSuiteChanges || c.Options.NoBaseline() {
		return nil
	}
	sends := func(s *suite.Suite) string {
		for _, a := range s.Arms() {
			if a.Name() == against.Name {
				return a.Candidate()
			}
		}
		return ""
	}
	if was, is := sends(of.Suite), sends(s); was != is && was != "" && is != "" {
		return eval.Incomplete(
			"%s: not comparable, since the arm %s is another one in %s: --accept-suite-changes compares with it",
			s.Name, against.Name, of.Name,
		)
	}
	return nil
}

// acceptChanges makes the patterns by which the suite itself accepts removed, changed and quarantined cases count, if the options
// let new ones count; else new ones are an error.
func (c *Checks) acceptChanges(s *suite.Suite, rule, of, own *eval.BaselineRule, name string) error {
	if of == nil || own == nil {
		return nil
	}
	var w weakened
	w.accepted(&eval.BaselineRule{}, of, own)
	switch {
	case len(w.texts) == 0:
	case !c.Options.AcceptSuiteChanges:
		return eval.WithCode(eval.CodeInconclusive, fmt.Errorf(
			"%s: %s since %s: --accept-suite-changes lets it count", s.Name, text.SomeNames(w.texts, maxWeaker), name,
		))
	default:
		rule.AllowRemoved, rule.Accepted = own.AllowRemoved, own.Accepted
	}
	return nil
}

// against is what a suite is compared with by the gate of another version, whose rule says it unless the options do.
func (c *Checks) against(s *suite.Suite, by eval.Base, of *Origin) eval.Base {
	_, inRun := by.(eval.BaseArm)
	switch _, ref := s.BaseVersion(); {
	case ref != "":
		return eval.BaseVersion{Suffix: "@" + ref}
	case c.Options.BaselineName() != "":
		return eval.BaseRun{Name: c.Options.BaselineName()}
	case of.Run != "" && !inRun:
		return eval.BaseRun{Name: of.Run}
	}
	return by
}
