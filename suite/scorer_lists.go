package suite

import (
	"fmt"
	"slices"
	"strings"

	"github.com/evalrun/evalrun/diag"
	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/yaml"
)

// useKey names scorer sets in a list of scorers.
const useKey = "use"

type scorerSet struct {
	key  yaml.Node // node of its name
	list yaml.Node
	read bool
	used bool
	defs []*scorerDef
}

// scorerSets reads the sets of all files. A set comes before the ones that use it, whatever their order.
func (l *loader) scorerSets() {
	l.sets = map[string]*scorerSet{}
	taken := map[string]diag.Pos{}
	for _, root := range l.roots {
		l.nameSets(root.Get("scorerSets"), taken)
	}
	for _, name := range names(l.sets) {
		l.readSet(name, nil)
	}
}

func (l *loader) nameSets(n yaml.Node, taken map[string]diag.Pos) {
	for e := range n.Map().Entries() {
		nameOf(e.Key)
		if !unique(taken, e.Key, "scorer set") {
			continue
		}
		l.sets[e.Name()] = &scorerSet{key: e.Key, list: e.Value}
		if e.Value.IsNull() || e.Value.IsSequence() && len(e.Value.Seq()) == 0 {
			e.Value.Errorf("such as `- contains: Paris`", "the scorer set `%s` is empty", e.Name())
		}
	}
}

// readSet reads a set. within is the chain of sets that use each other and lead to this one, to find circles.
func (l *loader) readSet(name string, within []string) []*scorerDef {
	set := l.sets[name]
	if set.read || set.list.IsNull() {
		return set.defs
	}
	set.read = true
	set.defs = l.scorerList(set.list, append(within, name))
	for _, d := range set.defs {
		d.shared = true
	}
	return set.defs
}

// scorerList reads a list of scorers, in which `use` adds the scorers of sets. A scorer that several sets add counts once.
func (l *loader) scorerList(n yaml.Node, within []string) []*scorerDef {
	var out []*scorerDef
	for _, item := range n.Seq() {
		one := []*scorerDef{}
		if item.IsMapping() && item.Map().Has(useKey) {
			one = l.fromSets(item, within)
		} else {
			one = append(one, l.scorerDef(item))
		}
		for _, d := range one {
			if !slices.Contains(out, d) {
				out = append(out, d)
			}
		}
	}
	return out
}

func (l *loader) fromSets(item yaml.Node, within []string) []*scorerDef {
	m := item.Map()
	for e := range m.Entries() {
		if e.Name() != useKey {
			e.Key.Errorf("write it next to the scorers of the set", "`%s` cannot be next to `use`", e.Name())
		}
	}
	var out []*scorerDef
	for _, n := range m.Get(useKey).Items() {
		name := n.Str()
		set := l.sets[name]
		switch {
		case name == "": // already reported
		case set == nil:
			n.Errorf(diag.DidYouMean(name, names(l.sets)), "there is no scorer set `%s`", name)
		case slices.Contains(within, name):
			circle := slices.Concat(within[slices.Index(within, name):], []string{name})
			n.Errorf("remove one of the uses", "the scorer sets use each other in a circle: %s", strings.Join(circle, ", "))
		default:
			set.used = true
			out = append(out, l.readSet(name, within)...)
			continue
		}
		out = append(out, &scorerDef{rendering: rendering{node: item, broken: true}})
	}
	return out
}

func (l *loader) unusedSets() {
	for _, name := range names(l.sets) {
		if set := l.sets[name]; !set.used && !l.diags.HasErrors() && l.unwritten.Lists == 0 {
			set.key.Warnf("`- use: "+name+"` in a list of scorers", "the scorer set `%s` is not used", name)
		}
	}
}

// scorersOf reads the scorer column of a row: a scorer, or a list of them, as a text in YAML or JSON, or as values.
// What is written there is data, and no template.
func (s *Suite) scorersOf(r *row, diags *diag.List) []*scorerDef {
	if r.of.scorers == "" {
		return nil
	}
	cell := s.scorerCell(r, diags)
	if strings.TrimSpace(cell) == "" {
		return nil
	}
	var own diag.List // the places inside a cell mean nothing to a reader of the file
	root, ok := yaml.Parse(r.pos.File, []byte(cell), &own)
	var out []*scorerDef
	if root = root.At(r.pos); ok {
		out = s.scorersIn(root)
	}
	for _, d := range own.Sorted() {
		r.badScorers = true
		d.Pos = r.pos
		d.Message = fmt.Sprintf("in the column `%s`: %s", r.of.scorers, d.Message)
		diags.Add(d)
	}
	return out
}

func (s *Suite) scorerCell(r *row, diags *diag.List) string {
	value, there := r.vars[r.of.scorers]
	if !there && r.of.isTable() { // which no other row has either
		diags.PlacedErrorf(r.of.scorersAt.Pos(), diag.DidYouMean(r.of.scorers, names(r.vars)), "%s", r.missing(r.of.scorers))
		return ""
	}
	if !there {
		diags.Errorf(r.pos, diag.DidYouMean(r.of.scorers, names(r.vars)), "there is no column `%s` with scorers", r.of.scorers)
		return ""
	}
	if text, ok := value.(string); ok {
		return text
	}
	return eval.JSON(value)
}

func (s *Suite) scorersIn(root yaml.Node) []*scorerDef {
	if root.IsSequence() && len(root.Seq()) == 0 {
		root.Errorf("leave the cell empty when there is none", "the list of scorers is empty")
	}
	var out []*scorerDef
	for _, item := range root.Items() {
		if !item.IsMapping() {
			item.Errorf("such as `contains: Paris`", "a scorer is a kind with its argument")
			continue
		}
		globs(item.Map().Get("arms"), "arm", s.armNames())
		if sc := s.compiled(item); sc != nil {
			out = append(out, &scorerDef{rendering: rendering{node: item}, fixed: sc})
		}
	}
	return out
}
