// Package runner turns checked suites into a Plan of trials and carries it out. Workers send, a pool scores, and
// results come as an iterator in any order, each with its place in the plan.
//
// It decides nothing about the run: whatever happens to a trial is data in its result, and the consumer of the results
// says when to stop.
//
// The usual order: NewPlan, then Run. A Plan also looks up its models (CheckModels), shows what its judges would be sent
// (JudgePrompts), and sends pairs of answers to a judge that prefers one of them (Prefer).
package runner

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"iter"
	"maps"
	"slices"

	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/clients/wire"
	"github.com/evalrun/evalrun/scorers"
	"github.com/evalrun/evalrun/suite"
)

// Filter narrows a plan; empty lists select everything.
type Filter struct {
	Cases eval.Patterns
	Tags  eval.Patterns
	Arms  eval.Patterns
	// Places are the places of the only trials to take, a case of an arm with all of its repeats; nil takes all.
	Places *eval.Places
	Shard  eval.Shard // the zero Shard is everything
}

// Takes reports whether the globs of the filter select a case on an arm.
func (f Filter) Takes(c *suite.Case, a suite.Arm) bool { return f.takes(c) && a.Matches(f.Arms) }

func (f Filter) takes(c *suite.Case) bool {
	if !f.Cases.Match(c.Name) {
		return false
	}
	return len(f.Tags) == 0 || slices.ContainsFunc(c.Tags, f.Tags.Match)
}

// takesAt reports whether the plan has a trial of a case that it takes on an arm, its first repeat having the given
// place.
func (f Filter) takesAt(a suite.Arm, place int) bool {
	return a.Matches(f.Arms) && (f.Places == nil || f.Places.Has(place))
}

// Plan holds the trials of a run, in the order of the suites: case by case, arm by arm, repeat by repeat. It makes
// trials when the caller iterates over them.
type Plan struct {
	Suites     []*suite.Suite
	Models     []eval.Model // metadata of the plan's models, as far as known
	APIVersion string       // for targets that set none
	// Uncounted has the names of services that cannot count tokens.
	Uncounted map[string]bool

	filter     Filter
	table      scorers.Table
	models     map[modelKey]*eval.Model
	embeddings map[*suite.Suite]*EmbeddingModel
	size       int
	shard      *eval.ShardOf
	arms       []PlannedArm
}

// NewPlan counts the trials that the filter selects.
func NewPlan(suites []*suite.Suite, table scorers.Table, filter Filter, apiVersion string) *Plan {
	p := &Plan{
		Suites:     suites,
		APIVersion: apiVersion,
		filter:     filter,
		table:      table,
		models:     map[modelKey]*eval.Model{},
		embeddings: map[*suite.Suite]*EmbeddingModel{},
	}
	for _, s := range suites {
		for _, version := range s.Versions() {
			p.embeddings[version] = p.newEmbedding(version)
		}
	}
	p.count()
	if filter.Shard.Of > 0 {
		p.cutShard()
	}
	return p
}

// CalledArms are the arms with at least one trial, in the order of the suites: those of a plan, whatever its shard.
func CalledArms(suites []*suite.Suite, filter Filter) []PlannedArm {
	p := &Plan{Suites: suites, filter: filter}
	p.count()
	return p.arms
}

// count adds up the trials, and the arms that have some.
func (p *Plan) count() {
	n := 0
	for _, s := range p.Suites {
		selected := p.filter.known(s)
		if selected == nil {
			selected = map[suite.Arm]int{}
			n = p.filter.count(s, n, selected)
		}
		for _, a := range s.Arms() {
			if trials := selected[a]; trials > 0 {
				p.size += trials
				p.arms = append(p.arms, PlannedArm{s.Name, a})
			}
		}
	}
}

// known are the trials of the arms that the filter selects, where no case has to be looked at for that; nil elsewhere.
func (f Filter) known(s *suite.Suite) map[suite.Arm]int {
	if len(f.Cases)+len(f.Tags) > 0 || f.Places != nil {
		return nil
	}
	trials, ok := s.Trials()
	if !ok {
		return nil
	}
	maps.DeleteFunc(trials, func(a suite.Arm, _ int) bool { return !a.Matches(f.Arms) })
	return trials
}

// count adds to the arms of a suite, whose numbers begin at n, the trials that the filter selects. It returns the next number.
func (f Filter) count(s *suite.Suite, n int, selected map[suite.Arm]int) int {
	for cell := range s.OutlinedCells() {
		if f.takes(cell.Case) && f.takesAt(cell.Arm, n) {
			selected[cell.Arm] += cell.Case.Repeats
		}
		n += cell.Case.Repeats
	}
	return n
}

