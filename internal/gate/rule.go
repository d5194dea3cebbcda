package gate

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/evalrun/evalrun/compare"
	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/suite"
)

// effective is the baseline rule of a gate, with what the options say instead; nil when nothing is compared. ref is the version
// that runs next to the suite, "" for none.
func effective(g *eval.GateConfig, ref string, o *eval.WithDefaults) (*eval.BaselineRule, error) {
	var rule eval.BaselineRule
	switch {
	case g != nil && g.Baseline != nil:
		rule = *g.Baseline
		rule.Metrics = slices.Clone(rule.Metrics)
	case o.BaselineName() == "" && ref == "" && o.Defaults.BaselineName() == "":
		return nil, nil
	}
	switch {
	case ref != "":
		rule.Against = eval.BaseVersion{Suffix: "@" + ref}
	case o.BaselineName() != "":
		rule.Against = eval.BaseRun{Name: o.BaselineName()}
	case rule.Against == nil:
		rule.Against = eval.BaseRun{Name: o.Defaults.BaselineName()}
	}
	err := override(&rule, withDefaults(o.Rule, &rule, o.Defaults.Rule))
	if o.Rescore != "" { // stopping early would save nothing
		rule.StopEarly = false
	}
	return &rule, err
}

// finalAlpha is the error rate of the tests at the end of a run.
func finalAlpha(rule *eval.BaselineRule) float64 {
	return compare.FinalAlpha(rule.LookAlpha(), rule.StopEarly && rule.Estimand != eval.OfSuite) // whose test holds at all times
}

// overridden is a gate with what the options say instead, and their defaults where it says nothing; nil when none of them has
// a rule.
func overridden(own *eval.GateConfig, ref string, o *eval.WithDefaults) (*eval.GateConfig, error) {
	baseline, err := effective(own, ref, o)
	d, g := &o.Defaults, &eval.GateConfig{FailuresMax: new(0.0)} // as without a gate: a flag about errors allows no failures
	if own != nil {
		*g = *own
	}
	rules := []*float64{o.MinPassRate, o.MaxErrors, o.MaxBlocked, d.MinPassRate, d.MaxErrors, d.MaxBlocked}
	if err != nil || baseline == nil && !slices.ContainsFunc(rules, func(rule *float64) bool { return rule != nil }) {
		return own, err
	}
	g.Baseline = cmp.Or(baseline, g.Baseline)
	if g.PassRateMin == nil {
		g.PassRateBound = d.PassRateBound
	}
	g.PassRateMin = cmp.Or(o.MinPassRate, g.PassRateMin, d.MinPassRate)
	g.BlockedMax = cmp.Or(o.MaxBlocked, g.BlockedMax, d.MaxBlocked)
	g.ErrorsMax = cmp.Or(o.MaxErrors, g.ErrorsMax, d.MaxErrors)
	return g, nil
}

// asDefaults are options that only fill gaps of a gate, and defaults where they leave some.
func asDefaults(o *eval.WithDefaults, d eval.Options) *eval.WithDefaults {
	d.Rule = withDefaults(o.Rule, &eval.BaselineRule{}, d.Rule)
	d.Baseline = cmp.Or(o.Baseline, d.Baseline)
	if o.MinPassRate != nil {
		d.PassRateBound = o.PassRateBound
	}
	d.MinPassRate = cmp.Or(o.MinPassRate, d.MinPassRate)
	d.MaxErrors = cmp.Or(o.MaxErrors, d.MaxErrors)
	d.MaxBlocked = cmp.Or(o.MaxBlocked, d.MaxBlocked)
	return &eval.WithDefaults{Options: eval.Options{SourceOptions: o.SourceOptions}, Defaults: d}
}

// withDefaults are the options for a rule, with defaults where neither they nor the rule of the suite say anything.
func withDefaults(o eval.RuleOptions, rule *eval.BaselineRule, d eval.RuleOptions) eval.RuleOptions {
	if rule.Alpha == 0 {
		o.Alpha = cmp.Or(o.Alpha, d.Alpha)
	}
	if rule.OnInconclusive == "" {
		o.OnInconclusive = cmp.Or(o.OnInconclusive, d.OnInconclusive)
	}
	if rule.MinPaired == nil {
		o.MinPaired = cmp.Or(o.MinPaired, d.MinPaired)
	}
	if len(rule.Metrics) == 0 {
		o.Margin = cmp.Or(o.Margin, d.Margin)
		if len(o.Metrics) == 0 {
			o.Metrics = d.Metrics
		}
	}
	if len(rule.AllowRemoved)+len(o.AllowRemoved) == 0 {
		o.AllowRemoved = d.AllowRemoved
	}
	o.StopEarly = o.StopEarly || d.StopEarly
	return o
}

