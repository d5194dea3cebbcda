// Package scorers checks answers. A Kind is what a suite can name; the Table of kinds checks
// arguments at load time and compiles an entry of a suite into a Compiled scorer. From that
// table come also `evalrun scorers`, the documentation and the hints for unknown kinds.
//
// A scorer never calls the service here and never panics: what it cannot determine is
// unscored, which is neither pass nor fail.
//
// The usual order: Table.Check while loading, Table.Compile once per scorer,
// Compiled.Score for each answer, OutcomeOf over the scores of a trial.
//
// A comparison may also have a judge choose between two answers. NewChoosing compiles that
// question, in the fences of the scorer `judge`, and Choosing.Choose reads the replies.
package scorers

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/evalrun/evalrun/classification"
	"github.com/evalrun/evalrun/diag"
	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/entry"
	"github.com/evalrun/evalrun/internal/shape"
	"github.com/evalrun/evalrun/internal/yamlnode"
	"github.com/evalrun/evalrun/suite"
	"github.com/evalrun/evalrun/variable"
)

// Answer is what a scorer looks at: the whole response, and in it the candidate that
// was chosen.
type Answer struct {
	Response *eval.Response
	// Candidate is nil when the response has none, or not the chosen one.
	Candidate *eval.Candidate
	// Partial says that the text of an answer that was blocked after a part of it may be scored.
	Partial bool
	// Index is the place of the candidate that was chosen.
	Index  int
	Usage  eval.Usage
	Timing eval.Timing
	// Request is what was sent, and Vars are the variables of the case. Both are only read.
	Request *eval.Request
	Vars    variable.Dict
	// Turns are the answered calls of the model, of a live chat and where the suite answers tool calls. They are all
	// of them, or those of the chosen turn of the user, as the rest of the Answer. Nil for an answer of one call.
	Turns []eval.Turn
	// earlier are those before the turn that was chosen, and chat is the whole chat; nil where no turn was.
	earlier []eval.Turn
	chat    *Answer
	// Context is the run in which the answer came. Optional: without one there is no judge, no vector and no price.
	Context *Context
}

// Finding is what a scorer finds. Make it with Pass, Fail, Graded, Unscored or Broken. The zero Finding is a failure.
type Finding struct {
	Value  float64 // in [0,1]
	Reason string
	Diff   string // expected against actual over several lines; optional
	// NoText marks a failure of an answer in which there is nothing to look at, or that cannot be read, which `not:` must
	// not turn into a pass.
	NoText bool
	Judged *eval.Judged         // how a judge came to the value; nil for other scorers
	Class  *classification.Pair // the class of the answer and the right one, of a classification

	state state
	why   string // there is no score
}

// state is what a finding says of the answer.
type state int

const (
	failed state = iota
	passed
	noScore // neither a pass nor a failure
	brokeUp // the scorer itself failed, which makes the trial an error whatever scorer is around it
)

func stateOf(holds bool) state {
	if holds {
		return passed
	}
	return failed
}

// scored reports whether there is a score.
func (f *Finding) scored() bool { return f.state == passed || f.state == failed }

// Scorer checks one answer.
type Scorer interface {
	Score(a *Answer) Finding
}

// Func is a Scorer made of a function.
type Func func(a *Answer) Finding

// Score calls f.
func (f Func) Score(a *Answer) Finding { return f(a) }

func yes(format string, args ...any) Finding {
	return Finding{Value: 1, state: passed, Reason: fmt.Sprintf(format, args...)}
}

func no(format string, args ...any) Finding {
	return Finding{Reason: fmt.Sprintf(format, args...)}
}

func unscored(format string, args ...any) Finding {
	why := fmt.Sprintf(format, args...)
	return Finding{Reason: why, state: noScore, why: why}
}

func broken(format string, args ...any) Finding {
	return Finding{state: brokeUp, why: fmt.Sprintf(format, args...)}
}

func graded(value float64, holds bool, format string, args ...any) Finding {
	return Finding{Value: value, state: stateOf(holds), Reason: fmt.Sprintf(format, args...)}
}

// Kind is a check that a suite can name.
type Kind struct {
	Name    string
	Summary string   // one line
	Doc     string   // what it takes and when it passes
	Limits  string   // what it does not do, with measured figures
	Example string   // an entry of a scorers list
	Options []string // keys that may be next to the kind
	// Version is that of the kind's meaning, 0 for the first. One that is raised makes cases of earlier runs count as changed.
	Version int
	stream  bool // it applies only to streamed answers
	nests   bool // it takes other scorers
	// textless says that it never looks at the text of an answer, so nothing can be selected.
	textless bool
	// takes is what the arguments look like, for the JSON Schema. The keys of a mapping come from the same Block by which compile knows
	// them.
	takes shape.Shape
	// compile reads the arguments; problems are reported at their nodes. With problems the result may be nil.
	compile func(a args) Scorer
}