// cutShard counts the trials of the shard, and records the identity of the whole plan.
func (p *Plan) cutShard() {
	h := sha256.New()
	of := eval.ShardOf{Index: p.filter.Shard.Index, Of: p.filter.Shard.Of, Trials: p.size}
	p.size = 0
	w := p.walk()
	w.whole = func(t *eval.Trial) { fmt.Fprintf(h, "%s %s %s %s\n", t.ID, t.Suite, t.CaseID, t.ScorersHash) }
	w.run(func(*Planned) bool { p.size++; return true })
	of.Plan = hex.EncodeToString(h.Sum(nil))[:32]
	p.shard = &of
}

// Shard names the whole that the plan is a shard of, nil when it is whole.
func (p *Plan) Shard() *eval.ShardOf { return p.shard }

// PlannedArm is an arm of a suite with at least one trial.
type PlannedArm struct {
	Suite string
	suite.Arm
}

// Err says that a data file could not be read any more, so that trials are missing; nil when all came.
func (p *Plan) Err() error {
	for _, s := range p.Suites {
		for _, version := range s.Versions() {
			if err := version.Err(); err != nil {
				return err
			}
		}
	}
	return nil
}

// Size is the number of trials.
func (p *Plan) Size() int { return p.size }

// Arms are the arms of the plan, in the order of the suites.
func (p *Plan) Arms() []PlannedArm { return p.arms }

// Planned is a trial that is ready to run.
type Planned struct {
	eval.Trial
	Request eval.Request
	// First says that no earlier repeat of the trial is in the plan. In a shard it need not be repeat 1.
	First bool
	// Metadata of the model, nil when nothing is known of it.
	Metadata *eval.Model
	// Embedding gives the vectors that scorers compare.
	Embedding *EmbeddingModel
	// Problem is why the trial cannot run after all: a file that it names has changed since the suite was checked.
	Problem error

	scorers []*scorers.Compiled
	derived []*suite.DerivedMetric
	vars    eval.Dict
	sent    eval.Dict          // those of vars that the target gets
	guessed bool               // its tokens cannot be counted
	tools   *suite.ToolResults // nil: the suite answers no tool calls
	to      suite.Application  // nil: the target is a model
	// attempts bounds the attempts of a call; 0: the limit of the run
	attempts int
	strips   bool // thoughts in a text are no part of the answer
}

// IsApplication reports whether the trial is one of an application.
func (t *Planned) IsApplication() bool { return t.to != nil }

// KeepsChat reports whether the trial is a chat that the application keeps by itself.
func (t *Planned) KeepsChat() bool { return t.to != nil && t.Request.Live && t.to.KeepsChats() }

// Program is the program that the trial runs, nil for a trial of something else.
func (t *Planned) Program() *suite.Program {
	p, _ := t.to.(*suite.Program)
	return p
}

// Trials yields the trials that the filter selects, as often as it is called. Place and identity do not depend on the
// filter: n and id are those of the unfiltered plan.
func (p *Plan) Trials() iter.Seq[*Planned] {
	return func(yield func(*Planned) bool) { p.walk().run(yield) }
}

func (p *Plan) walk() *walk {
	return &walk{
		plan:     p,
		compiled: map[*suite.Scorer]*compiledScorer{},
		models:   map[*suite.Target]*eval.Model{},
		seen:     map[uint64]struct{}{}, again: map[uint64]int{},
	}
}

func (w *walk) run(yield func(*Planned) bool) {
	for _, s := range w.plan.Suites {
		for cell := range s.Cells() {
			if !w.visit(s.Name, cell, yield) {
				return
			}
		}
	}
}

type walk struct {
	plan     *Plan
	n        int
	compiled map[*suite.Scorer]*compiledScorer // scorers that are the same for every case
	judging  compiledList
	models   map[*suite.Target]*eval.Model
	whole    func(*eval.Trial) // called with every trial, those of other shards too; optional
	// seen are the beginnings of the identities of all requests so far, a million in a run of a million trials; again is how
	// often those came back.
	seen  map[uint64]struct{}
	again map[uint64]int
}

func (w *walk) metadata(t *suite.Target) *eval.Model {
	m, known := w.models[t]
	if !known {
		m = w.plan.model(t)
		w.models[t] = m
	}
	return m
}

