package suite

import (
	"cmp"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/evalrun/evalrun/diag"
	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/yaml"
)

func (l *loader) gate(n yaml.Node) {
	if n.IsZero() {
		return
	}
	m := n.Map(gateBlock().Names()...)
	g := &eval.GateConfig{}
	l.Gate = g
	for _, rule := range eval.GateLimits() {
		if rule.Name == passRate {
			*rule.Share(g), g.PassRateBound = yaml.PassRate(m.Get(rule.Name), errorRate)
		} else {
			*rule.Share(g) = limit(m.Get(rule.Name), rule.Bound)
		}
	}
	g.Means = means(m.Get("mean"), "mean: {closeness: {min: 0.8}}")
	g.Classification = means(m.Get("classification"), "classification: {macroF1: {min: 0.8}}")
	if rule := m.Get("latency"); !rule.IsZero() {
		g.LatencyP95Ms = new(eval.Milliseconds(rule.Map(percentileBlock().Names()...).Need("p95").Duration()))
	}
	l.gateBaseline(m.Get("baseline"))
	l.gateBest(m.Get("best"))
	g.Judges = gateJudges(m.Get("judges"))
	g.Drift = drift(m.Get("drift"))
	if b := g.Baseline; b != nil && b.Estimand == eval.OfSuite && g.Best != nil {
		m.Get("best").Errorf("leave one of them out", "`best` ranks arms on cases like these, which does not go with `estimand: suite`")
	}
	if m.Get("integrity").Word(string(eval.Clean)) != "" {
		g.Integrity = eval.Clean
	}
	gateFailures(g, m)
	if n.IsNull() || n.IsMapping() && m.Len() == 0 {
		n.Errorf("such as `passRate: {min: 0.95}`, or remove the block", "a gate without a rule judges nothing")
	}
}

// gateFailures reads what failed trials do to a gate without a rule about outcomes.
func gateFailures(g *eval.GateConfig, m yaml.Map) {
	if m.Get("failures").Word("allowed") == "" && !g.JudgesOutcomes() {
		g.FailuresMax = new(0.0)
	}
	if rule := m.Get("passRate"); rule.IsMapping() && rule.Map().Has("min") && isZero(rule.Map().Get("min")) {
		rule.Warnf("write `failures: allowed` instead", "`passRate: {min: 0}` holds when every trial fails")
	}
}

// isZero reports whether a number is written, and is 0: a rule that holds whatever happens.
func isZero(n yaml.Node) bool {
	if n.IsZero() {
		return false
	}
	value, err := strconv.ParseFloat(n.Written(), 64)
	return err == nil && value == 0
}

// limit reads a rule with one share; nil when it is absent.
func limit(rule yaml.Node, bound string) *float64 {
	if rule.IsZero() {
		return nil
	}
	if bound != "" {
		rule = rule.Map(bound).Need(bound)
	}
	return new(rule.Float(0, 1))
}

// means reads the minimum means of named scorers, or of metrics of the classification.
func means(n yaml.Node, example string) (out []eval.MeanMin) {
	if n.IsMapping() && n.Map().Len() == 0 {
		n.Errorf("such as `"+example+"`", "the rule is empty")
	}
	for e := range n.Map().Entries() {
		out = append(out, eval.MeanMin{Metric: e.Name(), Min: e.Value.Map(atLeast().Names()...).Need("min").Float(0, 1)})
	}
	return out
}

// gateBaseline reads the baseline that a run is compared with. An untrusted suite cannot name one, since it could be any
// file on this machine.
func (l *loader) gateBaseline(rule yaml.Node) {
	if rule.IsZero() {
		return
	}
	if l.opts.Race {
		rule.Errorf(
			"leave out --race, or add --no-baseline",
			"a race does not go with `baseline`: arms that leave have nothing to compare",
		)
	}
	b, arm := baseline(rule)
	l.Gate.Baseline = b
	l.acceptedAt = acceptedAt(rule)
	l.checkGateArm(rule, arm)
	if _, names := b.Against.(eval.BaseRun); names && l.opts.Untrusted && !l.opts.OwnBaseline {
		rule.Map().Get("run").
			Errorf("name it by --baseline and --gate-of, or add --no-baseline", "an untrusted suite cannot name a run to compare with")
	}
}

