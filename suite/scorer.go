package suite

import (
	"cmp"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strings"

	"github.com/evalrun/evalrun/diag"
	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/expr"
	"github.com/evalrun/evalrun/internal/yaml"
)

// Scorer is an entry of a `scorers` list: a kind with its arguments, and what is written
// next to them. After the suite is loaded it is only read.
type Scorer struct {
	Kind      string
	Source    written // the entry, which package scorers compiles
	Name      string
	Weight    float64
	Required  bool
	Threshold *float64 // lowest value that passes; nil means the rule of the kind
	Arms      eval.Patterns
	Candidate CandidatePick
	Turn      TurnPick
	Suite     *Suite // nil outside of a suite
	Needs     Needs  // what Kinds.Check found that it needs
	// Checked is what Kinds.Check made of it. It is nil for most scorers that are the same for every case: keeping many
	// compiled until they run would cost memory.
	Checked CheckedScorer
}

// CheckedScorer is a scorer that Kinds.Check has compiled. The package that compiled it scores answers with it.
type CheckedScorer interface {
	// Needs returns what the scorer needs to score an answer.
	Needs() Needs
}

type written interface{ Self() yaml.YAML }

// Needs lists what a scorer and its nested scorers need to score an answer.
type Needs struct {
	References   []string   // texts whose embeddings are compared with the answer's
	Judges       []JudgeUse // one for each call of a judge
	Stream       string     // name of the kind that needs streamed answers; "" for none
	Model        string     // what only calls of a model have, such as steps; "" for nothing
	Workspace    string     // name of the kind that reads the workspace of a program; "" for none
	Price        bool       // needs the price of answers
	Latency      bool       // judges how long the service took
	PeopleLabels bool       // needs people's labels
	Unscored     bool       // has a part that never has a score
	Programs     []string   // commands with the digests of their files; each program receives all variables
	Turns        []TurnPick // turns that it names
	Tools        []ToolUse  // tools whose calls it lists
	Variables    []VariableUse
	AllVariables bool // looks at all variables; the names are known only when an answer is scored
	// Tries report problems of the scorer with the variables of a case, whatever the answer.
	Tries     []func(vars eval.Dict, diags *diag.List)
	Versions  []string // versions above 1 of its kind and the nested ones, such as choice.2
	Snapshots []string // files below expected/ that it reads; "" means the file of the case and the arm
}

// CandidatePick says which of several candidates a scorer looks at: the first, another one, or all.
type CandidatePick struct{ index int } // counted from 0; allCandidates

const allCandidates = -1

// All reports whether the scorer looks at all candidates.
func (p CandidatePick) All() bool { return p.index == allCandidates }

// Index is that of the candidate, from 0. Where the scorer looks at all, it is that of the first.
func (p CandidatePick) Index() int { return max(0, p.index) }

// Pos is the position of the kind's arguments.
func (s *Scorer) Pos() diag.Pos { return s.yaml().Args.Pos() }

// At is the position of the kind's name.
func (s *Scorer) At() diag.Pos { return s.yaml().Entry.Key(s.Kind).Pos() }

// JSON returns the entry with its templates rendered.
func (s *Scorer) JSON() []byte { return s.yaml().Entry.JSON(nil) }

func (s *Scorer) yaml() yaml.YAML { return s.Source.Self() }

// Nested reads an entry inside any, all or not, which cannot have a name, weight or arms. source is its node. The result is
// nil when the entry names no kind.
func Nested(source node, kinds Kinds) *Scorer { return parseScorer(source.Self(), kinds, true) }

// parseScorer reads an entry of a scorers list. Problems of the keys next to the kind go to the node's list, and the
// kind's arguments are left to Kinds.Check.
func parseScorer(n yaml.Node, kinds Kinds, nested bool) *Scorer {
	if !n.IsMapping() {
		noMapping(n, kinds)
		return nil
	}
	m := n.Map()
	allowed := yaml.SiblingKeys
	if nested {
		allowed = yaml.NestedKeys
	}
	kind := kindOf(m, kinds, &allowed)
	if kind == "" || nested && noClassification(n) {
		return nil
	}
	s := &Scorer{Kind: kind, Source: yaml.YAML{Args: m.Get(kind), Entry: m}, Weight: 1}
	if !nested {
		s.Name = m.Get("name").Str()
		if kind == yaml.ClassificationKind {
			s.Name = eval.Accuracy
		}
		s.Required = m.Get("required").Bool()
		s.Arms = eval.NewPatterns(m.Get("arms").Strings())
		if v := m.Get("weight"); !v.IsZero() {
			s.Weight = v.Float(0, yaml.MaxWeight)
		}
		s.Threshold = optionalFloat(m.Get("threshold"), 1)
	}
	s.Candidate = candidate(m.Get("candidate"))
	s.Turn = turnPick(m.Get("turn"))
	return s
}

