package gate

import (
	"cmp"
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"strings"

	"github.com/evalrun/evalrun/compare"
	"github.com/evalrun/evalrun/diag"
	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/overview"
	"github.com/evalrun/evalrun/internal/rundir"
	"github.com/evalrun/evalrun/journal"
	"github.com/evalrun/evalrun/journal/history"
)

// readDrift fills in what the nights said when the run ended. Without that, or where it cannot be read, the history tells.
func readDrift(d *journal.Document) {
	if d.Drift == nil {
		d.Drift, _ = journal.KeptDrift(d.Dir)
	}
}

// JudgeDrift fills in what the nights of each arm say by the rules of the run's suites, the run itself the newest of them.
func JudgeDrift(in rundir.Dir, d *journal.Document) {
	ruled := slices.ContainsFunc(d.Run.Suites, func(s eval.RunSuite) bool { return s.Gate != nil && len(s.Gate.Drift) > 0 })
	if !ruled || d.Running || d.End == nil || d.End.Waits() || d.Run.Plan.Shard != nil {
		return
	}
	tonight, err := history.Nights(d)
	var w *nightWatch
	if err == nil {
		w, err = watchNights(in)
	}
	if w != nil {
		defer w.close()
		w.until, w.tonight = &d.Run, tonight
	}
	d.Drift = []journal.Drift{}
	for _, s := range d.Summary.Suites {
		g := gateConfig(d, s.Name)
		if g == nil {
			continue
		}
		for _, rule := range g.Drift {
			for i := range s.Arms {
				found := journal.Drift{Suite: s.Name, Metric: rule.Metric, Arm: s.Arms[i].Name, OnAlarm: rule.OnAlarm}
				found.Watched = len(s.Arms) * len(g.Drift)
				failed := err
				if failed == nil {
					failed = w.judge(rule, &found)
				}
				if failed != nil {
					found.State, found.Why, found.Broken = "", failed.Error(), true
				}
				d.Drift = append(d.Drift, found)
			}
		}
	}
}

// PastDrift is what the nights of the history say, up to a run or, where that is nil, up to the newest, by the rules of the
// newest run of each suite. A suite without rules has the usual one.
func PastDrift(in rundir.Dir, until *eval.Run, suites, arms, metrics eval.Patterns) ([]journal.Drift, error) {
	w, err := watchNights(in)
	if err != nil || w.store == nil {
		return nil, err
	}
	defer w.close()
	w.until = until
	runs, err := w.store.Runs(history.RunFilter{Suites: suites})
	if err != nil {
		return nil, err
	}
	out := []journal.Drift{}
	for _, of := range newestArms(runs) {
		rules, err := w.store.DriftRules(of.Suite, of.Arm)
		if err != nil {
			return nil, err
		}
		if len(rules) == 0 {
			rules = []eval.DriftRule{eval.DefaultDrift()}
		}
		for _, rule := range rules {
			if !arms.Match(of.Arm) || !metrics.Match(rule.Metric) {
				continue
			}
			f := journal.Drift{Suite: of.Suite, Metric: rule.Metric, Arm: of.Arm, OnAlarm: rule.OnAlarm, Watched: of.arms * len(rules)}
			if err := w.judge(rule, &f); err != nil {
				return nil, err
			}
			out = append(out, f)
		}
	}
	return out, nil
}

// armOfSuite is an arm of a suite that has so many.
type armOfSuite struct {
	history.ArmRecord
	arms int
}

// newestArms are the arms of the newest run of each suite, in the order of the suites.
func newestArms(runs []history.RunRecord) (out []armOfSuite) {
	seen := map[string]bool{}
	for _, run := range slices.Backward(runs) {
		arms := map[string]int{}
		for _, a := range run.Arms {
			arms[a.Suite]++
		}
		for _, a := range run.Arms {
			if !seen[a.Suite] {
				out = append(out, armOfSuite{a, arms[a.Suite]})
			}
		}
		for name := range arms {
			seen[name] = true
		}
	}
	slices.SortStableFunc(out, func(a, b armOfSuite) int { return strings.Compare(a.Suite, b.Suite) })
	return out
}

