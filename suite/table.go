package suite

import (
	"iter"
	"slices"

	"github.com/evalrun/evalrun/diag"
)

// caseTable has the definitions of cases, and what Load counted while it made each case once. Load alone writes it: walks
// over the cases run at the same time.
type caseTable struct {
	defaults caseDef
	defs     []*caseDef // in the order of the file
	count    int        // number of cases
	numbered bool       // rows share a name, so some get a number
	// trials of each arm; nil when Load found an error. See Suite.Trials.
	trials  map[Arm]int
	planned int  // trials of all arms, up to math.MaxInt
	over    bool // they are more than allowed
	// pairing has the names in this and the earlier version; nil without an earlier version, or when Load found an error.
	pairing *casePairing
}

// layers returns the scorers of the defaults and of the definition. A scorer of a set that two layers use is kept in the
// later one only.
func (t *caseTable) layers(def *caseDef) [][]*scorerDef {
	layers := def.scorers
	if !def.alone {
		layers = slices.Concat(t.defaults.scorers, def.scorers)
	}
	out := make([][]*scorerDef, len(layers))
	for i, layer := range layers {
		later := slices.Concat(layers[i+1:]...)
		for _, d := range layer {
			if !slices.Contains(later, d) {
				out[i] = append(out[i], d)
			}
		}
	}
	return out
}

// CaseCount is the number of cases.
func (s *Suite) CaseCount() int { return s.table.count }

// Cases yields the cases in the order of the file, each expanded as it is yielded. Scorers without templates are the
// same pointers from case to case. Check Err afterwards: if it is not nil, cases are missing.
func (s *Suite) Cases() iter.Seq[*Case] { return s.each((*expansion).expand) }

// Outlines yields the cases without scorers, and without an ID unless the suite gives one. It is faster than Cases, for
// callers that only count and filter.
func (s *Suite) Outlines() iter.Seq[*Case] { return s.each((*expansion).outline) }

func (s *Suite) each(expand func(*expansion, variant, *diag.List) *Case) iter.Seq[*Case] {
	return func(yield func(*Case) bool) {
		names := newCaseNames()
		for _, def := range s.table.defs {
			var ignored diag.List // Load has reported everything
			x := s.expansion(def)
			for v := range s.variants(def, &ignored) {
				c := expand(x, v, &ignored)
				if s.table.numbered {
					names.number(c)
				}
				if !yield(c) {
					return
				}
			}
		}
	}
}
