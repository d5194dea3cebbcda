package gate

import (
	"cmp"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/evalrun/evalrun/compare"
	"github.com/evalrun/evalrun/diag"
	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/overview"
	"github.com/evalrun/evalrun/internal/stats"
	"github.com/evalrun/evalrun/internal/text"
	"github.com/evalrun/evalrun/journal"
)

// Comparing says what to compare and which verdicts to give.
type Comparing struct {
	Suite string // "" compares all
	// Gate means that the run's own rule applies: an arm that is missing in the baseline is invalid, and
	// not just reported.
	Gate bool
	// NoContent leaves answers out.
	NoContent bool
	// BaseOf returns the arm with which an arm is compared, "" for none; nil compares arms of the same
	// name.
	BaseOf func(head string) string
	// HeadArm is the only arm to compare; "" compares all.
	HeadArm string
	// Rules returns the rule of a suite. A suite without a rule gets estimates only.
	Rules func(suite string) *eval.BaselineRule
	// Base and Head are the user's names of the runs.
	Base, Head string

	// Prefer lets a judge prefer answers of an arm or of its baseline; nil without a judge.
	Prefer func(base, head *compare.Side) (*compare.ArmPreference, error)
}

// leastMaxErrors is the share of errors that every comparison accepts.
const leastMaxErrors = 0.01

// comparisonSeed makes tests that draw samples give the same verdict for the same data.
const comparisonSeed = 1

// RunSides is a run with its arms in the form that comparisons need.
type RunSides struct {
	*journal.Document
	sides []*compare.Side
}

// Read reads the arms of a run, as comparisons for an estimand need them.
func Read(d *journal.Document, of eval.Estimand) (*RunSides, error) {
	sides, err := sidesOf(d, of)
	return &RunSides{d, sides}, err
}

// Compare compares a run with a baseline. It returns an error if a run file cannot be read.
func Compare(base, head *journal.Document, what Comparing) (*compare.Comparison, error) {
	c, err := undecided(base, head, what)
	if err == nil {
		decide(c, what.Rules, head)
	}
	return c, err
}

// undecided compares documents without a verdict.
func undecided(base, head *journal.Document, what Comparing) (*compare.Comparison, error) {
	before, after, err := readBoth(base, head, what.estimand(head))
	if err != nil {
		return nil, err
	}
	return compareSides(before, after, what)
}

// CompareRead compares documents, which may have been released unless a judge prefers answers.
func CompareRead(base, head *RunSides, what Comparing) (*compare.Comparison, error) {
	c, err := compareSides(base, head, what)
	if err == nil {
		decide(c, what.Rules, head.Document)
	}
	return c, err
}

// waitingOf says which of the runs wait for their batches, and so have no verdict.
func waitingOf(runs ...*journal.Document) (out []string) {
	for _, d := range runs {
		if command := overview.Collect(d); command != "" {
			out = append(out, fmt.Sprintf("the run %s waits for its batches: `%s` collects the answers", d.Run.ID, command))
		}
	}
	return out
}

func compareSides(baseRead, headRead *RunSides, what Comparing) (*compare.Comparison, error) {
	what.accept(headRead.Document)
	base := baseRead.Document
	head := headRead.Document
	before := baseRead.sides
	after := headRead.sides
	if baseRead != headRead && !sameAnswers(&base.Run, &head.Run) && !slices.EqualFunc(before, after, sameScorers) {
		var err error
		if before, err = raise(base.Path(), before, what.estimand(head), hashesIn(after)); err != nil {
			return nil, err
		}
	}
	c := &compare.Comparison{
		Base: compare.Compared{Run: base.Run.ID, Name: what.Base, StartedAt: base.Run.StartedAt},
		Head: compare.Compared{Run: head.Run.ID, Name: what.Head, StartedAt: head.Run.StartedAt},
		Arms: []compare.ArmComparison{},
	}
	var err error
	c.Warnings = append(driftOf(base, head), waitingOf(base, head)...)
	if sameAnswers(&base.Run, &head.Run) {
		anyScorers(before...)
		anyScorers(after...)
		c.Warnings = append(c.Warnings, "both sides are the same answers, scored at two times: what changed are the scorers")
	}
	pairs := armPairs(before, after, what)
	for _, p := range pairs {
		if err := checkEstimand(what.Rules(p.head.Suite), p, base, head); err != nil {
			return nil, err
		}
		var preference *compare.ArmPreference
		if what.Prefer != nil && p.base != nil {
			if preference, err = what.Prefer(p.base, p.head); err != nil {
				return nil, err
			}
		}
		arm := compareArm(p, base, head, what, c)
		if preference != nil {
			o := optionsFor(what.Rules(arm.Suite), head, arm.Suite)
			preference.MeasureBias(p.base, p.head, o)
			addPreference(&arm, preference, o)
		}
		c.Arms = append(c.Arms, arm)
	}
	lost, accepted := lostArms(before, pairs, head, what)
	c.Arms, c.Notes = append(c.Arms, lost...), append(c.Notes, accepted...)
	slices.SortStableFunc(c.Arms, func(a, b compare.ArmComparison) int {
		return cmp.Compare(place(c.Arms, a.Suite), place(c.Arms, b.Suite))
	})
	if len(c.Arms) == 0 {
		c.Why, c.Verdict = "no arm is in both: "+notPaired(before, after), eval.Invalid
	}
	return c, fillFlips(c, base, head, what.NoContent)
}

