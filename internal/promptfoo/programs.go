package promptfoo

import (
	"path"
	"slices"
	"strings"
)

// This file converts programs of the author that are targets.

// isScript reports whether an id names a program in JavaScript or Python.
func isScript(id string) bool {
	name, _ := scriptOf(id)
	return name != ""
}

// scriptOf splits an id such as file://provider.py:call_api or python:provider.py into file and function.
func scriptOf(id string) (file, function string) {
	rest := id
	for _, prefix := range []string{"file://", "python:", "javascript:"} {
		rest = strings.TrimPrefix(rest, prefix)
	}
	rest = strings.TrimPrefix(rest, "file://")
	file, function, _ = strings.Cut(rest, ":")
	if language(file) == "" || rest == id && !strings.Contains(id, "/") {
		return "", ""
	}
	return file, function
}

// Programs that run code.
const (
	javaScript = "node"
	python     = "python3"
)

// language returns the program that runs a file, "" if there is none.
func language(file string) string {
	switch ext := path.Ext(file); {
	case ext == ".py":
		return python
	case slices.Contains(scriptEndings, ext):
		return javaScript
	}
	return ""
}

// markedObjects means that the shim ends answers that were objects with a tab, because a text may be JSON
// too.
const markedObjects = "marked"

func (c *converter) script(t *target, id string) {
	file, function := scriptOf(id)
	name, ok := c.copyCode(t.at, file)
	if !ok {
		name = path.Join("code", path.Base(file))
		t.comments = append(t.comments, "TODO: put the program at "+name)
	}
	shim, options := shimProviderJS, []string{}
	if language(file) == python {
		shim = shimProviderPy
	}
	if function != "" {
		options = []string{"--function", function}
	}
	config, block, settings := t.at.get("config"), &mapping{}, ""
	if config.IsMapping() {
		at := "shims/" + t.name + ".config.json"
		c.files[at] = jsonOf(config)
		settings = string(c.files[at])
		options = append(options, "--config", at)
		config.ok("in " + at)
	}
	options = append(options, "--id", id)
	t.json = markedObjects
	command := append([]string{language(file), c.shims.use(shim), name}, options...)
	block.set("command", texts(command...))
	block.passes(settings)
	t.block.set("program", block)
	t.at.differs("the author's code runs unchanged in a shim that needs %s", language(file))
}

// execProvider makes a target of a command line, which gets the prompt as its last argument.
func (c *converter) execProvider(t *target, command string) {
	words := splitCommand(command)
	for i, w := range words {
		if language(w) == "" && !strings.HasSuffix(w, ".sh") && !strings.HasPrefix(w, "./") {
			continue
		}
		if name, ok := c.copyCode(t.at, w); ok {
			words[i] = name
		} else {
			t.comments = append(t.comments, "TODO: put the program "+w+" into the suite's folder")
		}
	}
	t.at.hideWords(words)
	all := append([]string{python, c.shims.use(shimExec), "--"}, words...)
	block := new(mapping).set("command", texts(all...))
	block.passes(all...)
	t.block.set("program", block)
	t.at.differs("a shim that needs python3 passes the prompt, the options and the context as arguments, as promptfoo does")
	c.restOfConfig(t, "goes to the program as its second argument in promptfoo, and is empty here")
}

// splitCommand splits a command line at spaces outside quotes.
func splitCommand(line string) (out []string) {
	var word strings.Builder
	var quote rune
	open := false
	for _, r := range line + " " {
		switch {
		case quote != 0 && r == quote:
			quote = 0
		case quote == 0 && (r == '"' || r == '\''):
			quote, open = r, true
		case quote == 0 && (r == ' ' || r == '\t' || r == '\n'):
			if open || word.Len() > 0 {
				out = append(out, word.String())
			}
			word.Reset()
			open = false
		default:
			word.WriteRune(r)
		}
	}
	return out
}
