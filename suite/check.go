package suite

import (
	"fmt"
	"hash/maphash"
	"slices"
	"strings"

	"github.com/evalrun/evalrun/diag"
	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/expr"
	"github.com/evalrun/evalrun/internal/yaml"
)

func newChecker(l *loader) *checker {
	l.used = map[string]bool{}
	l.table.trials = map[Arm]int{}
	l.unstreamed = map[diag.Pos]*unstreamed{}
	l.needs.prices, l.needs.latencies = map[string]diag.Pos{}, map[string]diag.Pos{}
	return &checker{
		loader:    l,
		names:     newCaseNames(),
		first:     map[string]diag.Pos{},
		ids:       map[string]diag.Pos{},
		modelless: map[diag.Pos]bool{},
		listed:    map[diag.Pos]listedName{},
		expected:  expectations{map[string]string{}, map[diag.Pos]bool{}},
	}
}

// finish reports problems that can be known only after all cases: unused keys, and arms without cases.
func (l *checker) finish() {
	l.reportUnstreamed()
	known := l.unwritten.Lists == 0 // else there are more cases
	if known && !l.table.over {
		l.reportNames()
	}
	if known && !l.diags.HasErrors() {
		l.diags.Merge(l.unused)
		l.errors.report(l.diags)
		l.checkUnusedDefaults()
	}
	for _, arm := range l.arms {
		if l.table.trials[arm] > 0 {
			l.checkArm(arm)
		} else if known && len(l.table.defs) > 0 && !l.diags.HasErrors() {
			l.diags.Warnf(arm.Prompt.Pos, "widen `arms` of a case, or remove the prompt", "no case runs on the arm %s", arm.Name())
		}
	}
	if known {
		l.checkVars()
	}
}

// checker expands every case once, and checks what depends on the expansion: names, ids, variables and arms.
type checker struct {
	*loader
	names  *caseNames
	first  map[string]diag.Pos // positions of cases that are not rows, by name
	ids    map[string]diag.Pos // positions of `id` keys and cells, by id
	unused diag.List           // warnings, reported only when there are no errors

	expected expectations
	errors   errorCases
	// modelless are the positions of reported scorers, see checkModel and checkWorkspace
	modelless map[diag.Pos]bool
	listed    map[diag.Pos]listedName // names in lists of variables
}

// errorCases are cases with a scorer that never has a score.
type errorCases struct {
	count int
	first diag.Pos
}

func (e *errorCases) note(c *Case) {
	i := slices.IndexFunc(c.Scorers, func(s *Scorer) bool { return s.Needs.Unscored })
	if i < 0 {
		return
	}
	if e.count++; e.count == 1 {
		e.first = c.Scorers[i].At()
	}
}

func (e *errorCases) report(diags *diag.List) {
	if e.count > 0 {
		diags.Warnf(
			e.first, "replace each `unscored` by a check, or remove it",
			"the trials of %s are errors, because of `unscored` scorers; the first one is here", diag.Count(e.count, "case"),
		)
	}
}

// The rest of a data file is not checked after this many problems, since more of the same would not help.
const (
	maxBadRows  = 20   // different problems
	maxRepeated = 1000 // repetitions of them in further rows
)

func (l *checker) definition(def *caseDef) {
	whole := l.diags
	var own diag.List
	l.diags = &own
	defer func() {
		whole.Merge(own)
		l.diags = whole
	}()
	if def.rows != nil {
		l.readWhere(def.rows)
		l.choose(def.rows, &own)
	}
	cases, numbered := 0, 0
	var example *Case
	x := l.expansion(def)
	ahead := l.ahead(x)
	if l.table.over {
		return
	}
	for v := range l.variants(def, &own) {
		c, fresh := l.expand(x, v)
		if fresh {
			if numbered++; example == nil {
				example = c
			}
		}
		if cases++; cases == 1 {
			l.firstCase(def, c)
		}
		if l.planned(def.at, product(c.Repeats, len(c.Arms))-ahead) || l.exhausted(def, v, c, cases) {
			break
		}
	}
	l.table.count += cases
	def.every = x.shared
	switch {
	case cases == 0:
		l.noRows(def)
	case example != nil:
		if l.table.numbered = true; def.entry != nil {
			break
		}
		l.unused.Warnf(
			def.at, "a column with a different value in each row makes better names",
			"%s the name of another case and %s numbered, such as `%s` at %s", have(numbered, "case"), beVerb(numbered),
			example.Name, example.Pos,
		)
	}
}

