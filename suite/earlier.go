package suite

import (
	"hash/maphash"
	"iter"
	"slices"
)

// Cell is a case on one of its arms.
type Cell struct {
	Suite *Suite // the suite that defines the case, or its earlier version
	Case  *Case
	Arm   Arm
	// ScoredAs is the cell of the suite whose scorers score the answer; nil: the cell's own do. In it a case of an earlier
	// version has the same name and variables.
	ScoredAs *Cell
}

// BaseVersion returns the earlier version that runs next to the suite, with its git revision; nil and "" without one.
func (s *Suite) BaseVersion() (base *Suite, ref string) {
	if s.opts.Base == nil {
		return nil, ""
	}
	return s.opts.Base, s.opts.Base.opts.Ref
}

// Versions returns the suite, followed by the earlier version that runs next to it, if any.
func (s *Suite) Versions() []*Suite {
	if s.opts.Base == nil {
		return []*Suite{s}
	}
	return []*Suite{s, s.opts.Base}
}

// Arms lists every target with each of its prompts, in the order of the file. Each arm is followed by the arm of the same
// name in the earlier version, if any.
func (s *Suite) Arms() []Arm {
	if s.opts.Base == nil {
		return s.arms
	}
	var out []Arm
	for _, a := range s.arms {
		out = append(out, a)
		for _, b := range s.opts.Base.arms {
			if b.plain == a.plain {
				out = append(out, b)
			}
		}
	}
	return out
}

// RemovedArms lists the arms of the earlier version that the suite no longer has. They do not run.
func (s *Suite) RemovedArms() []Arm {
	if s.opts.Base == nil {
		return nil
	}
	return slices.DeleteFunc(slices.Clone(s.opts.Base.arms), func(b Arm) bool {
		return slices.ContainsFunc(s.arms, func(a Arm) bool { return a.plain == b.plain })
	})
}

// Trials returns the number of trials of each arm, repeats included, as counted by Load. The numbers are uncertain, and ok
// is false, when the suite has errors or a data file has changed since.
func (s *Suite) Trials() (of map[Arm]int, ok bool) {
	of = map[Arm]int{}
	for _, version := range s.Versions() {
		if version.table.trials == nil || !version.files.unchanged() {
			return nil, false
		}
		for _, a := range s.Arms() {
			of[a] += version.table.trials[a]
		}
	}
	return of, true
}

// Cells yields each expanded case on each of its arms. A case of the earlier version comes next to the case of its name.
func (s *Suite) Cells() iter.Seq[Cell] { return s.cells((*Suite).Cases) }

// OutlinedCells is like Cells, with cases as Outlines yields them.
func (s *Suite) OutlinedCells() iter.Seq[Cell] { return s.cells((*Suite).Outlines) }

func (s *Suite) cells(cases func(*Suite) iter.Seq[*Case]) iter.Seq[Cell] {
	if s.opts.Base == nil {
		return s.ownCells(cases(s))
	}
	return func(yield func(Cell) bool) {
		arms := s.Arms()
		for own, base := range s.sideBySide(cases) {
			for _, a := range arms {
				in, c := s, own
				if a.ref != "" {
					in, c = s.opts.Base, base
				}
				if c == nil || !slices.Contains(c.Arms, a) {
					continue
				}
				cell := Cell{Suite: in, Case: c, Arm: a}
				if a.ref != "" && !s.opts.OwnScorers {
					cell.ScoredAs = s.now(own, base, a)
				}
				if !yield(cell) {
					return
				}
			}
		}
	}
}

// now is the cell of the suite that asks the same as a case of the earlier version on an arm; nil when there is none. Each
// version has its own programs and expected answers, with files that nothing compares.
func (s *Suite) now(own, base *Case, earlier Arm) *Cell {
	if own == nil || own.VarsHash != base.VarsHash || own.ID != base.ID || own.hasFiles() || base.hasFiles() {
		return nil
	}
	at := slices.IndexFunc(own.Arms, func(a Arm) bool { return a.plain == earlier.plain })
	if at < 0 {
		return nil
	}
	return &Cell{Suite: s, Case: own, Arm: own.Arms[at]}
}

func (c *Case) hasFiles() bool {
	return slices.ContainsFunc(c.Scorers, func(s *Scorer) bool { return len(s.Needs.Programs)+len(s.Needs.Snapshots) > 0 })
}

func (s *Suite) ownCells(cases iter.Seq[*Case]) iter.Seq[Cell] {
	return func(yield func(Cell) bool) {
		for c := range cases {
			for _, a := range c.Arms {
				if !yield(Cell{Suite: s, Case: c, Arm: a}) {
					return
				}
			}
		}
	}
}

// sideBySide yields the cases of the suite with those of the earlier version. Cases of one name come together as far as
// the order of both files allows. A case of the suite alone comes before one of the earlier version alone. Names decide
// nothing but the order.
func (s *Suite) sideBySide(cases func(*Suite) iter.Seq[*Case]) iter.Seq2[*Case, *Case] {
	return func(yield func(own, base *Case) bool) {
		order := s.table.pairing
		if order == nil { // the suite has errors
			order = newPairing(s)
		}
		nextOwn, stopOwn := iter.Pull(cases(s))
		defer stopOwn()
		nextBase, stopBase := iter.Pull(cases(s.opts.Base))
		defer stopBase()
		before := nameSet{} // cases of the suite yielded before their counterpart in the earlier version
		own, _ := nextOwn()
		base, _ := nextBase()
		for own != nil || base != nil {
			var first, second *Case
			takeOwn, takeBase := order.next(own, base, before)
			if takeOwn {
				first = own
				own, _ = nextOwn()
			}
			if takeBase {
				second = base
				base, _ = nextBase()
			}
			if !order.yield(first, second, before, yield) {
				return
			}
		}
	}
}

// nameSet is a set of case names, kept as hashes since there may be millions.
type nameSet map[uint64]struct{}

func (n nameSet) add(hash uint64) { n[hash] = struct{}{} }

func (n nameSet) has(hash uint64) bool {
	_, ok := n[hash]
	return ok
}

type casePairing struct {
	seed      maphash.Seed
	own, base nameSet
}

func newPairing(s *Suite) *casePairing {
	b := &casePairing{maphash.MakeSeed(), nameSet{}, nameSet{}}
	for c := range s.Outlines() {
		b.own.add(b.hash(c))
	}
	for c := range s.opts.Base.Outlines() {
		b.base.add(b.hash(c))
	}
	return b
}

func (b *casePairing) hash(c *Case) uint64 { return maphash.String(b.seed, c.Name) }

func (b *casePairing) next(own, base *Case, before nameSet) (takeOwn, takeBase bool) {
	switch {
	case own == nil || base == nil:
		return own != nil, base != nil
	case own.Name == base.Name:
		return true, true
	case before.has(b.hash(base)):
		return false, true
	}
	removed := !b.own.has(b.hash(base))
	return !removed || !b.base.has(b.hash(own)), removed
}

// yield yields cases of the same name together, and others one after the other.
func (b *casePairing) yield(own, base *Case, before nameSet, yield func(own, base *Case) bool) bool {
	if own != nil && base != nil && own.Name == base.Name {
		return yield(own, base)
	}
	if own != nil {
		before.add(b.hash(own))
		if !yield(own, nil) {
			return false
		}
	}
	return base == nil || yield(nil, base)
}
