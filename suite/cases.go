package suite

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"maps"
	"slices"
	"strings"

	"github.com/evalrun/evalrun/diag"
	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/glob"
	"github.com/evalrun/evalrun/internal/tmpl"
	"github.com/evalrun/evalrun/internal/yamlnode"
	"github.com/evalrun/evalrun/variable"
)

// caseDef is a case, the cases of a data file, or the defaults of all cases, as the file says it.
type caseDef struct {
	settings
	node     yamlnode.Map // see freeze
	at       diag.Pos     // where it is reported
	name     source       // without a template when rows go by their own names
	vars     []yamlnode.Map
	values   []variable.Member     // vars as values
	base     variable.Dict         // values over those of the defaults; see finish
	open     map[string]*rendering // settings with templates in them, by their keys
	arms     glob.Patterns
	isolated *eval.Quarantine
	scorers  [][]*scorerDef // in layers: a later one replaces scorers of the same name
	every    []*Scorer      // those of all its cases, once these were checked; nil: not known, or each case has others
	alone    bool           // inheritScorers: false
	rows     *rows          // nil: no data file
	grid     []combination  // what `each` and `matrix` make of it; none: one case
}

// settings are what a case says of itself in texts and numbers, so that it may come from a column.
type settings struct {
	given     []string // their keys, as far as they are there
	id        string
	tags      []string
	hasTags   bool
	cluster   string
	repeats   int
	threshold *float64
}

func settingKeys() []string { return []string{"id", "tags", "cluster", "repeats", "threshold"} }

func (s *settings) set(key string, n yamlnode.Node) {
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
		s.threshold = new(n.Float(0, 1))
	}
}

// fill takes over what is not set.
func (s *settings) fill(from settings) {
	if !s.hasTags {
		s.tags, s.hasTags = from.tags, from.hasTags
	}
	s.cluster = cmp.Or(s.cluster, from.cluster)
	s.repeats = cmp.Or(s.repeats, from.repeats)
	s.threshold = cmp.Or(s.threshold, from.threshold)
}

func (l *loader) caseDef(m yamlnode.Map) caseDef {
	def := caseDef{
		node: m,
		vars: []yamlnode.Map{m.Get("vars").Map()},
		arms: globs(m.Get("arms"), "arm", l.names),
	}
	for _, key := range settingKeys() {
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
	def.scorers = l.ownScorers(m.Get("scorers"))
	return def
}

// opens records a setting with templates in it.
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
		l.misspelled.note(root, def.node)
		old := l.defaults
		def.fill(old.settings)
		def.vars = append(old.vars, def.vars...)
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
		l.defaults = def
	}
	l.defaults.base = variable.Dict{}
	for _, m := range l.defaults.vars {
		maps.Copy(l.defaults.base, values(m))
	}
	l.noteMetrics(&l.defaults)
	l.withClassification()
}

// readCases reads the cases and checks them. With thrift, it checks each before it reads the next one.
func (l *loader) readCases() {
	c := newChecker(l)
	l.usual = l.newExpansion(&caseDef{})
	if l.thrift.sharing {
		l.shared = newShared()
	}
	keys := caseBlock().Names()
	for item := range l.items("cases", "there are no cases", "write at least one") {
		def := l.readCase(item, keys)
		if def == nil {
			continue
		}
		l.noteMetrics(def)
		if !l.thrift.used() {
			l.cases = append(l.cases, def)
			continue
		}
		if known := l.shared.known(def); known != nil && def.isUsual() && def.rows == nil && def.grid == nil {
			def.every = known.every
		}
		c.definition(def)
		l.cases = append(l.cases, def.freeze(l.shared))
	}
	if !l.thrift.used() {
		for _, kept := range l.cases {
			c.definition(kept.thaw(l.Suite))
		}
	}
	c.finish()
}

// readCase reads an item of the list of cases, nil when it is invalid.
func (l *loader) readCase(item yamlnode.Node, keys []string) *caseDef {
	m := item.Map(keys...)
	if !item.IsMapping() {
		return nil
	}
	l.misspelled.noteCase(m)
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
	for e := range def.vars[0].Entries() {
		def.values = append(def.values, variable.Member{Name: e.Name(), Value: variable.Written(e.Value.Value())})
	}
	def.finish(&l.defaults)
	return &def
}

func (l *loader) caseName(n yamlnode.Node) source {
	if n.IsScalar() && !n.IsNull() && strings.TrimSpace(n.Str()) == "" {
		n.Errorf("", "a case name must not be empty")
	}
	return l.template(n)
}

// finish makes the variables that all cases of a definition have.
func (def *caseDef) finish(defaults *caseDef) {
	def.base = make(variable.Dict, len(defaults.base)+len(def.values))
	maps.Copy(def.base, defaults.base)
	for _, m := range def.values {
		def.base[m.Name] = m.Value
	}
}

// variant is what makes one case of a definition: a row, and what `each` and `matrix` choose.
type variant struct {
	vars    variable.Dict
	row     *row // nil: no data file
	chosen  []string
	scorers []*scorerDef // of the row's scorer column
}

// name names a case: by its template, or by what is known of its row. What `each` and `matrix` chose is added as far as the
// template does not mention it.
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
		if def.name.t == nil || !slices.ContainsFunc(def.name.t.Fields(), func(f tmpl.Field) bool { return f.Name == chosen }) {
			added = append(added, chosen+"="+shortened(v.vars[chosen]))
		}
	}
	if len(added) > 0 {
		c.Name += " [" + strings.Join(added, ", ") + "]"
	}
}

// settle gathers the settings of a case, and all of its tags: its own settings, else those of the defaults. An empty cell sets nothing.
func (x *expansion) settle(c *Case, diags *diag.List) (set settings, tags []string) {
	set, tags = x.set, x.tags
	for _, o := range x.open {
		if !x.fill(&set, o, c, diags) || o.key != "tags" {
			continue
		}
		set.tags = splitTags(set.tags) // of a cell there is but one, for all of them
		tags = x.tagged(set.tags)
	}
	return set, tags
}

// fill sets a setting of a case; false where it is not set.
func (x *expansion) fill(set *settings, o setting, c *Case, diags *diag.List) bool {
	var own diag.List
	defer c.pass(&own, diags)
	n, ok := o.render(c, &own)
	if !ok || n.IsScalar() && strings.TrimSpace(n.Str()) == "" {
		return false
	}
	set.set(o.key, n)
	return true
}

// pass adds the problems of a case to diags, with the row that the case is of.
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

// varsHash hashes what makes a case the same from run to run: its variables and the bytes of the images and other files
// that its variables choose. Files that a prompt always shows belong to the prompt.
func (s *Suite) varsHash(c *Case, vars variable.Dict) string {
	text := variable.AppendTexts(make([]byte, 0, 256), vars)
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

// chosenFile is what identifies the file that variables choose for a part; "" when they choose none.
func (s *Suite) chosenFile(one part, vars variable.Dict) string {
	if !one.image && !one.data || one.source.t.IsConstant() {
		return ""
	}
	var ignored diag.List
	name, ok := one.source.render(&Case{vars: vars}, &ignored)
	if !ok {
		return ""
	}
	if one.data {
		if file, err := s.files.attached(name, false); err == nil {
			return file.SHA256
		}
		return ""
	}
	img, err := s.files.image(one.wish(name), false)
	if err != nil {
		return ""
	}
	return img.Identity()
}
