package gate

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/evalrun/evalrun/compare"
	"github.com/evalrun/evalrun/diag"
	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/rundir"
	"github.com/evalrun/evalrun/journal"
	"github.com/evalrun/evalrun/runner"
	"github.com/evalrun/evalrun/suite"
)

// Checks checks the gates of a run before anything is sent.
type Checks struct {
	Options *eval.WithDefaults
	Dir     rundir.Dir // where baselines are named
	Plan    *runner.Plan
	// Answers is the run that got the answers, if they are scored again; "" otherwise.
	Answers string
	Notice  func(string)
	// Origins are the gates that count next to those of the suites, in their order; nil for none.
	Origins []*Origin
}

// Gates returns the gates of suites in their order, with the overrides of the options, and the gates that count next to them,
// nil for none. It returns an error if there is no baseline, or too few cases to ever show what a gate requires.
func (c *Checks) Gates(suites []*suite.Suite) (gates []*eval.GateConfig, origins []*eval.GateOrigin, err error) {
	if err := c.checkRaces(suites); err != nil {
		return nil, nil, err
	}
	compares := false
	for i, one := range suites {
		gate, of, err := c.gate(i, one)
		if err == nil && gate != nil && gate.Baseline != nil {
			compares = true
			err = c.check(one, gate.Baseline, c.origin(i))
		}
		if err != nil {
			return nil, nil, err
		}
		gates, origins = append(gates, gate), append(origins, of)
	}
	return gates, origins, c.fitting(compares)
}

// fitting refuses flags about a comparison where nothing is compared, and warns of those that change nothing.
func (c *Checks) fitting(compares bool) error {
	r := c.Options.Rule
	for _, flag := range []struct {
		name  string
		given bool
	}{
		{"--margin", r.Margin > 0},
		{"--metric", len(r.Metrics) > 0},
		{"--alpha", r.Alpha > 0},
		{"--on-inconclusive", r.OnInconclusive != ""},
		{"--min-paired", r.MinPaired != nil},
		{"--stop-early", r.StopEarly},
	} {
		if flag.given && !compares && !c.Options.NoBaseline() {
			return eval.BadInput(
				"%s is about a comparison, and nothing is compared: name a baseline by --baseline, or --no-baseline runs without",
				flag.name,
			)
		}
	}
	if compares && r.StopEarly && c.Plan.Shard() != nil {
		c.Notice("warning: a shard does not stop early; its cases are compared when all shards are merged")
	}
	return nil
}

// check checks the baseline rule of a suite, and completes it.
func (c *Checks) check(s *suite.Suite, rule *eval.BaselineRule, of *Origin) error {
	if err := checkMetrics(s, rule); err != nil || c.Options.NoBaseline() {
		return err
	}
	if other, isRun := rule.Against.(eval.BaseRun); isRun && of != nil && of.Commit != "" && !c.Options.AcceptSuiteChanges {
		if why := c.Dir.BaselineDiffers(other.Name, of.Commit); why != "" {
			return eval.Incomplete("%s: not comparable, since %s in %s: --accept-suite-changes compares with it", s.Name, why, of.Name)
		}
	}
	return c.baseline(s, rule)
}

func checkMetrics(s *suite.Suite, rule *eval.BaselineRule) error {
	known, open := s.Metrics()
	for _, m := range rule.Metrics {
		if !open && !slices.Contains(known, m.Name) {
			return eval.BadInput("%s has no metric %s; %s", s.Name, m.Name, diag.DidYouMean(m.Name, known))
		}
		if _, ofClasses := eval.ParseMetric(m.Name, s.Classes()); ofClasses && rule.Estimand == eval.OfSuite && s.Classes() != nil {
			return notOfSuite(s.Name, m.Name)
		}
	}
	return nil
}

// fits reports a rule that the options contradict.
func (c *Checks) fits(one *suite.Suite, rule *eval.BaselineRule) error {
	if rule.Estimand == eval.OfSuite && c.Options.Cache {
		return eval.BadInput("the gate of %s has `estimand: suite`, which takes new answers for each repeat: leave out --cache", one.Name)
	}
	if _, isArm := rule.Against.(eval.BaseArm); isArm && rule.Total != nil { // runs of earlier versions began so, and continue
		return eval.BadInput(
			"the gate of %s has a `total`, and compares with an arm, which has no earlier baselines: leave it out, or compare with `run: NAME`",
			one.Name,
		)
	}
	return stopsEarly(one, rule)
}

