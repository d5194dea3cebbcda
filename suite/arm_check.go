package suite

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/evalrun/evalrun/diag"
	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/clients/wire"
	"github.com/evalrun/evalrun/internal/expr"
	"github.com/evalrun/evalrun/internal/yaml"
)

func (s *NamedService) spoken() (wire.Protocol, bool) { return wire.Named(s.speaks()) }

// refusals returns the parts of a request that the protocol of a service cannot express. Any other error refuses all of
// the request.
func (s *NamedService) refusals(r *eval.Request) wire.Refusals {
	p, other := s.spoken()
	if !other {
		return nil
	}
	err := p.Check(r)
	if all, ok := errors.AsType[wire.Refusals](err); ok || err == nil {
		return all
	}
	return wire.Refusals{{Why: err.Error()}}
}

// checkWords reports the keys of a target or a judge that the protocol of its service cannot express.
func checkWords(m yaml.Map, model *ConfiguredModel) {
	written := eval.Request{GenerationConfig: model.GenerationConfig, SafetySettings: model.SafetySettings}
	for _, one := range model.Service.refusals(&written) {
		keyAt(m, one.Key).Errorf(one.Fix, "%s", one.Why)
	}
}

// keyAt returns the node of a key by its path, or of the longest part of the path that exists.
func keyAt(m yaml.Map, path string) yaml.Node {
	name, rest, deeper := strings.Cut(path, ".")
	key := m.Key(name)
	if key.IsZero() {
		extra := m.Get("extra").Map()
		if !extra.Has(name) {
			return m.Node
		}
		return keyAt(extra, path)
	}
	if value := m.Get(name); deeper && value.IsMapping() {
		if found := keyAt(value.Map(), rest); found != value {
			return found
		}
	}
	return key
}

// checkSpoken reports the parts of a prompt that the protocol of a target cannot express, once for each kind of part.
func (l *loader) checkSpoken(arm Arm, prompt eval.Request) {
	model := arm.Target.Model()
	if model == nil {
		return
	}
	for _, one := range model.Service.refusals(&eval.Request{
		Contents: prompt.Contents, System: prompt.System, Tools: prompt.Tools, ToolChoice: prompt.ToolChoice,
	}) {
		at := arm.Prompt.placeOf(one.Key)
		found := at.String() + " " + one.Why
		if slices.Contains(l.unspoken, found) {
			continue
		}
		l.unspoken = append(l.unspoken, found)
		hint := "narrow `targets` of the prompt"
		if one.Fix != "" {
			hint = one.Fix + ", or " + hint
		}
		l.diags.Errorf(at, hint, "%s (target `%s`)", one.Why, arm.Target.Name)
	}
}

// placeOf returns the position of the first part of a kind in a prompt, or else of the prompt.
func (p *Prompt) placeOf(kind string) diag.Pos {
	for one := range p.eachPart {
		if one.form() == kind {
			return one.written().node.Pos()
		}
	}
	return p.Pos
}

// checkCounting reports `countTokens: always` when no service can count tokens. at is the position of that key.
func (l *loader) checkCounting(at yaml.Node) {
	if l.Limits.CountTokens != CountAlways || l.opts.Can == nil {
		return
	}
	for _, s := range l.Services {
		if slices.Contains(l.usedServices(), s.Name) && !l.opts.Can(s.Protocol, wire.MethodCountTokens) {
			at.Errorf(
				"use auto, which estimates there", "the service `%s` cannot count tokens: its protocol, %s, has no way to", s.Name,
				s.Protocol,
			)
		}
	}
}

func (l *loader) checkEmbeds(n yaml.Node, of *NamedService) {
	if of == nil || of.Protocol == "" || l.opts.Can == nil || l.opts.Can(of.Protocol, wire.MethodEmbed) {
		return
	}
	n.Errorf(
		"name a service that does, such as one of the protocol openai",
		"the service `%s` makes no embeddings: its protocol, %s, has none",
		of.Name, of.Protocol,
	)
}

