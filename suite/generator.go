package suite

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/evalrun/evalrun/diag"
	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/clients/wire"
	"github.com/evalrun/evalrun/internal/expr"
	"github.com/evalrun/evalrun/internal/files"
	"github.com/evalrun/evalrun/internal/wirejson"
	"github.com/evalrun/evalrun/internal/yaml"
)

// Limits of a program that writes prompts or cases.
const (
	generatorTime  = 30 * time.Second
	generatorBytes = 16 << 20
)

// generator is a program that writes prompts or cases.
type generator struct {
	command *Command
	node    yaml.Node // the command
	timeout time.Duration
	env     []string // names of private variables to pass to it
	vars    passed   // that a prompt's program gets
	wrote   *outputs
}

func generatorShape() yaml.Shape {
	return yaml.Either(yaml.OneOrMore(yaml.Text), generatorBlock().Shape())
}

var generatorBlock = sync.OnceValue(func() yaml.Block {
	return yaml.Block{
		Name: "generator",
		Need: []string{"command"},
		Keys: []yaml.Key{
			key("command", yaml.OneOrMore(yaml.Text), "The program and its arguments, plain texts. There is no shell."),
			key("timeout", yaml.Duration, "How long it may run: 30s when not given, at most 10m."),
			key(
				"env", yaml.OneOrList(yaml.Text),
				"Names of variables that the program gets although it gets no key and nothing of evalrun.",
			),
			key("vars", passedShape(), "The variables that a prompt's program gets: all that are not hidden when not given."),
		},
	}
})

// generator reads the key `program` of a prompt or a case. It is nil after a problem.
func (l *loader) generator(m yaml.Map) *generator {
	n := m.Get("program")
	onlyKept := l.opts.Programs.kept != nil && !l.opts.Programs.Run // nothing is started, and the program need not be on this machine
	if !onlyKept && l.refusesProgram(m.Key("program")) {
		return nil
	}
	g := &generator{node: n, timeout: generatorTime, wrote: &l.outputs, vars: passed{all: true}}
	if n.IsMapping() {
		block := n.Map(generatorBlock().Names()...)
		if g.node = block.Need("command"); g.node.IsZero() {
			return nil
		}
		if v := block.Get("timeout"); !v.IsZero() {
			g.timeout = CommandTime(v)
		}
		g.env = l.PassedVariables(block.Get("env"))
		if v := block.Get("vars"); !v.IsZero() {
			g.vars = readPassed(v)
		}
	}
	g.node.EachText(func(word yaml.Node, text string) {
		if expr.HasActions(text) {
			word.Errorf("the program reads the variables as JSON on its standard input", "a command is not a template")
		}
	})
	finder := l.Suite
	if onlyKept {
		finder = nil
	}
	if g.command = finder.NewCommand(g.node, "program"); g.command == nil {
		return nil
	}
	if finder != nil {
		l.checkSources(g)
	}
	return g
}

// source returns the file with the source of the program, or else the program.
func (g *generator) source() string {
	for _, word := range slices.Backward(g.command.Words) { // an earlier one may be a shim for it
		if programSource().MatchString(word) {
			return word
		}
	}
	return g.command.Words[0]
}

// programSource matches arguments that name the source of a program, which must exist.
var programSource = pattern(`(?i)^[^-].*\.(py|rb|pl|php|sh|lua|[cm]?[jt]s)$`)

func (l *loader) checkSources(g *generator) {
	for i, item := range g.node.Items() {
		word := g.command.Words[i]
		if i == 0 || !programSource().MatchString(word) || !files.Local(path.Clean(word)) {
			continue
		}
		_, err := fs.Stat(l.files.fsys, path.Clean(word))
		if _, refused := errors.AsType[*files.Refusal](err); refused { // the program can read it
			continue
		}
		if err := l.files.check(word); err != nil {
			item.Errorf("", "%s", err)
		}
	}
}

// run runs the program. The error is worded for users.
func (g *generator) run(input []byte, with *Programs) (string, error) {
	c := g.command
	if c.Path == "" {
		return "", fmt.Errorf("the program %q cannot be run: the suite does not come from a folder", c.Words[0])
	}
	command := files.Invocation{
		Path: c.Path, Args: c.Words[1:], Dir: c.Dir, Input: append(bytes.Clone(input), '\n'), MaxOutput: generatorBytes,
		Timeout: g.timeout, Stop: with.Stop, Pass: g.env, Keys: with.Keys,
	}
	out, err := command.Output()
	hidden := wire.OfVariables(g.env)
	switch {
	case errors.Is(err, files.ErrStopped):
		return "", err
	case err != nil:
		said := strings.Join(strings.Fields(err.Error()), " ") // on one line, such as a traceback
		return "", fmt.Errorf("the program %q %s", c.Words[0], hidden.OutOf(said))
	case !utf8.Valid(out):
		return "", fmt.Errorf("the program %q wrote what is not UTF-8 text", c.Words[0])
	}
	return hidden.OutOfText(strings.TrimPrefix(string(out), "\ufeff")), nil
}