// Acknowledge keeps what somebody says of the alarms that stand at a run of the history, and returns them.
func Acknowledge(in rundir.Dir, run string, say rundir.Acknowledgement) ([]journal.Drift, error) {
	store, err := in.ReadHistory()
	if err != nil || store == nil {
		return nil, cmp.Or(err, eval.BadInput("there is no history yet, and so no alarm"))
	}
	all, err := store.Runs(history.RunFilter{})
	_ = store.Close() // it was only read
	if err != nil {
		return nil, err
	}
	dir, err := filepath.Abs(in.Path(run))
	if err != nil {
		return nil, err
	}
	at := slices.IndexFunc(all, func(r history.RunRecord) bool { return r.ID == run || r.Dir == dir })
	if at < 0 {
		return nil, eval.BadInput("the history has no run %s: the line of the alarm has its id", run)
	}
	r := &all[at]
	until := &eval.Run{ID: r.ID, StartedAt: r.StartedAt, Name: r.Name, Commit: r.Commit, Branch: r.Branch, Labels: r.Labels}
	found, err := PastDrift(in, until, nil, nil, nil)
	if err != nil {
		return nil, err
	}
	var lost []journal.Drift
	var add []rundir.Acknowledgement
	for _, f := range found {
		if f.State != compare.DriftLost {
			continue
		}
		one := say
		one.Run, one.RunAt, one.From, one.Suite, one.Arm, one.Metric = r.ID, r.StartedAt, f.StartAt[0], f.Suite, f.Arm, f.Metric
		lost, add = append(lost, f), append(add, one)
	}
	if len(add) == 0 {
		return nil, eval.BadInput("no alarm stands at the run %s: there is nothing to acknowledge", run)
	}
	return lost, in.Acknowledge(add...)
}

// isNight reports whether a rule about drift judges the outcomes of the suite: the run is one of its nights.
func (r *rulings) isNight() bool {
	return slices.ContainsFunc(r.doc.Drift, func(f journal.Drift) bool { return f.Suite == r.suite.Name && f.State != "" })
}

// drift applies the rules about drift. A run that is no night breaks none of them; one that has not kept what they said does.
func (r *rulings) drift(rules []eval.DriftRule) {
	about := func(f journal.Drift) bool { return f.Suite == r.suite.Name }
	if len(rules) > 0 && !r.doc.Partial() && !slices.ContainsFunc(r.doc.Drift, about) {
		lost := journal.Drift{Suite: r.suite.Name, Metric: rules[0].Metric, Why: "the run has not kept what its nights said", Broken: true}
		r.doc.Drift = append(r.doc.Drift, lost)
	}
	for i := range r.doc.Drift {
		f := &r.doc.Drift[i]
		if f.Suite != r.suite.Name {
			continue
		}
		rule := journal.GateRule{RuleName: journal.RuleDrift(f.Metric), Arm: f.Arm, Limit: f.Bar, Standing: journal.RuleHolds}
		rule.Why = overview.DriftLines(f, false)[0]
		code := eval.CodeOK
		switch {
		case f.Broken:
			rule.Standing, code = journal.RuleBroken, eval.CodeIncomplete
		case f.State == "":
			rule.Standing = journal.RuleWarned
		case f.State == compare.DriftLost && f.OnAlarm == eval.OnWarn:
			rule.Standing = journal.RuleWarned
		case f.State == compare.DriftLost:
			rule.Standing, code = journal.RuleBroken, eval.CodeFailed
		}
		r.add(rule, code)
	}
}

type nightWatch struct {
	store   *history.Store // nil without a history
	known   []rundir.Acknowledgement
	until   *eval.Run                    // the newest night; nil for the newest of the history
	tonight map[[2]string]*history.Night // its arms
}

func watchNights(in rundir.Dir) (w *nightWatch, err error) {
	w = &nightWatch{}
	if w.store, err = in.ReadHistory(); err != nil {
		return nil, fmt.Errorf("the nights cannot be read: %w", err)
	}
	w.known, err = in.Acknowledged()
	return w, err
}

func (w *nightWatch) close() {
	if w.store != nil {
		_ = w.store.Close() // it was only read
	}
}

// judge fills in what the nights of an arm say of a metric.
func (w *nightWatch) judge(rule eval.DriftRule, f *journal.Drift) error {
	selects, ok := eval.ParseSelector(rule.Nights)
	if !ok {
		return fmt.Errorf("%s selects no runs", rule.Nights)
	}
	all, err := w.read(selects, f)
	if err != nil || f.Why != "" {
		return err
	}
	nights := counted(all, f)
	if w.until != nil && (len(nights) == 0 || nights[len(nights)-1].Run.ID != w.until.ID) {
		f.Why = "this run is no night: " + w.whyNot(f)
		return nil
	}
	f.Nights = len(nights)
	if f.Nights == 0 {
		f.Why = "no run that fits " + rule.Nights + " is a night"
		return nil
	}
	s := newSeries(nights, rule, f.Watched)
	s.acknowledge(w.known, f)
	found := compare.FindDrift(s.DriftSeries)
	s.report(&found, f)
	s.mark(&found, w.known, f)
	return w.name(s, &found, f)
}