// expand makes and checks one case. numbered reports whether its name was taken, so that it got a number.
func (l *checker) expand(x *expansion, v variant) (c *Case, numbered bool) {
	l.checkGrid(x.def, v)
	c = x.outline(v, l.diags)
	c.Scorers = x.scorers(v, c, l.diags)
	c.checkVariables(l.diags)
	numbered = l.checkName(c)
	l.checkNames(x.def, c)
	l.oneCase(x.def, c)
	return c, numbered
}

// firstCase checks on the first case what is equal for all cases of a definition.
func (l *checker) firstCase(def *caseDef, c *Case) {
	l.unused.Merge(l.loader.unused(def, c))
	l.dead(def, c, &l.unused)
	c.try(l.diags)
}

// exhausted reports whether to stop checking cases of a definition: the budget of templates is spent, or a data file has
// too many problems. It adds the reason to the problems.
func (l *checker) exhausted(def *caseDef, v variant, c *Case, cases int) bool {
	if l.loading.budget.Spent() {
		l.diags.Errorf(
			def.at, "shorten what templates repeat, or make fewer cases",
			"%s: after %s nothing is left of what a suite may render", expr.ErrBudget.Message,
			diag.Count(l.table.count+cases, "case"),
		)
		return true
	}
	if (l.diags.Len() >= maxBadRows || l.diags.Repeated() >= maxRepeated) && l.diags.HasErrors() && v.row != nil {
		l.diags.Warnf(def.rows.node.Pos(), "", "the rows after %s were not checked", c.Pos)
		return true
	}
	return false
}

// noRows reports a dataset that makes no case, unless problems with its files explain that already.
func (l *checker) noRows(def *caseDef) {
	if def.rows == nil || len(def.rows.files) == 0 || l.diags.Len() > 0 {
		return
	}
	if where := def.rows.where; where != nil {
		l.diags.Errorf(where.node.Pos(), "widen it, or remove the dataset", "`where` is true of no row, so there would be no case")
		return
	}
	if def.rows.path != nil {
		l.diags.Errorf(
			def.node.Get("rows").Pos(), "widen it, or correct the path", "`rows` selects nothing, so there would be no case",
		)
		return
	}
	l.diags.Errorf(def.rows.node.Pos(), "add a row, or remove the dataset", "there are no rows, so there would be no case")
}

func (c *Case) try(diags *diag.List) {
	for _, sc := range c.Scorers {
		for _, try := range sc.Needs.Tries {
			try(c.vars, diags)
		}
	}
}

// checkGrid reports variables of `each` and `matrix` that are also columns of the data file, whose cells would be ignored.
func (l *checker) checkGrid(def *caseDef, v variant) {
	if v.row == nil {
		return
	}
	for _, name := range v.chosen {
		if _, twice := v.row.vars[name]; !twice {
			continue
		}
		in := def.node.Get("matrix").Map()
		if !in.Has(name) {
			l.diags.Errorf(
				def.node.Get("each").Pos(), "choose another name for one of them",
				"the variable `%s` of `each` is a column of %s too", name, v.row.pos.File,
			)
			continue
		}
		in.Key(name).Errorf(
			"choose another name for one of them",
			"the variable `%s` is a column of %s too", name, v.row.pos.File,
		)
	}
}

func have(n int, noun string) string {
	if n == 1 {
		return "1 " + noun + " has"
	}
	return diag.Count(n, noun) + " have"
}