func (c *Checks) baseline(one *suite.Suite, rule *eval.BaselineRule) error {
	suite := one.Name
	var base map[string]*compare.Side // of another run
	c.takesAll(suite, rule)
	if err := c.fits(one, rule); err != nil {
		return err
	}
	switch against := rule.Against.(type) {
	case eval.BaseVersion:
		if arm := c.lostArm(one, rule, against); arm != "" {
			return eval.Incomplete("%s; --no-baseline runs without", lostWhy(suite, arm))
		}
	case eval.BaseArm:
		if names := c.Plan.ArmNames(); len(names) > 0 && !slices.Contains(names, against.Name) {
			return eval.BadInput(
				"the gate of %s compares with the arm %s, which is not in this run; %s", suite, against.Name,
				diag.DidYouMean(against.Name, names),
			)
		}
	case eval.BaseRun:
		found, sides, err := c.another(suite, against.Name, rule.Estimand)
		if err != nil {
			return err
		}
		rule.Against, base = found, sides
		if rule.Past, err = c.past(against.Name, rule); err != nil {
			return err
		}
	}
	if c.Plan.Shard() != nil { // merging compares
		return nil
	}
	if len(c.previews(suite, rule, nil)) == 0 && c.Plan.Size() > 0 {
		return eval.BadInput(
			"the gate of %s compares with %s, and the run has no other arm; --no-baseline runs without", suite, rule.Against.Title(),
		)
	}
	return c.reached(one, rule, base)
}

// reached checks what the gate can show, and warns of patterns that accept nothing.
func (c *Checks) reached(one *suite.Suite, rule *eval.BaselineRule, base map[string]*compare.Side) error {
	accepted, err := c.reach(one.Name, rule, base)
	if err == nil {
		c.warnTotal(one.Name, rule)
	}
	if err == nil && !c.Options.Narrows() {
		c.warnAccepted(one, rule, accepted, base)
	}
	return err
}

// past is what a named baseline was before, nil without a name.
func (c *Checks) past(name string, rule *eval.BaselineRule) (*eval.Past, error) {
	since := ""
	if rule.Total != nil {
		since = rule.Total.Since
		for _, m := range rule.Metrics {
			if m.Name != eval.MetricPass {
				return nil, eval.BadInput(
					"`total` limits the loss of the pass rate, and baselines.json has no values of %s: compare %s in a suite "+
						"without `total`, or leave `total` out", m.Name, m.Name,
				)
			}
		}
	}
	past, err := c.Dir.Past(name, since)
	if err == nil && since != "" && (past == nil || len(past.First) == 0) {
		err = eval.BadInput(
			"`total` needs the outcomes of earlier baselines, and baselines.json has none of %s: evalrun baseline set NAME RUN", name,
		)
	}
	return past, err
}

// stopsEarly says which metric of a rule needs all trials, if the rule stops before.
func stopsEarly(one *suite.Suite, rule *eval.BaselineRule) error {
	if !rule.StopEarly {
		return nil
	}
	for _, m := range rule.Metrics {
		why := ""
		switch {
		case eval.IsRatio(m.Name):
			why = "ratios are judged at the end"
		case one.OfAllCases(m.Name):
			why = "it takes all cases"
		default:
			continue
		}
		return eval.BadInput("the gate of %s stops early, which does not go with %s: %s", one.Name, m.Name, why)
	}
	return nil
}

