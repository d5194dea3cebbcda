package suite

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/evalrun/evalrun/diag"
	"github.com/evalrun/evalrun/internal/expr"
	"github.com/evalrun/evalrun/internal/yaml"
)

// VariableUse is a variable of the case that a scorer looks at.
type VariableUse struct {
	Name string
	Pos  diag.Pos // position in the scorer
	// Optional says that the scorer works without the variable.
	Optional bool
	// Known lists names in addition to those of the case, for hints.
	Known []string
}

// Given lists the variables that the command gives to all cases and a scorer reads by itself, as NAME=VALUE.
func (s *Suite) Given(n Needs) (out []string) {
	all := n.AllVariables || len(n.Programs) > 0
	for name, value := range s.opts.Vars {
		if all || slices.ContainsFunc(n.Variables, func(v VariableUse) bool { return v.Name == name }) {
			out = append(out, name+"="+value)
		}
	}
	slices.Sort(out)
	return out
}

func (c *Case) checkVariables(diags *diag.List) {
	for _, sc := range c.Scorers {
		for _, v := range sc.Needs.Variables {
			if _, ok := c.vars[v.Name]; ok || v.Optional || c.vague {
				continue
			}
			if near := diag.Nearest(v.Name, v.Known, 1); len(near) > 0 && len(diag.Nearest(v.Name, names(c.vars), 1)) == 0 {
				diags.Errorf(v.Pos, fmt.Sprintf("did you mean `%s`?", near[0]), "case `%s` has no variable `%s`", c.Name, v.Name)
				continue
			}
			c.missing(v.Name, v.Pos, diags)
		}
	}
}

// named returns the variables that prompts, scorers and settings of a definition use. all reports that something uses every
// variable.
func (l *loader) named(def *caseDef, c *Case) (used map[string]bool, all bool) {
	u := usage{names: map[string]bool{}}
	u.template(def.name.t)
	for _, arm := range c.Arms {
		if p, ok := arm.Target.Of.(*Program); ok {
			p.vars.use(&u)
		}
		if g := arm.Prompt.generator; g != nil {
			g.vars.use(&u)
		}
		arm.Prompt.uses(&u)
		for text := range arm.Prompt.Results.templates() {
			u.template(text.t)
		}
		if app := arm.Target.App(); app != nil {
			for s := range app.sources {
				u.template(s.t)
			}
		}
	}
	layers := def.scorers
	if !def.alone {
		layers = slices.Concat(layers, l.table.defaults.scorers)
	}
	for _, d := range slices.Concat(layers...) {
		u.rendering(&d.rendering)
	}
	for _, open := range []map[string]*rendering{def.open, l.table.defaults.open} {
		for _, r := range open {
			u.rendering(r)
		}
	}
	u.scorers(c.Scorers)
	if c.row != nil {
		u.where(c.row.of.where)
	}
	return u.names, u.all
}

type usage struct {
	names map[string]bool
	all   bool // something uses every variable
}

func (u *usage) template(t *expr.Template) {
	if t == nil {
		return
	}
	u.all = u.all || t.UsesAll()
	for _, f := range t.Fields() {
		u.names[f.Name] = true
	}
}

func (u *usage) rendering(r *rendering) {
	for _, t := range r.templates {
		u.template(t.t)
	}
}

func (u *usage) scorers(list []*Scorer) {
	for _, sc := range list {
		u.all = u.all || sc.Needs.AllVariables || len(sc.Needs.Programs) > 0
		for _, v := range sc.Needs.Variables {
			u.names[v.Name] = true
		}
	}
}

func (u *usage) where(f *filter) {
	if f == nil || f.program == nil {
		return
	}
	for _, read := range f.program.Reads() {
		u.names[read.Path[0]] = true
	}
}

