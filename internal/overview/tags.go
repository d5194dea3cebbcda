package overview

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/evalrun/evalrun/diag"
	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/stats"
	"github.com/evalrun/evalrun/journal"
)

// failingTag is a tag whose cases fail out of proportion, on the arm where this is least likely to be chance.
type failingTag struct {
	Tag          string  `json:"tag"`
	Suite        string  `json:"suite"`
	Arm          string  `json:"arm"`
	Failed       int     `json:"failed"` // cases with the tag of which at least half of the judged repeats failed
	Of           int     `json:"of"`     // judged cases with the tag
	OthersFailed int     `json:"othersFailed"`
	OthersOf     int     `json:"othersOf"`
	P            float64 `json:"p"`                  // one-sided, times the number of tags and arms
	MoreArms     int     `json:"moreArms,omitempty"` // other arms where the tag stands out too
}

// A tag is named when Fisher's exact test finds that its cases fail more often than the others: p, times the number of tags on
// all arms (Bonferroni), is at most maxTagP, and the share is at least tagFactor times that of the others.
const (
	maxTags     = 3
	fewestCases = 3 // of a tag
	tagFactor   = 2
	maxTagP     = 0.05
	// mostTagged is the most trials that are looked at: their tags are read from the run file.
	mostTagged = 200_000
)

// FailingTags finds the tags whose cases fail out of proportion, least likely first. Cases in quarantine do not count.
func FailingTags(d *journal.Document) []failingTag {
	if d.Running || d.Summary.Counts.Fail == 0 || d.Len() > mostTagged {
		return nil
	}
	arms, err := countTags(d)
	if err != nil {
		return nil // the failures say so
	}
	var found []failingTag
	tests := 0
	for arm, counts := range arms {
		for tag, c := range counts.byTag {
			others := passFail{counts.all.failed - c.failed, counts.all.of - c.of}
			if c.of < fewestCases || others.of == 0 {
				continue
			}
			tests++
			_, p := stats.FisherExact(others.of-others.failed, others.of, c.of-c.failed, c.of)
			if c.failed*others.of >= tagFactor*others.failed*c.of {
				found = append(found, failingTag{tag, arm[0], arm[1], c.failed, c.of, others.failed, others.of, p, 0})
			}
		}
	}
	slices.SortFunc(found, func(a, b failingTag) int {
		return cmp.Or(cmp.Compare(a.P, b.P), cmp.Compare(a.Suite, b.Suite), cmp.Compare(a.Tag, b.Tag), cmp.Compare(a.Arm, b.Arm))
	})
	var out []failingTag
	for _, one := range found {
		at := slices.IndexFunc(out, func(o failingTag) bool { return o.Suite == one.Suite && o.Tag == one.Tag })
		switch one.P *= float64(tests); {
		case one.P > maxTagP:
		case at >= 0:
			out[at].MoreArms++
		default:
			out = append(out, one)
		}
	}
	return out[:min(maxTags, len(out))]
}

// String is the tag in words.
func (f failingTag) String() string {
	where := f.Arm
	if f.MoreArms > 0 {
		where += " and " + diag.Count(f.MoreArms, "more arm")
	}
	return fmt.Sprintf("tag %s: %d of %s failed, %d of the %s (%s on %s)",
		f.Tag, f.Failed, diag.Count(f.Of, "case"), f.OthersFailed, diag.Count(f.OthersOf, "other"), f.Suite, where)
}

// passFail counts judged cases, and those that failed.
type passFail struct{ failed, of int }

func (p *passFail) add(failed bool) {
	p.of++
	if failed {
		p.failed++
	}
}

type tagCounts struct {
	all   passFail
	byTag map[string]*passFail
}

// countTags counts the cases of each arm, by suite and arm.
func countTags(d *journal.Document) (map[[2]string]*tagCounts, error) {
	type judged struct {
		suite, arm, name string
	}
	cases := map[judged]eval.Counts{}
	tags := map[[2]string][]string{} // of the cases, by suite and name
	for f, err := range d.Facts() {
		switch {
		case err != nil:
			return nil, err
		case f.Quarantined || f.Unused || f.Outcome != eval.Pass && f.Outcome != eval.Fail:
			continue
		}
		key := judged{f.Suite, f.Arm, f.Case}
		counts := cases[key]
		counts.Add(f.Outcome)
		cases[key] = counts
		if id := [2]string{f.Suite, f.Case}; tags[id] == nil && len(f.Tags) > 0 {
			for _, tag := range f.Tags {
				tags[id] = append(tags[id], strings.Clone(tag))
			}
		}
	}
	arms := map[[2]string]*tagCounts{}
	for key, counts := range cases {
		arm := [2]string{key.suite, key.arm}
		if arms[arm] == nil {
			arms[arm] = &tagCounts{byTag: map[string]*passFail{}}
		}
		failed := counts.Fail >= counts.Pass
		arms[arm].all.add(failed)
		for _, tag := range tags[[2]string{key.suite, key.name}] {
			if arms[arm].byTag[tag] == nil {
				arms[arm].byTag[tag] = &passFail{}
			}
			arms[arm].byTag[tag].add(failed)
		}
	}
	return arms, nil
}