// lostArm is an arm of the earlier version that has nothing of the suite to compare it with; "" when there is none.
func (c *Checks) lostArm(one *suite.Suite, rule *eval.BaselineRule, earlier eval.BaseVersion) string {
	arms := eval.NewPatterns(c.Options.Arms)
	for _, a := range one.RemovedArms() {
		name := earlier.Current(a.Name())
		if a.Matches(arms) && !allowsRemoved(rule, one.Name, name) {
			return name
		}
	}
	var names []string
	for _, a := range c.Plan.Arms() {
		if a.Suite == one.Name {
			names = append(names, a.Name())
		}
	}
	for _, name := range names {
		arm := earlier.Current(name)
		if earlier.Includes(name) && !slices.Contains(names, arm) && !allowsRemoved(rule, one.Name, arm) {
			return arm
		}
	}
	return ""
}

// another finds the run with which a suite is compared, and reads the suite's arms.
func (c *Checks) another(suite, name string, estimand eval.Estimand) (found eval.BaseRun, sides map[string]*compare.Side, err error) {
	path, err := c.Dir.FindCompared(name)
	if err != nil {
		return found, nil, eval.Incomplete("%s is to be compared (--no-baseline runs without), and %w", suite, err)
	}
	d, err := journal.Open(path)
	if errors.Is(err, journal.ErrEdited) {
		return found, nil, rundir.EditedBaseline(name, err)
	} else if err != nil {
		return found, nil, eval.Incomplete(
			"%s is to be compared (--no-baseline runs without), and the baseline %s cannot be read: %w", suite, name, err,
		)
	}
	defer d.Close() //nolint:errcheck // it was only read
	problem := unusable(d, suite)
	switch {
	case d.Edited() != nil:
		return found, nil, rundir.EditedBaseline(name, d.Edited())
	case d.Run.Cache && estimand == eval.OfSuite:
		return found, nil, cachedAnswers("the baseline " + name)
	case problem != "":
		return found, nil, eval.Incomplete("the baseline %s %s; --no-baseline runs without", name, problem)
	}
	sides, err = baseSides(path, suite, estimand, c.Plan, c.Answers)
	if err == nil && c.Answers != "" && c.Answers == d.Run.AnswersOf() { // what changed is how the same answers are scored
		anyScorers(slices.Collect(maps.Values(sides))...)
	}
	return eval.BaseRun{Name: name, Path: c.Dir.Abs(path), ID: d.Run.ID}, sides, err
}

// unusable says why a run cannot be the baseline of a suite, "" if it can.
func unusable(d *journal.Document, suite string) string {
	switch {
	case d.Running:
		return "is still in progress"
	case d.Waits() != nil:
		return "waits for its batches"
	case d.Partial():
		return "is not complete"
	case d.Summary.Counts.Ran() == 0:
		return "is blank: no trial ran"
	case d.Raced():
		return "has arms that left a race"
	case len(d.Stops) > 0:
		return "stopped early, once its own verdict was known"
	case !slices.ContainsFunc(d.Summary.Suites, func(s journal.SuiteSummary) bool { return s.Name == suite }):
		return "has no suite " + suite
	}
	return ""
}

// warnAccepted warns of patterns of a suite by which no case of the baseline is accepted, and no arm or suite.
func (c *Checks) warnAccepted(s *suite.Suite, rule *eval.BaselineRule, accepted eval.Accepted, base map[string]*compare.Side) {
	planned := c.Plan.ArmNames()
	for arm := range base {
		if !slices.Contains(planned, arm) {
			accepted.Removed = append(accepted.Removed, arm)
		}
	}
	for _, one := range []struct {
		key          string
		globs, names []string
	}{
		{"removed", rule.Accepted.Removed, accepted.Removed},
		{"changed", rule.Accepted.Changed, accepted.Changed},
		{"quarantined", rule.Accepted.Quarantined, accepted.Quarantined},
	} {
		for _, glob := range one.globs {
			at := s.AcceptedAt(one.key, glob)
			if fits := slices.ContainsFunc(one.names, eval.Pattern(glob).Match); !fits && at != (diag.Pos{}) {
				c.Notice(fmt.Sprintf(
					"warning: %s: `%s: [%q]` accepts nothing: no such case of the baseline is %[2]s; remove it", at, one.key, glob,
				))
			}
		}
	}
}