// acceptedAt has the places of the patterns by which a rule accepts cases, by key and pattern.
func acceptedAt(rule yaml.Node) map[string]diag.Pos {
	at := map[string]diag.Pos{}
	if !rule.IsMapping() {
		return at
	}
	accepted := rule.Map().Get("accepted")
	if !accepted.IsMapping() {
		return at
	}
	for _, key := range acceptedBlock().Names() {
		for _, item := range accepted.Map().Get(key).Items() {
			at[key+" "+item.Str()] = item.Pos()
		}
	}
	return at
}

// AcceptedAt is where the gate accepts cases by a key, such as removed, and a pattern; the zero Pos where the suite does not.
func (s *Suite) AcceptedAt(key, pattern string) diag.Pos { return s.acceptedAt[key+" "+pattern] }

// gateBest reads the rule that an arm must be among the best.
func (l *loader) gateBest(n yaml.Node) {
	if n.IsZero() {
		return
	}
	m := n.Map(bestBlock().Names()...)
	best := &eval.BestRule{
		Arm: m.Need("arm").Str(), Metric: eval.MetricPass, Alpha: eval.DefaultAlpha, Sole: m.Get("sole").Bool(),
	}
	if v := m.Get("metric"); !v.IsZero() {
		best.Metric = v.Str()
	}
	if v := m.Get("alpha"); !v.IsZero() {
		best.Alpha = errorRate(v)
	}
	if v := m.Get("within"); !v.IsZero() {
		best.Within = marginOf(v)
		if best.Sole {
			v.Errorf("keep one of them", "the arm is wanted as the only best one, or close to the best, and not both")
		}
		if l.opts.Race {
			v.Errorf("leave out --race, or within", "a race does not go with `within`: arms that leave are not sent the same cases")
		}
	}
	l.Gate.Best = best
	l.checkGateArm(n, best.Arm)
}

// gateJudges reads the rule about the judges; nil when it is absent.
func gateJudges(n yaml.Node) *eval.JudgesRule {
	if n.IsZero() {
		return nil
	}
	m := n.Map(judgesBlock().Names()...)
	rule := &eval.JudgesRule{
		Sensitivity: optionalFloat(m.Get("sensitivity"), 1), Specificity: optionalFloat(m.Get("specificity"), 1),
		Kappa: optionalFloat(m.Get("kappa"), 1),
	}
	if len(rule.Least()) == 0 && n.IsMapping() && m.Len() == 0 {
		n.Errorf("such as `judges: {sensitivity: 0.8, specificity: 0.8}`", "the rule is empty")
	}
	return rule
}

// drift reads the rules about drift. Two about one metric would share the error rate of one.
func drift(n yaml.Node) (out []eval.DriftRule) {
	for _, one := range n.Items() {
		m := one.Map(driftBlock().Names()...)
		rule := eval.DefaultDrift()
		if v := m.Get("metric"); !v.IsZero() {
			rule.Metric = v.Str()
		}
		if v := m.Get("falseAlarms"); !v.IsZero() {
			of := v.Map("rate", "runs")
			if rate := of.Get("rate"); !rate.IsZero() {
				rule.Rate = errorRate(rate)
			}
			rule.Runs = cmp.Or(of.Get("runs").Int(1, maxNights), rule.Runs)
		}
		if v := m.Get("runs"); !v.IsZero() {
			rule.Nights = v.Str()
			if s, ok := eval.ParseSelector(rule.Nights); !ok || s.Latest {
				v.Errorf("such as label:nightly, branch:main or name:nightly*", "`%s` selects no runs", rule.Nights)
			}
		}
		rule.OnAlarm = yaml.WordOf(m.Get("onAlarm"), eval.OnFail, eval.OnWarn)
		if slices.ContainsFunc(out, func(d eval.DriftRule) bool { return d.Metric == rule.Metric }) {
			one.Errorf("remove one of them", "two rules are about the drift of `%s`", rule.Metric)
		}
		out = append(out, rule)
	}
	return out
}

// checkGateArm reports a comparison with an arm that does not exist, or that is the only one.
func (l *loader) checkGateArm(rule yaml.Node, arm string) {
	if !rule.IsMapping() || arm == "" {
		return
	}
	for e := range rule.Map().Entries() {
		switch {
		case e.Name() != "arm":
		case !slices.Contains(l.names, arm):
			e.Value.Errorf(diag.DidYouMean(arm, l.names), "there is no arm `%s`", arm)
		case len(l.names) == 1:
			e.Value.Errorf("a second prompt or target, or `run: NAME` of a baseline", "there is no other arm to compare with it")
		}
	}
}

