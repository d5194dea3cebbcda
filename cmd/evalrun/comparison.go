package main

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/evalrun/evalrun/cmd/evalrun/term"
	"github.com/evalrun/evalrun/compare"
	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/gate"
	"github.com/evalrun/evalrun/internal/judging"
	"github.com/evalrun/evalrun/internal/session"
	"github.com/evalrun/evalrun/journal"
	"github.com/evalrun/evalrun/reports"
)

// compareRequest says how to compare two runs or two arms.
type compareRequest struct {
	Rule eval.RuleOptions
	Arms []string // empty, or the arms of base and head
	// Within is how much worse than the best the arms may be that a ranking names; 0: it names none.
	Within float64

	Verbose bool // show the tests and their p values

	Preferences bool // a judge states preferences, which are one more metric
	ByJudge     judging.ByJudge
}

type compareResult struct {
	found   *compare.Comparison
	rule    *eval.BaselineRule
	verbose bool
	waits   bool // one of the runs waits for its batches
}

// Exit returns the exit code of the comparison.
func (c *compareResult) Exit() int {
	if c.waits {
		return eval.CodeWaiting
	}
	return gate.Exit(c.found, c.rule)
}

// waiting reports whether one of two runs waits for its batches.
func waiting(base, head *journal.Document) bool { return base.Waits() != nil || head.Waits() != nil }

// Write writes the comparison for people.
func (c *compareResult) Write(screen term.Screen) error {
	o := layout(screen)
	o.Verbose = c.verbose
	return reports.Comparison(screen, c.found, o)
}

// WriteJSON writes the comparison for programs.
func (c *compareResult) WriteJSON(screen term.Screen) error { return screen.JSON(c.found) }

// compare compares two runs, or two arms of one run. names are one or two names that OpenBaseline accepts.
func (f folder) compare(ctx context.Context, names []string, o compareRequest) (*compareResult, error) {
	rule, err := gate.RuleOf(o.Rule)
	if err != nil {
		return nil, err
	}
	what := gate.Comparing{
		Base:  names[0],
		Head:  names[len(names)-1],
		Rules: func(string) *eval.BaselineRule { return rule },
	}
	if len(o.Arms) == 2 {
		what.HeadArm, what.BaseOf = o.Arms[1], func(string) string { return o.Arms[0] }
	}
	if o.Preferences {
		return f.prefer(ctx, names, o, what, rule)
	}
	base, head, err := f.readTwo(names, o)
	if err != nil {
		return nil, err
	}
	defer base.Close() //nolint:errcheck // only read
	defer head.Close() //nolint:errcheck // only read
	c, err := gate.CompareRead(base, head, what)
	return &compareResult{c, rule, o.Verbose, waiting(base.Document, head.Document)}, err
}

func (f folder) prefer(
	ctx context.Context, names []string, o compareRequest, what gate.Comparing, rule *eval.BaselineRule,
) (*compareResult, error) {
	base, head, err := f.openTwo(names)
	if err != nil {
		return nil, err
	}
	defer base.Close() //nolint:errcheck // only read
	defer head.Close() //nolint:errcheck // only read
	if err := o.checkArms(names, base, head); err != nil {
		return nil, err
	}
	if rule != nil && len(o.Rule.Metrics) == 0 {
		rule.Metrics = append(rule.Metrics, eval.MetricMargin{Name: eval.MetricPreference, Margin: o.Rule.Margin})
	}
	judge, err := judging.NewPairJudge(ctx, base, head, o.ByJudge)
	if err != nil {
		return nil, err
	}
	defer judge.Close()
	c, err := judge.Compare(ctx, what)
	return &compareResult{c, rule, o.Verbose, waiting(base, head)}, err
}

// checkArms requires that the runs have the two arms. Comparing a run with itself needs two arms.
func (o *compareRequest) checkArms(names []string, base, head *journal.Document) error {
	switch arms := gate.ArmNames(head); {
	case len(o.Arms) == 2:
		return cmp.Or(gate.CheckArm(base, o.Arms[0]), gate.CheckArm(head, o.Arms[1]))
	case len(o.Arms) == 0 && len(names) == 2:
		return nil
	case len(o.Arms) > 0:
		return eval.BadInput("--arms takes two: --arms BASE-ARM HEAD-ARM; the run has %s", listed(arms))
	case len(arms) < 2:
		return eval.BadInput(
			"compare takes two runs, since this one has only the arm %s: evalrun compare BASE %s", listed(arms), names[0],
		)
	default:
		return eval.BadInput(
			"compare takes two runs, or one with two of its arms (%s): evalrun compare %s --arms %s %s --margin 0.05; which arm is best: "+
				"evalrun compare %s --rank", listed(arms), names[0], arms[0], arms[1], names[0],
		)
	}
}