// reach returns an error if no outcome of the cases could show what the gate requires, and else the cases that the rule accepts.
func (c *Checks) reach(suite string, rule *eval.BaselineRule, base map[string]*compare.Side) (accepted eval.Accepted, err error) {
	alpha := finalAlpha(rule)
	for _, arm := range c.previews(suite, rule, base) {
		accepted.Removed = append(accepted.Removed, arm.Accepted.Removed...)
		accepted.Changed = append(accepted.Changed, arm.Accepted.Changed...)
		accepted.Quarantined = append(accepted.Quarantined, arm.Accepted.Quarantined...)
		if arm.Units == 0 && base != nil {
			return accepted, eval.Incomplete(
				"%s on %s: no case is in the baseline as it is now (variables, scorers)%s; name a new baseline, or --no-baseline runs "+
					"without",
				suite, arm.name, arm.rescore(rule),
			)
		}
		if why := arm.Why(rule.LeastPaired()); why != "" {
			return accepted, eval.Incomplete("%s on %s: %s%s; --no-baseline runs without", suite, arm.name, why, arm.rescore(rule))
		}
		for _, r := range arm.ratios(rule) {
			c.Notice(fmt.Sprintf("%s on %s: %s of a case count %.0f at most", suite, arm.name, r.Metric, r.Cap))
		}
		for _, m := range rule.Metrics {
			text, never := arm.tooFew(suite, m, alpha), !arm.Reachable(m.Margin, alpha)
			if rule.Estimand == eval.OfSuite {
				text, never = arm.tooFewRounds(suite, rule, m)
			}
			if text != "" && never && rule.OnInconclusive == eval.OnFail {
				return accepted, eval.BadInput("%s; --no-baseline or --on-inconclusive warn runs all the same", text)
			} else if text != "" {
				if !never && m.Name == eval.MetricPass && arm.passesAll() {
					text += "; the baseline passes all of its cases, so none can get better"
				}
				c.Notice("warning: " + text)
			}
		}
	}
	return accepted, nil
}

// tooFew says that the units of an arm cannot show that a metric is not worse, or only if some get better; "" when they
// can without a flip.
func (arm *armPreview) tooFew(suite string, m eval.MetricMargin, alpha float64) string {
	if eval.IsRatio(m.Name) {
		return ""
	}
	need := arm.Needed(m.Margin, alpha)
	if need == arm.Effective {
		return ""
	}
	what := diag.Count(arm.Effective, "case")
	if arm.Clustered {
		what = fmt.Sprintf("%d independent units (by the share of the largest cluster)", arm.Effective)
	}
	metric := "pass rate"
	if m.Name != eval.MetricPass {
		metric = m.Name
	}
	form := "%s on %s: %s can never show that the %s is not worse by a margin of %g; you need %d without a single flip"
	if arm.Reachable(m.Margin, alpha) {
		form = "%s on %s: %s can show that the %s is not worse by a margin of %g only if some get better; you need %d without a single flip"
	}
	text := fmt.Sprintf(form, suite, arm.name, what, metric, m.Margin, need)
	if n := len(arm.Duplicates); n > 0 {
		duplicates := len(slices.Concat(arm.Duplicates...)) - n
		text += fmt.Sprintf("; %s with the same request as another, which counts once", diag.Count(duplicates, "case"))
	}
	if n := len(arm.Added) + len(arm.Changed); n > 0 {
		text += fmt.Sprintf("; %d more %s not in the baseline as they are now (variables, scorers)", n, diag.Verb(n, "is", "are"))
	}
	return text + fmt.Sprintf(
		". Add cases, or state a larger margin: %d %s enough for %.2g",
		arm.Effective, diag.Verb(arm.Effective, "is", "are"), compare.LeastMargin(arm.Effective, alpha),
	)
}

