package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/evalrun/evalrun/cmd/evalrun/flags"
	"github.com/evalrun/evalrun/cmd/evalrun/term"
	"github.com/evalrun/evalrun/compare"
	"github.com/evalrun/evalrun/diag"
	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/gate"
	"github.com/evalrun/evalrun/internal/rundir"
	"github.com/evalrun/evalrun/journal"
	"github.com/evalrun/evalrun/journal/history"
	"github.com/evalrun/evalrun/reports"
)

type historyOptions struct {
	trendOptions
	rebuild bool
	json    bool
	drift   bool

	acknowledge, as, reason string
}

func (a *app) historyCommand() *cobra.Command {
	o := historyOptions{}
	cmd := &cobra.Command{
		Use: "history [SELECTOR... | --rebuild [DIR...]]", Short: "List past runs and the trends of their metrics",
		Long: "Lists the runs of this folder and the trend of each metric from run to run; with --case, of single cases.\n" +
			"Selectors such as branch:main and label:nightly choose runs. The history is an index of run directories:\n" +
			"--rebuild makes it again from .evalrun/runs, from DIR, and from the runs that it had.",
		RunE: func(_ *cobra.Command, args []string) error { return a.history(args, o) },
	}
	fs := flags.Set{FlagSet: cmd.Flags()}
	fs.StringArrayVar(&o.Suites, "suite", nil, "select suites that match `GLOB` (repeatable)")
	fs.Arms(&o.Arms)
	fs.StringArrayVar(&o.Cases, "case", nil, "show the trend of cases that match `GLOB` (repeatable)")
	fs.StringArrayVar(
		&o.Metrics, "metric", nil,
		"select metrics and scorers that match `GLOB` (repeatable): "+strings.Join(history.BuiltIn(), ", "),
	)
	o.Limit = 20
	fs.Positive(&o.Limit, "limit", "show the newest `N` runs")
	fs.BoolVar(&o.rebuild, "rebuild", false, "rebuild the history from the run directories")
	fs.BoolVar(&o.drift, "drift", false, "say whether a metric got worse over the nights, and since when")
	fs.StringVar(&o.acknowledge, "acknowledge", "", "acknowledge the alarms that stand at this `RUN`")
	fs.StringVar(&o.as, "as", "", "with --acknowledge: what the alarm was, `WORD` level, outage or nothing")
	fs.StringVar(&o.reason, "reason", "", "with --acknowledge: keep `TEXT` next to it in baselines.json")
	fs.JSON(&o.json)
	return cmd
}

// nights says what the nights say, or acknowledges an alarm.
func (a *app) nights(o historyOptions) error {
	if o.acknowledge != "" {
		found, err := a.runs.acknowledge(o.acknowledge, o.as, o.reason, a.getenv)
		for i := range found {
			f := &found[i]
			fmt.Fprintf(a.out, "acknowledged as %s: %s of %s on %s, since night %d\n", o.as, f.Metric, f.Suite, f.Arm, f.Start)
		}
		if err == nil {
			fmt.Fprintln(a.out, "commit baselines.json, so that other machines know it")
		}
		return err
	}
	found, err := a.runs.drift(o.trendOptions)
	if err != nil {
		return err
	}
	if o.json {
		err = a.screen().JSON(map[string]any{"version": 1, "drift": found})
	} else {
		err = reports.Drift(a.screen(), found, layout(a.screen()))
	}
	lost := slices.ContainsFunc(found, func(f journal.Drift) bool {
		return f.State == compare.DriftLost && f.OnAlarm != eval.OnWarn
	})
	if err == nil && lost {
		err = exitWith(eval.CodeFailed)
	}
	return err
}

func (a *app) history(dirs []string, o historyOptions) error {
	switch {
	case o.acknowledge == "" && o.as+o.reason != "":
		return eval.BadInput("--as and --reason are about an alarm: add --acknowledge RUN")
	case (o.drift || o.acknowledge != "") && (o.rebuild || len(dirs)+len(o.Cases) > 0):
		return eval.BadInput("--drift and --acknowledge take --suite, --arm and --metric: the suite says which runs are nights")
	case o.drift || o.acknowledge != "":
		return a.nights(o)
	}
	if !o.rebuild {
		o.Named = dirs
	}
	if o.rebuild {
		notice := func(what string) { fmt.Fprintf(a.err, "evalrun: left out: %s\n", diag.CleanLine(what)) }
		if err := a.runs.RebuildHistory(dirs, notice, gate.Apply); err != nil {
			return err
		}
	}
	h, err := a.runs.history(o.trendOptions)
	switch {
	case err != nil:
		return err
	case h == nil:
		return a.runs.writeNoHistory(a.screen(), o.json)
	case o.json:
		return a.screen().JSON(h)
	}
	return h.Write(a.screen())
}

// trendOptions select what to show of the history.
type trendOptions struct {
	Suites, Arms, Cases, Metrics []string // globs
	Limit                        int      // the newest runs
	Named                        []string // selectors of runs, such as label:nightly; empty means all runs
}

