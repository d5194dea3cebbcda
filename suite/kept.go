package suite

import (
	"github.com/evalrun/evalrun/diag"
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
	scorers  [][]*scorerDef
	settings *settings // nil: it has none
}

// freeze is what is kept of a definition that was checked. It lets go of what was read, scorers and templates aside.
func (def *caseDef) freeze() keptCase {
	if def.rows != nil || def.grid != nil {
		return def
	}
	def.node, def.vars = yamlnode.Map{}, nil
	for _, layer := range def.scorers {
		for i, d := range layer {
			layer[i] = d.pack()
		}
	}
	if !def.name.t.IsConstant() || def.open != nil || def.arms != nil || def.isolated != nil || def.alone {
		return def
	}
	p := &plainCase{name: def.name.text, at: def.at, vars: def.values, scorers: def.scorers}
	if def.given != nil {
		p.settings = new(def.settings)
	}
	return p
}

// pack is what is kept of a scorer that stands in one case alone, and has no templates.
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

func (p *plainCase) thaw(s *Suite) *caseDef {
	def := &caseDef{at: p.at, name: literally(p.name), values: p.vars, scorers: p.scorers}
	if p.settings != nil {
		def.settings = *p.settings
	}
	def.finish(&s.defaults)
	return def
}