func (l *loader) noteMetrics(def *caseDef) {
	l.metricNames.open = l.metricNames.open || def.rows != nil && def.rows.scorers != ""
	for _, layer := range def.scorers {
		for _, d := range layer {
			if !d.noted && d.node.IsMapping() {
				l.noteMetric(d.node.Map())
			}
			d.noted = true
		}
	}
}

func (l *loader) noteMetric(m yaml.Map) {
	for e := range m.Entries() {
		if e.Name() != "name" {
			l.loading.misspelled.noteScorer(e.Name())
			continue
		}
		if !e.Value.IsScalar() {
			continue
		}
		name := e.Value.Written()
		l.checkScoreName(e.Value, name)
		l.metricNames.take(name)
	}
}

func (l *loader) checkMetrics(gate yaml.Node) {
	if !gate.IsMapping() {
		return
	}
	l.checkClassMetrics(gate.Map().Get("classification"))
	if n := gate.Map().Get("judges"); !n.IsZero() && !l.diags.HasErrors() && len(l.CalledJudges()) == 0 {
		n.Errorf("add a scorer such as `judge: {rubric: ...}`, or leave the rule out", "no scorer of the suite uses a judge")
	}
	known, open := l.Metrics()
	if open || l.loading.misspelled.metrics || l.diags.HasErrors() && l.loading.misspelled.scorerNames() {
		return
	}
	of := l.metricNames.means()
	l.checkDrifting(gate.Map().Get("drift"))
	for e := range gate.Map().Entries() {
		if !e.Value.IsMapping() {
			continue
		}
		switch e.Name() {
		case "mean":
			for m := range e.Value.Map().Entries() {
				checkNamed(m.Key, m.Name(), of)
			}
		case "baseline":
			gateMetrics(e.Value, func(n yaml.Node, name string) {
				checkNamed(n, name, known)
				l.checkEarly(n, name)
			})
		case "best":
			checkRanked(e.Value.Map().Get("metric"), of)
		}
	}
}

func checkNamed(n yaml.Node, name string, known []string) {
	if !slices.Contains(known, name) {
		n.Errorf(diag.DidYouMean(name, known), "no scorer of the suite is named `%s`", name)
	}
}

func checkRanked(n yaml.Node, of []string) {
	if !n.IsScalar() {
		return
	}
	name, by := n.Written(), append([]string{eval.MetricPass, eval.MetricBlocked}, of...)
	if eval.IsRatio(name) {
		n.Errorf("a ranking shows it next to each arm; it takes "+strings.Join(by, ", "), "arms are not ranked by `%s`", name)
		return
	}
	checkNamed(n, name, by)
}

// checkDrifting wants metrics of single answers, whose values lie between 0 and 1.
func (l *loader) checkDrifting(rules yaml.Node) {
	by := append([]string{eval.MetricPass}, l.metricNames.scorers...)
	known, _ := l.Metrics()
	for _, rule := range rules.Items() {
		if !rule.IsMapping() || !rule.Map().Get("metric").IsScalar() {
			continue
		}
		n := rule.Map().Get("metric")
		switch {
		case slices.Contains(by, n.Written()):
		case slices.Contains(known, n.Written()):
			n.Errorf("it takes "+strings.Join(by, ", "), "`drift` does not take `%s`, whose values have no known range", n.Written())
		default:
			checkNamed(n, n.Written(), by)
		}
	}
}

func gateMetrics(rule yaml.Node, check func(n yaml.Node, name string)) {
	for b := range rule.Map().Entries() {
		switch {
		case b.Name() != "metrics":
		case b.Value.IsMapping():
			for m := range b.Value.Map().Entries() {
				check(m.Key, m.Name())
			}
		default:
			for _, item := range b.Value.Items() {
				if item.IsScalar() {
					check(item, item.Written())
				}
			}
		}
	}
}

// MaxAlpha is the largest error rate of a verdict. A verdict that is wrong more often is useless.
const MaxAlpha = 0.2

// maxLooks is the most looks that a gate may plan: each has its part of the error rate.
const maxLooks = 100

