package gate

import (
	"cmp"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"hash/maphash"
	"slices"

	"github.com/evalrun/evalrun/diag"
	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/rundir"
	"github.com/evalrun/evalrun/journal"
	"github.com/evalrun/evalrun/runner"
)

// Selection is the result of --failed-in, --changed-since and --sample on the trials that the other filters
// select. The run file records it, because the runs behind it may change or be deleted.
type Selection struct {
	Places                 *eval.Places
	FailedIn, ChangedSince string // the ids of those runs
	Sample                 int    // cases of each suite
	Nothing                string // which of the filters left nothing, and why; "" when something is left
}

// ArmCase names a case of an arm.
type ArmCase struct{ Suite, Case, Arm string }

// trialFilter takes the cases of arms when it takes one of their repeats.
type trialFilter struct {
	takes   func(*eval.Trial) bool
	nothing string // what to say when it takes none
	left    int    // what it and those before it have taken
}

// NewSelection applies the filters that look at more than names; nil when none is given. A resumed run knows its selection.
// recordedOnly is a run whose trials alone can be selected, "" without. plan is the plan by names alone, in one
// piece.
func NewSelection(f *eval.Options, dir rundir.Dir, recordedOnly string, plan func() *runner.Plan) (*Selection, error) {
	out := &Selection{Places: f.Selected, FailedIn: f.FailedIn, ChangedSince: f.ChangedSince, Sample: f.Sample}
	if f.Selected != nil {
		return out, nil
	}
	filters, err := out.filters(dir, recordedOnly)
	if err != nil || len(filters) == 0 && f.Sample == 0 {
		return nil, err
	}
	cases := narrow(plan(), filters)
	if f.Sample > 0 {
		cases = sample(cases, f.Sample, f.Seed)
	}
	out.Places = &eval.Places{}
	for _, c := range cases {
		out.Places.Add(c.place, c.repeats)
	}
	for i, filter := range filters {
		if before := i == 0 || filters[i-1].left > 0; before && filter.left == 0 {
			out.Nothing = filter.nothing
		}
	}
	return out, nil
}

// filters returns the filters of the runs that the selection names, and replaces their names by ids.
func (s *Selection) filters(dir rundir.Dir, recordedOnly string) ([]*trialFilter, error) {
	var out []*trialFilter
	for _, one := range []struct {
		flag   string
		run    *string
		filter func(*journal.Document) (*trialFilter, error)
	}{
		{"--failed-in", &s.FailedIn, failedIn},
		{"--changed-since", &s.ChangedSince, changedSince},
		{"rescoring", &recordedOnly, s.recordedIn},
	} {
		name := *one.run
		if name == "" {
			continue
		}
		doc, err := dir.Open(name)
		if err != nil {
			return nil, eval.BadInput("%s: %w", one.flag, err)
		}
		filter, err := one.filter(doc)
		if err == nil {
			err = doc.Close()
		}
		if err != nil {
			return nil, eval.BadInput("%s: the run %s cannot be read: %w", one.flag, name, err)
		}
		*one.run = doc.Run.ID
		filter.nothing = fmt.Sprintf(": %s %s: %s", one.flag, name, filter.nothing)
		out = append(out, filter)
	}
	return out, nil
}

type planned struct {
	place, repeats int
	suite, caseID  string
	ordinal        int // of the case in the plan
}

// narrow lists the cases of arms of a plan that all filters take.
func narrow(plan *runner.Plan, filters []*trialFilter) []planned {
	var out []planned
	var c planned
	name := ""
	taken := make([]bool, len(filters))
	finish := func() {
		if c.repeats > 0 && passes(filters, taken) {
			out = append(out, c)
		}
	}
	for t := range plan.Trials() {
		if t.Repeat == 1 {
			finish()
			clear(taken)
			ordinal := c.ordinal
			if t.Suite != c.suite || t.Case != name {
				ordinal++
			}
			name = t.Case
			c = planned{place: t.N, suite: t.Suite, caseID: t.CaseID, ordinal: ordinal}
		}
		c.repeats++
		for i, filter := range filters {
			taken[i] = taken[i] || filter.takes(&t.Trial)
		}
	}
	finish()
	return out
}

// passes counts what each filter leaves, and reports whether all take a case of an arm.
func passes(filters []*trialFilter, taken []bool) bool {
	for i, filter := range filters {
		if !taken[i] {
			return false
		}
		filter.left++
	}
	return true
}

