package runs

import (
	"cmp"
	"context"
	"io"
	"slices"
	"sync"

	"github.com/evalrun/evalrun/compare"
	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/choosing"
	"github.com/evalrun/evalrun/internal/exit"
	"github.com/evalrun/evalrun/internal/harness"
	"github.com/evalrun/evalrun/internal/term"
	"github.com/evalrun/evalrun/internal/verdict"
	"github.com/evalrun/evalrun/journal"
	"github.com/evalrun/evalrun/reports"
)

// CompareOptions say how two runs, or two arms, are compared.
type CompareOptions struct {
	Rule eval.RuleOptions
	Arms []string // none, or those of base and head

	Choose bool // by a judge, whose choices are one more metric
	Judge  choosing.ByJudge
}

// Comparison is what came of comparing.
type Comparison struct {
	found *compare.Comparison
	rule  *eval.BaselineRule
}

// Exit is the exit code of the comparison.
func (c *Comparison) Exit() int { return verdict.Exit(c.found, c.rule) }

// Write writes the comparison for people.
func (c *Comparison) Write(screen term.Screen) error {
	return reports.Comparison(screen, c.found, layout(screen))
}

// WriteJSON writes the comparison for programs.
func (c *Comparison) WriteJSON(w io.Writer) error { return reports.ComparisonJSON(w, c.found) }

// Compare compares two runs, or two arms of one when only that is named. names are what OpenBaseline takes.
func (f Folder) Compare(ctx context.Context, names []string, o CompareOptions) (*Comparison, error) {
	base, head, err := f.openTwo(names)
	if err != nil {
		return nil, err
	}
	defer base.Close() //nolint:errcheck // it was only read
	defer head.Close() //nolint:errcheck // the same
	rule, err := verdict.RuleOf(o.Rule)
	if err != nil {
		return nil, err
	}
	what := verdict.Comparing{Base: names[0], Head: names[len(names)-1], Rules: func(string) *eval.BaselineRule { return rule }}
	if len(o.Arms) == 2 {
		what.HeadArm, what.BaseOf = o.Arms[1], func(string) string { return o.Arms[0] }
		for i, d := range []*journal.Document{base, head} {
			if err := verdict.CheckArm(d, o.Arms[i]); err != nil {
				return nil, err
			}
		}
	}
	if !o.Choose {
		c, err := verdict.Compare(base, head, what)
		return &Comparison{c, rule}, err
	}
	if rule != nil && len(o.Rule.Metrics) == 0 {
		rule.Metrics = append(rule.Metrics, eval.MetricMargin{Name: eval.MetricChoose, Margin: o.Rule.Margin})
	}
	chooser, err := choosing.New(ctx, base, head, o.Judge)
	if err != nil {
		return nil, err
	}
	defer chooser.Close()
	c, err := chooser.Compare(ctx, what)
	return &Comparison{c, rule}, err
}

// Preferences is what came of ranking arms by preferences.
type Preferences struct{ found *compare.Preferences }

// Exit is the exit code: 0 when every suite has a ranking.
func (p *Preferences) Exit() int {
	if p.found.Judge.Incomplete != "" || slices.ContainsFunc(p.found.Suites, func(s compare.SuitePreferences) bool { return s.Why != "" }) {
		return exit.CodeIncomplete
	}
	return 0
}

// Write writes the ranking for people.
func (p *Preferences) Write(screen term.Screen) error {
	return reports.Preferences(screen, p.found, layout(screen))
}

// WriteJSON writes the ranking for programs.
func (p *Preferences) WriteJSON(w io.Writer) error { return reports.PreferencesJSON(w, p.found) }

// RankByChoice ranks the arms of a run by what a judge prefers. name is what OpenBaseline takes.
func (f Folder) RankByChoice(ctx context.Context, name string, o CompareOptions) (*Preferences, error) {
	d, err := f.OpenBaseline(name)
	if err != nil {
		return nil, err
	}
	defer d.Close() //nolint:errcheck // it was only read
	for _, arm := range o.Arms {
		if err := verdict.CheckArm(d, arm); err != nil {
			return nil, err
		}
	}
	chooser, err := choosing.New(ctx, d, d, o.Judge)
	if err != nil {
		return nil, err
	}
	defer chooser.Close()
	prices, err := harness.PricesOf(d, o.Judge.Flags, o.Judge.Getenv)
	if err != nil {
		return nil, err
	}
	found, err := chooser.Rank(ctx, choosing.Ranked{Name: name, Alpha: o.Rule.Alpha, Arms: o.Arms, Prices: prices})
	return &Preferences{found}, err
}

// openTwo opens both sides at once, which is half of what a comparison takes. One run is both sides.
func (f Folder) openTwo(names []string) (base, head *journal.Document, err error) {
	if len(names) == 1 {
		base, err = f.OpenBaseline(names[0])
		return base, base, err
	}
	var failed error
	var opening sync.WaitGroup
	opening.Go(func() { base, failed = f.OpenBaseline(names[0]) })
	head, err = f.OpenBaseline(names[1])
	opening.Wait()
	if err = cmp.Or(failed, err); err == nil {
		return base, head, nil
	}
	for _, d := range []*journal.Document{base, head} {
		if d != nil {
			_ = d.Close() // the first error is the one to tell
		}
	}
	return nil, nil, err
}
