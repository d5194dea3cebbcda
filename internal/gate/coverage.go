package gate

import (
	"cmp"
	"fmt"
	"slices"
	"sync"

	"github.com/evalrun/evalrun/compare"
	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/stats"
	"github.com/evalrun/evalrun/internal/text"
	"github.com/evalrun/evalrun/journal"
)

// cover says which cases of its suite an arm of a run left out. Where not all of them are listed, those that the filters of
// the run would have taken are new.
func cover(side *compare.Side, d *journal.Document) {
	lists, known := d.NotRun()
	side.UnknownCoverage = !known
	side.NotRun = onArm(lists, side.Suite, side.Arm)
	shard := d.Run.Plan.Shard != nil
	if more := func(l *eval.NotRun) bool { return l.Count > len(l.Cases) }; !shard && !slices.ContainsFunc(side.NotRun, more) {
		return
	}
	o := d.Run.Options()
	taken := sync.OnceValue(func() func(*compare.CaseTotals) bool { return selectedBy(o, side, nil) })
	side.Unlisted = func(c *compare.CaseTotals) bool {
		return shard || o.ChangedSince != "" || taken() == nil || !taken()(c)
	}
}

func onArm(lists []*eval.NotRun, suite, arm string) (out []*eval.NotRun) {
	for _, list := range lists {
		if list.Suite == suite && slices.Contains(list.Arms, arm) {
			out = append(out, list)
		}
	}
	return out
}

// selectedBy says which cases of a baseline a run has to cover: --case, --tag and --sample take them by their names
// and tags in the baseline, and --changed-since those that the run has not left out. A case that was deleted or edited counts
// as one that the run has to cover. The result nil is all of them.
func selectedBy(o *eval.Options, side *compare.Side, notRun []*eval.NotRun) func(*compare.CaseTotals) bool {
	names, tags := eval.NewPatterns(o.Cases), eval.NewPatterns(o.Tags)
	last := lastSampled(o, side)
	unchanged := map[string]bool{}
	if o.ChangedSince == "" {
		notRun = nil
	}
	for _, list := range notRun {
		for _, c := range list.Cases {
			unchanged[c.ID] = true
		}
	}
	if len(names) == 0 && len(tags) == 0 && last == nil && len(unchanged) == 0 {
		return nil
	}
	return func(c *compare.CaseTotals) bool {
		switch {
		case !names.Match(c.Name):
			return false
		case len(tags) > 0 && !slices.ContainsFunc(c.Tags, tags.Match):
			return false
		case unchanged[c.ID]:
			return false
		}
		return last == nil || lot(o.Seed, side.Suite, c.ID) <= *last
	}
}

// lastSampled is the largest lot of the cases of an arm, nil where all ran.
func lastSampled(o *eval.Options, side *compare.Side) *uint64 {
	if o.Sample == 0 || len(side.Cases) < o.Sample {
		return nil
	}
	var last uint64
	for _, c := range side.Cases {
		last = max(last, lot(o.Seed, side.Suite, c.ID))
	}
	return &last
}

// noteSelection says what selected the cases of an arm, and why there is no verdict on such a selection.
func noteSelection(arm *compare.ArmComparison, p armPair, base, head *journal.Document) {
	arm.Cases.Selection = text.Selection(head.Run.Options())
	arm.Why = cmp.Or(
		chosenByOutcome("the baseline", base), chosenByOutcome("the run", head), chosenByName(p, base, head), arm.Why,
	)
	if base == head { // which left out the same cases on both sides
		for _, list := range p.head.NotRun {
			arm.Cases.Unselected += list.Count
		}
	} else if words := chosenOtherwise(head.Run.Options(), p); words != "" && arm.Why == "" {
		arm.Notes = append(arm.Notes, "warning: "+words)
	}
}

// maxNames bounds the names of a selection in a message.
const maxNames = 3

// chosenNames are the single cases that a selection names, in order: patterns and tags that take one case only, with a star
// or without.
func (p *armPair) chosenNames(o *eval.Options) (names []string) {
	all := slices.Concat(p.base.Cases, p.head.Cases)
	single := func(takes func(*compare.CaseTotals) bool) bool {
		taken := map[string]bool{}
		for _, c := range all {
			if takes(c) {
				taken[c.Name] = true
			}
		}
		return len(taken) == 1
	}
	for _, name := range o.Cases {
		if single(func(c *compare.CaseTotals) bool { return eval.Pattern(name).Match(c.Name) }) {
			names = append(names, name)
		}
	}
	for _, tag := range o.Tags {
		if single(func(c *compare.CaseTotals) bool { return slices.ContainsFunc(c.Tags, eval.Pattern(tag).Match) }) {
			names = append(names, "tag "+tag)
		}
	}
	if o.Handpicked() {
		places, _ := o.Selected.MarshalText() // it always encodes
		names = append(names, "places "+string(places))
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// chosenByName says that one side was selected by the names of its cases, "" if none was, or both alike: the user may have
// seen the answers of the other side, and those that were bad by chance are better the next time.
func chosenByName(p armPair, base, head *journal.Document) string {
	before, after := p.chosenNames(base.Run.Options()), p.chosenNames(head.Run.Options())
	if base == head || slices.Equal(before, after) {
		return ""
	}
	side, names := "the run", after
	if len(after) == 0 {
		side, names = "the baseline", before
	}
	return fmt.Sprintf(
		"%s was selected by name (%s), maybe for its answers: compare with --interleave, or with a baseline of the same selection",
		side, text.SomeNames(names, maxNames),
	)
}

// chosenOtherwise warns that --case and --tag take cases with other outcomes in the baseline than the rest has, "" where they do
// not.
func chosenOtherwise(o *eval.Options, p armPair) string {
	if len(o.Cases)+len(o.Tags) == 0 {
		return ""
	}
	taken := map[string]bool{} // a tag may be newer than the baseline
	for _, c := range p.head.Cases {
		taken[c.Name] = true
	}
	var passed, of [2]int
	for _, c := range p.base.Cases {
		rate, scored := c.PassRate()
		if !scored || c.Quarantined {
			continue
		}
		at := 0
		if !taken[c.Name] {
			at = 1
		}
		of[at]++
		if rate == 1 {
			passed[at]++
		}
	}
	if twoSided, _ := stats.FisherExact(passed[0], of[0], passed[1], of[1]); of[0] == 0 || of[1] == 0 || twoSided >= 0.01 {
		return ""
	}
	selected := eval.Options{SelectionOptions: eval.SelectionOptions{Cases: o.Cases, Tags: o.Tags}}
	return fmt.Sprintf(
		"the cases of %s did otherwise than the others in the baseline: %d of %d passed, of the others %d of %d",
		text.Selection(&selected), passed[0], of[0], passed[1], of[1],
	)
}
