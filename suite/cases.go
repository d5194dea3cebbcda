package suite

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/evalrun/evalrun/diag"
	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/expr"
	"github.com/evalrun/evalrun/internal/yaml"
)

// caseDef is the definition of a case, of the cases of a data file, or of the defaults, as written in the suite.
type caseDef struct {
	settings
	node     yaml.Map // zero after the check
	at       diag.Pos // position for messages: the name, or else the definition
	name     source   // its template is nil when the rows name the cases
	vars     []yaml.Map
	hidden   []variableName
	base     eval.Dict             // values of vars, over those of the defaults
	open     map[string]*rendering // settings that contain templates, by key
	arms     eval.Patterns
	isolated *eval.Quarantine
	scorers  [][]*scorerDef // in layers: a later layer replaces scorers of the same name
	every    []*Scorer      // scorers that all its cases share, once checked; nil if unknown or if they differ
	alone    bool           // inheritScorers: false
	rows     *rows          // nil without a data file
	grid     []combination  // combinations of `each` and `matrix`; empty for a single case
	entry    *caseDef       // the entry of the suite whose program wrote the case; nil for others
}

// settings are the keys of a case that are texts and numbers. A template may take them from a column.
type settings struct {
	given     []string // keys that the definition has
	id        string
	tags      []string
	hasTags   bool
	cluster   string
	repeats   int
	threshold *float64
}

func (s *settings) set(key string, n yaml.Node) {
	switch key {
	case "id":
		s.id = n.Str()
	case "tags":
		s.tags, s.hasTags = n.Strings(), true
	case "cluster":
		s.cluster = n.Str()
	case "repeats":
		s.repeats = n.Int(1, MaxRepeats)
	case "threshold":
		if s.threshold = new(n.Float(0, 1)); isZero(n) {
			n.Warnf("write `failures: allowed` in the gate instead", "with `threshold: 0` a trial passes whatever its scores are")
		}
	}
}

func (s *settings) fill(from settings) {
	if !s.hasTags {
		s.tags, s.hasTags = from.tags, from.hasTags
	}
	s.cluster = cmp.Or(s.cluster, from.cluster)
	s.repeats = cmp.Or(s.repeats, from.repeats)
	s.threshold = cmp.Or(s.threshold, from.threshold)
}

func (l *loader) caseDef(m yaml.Map) caseDef {
	def := caseDef{
		node: m,
		vars: []yaml.Map{m.Get("vars").Map()},
		arms: globs(m.Get("arms"), "arm", l.names),
	}
	l.hides(&def, m.Get("hidden"))
	for _, key := range []string{"id", "tags", "cluster", "repeats", "threshold"} {
		n := m.Get(key)
		if n.IsZero() {
			continue
		}
		def.given = append(def.given, key)
		if r := l.rendering(n); len(r.templates) > 0 {
			def.opens(key, &r)
		} else {
			def.set(key, n)
		}
	}
	def.isolated = l.quarantine(m.Get("quarantine"))
	def.scorers = [][]*scorerDef{l.scorerList(m.Get("scorers"), nil)}
	return def
}

func (def *caseDef) opens(key string, r *rendering) {
	if def.open == nil {
		def.open = map[string]*rendering{}
	}
	def.open[key] = r
}

// readDefaults reads the defaults of every file of the suite. The defaults of a file win over the ones of files that it
// includes.
func (l *loader) readDefaults() {
	for _, root := range l.roots {
		n := root.Get("defaults")
		def := l.caseDef(n.Map(defaultsBlock().Names()...))
		l.loading.misspelled.note(root, def.node)
		old := l.table.defaults
		def.fill(old.settings)
		def.vars = append(old.vars, def.vars...)
		def.hidden = append(old.hidden, def.hidden...)
		def.scorers = append(old.scorers, def.scorers...)
		for key, r := range old.open {
			if !slices.Contains(def.given, key) {
				def.opens(key, r)
			}
		}
		if def.arms == nil {
			def.arms = old.arms
		}
		def.isolated = cmp.Or(def.isolated, old.isolated)
		l.table.defaults = def
	}
	l.table.defaults.base = eval.Dict{}
	for _, m := range l.table.defaults.vars {
		maps.Copy(l.table.defaults.base, values(m))
	}
	l.noteMetrics(&l.table.defaults)
	l.withClassification()
}

func (l *loader) readCases() {
	c := newChecker(l)
	for m := range l.items("cases", caseBlock(), "there are no cases", "write at least one") {
		if m.Has("program") {
			l.table.defs = append(l.table.defs, l.writtenCases(m)...)
			continue
		}
		if def := l.readCase(m); def != nil {
			l.noteMetrics(def)
			l.table.defs = append(l.table.defs, def)
		}
	}
	known := map[listedScorers]*caseDef{}
	for _, def := range l.table.defs {
		c.definition(def)
		if l.table.over {
			return
		}
		def.shareScorers(known)
		def.node, def.vars = yaml.Map{}, nil // the values are in base
		def.forgetNodes()
	}
	c.finish()
}