// read lists the runs of an arm that a selector takes, up to tonight.
func (w *nightWatch) read(selects eval.Selector, f *journal.Drift) (all []history.Night, err error) {
	if w.until != nil && !selects.Matches(w.until) {
		f.Why = fmt.Sprintf("this run is no night: it does not fit %s", selects.Text)
		if kind, value, _ := strings.Cut(selects.Text, ":"); kind == "label" {
			f.Why += ", give the nightly runs --label " + value
		}
		return nil, nil
	}
	later := 0
	if w.store != nil {
		all, err = w.store.Nights(f.Suite, f.Arm, compare.MostNights, func(r *history.RunRecord) bool {
			fits := selects.Matches(&eval.Run{Name: r.Name, Commit: r.Commit, Branch: r.Branch, Labels: r.Labels})
			if fits && w.until != nil && r.ID != w.until.ID && r.StartedAt > w.until.StartedAt {
				later++
				return false
			}
			return fits && (w.tonight == nil || r.ID != w.until.ID)
		})
		if err := cmp.Or(err, w.noteLost(f)); err != nil {
			return nil, err
		}
	}
	if later > 0 {
		f.Notes = append(f.Notes, diag.Count(later, "run")+" of the history began after this one and "+
			diag.Verb(later, "is", "are")+" not counted: was the clock wrong?")
	}
	if tonight := w.tonight[[2]string{f.Suite, f.Arm}]; tonight != nil {
		all = append(all, *tonight)
	}
	return all, nil
}

// noteLost adds a note of nights that the history had once.
func (w *nightWatch) noteLost(f *journal.Drift) error {
	lost, err := w.store.Lost(f.Suite, f.Arm)
	if lost > 0 {
		f.Notes = append(f.Notes, "the history shrank: it lacks "+diag.Count(lost, "night")+" that it had")
	}
	return err
}

// counted are the runs that count as nights. The others are counted by the reason.
func counted(all []history.Night, f *journal.Drift) (nights []history.Night) {
	f.Left = []journal.LeftOut{}
	for _, n := range all {
		why := n.Part
		switch {
		case why != "":
		case n.Missing*10 > n.Planned:
			why = "outage"
		case n.Cached*10 > n.Planned-n.Missing:
			why = "cached answers"
		default:
			nights = append(nights, n)
			continue
		}
		at := slices.IndexFunc(f.Left, func(l journal.LeftOut) bool { return l.Why == why })
		if at < 0 {
			at = len(f.Left)
			f.Left = append(f.Left, journal.LeftOut{Why: why})
		}
		f.Left[at].Runs++
	}
	return nights
}

// whyNot says why the run is no night, although the rule selects it.
func (w *nightWatch) whyNot(f *journal.Drift) string {
	tonight := w.tonight[[2]string{f.Suite, f.Arm}]
	one := journal.Drift{}
	if tonight == nil || len(counted([]history.Night{*tonight}, &one)) > 0 {
		return "it has no trial of the arm"
	}
	return one.Left[0].Why
}

// nightSeries are the nights of an arm as the rule takes them.
type nightSeries struct {
	compare.DriftSeries
	nights  []history.Night
	keys    []string   // of the cases
	changes [][]string // what changed on each night, in words
}

func newSeries(nights []history.Night, rule eval.DriftRule, watched int) *nightSeries {
	s := &nightSeries{nights: nights, DriftSeries: compare.DriftSeries{Watched: watched, Rate: rule.Rate, Runs: rule.Runs}}
	places := map[string]int{}
	for i := range nights {
		for j := range nights[i].Cases {
			if key := nights[i].Cases[j].Key; places[key] == 0 {
				s.keys = append(s.keys, key)
				places[key] = len(s.keys)
			}
		}
	}
	for i := range nights {
		row := slices.Repeat([]float64{math.NaN()}, len(s.keys))
		for j := range nights[i].Cases {
			c := &nights[i].Cases[j]
			row[places[c.Key]-1] = resultOf(c, rule.Metric)
			s.Repeats = max(s.Repeats, c.Scored)
		}
		s.Results = append(s.Results, row)
		s.changes = append(s.changes, nil)
		if i > 0 {
			s.changes[i] = changesOf(&nights[i-1], &nights[i])
		}
		if len(s.changes[i]) > 0 {
			s.Known = append(s.Known, i+1)
		}
	}
	return s
}