// tooFewRounds says that the repeats of the cases can show that a metric is not worse only if cases get better, "" when they
// can without that. never: not even then.
func (arm *armPreview) tooFewRounds(suite string, rule *eval.BaselineRule, m eval.MetricMargin) (text string, never bool) {
	cases := arm.Cases
	need := compare.PairsNeeded(m.Margin, finalAlpha(rule), false)
	if cases == 0 || cases*arm.Rounds >= need {
		return "", false
	}
	never = cases*arm.Rounds < compare.PairsNeeded(m.Margin, finalAlpha(rule), true)
	can := "can show that %s is not worse by a margin of %g only if cases get better"
	if never {
		can = "can never show that %s is not worse by a margin of %g"
	}
	text = fmt.Sprintf("%s on %s: %s with %s on both sides "+can+"; ", suite, arm.name, diag.Count(cases, "case"),
		diag.Count(arm.Rounds, "repeat"), m.Name, m.Margin)
	rounds := (need + cases - 1) / cases
	text += fmt.Sprintf("%s need %s without a single flip", diag.Count(cases, "case"), diag.Count(rounds, "repeat"))
	if _, another := rule.Against.(eval.BaseRun); another && arm.Repeats >= rounds {
		text += fmt.Sprintf(": run the baseline with --repeats %d too", rounds)
	} else {
		text += fmt.Sprintf(": --repeats %d", rounds)
	}
	return text, never
}

type armPreview struct {
	name string
	base *compare.Side // nil: the baseline does not have the arm
	compare.Preview
}

// passesAll reports whether the baseline is a run that passed every case.
func (arm *armPreview) passesAll() bool {
	return !slices.ContainsFunc(arm.base.Cases, func(c *compare.CaseTotals) bool { return c.Passed == 0 || c.Failed+c.Errors > 0 })
}

// rescore says, after a reason, that scorers of the baseline mean something else now; "" when they do not.
func (arm *armPreview) rescore(rule *eval.BaselineRule) string {
	base, _ := rule.Against.(eval.BaseRun)
	again := base.ID
	if run, err := journal.Header(base.Path); err == nil {
		again = rescoreArgs(base.Path, run)
	}
	words := arm.Rescore(again, "")
	if words == "" {
		return ""
	}
	return "; " + words
}

// previews pair the arms of a plan with those of a baseline, or, where base is nil, with other arms of the plan.
func (c *Checks) previews(suite string, rule *eval.BaselineRule, base map[string]*compare.Side) []*armPreview {
	_, isRun := rule.Against.(eval.BaseRun)
	planned, order := plannedSides(c.Plan, suite, time.Now().UTC().Format(time.RFC3339))
	var out []*armPreview
	for _, name := range order {
		if rule.Against.Includes(name) {
			continue
		}
		head, p := planned[name], &armPreview{name: name}
		switch {
		case !isRun:
			p.base = planned[rule.Against.ArmFor(name)]
		case base[name] == nil && len(base) == 1 && len(order) == 1:
			for _, only := range base {
				p.base = only
			}
		default:
			p.base = base[name]
		}
		if p.base == nil { // nothing is known: all trials count
			p.base = head
		}
		o := &compare.Options{Accepted: rule.Accepted}
		if isRun {
			o.Selected = selectedBy(&c.Options.Options, head, head.NotRun)
		}
		p.Preview = compare.NewPreview(p.base, head, o)
		out = append(out, p)
	}
	return out
}

// plannedSides are the arms of a suite as a plan has them at a time, and their order.
func plannedSides(plan *runner.Plan, suite, at string) (sides map[string]*compare.Side, order []string) {
	sides = map[string]*compare.Side{}
	left := plan.NotRun()
	for t := range plan.Trials() {
		if t.Suite != suite {
			continue
		}
		s, known := sides[t.Arm]
		if !known {
			s = &compare.Side{Suite: suite, Arm: t.Arm, NotRun: onArm(left, suite, t.Arm)}
			sides[t.Arm] = s
			order = append(order, t.Arm)
		}
		last := len(s.Cases) - 1
		if last < 0 || s.Cases[last].Name != t.Case || s.Cases[last].ID != t.CaseID {
			last++
			s.Cases = append(s.Cases, &compare.CaseTotals{
				Name:        t.Case,
				ID:          t.CaseID,
				Scorers:     t.ScorersHash,
				Cluster:     t.Cluster,
				Vars:        t.VarsHash,
				Request:     t.RequestHash,
				Tags:        t.Tags,
				Quarantined: t.Quarantine.Holds(at),
			})
		}
		s.Cases[last].Ran++
	}
	return sides, order
}
