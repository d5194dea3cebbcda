package suite

import (
	"cmp"
	"encoding/binary"
	"iter"
	"maps"
	"slices"

	"github.com/evalrun/evalrun/diag"
	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/yaml"
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
	hidden map[string]bool
}

type templatedSetting struct {
	key string
	*rendering
}

func (s *Suite) expansion(def *caseDef) *expansion {
	x := &expansion{Suite: s, def: def, set: def.settings, shared: def.every, hidden: s.hiddenOf(def)}
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
		Pos: x.def.at, vars: vars, hidden: x.hidden,
		many: x.def.rows != nil || x.def.grid != nil || x.def.entry != nil,
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
					d.node.Map().Get("name").Pos(), "rename one of them", "two scorers of case `%s` are named `%s`", c.Name, sc.Name,
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

// RepeatAs lets cases run as often as those of the same names in another version, where that is more. It returns how many do.
func (s *Suite) RepeatAs(of map[string]int) (raised int) {
	for c := range s.Outlines() {
		more := of[c.Name] - c.Repeats
		if more <= 0 {
			continue
		}
		raised++
		s.table.planned = sum(s.table.planned, product(more, len(c.Arms)))
		for _, arm := range c.Arms {
			if s.table.trials != nil {
				s.table.trials[arm] += more
			}
		}
	}
	s.repeats = of
	return raised
}

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
				c.Repeats = max(c.Repeats, s.repeats[c.Name])
				if !yield(c) {
					return
				}
			}
		}
	}
}

// maxRendered is the most scorers to keep for an entry with templates.
const maxRendered = 256

// remembered caches the scorers made from an entry with templates, by the rendered texts: rows often share a few labels.
type remembered struct {
	by   map[string]*Scorer
	hits int
	off  bool // the texts rarely repeat
}

func (r *remembered) get(key string) *Scorer {
	sc := r.by[key]
	if sc != nil {
		r.hits++
	}
	return sc
}

func (r *remembered) keep(key string, sc *Scorer) {
	if len(r.by) >= maxRendered {
		r.off = r.hits < maxRendered
		r.by, r.hits = nil, 0
	}
	if r.off {
		return
	}
	if r.by == nil {
		r.by = map[string]*Scorer{}
	}
	r.by[key] = sc
}

// scorer returns the scorer of an entry for a case; nil after a problem.
func (x *expansion) scorer(d *scorerDef, c *Case, diags *diag.List) *Scorer {
	if d.broken || d.fixed != nil {
		return d.fixed
	}
	values := d.values(c)
	known := x.remembered(d)
	key := ""
	if !known.off {
		key = keyOf(values)
	}
	if sc := known.get(key); sc != nil {
		return sc
	}
	var own diag.List
	sc := x.filled(d, values, c, &own)
	if sc != nil && key != "" && own.Len() == 0 {
		known.keep(key, sc)
	}
	c.pass(&own, diags)
	return sc
}

func (x *expansion) remembered(d *scorerDef) *remembered {
	known := x.made[d]
	if known == nil {
		known = &remembered{}
		if x.made == nil {
			x.made = map[*scorerDef]*remembered{}
		}
		x.made[d] = known
	}
	return known
}

// filled makes the scorer of an entry from the values of its templates, which are nil when one of them has an error.
func (x *expansion) filled(d *scorerDef, values []eval.Value, c *Case, diags *diag.List) *Scorer {
	var entry yaml.Node
	if values != nil {
		entry = d.fill(values).WithDiags(diags)
	} else if n, ok := d.render(c, diags); ok {
		entry = n
	} else {
		return nil
	}
	if arms := entry.Map().Get("arms"); !arms.IsZero() {
		globs(arms, "arm", x.armNames())
	}
	return x.compiled(entry)
}

// values evaluates the templates of a rendering for a case, in order; nil when one has an error.
func (r *rendering) values(c *Case) []eval.Value {
	out := make([]eval.Value, len(r.texts))
	for i, text := range r.texts {
		v, err := r.templates[text].evaluate(c)
		if err != nil {
			return nil
		}
		out[i] = v
	}
	return out
}

func (r *rendering) fill(values []eval.Value) yaml.Node {
	return r.node.Rewrite(func(_ yaml.Node, text string) eval.Value {
		if i := slices.Index(r.texts, text); i >= 0 {
			return values[i]
		}
		return text
	})
}

// keyOf returns a cache key for values that are short texts; "" for others.
func keyOf(values []eval.Value) string {
	const most = 1 << 10
	var key []byte
	for _, v := range values {
		text, ok := v.(string)
		if !ok || len(key)+len(text) > most {
			return ""
		}
		key = append(binary.AppendUvarint(key, uint64(len(text))), text...)
	}
	return string(key)
}