// accept makes the rules accept what the gates of head accept, as they did when it ran.
func (c *Comparing) accept(head *journal.Document) {
	rules := c.Rules
	c.Rules = func(suite string) *eval.BaselineRule {
		rule, g := rules(suite), gateConfig(head, suite)
		if c.Gate || rule == nil || g == nil || g.Baseline == nil {
			return rule
		}
		with := *rule
		with.Accepted, with.AllowRemoved = g.Baseline.Accepted, slices.Concat(rule.AllowRemoved, g.Baseline.AllowRemoved)
		return &with
	}
}

// estimand is OfSuite if some suite of a run is compared for it.
func (c *Comparing) estimand(head *journal.Document) eval.Estimand {
	for i := range head.Run.Suites {
		if rule := c.Rules(head.Run.Suites[i].Name); rule != nil && rule.Estimand == eval.OfSuite {
			return eval.OfSuite
		}
	}
	return eval.OfPopulation
}

// checkEstimand refuses what has no answer for the estimand of the suite.
func checkEstimand(rule *eval.BaselineRule, p armPair, base, head *journal.Document) error {
	if rule == nil || rule.Estimand != eval.OfSuite {
		return nil
	}
	for _, m := range rule.Metrics {
		if _, ofClasses := eval.ParseMetric(m.Name, p.head.Classes); ofClasses && len(p.head.Classes) > 0 {
			return notOfSuite(p.head.Suite, m.Name)
		}
	}
	for _, d := range []*journal.Document{base, head} {
		if d.Run.Cache {
			return cachedAnswers(d.Run.ID)
		}
	}
	return nil
}

// notOfSuite says that a metric has no value in single answers.
func notOfSuite(suite, metric string) error {
	return eval.BadInput(
		"%s: %s cannot be compared for the estimand suite, which takes pass and scores of single answers: leave it out, or use the "+
			"estimand population", suite, metric,
	)
}

// cachedAnswers says that a run does not have answers of its own for each repeat.
func cachedAnswers(run string) error {
	return eval.BadInput(
		"%s ran with --cache, and the estimand suite takes new answers for each repeat: run it again without --cache", run,
	)
}

// readBoth reads both runs concurrently, because reading takes most of the time of a comparison.
func readBoth(base, head *journal.Document, of eval.Estimand) (before, after *RunSides, err error) {
	if head == base {
		before, err = Read(base, of)
		return before, before, err
	}
	var failed error
	var reading sync.WaitGroup
	reading.Go(func() { before, failed = Read(base, of) })
	after, err = Read(head, of)
	reading.Wait()
	return before, after, errors.Join(failed, err)
}

func warnOfVersions(p armPair, c *compare.Comparison) {
	if b, h := p.base.Versions, p.head.Versions; len(b) > 0 && len(h) > 0 && !slices.Equal(b, h) {
		c.Warnings = append(c.Warnings, fmt.Sprintf(
			"%s on %s: answers of %s are compared with answers of %s", p.head.Suite, p.head.Arm, strings.Join(h, ", "),
			strings.Join(b, ", "),
		))
	}
}

