package suite

import (
	"slices"

	"github.com/evalrun/evalrun/diag"
	"github.com/evalrun/evalrun/internal/tmpl"
	"github.com/evalrun/evalrun/internal/yamlnode"
	"github.com/evalrun/evalrun/variable"
)

// keptCase is a definition as it is kept once it was checked.
type keptCase interface {
	// thaw is the definition, which is only read.
	thaw(*Suite) *caseDef
}

func (def *caseDef) thaw(*Suite) *caseDef { return def }

// plainCase is a definition of one case, without templates except in its scorers: there may be thousands.
type plainCase struct {
	name     string
	at       diag.Pos
	vars     []variable.Member
	judged   *judgedBy
	settings *settings // nil: it has none
}

// judgedBy are the scorers of a case.
type judgedBy struct {
	own   [][]*scorerDef
	every []*Scorer // those of the defaults too, when other cases have all of them as well; nil: not so
}

// freeze is what is kept of a definition that was checked. It drops what was read, except templates and scorers of
// several cases.
func (def *caseDef) freeze(known *shared) keptCase {
	if def.rows != nil || def.grid != nil {
		return def
	}
	def.node, def.vars = yamlnode.Map{}, nil
	def.packScorers()
	if tmpl.HasActions(def.name.text) || def.open != nil || def.arms != nil || def.isolated != nil || def.alone {
		return def
	}
	p := &plainCase{name: def.name.text, at: def.at, vars: def.values, judged: known.judgedBy(def)}
	if def.given != nil {
		p.settings = new(def.settings)
	}
	return p
}

// packScorers packs the scorers that only this definition has.
func (def *caseDef) packScorers() {
	for _, layer := range def.scorers {
		for i, d := range layer {
			if layer[i] = d.pack(); layer[i].packed != nil {
				def.every = nil // each walk reads them again
			}
		}
	}
}

// pack is what is kept of a scorer that belongs to one case alone, and has no templates.
func (d *scorerDef) pack() *scorerDef {
	if d.fixed == nil || d.shared || d.common {
		return d
	}
	packed, ok := d.node.Pack()
	if !ok {
		return d
	}
	return &scorerDef{packed: &packed}
}

// maxLists bounds the lists that are compared with one that may be the same.
const maxLists = 16

// judgedBy is what judges a case: the same for all that have the same scorers.
func (s *shared) judgedBy(def *caseDef) *judgedBy {
	if len(def.every) == 0 {
		return &judgedBy{def.scorers, nil}
	}
	if known := s.known(def); known != nil {
		return known
	}
	one, first := &judgedBy{def.scorers, def.every}, def.firstScorer()
	if len(s.lists[first]) < maxLists {
		s.lists[first] = append(s.lists[first], one)
	}
	return one
}

// known is what judges another case with the same scorers as a plain definition has, nil when there was none.
func (s *shared) known(def *caseDef) *judgedBy {
	for _, one := range s.lists[def.firstScorer()] {
		if slices.EqualFunc(one.own, def.scorers, slices.Equal) {
			return one
		}
	}
	return nil
}

// firstScorer is the first of the scorers that a definition has of its own, nil when it has none.
func (def *caseDef) firstScorer() *scorerDef {
	for _, layer := range def.scorers {
		if len(layer) > 0 {
			return layer[0]
		}
	}
	return nil
}

func (p *plainCase) thaw(s *Suite) *caseDef {
	def := &caseDef{at: p.at, name: literally(p.name), values: p.vars, scorers: p.judged.own, every: p.judged.every}
	if p.settings != nil {
		def.settings = *p.settings
	}
	def.finish(&s.defaults)
	return def
}
