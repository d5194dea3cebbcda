package suite

import (
	"maps"

	"github.com/evalrun/evalrun/diag"
	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/yaml"
)

// hides reads `hidden`: values that only scorers see, next to `vars`, or the names of such variables.
func (l *loader) hides(def *caseDef, n yaml.Node) {
	if !n.IsMapping() {
		def.hidden = append(def.hidden, variableNames(n)...)
		return
	}
	vars := def.vars[0]
	for e := range n.Map().Entries() {
		if vars.Has(e.Name()) {
			e.Key.Errorf("leave it out there", "the variable `%s` is in `vars` too", e.Name())
		}
		def.hidden = append(def.hidden, variableName{name: e.Name()})
	}
	def.vars = append(def.vars, n.Map())
}

// ownVars are the values of a definition, hidden ones too.
func (def *caseDef) ownVars() eval.Dict {
	out := values(def.vars[0])
	for _, m := range def.vars[1:] {
		maps.Copy(out, values(m))
	}
	return out
}

// hiddenOf are the names of the variables that are hidden in the cases of a definition.
func (s *Suite) hiddenOf(def *caseDef) map[string]bool {
	out := map[string]bool{}
	for _, one := range []*caseDef{&s.table.defaults, def, def.entry} {
		if one == nil {
			continue
		}
		for _, hidden := range one.hidden {
			out[hidden.name] = true
		}
	}
	return out
}

// visible is the case without its hidden variables.
func (c *Case) visible() *Case {
	if len(c.hidden) == 0 || c.hides != nil {
		return c
	}
	out := *c
	out.hides, out.vars = c.hidden, maps.Clone(c.vars)
	maps.DeleteFunc(out.vars, func(name string, _ eval.Value) bool { return c.hidden[name] })
	return &out
}

// hiddenError reports that something which must not see it names a hidden variable.
func (c *Case) hiddenError(name string, at diag.Pos, diags *diag.List) {
	const hint = "only scorers see it; move it to `vars`, or name another variable here"
	if c.row != nil {
		diags.PlacedErrorf(at, hint, "the variable `%s` is hidden", name)
		return
	}
	diags.Errorf(at, hint, "the variable `%s` of case `%s` is hidden", name, c.Name)
}

// Sent returns the variables of the case that the target of an arm gets. The caller must not change them.
func (c *Case) Sent(arm Arm) eval.Dict {
	p, ok := arm.Target.Of.(*Program)
	if !ok {
		return c.visible().vars
	}
	u := usage{names: map[string]bool{}}
	arm.Prompt.uses(&u)
	p.vars.use(&u)
	for s := range p.sources {
		u.template(s.t)
	}
	return c.those(&u)
}

// passed returns the variables that a program of a prompt gets.
func (c *Case) passed(to *passed) eval.Dict {
	u := usage{names: map[string]bool{}}
	to.use(&u)
	return c.those(&u)
}

func (c *Case) those(u *usage) eval.Dict {
	vars := c.visible().vars
	if u.all {
		return vars
	}
	out := make(eval.Dict, len(u.names))
	for name := range u.names {
		if value, ok := vars[name]; ok {
			out[name] = value
		}
	}
	return out
}

type variableName struct {
	name string
	node yaml.Node // zero where the name comes with a value
}

func variableNames(n yaml.Node) (out []variableName) {
	for _, item := range n.Items() {
		if item.IsScalar() && !item.IsNull() {
			out = append(out, variableName{item.Str(), item})
		} else {
			item.Errorf("such as [question, language]", "a list of variables has names")
		}
	}
	return out
}

// passed are the variables that a program gets besides those that its prompt names.
type passed struct {
	all   bool
	names []variableName
}

const allVars = "all"

func passedShape() yaml.Shape { return yaml.Either(yaml.Word(allVars), yaml.List(yaml.Text)) }

func readPassed(n yaml.Node) passed {
	if n.IsScalar() {
		return passed{all: n.Word(allVars) != ""}
	}
	return passed{names: variableNames(n)}
}

func (p *passed) use(u *usage) {
	u.all = u.all || p.all
	for _, one := range p.names {
		u.names[one.name] = true
	}
}

// checkNames reports hidden variables in the lists of what programs get, and notes which listed variables the case has.
func (l *checker) checkNames(def *caseDef, c *Case) {
	for _, arm := range c.Arms {
		lists := []passed{}
		if p, ok := arm.Target.Of.(*Program); ok {
			lists = append(lists, p.vars)
		}
		if g := arm.Prompt.generator; g != nil {
			lists = append(lists, g.vars)
		}
		for _, list := range lists {
			for _, one := range list.names {
				if c.hidden[one.name] {
					c.hiddenError(one.name, one.node.Pos(), l.diags)
				}
				l.noteName(c, one)
			}
		}
	}
	for _, of := range []*caseDef{&l.table.defaults, def} {
		for _, one := range of.hidden {
			l.noteName(c, one)
		}
	}
}

func (l *checker) noteName(c *Case, one variableName) {
	if one.node.IsZero() {
		return
	}
	_, known := c.vars[one.name]
	l.listed[one.node.Pos()] = listedName{one, known || c.vague || l.listed[one.node.Pos()].found}
}

type listedName struct {
	variableName
	found bool // a case has it
}

// reportNames reports listed names that no case has as a variable: a misspelled one would hide nothing.
func (l *checker) reportNames() {
	for _, one := range l.listed {
		if !one.found {
			one.node.Errorf("", "no case has a variable `%s`", one.name)
		}
	}
}
