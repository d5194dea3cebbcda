package suite

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/evalrun/evalrun/diag"
	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/tmpl"
	"github.com/evalrun/evalrun/internal/yamlnode"
)

// caseDef is a case, or the defaults of all cases, as the file says it.
type caseDef struct {
	node      yamlnode.Map
	name      source
	id        string
	vars      yamlnode.Map
	tags      []string
	hasTags   bool
	arms      eval.Globs
	cluster   string
	repeats   int
	threshold *float64
	isolated  *eval.Quarantine
	scorers   []*scorerDef
	alone     bool // inheritScorers: false
}

func (l *loader) caseDef(m yamlnode.Map) caseDef {
	def := caseDef{
		node:    m,
		vars:    m.Get("vars").Map(),
		tags:    m.Get("tags").Strings(),
		hasTags: m.Has("tags"),
		arms:    globs(m.Get("arms"), "arm", l.names),
		cluster: m.Get("cluster").Str(),
		repeats: m.Get("repeats").Int(1, MaxRepeats),
	}
	if v := m.Get("threshold"); !v.IsZero() {
		def.threshold = new(v.Float(0, 1))
	}
	def.isolated = l.quarantine(m.Get("quarantine"))
	for _, item := range m.Get("scorers").Seq() {
		def.scorers = append(def.scorers, l.scorerDef(item))
	}
	return def
}

func (l *loader) readCases(n yamlnode.Node) {
	for _, item := range n.Seq() {
		m := item.Map("name", "id", "vars", "tags", "arms", "cluster", "repeats", "threshold", "quarantine", "scorers", "inheritScorers")
		if !item.IsMapping() {
			continue
		}
		def := l.caseDef(m)
		name := m.Need("name")
		if name.IsZero() {
			continue
		}
		if text := name.Str(); name.IsScalar() && !name.IsNull() && strings.TrimSpace(text) == "" {
			name.Errorf("", "a case name must not be empty")
		}
		def.name = l.template(name)
		def.id = m.Get("id").Str()
		if v := m.Get("inheritScorers"); !v.IsZero() {
			def.alone = !v.Bool()
		}
		l.cases = append(l.cases, &def)
	}
	if n.IsSequence() && len(n.Seq()) == 0 {
		n.Errorf("write at least one", "there are no cases")
	}
}

// expand makes the Case of a definition.
func (s *Suite) expand(def *caseDef, diags *diag.List) *Case {
	if s.defaultVars == nil {
		s.defaultVars = values(s.defaults.vars)
	}
	own := maps.Clone(s.defaultVars)
	maps.Copy(own, values(def.vars))
	vars := maps.Clone(own)
	for name, value := range s.opts.Vars {
		vars[name] = value
	}
	c := &Case{
		Tags:      slices.Clone(s.Tags),
		Cluster:   cmp.Or(def.cluster, s.defaults.cluster),
		Repeats:   cmp.Or(s.opts.Repeats, def.repeats, s.defaults.repeats, 1),
		Threshold: cmp.Or(def.threshold, s.defaults.threshold),
		Pos:       def.name.node.Pos(),
		vars:      vars,
	}
	c.Name = def.name.text // for messages about the name itself
	if name, ok := def.name.render(c, diags); ok {
		c.Name = name
	}
	if def.hasTags {
		c.Tags = append(c.Tags, def.tags...)
	} else {
		c.Tags = append(c.Tags, s.defaults.tags...)
	}
	arms := def.arms
	if arms == nil {
		arms = s.defaults.arms
	}
	for _, a := range s.arms {
		if a.Matches(arms) {
			c.Arms = append(c.Arms, a)
		}
	}
	if c.Quarantine = def.isolated; c.Quarantine == nil {
		c.Quarantine = s.defaults.isolated
	}
	c.Scorers = s.scorers(def, c, diags)
	c.ID = def.id
	if c.ID == "" {
		c.ID = s.caseID(c, own)
	}
	return c
}