func compareArm(p armPair, base, head *journal.Document, what Comparing, c *compare.Comparison) compare.ArmComparison {
	if p.base == nil {
		return compare.ArmComparison{
			Suite:   p.head.Suite,
			HeadArm: p.head.Arm,
			Metrics: []compare.MetricComparison{},
			Why:     "the arm is not in the baseline, which has " + strings.Join(p.others, ", "),
		}
	}
	if base != head { // arms of one run are meant to have other models
		warnOfVersions(p, c)
	}
	rule := what.Rules(p.head.Suite)
	o := optionsFor(rule, head, p.head.Suite)
	o.SameAnswers, o.Replayed = sameAnswers(&base.Run, &head.Run), replayed(&head.Run)
	if base != head { // an arm of the run itself has the same selection
		o.Selected = selectedBy(head.Run.Options(), p.head, p.head.NotRun)
	}
	stop := head.StopOf(p.head.Suite, p.head.Arm)
	if known, ok := stop.(*eval.KnownVerdict); ok && p.answeredBy(known, rule, base, head) {
		o.EarlyVerdict = known
	}
	arm := compare.Compare(p.base, p.head, o)
	noteSelection(&arm, p, base, head)
	if base != head && base.StopOf(p.base.Suite, p.base.Arm) != nil {
		arm.Why = cmp.Or(arm.Why, "the baseline stopped early, once its own verdict was known: it did not run all of its cases")
	}
	if o.EarlyVerdict == nil {
		arm.Why = cmp.Or(arm.Why, cutShort(stop))
		before := base.StopOf(p.base.Suite, p.base.Arm)
		if _, left := before.(*eval.BaseExit); !left { // it has all answers that some arm was to be compared with
			arm.Why = cmp.Or(arm.Why, cutShort(before))
		}
	}
	arm.Notes = append(arm.Notes, weakerThan(base, head, p, what)...)
	noteLate(&arm, p, base, head)
	noteLook(&arm, base, head, what)
	arm.Notes = append(arm.Notes, movesOf(rule, &arm, what)...)
	var gated []string
	for i := range arm.Metrics {
		if m := &arm.Metrics[i]; m.Gated {
			gated = append(gated, m.Name)
		}
	}
	arm.Judges = judgesOn(head, arm.Suite, arm.HeadArm, gated...)
	for i := range arm.Judges {
		arm.Notes = append(arm.Notes, arm.Judges[i].Words())
	}
	explainVersions(c, &arm, base, head)
	if n := compare.PairedByIDAlone(p.base, p.head); n > 0 {
		c.Warnings = append(c.Warnings, fmt.Sprintf(
			"%s on %s: the baseline does not record variables, so %s with an `id:` of its own %s paired by that alone", p.head.Suite,
			p.head.Arm, diag.Count(n, "case"), diag.Verb(n, "is", "are"),
		))
	}
	return arm
}

// noteLate says when one side has more trials that a limit ended than chance explains: what differs may be the limit alone.
func noteLate(a *compare.ArmComparison, p armPair, base, head *journal.Document) {
	ended := func(d *journal.Document, of *compare.Side) (out [2]int, ran int) {
		for s, arm := range d.Summary.Arms {
			if s.Name == of.Suite && arm.Name == of.Arm {
				return [2]int{arm.Late, arm.Limited}, arm.Counts.Ran()
			}
		}
		return out, 0
	}
	was, before := ended(base, p.base)
	is, after := ended(head, p.head)
	if before == 0 || after == 0 {
		return
	}
	for i, limit := range []string{"the time limit", "a limit of steps, tokens or money"} {
		if twoSided, _ := stats.FisherExact(was[i], before, is[i], after); twoSided < 0.05 {
			a.Notes = append(a.Notes, fmt.Sprintf("%s ended %d of %s, %d of %d before", limit, is[i], diag.Count(after, "trial"), was[i], before))
		}
	}
}

// noteLook says which look at the candidate a comparison is, where the run counted it. A look beyond those that the gate
// plans is invalid: with enough of them any candidate passes by luck.
func noteLook(a *compare.ArmComparison, base, head *journal.Document, what Comparing) {
	rule, one := what.Rules(a.Suite), runSuite(head, a.Suite)
	if rule == nil || one == nil || head.Partial() || base == head && !what.Gate {
		return
	}
	i := slices.IndexFunc(one.Looks, func(l eval.Look) bool {
		return l.Arm == a.HeadArm && (base == head || l.Base == base.Run.ID)
	})
	if i < 0 {
		return
	}
	nth := one.Looks[i].Nth
	a.Look = &compare.Look{Nth: nth, Of: rule.Looks, MaxError: min(1, rule.LookAlpha()*float64(max(nth, rule.Looks)))}
	if words := lookWords(a.Look); words != "" {
		a.Notes = append(a.Notes, words)
	}
	if rule.Looks > 0 && nth > rule.Looks {
		a.Why = cmp.Or(a.Why, fmt.Sprintf(
			"look %d at this candidate, and the gate plans %d: change the candidate, or raise `looks` before the next one", nth, rule.Looks,
		))
	}
}

