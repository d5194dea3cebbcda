// Package scorers scores answers. A Kind is what a suite can name; the Table of kinds checks
// arguments at load time and compiles an entry of a suite into a Compiled scorer. From that
// table come also `evalrun scorers`, the documentation and the hints for unknown kinds.
//
// A scorer never calls the service here and never panics: what it cannot determine is
// unscored, which is neither pass nor fail.
//
// The usual order: Table.Check while loading, Table.Compile once per scorer,
// Compiled.Score for each answer, EndingOf over the scores of a trial.
//
// A comparison may also have a judge prefer one of two answers. NewPreferenceQuestion compiles that
// question, in the fences of the scorer `judge`, and PreferenceQuestion.Prefer reads the replies.
package scorers

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/evalrun/evalrun/diag"
	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/yaml"
	"github.com/evalrun/evalrun/suite"
)

// Answer is the input of a scorer: the whole response, and the chosen candidate in it.
type Answer struct {
	Response *eval.Response
	// Candidate is nil when the response has no candidate, or not the chosen one.
	Candidate *eval.Candidate
	// Partial allows scoring the partial text of an answer that was blocked midway.
	Partial bool
	// Index is the index of the chosen candidate.
	Index  int
	Usage  eval.Usage
	Timing eval.Timing
	// Request is what was sent, and Vars are the variables of the case. Scorers must not change them.
	Request *eval.Request
	Vars    eval.Dict
	// Calls are the answered model calls of a live chat, or of a suite that answers tool calls. After a user turn is
	// chosen, they are only the calls of that turn. Calls is nil for an answer of one call.
	Calls []eval.AnsweredCall
	// earlier are the calls before the chosen turn, and chat is the whole chat; both are nil when no turn was chosen.
	earlier []eval.AnsweredCall
	chat    *Answer
	// Context is the run of the answer. Without it there are no judges, embeddings and prices.
	Context *Context
}

// AnswerScorer scores one answer: a scorer of a suite, compiled.
type AnswerScorer interface {
	Score(a *Answer) Finding
}

// Func is an AnswerScorer made of a function.
type Func func(a *Answer) Finding

// Score calls f.
func (f Func) Score(a *Answer) Finding { return f(a) }

// Kind is a kind of scorer that a suite can name.
type Kind struct {
	Name    string
	Family  string   // what kinds of the same page look at
	Summary string   // in one line
	Doc     string   // its argument, and when it passes
	Limits  string   // what it does not do, with measured figures
	Example string   // an entry of a list of scorers
	Options []string // keys that may be next to the kind
	// Version is the version of the kind's meaning, 0 for the first. Raising it makes comparisons score answers of
	// earlier runs again.
	Version int
	stream  bool // applies only to streamed answers
	nests   bool // contains other scorers
	// textless says that it never reads the text of an answer, so `select` is not allowed.
	textless bool
	// takes is the shape of the arguments, for the JSON Schema. The keys of a mapping come from the Block that
	// compile uses.
	takes yaml.Shape
	// compile reads the arguments, and reports problems at their nodes. It may return nil after a problem.
	compile func(a args) AnswerScorer
}

// Table is a set of kinds. It satisfies suite.Kinds.
type Table []Kind

type args struct {
	*suite.Scorer
	yaml.YAML
	needs    *needs // filled in by compile
	table    Table
	nestedIn bool         // is inside another scorer
	steps    []selectStep // selects the part of the answer that is scored
	errors   onError
}

// option is an option next to the kind or, when its argument is a mapping, inside it.
func (a args) option(key string) yaml.Node {
	if v := a.Entry.Get(key); !v.IsZero() {
		return v
	}
	if a.Args.IsMapping() {
		return a.Args.Map().Get(key)
	}
	return yaml.Node{}
}

func textless(kinds ...Kind) Table {
	for i := range kinds {
		kinds[i].textless = true
	}
	return kinds
}

// Names lists the names of all kinds.
func (t Table) Names() []string {
	out := make([]string, len(t))
	for i, k := range t {
		out[i] = k.Name
	}
	return out
}

// Has reports whether there is a kind with that name.
func (t Table) Has(kind string) bool { return t.Lookup(kind) != nil }

// Lookup returns the kind with that name, or nil. It also finds kinds that lists of scorers cannot name.
func (t Table) Lookup(name string) *Kind {
	named := func(k Kind) bool { return k.Name == name }
	if i := slices.IndexFunc(t, named); i >= 0 {
		return &t[i]
	}
	hidden := unlisted()
	if i := slices.IndexFunc(hidden, named); i >= 0 {
		return &hidden[i]
	}
	return nil
}