// forgetNodes lets go of the entries in the definition's own list whose scorers are made.
func (def *caseDef) forgetNodes() {
	for _, d := range def.scorers[len(def.scorers)-1] {
		if d.fixed != nil && !d.shared {
			d.node = yaml.Node{}
		}
	}
}

// listedScorers identifies the scorers of a definition, by its own list and that of the entry whose program wrote it.
type listedScorers struct {
	entry *caseDef
	list  string
}

// maxLists is the most lists of scorers that cases share.
const maxLists = 256

// shareScorers replaces the scorers of a checked definition by those of an earlier one whose list reads the same. Often
// thousands of cases have one list: it is kept once, and compiled once.
func (def *caseDef) shareScorers(known map[listedScorers]*caseDef) {
	if def.every == nil || def.alone {
		return
	}
	list := listedScorers{def.entry, string(def.node.Get("scorers").Signature(nil))}
	if first := known[list]; first != nil {
		def.scorers, def.every = first.scorers, first.every
	} else if len(known) < maxLists {
		known[list] = def
	}
}

func (l *loader) readCase(m yaml.Map) *caseDef {
	l.loading.misspelled.noteCase(m)
	def := l.caseDef(m)
	def.rows = l.rows(m)
	def.at = m.Pos()
	name := m.Get("name")
	if name.IsZero() && def.rows == nil {
		if !m.Misspells("dataset") {
			m.Need("name")
		}
		return nil
	}
	if !name.IsZero() {
		def.name = l.caseName(name)
		def.at = name.Pos()
	}
	def.grid = l.grid(&def)
	if v := m.Get("inheritScorers"); !v.IsZero() {
		def.alone = !v.Bool()
	}
	def.base = merged(l.table.defaults.base, def.ownVars())
	return &def
}

func (l *loader) caseName(n yaml.Node) source {
	if n.IsScalar() && !n.IsNull() && strings.TrimSpace(n.Str()) == "" {
		n.Errorf("such as `capital of France`", "a case name must not be empty")
	}
	return l.template(n)
}

// variant distinguishes the cases of a definition: by a row, and a combination of `each` and `matrix`.
type variant struct {
	vars    eval.Dict
	row     *row         // nil without a data file
	chosen  []string     // names of the variables that `each` and `matrix` set
	scorers []*scorerDef // in the row's column of scorers
}

// name sets the name of a case, from the template or from its row. It appends variables of `each` and `matrix` that the
// template does not use.
func (s *Suite) name(c *Case, def *caseDef, v variant, diags *diag.List) {
	if def.name.t == nil {
		c.Name = v.row.name()
	} else {
		c.Name = def.name.text // for messages about the name itself
		if name, ok := def.name.render(c, diags); ok {
			c.Name = name
		}
	}
	if v.row != nil && strings.ContainsAny(c.Name, "\n\r") { // a name is a single line, and a cell need not be
		c.Name = strings.Join(strings.Fields(c.Name), " ")
	}
	var added []string
	for _, chosen := range v.chosen {
		isChosen := func(f expr.Field) bool { return f.Name == chosen }
		if def.name.t == nil || !slices.ContainsFunc(def.name.t.Fields(), isChosen) {
			added = append(added, chosen+"="+shortened(v.vars[chosen]))
		}
	}
	if len(added) > 0 {
		c.Name += " [" + strings.Join(added, ", ") + "]"
	}
}

// settle returns the settings of a case and all of its tags. Settings with templates are rendered; an empty result leaves
// the default.
func (x *expansion) settle(c *Case, diags *diag.List) (set settings, tags []string) {
	set, tags = x.set, x.tags
	for _, o := range x.open {
		if !x.fill(&set, o, c, diags) || o.key != "tags" {
			continue
		}
		set.tags = splitTags(set.tags) // a cell is one text, with commas between tags
		tags = x.tagged(set.tags)
	}
	return set, tags
}

// fill renders a setting of a case into set. It reports false when the result is empty or invalid.
func (x *expansion) fill(set *settings, o templatedSetting, c *Case, diags *diag.List) bool {
	var own diag.List
	defer c.pass(&own, diags)
	n, ok := o.render(c, &own)
	if !ok || n.IsScalar() && strings.TrimSpace(n.Str()) == "" {
		return false
	}
	set.set(o.key, n)
	return true
}

