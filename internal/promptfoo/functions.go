package promptfoo

import (
	"bytes"
	"encoding/json"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/evalrun/evalrun/internal/yaml"
)

// This file converts functions of the author that make prompts and tests.

type function struct {
	file    string // in the suite's folder
	code    []byte
	name    string // "" for the one that the file exports, or for a script
	options []string
}

// function copies the file of a reference such as file://prompt.py:create. The error says why it has no counterpart.
func (c *converter) function(s src, ref string) (f *function, why string) {
	file, name, _ := strings.Cut(strings.TrimPrefix(ref, "file://"), ":")
	copied, ok := c.copyCode(s, file)
	if !ok {
		return nil, s.note()
	}
	at, code, err := c.source.read(file)
	if err != nil {
		return nil, err.Error()
	}
	f = &function{file: copied, code: code, name: name}
	folder := c.source.place
	if folder == "" {
		folder = c.source.copied(codeDir, "")
		c.keepData(path.Dir(at), code)
	}
	if folder != codeDir {
		f.options = []string{"--folder", folder}
	}
	s.differs("the author's code in %s runs unchanged in a shim that needs %s", copied, language(file))
	return f, ""
}

// keepData copies the files that code names, relative to its own folder or to that of the configuration.
func (c *converter) keepData(dir string, code []byte) {
	for _, m := range dataFiles.regexp().FindAllSubmatch(code, -1) {
		for _, from := range []string{".", dir} {
			name := path.Join(from, string(m[1]))
			if !c.source.has(name) {
				continue
			}
			if found, data, err := c.source.read(name); err == nil {
				c.keep(found, data, 0)
			}
		}
	}
}

// command is the program that runs a function in one of two shims.
func (f *function) command(c *converter, inJS, inPython string) yamlValue {
	shim := inJS
	if language(f.file) == python {
		shim = inPython
	}
	words := []string{language(f.file), c.shims.use(shim), f.file}
	if f.name != "" {
		words = append(words, "--function", f.name)
	}
	return texts(append(words, f.options...)...)
}

func (f *function) configured(c *converter, config src) {
	if config.IsZero() {
		return
	}
	kind := strings.TrimSuffix(path.Base(f.file), path.Ext(f.file))
	at := "shims/" + c.configNames.free(kind+".config", "-") + ".json"
	c.files[at] = jsonOf(config)
	f.options = append(f.options, "--config", at)
	config.ok("in " + at)
}

// notImported is a variable of cases that are only errors. The shims call no function for them, whose variables are not known.
const notImported = "notImported"

func (c *converter) promptFunction(s src, ref, label string) {
	f, why := c.function(s, ref)
	if f == nil {
		c.losePrompt(s, ref, why)
		return
	}
	name := strings.TrimSuffix(path.Base(f.file), path.Ext(f.file))
	if f.name != "" {
		name += "-" + f.name
	}
	p := &prompt{label: label, function: f, at: s, names: []string{ref, strings.TrimPrefix(ref, "file://")}}
	if label == "" {
		p.label = name
	}
	c.prompts = append(c.prompts, p)
}

func (c *converter) functionPrompts(all *sequence, p *prompt, to []*target) {
	command := p.function.command(c, shimPromptJS, shimPromptPy)
	for _, g := range groups(to) {
		all.add(c.begin(p, g).set("program", command))
	}
	if len(c.targets) == 0 {
		all.add(new(mapping).set("name", textValue(c.newName(p, nil))).set("program", command))
	}
	targets := &mapping{}
	for _, t := range c.targets {
		m := new(mapping).set("id", textValue(t.names[0])).set("label", textValue(t.names[len(t.names)-1]))
		if t.chats {
			m.set("chat", literal("true"))
		}
		targets.set(t.name, m)
	}
	c.files["shims/targets.json"] = encoded(targets)
}

func encoded(v yamlValue) []byte {
	data, _ := json.MarshalIndent(native(v), "", "  ") // values from YAML always encode
	return append(data, '\n')
}

