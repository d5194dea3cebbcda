package suite

import (
	"bytes"
	"encoding/json"
	"errors"
	"path"
	"strconv"
	"strings"
	"sync"
	"unicode/utf16"

	"github.com/evalrun/evalrun/diag"
	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/yaml"
)

// Limits of tools.
const (
	defaultSteps = 8  // calls of the model in a trial, unless the suite sets them
	maxSteps     = 64 // largest value in a suite
	maxTools     = 128
)

// toolName matches the names of functions that all protocols accept.
var toolName = pattern(`^[A-Za-z_][A-Za-z0-9_.-]{0,63}$`)

var toolKeys = sync.OnceValue(func() []yaml.Key {
	return []yaml.Key{
		key(
			"tools", yaml.Either(yaml.Filled(toolBlock().Shape()), toolFileBlock().Shape()),
			"The functions that the model may call: a list, or a file with one.",
		),
		key(
			"toolChoice", yaml.Either(yaml.Word(toolModes()...), toolNamed().Shape()),
			"Whether the model calls a function: auto, none, required, or {name: N} for one of them.",
		),
		key(
			"toolResults", yaml.Some(yaml.Named(toolName().String(), toolResultBlock().Shape())),
			"What evalrun answers to calls, by the name of the function. The model is then called again.",
		),
		key("maxSteps", yaml.Int(1, maxSteps), "How often the model is called in a trial at most; 8 when not given."),
	}
})

func toolModes() []string {
	return []string{string(eval.Auto), string(eval.None), string(eval.Required)}
}

var toolBlock = sync.OnceValue(func() yaml.Block {
	return yaml.Block{
		Need: []string{"name"},
		Keys: []yaml.Key{
			key("name", yaml.Matching(toolName().String()), "The function's name."),
			key("description", yaml.Text, "What it does, for the model."),
			key("parameters", yaml.MapShape(yaml.Any), "A JSON Schema of its arguments, an object; none when not given."),
		},
	}
})

var toolFileBlock = sync.OnceValue(func() yaml.Block {
	return yaml.Block{
		Need: []string{"file"},
		Keys: []yaml.Key{key("file", yaml.Text, "A JSON or YAML file of the project with the list.")},
	}
})

var toolNamed = sync.OnceValue(func() yaml.Block {
	return yaml.Block{
		Need: []string{"name"},
		Keys: []yaml.Key{key("name", yaml.Matching(toolName().String()), "The function that is called.")},
	}
})

var toolResultBlock = sync.OnceValue(func() yaml.Block {
	return yaml.Block{
		One: []string{"text", "command"},
		Keys: []yaml.Key{
			key("text", yaml.Text, "The result: a template over the arguments, `{{.args.id}}`, and the variables of the case."),
			key("command", yaml.OneOrMore(yaml.Text), "A program that gets the arguments as JSON and writes the result."),
			key("timeout", yaml.Duration, "How long the program may run: 10s when not given, at most 10m."),
			key(
				"env", yaml.OneOrList(yaml.Text),
				"Names of variables that the program gets although it gets no key and nothing of evalrun.",
			),
		},
	}
})

func (l *loader) tooling(m yaml.Map, p *Prompt) {
	t := toolReader{loader: l, prompt: p, names: map[string]diag.Pos{}}
	for _, key := range []string{"toolChoice", "toolResults", "maxSteps"} {
		if m.Has(key) && !m.Has("tools") {
			m.Key(key).Errorf("declare the functions under `tools`", "`%s` goes with `tools`, and this prompt has none", key)
			t.undeclared = true
		}
	}
	if m.Has("tools") {
		p.toolsPos = m.Key("tools").Pos()
		t.declarations(m.Get("tools"))
	}
	t.choice(m.Get("toolChoice"))
	p.Results = t.results(m)
	t.advise(m)
}

type toolReader struct {
	*loader
	prompt     *Prompt
	names      map[string]diag.Pos
	undeclared bool // the declarations are invalid, so their names are unknown
}

func (t *toolReader) declarations(n yaml.Node) {
	before := t.diags.Len()
	if n.IsMapping() {
		n = t.toolFile(n.Map(toolFileBlock().Names()...).Need("file"))
	}
	items := n.Seq()
	for _, item := range items {
		t.declaration(item)
	}
	switch {
	case n.IsSequence() && len(items) == 0:
		n.Errorf("declare a function, or remove `tools`", "there are no tools")
	case len(items) > maxTools:
		n.Errorf("declare the ones that this prompt needs", "there are %d tools; at most %d are allowed", len(items), maxTools)
	}
	t.undeclared = t.undeclared || t.diags.Len() > before && len(t.names) == 0
}

func (t *toolReader) declaration(n yaml.Node) {
	m := n.Map(toolBlock().Names()...)
	if !n.IsMapping() {
		return
	}
	name, parameters := m.Need("name"), m.Get("parameters")
	one := eval.Declaration{Name: name.Str(), Description: m.Get("description").Str()}
	if !parameters.IsZero() && isParameters(parameters) {
		one.Parameters = parameters.JSON(nil)
	}
	if isToolName(name) && unique(t.names, name, "tool") {
		t.prompt.Tools = append(t.prompt.Tools, one)
	}
}

