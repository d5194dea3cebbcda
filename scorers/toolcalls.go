package scorers

import (
	"cmp"
	"slices"
	"strings"
	"sync"

	"github.com/evalrun/evalrun/diag"
	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/expr"
	"github.com/evalrun/evalrun/internal/jsondiff"
	"github.com/evalrun/evalrun/internal/yaml"
	"github.com/evalrun/evalrun/suite"
)

func toolCallsKind() Kind {
	return Kind{
		Name: "toolCalls", Summary: "the tools that were called, and with what arguments",
		Doc: "Takes `none`, which passes when no tool was called, or `{calls, mode, args}`. `calls` lists the expected calls, each " +
			"with `name` and `args` (none when not given); one that is listed twice must be made twice. The calls of the whole " +
			"trial count, in their order: of all steps, and of all turns of a live chat unless `turn` chooses some.\n\n" +
			"- `mode: exact` (default): these calls in this order and no others. `unordered`: these and no others, in any order. " +
			"`inOrder`: all of these in this order, with others in between. `superset`: all of these in any order, and others. " +
			"`subset`: only listed calls.\n" +
			"- `args: exact` (default): the same JSON value whatever the order of keys, and 1 is 1.0. `subset`: what is listed " +
			"must be there; mappings may have more keys, at any depth, and lists are compared item by item. `ignore`: names alone; " +
			"only this matches arguments that are not a JSON object.\n\n" +
			"An answer that was blocked, or that never came, fails unless the calls before it already decide, and `not:` does not " +
			"turn that into a pass.",
		Example: "- toolCalls:\n    calls:\n      - {name: get_order, args: {id: \"4711\"}}\n    mode: superset\n    args: subset",
		takes:   yaml.Either(yaml.Word("none"), toolCallsKeys().Shape()), compile: compileToolCalls,
	}
}

type callMode string

const (
	callsExact     callMode = "exact"
	callsUnordered callMode = "unordered"
	callsInOrder   callMode = "inOrder"
	callsSuperset  callMode = "superset"
	callsSubset    callMode = "subset"
)

func callModes() []callMode {
	return []callMode{callsExact, callsUnordered, callsInOrder, callsSuperset, callsSubset}
}

// argMode says how the arguments of a call are compared with those of a listed one.
type argMode string

const (
	argsExact  argMode = "exact"
	argsSubset argMode = "subset"
	argsIgnore argMode = "ignore"
)

func argModes() []argMode { return []argMode{argsExact, argsSubset, argsIgnore} }

var toolCallsKeys = sync.OnceValue(func() yaml.Block {
	return yaml.Block{
		Need: []string{"calls"},
		Keys: []yaml.Key{
			{Name: "calls", Is: yaml.Filled(callKeys().Shape()), Doc: "The calls that are expected."},
			{Name: "mode", Is: yaml.WordShape(callModes()...), Doc: "How the calls are compared with those listed; exact when not given."},
			{Name: "args", Is: yaml.WordShape(argModes()...), Doc: "How arguments are compared; exact when not given."},
		},
	}
})

var callKeys = sync.OnceValue(func() yaml.Block {
	return yaml.Block{
		Need: []string{"name"},
		Keys: []yaml.Key{
			{Name: "name", Is: yaml.Text, Doc: "The name of the tool."},
			{Name: "args", Is: yaml.MapShape(yaml.Any), Doc: "The arguments; none when not given."},
		},
	}
})

const maxListedCalls = 1000

type toolCallsScorer struct {
	want []readCall
	mode callMode
	args argMode
}

func compileToolCalls(a args) AnswerScorer {
	if a.Args.IsScalar() {
		a.Args.Word("none")
		return toolCallsScorer{mode: callsSubset, args: argsIgnore}
	}
	m := a.Args.Map(toolCallsKeys().Names()...)
	if !a.Args.IsMapping() {
		return nil
	}
	c := toolCallsScorer{
		mode: cmp.Or(yaml.WordOf(m.Get("mode"), callModes()...), callsExact), args: cmp.Or(yaml.WordOf(m.Get("args"), argModes()...), argsExact),
	}
	c.read(m.Need("calls"), a.needs)
	return c
}

func (c *toolCallsScorer) read(calls yaml.Node, needs *needs) {
	for _, n := range calls.Seq() {
		m := n.Map(callKeys().Names()...)
		name, args := m.Need("name"), m.Get("args")
		if name.IsScalar() && !name.IsNull() && name.Str() == "" {
			name.Errorf("such as get_weather", "the name of a tool is empty")
		}
		one := readCall{name.Str(), map[string]any{}}
		needs.Tools = append(needs.Tools, suite.ToolUse{Name: one.name, Pos: name.Pos()})
		if args.Map(); args.IsMapping() {
			one.args = readArgs(args.JSON(nil))
		}
		c.want = append(c.want, one)
	}
	switch {
	case calls.IsSequence() && len(c.want) == 0:
		calls.Errorf("`toolCalls: none` passes when no tool was called", "`toolCalls` needs at least one call")
	case len(c.want) > maxListedCalls:
		calls.Errorf("split them into several scorers", "%d calls; at most %d", len(c.want), maxListedCalls)
	}
}

// Score compares the answer's calls with the listed ones.
func (c toolCallsScorer) Score(a *Answer) Finding {
	got := readCalls(a.toolCalls())
	f := c.compare(got)
	if cut, short := cutShort(a); short && !c.decided(f) {
		if len(got) > 0 {
			cut.Reason += "; it calls " + inReason.list(got)
		}
		return cut
	}
	return f
}