func beVerb(n int) string { return diag.Verb(n, "is", "are") }

// oneCase checks a case, and its request to each of its arms.
func (l *checker) oneCase(def *caseDef, c *Case) {
	if c.ID != "" { // an outline has only an ID that the suite gives
		l.checkID(def, c)
	}
	if l.unscored(def, c) {
		l.diags.Errorf(
			c.Pos, "add a `scorers` list to the case or to `defaults`",
			"case `%s` has no scorer, so nothing would be scored", c.Name,
		)
	}
	l.errors.note(c)
	for _, arm := range c.Arms {
		l.table.trials[arm] += c.Repeats
		if arm.Prompt.generator == nil { // else writePrompts checks it
			l.checkPrompt(c, arm)
		} else if l.opts.Programs.takes(c, arm) {
			l.unwritten.Prompts++
		}
		if len(c.Scorers) > 0 && len(c.ScorersFor(arm)) == 0 {
			l.diags.Errorf(
				c.Pos, "widen `arms` of a scorer, or narrow `arms` of the case",
				"case `%s` has no scorer for the arm %s", c.Name, arm.Name(),
			)
		}
		l.checkStream(c, arm)
		l.checkModel(c, arm)
		l.checkWorkspace(c, arm)
		l.needs.noteArm(c, arm)
		l.checkTurns(c, arm)
		l.checkCalls(c, arm)
		l.checkExpected(c, arm)
	}
}

// unscored reports whether a case has no scorer, and no other problem explains that.
func (l *checker) unscored(def *caseDef, c *Case) bool {
	unlabelled := l.classified != nil && !def.alone // reported by the classification
	reported := unlabelled || l.loading.misspelled.lacksScorers(def) || c.row.explainsNoScorers()
	if reported || len(c.Scorers) > 0 || len(slices.Concat(def.scorers...)) > 0 {
		return false
	}
	return def.alone || !l.defaultScorers()
}

// defaultScorers reports whether the defaults list scorers, even invalid ones.
func (l *checker) defaultScorers() bool {
	return slices.ContainsFunc(l.roots, func(root yaml.Map) bool {
		defaults := root.Get("defaults")
		return defaults.IsMapping() && len(defaults.Map().Get("scorers").Items()) > 0
	})
}

func (l *checker) checkID(def *caseDef, c *Case) {
	at := def.node.Get("id").Pos()
	if c.row != nil && def.open["id"] != nil {
		at = c.Pos
	}
	if first, twice := l.ids[c.ID]; twice {
		l.diags.Errorf(
			at, "a template such as \"{{.id}}\" makes one for each row",
			"duplicate case id `%s`, first %s", c.ID, first.SeenFrom(at),
		)
	} else {
		l.ids[c.ID] = at
	}
}

// checkName reports a name that is empty or taken. A row with a taken name gets a number instead.
func (l *checker) checkName(c *Case) (numbered bool) {
	switch {
	case strings.TrimSpace(c.Name) == "":
		l.diags.Errorf(c.Pos, "use a variable that has a value in this case", "the case name renders to nothing")
		return false
	case strings.ContainsAny(c.Name, "\n\r"):
		l.diags.Errorf(c.Pos, "write it in one line", "a case name is a single line")
	}
	if c.many {
		return l.names.number(c)
	}
	if first, twice := l.first[c.Name]; twice {
		l.diags.Errorf(c.Pos, "rename one of them", "duplicate case name `%s`, first %s", c.Name, first.SeenFrom(c.Pos))
		return false
	}
	if l.names.take(c.Name) {
		l.diags.Errorf(
			c.Pos, "use a column in the name that differs from row to row", "duplicate case name `%s`: a row before it has it", c.Name,
		)
	}
	l.first[c.Name] = c.Pos
	return false
}

// caseNames keeps track of names that are taken. It stores hashes, since a data file may have millions of rows.
type caseNames struct {
	taken map[uint64]int // the last number given to a case of this name, by the hash of the name
	seed  maphash.Seed
}

