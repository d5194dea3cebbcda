package gate

import (
	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/journal"
)

// replay applies a recorded stop.
func (w *watchedSuite) replay(stop *eval.StoppedArm) {
	if w.race != nil {
		w.replayRace(stop)
		return
	}
	if w.isBase(stop.Arm) {
		w.closed[stop.Arm] = true
	}
	if a := w.arms[stop.Arm]; a != nil {
		a.decided, a.next = true, min(stop.Units, len(a.units))
	}
}

// Replay feeds the results that a resumed run already has. A recorded stop is final.
func (q *Early) Replay(d *journal.Document, settled func(journal.IndexedTrial) bool, w *journal.Writer) error {
	for _, stop := range d.Stops {
		of := stop.Stopped()
		if s, ok := q.suites[of.Suite]; ok {
			s.replay(of)
		}
	}
	for f, err := range d.Facts() {
		if err != nil {
			return err
		}
		if !settled(journal.IndexedTrial{Suite: f.Suite, Arm: f.Arm, Outcome: f.Outcome}) {
			continue
		}
		if err := q.observe(ofFacts(f), w); err != nil { // its Quarantined is as of the same time
			return err
		}
	}
	for _, s := range q.suites {
		for _, a := range s.arms {
			if !a.decided || s.race != nil {
				continue
			}
			if err := s.closeBase(a, w); err != nil {
				return err
			}
		}
	}
	return nil
}