// checkPrompt renders the prompt for a case. It reports undefined variables, missing files, and whatever exceeds the
// service's limits.
func (l *loader) checkPrompt(c *Case, arm Arm) {
	c = c.visible()
	p := arm.Prompt
	prompt, ok := l.rendered(c, arm, l.diags, false)
	p.Results.check(c, l.diags)
	if !ok || slices.Contains(l.broken, p) {
		return
	}
	n := wire.Images(prompt.Contents)
	switch {
	case n > wire.MaxImages:
		l.diags.Errorf(p.Pos, "remove some", "the prompt `%s` has %d images; at most %d are allowed", p.Name, n, wire.MaxImages)
	case n > 1:
		l.diags.Warnf(p.Pos, "", "the prompt `%s` has %d images; one alone tends to give better answers", p.Name, n)
	}
	if size := sizeOver(prompt); size > wire.MaxPromptBytes {
		l.diags.Errorf(
			p.Pos, "images count in base64, a third more than their files",
			"case `%s`: the encoded prompt `%s` has %d bytes; at most %d are allowed", c.Name, p.Name, size, wire.MaxPromptBytes,
		)
	}
	if slices.ContainsFunc(prompt.Contents, saysNothing) && !ignoresPrompt(arm) {
		l.diags.Errorf(
			p.Pos, "give its variables a value in this case", "case `%s`: the prompt `%s` has an empty turn", c.Name, p.Name,
		)
	}
	l.checkRequest(c, arm, prompt)
	l.checkSpoken(arm, prompt)
}

// ignoresPrompt reports whether the request of an application is made of variables alone.
func ignoresPrompt(arm Arm) bool {
	switch of := arm.Target.Of.(type) {
	case *HTTPTarget:
		return !of.calls("prompt") && !of.calls("messages")
	case *Program:
		return of.vars.all || len(of.vars.names) > 0 || len(of.templates) > 0
	case *ConfiguredModel, *EchoTarget:
	}
	return false
}

// sizeOver returns the encoded size of a prompt, or a lower figure if its texts are so short that it cannot exceed the
// limit.
func sizeOver(prompt eval.Request) int {
	const (
		longest = 6  // most bytes that encode one byte of text: \u00XX
		around  = 64 // most bytes around a part
	)
	most := 0
	for _, c := range prompt.Contents {
		most += around
		for _, p := range c.Parts {
			text, ok := p.(eval.TextPart)
			if !ok {
				return encodedSize(prompt.Contents) + len(prompt.System)
			}
			most += around + longest*len(text.Text)
		}
	}
	if most+len(prompt.System) <= wire.MaxPromptBytes {
		return 0
	}
	return encodedSize(prompt.Contents) + len(prompt.System)
}

func saysNothing(c eval.Content) bool {
	return !slices.ContainsFunc(c.Parts, func(p eval.Part) bool {
		text, ok := p.(eval.TextPart)
		return !ok || !eval.IsBlank(text.Text)
	})
}

// encodedSize is wire.Size for contents whose files were not loaded.
func encodedSize(contents []eval.Content) int {
	size := wire.Size(contents)
	for _, c := range contents {
		for _, p := range c.Parts {
			if file := p.File(); file != nil {
				size += (file.Bytes + 2) / 3 * 4
			}
		}
	}
	return size
}

// checkStream records scorers that need streams on an arm that does not stream.
func (l *loader) checkStream(c *Case, arm Arm) {
	for _, sc := range c.ScorersFor(arm) {
		if sc.Needs.Stream == "" || arm.Target.Stream {
			continue
		}
		at := sc.At()
		one := l.unstreamed[at]
		if one == nil {
			one = &unstreamed{kind: sc.Needs.Stream, key: arm.Target.streamKey()}
			l.unstreamed[at] = one
		}
		if !slices.Contains(one.targets, arm.Target.Name) {
			one.targets = append(one.targets, arm.Target.Name)
		}
	}
}

// checkModel reports scorers of what only a model has, on an application, where it would always be the same.
func (l *checker) checkModel(c *Case, arm Arm) {
	if arm.Target.App() == nil || len(arm.Target.calls()) > 0 {
		return
	}
	for _, sc := range c.ScorersFor(arm) {
		if of := sc.Needs.Model; of != "" && !l.modelless[sc.At()] {
			l.modelless[sc.At()] = true
			l.diags.Errorf(
				sc.At(), "narrow `arms` of the scorer to models, or name what a program calls in its `models`",
				"`%s` is about calls of a model, and the target `%s` is an application, whose calls are not seen", of, arm.Target.Name,
			)
		}
	}
}

