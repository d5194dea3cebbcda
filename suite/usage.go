package suite

import (
	"github.com/evalrun/evalrun/diag"
	"github.com/evalrun/evalrun/internal/tmpl"
	"github.com/evalrun/evalrun/internal/yamlnode"
)

// unused warns of variables of the case that nothing names.
func (l *loader) unused(def *caseDef, c *Case) (warnings diag.List) {
	used := map[string]bool{}
	all := false
	mark := func(t *tmpl.Template) {
		all = all || t.UsesAll()
		for _, f := range t.Fields() {
			used[f.Name] = true
			l.used[f.Name] = true
		}
	}
	mark(def.name.t)
	for _, arm := range c.Arms {
		for part := range arm.Prompt.templates {
			mark(part.source.t)
		}
	}
	defs := def.scorers
	if !def.alone {
		defs = append(defs[:len(defs):len(defs)], l.defaults.scorers...)
	}
	for _, d := range defs {
		for _, t := range d.templates {
			mark(t.t)
		}
	}
	l.used["."] = l.used["."] || all
	if !all {
		warnUnused(def.vars, used, &warnings)
	}
	return warnings
}

func (l *loader) checkUnusedDefaults() {
	if !l.used["."] && len(l.cases) > 0 {
		warnUnused(l.defaults.vars, l.used, l.diags)
	}
}

// checkVars warns of --var for variables that nothing names.
func (l *loader) checkVars() {
	if l.used["."] || l.diags.HasErrors() {
		return
	}
	for _, name := range names(l.opts.Vars) {
		if !l.used[name] {
			delete(l.used, ".") // the mark of templates that take all variables
			l.diags.Warnf(diag.Pos{File: l.File}, diag.DidYouMean(name, names(l.used)), "--var %s: the suite uses no such variable", name)
		}
	}
}

func warnUnused(vars yamlnode.Map, used map[string]bool, diags *diag.List) {
	for e := range vars.Entries() {
		if !used[e.Name()] {
			diags.Warnf(e.Key.Pos(), "", "the variable `%s` is not used", e.Name())
		}
	}
}
