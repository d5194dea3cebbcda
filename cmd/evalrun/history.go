package main

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/evalrun/evalrun/diag"
	"github.com/evalrun/evalrun/glob"
	"github.com/evalrun/evalrun/history"
	"github.com/evalrun/evalrun/internal/exit"
)

// historyOptions are the flags of `evalrun history`.
type historyOptions struct {
	suites, arms, cases, metrics []string // globs
	limit                        int
	rebuild                      bool
	report                       string
}

// historyFormats are what -o takes.
var historyFormats = []string{"table", "json"}

func (a *app) historyCommand() *cobra.Command {
	o := historyOptions{}
	cmd := &cobra.Command{
		Use: "history [--rebuild [DIR...]]", Short: "List past runs, and how their numbers moved",
		Long: "Lists the runs that ended in this folder, and the course of each metric from run to run; with\n" +
			"--case that of single cases. The history is an index over run directories: --rebuild makes it\n" +
			"again from those below .evalrun/runs, those that it knew, and those below DIR.",
		RunE: func(_ *cobra.Command, args []string) error { return a.history(args, o) },
	}
	fs := cmd.Flags()
	fs.StringArrayVar(&o.suites, "suite", nil, "only suites that fit the glob; repeat it for several")
	fs.StringArrayVar(&o.arms, "arm", nil, "only arms (target/prompt) that fit the glob; repeat it for several")
	fs.StringArrayVar(&o.cases, "case", nil, "the course of cases that fit the glob; repeat it for several")
	fs.StringArrayVar(
		&o.metrics, "metric", nil,
		strings.Join(history.BuiltIn(), ", ")+", or the name of a scorer, as a glob; repeat it for several",
	)
	o.limit = 20
	positive(fs, &o.limit, "limit", "how many of the newest runs")
	fs.BoolVar(&o.rebuild, "rebuild", false, "make the history again from the run directories")
	fs.StringVarP(&o.report, "report", "o", "table", strings.Join(historyFormats, " or "))
	return cmd
}

// history is `evalrun history` from top to bottom.
func (a *app) history(dirs []string, o historyOptions) error {
	if !slices.Contains(historyFormats, o.report) {
		return exit.BadInput("there is no format %q of the history; %s", o.report, diag.DidYouMean(o.report, historyFormats))
	}
	if len(dirs) > 0 && !o.rebuild {
		return exit.BadInput("folders are for --rebuild: evalrun history --rebuild %s", strings.Join(dirs, " "))
	}
	if o.rebuild {
		tell := func(what string) { fmt.Fprintf(a.err, "evalrun: left out: %s\n", diag.CleanLine(what)) }
		if err := a.dir.RebuildHistory(dirs, tell); err != nil {
			return err
		}
	}
	s, err := a.dir.OpenHistory()
	if err != nil {
		return err
	}
	if s == nil {
		return a.noHistory(o)
	}
	defer s.Close() //nolint:errcheck // it was only read
	h := historyView{Version: 1, Runs: []history.Run{}, Courses: []historyCourse{}, store: s, o: o}
	if err := h.read(); err != nil {
		return err
	}
	if o.report == "json" {
		return a.printJSON(h)
	}
	var b bytes.Buffer
	h.draw(&b, a.outWidth)
	_, err = b.WriteTo(a.out)
	return err
}

// noHistory is what there is to say before the first run.
func (a *app) noHistory(o historyOptions) error {
	if o.report == "json" {
		return a.printJSON(historyView{Version: 1, Runs: []history.Run{}, Courses: []historyCourse{}})
	}
	hint := "it begins with the next run"
	if n := len(a.dir.IDs()); n > 0 {
		hint = "`evalrun history --rebuild` makes it from " + diag.Count(n, "run") + " below .evalrun/runs"
	}
	_, err := fmt.Fprintf(a.out, "no history yet: %s\n", hint)
	return err
}

// historyView is what `evalrun history` shows, and its JSON form.
type historyView struct {
	Version int             `json:"version"`
	Runs    []history.Run   `json:"runs"`
	Courses []historyCourse `json:"courses"`

	store *history.Store
	o     historyOptions
	more  int // courses that are left out of the table
}

// historyCourse is one metric of an arm, or of a case on it, from run to run.
type historyCourse struct {
	Suite  string         `json:"suite"`
	Arm    string         `json:"arm"`
	Case   string         `json:"case,omitempty"`
	Metric string         `json:"metric"`
	Level  float64        `json:"level"` // of the intervals
	Points []historyPoint `json:"points"`
}