// promptInput is the JSON on the standard input of a program that writes prompts. Fields are only ever added.
type promptInput struct {
	Version int          `json:"version"`
	Vars    eval.Dict    `json:"vars"`
	Target  promptTarget `json:"target"`
}

type promptTarget struct {
	Name  string `json:"name"`
	Model string `json:"model,omitempty"` // "" for an application
}

// promptInput returns the input for a case on an arm, and what identifies the output.
func (c *Case) promptInput(arm Arm) (input []byte, of outputKey) {
	in := promptInput{Version: 1, Vars: c.passed(&arm.Prompt.generator.vars), Target: promptTarget{Name: arm.Target.Name}}
	if in.Vars == nil {
		in.Vars = eval.Dict{}
	}
	if m := arm.Target.Model(); m != nil {
		in.Target.Model = m.ID
	}
	input, _ = wirejson.Marshal(in) // all values were checked
	return input, outputKey{Prompt: arm.Prompt.Name, Target: arm.Target.Name, Input: hashOf(input)}
}

// promptKeys make an object a prompt. An object without any of them is the text of the prompt.
var promptKeys = []string{"system", "turns", "tools"}

func (s *Suite) isWritten(c *Case, arm Arm) bool {
	_, key := c.promptInput(arm)
	_, ok := s.outputs.get(key)
	return ok
}

// written returns the prompt that the program of an arm's prompt wrote for a case. It is nil after a problem.
func (s *Suite) written(c *Case, arm Arm, diags *diag.List) *Prompt {
	g := arm.Prompt.generator
	_, key := c.promptInput(arm)
	text, ok := g.wrote.get(key)
	if !ok {
		diags.Errorf(
			g.node.Pos(), "run the suite again", "case `%s`: there is no output of the program %q for the target `%s`",
			c.Name, g.command.Words[0], arm.Target.Name,
		)
		return nil
	}
	out := *arm.Prompt
	var own diag.List
	s.readWritten(&out, g.node.WithDiags(&own), text, &own)
	for _, d := range own.Sorted() {
		d.Message = fmt.Sprintf("case `%s`: in what the program wrote for the target `%s`: %s", c.Name, arm.Target.Name, d.Message)
		diags.Add(d)
	}
	if own.HasErrors() {
		return nil
	}
	return &out
}

// readWritten adds the output of a program to a prompt. Problems go to the node at.
func (s *Suite) readWritten(p *Prompt, at yaml.Node, text string, diags *diag.List) {
	value, err := eval.ParseValue([]byte(text))
	object, isObject := value.(eval.Object)
	list, isList := value.(eval.Array)
	switch {
	case strings.TrimSpace(text) == "":
		at.Errorf("a prompt is a text, or {\"turns\": [{\"user\": \"...\"}]}", "it is empty")
		return
	case err != nil && strings.HasPrefix(strings.TrimSpace(text), "{") && mentions(text):
		at.Errorf("write it with a JSON library", "it looks like a prompt in JSON, and it is not JSON: %s", err)
		return
	case isList && len(list) > 0 && isMessage(list[0]):
		at.Errorf("write {\"system\": \"...\", \"turns\": [{\"user\": \"...\"}, {\"model\": \"...\"}]}", "it is a list of messages")
		return
	}
	l := &loader{Suite: s, diags: diags, equal: map[string]*Scorer{}, verbatim: true}
	if !isObject || !isPrompt(object) {
		p.turns = single(textInTurn{l.template(at.With(strings.TrimRight(text, "\r\n")))})
		return
	}
	m := at.With(object).Map(promptKeys...)
	p.turns = l.chat(m.Need("turns"), false)
	if n := m.Get("system"); !n.IsZero() {
		p.system = l.system(n)
	}
	if n := m.Get("tools"); !n.IsZero() {
		if len(p.Tools) > 0 {
			n.Errorf("leave one of them out", "it has tools, and the prompt has `tools` too")
		}
		t := toolReader{loader: l, prompt: p, names: map[string]diag.Pos{}}
		t.declarations(n)
		p.toolsPos = at.Pos()
	}
}

// isPrompt reports whether an object has one of promptKeys, or one that is spelled differently.
func isPrompt(o eval.Object) bool {
	for _, m := range o {
		for _, key := range promptKeys {
			if strings.EqualFold(m.Name, key) {
				return true
			}
		}
	}
	return false
}

// mentions reports whether a text that is not JSON has one of promptKeys in quotes.
func mentions(text string) bool {
	for _, key := range promptKeys {
		if strings.Contains(text, `"`+key+`"`) {
			return true
		}
	}
	return false
}

func isMessage(v eval.Value) bool {
	o, _ := v.(eval.Object)
	_, role := o.Get("role")
	_, content := o.Get("content")
	return role && content
}