// lookWords is "" for a first look that no gate planned, and for one look too many, which has no verdict.
func lookWords(l *compare.Look) string {
	switch {
	case l.Of == 0 && l.Nth < 2 || l.Of > 0 && l.Nth > l.Of:
		return ""
	case l.Of > 0:
		return fmt.Sprintf("look %d of %d: over %s the error is at most %.3g %%", l.Nth, l.Of, diag.Count(l.Of, "look"), 100*l.MaxError)
	}
	return fmt.Sprintf("look %d: over %d looks the error is at most %.3g %%", l.Nth, l.Nth, 100*l.MaxError)
}

// answeredBy reports whether an early stop is about this pair, these margins and this estimand, and by no larger error rate.
// A stop after whole rounds holds by any: the error rate is applied to its evidence again.
func (p *armPair) answeredBy(stop *eval.KnownVerdict, rule *eval.BaselineRule, base, head *journal.Document) bool {
	if rule == nil || !slices.Equal(stop.Metrics, rule.Metrics) {
		return false
	}
	asked, alpha := gateConfig(head, p.head.Suite), rule.LookAlpha()
	bySuite := asked != nil && asked.Baseline != nil && asked.Baseline.Estimand == eval.OfSuite
	early := alpha - compare.FinalAlpha(alpha, true)
	if bySuite != (rule.Estimand == eval.OfSuite) || !bySuite && stop.Alpha > early+slack {
		return false
	}
	return stop.Base == base.Run.ID || base == head && stop.Base == p.base.Arm
}

// cutShort says why the arm of a comparison did not run all of its cases, "" if it did. The stop is not about this
// comparison.
func cutShort(stop eval.ArmStop) string {
	const others = "the run stopped early, once %s known, and did not run all of its cases: another comparison cannot use it"
	switch stop := stop.(type) {
	case *eval.RaceExit:
		return fmt.Sprintf("the arm left a race after %d of %d cases: it did not run all of them", stop.Units, stop.Of)
	case *eval.KnownVerdict:
		return fmt.Sprintf(others, "its verdict against "+stop.Base+" was")
	case *eval.BaseExit:
		return fmt.Sprintf(others, "the verdicts against this arm were")
	}
	return ""
}

// chosenByOutcome says that a run was selected by its outcomes, "" if it was not. Cases that failed once
// pass more often the next time, whatever was changed.
func chosenByOutcome(name string, d *journal.Document) string {
	switch {
	case d.Run.Options().FailedIn != "":
		return name + " ran only what had failed before (--failed-in): such cases pass more often the next time, whatever changed"
	case d.End != nil && d.End.Reason == eval.EndMaxFailures:
		return name + " ended after too many failures (--max-failures): what it ran was chosen by its outcomes"
	}
	return ""
}

func optionsFor(rule *eval.BaselineRule, head *journal.Document, suite string) compare.Options {
	o := compare.Options{Alpha: eval.DefaultAlpha, MaxErrors: leastMaxErrors, Seed: comparisonSeed}
	if g := gateConfig(head, suite); g != nil {
		o.MaxErrors = max(o.MaxErrors, g.MostErrors())
	}
	if rule != nil {
		o.Margins = rule.Metrics
		o.Alpha, o.Estimand = finalAlpha(rule), rule.Estimand
		o.MinPaired = rule.LeastPaired()
		o.Accepted, o.Extended = rule.Accepted, len(head.Run.ExtendedFrom) > 0
	}
	return o
}

// addPreference adds a judge's preference to the comparison of an arm. A verdict needs nearly all pairs, because
// pairs that a judge leaves unscored differ from the others.
func addPreference(arm *compare.ArmComparison, preference *compare.ArmPreference, o compare.Options) {
	arm.Preference = preference
	for i := range arm.Metrics {
		m := &arm.Metrics[i]
		if m.Name != eval.MetricPreference {
			continue
		}
		if m.N > 0 {
			preference.Share, preference.Interval = &m.Head, &[2]float64{m.Base + m.Interval[0], m.Base + m.Interval[1]}
		}
		if m.Gated {
			arm.Why = cmp.Or(arm.Why, preference.Unreliable)
		}
		if share := float64(preference.Unjudged) / float64(max(1, preference.Pairs)); m.Gated && share > o.MaxErrors {
			arm.Why = cmp.Or(arm.Why, fmt.Sprintf("%s of the pairs could not be judged, more than %g %%", diag.Percent(share), 100*o.MaxErrors))
		}
	}
}