func noMapping(n yaml.Node, kinds Kinds) {
	if !n.IsScalar() || n.IsNull() {
		n.Map()
		return
	}
	hint := cmp.Or(foreignKind(n.Str(), kinds.Names()), "write a kind and its value, such as `contains: Paris`")
	n.Errorf(hint, "expected a mapping, found %s", n.Describe())
}

func kindOf(m yaml.Map, kinds Kinds, allowed *yaml.Block) string {
	kind := ""
	for e := range m.Entries() {
		if !kinds.Has(e.Name()) {
			continue
		}
		if kind != "" {
			e.Key.Errorf("one list item a scorer; `all:` joins several", "two kinds in one scorer: %s and %s", kind, e.Name())
			return ""
		}
		kind = e.Name()
	}
	if kind == "" {
		reportNoKind(m, kinds.Names(), allowed)
	}
	return kind
}

// reportNoKind reports an entry without a kind. It blames the key that looks most like a kind, since the others may be
// options.
func reportNoKind(m yaml.Map, known []string, allowed *yaml.Block) {
	var strange []yaml.Entry
	for e := range m.Entries() {
		if !allowed.Has(e.Name()) {
			strange = append(strange, e)
		}
	}
	if len(strange) == 0 {
		m.Errorf("such as `contains: Paris`; `evalrun scorers` lists the kinds", "a scorer without a kind")
		return
	}
	slip := strange[0]
	if i := slices.IndexFunc(strange, func(e yaml.Entry) bool {
		return kindInType(e, known) != "" || foreignKind(e.Name(), known) != "" || len(diag.Nearest(e.Name(), known, 1)) > 0
	}); i >= 0 {
		slip = strange[i]
	}
	hint := cmp.Or(
		kindInType(slip, known), foreignKind(slip.Name(), known), diag.DidYouMean(slip.Name(), known),
		"`evalrun scorers` lists the kinds",
	)
	if slip.Name() == useKey {
		hint = "`use` belongs in a list of `scorers`, not inside another scorer"
	}
	slip.Key.Errorf(hint, "unknown scorer kind `%s`", slip.Name())
}

// CheckSiblings reports the keys of the entry other than the kind, the keys allowed next to every kind, and the options of
// this kind.
func (s *Scorer) CheckSiblings(nested bool, options []string) {
	allowed := &yaml.SiblingKeys
	if nested {
		allowed = &yaml.NestedKeys
	}
	for e := range s.yaml().Entry.Entries() {
		if name := e.Name(); name == s.Kind || slices.Contains(options, name) || allowed.Has(name) {
			continue
		}
		hint := diag.DidYouMean(e.Name(), slices.Concat([]string{s.Kind}, options, allowed.Names()))
		if nested && yaml.SiblingKeys.Has(e.Name()) {
			hint = "write it next to the outermost scorer"
		}
		e.Key.Errorf(hint, "unknown key `%s` next to `%s`", e.Name(), s.Kind)
	}
}

func candidate(n yaml.Node) CandidatePick {
	switch {
	case n.IsZero():
		return CandidatePick{}
	case n.IsNumber():
		return CandidatePick{n.Int(0, math.MaxInt16)}
	}
	switch n.Str() {
	case "all":
		return CandidatePick{allCandidates}
	case "first":
	default:
		n.Errorf("first, all, or a number from 0", "`%s` is not a choice of candidates", n.Str())
	}
	return CandidatePick{}
}

// rendering is a value of the suite with templates in its texts.
type rendering struct {
	node      yaml.Node
	templates map[string]source
	texts     []string // texts of the templates, in order
	broken    bool
}

func (l *loader) rendering(n yaml.Node) rendering {
	r := rendering{node: n}
	if l.verbatim {
		return r
	}
	n.EachText(func(at yaml.Node, text string) {
		if !expr.HasActions(text) {
			return
		}
		s := source{node: at, text: text}
		before := l.diags.Len()
		s.t = parseIn(&expr.Dialect{Values: true}, s, l.diags)
		r.broken = r.broken || l.diags.Len() > before
		if r.templates == nil {
			r.templates = map[string]source{}
		}
		if _, twice := r.templates[text]; !twice {
			r.texts = append(r.texts, text)
		}
		r.templates[text] = s
	})
	return r
}