// Only is the table for callers that need only what these kinds read: other kinds become no-ops.
func (t Table) Only(names ...string) Table {
	out := slices.Clone(t)
	for i := range out {
		if k := &out[i]; !slices.Contains(names, k.Name) && !k.nests {
			k.compile = func(args) AnswerScorer { return Func(func(*Answer) Finding { return Unscored("not looked at") }) }
		}
	}
	return out
}

// needs collects what a scorer needs while it is compiled.
type needs struct{ suite.Needs }

// add adds the needs of a nested scorer. Its need for a stream counts only with stream.
func (n *needs) add(inner suite.Needs, stream bool) {
	n.References, n.Programs = append(n.References, inner.References...), append(n.Programs, inner.Programs...)
	n.Judges, n.Variables = append(n.Judges, inner.Judges...), append(n.Variables, inner.Variables...)
	n.AllVariables = n.AllVariables || inner.AllVariables
	n.Turns, n.Snapshots = append(n.Turns, inner.Turns...), append(n.Snapshots, inner.Snapshots...)
	n.Tools = append(n.Tools, inner.Tools...)
	n.Versions = append(n.Versions, inner.Versions...)
	n.Latency = n.Latency || inner.Latency
	n.Tries, n.Price, n.PeopleLabels = append(n.Tries, inner.Tries...), n.Price || inner.Price, n.PeopleLabels || inner.PeopleLabels
	n.Unscored, n.Model = n.Unscored || inner.Unscored, cmp.Or(n.Model, inner.Model)
	n.Workspace = cmp.Or(n.Workspace, inner.Workspace)
	if stream {
		n.Stream = cmp.Or(n.Stream, inner.Stream)
	}
}

// Check reports problems in the arguments of a scorer, and compiles it.
func (t Table) Check(s *suite.Scorer) suite.CheckedScorer {
	scorer, found := t.build(s, nil)
	return &Compiled{s, found, scorer, t}
}

// build compiles a scorer; outer is the scorer around it, or nil. It only reads the suite's scorer, since several
// walks over a plan compile it concurrently.
func (t Table) build(s *suite.Scorer, outer *args) (AnswerScorer, suite.Needs) {
	var found needs
	compiled := t.compile(s, outer, &found)
	return compiled, found.Needs
}

func (t Table) compile(s *suite.Scorer, outer *args, found *needs) AnswerScorer {
	kind := t.Lookup(s.Kind)
	if s.Turn.Given() {
		found.Turns = append(found.Turns, s.Turn)
	}
	if kind.Version > 1 {
		found.Versions = append(found.Versions, fmt.Sprintf("%s.%d", kind.Name, kind.Version))
	}
	if kind.stream {
		found.Stream = s.Kind
	}
	s.CheckSiblings(outer != nil, kind.Options)
	yaml := s.Source.Self()
	if yaml.Args.IsNull() {
		yaml.Args.Errorf(
			"such as "+strings.Join(strings.Fields(strings.TrimPrefix(kind.Example, "- ")), " "), "`%s` needs an argument",
			s.Kind,
		)
		return nil
	}
	if !t.mayLookAtText(s, yaml) {
		return nil
	}
	a := args{Scorer: s, YAML: yaml, needs: found, table: t, nestedIn: outer != nil}
	a.steps, a.errors = afterOuter(outer, a.stepsOf(a.Entry.Get("select"), "select")), a.errorsOf(outer)
	scorer := kind.compile(a)
	for i := range found.Judges {
		found.Judges[i].EachCandidate = found.Judges[i].EachCandidate || s.Candidate.All()
		found.Judges[i].EachTurn = found.Judges[i].EachTurn || s.Turn.All()
	}
	if !kind.nests && !kind.textless {
		scorer = selecting(a.steps, scorer)
	}
	return a.errors.settling(partially(yaml.Entry.Get("partial"), scorer))
}

// partially allows the scorer and its nested ones to read the text of an answer that was blocked midway, when the
// suite says so.
func partially(n yaml.Node, s AnswerScorer) AnswerScorer {
	if n.IsZero() || n.Word("allow") == "" || s == nil {
		return s
	}
	return Func(func(a *Answer) Finding {
		one := *a
		one.Partial = true
		return s.Score(&one)
	})
}

// Compiled is a scorer of a suite that is ready to score answers. It is safe for concurrent use.
type Compiled struct {
	spec   *suite.Scorer
	needs  suite.Needs
	scorer AnswerScorer
	by     Table
}

// Compile compiles a scorer that Check accepted. It does not repeat Check's warnings.
func (t Table) Compile(s *suite.Scorer) *Compiled {
	if made, ok := s.Checked.(*Compiled); ok && made.spec == s && made.by.is(t) {
		return made
	}
	var reported diag.List
	quiet := *s
	written := s.Source.Self()
	quiet.Source = yaml.YAML{Args: written.Args.WithDiags(&reported), Entry: written.Entry.WithDiags(&reported).Map()}
	scorer, found := t.build(&quiet, nil)
	return &Compiled{s, found, scorer, t}
}

