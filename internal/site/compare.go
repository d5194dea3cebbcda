package site

import (
	"errors"
	"fmt"
	"path"
	"slices"

	"github.com/evalrun/evalrun/compare"
	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/gate"
	"github.com/evalrun/evalrun/internal/overview"
	"github.com/evalrun/evalrun/internal/page"
	"github.com/evalrun/evalrun/journal"
)

// mostComparisons bounds the comparisons of a site, since n runs of a suite have n(n-1)/2 pairs.
const mostComparisons = 100

type comparison struct {
	Base string        `json:"base"` // keys of the two runs
	Head string        `json:"head"`
	Why  string        `json:"why,omitempty"` // why the whole comparison is invalid
	Arms []comparedArm `json:"arms"`
}

type comparedArm struct {
	Suite   string        `json:"suite"`
	Arm     string        `json:"arm"`
	State   compare.State `json:"state"`
	Changes string        `json:"changes"` // for people
}

// runPair is two runs of the same suite, the older one first.
type runPair struct{ base, head *published }

// pairs lists the runs to compare. Neighbours come first, as most readers want those, and among them the
// newest.
func (s *site) pairs() (out []runPair) {
	for distance := 1; distance < len(s.runs); distance++ {
		for i := 0; i+distance < len(s.runs); i++ {
			p := runPair{s.runs[i+distance], s.runs[i]}
			if slices.ContainsFunc(p.head.Suites, func(name string) bool { return slices.Contains(p.base.Suites, name) }) {
				out = append(out, p)
			}
		}
	}
	return out
}

// compareAll compares the runs of each suite with one another. The comparison of a run with its baseline is
// on the page of the run.
func (s *site) compareAll() ([]comparison, error) {
	all := s.pairs()
	if s.out.LeftOut = len(all) - mostComparisons; s.out.LeftOut > 0 {
		all = all[:mostComparisons]
	}
	s.out.LeftOut, s.out.Comparisons = max(0, s.out.LeftOut), len(all)
	out := []comparison{}
	for _, p := range all {
		one, err := s.compare(p)
		if err != nil {
			return nil, fmt.Errorf("%s against %s: %w", p.head.ID, p.base.ID, err)
		}
		out = append(out, one)
	}
	return out, nil
}

func (s *site) compare(p runPair) (comparison, error) {
	base, err := s.open(p.base)
	if err != nil {
		return comparison{}, err
	}
	defer base.Close() //nolint:errcheck // it was only read
	head, err := s.open(p.head)
	if err != nil {
		return comparison{}, err
	}
	defer head.Close() //nolint:errcheck // the same
	c, err := compareRuns(base, head, s.options.Margin, base.Run.Options().NoContent || head.Run.Options().NoContent)
	if err != nil {
		return comparison{}, err
	}
	block, err := page.ComparedHead(head, c)
	if err != nil {
		return comparison{}, err
	}
	points, err := page.PointsBlock(c)
	if err != nil && !errors.Is(err, page.ErrNoBlock) {
		return comparison{}, err
	}
	return brief(p, c), s.writeComparison(p, block, points)
}

// compareRuns compares two runs. Without a margin there are no verdicts.
func compareRuns(base, head *journal.Document, margin float64, noContent bool) (*compare.Comparison, error) {
	var rule *eval.BaselineRule
	if margin > 0 {
		var err error
		if rule, err = gate.RuleOf(eval.RuleOptions{Margin: margin}); err != nil {
			return nil, err
		}
	}
	return gate.Compare(base, head, gate.Comparing{
		Base: base.Run.ID, Head: head.Run.ID, Rules: func(string) *eval.BaselineRule { return rule }, NoContent: noContent,
	})
}

// writeComparison writes the page of the head run with another head block, and the points of the comparison
// if there are any.
func (s *site) writeComparison(p runPair, block, points []byte) error {
	own, err := s.to.newParcel()
	if err == nil {
		err = own.block("head", block)
	}
	if err == nil && points != nil {
		err = own.block("points", points)
	}
	if err != nil {
		return err
	}
	dir, err := own.done()
	if err != nil {
		return err
	}
	const root = "../"
	drawn := s.page("run", fmt.Sprintf("%s against %s", p.head.ID, p.base.ID), root)
	drawn.Data, drawn.Head = root+p.head.data+"/", root+dir+"/"
	return s.to.page(comparisonPage(p.base.Key, p.head.Key), drawn.Draw)
}

// comparisonPage returns the path of a comparison. comparisons.js computes the same path.
func comparisonPage(base, head string) string {
	return path.Join(comparisonsDir, base+"--"+head+".html")
}

func brief(p runPair, c *compare.Comparison) comparison {
	out := comparison{Base: p.base.Key, Head: p.head.Key, Why: c.Why, Arms: []comparedArm{}}
	for i := range c.Arms {
		a := &c.Arms[i]
		out.Arms = append(out.Arms, comparedArm{a.Suite, a.HeadArm, a.State, overview.ComparisonWordsOf(a).Changes})
	}
	return out
}
