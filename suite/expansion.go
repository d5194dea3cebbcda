package suite

import (
	"cmp"
	"maps"
	"slices"

	"github.com/evalrun/evalrun/diag"
	"github.com/evalrun/evalrun/eval"
)

// expansion makes the cases of a definition one after the other, and shares what they have in common. It is not safe for
// concurrent use: each walk over a suite has its own.
type expansion struct {
	*Suite
	def    *caseDef
	arms   []Arm
	set    settings // settings without templates
	open   []templatedSetting
	tags   []string       // tags of the suite, then those of set
	layers [][]*scorerDef // layers of scorers, without duplicates
	made   map[*scorerDef]*remembered
	shared []*Scorer // scorers that all cases share; nil if unknown or if they differ
}

type templatedSetting struct {
	key string
	*rendering
}

func (s *Suite) expansion(def *caseDef) *expansion {
	x := &expansion{Suite: s, def: def, set: def.settings, shared: def.every}
	arms := def.arms
	if arms == nil {
		arms = s.table.defaults.arms
	}
	for _, a := range s.arms {
		if a.Matches(arms) {
			x.arms = append(x.arms, a)
		}
	}
	x.arms = slices.Clip(x.arms)
	x.set.fill(s.table.defaults.settings)
	for key, r := range s.table.defaults.open {
		if !slices.Contains(def.given, key) {
			x.open = append(x.open, templatedSetting{key, r})
		}
	}
	for key, r := range def.open {
		x.open = append(x.open, templatedSetting{key, r})
	}
	x.tags = s.tagged(x.set.tags)
	x.layers = s.table.layers(def)
	return x
}

func (s *Suite) tagged(own []string) []string { return slices.Clip(slices.Concat(s.Tags, own)) }

func (x *expansion) expand(v variant, diags *diag.List) *Case {
	c := x.outline(v, diags)
	c.Scorers = x.scorers(v, c, diags)
	own := c.vars
	if len(x.opts.Vars) > 0 {
		own = x.own(v)
	}
	c.VarsHash = x.varsHash(c, own)
	c.ID = cmp.Or(c.ID, c.VarsHash)
	return c
}

// own returns the variables of a case without those of the command line. The result may belong to the row or the
// definition: callers must not change it.
func (x *expansion) own(v variant) eval.Dict {
	switch {
	case v.row != nil && len(x.def.base) == 0:
		return v.vars
	case len(v.vars) == 0:
		return x.def.base
	}
	own := make(eval.Dict, len(x.def.base)+len(v.vars))
	maps.Copy(own, x.def.base)
	maps.Copy(own, v.vars)
	return own
}

// outline makes a Case without its scorers, and without an ID unless the suite gives one. That suffices to count and to
// filter.
func (x *expansion) outline(v variant, diags *diag.List) *Case {
	vars := x.own(v)
	if len(x.opts.Vars) > 0 {
		vars = maps.Clone(vars)
		for name, value := range x.opts.Vars {
			vars[name] = value
		}
	}
	c := &Case{
		Pos:  x.def.at,
		vars: vars,
		many: x.def.rows != nil || x.def.grid != nil,
	}
	if v.row != nil {
		c.Pos, c.row = v.row.pos, v.row
	}
	if x.loading != nil {
		x.loading.watch(c, x)
	}
	x.name(c, x.def, v, diags)
	set, tags := x.settle(c, diags)
	c.Tags = tags
	c.Cluster = set.cluster
	c.Threshold = set.threshold
	c.Repeats = cmp.Or(x.opts.Repeats, set.repeats, x.opts.DefaultRepeats, 1)
	c.Arms = x.arms
	c.Quarantine = cmp.Or(x.def.isolated, x.table.defaults.isolated)
	c.ID = set.id
	return c
}

// watch limits what the templates of a case render, and says which problems of the case not to report.
func (l *loading) watch(c *Case, x *expansion) {
	c.budget, c.vague = &l.budget, l.misspelled.lacksVars(x.def)
	l.budget.Grow(templatePerCase * max(1, len(x.Suite.arms)))
	if c.row != nil {
		l.budget.Grow(templatePerByte * sizeOf(c.row.vars))
	}
}

// scorers returns the scorers of a case: of the defaults, of the definition, and of the row. Each layer replaces scorers of
// the same name in the layers before it.
func (x *expansion) scorers(v variant, c *Case, diags *diag.List) []*Scorer {
	if x.shared != nil && v.scorers == nil {
		return x.shared
	}
	layers := x.layers
	if v.scorers != nil {
		layers = append(slices.Clip(layers), v.scorers)
	}
	said := diags.Len()
	var out []*Scorer
	same := v.scorers == nil
	for _, layer := range layers {
		out = x.layer(layer, out, c, diags)
		same = same && !slices.ContainsFunc(layer, func(d *scorerDef) bool { return !d.broken && d.fixed == nil })
	}
	if same && diags.Len() == said {
		x.shared = slices.Clip(out)
	}
	return out
}

// layer adds the scorers of a layer to those of the layers before it.
func (x *expansion) layer(layer []*scorerDef, out []*Scorer, c *Case, diags *diag.List) []*Scorer {
	before := len(out)
	var taken map[string]bool
	for _, d := range layer {
		sc := x.scorer(d, c, diags)
		if sc == nil {
			continue
		}
		if sc.Name != "" {
			if taken[sc.Name] {
				diags.Errorf(
					sc.yaml().Entry.Get("name").Pos(), "rename one of them", "two scorers of case `%s` are named `%s`", c.Name, sc.Name,
				)
			}
			if taken == nil {
				taken = map[string]bool{}
			}
			taken[sc.Name] = true
			if i := slices.IndexFunc(out[:before], func(o *Scorer) bool { return o.Name == sc.Name }); i >= 0 {
				out = slices.Delete(out, i, i+1)
				before--
			}
		}
		out = append(out, sc)
	}
	return out
}
