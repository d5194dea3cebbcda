package session

import (
	"fmt"
	"slices"
	"strings"

	"github.com/evalrun/evalrun/diag"
	"github.com/evalrun/evalrun/eval"
)

// Nothing is the error for a selection without trials: what the filters fail to match, and then remedy.
func (j *Job) Nothing(remedy string) error {
	return eval.Incomplete("no trial is selected%s%s", j.Hint(), remedy)
}

// Hint names the first filter that matches nothing, with the nearest existing name. It is "" when every filter matches
// something by itself.
func (j *Job) Hint() string {
	f := &j.Options
	if chosen := j.Settings.Selection; chosen != nil && chosen.Nothing != "" && j.plan(f, nil, "").Size() > 0 {
		return chosen.Nothing
	}
	var cases, arms, tags []string
	for _, s := range j.Suites {
		for cell := range s.OutlinedCells() {
			cases = append(cases, cell.Case.Name)
			tags = append(tags, cell.Case.Tags...)
		}
		for _, a := range s.Arms() {
			arms = append(arms, a.Name())
		}
	}
	for _, set := range []struct {
		flag          string
		given, exists []string
	}{{"--case", f.Cases, cases}, {"--arm", f.Arms, arms}, {"--tag", f.Tags, tags}} {
		for _, g := range set.given {
			if slices.ContainsFunc(set.exists, eval.Pattern(g).Match) {
				continue
			}
			if near := diag.Nearest(g, set.exists, 1); len(near) > 0 && near[0] != g {
				return fmt.Sprintf(": %s %s fits none; did you mean %s?", set.flag, g, near[0])
			}
			hint := diag.DidYouMean(g, slices.Compact(slices.Sorted(slices.Values(set.exists))))
			return strings.TrimSuffix(fmt.Sprintf(": %s %s fits none; %s", set.flag, g, hint), "; ")
		}
	}
	return ""
}
