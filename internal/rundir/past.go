package rundir

import (
	"slices"

	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/journal"
)

// mostBefore is how many predecessors a named baseline keeps.
const mostBefore = 10

// outcomesOf are the outcomes of a run, arm by arm, without cases in quarantine.
func outcomesOf(doc *journal.Document) (out []eval.Outcomes, err error) {
	cases := map[[2]string][]eval.CaseOutcome{}
	places := map[[3]string]int{}
	for f, err := range doc.Facts() {
		if err != nil {
			return nil, err
		}
		if f.Quarantined || f.Outcome != eval.Pass && f.Outcome != eval.Fail {
			continue
		}
		arm, key := [2]string{f.Suite, f.Arm}, eval.CaseKey(f.CaseID, f.VarsHash, f.ScorersHash)
		if cases[arm] == nil {
			out = append(out, eval.Outcomes{Suite: f.Suite, Arm: f.Arm})
		}
		at, known := places[[3]string{f.Suite, f.Arm, key}]
		if !known {
			at = len(cases[arm])
			places[[3]string{f.Suite, f.Arm, key}] = at
			cases[arm] = append(cases[arm], eval.CaseOutcome{Key: key})
		}
		cases[arm][at].Scored++
		if f.Outcome == eval.Pass {
			cases[arm][at].Passed++
		}
	}
	for i := range out {
		out[i].Pack(cases[[2]string{out[i].Suite, out[i].Arm}])
	}
	return out, nil
}

// complete reads the outcomes of a baseline that an earlier version named. Without its run there are none.
func (d Dir) complete(b *baseline) {
	if len(b.Outcomes) > 0 {
		return
	}
	if doc, err := journal.Open(d.Join(b.Path)); err == nil {
		if doc.Run.ID == b.Run {
			b.Outcomes, _ = outcomesOf(doc) // as if the run were gone
		}
		_ = doc.Close() // it was only read
	}
}

// succeed makes b the successor of the baseline that had the name before.
func (d Dir) succeed(b *baseline, old baseline) {
	if old.Run == "" || old.Run == b.Run {
		b.Before = old.Before
		return
	}
	d.complete(&old)
	b.Before = append(slices.Clone(old.Before), baseline{Run: old.Run, SetAt: old.SetAt, Outcomes: old.Outcomes})
	b.Before = b.Before[max(0, len(b.Before)-mostBefore):]
}

// day is the day of a time in a file with names.
func day(at string) string { return at[:min(len(at), len("2006-01-02"))] }

// Moves says how much each arm of a baseline moved since its first predecessor.
func (b *baseline) Moves() (out []eval.Move) {
	if len(b.Before) == 0 {
		return nil
	}
	chain := append(slices.Clone(b.Before), *b)
	for _, o := range b.Outcomes {
		m := eval.Move{Suite: o.Suite, Arm: o.Arm, Since: day(chain[0].SetAt)}
		for i := range chain[1:] {
			from, to := armOf(chain[i].Outcomes, &o), armOf(chain[i+1].Outcomes, &o)
			m.Add(from, to)
		}
		out = append(out, m)
	}
	return out
}

func armOf(all []eval.Outcomes, of *eval.Outcomes) *eval.Outcomes {
	for i := range all {
		if all[i].Suite == of.Suite && all[i].Arm == of.Arm {
			return &all[i]
		}
	}
	return &eval.Outcomes{}
}

// Past is the past of a named baseline, with the outcomes since a day or SinceFirst if that is not ""; nil for a run or a file.
func (d Dir) Past(name, since string) (*eval.Past, error) {
	named, err := d.Baselines()
	b, ok := named[name]
	if err != nil || !ok {
		return nil, err
	}
	d.complete(&b)
	past := &eval.Past{Moves: b.Moves()}
	if since == "" {
		return past, nil
	}
	chain := append(slices.Clone(b.Before), b)
	first := chain[0]
	for _, one := range chain {
		if since != eval.SinceFirst && day(one.SetAt) <= since {
			first = one
		}
	}
	past.First, past.Since = first.Outcomes, day(first.SetAt)
	return past, nil
}