func isToolName(n yaml.Node) bool {
	if !n.IsScalar() || n.IsNull() { // already reported
		return false
	}
	if toolName().MatchString(n.Str()) {
		return true
	}
	n.Errorf(
		"1 to 64 letters, digits, `_`, `.` and `-`, the first a letter or `_`", "`%s` is not the name of a function", n.Str(),
	)
	return false
}

func isParameters(n yaml.Node) bool {
	if !n.IsMapping() {
		n.Errorf(
			"such as {type: object, properties: {id: {type: string}}}", "`parameters` is a JSON Schema, a mapping, found %s",
			n.Describe(),
		)
		return false
	}
	kind := n.Map().Get("type")
	if kind.IsScalar() && !kind.IsNull() && !strings.EqualFold(kind.Str(), "object") {
		kind.Errorf(
			"write `type: object`, and describe the arguments under `properties`",
			"the arguments of a function are an object, and not of type `%s`", kind.Str(),
		)
		return false
	}
	return true
}

func (t *toolReader) choice(n yaml.Node) {
	switch {
	case n.IsZero():
	case n.IsMapping():
		name := n.Map(toolNamed().Names()...).Need("name")
		if text := name.Str(); t.declares(name) {
			t.prompt.ToolChoice = &eval.Choice{Name: text}
		}
	default:
		if mode := n.Word(toolModes()...); mode != "" {
			t.prompt.ToolChoice = &eval.Choice{Mode: eval.ChoiceMode(mode)}
		}
	}
}

func (t *toolReader) declares(name yaml.Node) bool {
	if t.undeclared || !name.IsScalar() || name.IsNull() {
		return false
	}
	if _, ok := t.names[name.Str()]; ok {
		return true
	}
	name.Errorf(diag.DidYouMean(name.Str(), names(t.names)), "`tools` has no function `%s`", name.Str())
	return false
}

// advise warns about combinations that are allowed but hardly intended.
func (t *toolReader) advise(m yaml.Map) {
	choice, answered := t.prompt.ToolChoice, m.Has("toolResults")
	switch {
	case m.Has("maxSteps") && !answered && !t.undeclared:
		m.Key("maxSteps").Warnf(
			"add `toolResults`, or remove it", "`maxSteps` has no effect without `toolResults`: the model is called once",
		)
	case choice == nil || !answered:
	case choice.Mode == eval.None:
		m.Key("toolResults").Warnf(
			"remove `toolResults`, or `toolChoice`", "`toolChoice: none` lets the model call no function, so these are never used",
		)
	case choice.Mode == eval.Required || choice.Name != "":
		m.Key("toolChoice").Warnf(
			"`auto` lets the model give an answer", "the model has to call a function in every step, so each trial runs until `maxSteps`",
		)
	}
}

// toolFile reads a file with a list of declarations. It returns the zero node after a problem.
func (l *loader) toolFile(n yaml.Node) yaml.Node {
	if !n.IsScalar() || n.IsNull() {
		n.Str() // which says what it should be
		return yaml.Node{}
	}
	name := n.Str()
	src, err := l.files.text(name)
	if err != nil {
		n.Errorf("", "%s", err)
		return yaml.Node{}
	}
	if strings.EqualFold(path.Ext(name), ".json") {
		if at, ok := jsonSlip(src); !ok {
			l.diags.Errorf(source{file: l.Shown(name), text: string(src)}.pos(at), "", "the file is not JSON")
			return yaml.Node{}
		}
		src = asYAML(src)
	}
	root, ok := yaml.Parse(l.Shown(name), src, l.diags)
	if !ok {
		return yaml.Node{}
	}
	if !root.IsSequence() {
		root.Errorf("a list of {name, description, parameters}", "a file of tools is a list, found %s", root.Describe())
		return yaml.Node{}
	}
	return root
}

// jsonSlip returns the offset of the first syntax error of a JSON text.
func jsonSlip(src []byte) (offset int, ok bool) {
	var value json.RawMessage
	err := json.Unmarshal(bytes.TrimPrefix(src, []byte("\ufeff")), &value)
	var bad *json.SyntaxError
	if errors.As(err, &bad) {
		return max(0, int(bad.Offset)-1), false
	}
	return 0, err == nil
}

// surrogates matches a pair of JSON escapes for one character, for which YAML has a single escape.
var surrogates = pattern(`\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}`)

// asYAML turns JSON into YAML: it replaces tabs, which occur between values only, and pairs of surrogates.
func asYAML(src []byte) []byte {
	return surrogates().ReplaceAllFunc(bytes.ReplaceAll(src, []byte("\t"), []byte(" ")), func(pair []byte) []byte {
		high, _ := strconv.ParseUint(string(pair[2:6]), 16, 16)
		low, _ := strconv.ParseUint(string(pair[8:12]), 16, 16)
		return []byte(string(utf16.DecodeRune(rune(high), rune(low))))
	})
}