// Table is a set of kinds. It satisfies suite.Kinds.
type Table []Kind

// args are the arguments of one scorer.
type args struct {
	*suite.Scorer
	entry.YAML
	needs    *needs // what compile finds out
	table    Table
	nestedIn bool         // inside another scorer
	steps    []selectStep // which part of the answer is scored
	errors   onError
}

// option is a value that may be next to the kind or, when its arguments are a
// mapping, among them.
func (a args) option(key string) yamlnode.Node {
	if v := a.Entry.Get(key); !v.IsZero() {
		return v
	}
	if a.Args.IsMapping() {
		return a.Args.Map().Get(key)
	}
	return yamlnode.Node{}
}

func textless(kinds []Kind) []Kind {
	for i := range kinds {
		kinds[i].textless = true
	}
	return kinds
}

// Names lists the kinds.
func (t Table) Names() []string {
	out := make([]string, len(t))
	for i, k := range t {
		out[i] = k.Name
	}
	return out
}

// Has reports whether there is a kind of that name.
func (t Table) Has(kind string) bool { return t.Lookup(kind) != nil }

// Lookup is the kind of that name, nil when there is none. It also finds kinds that no list of scorers can name.
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

// Only is the table for callers that need what scorers of these kinds look at: scorers of other kinds do nothing.
func (t Table) Only(names ...string) Table {
	out := slices.Clone(t)
	for i := range out {
		if k := &out[i]; !slices.Contains(names, k.Name) && !k.nests {
			k.compile = func(args) Scorer { return Func(func(*Answer) Finding { return unscored("not looked at") }) }
		}
	}
	return out
}

// needs gathers what a scorer needs while it is compiled.
type needs struct{ suite.Needs }

// add takes over the needs of a scorer inside, that for a stream only with stream.
func (n *needs) add(inner suite.Needs, stream bool) {
	n.References, n.Programs = append(n.References, inner.References...), append(n.Programs, inner.Programs...)
	n.Judges, n.Variables = append(n.Judges, inner.Judges...), append(n.Variables, inner.Variables...)
	n.Turns, n.Snapshots = append(n.Turns, inner.Turns...), append(n.Snapshots, inner.Snapshots...)
	n.Tools = append(n.Tools, inner.Tools...)
	n.Versions = append(n.Versions, inner.Versions...)
	n.Tries, n.Price, n.Labels = append(n.Tries, inner.Tries...), n.Price || inner.Price, n.Labels || inner.Labels
	if stream {
		n.Stream = cmp.Or(n.Stream, inner.Stream)
	}
}

// Check reports problems of the arguments of a scorer, and gives what it needs.
func (t Table) Check(s *suite.Scorer) suite.Needs {
	scorer, found := t.build(s, nil)
	needs := found
	needs.Compiled = &Compiled{s, found, scorer, t}
	return needs
}

// build compiles a scorer, which is inside the outer one when that is not nil. The scorer of the suite is only read, since several
// walks over a plan compile it at once.
func (t Table) build(s *suite.Scorer, outer *args) (Scorer, suite.Needs) {
	var found needs
	compiled := t.compile(s, outer, &found)
	return compiled, found.Needs
}

func (t Table) compile(s *suite.Scorer, outer *args, found *needs) Scorer {
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
	yaml := s.Source.(entry.YAML)
	if yaml.Args.IsNull() {
		yaml.Args.Errorf("such as "+strings.Join(strings.Fields(strings.TrimPrefix(kind.Example, "- ")), " "), "`%s` needs an argument", s.Kind)
		return nil
	}
	if !t.mayLookAtText(s, yaml) {
		return nil
	}
	a := args{Scorer: s, YAML: yaml, needs: found, table: t, nestedIn: outer != nil}
	a.steps, a.errors = afterOuter(outer, a.selectors()), a.errorsOf(outer)
	scorer := kind.compile(a)
	for i := range found.Judges {
		found.Judges[i].EachCandidate = found.Judges[i].EachCandidate || s.Candidate.All
		found.Judges[i].EachTurn = found.Judges[i].EachTurn || s.Turn.All()
	}
	if !kind.nests && !kind.textless {
		scorer = selecting(a.steps, scorer)
	}
	return a.errors.settling(partially(yaml.Entry.Get("partial"), scorer))
}

// partially lets the scorer, and those inside it, look at the text of an answer that was blocked after a part of it, when the suite allows
// that.
func partially(n yamlnode.Node, s Scorer) Scorer {
	if n.IsZero() || n.Word("allow") == "" || s == nil {
		return s
	}
	return Func(func(a *Answer) Finding {
		one := *a
		one.Partial = true
		return s.Score(&one)
	})
}

// Compiled is a scorer of a suite, ready to look at answers; safe for concurrent
// use.
type Compiled struct {
	spec   *suite.Scorer
	needs  suite.Needs
	scorer Scorer
	by     Table
}