func newCaseNames() *caseNames { return &caseNames{map[uint64]int{}, maphash.MakeSeed()} }

func (n *caseNames) take(name string) (twice bool) {
	h := maphash.String(n.seed, name)
	if _, twice = n.taken[h]; !twice {
		n.taken[h] = 1
	}
	return twice
}

func (n *caseNames) number(c *Case) (numbered bool) {
	name := c.Name
	h := maphash.String(n.seed, name)
	for n.take(c.Name) {
		n.taken[h]++
		c.Name = fmt.Sprintf("%s (%d)", name, n.taken[h])
	}
	return c.Name != name
}

// dead warns about scorers of the case that apply to none of its arms.
func (l *loader) dead(def *caseDef, c *Case, warnings *diag.List) {
	for _, d := range slices.Concat(def.scorers...) {
		sc := d.fixed
		if sc == nil || d.shared || len(sc.Arms) == 0 {
			continue
		}
		if slices.ContainsFunc(c.Arms, func(a Arm) bool { return a.Matches(sc.Arms) }) {
			continue
		}
		warnings.Warnf(
			sc.yaml().Entry.Get("arms").Pos(), "widen `arms` of the scorer or of the case",
			"case `%s` runs on no arm that this scorer is for", c.Name,
		)
	}
}

// checkArm reports prompts that a target cannot take: tools for an application, and what the service's specification
// forbids for certain models.
func (l *loader) checkArm(a Arm) {
	image := a.Prompt.hasImage()
	where := a.Prompt.Pos
	if app := a.Target.App(); app != nil && a.Prompt.toolsPos.Line > 0 {
		l.diags.Errorf(
			a.Prompt.toolsPos, "narrow `targets` of the prompt to models",
			"the target `%s` is an application (%s), which takes no tools", a.Target.Name, app,
		)
	}
	switch model := a.Target.Model(); {
	case model == nil:
		l.checkTexts(a)
		l.checkSaid(a)
	case model.Service.speaks() != eval.Generative:
	case model.ID == "svc-pro-vision":
		l.checkVision(a, image)
	case model.ID == "svc-pro" && image:
		l.diags.Errorf(
			where, "send it to svc-pro-vision: narrow `targets` of the prompt",
			"svc-pro (target `%s`) takes text alone, and the prompt `%s` has an image", a.Target.Name, a.Prompt.Name,
		)
	}
}

// checkTexts reports parts of a prompt other than text, which an application cannot receive.
func (l *loader) checkTexts(a Arm) {
	for part := range a.Prompt.eachPart {
		if part.form() != "text" {
			l.diags.Errorf(
				part.written().node.Pos(), "narrow `targets` of the prompt, and name the file in a variable for the application",
				"the target `%s` is an application, which gets texts alone, and the prompt `%s` has another part",
				a.Target.Name, a.Prompt.Name,
			)
			return
		}
	}
}

// checkVision reports prompts that svc-pro-vision does not take. image says that the prompt has an image.
func (l *loader) checkVision(a Arm, image bool) {
	where := a.Prompt.Pos
	switch {
	case image && a.Prompt.Live && !a.Prompt.beginsWithImage():
		l.diags.Errorf(
			where, "show an image in the first turn",
			"svc-pro-vision (target `%s`) takes prompts with an image, and the first turn of the live chat `%s` has none",
			a.Target.Name, a.Prompt.Name,
		)
	case !image:
		l.diags.Errorf(
			where, "send it to svc-pro: narrow `targets` of the prompt",
			"svc-pro-vision (target `%s`) takes prompts with an image, and the prompt `%s` has none",
			a.Target.Name, a.Prompt.Name,
		)
	case a.Prompt.isChat():
		l.diags.Warnf(
			where, "",
			"svc-pro-vision (target `%s`) is not made for chats such as the prompt `%s`", a.Target.Name, a.Prompt.Name,
		)
	}
}