// sample keeps n cases of each suite: those with the least hashes of seed, suite and caseId. So a case is in or out
// whatever the others are but for how many, and a larger sample holds a smaller one.
func sample(cases []planned, n int, seed uint64) []planned {
	type drawn struct {
		hash    uint64
		ordinal int
	}
	suites := map[string][]drawn{}
	for i, c := range cases {
		if i > 0 && cases[i-1].ordinal == c.ordinal {
			continue
		}
		suites[c.suite] = append(suites[c.suite], drawn{lot(seed, c.suite, c.caseID), c.ordinal})
	}
	in := map[int]bool{}
	for _, cases := range suites {
		slices.SortFunc(cases, func(a, b drawn) int {
			return cmp.Or(cmp.Compare(a.hash, b.hash), cmp.Compare(a.ordinal, b.ordinal))
		})
		for _, c := range cases[:min(n, len(cases))] {
			in[c.ordinal] = true
		}
	}
	return slices.DeleteFunc(cases, func(c planned) bool { return !in[c.ordinal] })
}

// lot is the place of a case in a sample, which keeps the cases with the least.
func lot(seed uint64, suite, caseID string) uint64 {
	sum := sha256.Sum256(fmt.Appendf(nil, "%d\x00%s\x00%s", seed, suite, caseID))
	return binary.BigEndian.Uint64(sum[:])
}

// FindTrial is the place in a run of the trial that matches one of a plan: the same request, by the same names.
func FindTrial(d *journal.Document, t *eval.Trial) (place int, ok bool) {
	if place, ok = d.Find(t.ID); !ok {
		return 0, false
	}
	k := d.Indexed(place)
	return place, k.Suite == t.Suite && k.Case == t.Case && k.Arm == t.Arm
}

// failedIn takes the cases of arms when a repeat failed or ended in an error. It takes cases of the same name and
// also renamed ones, since added or removed rows move the names of others.
func failedIn(d *journal.Document) (*trialFilter, error) {
	r := earlier{
		seed:   maphash.MakeSeed(),
		ids:    map[ArmCase]uint64{},
		failed: map[ArmCase]bool{},
		moved:  map[ArmCase]bool{},
	}
	for f, err := range d.Facts() {
		if err != nil {
			return nil, err
		}
		name := ArmCase{f.Suite, f.Case, f.Arm}
		r.ids[name] = maphash.String(r.seed, f.CaseID)
		if f.Outcome == eval.Fail || f.Outcome == eval.Err {
			r.failed[name], r.moved[ArmCase{f.Suite, f.CaseID, f.Arm}] = true, true
		}
	}
	nothing := "nothing failed there"
	if len(r.failed) > 0 {
		nothing = fmt.Sprintf(
			"%s there (cases of arms), and none is among those of the suites that are selected otherwise",
			diag.Count(len(r.failed), "failure"),
		)
	}
	return &trialFilter{nothing: nothing, takes: r.failedTrial}, nil
}

// earlier is what --failed-in needs from a run.
type earlier struct {
	seed   maphash.Seed
	ids    map[ArmCase]uint64 // the hash of the caseId
	failed map[ArmCase]bool
	moved  map[ArmCase]bool // by caseId, for cases with another name now
}

func (r *earlier) failedTrial(t *eval.Trial) bool {
	name := ArmCase{t.Suite, t.Case, t.Arm}
	if id, there := r.ids[name]; there && id == maphash.String(r.seed, t.CaseID) {
		return r.failed[name]
	}
	return r.failed[name] || r.moved[ArmCase{t.Suite, t.CaseID, t.Arm}]
}

// changedSince takes what the run does not have in its current form: another request, other variables, other scorers.
func changedSince(d *journal.Document) (*trialFilter, error) {
	seed := maphash.MakeSeed()
	content := func(caseID, scorersHash string) uint64 {
		return maphash.Comparable(seed, [2]string{caseID, scorersHash})
	}
	was := make([]uint64, 0, d.Len()) // by their places; what never ran, or cannot be read, is 0
	for f, err := range d.Facts() {
		if err != nil || f.Outcome == eval.Skip {
			was = append(was, 0)
			continue
		}
		was = append(was, content(f.CaseID, f.ScorersHash))
	}
	return &trialFilter{nothing: "nothing that is selected has changed", takes: func(t *eval.Trial) bool {
		place, ok := FindTrial(d, t)
		return !ok || was[place] != content(t.CaseID, t.ScorersHash)
	}}, nil
}

// recordedIn selects the trials that a rescored run has. The run's own selection stays in the record.
func (s *Selection) recordedIn(d *journal.Document) (*trialFilter, error) {
	was := d.Run.Options()
	s.FailedIn = was.FailedIn
	s.ChangedSince = was.ChangedSince
	s.Sample = was.Sample
	there := map[ArmCase]bool{}
	for i := range d.Len() {
		k := d.Indexed(i)
		there[ArmCase{k.Suite, k.Case, k.Arm}] = true
	}
	return &trialFilter{
		nothing: "the suites have none of its cases",
		takes:   func(t *eval.Trial) bool { return there[ArmCase{t.Suite, t.Case, t.Arm}] },
	}, nil
}