// checkWorkspace reports scorers of a workspace on a target without one.
func (l *checker) checkWorkspace(c *Case, arm Arm) {
	if p, ok := arm.Target.Of.(*Program); ok && p.Workspace != "" {
		return
	}
	for _, sc := range c.ScorersFor(arm) {
		if of := sc.Needs.Workspace; of != "" && !l.modelless[sc.At()] {
			l.modelless[sc.At()] = true
			l.diags.Errorf(
				sc.At(), "add a `workspace` to the program, or narrow `arms` of the scorer",
				"`%s` reads the workspace of a program, and the target `%s` has none", of, arm.Target.Name,
			)
		}
	}
}

// unstreamed is a scorer that needs streams, with the targets that do not stream.
type unstreamed struct {
	kind    string
	key     string // setting that makes the first target stream; "" when it cannot
	targets []string
}

func (t *Target) streamKey() string {
	switch t.Of.(type) {
	case *ConfiguredModel:
		return "`stream: true` to the target"
	case *HTTPTarget:
		return "`stream: sse` to the `http` block"
	case *Program, *EchoTarget:
	}
	return ""
}

// reportUnstreamed reports these scorers unless there are other errors: a misspelled `stream` would cause many reports.
func (l *loader) reportUnstreamed() {
	if l.diags.HasErrors() {
		return
	}
	for at, one := range l.unstreamed {
		verb := "does"
		if len(one.targets) > 1 {
			verb = "do"
		}
		hint := "narrow `arms` of the scorer"
		if one.key != "" {
			hint = "add " + one.key + ", or " + hint
		}
		l.diags.Errorf(
			at, hint,
			"`%s` needs streamed answers, and the target `%s` %s not stream", one.kind,
			strings.Join(one.targets, "`, `"), verb,
		)
	}
}

// TurnPick says which turns of a live chat a scorer looks at. The zero TurnPick means the default: the answer of the last
// turn, at the cost of the whole chat.
type TurnPick struct {
	which whichTurns
	Pos   diag.Pos
}

// whichTurns is the number of a turn, counted from 1, or one of the values below.
type whichTurns int

const (
	noTurns   whichTurns = 0
	lastTurn  whichTurns = -1
	everyTurn whichTurns = -2
)

// Given reports whether turns were chosen.
func (c TurnPick) Given() bool { return c.which != noTurns }

// Number returns the number of the chosen turn, counted from 1. ok is false when a word chooses turns, or nothing does.
func (c TurnPick) Number() (n int, ok bool) { return max(0, int(c.which)), c.which > 0 }

// All reports whether all answered turns are chosen. If not, and there is no Number, the last one is.
func (c TurnPick) All() bool { return c.which == everyTurn }

func turnPick(n yaml.Node) TurnPick {
	picked := TurnPick{Pos: n.Pos()}
	switch {
	case n.IsZero():
		return TurnPick{}
	case n.IsNumber():
		picked.which = whichTurns(n.Int(1, math.MaxInt16))
		return picked
	}
	switch word := n.Str(); {
	case word == "all":
		picked.which = everyTurn
	case word == "last":
		picked.which = lastTurn
	case n.IsScalar():
		n.Errorf("last, all, or a number from 1", "`%s` is not a choice of turns", word)
	}
	return picked
}

func (p *Prompt) beginsWithImage() bool {
	first := Prompt{turns: p.turns[:1]}
	return first.hasImage()
}

func (l *loader) checkTurns(c *Case, arm Arm) {
	if slices.Contains(l.broken, arm.Prompt) {
		return
	}
	for _, sc := range c.ScorersFor(arm) {
		for _, t := range sc.Needs.Turns {
			if number, ok := t.Number(); ok {
				l.checkTurn(t.Pos, number, arm)
			} else if !slices.ContainsFunc(l.arms, func(a Arm) bool { return a.Matches(sc.Arms) && a.Prompt.Live }) {
				l.diags.Errorf(
					t.Pos, "add `live: true` to a prompt with turns, or remove `turn`",
					"no arm of this scorer is a live chat, so there are no turns to choose from",
				)
			}
		}
	}
}

func (l *loader) checkTurn(at diag.Pos, number int, arm Arm) {
	p, name := arm.Prompt, arm.Prompt.Name
	switch {
	case !p.Live:
		l.diags.Errorf(
			at, "narrow `arms` of the scorer, or add `live: true` to the prompt",
			"the prompt `%s` is not a live chat, so it has no turn %d", name, number,
		)
	case number > len(p.turns):
		l.diags.Errorf(
			at, "narrow `arms` of the scorer, or name an earlier turn", "the live chat `%s` has %s, and this names turn %d",
			name, diag.Count(len(p.turns), "turn"), number,
		)
	}
}