// historyPoint is a history.Point in JSON.
type historyPoint struct {
	Run       string      `json:"run"`
	StartedAt string      `json:"startedAt"`
	Emulator  bool        `json:"emulator"`
	Value     float64     `json:"value"`
	N         int         `json:"n"`
	Interval  *[2]float64 `json:"interval"`
}

// armName is an arm with its suite.
type armName struct{ suite, arm string }

// read asks for runs and courses.
func (h *historyView) read() (err error) {
	filter := history.Filter{Suites: glob.New(h.o.suites), Arms: glob.New(h.o.arms), Limit: h.o.limit}
	if h.Runs, err = h.store.Runs(filter); err != nil {
		return err
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
		if len(h.o.cases) > 0 {
			if cases, err = h.cases(arm); err != nil {
				return err
			}
		}
		for _, caseName := range cases {
			if err := h.courses(arm, caseName, metrics[i]); err != nil {
				return err
			}
		}
	}
	return h.checkCases(arms)
}

// armsOf lists the arms of runs, those of the newest run first.
func armsOf(runs []history.Run) []armName {
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

// checkNames wants every pattern for a suite or an arm to fit something.
func (h *historyView) checkNames() error {
	fits := func(runs []history.Run) error {
		var suites, arms []string
		for _, one := range armsOf(runs) {
			suites, arms = append(suites, one.suite), append(arms, one.arm)
		}
		if err := unknown("suite", h.o.suites, suites); err != nil {
			return err
		}
		return unknown("arm", h.o.arms, arms)
	}
	if fits(h.Runs) == nil {
		return nil
	}
	all, err := h.store.Runs(history.Filter{})
	if err == nil {
		if err = fits(all); err == nil && len(h.Runs) == 0 {
			err = exit.BadInput(
				"no run in the history has an arm that fits %s in a suite that fits %s", strings.Join(h.o.arms, " or "),
				strings.Join(h.o.suites, " or "),
			)
		}
	}
	return err
}

// unknown is the error of a pattern that fits nothing.
func unknown(what string, patterns, known []string) error {
	for _, p := range patterns {
		if !slices.ContainsFunc(known, glob.Pattern(p).Match) {
			slices.Sort(known)
			hint := diag.DidYouMean(p, slices.Compact(known))
			if hint != "" {
				hint = "; " + hint
			}
			return exit.BadInput("the history has no %s %q%s", what, p, hint)
		}
	}
	return nil
}

// metrics lists the metrics to show of each arm.
func (h *historyView) metrics(arms []armName) ([][]string, error) {
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
		out[i] = slices.DeleteFunc(all, func(m string) bool { return !glob.New(h.o.metrics).Match(m) })
	}
	if len(arms) == 0 {
		return out, nil
	}
	return out, unknown("metric", h.o.metrics, slices.Clone(known))
}

// cases lists the cases of an arm that the patterns may fit. A name without a star is itself, however long ago it was
// there.
func (h *historyView) cases(arm armName) ([]string, error) {
	var out []string
	for _, p := range h.o.cases {
		fitting := []string{p}
		if strings.Contains(p, "*") {
			all, err := h.store.Cases(arm.suite, arm.arm, h.o.limit)
			if err != nil {
				return nil, err
			}
			fitting = slices.DeleteFunc(all, func(name string) bool { return !glob.Pattern(p).Match(name) })
		}
		for _, name := range fitting {
			if !slices.Contains(out, name) {
				out = append(out, name)
			}
		}
	}
	return out, nil
}

// courses reads the courses of an arm, or of a case on it.
func (h *historyView) courses(arm armName, caseName string, metrics []string) error {
	for _, metric := range metrics {
		points, err := h.store.Course(history.Query{Suite: arm.suite, Arm: arm.arm, Case: caseName, Metric: metric, Limit: h.o.limit})
		if err != nil {
			return err
		}
		if len(points) == 0 {
			continue
		}
		c := historyCourse{Suite: arm.suite, Arm: arm.arm, Case: caseName, Metric: metric, Level: 0.9}
		for _, p := range points {
			one := historyPoint{Run: p.RunID, StartedAt: p.StartedAt, Emulator: p.Emulator, Value: p.Value, N: p.N}
			if p.Bounded {
				one.Interval = &[2]float64{p.Lo, p.Hi}
			}
			c.Points = append(c.Points, one)
		}
		h.Courses = append(h.Courses, c)
	}
	return nil
}

// checkCases wants every pattern for a case to fit one.
func (h *historyView) checkCases(arms []armName) error {
	var shown []string
	for i := range h.Courses {
		shown = append(shown, h.Courses[i].Case)
	}
	if unknown("case", h.o.cases, shown) == nil {
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
	return unknown("case", h.o.cases, known)
}
