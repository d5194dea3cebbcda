package suite

import (
	"math"
	"slices"
	"strings"

	"github.com/evalrun/evalrun/diag"
	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/tmpl"
	"github.com/evalrun/evalrun/internal/yamlnode"
)

// Scorer is an entry of a `scorers` list: a kind with its arguments, and what stands
// beside them.
type Scorer struct {
	Kind      string
	Args      yamlnode.Node // under the kind's key; texts are rendered
	Entry     yamlnode.Map  // the whole entry, for options that stand beside the kind
	Name      string
	Weight    float64
	Required  bool
	Threshold *float64 // the value from which the score passes; nil: the kind's own rule
	Arms      eval.Globs
	Candidate CandidateChoice
	Suite     *Suite // to which it belongs; nil in none
	// What Kinds.Check found out about it, nested scorers included.
	References  []string // texts whose embeddings it compares with
	NeedsStream string   // the kind that tells something only of streamed answers, "" when there is none
}

// CandidateChoice says which of several candidates a scorer looks at.
type CandidateChoice struct {
	All   bool
	Index int // from 0
}

// besideKeys may stand beside every kind; those of a nested scorer are fewer.
var (
	besideKeys = []string{"name", "weight", "required", "threshold", "arms", "candidate"}
	nestedKeys = []string{"candidate"}
)

// ParseScorer reads an entry of a scorers list; mistakes in what stands beside the kind
// go to the node's list, and the kind's arguments are left to Kinds.Check. A
// nested scorer (inside any, all, not) has no name, weight or arms of its own. The result
// is nil when there is no kind to speak of.
func ParseScorer(n yamlnode.Node, kinds Kinds, nested bool) *Scorer {
	m := n.Map()
	if !n.IsMapping() {
		return nil
	}
	beside := besideKeys
	if nested {
		beside = nestedKeys
	}
	kind := kindOf(m, kinds, beside)
	if kind == "" {
		return nil
	}
	s := &Scorer{Kind: kind, Args: m.Get(kind), Entry: m, Weight: 1}
	if !nested {
		s.Name = m.Get("name").Str()
		s.Required = m.Get("required").Bool()
		s.Arms = eval.NewGlobs(m.Get("arms").Strings())
		if v := m.Get("weight"); !v.IsZero() {
			s.Weight = v.Float(0, maxWeight)
		}
		if v := m.Get("threshold"); !v.IsZero() {
			s.Threshold = new(v.Float(0, 1))
		}
	}
	s.Candidate = candidate(m.Get("candidate"))
	return s
}

// kindOf finds the key of an entry that names its kind.
func kindOf(m yamlnode.Map, kinds Kinds, beside []string) string {
	known := kinds.Names()
	kind := ""
	for e := range m.Entries() {
		if !slices.Contains(known, e.Name()) {
			continue
		}
		if kind != "" {
			e.Key.Errorf("one list item a scorer; `all:` joins several", "two kinds in one scorer: %s and %s", kind, e.Name())
			return ""
		}
		kind = e.Name()
	}
	if kind != "" {
		return kind
	}
	var strange []yamlnode.Entry
	for e := range m.Entries() {
		if !slices.Contains(beside, e.Name()) {
			strange = append(strange, e)
		}
	}
	if len(strange) > 0 { // the one that looks most like a kind is the slip; the others may be its options
		slip := strange[0]
		if i := slices.IndexFunc(strange, func(e yamlnode.Entry) bool { return len(diag.Nearest(e.Name(), known, 1)) > 0 }); i >= 0 {
			slip = strange[i]
		}
		slip.Key.Errorf(diag.DidYouMean(slip.Name(), known), "unknown scorer kind `%s`", slip.Name())
		return ""
	}
	m.Errorf("such as `contains: Paris`; `evalrun scorers` lists the kinds", "a scorer without a kind")
	return ""
}

// CheckBeside reports the keys of the entry that are neither the kind, nor allowed beside
// every kind, nor among the options of this one.
func (s *Scorer) CheckBeside(nested bool, options []string) {
	known := append([]string{s.Kind}, options...)
	if nested {
		known = append(known, nestedKeys...)
	} else {
		known = append(known, besideKeys...)
	}
	for e := range s.Entry.Entries() {
		if slices.Contains(known, e.Name()) {
			continue
		}
		hint := diag.DidYouMean(e.Name(), known)
		if nested && slices.Contains(besideKeys, e.Name()) {
			hint = "write it beside the outermost scorer"
		}
		e.Key.Errorf(hint, "unknown key `%s` beside `%s`", e.Name(), s.Kind)
	}
}

func candidate(n yamlnode.Node) CandidateChoice {
	switch {
	case n.IsZero():
		return CandidateChoice{}
	case n.IsNumber():
		return CandidateChoice{Index: n.Int(0, math.MaxInt16)}
	}
	switch n.Str() {
	case "all":
		return CandidateChoice{All: true}
	case "first":
	default:
		n.Errorf("first, all, or a number from 0", "`%s` is not a choice of candidates", n.Str())
	}
	return CandidateChoice{}
}

// scorerDef is an entry as the file says it, with its templates parsed.
type scorerDef struct {
	node      yamlnode.Node
	fixed     *Scorer // set when there is no template in it
	templates map[string]source
	broken    bool
}

func (l *loader) scorerDef(n yamlnode.Node) *scorerDef {
	d := &scorerDef{node: n, templates: map[string]source{}}
	if !n.IsMapping() {
		n.Map()
		d.broken = true
		return d
	}
	n.EachText(func(at yamlnode.Node, text string) {
		if !tmpl.HasActions(text) {
			return
		}
		s := source{node: at, text: text}
		before := l.diags.Len()
		s.t = parse(s, l.diags)
		d.broken = d.broken || l.diags.Len() > before
		d.templates[text] = s
	})
	if arms := n.Map().Get("arms"); !slices.ContainsFunc(arms.Strings(), tmpl.HasActions) {
		globs(arms, "arm", l.names)
	}
	if len(d.templates) == 0 {
		d.fixed = l.checked(n)
		d.broken = d.broken || d.fixed == nil
	}
	return d
}

// checked parses an entry and has its arguments checked.
func (s *Suite) checked(n yamlnode.Node) *Scorer {
	sc := ParseScorer(n, s.kinds, false)
	if sc != nil {
		sc.Suite = s
		s.kinds.Check(sc)
		if len(sc.References) > 0 && !s.embeds {
			s.embeds = true
		}
	}
	return sc
}

// expand renders the entry for a case; nil when that cannot be done.
func (d *scorerDef) expand(s *Suite, c *Case, diags *diag.List) *Scorer {
	if d.broken || d.fixed != nil {
		return d.fixed
	}
	ok := true
	rendered := d.node.Rewrite(func(at yamlnode.Node, text string) string {
		if !strings.Contains(text, "{{") {
			return text
		}
		src := d.templates[text]
		src.node = at
		out, fine := src.render(c, diags)
		ok = ok && fine
		return out
	})
	if !ok {
		return nil
	}
	return s.checked(rendered.WithDiags(diags))
}