// override replaces parts of a rule by what the options say, and checks the result.
func override(rule *eval.BaselineRule, r eval.RuleOptions) error {
	if r.OnInconclusive != "" &&
		!slices.Contains([]eval.OnInconclusive{eval.OnFail, eval.OnWarn, eval.OnPass}, r.OnInconclusive) {
		return eval.BadInput("--on-inconclusive takes fail, warn or pass, not %q", r.OnInconclusive)
	}
	if r.Margin != 0 && !(r.Margin > 0 && r.Margin < 1) { // NaN is not, either
		return eval.BadInput("--margin %g: a margin lies between 0 and 1, such as 0.05", r.Margin)
	}
	if r.Alpha > suite.MaxAlpha {
		return eval.BadInput("--alpha %g: a verdict with this error rate is not informative; use %g or less", r.Alpha, suite.MaxAlpha)
	}
	rule.Alpha = cmp.Or(r.Alpha, rule.Alpha, eval.DefaultAlpha)
	rule.OnInconclusive = cmp.Or(r.OnInconclusive, rule.OnInconclusive, eval.OnFail)
	rule.StopEarly = rule.StopEarly || r.StopEarly
	rule.Estimand = cmp.Or(r.Estimand, rule.Estimand)
	if !slices.Contains([]eval.Estimand{"", eval.OfPopulation, eval.OfSuite}, rule.Estimand) {
		return eval.BadInput("--estimand takes population or suite, not %q", rule.Estimand)
	}
	rule.MinPaired = cmp.Or(r.MinPaired, rule.MinPaired)
	rule.AllowRemoved = slices.Concat(rule.AllowRemoved, r.AllowRemoved)
	if err := overrideMetrics(rule, r); err != nil {
		return err
	}
	ratio := slices.IndexFunc(rule.Metrics, func(m eval.MetricMargin) bool { return eval.IsRatio(m.Name) })
	switch {
	case ratio >= 0 && rule.Estimand == eval.OfSuite:
		return notOfSuite("the gate", rule.Metrics[ratio].Name)
	case len(rule.Metrics) == 0:
		return eval.BadInput(
			"a gate with a baseline needs a margin: --margin 0.05 lets the pass rate be 5 points lower; there is no default (`evalrun " +
				"help verdicts#the-five-verdicts`)",
		)
	}
	return nil
}

// overrideMetrics replaces margins, or the metrics of a rule, by what the options say.
func overrideMetrics(rule *eval.BaselineRule, r eval.RuleOptions) error {
	if r.Margin > 0 {
		for i := range rule.Metrics {
			if !eval.IsRatio(rule.Metrics[i].Name) {
				rule.Metrics[i].Margin = r.Margin
			}
		}
		if len(rule.Metrics) == 0 && len(r.Metrics) == 0 {
			rule.Metrics = []eval.MetricMargin{{Name: eval.MetricPass, Margin: r.Margin}}
		}
	}
	if len(r.Metrics) > 0 {
		rule.Metrics = nil
	}
	for _, text := range r.Metrics {
		one, err := metricMargin(text, r.Margin)
		if err != nil {
			return err
		}
		if slices.ContainsFunc(rule.Metrics, func(m eval.MetricMargin) bool { return m.Name == one.Name }) {
			return eval.BadInput("--metric %s is given twice: leave one out", one.Name)
		}
		rule.Metrics = append(rule.Metrics, one)
	}
	return nil
}

// CheckMetric returns an error for a value of --metric, unless all that it lacks is a margin of its own.
func CheckMetric(text string) error {
	_, err := metricMargin(text, 0.5)
	if eval.IsRatio(text) { // which the margins of a suite may have
		return nil
	}
	return err
}

// metricMargin reads a value of --metric: NAME, with the given margin, or NAME=MARGIN.
func metricMargin(text string, margin float64) (eval.MetricMargin, error) {
	name := text
	value := ""
	own := false
	if at := strings.LastIndexByte(text, '='); at >= 0 { // the name of a class may have one
		name = text[:at]
		value = text[at+1:]
		own = true
	}
	one := eval.MetricMargin{Name: name, Margin: margin}
	ratio := eval.IsRatio(name)
	if own {
		v, err := strconv.ParseFloat(value, 64)
		if inRange := v > 0 && v <= eval.MaxRatio; err != nil || !inRange || ratio != (v > 1) || v == 1 {
			want := "a margin lies between 0 and 1, such as " + name + "=0.05"
			if ratio {
				want = fmt.Sprintf("a limit of %s is larger than 1, and %d at most, such as %[1]s=1.1", name, eval.MaxRatio)
			}
			return one, eval.BadInput("--metric %s: %s", text, want)
		}
		one.Margin = v
	}
	if one.Margin == 0 || ratio && !own {
		return one, eval.BadInput(
			"--metric %s has no margin: --metric %s=0.05, or for latency and tokens a limit such as 1.1", text, name,
		)
	}
	return one, nil
}

// RuleOf is the rule that options state; nil when they state none.
func RuleOf(r eval.RuleOptions) (*eval.BaselineRule, error) {
	if r.Margin == 0 && len(r.Metrics) == 0 {
		if r.Alpha != 0 || r.OnInconclusive != "" || r.MinPaired != nil || r.Estimand != "" || len(r.AllowRemoved) > 0 {
			return nil, eval.BadInput(
				"--alpha, --on-inconclusive, --min-paired, --estimand and --allow-removed are for a verdict, which takes a margin: add " +
					"--margin 0.05",
			)
		}
		return nil, nil
	}
	rule := &eval.BaselineRule{}
	err := override(rule, r)
	for i := range rule.Metrics {
		rule.Metrics[i].Strict = eval.IsRatio(rule.Metrics[i].Name)
	}
	return rule, err
}
