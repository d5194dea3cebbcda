package suite

import (
	"encoding/binary"
	"slices"

	"github.com/evalrun/evalrun/diag"
	"github.com/evalrun/evalrun/internal/yamlnode"
	"github.com/evalrun/evalrun/variable"
)

// maxRendered bounds the scorers that are remembered of an entry with templates.
const maxRendered = 256

// remembered are the scorers that an entry with templates has come to, by the texts in it: rows often share a few
// labels.
type remembered struct {
	by   map[string]*Scorer
	hits int
	off  bool // the texts hardly come again
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

// scorer is the scorer of an entry for a case; nil when it cannot be made.
func (x *expansion) scorer(d *scorerDef, c *Case, diags *diag.List) *Scorer {
	if d.broken || d.fixed != nil {
		return d.fixed
	}
	if d.packed != nil {
		return x.checked(d.packed.Node().WithDiags(diags))
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

// remembered are the scorers of an entry that were made before.
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

// filled makes the scorer of an entry out of the values of its templates; they are nil where one of them has an error.
func (x *expansion) filled(d *scorerDef, values []variable.Value, c *Case, diags *diag.List) *Scorer {
	var entry yamlnode.Node
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
	return x.checked(entry)
}

// values are what the templates of a rendering give for a case, in their order; nil where one has an error.
func (r *rendering) values(c *Case) []variable.Value {
	out := make([]variable.Value, len(r.texts))
	for i, text := range r.texts {
		v, err := r.templates[text].evaluate(c)
		if err != nil {
			return nil
		}
		out[i] = v
	}
	return out
}

// fill replaces the templates by values.
func (r *rendering) fill(values []variable.Value) yamlnode.Node {
	return r.node.Rewrite(func(_ yamlnode.Node, text string) variable.Value {
		if i := slices.Index(r.texts, text); i >= 0 {
			return values[i]
		}
		return text
	})
}

// keyOf is a key for values that are short texts; "" where they are something else.
func keyOf(values []variable.Value) string {
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