// decide gives verdicts by the rule of each suite, adjusted for all of them.
func decide(c *compare.Comparison, rules func(suite string) *eval.BaselineRule, head *journal.Document) {
	options := func(suite string) compare.Options { return optionsFor(rules(suite), head, suite) }
	c.Comparisons = compare.Verdicts(c.Arms, options)
	c.Verdict = compare.Worse(c.Verdict, compare.Decide(c.Arms, options))
	compare.Advise(c.Arms, options)
	if c.Comparisons > 1 {
		c.Notes = append(c.Notes, fmt.Sprintf("adjusted for %d comparisons of this run", c.Comparisons))
	}
	c.Describe()
}

// armPair is an arm with its counterpart, nil for none. others are the arms of the baseline.
type armPair struct {
	base, head *compare.Side
	others     []string
}

// armPairs pairs the arms of each suite: by the given names, by equal names, or, if each side has only one
// arm, with each other.
func armPairs(before, after []*compare.Side, what Comparing) []armPair {
	var out []armPair
	for _, h := range after {
		switch {
		case what.Suite != "" && h.Suite != what.Suite:
			continue
		case what.HeadArm != "" && h.Arm != what.HeadArm:
			continue
		case what.BaseOf != nil && what.BaseOf(h.Arm) == "":
			continue
		}
		candidates := ofSuite(before, h.Suite)
		if len(candidates) == 0 && !what.Gate {
			continue // a comparison covers only suites of both runs
		}
		pair := armPair{base: partner(candidates, h, len(ofSuite(after, h.Suite)) == 1, what), head: h}
		for _, c := range candidates {
			pair.others = append(pair.others, c.Arm)
		}
		out = append(out, pair)
	}
	return out
}

func ofSuite(sides []*compare.Side, suite string) (found []*compare.Side) {
	for _, s := range sides {
		if s.Suite == suite {
			found = append(found, s)
		}
	}
	return found
}

// partner returns the side of the baseline for an arm, nil for none. onlyArm: its suite has no other.
func partner(candidates []*compare.Side, h *compare.Side, onlyArm bool, what Comparing) *compare.Side {
	arm := h.Arm
	switch {
	case what.BaseOf != nil:
		arm = what.BaseOf(h.Arm)
	case onlyArm && len(candidates) == 1:
		return candidates[0]
	}
	if i := slices.IndexFunc(candidates, func(s *compare.Side) bool { return s.Arm == arm }); i >= 0 {
		return candidates[i]
	}
	return nil
}

func notPaired(before, after []*compare.Side) string {
	list := func(sides []*compare.Side) string {
		var names []string
		for _, s := range sides {
			names = append(names, s.Suite+" on "+s.Arm)
		}
		return strings.Join(names, ", ")
	}
	return fmt.Sprintf("the baseline has %s, the run %s", list(before), list(after))
}

// otherVersions lists the models whose versions differ between the sides.
func otherVersions(base, head []eval.Model) (out []string) {
	for _, h := range head {
		for _, b := range base {
			if b.Name == h.Name && b.APIVersion == h.APIVersion && b.Service == h.Service && b.Version != h.Version {
				out = append(out, fmt.Sprintf(
					"the model %s was of version %s and is of version %s now: a difference may be its doing", h.ID(), b.Version, h.Version,
				))
			}
		}
	}
	return out
}

// driftOf lists the models, services and versions of evalrun that differ between the sides. Differences in
// results may come from them instead of the prompt.
func driftOf(base, head *journal.Document) []string {
	out := otherVersions(base.Run.Models, head.Run.Models)
	if base.Run.Emulator != head.Run.Emulator {
		out = append(out, "one side was answered by evalrun's emulator, the other by a service")
	}
	if words := toolsOf(base, head); words != "" {
		out = append(out, words)
	}
	return out
}