// unused returns warnings about unused variables of the definition, and unused columns of its rows.
func (l *loader) unused(def *caseDef, c *Case) (warnings diag.List) {
	used, all := l.named(def, c)
	maps.Copy(l.used, used)
	l.used["."] = l.used["."] || all
	if all {
		return warnings
	}
	for _, m := range append(slices.Clone(def.vars), def.node.Get("matrix").Map()) {
		warnUnused(m, used, &warnings)
	}
	if c.row != nil {
		l.unusedColumns(def, c.row, used, &warnings)
	}
	return warnings
}

// unusedColumns warns about unused columns of a table. Other formats often have more keys than a suite needs.
func (l *loader) unusedColumns(def *caseDef, r *row, used map[string]bool, warnings *diag.List) {
	if !r.of.isTable() {
		return
	}
	var unused []string
	for _, name := range names(r.vars) {
		if !used[name] && name != r.of.scorers && (def.name.t != nil || name != "name") {
			unused = append(unused, "`"+name+"`")
		}
	}
	hint := ""
	if def.name.t == nil && slices.Contains(unused, "`id`") {
		hint = "next to `dataset`, `name: \"{{.id}}\"` names the cases by it"
	}
	switch len(unused) {
	case 0:
	case 1:
		warnings.Warnf(r.of.node.Pos(), hint, "the column %s is not used", unused[0])
	default:
		warnings.Warnf(r.of.node.Pos(), hint, "the columns %s are not used", strings.Join(unused, ", "))
	}
}

func (l *loader) checkUnusedDefaults() {
	if !l.used["."] && len(l.table.defs) > 0 {
		for _, m := range l.table.defaults.vars {
			warnUnused(m, l.used, l.diags)
		}
	}
}

func (l *loader) checkVars() {
	if l.used["."] || l.diags.HasErrors() {
		return
	}
	for _, name := range names(l.opts.Vars) {
		if !l.used[name] {
			delete(l.used, ".") // the mark of templates that take all variables
			l.diags.Warnf(
				diag.Pos{File: l.File}, diag.DidYouMean(name, names(l.used)), "--var %s: the suite uses no such variable", name,
			)
		}
	}
}

func warnUnused(vars yaml.Map, used map[string]bool, diags *diag.List) {
	for e := range vars.Entries() {
		if !used[e.Name()] {
			diags.Warnf(e.Key.Pos(), "use it in a prompt, or remove it", "the variable `%s` is not used", e.Name())
		}
	}
}

// misspelled records which parts of a suite a misspelled key may hide. Their absence is not reported again, so that one
// misspelled key is one problem, and not one more for each case.
type misspelled struct {
	scorers, metrics, vars, classification, judges bool

	scorerKeys map[string]bool // all keys of scorers, known or unknown
}

// note looks for misspelled keys at the top level of a suite and in its defaults.
func (u *misspelled) note(root, defaults yaml.Map) {
	u.classification = u.classification || root.Misspells("classification")
	u.scorers = u.scorers || root.Misspells("classification", "defaults", "scorers", "cases") || defaults.Misspells("scorers")
	u.metrics = u.metrics || u.scorers
	u.vars = u.vars || root.Misspells("defaults", "vars") || defaults.Misspells("vars")
}

// lacksScorers reports whether a case of the definition may have scorers under a misspelled key.
func (u *misspelled) lacksScorers(def *caseDef) bool {
	return u.scorers && !def.alone || def.node.Misspells("scorers")
}

// noteCase looks for misspelled keys of a case, which may hide metrics.
func (u *misspelled) noteCase(m yaml.Map) {
	u.metrics = u.metrics || m.Misspells("dataset", "name", "scorers")
}

func (u *misspelled) noteScorer(key string) {
	if u.scorerKeys == nil {
		u.scorerKeys = map[string]bool{}
	}
	u.scorerKeys[key] = true
}

func (u *misspelled) scorerNames() bool {
	for key := range u.scorerKeys {
		if slices.Equal(diag.Nearest(key, yaml.SiblingKeys.Names(), 1), []string{"name"}) {
			return true
		}
	}
	return false
}

// lacksVars reports whether a case of the definition may have variables under a misspelled key.
func (u *misspelled) lacksVars(def *caseDef) bool { return u.vars || def.node.Misspells("vars") }
