package suite

import (
	"encoding/binary"
	"slices"

	"github.com/evalrun/evalrun/diag"
	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/yaml"
)

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