// is reports whether two tables are identical.
func (t Table) is(other Table) bool { return len(t) > 0 && len(t) == len(other) && &t[0] == &other[0] }

// Needs returns all that the scorer and its nested scorers need.
func (c *Compiled) Needs() suite.Needs { return c.needs }

// Score scores an answer. A panic of the scorer becomes its error.
func (c *Compiled) Score(a *Answer) (score eval.Score, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("the scorer %s failed: %v", c.spec.Kind, p)
		}
	}()
	f := overTurns(c.spec.Turn, a, func(a *Answer) Finding { return overCandidates(c.spec.Candidate, c.scorer, a) })
	if f.state == brokeUp {
		return score, fmt.Errorf("%s: %s", cmp.Or(c.spec.Name, c.spec.Kind), f.why)
	}
	score = eval.Score{
		Scorer: c.spec.Kind, Name: c.spec.Name, Grade: c.grade(&f), Weight: c.spec.Weight, Required: c.spec.Required,
		Reason: f.Reason, Diff: f.Diff, Judged: f.Judged, Class: f.Class,
	}
	return score, nil
}

// grade is the grade that a finding gives. A threshold of the scorer decides whether its value passes.
func (c *Compiled) grade(f *Finding) eval.Grade {
	switch {
	case f.state == noScore:
		return eval.Unscored{Why: f.why, Cause: f.cause}
	case c.spec.Threshold != nil && f.state != uncheckable:
		return eval.Graded{Value: f.value, Passed: f.value >= *c.spec.Threshold}
	default:
		return eval.Graded{Value: f.value, Passed: f.Passed()}
	}
}

// overCandidates scores the chosen candidates: one, or all with the least result.
func overCandidates(picked suite.CandidatePick, s AnswerScorer, a *Answer) Finding {
	candidates := len(a.Response.Candidates)
	if !picked.All() || candidates < 2 {
		return s.Score(a.pick(picked.Index()))
	}
	worst := s.Score(a.pick(0))
	for i := 1; i < candidates; i++ {
		f := s.Score(a.pick(i))
		if worse(f, worst) {
			worst = f
			worst.Reason = fmt.Sprintf("candidate %d: %s", i, f.Reason)
		}
	}
	return worst
}

func (a *Answer) pick(i int) *Answer {
	var chosen *eval.Candidate
	if i < len(a.Response.Candidates) {
		chosen = &a.Response.Candidates[i]
	}
	if a.Index == i && a.Candidate == chosen {
		return a
	}
	one := *a
	one.Index, one.Candidate = i, chosen
	return &one
}

// EndingOf turns the scores of a trial into its ending. Without a threshold every scorer must
// pass; with one the weighted mean must reach it and no required scorer may fail.
// A score that could not be determined makes the trial an error of kind unscored.
func EndingOf(scores []eval.Score, threshold *float64) eval.Ending {
	all, required := true, true
	var sum, weight float64
	for _, s := range scores {
		value, scored := s.Value()
		if !scored {
			return eval.Errored{Error: unscoredError(s)}
		}
		all = all && s.Passed()
		required = required && (s.Passed() || !s.Required)
		sum += s.Weight * value
		weight += s.Weight
	}
	passed := all
	if threshold != nil && weight > 0 {
		// The tolerance keeps 0.1+0.2 from missing 0.3.
		passed = required && sum/weight >= *threshold-1e-9
	}
	if passed {
		return eval.Passed{}
	}
	return eval.Failed{}
}

// unscoredError is the error of a trial with a score that could not be determined.
func unscoredError(s eval.Score) *eval.Error {
	e := eval.Errorf(eval.KindUnscored, "%s: %s", label(s), s.Unscored())
	if grade, ok := s.Grade.(eval.Unscored); ok {
		e.Cause = grade.Cause
	}
	return e
}

func label(s eval.Score) string {
	if s.Name != "" {
		return s.Name
	}
	return s.Scorer
}

// mayLookAtText reports keys that have no use for a kind that does not read texts.
func (t Table) mayLookAtText(s *suite.Scorer, yaml yaml.YAML) bool {
	for _, key := range []string{"select", "partial"} {
		if yaml.Entry.Has(key) && !t.looksAtText(yaml.Entry.Node) {
			yaml.Entry.Key(key).Errorf("leave it out", "`%s` does not look at the text of an answer, so `%s` has no use", s.Kind, key)
			return false
		}
	}
	return true
}
