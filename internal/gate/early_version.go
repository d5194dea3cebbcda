package gate

import (
	"maps"
	"slices"

	"github.com/evalrun/evalrun/compare"
	"github.com/evalrun/evalrun/eval"
)

// An earlier version of a suite has its own cases. Cases that are compared with a current case belong to its unit;
// the others run, and no test looks at them.

// sides divides the planned arms of a suite into those of today and those of a baseline. Cases of an earlier version
// get the names that their partners have today.
func (w *watchedSuite) sides(planned map[string]*compare.Side, order []string) (heads, bases []*compare.Side) {
	for _, arm := range slices.Sorted(maps.Keys(w.base)) {
		bases = append(bases, w.base[arm])
	}
	earlier, interleaved := w.rule.Against.(eval.BaseVersion)
	for _, arm := range order {
		if !interleaved || !earlier.Includes(arm) {
			heads = append(heads, planned[arm])
			continue
		}
		head := planned[earlier.Current(arm)]
		if head == nil { // then there is nothing to compare
			head = &compare.Side{}
		}
		same := partners(planned[arm], head)
		renamed := &compare.Side{}
		w.partners[arm] = map[string]string{}
		for i, c := range planned[arm].Cases.All() {
			at, found := same[i]
			if !found {
				continue
			}
			h := head.Cases.At(at)
			w.partners[arm][c.Key()] = h.Key()
			c.ID, c.Name = h.ID, h.Name
			renamed.Cases.Add(c)
		}
		bases = append(bases, renamed)
	}
	return heads, bases
}

// partners maps the place of each case of base to the place of the case of head that it is compared with.
func partners(base, head *compare.Side) map[int]int {
	pairs := map[int]int{}
	m := compare.NewMatcher(base)
	for i, h := range head.Cases.All() {
		b := m.Match(h.ID, h.Name)
		if b < 0 {
			continue
		}
		if c := base.Cases.At(b); c.SameAs(h.Scorers, h.Vars, h.Quarantined) {
			pairs[b] = i
		}
	}
	return pairs
}

// caseKey names the case of a trial: of an earlier version, that with which it is compared.
func (w *watchedSuite) caseKey(t *eval.Trial) string {
	key := t.CaseID + "\x00" + t.Case
	if partner, ok := w.partners[t.Arm][key]; ok {
		return partner
	}
	return key
}

// unitOf is the unit of an arm to which a trial of it, or of the arm that it is compared with, belongs; nil when there is none.
func (q *Early) unitOf(w *watchedSuite, a *watchedArm, t *eval.Trial) *unit {
	if t.Arm != a.arm && t.Arm != w.baseOf(a.arm) {
		return nil
	}
	if earlier, interleaved := w.rule.Against.(eval.BaseVersion); interleaved && earlier.Includes(t.Arm) {
		if _, compared := w.partners[t.Arm][t.CaseID+"\x00"+t.Case]; !compared {
			return nil
		}
	}
	return a.by[q.unitKey(t)]
}