// resultOf is the mean of a metric over the repeats of a case, NaN where it has no result.
func resultOf(c *history.NightCase, metric string) float64 {
	if metric == eval.MetricPass {
		if c.Scored == 0 {
			return math.NaN()
		}
		return float64(c.Passed) / float64(c.Scored)
	}
	for i := range c.Scores {
		if c.Scores[i].Name == metric {
			if mean, ok := c.Scores[i].Mean(); ok {
				return mean
			}
		}
	}
	return math.NaN()
}

// changesOf says what is known to differ between two nights. A version that is told for the first time is no difference.
func changesOf(was, is *history.Night) (out []string) {
	if v := strings.Join(is.Versions, ", "); len(was.Versions) > 0 && v != "" && !slices.Equal(was.Versions, is.Versions) {
		out = append(out, fmt.Sprintf("the model's version changed: %s to %s", strings.Join(was.Versions, ", "), v))
	}
	if was.Model != is.Model && was.Model != "" {
		out = append(out, fmt.Sprintf("the target changed: %s to %s", was.Model, is.Model))
	}
	before := map[string]uint32{}
	for i := range was.Cases {
		before[was.Cases[i].Key] = was.Cases[i].Request
	}
	changed, both := 0, 0
	for i := range is.Cases {
		if sent, known := before[is.Cases[i].Key]; known {
			if both++; sent != is.Cases[i].Request {
				changed++
			}
		}
	}
	if changed > 0 {
		out = append(out, fmt.Sprintf("what is sent changed in %d of %s", changed, diag.Count(both, "case")))
	}
	if was.Tool != is.Tool && was.Tool != "" && is.Tool != "" {
		out = append(out, fmt.Sprintf("evalrun changed: %s to %s", was.Tool, is.Tool))
	}
	return out
}

// acknowledge takes over what people said of alarms of the arm and metric.
func (s *nightSeries) acknowledge(all []rundir.Acknowledgement, f *journal.Drift) {
	for i := range all {
		a := &all[i]
		if a.Suite != f.Suite || a.Arm != f.Arm || a.Metric != f.Metric {
			continue
		}
		night, start := 0, 0
		for n := range s.nights {
			at := s.nights[n].Run.StartedAt
			if at <= a.RunAt {
				night = n + 1
			}
			if start == 0 && at >= a.From {
				start = n + 1
			}
		}
		if night > 0 {
			s.Acknowledged = append(s.Acknowledged, compare.Acknowledgement{Night: night, Start: cmp.Or(start, night), As: a.As})
		}
	}
	slices.SortStableFunc(s.Acknowledged, func(a, b compare.Acknowledgement) int { return cmp.Compare(a.Night, b.Night) })
}

func (s *nightSeries) report(found *compare.Drift, f *journal.Drift) {
	f.State, f.Bar, f.Run = found.State, found.Bar, s.nights[len(s.nights)-1].Run.ID
	e := found.Evidence
	f.Evidence, f.Parts = e.Most(), journal.DriftParts{Mean: e.Mean, Weighed: e.Weighed, Streak: e.Streak}
	f.Cases, f.Changed = []string{}, []string{}
	f.Tested, f.Known = s.steady()
	if found.From > 1 {
		f.From = found.From
	}
	if n := len(found.Rebased); n > 0 {
		points := 0.0
		for _, r := range found.Rebased {
			points += r.Points
		}
		first := s.nights[found.Rebased[0].Start-1].Run.StartedAt
		f.Notes = append(f.Notes, fmt.Sprintf("re-based %s since %s, by %+.1f points in all", times(n), first[:min(10, len(first))], points))
	}
	if found.State == compare.DriftUnchanged {
		f.Chance = new(found.Chance())
	}
	if found.State != compare.DriftLost {
		return
	}
	f.Seen, f.Start, f.Starts, f.Back = found.Seen, found.Start, found.Starts, found.Back
	at := func(night int) string { return s.nights[night-1].Run.StartedAt }
	f.StartAt = []string{at(f.Start), at(slices.Min(append(f.Starts, f.Start))), at(slices.Max(append(f.Starts, f.Start)))}
	f.Changed = append(f.Changed, s.changes[f.Start-1]...)
	if !math.IsNaN(found.Before) && !math.IsNaN(found.Since) {
		f.Before, f.Since = &found.Before, &found.Since
	}
	f.Of, f.Lower = found.Compared, found.Lower
}