// visit yields the trials of a case on an arm, under the name of the suite that runs.
func (w *walk) visit(name string, cell suite.Cell, yield func(*Planned) bool) bool {
	c := cell.Case
	a := cell.Arm
	sent := c.Sent(a)
	request, problem := w.plan.request(cell, sent)
	base := identity(&request)
	equal := w.equalTo(base)
	first := w.n
	w.n += c.Repeats
	if !w.plan.filter.takes(c) || !w.plan.filter.takesAt(a, first) {
		return true
	}
	by := &cell
	if cell.ScoredAs != nil {
		by = cell.ScoredAs
	}
	compiled, hash := w.scorers(by.Suite, by.Case, by.Arm)
	metadata := w.metadata(a.Target)
	leading, at, like := true, c.Pos.String(), folded(&request)
	for r := range c.Repeats {
		t := &Planned{
			Trial: eval.Trial{
				N:           first + r,
				ID:          trialID(base, equal, r+1),
				CaseID:      c.ID,
				ScorersHash: hash,
				VarsHash:    c.VarsHash,
				RequestHash: hex.EncodeToString(base[:8]),
				FoldedHash:  like,
				Suite:       name,
				Case:        c.Name,
				Arm:         a.Name(),
				Target:      a.Target.Name,
				Prompt:      a.Prompt.Name,
				Model:       request.Model,
				Repeat:      r + 1,
				Tags:        c.Tags,
				Cluster:     c.Cluster,
				Threshold:   by.Case.Threshold,
				Quarantine:  c.Quarantine,
				At:          at,
			},
			Request: request, Metadata: metadata, Embedding: w.plan.embeddings[by.Suite], Problem: problem, scorers: compiled,
			derived: by.Suite.Derived(), vars: c.Vars(), sent: sent, tools: a.Prompt.Results, to: a.Target.App(),
			attempts: a.Target.Attempts, strips: a.Target.StripsReasoning, guessed: w.plan.Uncounted[request.Service],
		}
		if w.whole != nil {
			w.whole(&t.Trial)
		}
		if !w.plan.filter.Shard.Takes(t.ID) {
			continue
		}
		if t.First, leading = leading, false; !yield(t) {
			return false
		}
	}
	return true
}

// equalTo is how many cases so far had the same request.
func (w *walk) equalTo(identity [16]byte) int {
	key := binary.BigEndian.Uint64(identity[:])
	if _, known := w.seen[key]; known {
		w.again[key]++
	}
	w.seen[key] = struct{}{}
	return w.again[key]
}

// request makes the request of a case on an arm. The error says why it cannot be sent any more.
func (p *Plan) request(cell suite.Cell, vars eval.Dict) (eval.Request, error) {
	s := cell.Suite
	c := cell.Case
	a := cell.Arm
	prompt, problem := s.Render(c, a)
	var r eval.Request
	if m := a.Target.Model(); m != nil {
		r = requestTo(m, p.configuredKey(m).apiVersion)
	}
	r.Contents, r.System = prompt.Contents, prompt.System
	r.Stream, r.Live = a.Target.Stream, a.Prompt.Live
	r.Tools, r.ToolChoice, r.ToolResults = prompt.Tools, prompt.ToolChoice, a.Prompt.Results.Hash(c)
	to := a.Target.App()
	if to == nil || problem != nil {
		return r, problem
	}
	sent, err := to.Render(&eval.Input{Vars: vars, System: r.System, Messages: wire.Messages(prompt.Contents)})
	if err == nil {
		r.App = sent.WithoutSecrets()
	}
	return r, err
}

// maxNotRun bounds the cases of a suite that NotRun lists: a data file may have a million rows.
const maxNotRun = 10_000

// NotRun lists the cases that the filter leaves out on the arms that it takes, whatever the shard. A comparison with the run
// must not take them for new cases.
func (p *Plan) NotRun() (out []*eval.NotRun) {
	if f := p.filter; len(f.Cases)+len(f.Tags) == 0 && f.Places == nil {
		return nil
	}
	n := 0
	for _, s := range p.Suites {
		l := leftOut{suite: s.Name}
		for cell := range s.Cells() {
			first := n
			n += cell.Case.Repeats
			taken := p.filter.takes(cell.Case) && p.filter.takesAt(cell.Arm, first)
			if !taken && cell.Suite == s && cell.Arm.Matches(p.filter.Arms) {
				l.add(cell)
			}
		}
		l.flush()
		out = append(out, l.lists...)
	}
	return out
}

// leftOut collects the cases that a filter leaves out, those that are left out on the same arms in one list.
type leftOut struct {
	suite  string
	last   *suite.Case
	arms   []string // on which last is left out
	listed int
	lists  []*eval.NotRun
}

// add takes the cells of a case one after another.
func (l *leftOut) add(cell suite.Cell) {
	if cell.Case != l.last {
		l.flush()
		l.last = cell.Case
	}
	l.arms = append(l.arms, cell.Arm.Name())
}

func (l *leftOut) flush() {
	if len(l.arms) == 0 {
		return
	}
	at := slices.IndexFunc(l.lists, func(list *eval.NotRun) bool { return slices.Equal(list.Arms, l.arms) })
	if at < 0 {
		at = len(l.lists)
		l.lists = append(l.lists, &eval.NotRun{Suite: l.suite, Arms: slices.Clone(l.arms), Cases: []eval.NotRunCase{}})
	}
	list := l.lists[at]
	if list.Count++; l.listed < maxNotRun {
		l.listed++
		list.Cases = append(list.Cases, eval.NotRunCase{ID: l.last.ID, Name: l.last.Name, Tags: l.last.Tags})
	}
	l.arms = l.arms[:0]
}

// ArmNames lists the names of the arms, each once, in the order of the suites.
func (p *Plan) ArmNames() []string {
	names := []string{}
	for _, a := range p.Arms() {
		if !slices.Contains(names, a.Name()) {
			names = append(names, a.Name())
		}
	}
	return names
}