// maxArmNames bounds the arms that an error lists.
const maxArmNames = 6

func listed(arms []string) string {
	if more := len(arms) - maxArmNames; more > 0 {
		return strings.Join(arms[:maxArmNames], ", ") + fmt.Sprintf(" and %d more", more)
	}
	return strings.Join(arms, ", ")
}

// preferenceResult is a ranking of arms by the preferences of a judge.
type preferenceResult struct{ found *compare.Preferences }

// Exit returns 0 if every suite has a ranking.
func (p *preferenceResult) Exit() int {
	if p.found.By.Incomplete != "" ||
		slices.ContainsFunc(p.found.Suites, func(s compare.SuitePreferences) bool { return s.Why != "" }) {
		return eval.CodeIncomplete
	}
	return 0
}

// Write writes the ranking for people.
func (p *preferenceResult) Write(screen term.Screen) error {
	return reports.Preferences(screen, p.found, layout(screen))
}

// WriteJSON writes the ranking for programs.
func (p *preferenceResult) WriteJSON(screen term.Screen) error { return screen.JSON(p.found) }

// rankByPreference ranks the arms of a run by what a judge prefers. OpenBaseline explains name.
func (f folder) rankByPreference(ctx context.Context, name string, o compareRequest) (*preferenceResult, error) {
	d, err := f.OpenBaseline(name)
	if err != nil {
		return nil, err
	}
	defer d.Close() //nolint:errcheck // only read
	for _, arm := range o.Arms {
		if err := gate.CheckArm(d, arm); err != nil {
			return nil, err
		}
	}
	judge, err := judging.NewPairJudge(ctx, d, d, o.ByJudge)
	if err != nil {
		return nil, err
	}
	defer judge.Close()
	prices, err := session.PricesOf(d, o.ByJudge.Options)
	if err != nil {
		return nil, err
	}
	found, err := judge.Rank(ctx, judging.RankRequest{Name: name, Alpha: o.Rule.Alpha, Arms: o.Arms, Prices: prices})
	return &preferenceResult{found}, err
}

func (f folder) openTwo(names []string) (base, head *journal.Document, err error) {
	return both(f, names, func(name string) (*journal.Document, error) { return f.OpenBaseline(name) })
}

// readTwo reads the parts of both runs that a comparison needs. A single name is used for both sides.
func (f folder) readTwo(names []string, o compareRequest) (base, head *gate.RunSides, err error) {
	read := func(name string) (*gate.RunSides, error) {
		d, err := f.OpenBaseline(name, journal.KeepFacts)
		if err != nil {
			return nil, err
		}
		gate.MeasureJudges(f.Dir, d)
		r, err := gate.Read(d, o.Rule.Estimand)
		if err != nil {
			_ = d.Close() // the first error is the one to report
		}
		d.Release()
		return r, err
	}
	if base, head, err = both(f, names, read); err != nil {
		return nil, nil, err
	}
	if err = o.checkArms(names, base.Document, head.Document); err != nil {
		base.Close() //nolint:errcheck // only read
		head.Close() //nolint:errcheck // only read
	}
	return base, head, err
}

// both opens two runs concurrently, because opening takes half the time of a comparison. Large runs are
// opened one after the other, to keep the peak of memory low.
func both[T interface{ Close() error }](f folder, names []string, open func(string) (T, error)) (base, head T, err error) {
	if len(names) == 1 {
		base, err = open(names[0])
		return base, base, err
	}
	var failed error
	var opening sync.WaitGroup
	opening.Go(func() { base, failed = open(names[0]) })
	if f.isLarge(names[0]) {
		opening.Wait()
	}
	head, err = open(names[1])
	opening.Wait()
	switch {
	case failed != nil && err == nil:
		_ = head.Close() // the first error is the one to report
	case failed == nil && err != nil:
		_ = base.Close() // the first error is the one to report
	}
	return base, head, cmp.Or(failed, err)
}

// largeRun is the size, in bytes, from which both opens runs one by one: some hundred thousand trials.
const largeRun = 256 << 20

// isLarge returns false for a run that cannot be found; opening it reports the error.
func (f folder) isLarge(name string) bool {
	path, err := f.FindBaseline(name)
	if err != nil {
		return false
	}
	info, err := os.Stat(path)
	if err == nil && info.IsDir() {
		info, err = os.Stat(filepath.Join(path, journal.FileName))
	}
	return err == nil && info.Size() >= largeRun
}