// baseline reads the rule for a comparison with a baseline. arm is the arm that it names. A rule with a run too is a
// problem of the suite.
func baseline(n yaml.Node) (b *eval.BaselineRule, arm string) {
	m := n.Map(baselineBlock().Names()...)
	b = &eval.BaselineRule{}
	run, arm := m.Get("run").Str(), m.Get("arm").Str()
	switch {
	case run != "":
		b.Against = eval.BaseRun{Name: run}
	case arm != "":
		b.Against = eval.BaseArm{Name: arm}
	}
	if !n.IsMapping() {
		return b, arm
	}
	checkCompared(n, m, run, arm)
	if v := m.Get("alpha"); !v.IsZero() {
		b.Alpha = errorRate(v)
	}
	b.OnInconclusive = yaml.WordOf(m.Get("onInconclusive"), eval.OnFail, eval.OnWarn, eval.OnPass)
	b.StopEarly = m.Get("stopEarly").Bool()
	b.Estimand = yaml.WordOf(m.Get("estimand"), eval.OfPopulation, eval.OfSuite)
	b.MinPaired = optionalFloat(m.Get("minPaired"), 1)
	b.Looks = m.Get("looks").Int(1, maxLooks)
	b.Total = total(m.Get("total"))
	if b.Total != nil && run == "" && arm != "" {
		m.Get("total").Warnf("leave it out, or compare with `run: NAME`", "an arm of the same run has no earlier baselines: no run begins so")
	}
	for _, item := range m.Get("allowRemoved").Seq() {
		b.AllowRemoved = append(b.AllowRemoved, item.Str())
	}
	if v := m.Get("accepted"); !v.IsZero() {
		of := v.Map(acceptedBlock().Names()...)
		b.Accepted = eval.Accepted{
			Removed: of.Get("removed").Strings(), Changed: of.Get("changed").Strings(), Quarantined: of.Get("quarantined").Strings(),
		}
	}
	b.Metrics = gated(m, sharedMargin(n, m))
	checkGated(m, b)
	return b, arm
}

// total reads the rule about the loss since an earlier baseline.
func total(n yaml.Node) *eval.TotalRule {
	if n.IsZero() {
		return nil
	}
	m := n.Map(totalBlock().Names()...)
	t := &eval.TotalRule{Margin: marginOf(m.Need("margin")), Since: eval.SinceFirst}
	if v := m.Get("since"); !v.IsZero() {
		t.Since = v.Str()
		if _, err := time.Parse(time.DateOnly, t.Since); err != nil && t.Since != eval.SinceFirst {
			v.Errorf("first, or a day such as 2026-08-01", "`%s` is not a day", t.Since)
		}
	}
	return t
}

func errorRate(n yaml.Node) float64 {
	alpha := n.Float(0, MaxAlpha)
	if alpha == 0 && strings.Trim(n.Written(), "0.") == "" {
		n.Errorf("such as 0.05", "an error rate of 0 can never be shown")
	} else if alpha > 0 && alpha < eval.MinAlpha {
		n.Errorf("such as 0.05", "an error rate below %g can never be shown", eval.MinAlpha)
	}
	return alpha
}

func checkCompared(n yaml.Node, m yaml.Map, run, arm string) {
	if strings.TrimSpace(run) == "" && arm == "" && !m.Misspells("run", "arm") {
		n.Errorf(
			"`run: NAME` of a baseline or a run, or `arm: TARGET/PROMPT` of this one",
			"there is nothing to compare with",
		)
	}
	if run != "" && arm != "" {
		m.Get("arm").Errorf("keep one of them", "a gate compares with a run or with an arm, not with both")
	}
}

// sharedMargin reads the margin for metrics without their own; 0 when it is absent.
func sharedMargin(n yaml.Node, m yaml.Map) float64 {
	if v := m.Get("margin"); !v.IsZero() {
		return marginOf(v)
	}
	if !m.Has("margin") && !m.Has("metrics") && !m.Misspells("margin", "metrics") {
		n.Errorf(
			"`margin: 0.05` lets the pass rate be 5 points lower; there is no default: only you know what you can accept",
			"a comparison without a margin has no verdict",
		)
	}
	return 0
}

func checkGated(m yaml.Map, b *eval.BaselineRule) {
	for _, g := range b.Metrics {
		if b.StopEarly && eval.IsRatio(g.Name) {
			m.Get("stopEarly").Errorf("leave "+g.Name+" out, or stopEarly", "ratios such as %s are judged at the end", g.Name)
		}
		if b.Estimand == eval.OfSuite && eval.IsRatio(g.Name) {
			m.Get("estimand").
				Errorf("leave "+g.Name+" out, or estimand", "ratios such as %s have no verdict about these cases alone", g.Name)
		}
	}
	if v := m.Get("metrics"); !v.IsZero() && len(b.Metrics) == 0 {
		v.Errorf("leave it out for the pass rate", "no metric is compared")
	}
}