func times(n int) string {
	return cmp.Or(map[int]string{1: "once", 2: "twice"}[n], fmt.Sprintf("%d times", n))
}

// mark fills in the nights of interest: where the loss began, where the series began anew, and what was acknowledged.
func (s *nightSeries) mark(found *compare.Drift, known []rundir.Acknowledgement, f *journal.Drift) {
	for _, r := range found.Rebased {
		if r.Rise {
			words := fmt.Sprintf("a rise by %.1f points: the series begins anew", r.Points)
			f.Marks = append(f.Marks, journal.DriftMark{Run: s.nights[r.Start-1].Run.ID, Words: words})
		}
	}
	for i := range known {
		a := &known[i]
		if a.Suite != f.Suite || a.Arm != f.Arm || a.Metric != f.Metric {
			continue
		}
		at := slices.IndexFunc(s.nights, func(n history.Night) bool { return n.Run.StartedAt >= a.From })
		if at < 0 {
			continue
		}
		words := "an alarm, acknowledged as " + string(a.As)
		if a.By != "" {
			words += " by " + a.By
		}
		if a.Reason != "" {
			words += ": " + a.Reason
		}
		f.Marks = append(f.Marks, journal.DriftMark{Run: s.nights[at].Run.ID, Words: words})
	}
	if f.Start > 0 {
		f.Marks = append(f.Marks, journal.DriftMark{Run: s.nights[f.Start-1].Run.ID, Words: "the loss began"})
	}
}

// steady counts the cases of the newest night, and those of them that have been run on four nights or more.
func (s *nightSeries) steady() (cases, known int) {
	for i := range s.keys {
		if math.IsNaN(s.Results[len(s.Results)-1][i]) {
			continue
		}
		ran := 0
		for _, night := range s.Results {
			if !math.IsNaN(night[i]) {
				ran++
			}
		}
		if cases++; ran > 3 {
			known++
		}
	}
	return cases, known
}

// name fills in the names and tags of the cases that moved.
func (w *nightWatch) name(s *nightSeries, found *compare.Drift, f *journal.Drift) error {
	if f.State != compare.DriftLost {
		return nil
	}
	labels := map[string]history.CaseLabel{}
	var err error
	if w.store != nil {
		if labels, err = w.store.Labels(s.keys); err != nil {
			return err
		}
	}
	nameOf := func(i int) string { return cmp.Or(labels[s.keys[i]].Name, fmt.Sprintf("case %x", s.keys[i])) }
	for _, i := range found.Moved {
		if slices.Contains(found.Lost, i) {
			f.Cases = append(f.Cases, nameOf(i))
		} else {
			f.Moved = append(f.Moved, nameOf(i))
		}
	}
	f.Tags = s.tags(f.Start, labels)
	return nil
}

// tags are the tags whose cases lost the most since a night.
func (s *nightSeries) tags(start int, labels map[string]history.CaseLabel) (out []journal.TagLoss) {
	type sums struct{ before, since eval.Sum }
	by := map[string]*sums{}
	for i, key := range s.keys {
		var was, is eval.Sum
		for n, night := range s.Results {
			if v := night[i]; math.IsNaN(v) {
				continue
			} else if n+1 < start {
				was.Add(v)
			} else {
				is.Add(v)
			}
		}
		before, ran := was.Mean()
		since, runs := is.Mean()
		if !ran || !runs {
			continue
		}
		for _, tag := range labels[key].Tags {
			if by[tag] == nil {
				by[tag] = &sums{}
			}
			by[tag].before.Add(before)
			by[tag].since.Add(since)
		}
	}
	for tag, of := range by {
		before, _ := of.before.Mean()
		since, _ := of.since.Mean()
		if before > since {
			out = append(out, journal.TagLoss{Tag: tag, Points: 100 * (since - before)})
		}
	}
	slices.SortFunc(out, func(a, b journal.TagLoss) int {
		return cmp.Or(cmp.Compare(a.Points, b.Points), cmp.Compare(a.Tag, b.Tag))
	})
	return out[:min(len(out), 5)]
}