func (r *rendering) render(c *Case, diags *diag.List) (out yaml.Node, ok bool) {
	if ok = !r.broken; !ok {
		return out, false
	}
	out = r.node.Rewrite(func(at yaml.Node, text string) eval.Value {
		src, templated := r.templates[text]
		if !templated {
			return text
		}
		src.node = at
		rendered, fine := src.value(c, diags)
		ok = ok && fine
		return rendered
	})
	return out.WithDiags(diags), ok
}

type scorerDef struct {
	rendering
	fixed  *Scorer // the scorer, if the entry has no template
	shared bool    // comes from a set
	noted  bool    // its name was recorded
}

func (l *loader) scorerDef(n yaml.Node) *scorerDef {
	if !n.IsMapping() {
		noMapping(n, l.kinds)
		return &scorerDef{rendering: rendering{node: n, broken: true}}
	}
	if noClassification(n) {
		return &scorerDef{rendering: rendering{node: n, broken: true}}
	}
	d := &scorerDef{rendering: l.rendering(n)}
	if arms := n.Map().Get("arms"); !slices.ContainsFunc(arms.Strings(), expr.HasActions) {
		globs(arms, "arm", l.names)
	}
	if len(d.templates) == 0 {
		d.fixed = l.known(n)
		d.broken = d.broken || d.fixed == nil
	}
	return d
}

// maxEqual is the most scorers that a loader remembers, to share each with the entries that read the same, and keeps compiled.
const maxEqual = 1024

// known is the scorer of an entry: that of an earlier entry which reads the same, or a new one. Thousands of cases
// mostly have a few scorers: each is checked, kept and compiled once. A scorer about whose place there is more to say is not shared.
func (l *loader) known(n yaml.Node) *Scorer {
	key := n.Signature(nil)
	if sc := l.equal[string(key)]; sc != nil {
		return sc
	}
	before := l.diags.Len()
	sc := l.compiled(n)
	switch {
	case sc == nil:
	case len(l.equal) < maxEqual && l.diags.Len() == before && len(sc.Arms) == 0 && sc.Needs.none():
		l.equal[string(key)] = sc
	default:
		sc.Checked = nil
	}
	return sc
}

// none reports whether a scorer needs an answer and nothing else.
func (n Needs) none() bool {
	n.Versions = nil
	return reflect.ValueOf(n).IsZero()
}

// checked parses an entry and checks its arguments. The scorer is not kept compiled.
func (s *Suite) checked(n yaml.Node) *Scorer {
	sc := s.compiled(n)
	if sc != nil {
		sc.Checked = nil
	}
	return sc
}

// compiled parses an entry, checks its arguments and keeps the scorer compiled.
func (s *Suite) compiled(n yaml.Node) *Scorer {
	sc := parseScorer(n, s.kinds, false)
	if sc != nil {
		sc.Suite = s
		sc.Checked = s.kinds.Check(sc)
		sc.Needs = sc.Checked.Needs()
		s.needs.note(&sc.Needs)
	}
	return sc
}

// scorerNeeds are the needs of all scorers together, as far as a run must know them before its first call. Load notes them;
// after Load nothing new is found, so that concurrent walks over the cases only read.
type scorerNeeds struct {
	embeddings   bool
	peopleLabels bool
	// The first scorer that needs prices, or judges latencies, by the name of the arm that it scores.
	prices, latencies map[string]diag.Pos
}

func (n *scorerNeeds) note(of *Needs) {
	if len(of.References) > 0 && !n.embeddings {
		n.embeddings = true
	}
	if of.PeopleLabels && !n.peopleLabels {
		n.peopleLabels = true
	}
	for _, j := range of.Judges {
		if !j.used {
			j.used = true
		}
	}
}

func (n *scorerNeeds) noteArm(c *Case, arm Arm) {
	note := func(needed bool, by map[string]diag.Pos, sc *Scorer) {
		if _, noted := by[arm.Name()]; needed && !noted {
			by[arm.Name()] = sc.At()
		}
	}
	for _, sc := range c.ScorersFor(arm) {
		note(sc.Needs.Price, n.prices, sc)
		note(sc.Needs.Latency, n.latencies, sc)
	}
}

// Embeds reports whether a scorer of the suite compares embeddings.
func (s *Suite) Embeds() bool { return s.needs.embeddings }

// TakesPeopleLabels reports whether a scorer compares with people's labels.
func (s *Suite) TakesPeopleLabels() bool { return s.needs.peopleLabels }

// NeedsPrice reports whether a scorer of the arm needs prices, and the position of that scorer. The caller checks whether
// there is a price, since flags can name the price list.
func (s *Suite) NeedsPrice(arm Arm) (at diag.Pos, needed bool) {
	return s.neededBy(arm, func(n *scorerNeeds) map[string]diag.Pos { return n.prices })
}