// testsAt adds the tests of a {path, config}, which is a function with what it gets, or another file.
func (c *converter) testsAt(s src) {
	at, config := s.get("path"), s.get("config")
	name, _, _ := strings.Cut(strings.TrimPrefix(at.text(), "file://"), ":")
	if language(name) == "" {
		c.loseTests(s, at.text(), "settings that go with a file of tests have no counterpart")
		return
	}
	c.testFunction(at, at.text(), config)
	s.rest()
	s.ok("as `cases`")
}

func (c *converter) testFunction(s src, ref string, config src) {
	f, why := c.function(s, ref)
	if f == nil {
		c.loseTests(s, ref, why)
		return
	}
	f.configured(c, config)
	m := new(mapping).set("program", f.command(c, shimTestsJS, shimTestsPy))
	c.sets = append(c.sets, m)
	c.columns = append(c.columns, map[string]bool{}) // a test may lack any variable
	c.generators = append(c.generators, f)
}

// testsName is the file that testsFile writes.
const testsName = "shims/tests.json"

// testsFile tells the shims of generators what their assertions need to know of the suite.
func (c *converter) testsFile() {
	if len(c.generators) == 0 {
		return
	}
	changes, names, kinds := &sequence{}, &sequence{}, &sequence{}
	for _, kind := range slices.Sorted(maps.Keys(assertionKinds())) {
		kinds.add(textValue(kind))
	}
	for _, change := range c.defaults.changes {
		changes.add(textValue(change.file))
	}
	for _, e := range c.defaults.scorers.items {
		if m, is := e.value.(*mapping); is && m.text("name") != "" {
			names.add(textValue(m.text("name")))
		}
	}
	targets := c.targetArgs()
	out := new(mapping).set("targets", targets).set("changes", changes).set("names", names).set("vars", &c.defaults.vars)
	out.set("kinds", kinds).set("broken", texts(slices.Sorted(maps.Keys(c.broken))...))
	is := map[bool]literal{true: "true", false: "false"}
	out.set("bare", is[len(c.defaults.scorers.items) == 0]).set("weighed", is[c.defaults.threshold != nil])
	var code [][]byte
	for _, f := range c.generators {
		code = append(code, f.code)
	}
	all := bytes.Join(code, []byte("\n"))
	if judged := c.rubricOf(all); judged != nil {
		out.set("rubric", judged)
	}
	if !targets.empty() || len(changes.items) > 0 || shimKinds.regexp().Match(all) {
		c.shims.use(shimAssertJS)
	}
	if pythonKind.regexp().Match(all) {
		c.shims.use(shimAssertPy)
	}
	c.details = c.details || responseParts.regexp().Match(all)
	c.files[testsName] = encoded(out)
}

// shimKinds matches assertions that the shim for assertions judges.
var shimKinds = pattern{expression: `["'](?:not-)?(?:regex|is-json|contains-json|word-count|equals|javascript|levenshtein)["']`}

// pythonKind matches assertions that the shim for Python judges.
var pythonKind = pattern{expression: `["'](?:not-)?python["']`}

// rubricOf returns the scorer of a rubric with the text RUBRIC; nil if no generator makes one, or without a judge.
func (c *converter) rubricOf(code []byte) yamlValue {
	if !bytes.Contains(code, []byte("llm-rubric")) {
		return nil
	}
	var ignored diagList
	n, _ := yaml.Parse("rubric", []byte("{type: llm-rubric, value: RUBRIC}"), &ignored)
	in := &scope{judge: c.defaults.judge, prompt: c.defaults.prompt}
	a := assertion{src{n, "", "", newFates(c.fates.secrets)}, "llm-rubric", false, in}
	made, _ := rubric("", "")(c, a)
	if made == nil {
		return nil
	}
	return made.block()
}

// dataFiles matches names of files that a function may read, from its own folder or that of the configuration.
var dataFiles = pattern{
	expression: `["'\x60](?:file://(?:\./)?)?(\w[\w./ -]*\.(?:jsonl?|ya?ml|csv|tsv|txt|md|j2|[mc]?[jt]s|py))(?::\w+)?["'\x60]`,
}