// decided reports whether further calls could not change the finding.
func (c toolCallsScorer) decided(f Finding) bool {
	switch c.mode {
	case callsInOrder, callsSuperset:
		return f.state == passed
	case callsSubset:
		return f.fails()
	}
	return false
}

func (c toolCallsScorer) compare(got []readCall) Finding {
	if len(c.want)+len(got) == 0 {
		return Pass("no tool was called")
	}
	m := callMatcher{args: c.args, numbers: jsondiff.Within(0), left: maxCallSteps}
	pairs := m.pair(c.want, got)
	ok := c.holds(&m, got, &pairs)
	switch {
	case m.left < 0 && c.differ(len(got)):
		return Uncheckable("%s cannot be as expected: %d %s listed", diag.Count(len(got), "tool call"), len(c.want),
			diag.Verb(len(c.want), "is", "are"))
	case m.left < 0:
		return Unscored("%s are too many to compare with the %d listed", diag.Count(len(got), "tool call"), len(c.want))
	case ok:
		return Pass("the tool calls are as expected: %s", inReason.list(got))
	}
	f := c.wrong(got, c.detail(&pairs))
	if c.args != argsIgnore && slices.ContainsFunc(got, c.unread) {
		f.state = uncheckable
	}
	return f
}

// differ reports whether the number of calls alone rules out a match.
func (c toolCallsScorer) differ(got int) bool {
	switch c.mode {
	case callsInOrder, callsSuperset:
		return got < len(c.want)
	case callsSubset:
		return got > len(c.want)
	}
	return got != len(c.want)
}

// unread reports a call of a listed tool with unreadable arguments: `not:` must not pass because of it.
func (c toolCallsScorer) unread(got readCall) bool {
	return got.malformed() && slices.ContainsFunc(c.want, func(w readCall) bool { return w.name == got.name })
}

// holds reports whether the calls are as expected. pairs are listed calls with actual ones.
func (c toolCallsScorer) holds(m *callMatcher, got []readCall, pairs *callPairs) bool {
	switch c.mode {
	case callsExact:
		return len(got) == len(c.want) && m.inOrder(c.want, got)
	case callsInOrder:
		return m.inOrder(c.want, got)
	case callsSuperset:
		return len(pairs.missing) == 0
	case callsSubset:
		return len(pairs.surplus) == 0
	}
	return len(pairs.missing)+len(pairs.surplus) == 0
}

func (c toolCallsScorer) wrong(got []readCall, detail string) Finding {
	wanted := inReason
	wanted.noArgs, wanted.open = c.args == argsIgnore, c.args == argsSubset
	f := Fail("expected %s, got %s%s", c.expected(wanted.list(c.want)), inReason.list(got), detail)
	if len(c.want)+len(got) > 2 {
		wanted.bytes = maxListedBytes
		expected, actual := wanted.lines(c.want, maxListed), callView{bytes: maxListedBytes}.lines(got, maxListed)
		f.Diff = eval.TextDiff(strings.Join(expected, "\n"), strings.Join(actual, "\n"))
	}
	return f
}

// maxListed bounds the calls on each side of a diff, maxListedBytes the arguments of each call.
const maxListed, maxListedBytes = 50, 1000

// expected describes the expectation on the listed calls.
func (c toolCallsScorer) expected(calls string) string {
	switch {
	case len(c.want) == 0:
		return calls
	case c.mode == callsUnordered:
		return calls + " and no others, in any order"
	case c.mode == callsInOrder:
		return calls + " in this order"
	case c.mode == callsSuperset:
		return calls + " among the calls"
	case c.mode == callsSubset:
		return "no other calls than " + calls
	}
	return calls + " and no others"
}

// detail names the calls that differ, if they are few.
func (c toolCallsScorer) detail(p *callPairs) string {
	missing, surplus := p.missing, p.surplus
	switch {
	case len(missing)+len(surplus) == 0 || c.mode == callsInOrder && len(missing) == 0:
		return "; the order differs"
	case len(missing) == 1 && len(surplus) == 1 && missing[0].name == surplus[0].name:
		return c.difference(missing[0], surplus[0])
	case c.mode == callsSuperset || c.mode == callsInOrder:
		surplus = nil
	case c.mode == callsSubset:
		missing = nil
	}
	return few("missing", missing) + few("not expected", surplus)
}

// few names some calls, or none when there are many: the diff shows them.
func few(what string, calls []readCall) string {
	if len(calls) == 0 || len(calls) > maxShownCalls {
		return ""
	}
	return "; " + what + ": " + strings.Join(inReason.lines(calls, maxShownCalls), ", ")
}

// difference says where the arguments of two calls of one tool differ.
func (c toolCallsScorer) difference(want, got readCall) string {
	if got.malformed() {
		return "; the arguments are not a JSON object"
	}
	args := got.args
	if wanted, _ := want.args.(map[string]any); len(wanted) == 0 {
		return "; no arguments are listed: `args: ignore` compares names alone"
	}
	if c.args == argsSubset {
		args = within(want.args, args)
	}
	if expr.Unreadable(args) != "" {
		return ""
	}
	d, _ := jsondiff.Rules{}.Compare(want.args, args, maxFields)
	if d == nil {
		return ""
	}
	lines := differenceLines(d)
	return "; in the arguments: " + strings.Join(lines[:min(3, len(lines))], "; ")
}

// within removes keys of mappings that the other value does not have.
func within(want, got any) any {
	w, ok := want.(map[string]any)
	g, is := got.(map[string]any)
	if !ok || !is {
		return got
	}
	out := map[string]any{}
	for key, item := range g {
		if other, listed := w[key]; listed {
			out[key] = within(other, item)
		}
	}
	return out
}
