package suite

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"iter"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/evalrun/evalrun/diag"
	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/expr"
	"github.com/evalrun/evalrun/internal/yaml"
)

// ToolResults are the suite's answers to function calls of the model. A trial continues with them until the model answers.
type ToolResults struct {
	// MaxSteps is the most calls of the model in a trial.
	MaxSteps int

	answers map[string]*ToolAnswer
}

// ToolAnswer is the suite's answer to calls of one function: a text, or the output of a program.
type ToolAnswer struct {
	// Command is the program; nil for a text.
	Command *Command
	// Timeout is the time limit of the program.
	Timeout time.Duration
	// Env names the private variables to pass to the program.
	Env []string

	text source
}

// Of returns the answer to calls of a function; nil when the suite has none.
func (t *ToolResults) Of(function string) *ToolAnswer { return t.answers[function] }

// Answer reports whether the suite has an answer to every one of the calls. A nil ToolResults has none.
func (t *ToolResults) Answer(calls []eval.FunctionCall) bool {
	return t != nil && len(calls) > 0 &&
		!slices.ContainsFunc(calls, func(c eval.FunctionCall) bool { return t.answers[c.Name] == nil })
}

// argsName is the name of a call's arguments in templates.
const argsName = "args"

// Text renders the text for a call with these arguments. The error is worded for the model and for users.
func (a *ToolAnswer) Text(args eval.Object, vars eval.Dict) (string, error) {
	all := eval.Dict{}
	maps.Copy(all, vars)
	all[argsName] = args
	text, err := a.text.t.Render(all)
	var e *expr.TemplateError
	if !errors.As(err, &e) {
		return text, err
	}
	if _, given := args.Get(e.Missing); e.Missing != "" && !given &&
		strings.Contains(a.text.text, "."+argsName+"."+e.Missing) {
		return "", fmt.Errorf("the call has no argument `%s`", e.Missing)
	}
	return "", fmt.Errorf("the result cannot be made of the arguments: %s", e.Message)
}

func (t *toolReader) results(m yaml.Map) *ToolResults {
	n, limit := m.Get("toolResults"), m.Get("maxSteps")
	steps := limit.Int(1, maxSteps)
	if !m.Has("toolResults") {
		return nil
	}
	out := &ToolResults{MaxSteps: steps, answers: map[string]*ToolAnswer{}}
	if limit.IsZero() {
		out.MaxSteps = defaultSteps
	}
	for e := range n.Map().Entries() {
		t.declares(e.Key)
		if a := t.answer(e.Value); a != nil {
			out.answers[e.Name()] = a
		}
	}
	if n.IsMapping() && n.Map().Len() == 0 {
		n.Errorf("such as {get_order: {text: shipped}}", "there are no results")
	}
	t.checkSteps(m, out)
	return out
}

func (t *toolReader) checkSteps(m yaml.Map, r *ToolResults) {
	turns := len(t.prompt.turns)
	if !t.prompt.Live || turns <= r.MaxSteps || r.MaxSteps == 0 {
		return
	}
	at := m.Get("maxSteps")
	if at.IsZero() {
		at = m.Key("toolResults")
	}
	at.Errorf(
		"each turn of the user takes a step, and each answer to calls another",
		"the live chat has %d turns, and `maxSteps` allows %s of the model", turns, diag.Count(r.MaxSteps, "call"),
	)
}

func (t *toolReader) answer(n yaml.Node) *ToolAnswer {
	m := n.Map(toolResultBlock().Names()...)
	if !n.IsMapping() {
		return nil
	}
	text, command := m.Get("text"), m.Get("command")
	switch {
	case text.IsZero() == command.IsZero():
		n.Errorf("such as `text: sunny`", "a result has one of text and command")
		return nil
	case command.IsZero():
		for _, key := range []string{"timeout", "env"} {
			if m.Has(key) {
				m.Key(key).Errorf("remove it", "`%s` belongs to a command", key)
			}
		}
		return &ToolAnswer{text: t.template(text)}
	case t.refusesProgram(m.Key("command")):
		return nil
	}
	command.EachText(func(word yaml.Node, text string) {
		if expr.HasActions(text) {
			word.Errorf("the program reads the arguments as JSON on its standard input", "a command is not a template")
		}
	})
	c := t.NewCommand(command, "command")
	if c == nil {
		return nil
	}
	return &ToolAnswer{Command: c, Timeout: CommandTime(m.Get("timeout")), Env: t.PassedVariables(m.Get("env"))}
}

// templates yields the texts among the answers, in the order of the functions' names.
func (t *ToolResults) templates() iter.Seq[source] {
	return func(yield func(source) bool) {
		if t == nil {
			return
		}
		for _, name := range names(t.answers) {
			if a := t.answers[name]; a.Command == nil && !yield(a.text) {
				return
			}
		}
	}
}

func (t *ToolResults) check(c *Case, diags *diag.List) {
	for text := range t.templates() {
		for _, f := range text.t.Fields() {
			_, known := c.vars[f.Name]
			switch {
			case f.Name == argsName && known:
				diags.Errorf(
					text.pos(f.Offset), "give the variable another name",
					"`%s` are the arguments of the call here, and case `%s` has a variable of that name", argsName, c.Name,
				)
			case f.Name != argsName && !known:
				c.missing(f.Name, text.pos(f.Offset), diags)
			}
		}
	}
}

// Hash identifies the answers for a case: their texts and commands, the files of the commands, the variables that they use,
// and MaxSteps. It is "" for nil.
func (t *ToolResults) Hash(c *Case) string {
	if t == nil {
		return ""
	}
	h := sha256.New()
	fmt.Fprintf(h, "%d\n", t.MaxSteps)
	for _, name := range names(t.answers) {
		a := t.answers[name]
		if a.Command != nil {
			fmt.Fprintf(h, "%q command %s\n", name, a.Command.Identity)
			continue
		}
		fmt.Fprintf(h, "%q text %q\n", name, a.text.text)
		a.text.writeVars(h, c.vars)
	}
	return hex.EncodeToString(h.Sum(nil))[:32]
}

func (s source) writeVars(w io.Writer, vars eval.Dict) {
	if s.t.UsesAll() {
		fmt.Fprintf(w, "%s\n", vars)
		return
	}
	for _, f := range s.t.Fields() {
		if value, ok := vars[f.Name]; ok && f.Name != argsName {
			fmt.Fprintf(w, "%q %s\n", f.Name, eval.JSON(value))
		}
	}
}

// Programs returns the commands of the suite, without those of scorers, with the digests of their files.
func (s *Suite) Programs() []string {
	var out []string
	for _, t := range s.Targets {
		if p, ok := t.Of.(*Program); ok {
			out = append(out, p.identity)
		}
		if h, ok := t.Of.(*HTTPTarget); ok && h.Auth != nil {
			out = append(out, h.Auth.Identity)
		}
	}
	for _, p := range s.Prompts {
		out = append(out, p.Results.programs()...)
	}
	return out
}

func (t *ToolResults) programs() []string {
	var out []string
	if t == nil {
		return nil
	}
	for _, name := range names(t.answers) {
		if c := t.answers[name].Command; c != nil {
			out = append(out, c.Identity)
		}
	}
	return out
}