// ToolUse is a tool whose calls a scorer lists.
type ToolUse struct {
	Name string
	Pos  diag.Pos
}

// checkCalls warns about a tool that a scorer lists and no prompt of its arms declares. A scorer that forbids such a tool
// would always pass. Applications have tools that the suite does not know. So may arms without `tools`, if their answers
// come from elsewhere.
func (l *loader) checkCalls(c *Case, arm Arm) {
	for _, sc := range c.ScorersFor(arm) {
		if len(sc.Needs.Tools) == 0 {
			continue
		}
		declared, known := l.declaredTools(sc)
		for _, use := range sc.Needs.Tools {
			if known && !slices.Contains(declared, use.Name) {
				hint := diag.DidYouMean(use.Name, declared)
				l.diags.Warnf(use.Pos, hint, "no prompt of this scorer declares a tool `%s`", use.Name)
			}
		}
	}
}

// declaredTools returns the names of the tools on the arms of a scorer. When known is false, there may be more.
func (l *loader) declaredTools(sc *Scorer) (declared []string, known bool) {
	known = true
	for _, a := range l.arms {
		if !a.Matches(sc.Arms) {
			continue
		}
		known = known && a.Target.App() == nil && len(a.Prompt.Tools) > 0
		for _, t := range a.Prompt.Tools {
			declared = append(declared, t.Name)
		}
	}
	return declared, known
}

func (l *loader) checkRequest(c *Case, arm Arm, prompt eval.Request) {
	given := func() *eval.Input {
		return &eval.Input{Vars: c.vars, System: prompt.System, Messages: wire.Messages(prompt.Contents)}
	}
	checked := func(in *rendered) *rendered {
		in.budget = c.budget
		in.report = func(s source, e *expr.TemplateError) {
			if slices.Contains(requestFunctions(), e.Missing) {
				hint := fmt.Sprintf("write {{%s}}, without a dot", e.Missing)
				l.diags.Errorf(s.pos(e.Offset), hint, "case `%s` has no variable `%s`", c.Name, e.Missing)
				return
			}
			s.report(c, e, l.diags)
		}
		return in
	}
	switch to := arm.Target.Of.(type) {
	case *HTTPTarget:
		to.render(checked(to.rendered(given())))
	case *Program:
		to.fill(checked(renderedFor(given())))
	case *ConfiguredModel, *EchoTarget: // no template makes what they are sent
	}
}

// checkSaid warns about turns of a prompt that the request to an endpoint leaves out.
func (l *loader) checkSaid(a Arm) {
	e, ok := a.Target.Of.(*HTTPTarget)
	if !ok || l.diags.HasErrors() { // an invalid template may cause this warning
		return
	}
	if what, hint := e.unsaid(a.Prompt); what != "" {
		l.diags.Warnf(e.url.sent.node.Pos(), hint, "the target `%s` is not sent %s", a.Target.Name, what)
	}
	if a.Prompt.system != nil && !e.calls("system") {
		l.diags.Warnf(
			e.url.sent.node.Pos(), "write \"{{system}}\" where the application takes it",
			"the target `%s` is not sent the system text of the prompt `%s`",
			a.Target.Name, a.Prompt.Name,
		)
	}
}

// unsaid names the turns of a prompt that the request to an endpoint leaves out; "" when it needs no more.
func (h *HTTPTarget) unsaid(p *Prompt) (what, hint string) {
	all := h.wantsMessages
	switch {
	case !all && !h.calls("prompt") && !h.usesVariables():
		return "anything of the prompt `" + p.Name + "`", "write \"{{prompt}}\" or \"{{messages}}\" into `body`"
	case all || !p.isChat():
	case !p.Live:
		return "the turns of the prompt `" + p.Name + "` before the last one", "\"{{messages}}\" is the whole conversation"
	case !h.calls("trial"):
		return "what was said before the last turn of the chat `" + p.Name + "`",
			"send \"{{messages}}\", or \"{{trial}}\" as the name of a session that the application keeps"
	}
	return "", ""
}

func (h *HTTPTarget) usesVariables() bool {
	for s := range h.sources {
		if s.t != nil && (len(s.t.Fields()) > 0 || s.t.UsesAll()) {
			return true
		}
	}
	return false
}