// scorers gathers the defaults' scorers and the case's own; an own one replaces a
// default of the same name.
func (s *Suite) scorers(def *caseDef, c *Case, diags *diag.List) []*Scorer {
	var own, out []*Scorer
	taken := map[string]bool{}
	for _, d := range def.scorers {
		if sc := d.expand(s, c, diags); sc != nil {
			if taken[sc.Name] {
				diags.Errorf(sc.Entry.Get("name").Pos(), "", "two scorers of case `%s` are named `%s`", c.Name, sc.Name)
			}
			own = append(own, sc)
			taken[sc.Name] = sc.Name != ""
		}
	}
	if !def.alone {
		for _, d := range s.defaults.scorers {
			if sc := d.expand(s, c, diags); sc != nil && !taken[sc.Name] {
				out = append(out, sc)
			}
		}
	}
	return append(out, own...)
}

// caseID hashes what makes a case the same from run to run: its variables and the bytes
// of the images that its variables choose. Images that a prompt always shows
// belong to the prompt.
func (s *Suite) caseID(c *Case, vars tmpl.Dict) string {
	h := sha256.New()
	h.Write([]byte(vars.String()))
	var sums []string
	for _, arm := range c.Arms {
		for part := range arm.Prompt.templates {
			if !part.image || part.source.t.IsConstant() {
				continue
			}
			var ignored diag.List
			if name, ok := part.source.render(&Case{vars: vars}, &ignored); ok {
				if img, err := s.files.image(part.wish(name), false); err == nil {
					sums = append(sums, img.Identity())
				}
			}
		}
	}
	slices.Sort(sums)
	for _, sum := range slices.Compact(sums) {
		h.Write([]byte("\x00" + sum))
	}
	return hex.EncodeToString(h.Sum(nil))[:16]
}

// checkCases expands every case once and checks what only shows then.
func (l *loader) checkCases() {
	names := map[string]int{}
	ids := map[string]int{}
	asked := map[string]Arm{}
	l.used = map[string]bool{}
	l.unstreamed = map[diag.Pos]*unstreamed{}
	var unused diag.List // worth telling only when nothing is wrong
	for _, def := range l.cases {
		c := l.expand(def, l.diags)
		l.checkName(c, names)
		if def.id != "" {
			unique(ids, def.node.Get("id"), "case id")
		}
		if len(c.Scorers) == 0 && len(def.scorers) == 0 {
			l.diags.Errorf(c.Pos, "add a `scorers` list to the case or to `defaults`", "case `%s` has no scorer, so nothing would be judged", c.Name)
		}
		for _, arm := range c.Arms {
			asked[arm.Name()] = arm
			l.checkPrompt(c, arm)
			if len(c.Scorers) > 0 && len(c.ScorersFor(arm)) == 0 {
				l.diags.Errorf(c.Pos, "widen `arms` of a scorer, or narrow `arms` of the case", "case `%s` has no scorer for the arm %s", c.Name, arm.Name())
			}
			l.checkStream(c, arm)
		}
		unused.Merge(l.unused(def, c))
		l.dead(def, c, &unused)
	}
	l.tellUnstreamed()
	if !l.diags.HasErrors() {
		l.diags.Merge(unused)
		l.checkUnusedDefaults()
	}
	for _, arm := range l.arms {
		if _, ok := asked[arm.Name()]; ok {
			l.checkArm(arm)
		} else if len(l.cases) > 0 && !l.diags.HasErrors() {
			l.diags.Warnf(arm.Prompt.Pos, "", "no case is asked of the arm %s", arm.Name())
		}
	}
	l.checkVars()
}

// checkStream notes scorers of streams for an arm that does not stream.
func (l *loader) checkStream(c *Case, arm Arm) {
	for _, sc := range c.ScorersFor(arm) {
		if sc.NeedsStream == "" || arm.Target.Stream {
			continue
		}
		at := sc.Entry.Key(sc.Kind).Pos()
		one := l.unstreamed[at]
		if one == nil {
			one = &unstreamed{kind: sc.NeedsStream}
			l.unstreamed[at] = one
		}
		if !slices.Contains(one.targets, arm.Target.Name) {
			one.targets = append(one.targets, arm.Target.Name)
		}
	}
}

// unstreamed is a scorer of streams with the targets that do not stream.
type unstreamed struct {
	kind    string
	targets []string
}

// tellUnstreamed reports them, once nothing else is wrong: a slip in `stream` itself would make many.
func (l *loader) tellUnstreamed() {
	if l.diags.HasErrors() {
		return
	}
	for at, one := range l.unstreamed {
		verb := "does"
		if len(one.targets) > 1 {
			verb = "do"
		}
		l.diags.Errorf(at, "add `stream: true` to the target, or narrow `arms` of the scorer", "`%s` tells something only of streamed answers, and the target `%s` %s not stream", one.kind, strings.Join(one.targets, "`, `"), verb)
	}
}