// Compile makes a scorer in which Check found no problem. What Check warned of is not repeated.
func (t Table) Compile(s *suite.Scorer) *Compiled {
	if made, ok := s.Needs.Compiled.(*Compiled); ok && made.spec == s && made.by.is(t) {
		return made
	}
	var reported diag.List
	quiet := *s
	yaml := s.Source.(entry.YAML)
	quiet.Source = entry.YAML{Args: yaml.Args.WithDiags(&reported), Entry: yaml.Entry.WithDiags(&reported).Map()}
	scorer, found := t.build(&quiet, nil)
	return &Compiled{s, found, scorer, t}
}

// is reports whether two tables are one.
func (t Table) is(other Table) bool { return len(t) > 0 && len(t) == len(other) && &t[0] == &other[0] }

// References are the texts that the scorer compares with by their embeddings.
func (c *Compiled) References() []string { return c.needs.References }

// Judges are the judges that the scorer calls, one for each call, malformed replies aside.
func (c *Compiled) Judges() []suite.JudgeUse { return c.needs.Judges }

// Programs are the commands that the scorer runs, with the digests of their files.
func (c *Compiled) Programs() []string { return c.needs.Programs }

// Versions are the kinds of the scorer, and of those inside, whose meaning has changed since the first version, such as choice.2.
func (c *Compiled) Versions() []string { return c.needs.Versions }

// Snapshots are the files below expected/ that the scorer reads, as suite.ExpectedFile takes them.
func (c *Compiled) Snapshots() []string { return c.needs.Snapshots }

// Score looks at the answer and says what it finds. A scorer that panics has
// failed; it takes nothing else down.
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
		Scorer: c.spec.Kind, Name: c.spec.Name, Weight: c.spec.Weight, Required: c.spec.Required,
		Reason: f.Reason, Diff: f.Diff, Unscored: f.why, Passed: f.state == passed, Judged: f.Judged, Class: f.Class,
	}
	if f.state == noScore {
		return score, nil
	}
	score.Value = new(f.Value)
	if c.spec.Threshold != nil && !f.NoText {
		score.Passed = f.Value >= *c.spec.Threshold
	}
	return score, nil
}

// overCandidates applies the scorer to the candidates that were chosen: one, or the least of all.
func overCandidates(picked suite.CandidatePick, s Scorer, a *Answer) Finding {
	candidates := len(a.Response.Candidates)
	if !picked.All || candidates < 2 {
		return s.Score(a.pick(picked.Index))
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

// pick is the answer with the i-th candidate chosen.
func (a *Answer) pick(i int) *Answer {
	one := *a
	one.Index, one.Candidate = i, nil
	if i < len(a.Response.Candidates) {
		one.Candidate = &a.Response.Candidates[i]
	}
	return &one
}

func worse(f, than Finding) bool {
	return rank(f) < rank(than) || rank(f) == rank(than) && f.Value < than.Value
}

// rank orders findings: a failure says more than a doubt, a doubt more than a
// pass.
func rank(f Finding) int {
	switch f.state {
	case brokeUp:
		return -1
	case noScore:
		return 1
	case passed:
		return 2
	}
	return 0
}

// OutcomeOf turns the scores of a trial into its outcome. Without a threshold every scorer must
// pass; with one the weighted mean must reach it and no required scorer may fail.
// A score that could not be determined makes the trial an error of kind unscored.
func OutcomeOf(scores []eval.Score, threshold *float64) (eval.Outcome, *eval.Error) {
	all, required := true, true
	var sum, weight float64
	for _, s := range scores {
		if s.Value == nil {
			return eval.Err, eval.Errorf(eval.KindUnscored, "%s: %s", label(s), s.Unscored)
		}
		all = all && s.Passed
		required = required && (s.Passed || !s.Required)
		sum += s.Weight * *s.Value
		weight += s.Weight
	}
	passed := all
	if threshold != nil && weight > 0 {
		// The tolerance keeps 0.1+0.2 from missing 0.3.
		passed = required && sum/weight >= *threshold-1e-9
	}
	return outcomeOf(passed), nil
}

func outcomeOf(passed bool) eval.Outcome {
	if passed {
		return eval.Pass
	}
	return eval.Fail
}

func label(s eval.Score) string {
	if s.Name != "" {
		return s.Name
	}
	return s.Scorer
}

// mayLookAtText reports the keys that have no use for a kind that looks at no text.
func (t Table) mayLookAtText(s *suite.Scorer, yaml entry.YAML) bool {
	for _, key := range []string{"select", "partial"} {
		if yaml.Entry.Has(key) && !t.looksAtText(yaml.Entry.Node) {
			yaml.Entry.Key(key).Errorf("leave it out", "`%s` does not look at the text of an answer, so `%s` has no use", s.Kind, key)
			return false
		}
	}
	return true
}