// JudgesLatency reports whether a scorer of the arm judges how long the service took, and the position of that scorer.
func (s *Suite) JudgesLatency(arm Arm) (at diag.Pos, judged bool) {
	return s.neededBy(arm, func(n *scorerNeeds) map[string]diag.Pos { return n.latencies })
}

func (s *Suite) neededBy(arm Arm, which func(*scorerNeeds) map[string]diag.Pos) (at diag.Pos, needed bool) {
	for _, version := range s.Versions() {
		if at, needed = which(&version.needs)[arm.Name()]; needed {
			break
		}
	}
	return at, needed
}

// Reserved reports whether a key has another meaning in an entry of a `scorers` list, so that no kind can have its name.
func Reserved(key string) bool {
	return key == useKey || yaml.SiblingKeys.Has(key)
}

// foreignKinds maps checks of other tools to the equivalent kind of scorer and an example. Names close to evalrun's own
// need no entry.
var foreignKinds = []struct{ words, kind, hint string }{
	{"is-json", "json", "write `json: valid`, or `jsonSchema: ...` with a schema"},
	{"contains-json", "json", "write `json: valid` with `select: {json: first}` next to it"},
	{"is-valid-openai-tools-call is-valid-openai-function-call is-valid-function-call tool-call-f1", "toolCalls", "write `toolCalls: ...`"},
	{"is-xml", "xml", "write `xml: wellFormed`"},
	{"is-refusal", "refusal", "write `refusal: true`"},
	{"icontains", "contains", "write `contains: ...` with `ignoreCase: true` next to it"},
	{"icontains-any", "containsAny", "write `containsAny: [...]` with `ignoreCase: true` next to it"},
	{"icontains-all", "containsAll", "write `containsAll: [...]` with `ignoreCase: true` next to it"},
	{"exact exact-string", "equals", "write `equals: ...`"},
	{"includes include substring", "contains", "write `contains: ...`"},
	{"matches pattern match", "regex", "write `regex: ...`"},
	{"llm-rubric model-graded-qa model-graded llm-judge llm-as-a-judge rubric", "judge", "write `judge: {rubric: ...}`"},
	{"g-eval", "judge", "write `judge: {steps: ...}`"},
	{"factuality model-graded-factuality factual-correctness", "judge", "write `judge: {factuality: {reference: ...}}`"},
	{"model-graded-closedqa closedqa", "judge", "write `judge: {closedQA: {criteria: ...}}`"},
	{"answer-relevance answer-relevancy", "judge", "write `judge: {relevance: {}}`"},
	{"context-faithfulness faithfulness hallucination", "judge", "write `judge: {faithfulness: ...}`"},
	{"context-recall contextual-recall", "judge", "write `judge: {contextRecall: ...}`"},
	{"similarity cosine semantic-similarity embedding-similarity", "similar", "write `similar: ...`"},
	{"numeric numeric-equals", "number", "write `number: ...`"},
	{"word-count", "length", "write `length: {words: {max: ...}}`"},
	{"moderation guardrails", "safety", "write `safety: ...` or `blocked: false`"},
	{"javascript lambda", "expr", "write `expr: ...`, or `exec: ...` for a program"},
	{"python ruby webhook", "exec", "write `exec: ...`, a program in any language"},
	{"assert-set", "all", "write `all: [...]`"},
	{"select-best", "judge", "use `evalrun compare --choose`"},
}

// kindInType returns the hint for a scorer that names its kind under `type`; "" for others.
func kindInType(slip yaml.Entry, known []string) string {
	if slip.Name() != "type" || !slip.Value.IsScalar() {
		return ""
	}
	kind := slip.Value.Str()
	if hint := foreignKind(kind, known); hint != "" {
		return hint
	}
	if near := diag.Nearest(kind, known, 1); len(near) > 0 {
		kind = near[0]
	}
	return fmt.Sprintf("the kind is the key, as in `%s: ...`", kind)
}

// foreignKind returns the hint for a scorer of another tool; "" for other words.
func foreignKind(word string, known []string) string {
	word = strings.ToLower(strings.ReplaceAll(word, "_", "-"))
	if inner, negated := strings.CutPrefix(word, "not-"); negated {
		return "write `not: {...}` around the scorer for `" + inner + "`"
	}
	for _, f := range foreignKinds {
		if slices.Contains(strings.Fields(f.words), word) && slices.Contains(known, f.kind) {
			return f.hint
		}
	}
	return ""
}