func (l *loader) checkName(c *Case, names map[string]int) {
	if strings.TrimSpace(c.Name) == "" {
		l.diags.Errorf(c.Pos, "", "the case name renders to nothing")
		return
	}
	if strings.ContainsAny(c.Name, "\n\r") {
		l.diags.Errorf(c.Pos, "", "a case name is a single line")
	}
	if line, twice := names[c.Name]; twice {
		l.diags.Errorf(c.Pos, "", "duplicate case name `%s`, first on line %d", c.Name, line)
		return
	}
	names[c.Name] = c.Pos.Line
}

// dead warns of the case's own scorers that apply to none of its arms.
func (l *loader) dead(def *caseDef, c *Case, warnings *diag.List) {
	for _, d := range def.scorers {
		sc := d.fixed
		if sc == nil || len(sc.Arms) == 0 || slices.ContainsFunc(c.Arms, func(a Arm) bool { return a.Matches(sc.Arms) }) {
			continue
		}
		warnings.Warnf(sc.Entry.Get("arms").Pos(), "", "case `%s` is asked of no arm that this scorer is for", c.Name)
	}
}

// checkArm applies the service's rules about images to the models that its
// specification names.
func (l *loader) checkArm(a Arm) {
	image := a.Prompt.hasImage()
	where := a.Prompt.Pos
	switch {
	case a.Target.Model == "svc-pro" && image:
		l.diags.Errorf(where, "send it to svc-pro-vision: narrow `targets` of the prompt", "svc-pro (target `%s`) takes text alone, and the prompt `%s` has an image", a.Target.Name, a.Prompt.Name)
	case a.Target.Model == "svc-pro-vision" && !image:
		l.diags.Errorf(where, "send it to svc-pro: narrow `targets` of the prompt", "svc-pro-vision (target `%s`) takes prompts with an image, and the prompt `%s` has none", a.Target.Name, a.Prompt.Name)
	case a.Target.Model == "svc-pro-vision" && a.Prompt.isChat():
		l.diags.Warnf(where, "", "svc-pro-vision (target `%s`) is not made for chats such as the prompt `%s`", a.Target.Name, a.Prompt.Name)
	}
}

// checkPrompt renders the prompt for the case: missing variables and files, and
// what exceeds the service's limits.
func (l *loader) checkPrompt(c *Case, arm Arm) {
	p := arm.Prompt
	contents, ok := p.render(c, l.filesOf(arm), l.diags, false)
	if !ok || slices.Contains(l.broken, p) {
		return
	}
	n := eval.Images(contents)
	switch {
	case n > eval.MaxImages:
		l.diags.Errorf(p.Pos, "", "the prompt `%s` has %d images; at most %d are allowed", p.Name, n, eval.MaxImages)
	case n > 1:
		l.diags.Warnf(p.Pos, "", "the prompt `%s` has %d images; one alone tends to give better answers", p.Name, n)
	}
	if size := encodedSize(contents); size > eval.MaxPromptBytes {
		l.diags.Errorf(p.Pos, "images count in base64, a third more than their files", "case `%s`: the encoded prompt `%s` has %d bytes; at most %d are allowed", c.Name, p.Name, size, eval.MaxPromptBytes)
	}
	for _, content := range contents {
		if blank(content) {
			l.diags.Errorf(p.Pos, "", "case `%s`: the prompt `%s` has an empty turn", c.Name, p.Name)
			break
		}
	}
}

func blank(c eval.Content) bool {
	return !slices.ContainsFunc(c.Parts, func(p eval.Part) bool { return p.Image != nil || strings.TrimSpace(p.Text) != "" })
}

// encodedSize is eval.EncodedSize for contents whose images were not loaded.
func encodedSize(contents []eval.Content) int {
	size := eval.EncodedSize(contents)
	for _, c := range contents {
		for _, p := range c.Parts {
			if p.Image != nil {
				size += (p.Image.Bytes + 2) / 3 * 4
			}
		}
	}
	return size
}

// maxWeight keeps weighted means far from overflow.
const maxWeight = math.MaxInt32