// explainVersions says why cases of an arm changed although the suite did not: where the arm cannot be compared, as a
// part of that reason.
func explainVersions(c *compare.Comparison, arm *compare.ArmComparison, base, head *journal.Document) {
	words := arm.Cases.Rescore(rescoreArgs(base.Path(), &base.Run), rescoreArgs(head.Path(), &head.Run))
	switch {
	case words == "":
	case arm.Why != "":
		arm.Why += "; " + words
	case !slices.Contains(c.Warnings, words):
		c.Warnings = append(c.Warnings, words)
	}
}

// rescoreArgs are the arguments of a command that scores the answers of a run again. They name the copies of its suites:
// the suites may have other cases by now.
func rescoreArgs(path string, run *eval.Run) string {
	dir := filepath.Dir(path)
	if here, err := filepath.Abs("."); err == nil {
		if rel, err := filepath.Rel(here, dir); err == nil && filepath.IsLocal(rel) {
			dir = rel
		}
	}
	words := []string{dir}
	for _, s := range run.Suites {
		words = append(words, "--suite", filepath.ToSlash(filepath.Join(dir, s.Copy)))
		if s.Copy == "" || filepath.Base(path) != journal.FileName || run.CommandOptions == nil {
			return run.ID
		}
	}
	return text.ShellWords(words)
}

// toolsOf names the versions of evalrun when each side was scored by another one, "" when both were scored by one or
// it is not known.
func toolsOf(base, head *journal.Document) string {
	b, h := base.Run.Tool, head.Run.Tool
	if b == h || b == "" || h == "" {
		return ""
	}
	return fmt.Sprintf("scored by %s and %s", b, strings.TrimPrefix(h, "evalrun "))
}

// shownFlips bounds the changed cases whose answers are included.
const shownFlips = 20

// fillFlips adds the trial ids of changed cases, the answers of the first ones, and what both sides sent for one case.
func fillFlips(c *compare.Comparison, base, head *journal.Document, noContent bool) (err error) {
	for i := range c.Arms {
		a := &c.Arms[i]
		for j := range a.Flips {
			f, shown := &a.Flips[j], j < shownFlips && !noContent
			if f.BaseTrial, f.BaseAnswer, err = flippedIn(base, f.BaseAt, shown); err != nil {
				return err
			}
			if f.HeadTrial, f.HeadAnswer, err = flippedIn(head, f.HeadAt, shown); err != nil {
				return err
			}
		}
		if noContent {
			continue
		}
		was, err := sentAt(base, a.SentAt[0])
		if err != nil {
			return err
		}
		is, err := sentAt(head, a.SentAt[1])
		if err != nil {
			return err
		}
		if was != is && was != "" && is != "" {
			a.BaseSent, a.HeadSent = was, is
		}
	}
	return nil
}

// sentAt is what a trial sent; "" where that is not known.
func sentAt(d *journal.Document, at int64) (string, error) {
	if at == 0 {
		return "", nil
	}
	r, err := d.TrialAt(at)
	if err != nil {
		return "", err
	}
	return text.CutText(text.Sent(r), mostSent), nil
}

// flippedIn returns the id of a trial of a changed case, and its answer if it is shown.
func flippedIn(d *journal.Document, at int64, shown bool) (id, answer string, err error) {
	switch {
	case at == 0:
		return "", "", nil
	case !shown:
		id, err = d.IDAt(at)
		return id, "", err
	}
	r, err := d.TrialAt(at)
	switch {
	case err != nil:
		return "", "", err
	case r.Response == nil:
	case r.Response.Blocked() != "" && r.Response.Text() == "":
		answer = "(blocked: " + r.Response.Blocked() + ")"
	default:
		answer = text.Answer(r.Response)
	}
	return r.ID, answer, nil
}

// mostSent bounds a request in a comparison, in bytes.
const mostSent = 20_000

// sameAnswers reports whether two runs judge the same answers. An extension has more than the run that it extends.
func sameAnswers(a, b *eval.Run) bool {
	return a.ID != b.ID && a.RescoredFrom+b.RescoredFrom != "" && a.AnswersOf() == b.AnswersOf()
}

// anyScorers pairs cases whatever their scorers: runs on the same answers differ in nothing else.
func anyScorers(sides ...*compare.Side) {
	for _, s := range sides {
		for _, c := range s.Cases {
			c.Scorers = ""
		}
	}
}

// replayed reports whether a run took its answers from records. A file of --answers has those of an application.
func replayed(r *eval.Run) bool { return r.Replay != "" && r.Options().Answers == "" }