func marginOf(n yaml.Node) float64 {
	v, err := strconv.ParseFloat(n.Written(), 64)
	switch {
	case !n.IsNumber() || err != nil || v > 0 && v < 1:
		return n.Float(0, 1)
	case v == 0:
		n.Errorf("such as 0.05", "a margin lies between 0 and 1: no number of cases shows that nothing at all has changed")
	default:
		n.Errorf("such as 0.05", "a margin lies between 0 and 1, and %s does not", n.Written())
	}
	return 0.05 // nothing more is wrong with it
}

// gated reads the metrics that get a verdict: a list of names, which share the margin, or a mapping with one for each.
func gated(m yaml.Map, margin float64) []eval.MetricMargin {
	n := m.Get("metrics")
	if n.IsZero() {
		return []eval.MetricMargin{{Name: eval.MetricPass, Margin: margin}}
	}
	var out []eval.MetricMargin
	if !n.IsMapping() {
		seen := map[string]diag.Pos{}
		for _, item := range n.Seq() {
			name := item.Str()
			first, twice := seen[name]
			switch {
			case !item.IsScalar(): // already reported
			case eval.IsRatio(name):
				item.Errorf(
					"`metrics: {pass: {margin: 0.05}, "+name+": {limit: 1.1}}`",
					"%s is compared as a ratio, and needs a limit of its own", name,
				)
			case margin == 0:
				item.Errorf("`margin: 0.05` next to `metrics`", "the metric has no margin")
			case twice:
				item.Errorf("remove one of them", "duplicate metric `%s`, first %s", name, first.SeenFrom(item.Pos()))
			default:
				seen[name] = item.Pos()
			}
			out = append(out, eval.MetricMargin{Name: name, Margin: margin})
		}
		return out
	}
	for e := range n.Map().Entries() {
		if eval.IsRatio(e.Name()) {
			out = append(out, ratio(e.Name(), e.Value))
			continue
		}
		one := eval.MetricMargin{Name: e.Name(), Margin: margin}
		if own := e.Value.Map(marginBlock().Names()...); own.Has("margin") {
			one.Margin = marginOf(own.Get("margin"))
		} else if margin == 0 {
			e.Value.Errorf("such as {margin: 0.05}", "the metric has no margin")
		}
		out = append(out, one)
	}
	return out
}

func ratio(metric string, n yaml.Node) eval.MetricMargin {
	m := n.Map(ratioBlock().Names()...)
	limit := m.Need("limit")
	out := eval.MetricMargin{Name: metric, Margin: limit.Float(0, eval.MaxRatio), Strict: m.Get("strict").Bool()}
	if limit.IsNumber() && out.Margin <= 1 {
		limit.Errorf("such as 1.1, for at most a tenth more", "a limit of a ratio is larger than 1")
	}
	switch v := m.Get("cap"); {
	case v.IsZero():
	case metric == eval.MetricLatency:
		out.Cap = eval.Milliseconds(v.Duration())
	default:
		out.Cap = v.Float(1, math.MaxInt32)
	}
	return out
}

// longestQuarantine is the longest time that a case may stay out of the gate without a warning. A case that is broken for
// longer should be repaired or deleted.
const longestQuarantine = 90 * 24 * time.Hour

// quarantine reads the quarantine of a case: its reason and its end.
func (l *loader) quarantine(n yaml.Node) *eval.Quarantine {
	if n.IsZero() {
		return nil
	}
	m := n.Map(quarantineBlock().Names()...)
	q := &eval.Quarantine{Reason: m.Need("reason").Str(), Owner: m.Need("owner").Str(), Until: m.Need("until").Str()}
	until := m.Get("until")
	if until.IsZero() || !until.IsScalar() {
		return q
	}
	day, err := time.Parse(time.DateOnly, q.Until)
	now := l.opts.Now.UTC()
	switch {
	case err != nil:
		until.Errorf("such as 2027-01-31", "`%s` is not a day", q.Until)
	case day.Sub(now) > longestQuarantine:
		until.Warnf(
			"by "+now.Add(longestQuarantine).Format(time.DateOnly)+" at the latest",
			"a quarantine of more than 90 days tends to be forgotten",
		)
	case !q.Holds(now.Format(time.DateOnly)):
		until.Warnf("repair the case, or say until when", "the quarantine is over since %s: the case counts again", q.Until)
	}
	return q
}
