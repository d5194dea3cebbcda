package suite

import (
	"slices"

	"github.com/evalrun/evalrun/diag"
	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/expr"
	"github.com/evalrun/evalrun/internal/yaml"
)

// keptCase is a checked definition in a compact form.
type keptCase interface {
	// thaw returns the definition, which callers must not change.
	thaw(defaults *caseDef) *caseDef
}

func (def *caseDef) thaw(*caseDef) *caseDef { return def }

// plainCase is the compact form of a single case without templates except in its scorers. A suite may have thousands.
type plainCase struct {
	name     string
	at       diag.Pos
	vars     []eval.Member
	judged   *judgedBy
	settings *settings // nil without any
}

// judgedBy holds the scorers of a case. Cases with the same scorers share it.
type judgedBy struct {
	own   [][]*scorerDef
	every []*Scorer // with those of the defaults, if other cases share all of them; otherwise nil
}

// freeze returns the compact form of a checked definition. It keeps only templates and shared scorers of the parsed YAML.
func (def *caseDef) freeze(common *sharedScorers) keptCase {
	if def.rows != nil || def.grid != nil {
		return def
	}
	def.node, def.vars = yaml.Map{}, nil
	def.packScorers()
	if expr.HasActions(def.name.text) || def.open != nil || def.arms != nil || def.isolated != nil || def.alone {
		return def
	}
	p := &plainCase{name: def.name.text, at: def.at, vars: def.values, judged: common.judgedBy(def)}
	if def.given != nil {
		p.settings = new(def.settings)
	}
	return p
}

// packScorers packs the scorers that no other definition shares.
func (def *caseDef) packScorers() {
	for _, layer := range def.scorers {
		for i, d := range layer {
			if layer[i] = d.pack(); layer[i].packed != nil {
				def.every = nil // each walk unpacks them again
			}
		}
	}
}

// pack returns the compact form of a scorer that belongs to one case and has no templates.
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

// maxLists is the most lists with the same first scorer that are compared with a new one.
const maxLists = 16

// judgedBy returns the scorers of a case, shared with cases that have the same ones.
func (s *sharedScorers) judgedBy(def *caseDef) *judgedBy {
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

// known returns the judgedBy of an earlier case with the same scorers as a plain definition; nil when there is none.
func (s *sharedScorers) known(def *caseDef) *judgedBy {
	for _, one := range s.lists[def.firstScorer()] {
		if slices.EqualFunc(one.own, def.scorers, slices.Equal) {
			return one
		}
	}
	return nil
}

// firstScorer returns the first of a definition's own scorers; nil without any.
func (def *caseDef) firstScorer() *scorerDef {
	for _, layer := range def.scorers {
		if len(layer) > 0 {
			return layer[0]
		}
	}
	return nil
}

func (p *plainCase) thaw(defaults *caseDef) *caseDef {
	def := &caseDef{at: p.at, name: literally(p.name), values: p.vars, scorers: p.judged.own, every: p.judged.every}
	if p.settings != nil {
		def.settings = *p.settings
	}
	def.finish(defaults)
	return def
}