// drift is what the nights of the history say of the suites, arms and metrics that the options select.
func (f folder) drift(o trendOptions) ([]journal.Drift, error) {
	s, err := f.OpenHistory() // which adds the runs that ended meanwhile
	if err != nil || s == nil {
		return []journal.Drift{}, err
	}
	if err := s.Close(); err != nil {
		return nil, err
	}
	found, err := gate.PastDrift(f.Dir, nil, eval.NewPatterns(o.Suites), eval.NewPatterns(o.Arms), eval.NewPatterns(o.Metrics))
	if err == nil && len(found) == 0 && len(o.Suites)+len(o.Arms)+len(o.Metrics) > 0 {
		err = eval.BadInput("nothing in the history fits the suites, arms and metrics")
	}
	return found, err
}

// acknowledge keeps what somebody says of the alarms that stand at a run.
func (f folder) acknowledge(run, as, reason string, getenv func(string) string) ([]journal.Drift, error) {
	said := eval.AcknowledgedAs(as)
	if known := []eval.AcknowledgedAs{eval.AsLevel, eval.AsOutage, eval.AsNothing}; !slices.Contains(known, said) {
		return nil, eval.BadInput("--acknowledge takes --as level, outage or nothing, not %q: see `evalrun help nightly`", as)
	}
	return gate.Acknowledge(f.Dir, run, rundir.Acknowledgement{As: said, By: f.UserName(getenv), Reason: reason})
}

// history reads the trends that the options select. It returns nil if there is no history yet.
func (f folder) history(o trendOptions) (*historyReport, error) {
	s, err := f.OpenHistory()
	if err != nil || s == nil {
		return nil, err
	}
	defer s.Close() //nolint:errcheck // only read
	h := emptyHistory()
	h.store, h.o, h.in = s, o, f.Abs("")
	h.Cases, h.Narrowed = o.Cases, len(o.Suites)+len(o.Arms) > 0
	return h, h.read()
}

// writeNoHistory says that the folder has no history yet, and how to begin one.
func (f folder) writeNoHistory(screen term.Screen, asJSON bool) error {
	if asJSON {
		return screen.JSON(emptyHistory())
	}
	hint := "it begins with the next run"
	if n := len(f.IDs()); n > 0 {
		hint = "`evalrun history --rebuild` makes it from " + diag.Count(n, "run") + " below .evalrun/runs"
	}
	_, err := fmt.Fprintf(screen, "no history yet: %s\n", hint)
	return err
}

func emptyHistory() *historyReport {
	return &historyReport{Excerpt: history.Excerpt{Version: 1, Runs: []history.RunRecord{}, Trends: []history.ArmTrend{}}}
}

type historyReport struct {
	history.Excerpt

	store *history.Store
	o     trendOptions
	in    string // the folder of the history
}

// Write writes the history for people.
func (h *historyReport) Write(screen term.Screen) error {
	o := layout(screen)
	o.Folder = h.in
	return reports.History(screen, &h.Excerpt, o)
}

type armName struct{ suite, arm string }

func (h *historyReport) read() (err error) {
	filter := history.RunFilter{Suites: eval.NewPatterns(h.o.Suites), Arms: eval.NewPatterns(h.o.Arms), Limit: h.o.Limit}
	if filter.Choose, err = h.chosen(); err != nil {
		return err
	}
	if h.Runs, err = h.store.Runs(filter); err != nil {
		return err
	}
	if len(h.Runs) == 0 && len(h.o.Named) > 0 {
		return eval.BadInput("no run in the history fits %s", strings.Join(h.o.Named, " "))
	}
	if err := h.checkNames(); err != nil {
		return err
	}
	arms := armsOf(h.Runs)
	metrics, err := h.metrics(arms)
	if err != nil {
		return err
	}
	for i, arm := range arms {
		cases := []string{""}
		if len(h.o.Cases) > 0 {
			if cases, err = h.cases(arm); err != nil {
				return err
			}
		}
		for _, caseName := range cases {
			if err := h.trends(arm, caseName, metrics[i]); err != nil {
				return err
			}
		}
	}
	return h.checkCases(arms)
}

// chosen returns a function that picks the runs that match the selectors; nil without selectors.
func (h *historyReport) chosen() (func([]history.RunRecord) []history.RunRecord, error) {
	var selectors []eval.Selector
	for _, name := range h.o.Named {
		s, ok := eval.ParseSelector(name)
		if !ok {
			return nil, eval.BadInput(
				"%s selects no runs: write latest:BRANCH, branch:B, label:L, name:N or commit:C; for a folder, evalrun history "+
					"--rebuild %s",
				name, name,
			)
		}
		selectors = append(selectors, s)
	}
	if len(selectors) == 0 {
		return nil, nil
	}
	return func(all []history.RunRecord) (out []history.RunRecord) {
		at := func(i int) *eval.Run {
			return &eval.Run{Name: all[i].Name, Commit: all[i].Commit, Branch: all[i].Branch, Labels: all[i].Labels}
		}
		for _, i := range rundir.Choose(selectors, len(all), at) {
			out = append(out, all[i])
		}
		return out
	}, nil
}