// pass adds the problems of a case to diags, with the row of the case.
func (c *Case) pass(own, diags *diag.List) {
	if c.row == nil {
		diags.Merge(*own)
		return
	}
	for _, d := range own.Sorted() {
		if d.Placed {
			diags.Add(d)
		} else {
			diags.AddRow(d, c.row.pos)
		}
	}
}

func splitTags(texts []string) []string {
	var out []string
	for _, text := range texts {
		for tag := range strings.SplitSeq(text, ",") {
			if tag = strings.TrimSpace(tag); tag != "" {
				out = append(out, tag)
			}
		}
	}
	return out
}

// varsHash identifies a case across runs: it hashes the variables, and the content of images and other files that they
// select. Files that a prompt always has belong to the prompt.
func (s *Suite) varsHash(c *Case, vars eval.Dict) string {
	text := eval.AppendTexts(make([]byte, 0, 256), vars)
	var sums []string
	for _, arm := range c.Arms {
		for part := range arm.Prompt.eachPart {
			if sum := s.chosenFile(part, vars); sum != "" {
				sums = append(sums, sum)
			}
		}
	}
	slices.Sort(sums)
	for _, sum := range slices.Compact(sums) {
		text = append(append(text, 0), sum...)
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:8])
}

// chosenFile identifies the content of the file that variables select for a part; "" when they select none.
func (s *Suite) chosenFile(p part, vars eval.Dict) string {
	file, ok := p.(fileInTurn)
	if !ok || p.written().t.IsConstant() {
		return ""
	}
	var ignored diag.List
	name, ok := p.written().render(&Case{vars: vars}, &ignored)
	if !ok {
		return ""
	}
	return file.identity(name, s.files)
}

type combination struct {
	vars  eval.Dict
	names []string // in the order of the file
}

// maxCombinations is the most cases that one definition may expand to with `each` and `matrix`.
const maxCombinations = 100_000

// grid combines each entry of `each` with each combination of the lists of `matrix`.
func (l *loader) grid(def *caseDef) []combination {
	each, matrix := def.node.Get("each"), def.node.Get("matrix")
	if each.IsZero() && matrix.IsZero() {
		return nil
	}
	taken := map[string]string{}
	for i, m := range def.vars {
		for e := range m.Entries() {
			taken[e.Name()] = []string{"vars", "hidden"}[i]
		}
	}
	out := []combination{{vars: eval.Dict{}}}
	if !each.IsZero() {
		out = eachOf(each, taken)
	}
	for e := range matrix.Map().Entries() {
		if in := taken[e.Name()]; in != "" {
			e.Key.Errorf("leave it out there", "the variable `%s` is in `%s` too", e.Name(), in)
			continue
		}
		out = times(out, e)
		if len(out) > maxCombinations {
			e.Key.Errorf("a dataset has room for more", "the matrix makes more than %d cases", maxCombinations)
			return nil
		}
	}
	if matrix.IsMapping() && matrix.Map().Len() == 0 {
		matrix.Errorf("such as {style: [short, long]}", "the matrix is empty")
	}
	return out
}

func eachOf(n yaml.Node, taken map[string]string) []combination {
	var out []combination
	for _, item := range n.Seq() {
		one := combination{vars: eval.Dict{}}
		for e := range item.Map().Entries() {
			if in := taken[e.Name()]; in != "" {
				e.Key.Errorf("leave it out there", "the variable `%s` is in `%s` too", e.Name(), in)
			}
			one.vars[e.Name()] = eval.Written(e.Value.Value())
			one.names = append(one.names, e.Name())
		}
		out = append(out, one)
	}
	for _, one := range out {
		for _, name := range one.names {
			taken[name] = "each"
		}
	}
	if n.IsSequence() && len(out) == 0 {
		n.Errorf("such as [{country: France}, {country: Spain}]", "the list is empty, so there would be no case")
	}
	return out
}

// times combines each combination so far with each value of a variable.
func times(before []combination, e yaml.Entry) []combination {
	items := e.Value.Seq()
	if e.Value.IsSequence() && len(items) == 0 {
		e.Value.Errorf("write at least one value", "the list is empty, so there would be no case")
	}
	out := make([]combination, 0, min(len(before)*len(items), maxCombinations+1))
	for _, b := range before {
		for _, item := range items {
			if len(out) > maxCombinations {
				return out
			}
			one := combination{vars: maps.Clone(b.vars), names: append(b.names[:len(b.names):len(b.names)], e.Name())}
			one.vars[e.Name()] = eval.Written(item.Value())
			out = append(out, one)
		}
	}
	return out
}

const maxShown = 40

// shortened formats a value on one line for the name of a case.
func shortened(v eval.Value) string {
	text := []rune(strings.Join(strings.Fields(fmt.Sprint(v)), " "))
	if len(text) > maxShown {
		return string(text[:maxShown-1]) + "…"
	}
	return string(text)
}