func armsOf(runs []history.RunRecord) []armName {
	var out []armName
	for i := range slices.Backward(runs) {
		for j := range runs[i].Arms {
			if one := (armName{runs[i].Arms[j].Suite, runs[i].Arms[j].Arm}); !slices.Contains(out, one) {
				out = append(out, one)
			}
		}
	}
	slices.SortStableFunc(out, func(x, y armName) int { return strings.Compare(x.suite, y.suite) })
	return out
}

// checkNames refuses a pattern that matches no suite or arm, since a typo must not look like an empty history.
func (h *historyReport) checkNames() error {
	fits := func(runs []history.RunRecord) error {
		var suites, arms []string
		for _, one := range armsOf(runs) {
			suites, arms = append(suites, one.suite), append(arms, one.arm)
		}
		if err := unknown("suite", h.o.Suites, suites); err != nil {
			return err
		}
		return unknown("arm", h.o.Arms, arms)
	}
	if fits(h.Runs) == nil {
		return nil
	}
	all, err := h.store.Runs(history.RunFilter{})
	if err == nil {
		if err = fits(all); err == nil && len(h.Runs) == 0 {
			err = eval.BadInput(
				"no run in the history has an arm that fits %s in a suite that fits %s", strings.Join(h.o.Arms, " or "),
				strings.Join(h.o.Suites, " or "),
			)
		}
	}
	return err
}

func unknown(what string, patterns, known []string) error {
	for _, p := range patterns {
		if !slices.ContainsFunc(known, eval.Pattern(p).Match) {
			slices.Sort(known)
			hint := diag.DidYouMean(p, slices.Compact(known))
			if hint != "" {
				hint = "; " + hint
			}
			return eval.BadInput("the history has no %s %q%s", what, p, hint)
		}
	}
	return nil
}

func (h *historyReport) metrics(arms []armName) ([][]string, error) {
	out := make([][]string, len(arms))
	var known []string
	for i, arm := range arms {
		named, err := h.store.Metrics(arm.suite, arm.arm, 0)
		if err != nil {
			return nil, err
		}
		all := history.BuiltIn()
		for _, name := range named {
			all = append(all, history.NamedMetric(name))
		}
		known = append(known, all...)
		out[i] = slices.DeleteFunc(all, func(m string) bool { return !eval.NewPatterns(h.o.Metrics).Match(m) })
	}
	if len(arms) == 0 {
		return out, nil
	}
	return out, unknown("metric", h.o.Metrics, slices.Clone(known))
}

// cases returns the cases of an arm that match. A name without a star counts even if no recent run has the case.
func (h *historyReport) cases(arm armName) ([]string, error) {
	var out []string
	for _, p := range h.o.Cases {
		fitting := []string{p}
		if strings.Contains(p, "*") {
			all, err := h.store.Cases(arm.suite, arm.arm, h.o.Limit)
			if err != nil {
				return nil, err
			}
			fitting = slices.DeleteFunc(all, func(name string) bool { return !eval.Pattern(p).Match(name) })
		}
		for _, name := range fitting {
			if !slices.Contains(out, name) {
				out = append(out, name)
			}
		}
	}
	return out, nil
}

func (h *historyReport) trends(arm armName, caseName string, metrics []string) error {
	for _, metric := range metrics {
		points, err := h.store.Trend(history.Query{
			Suite: arm.suite, Arm: arm.arm, Case: caseName, Metric: metric,
			Limit: h.limit(),
		})
		if err != nil {
			return err
		}
		points = h.ofRuns(points)
		if len(points) == 0 {
			continue
		}
		h.Trends = append(h.Trends, history.ArmTrend{
			Suite: arm.suite, Arm: arm.arm, Case: caseName, Metric: metric, Level: 0.9, Points: points,
		})
	}
	return nil
}

// limit returns how many of the newest runs a trend has. Selected runs have no limit.
func (h *historyReport) limit() int {
	if len(h.o.Named) > 0 {
		return 0
	}
	return h.o.Limit
}

func (h *historyReport) ofRuns(points []history.Point) []history.Point {
	if len(h.o.Named) == 0 {
		return points
	}
	return slices.DeleteFunc(points, func(p history.Point) bool {
		return !slices.ContainsFunc(h.Runs, func(r history.RunRecord) bool { return r.ID == p.Run })
	})
}

func (h *historyReport) checkCases(arms []armName) error {
	var shown []string
	for i := range h.Trends {
		shown = append(shown, h.Trends[i].Case)
	}
	if unknown("case", h.o.Cases, shown) == nil {
		return nil
	}
	var known []string
	for _, arm := range arms {
		names, err := h.store.Cases(arm.suite, arm.arm, 0)
		if err != nil {
			return err
		}
		known = append(known, names...)
	}
	return unknown("case", h.o.Cases, known)
}
