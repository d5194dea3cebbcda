package promptfoo

import (
	"bytes"
	"cmp"
	"maps"
	"regexp"
	"slices"
	"strings"
)

var code = map[string]bool{"javascript": true, "python": true}

// inShim has the types that the JavaScript shim implements, for answers that code transforms first.
var inShim = map[string]bool{
	"equals": true, "contains": true, "icontains": true, "contains-all": true, "contains-any": true, "icontains-all": true,
	"icontains-any": true, "starts-with": true, "regex": true, "is-json": true, "contains-json": true, "levenshtein": true, "word-count": true,
}

// codeScorer makes a scorer that runs an assertion in JavaScript or Python through a shim.
func (c *converter) codeScorer(base string, not bool, a src, sc *scope, changes []change) (*scorer, string) {
	v := a.get("value")
	shim, ending, program := shimAssertJS, ".js", javaScript
	if base == "python" {
		shim, ending, program = shimAssertPy, ".py", python
	}
	args := one("check", textValue(base))
	ref, file := "", ""
	if strings.HasPrefix(v.text(), "file://") {
		ref, _ = c.authored(v, base)
		file, _, _ = strings.Cut(ref, ":")
		if file == "" {
			return nil, v.fates.byPath[v.path].note
		}
	} else {
		if strings.TrimSpace(v.text()) == "" {
			return nil, "there is no code"
		}
		file = c.inline(v.text(), base, ending)
		ref = file
		if why := c.templatesInCode(args, v); why != "" {
			return nil, why
		}
	}
	if base == "python" && len(changes)+c.changing() > 0 {
		c.shims.use(shimAssertPy)
		shim, program = shimAssertJS, javaScript
	}
	c.shimArgs(args.set("code", textValue(ref)), not, a, changes)
	if name, _, _ := strings.Cut(ref, ":"); len(sc.typed) > 0 && bytes.Contains(c.files[name], []byte("vars")) {
		args.set("typed", texts(sc.typed...))
	}
	v.differs("the author's code in %s runs unchanged in a shim that needs %s", file, program)
	command := append([]string{program, c.shims.use(shim)}, c.loaded(ref, args)...)
	return &scorer{kind: "exec", value: inShimOf(command, args)}, ""
}

// inShimOf returns the scorer that starts a shim. It gets a long timeout, because it runs the author's
// code.
func inShimOf(command []string, args *mapping) *mapping {
	return new(mapping).set("command", texts(command...)).set("args", args).set("timeout", literal("1m"))
}

// authored copies the file of an assertion. A function name follows the colon.
func (c *converter) authored(v src, base string) (string, bool) {
	file, function, _ := strings.Cut(strings.TrimPrefix(v.text(), "file://"), ":")
	want := map[string]string{"javascript": javaScript, "python": python}[base]
	if language(file) != want {
		v.todo("%s is not a program of this type", file)
		return "", false
	}
	name, ok := c.copyCode(v, file)
	if ok && function != "" {
		name += ":" + function
	}
	return name, ok
}

var (
	anyTag    = regexp.MustCompile(`\{\{|\{%`)
	simpleTag = regexp.MustCompile(`\{\{-?\s*(\w+)((?:\.\w+)*)\s*(?:\|\s*(?:dump|tojson)\s*)?-?\}\}`)
)

// templatesInCode lets the shim fill in variables that the code contains as templates.
func (c *converter) templatesInCode(args *mapping, v src) string {
	rest := v.text()
	found := simpleTag.FindAllStringSubmatch(rest, -1)
	rest = simpleTag.ReplaceAllString(rest, "")
	if len(found) == 0 {
		return ""
	}
	if anyTag.MatchString(rest) {
		return "the code has templates that a shim cannot fill in; use `context.vars` in it"
	}
	for _, m := range found {
		c.uses[m[1]] = true
	}
	args.set("render", literal("true"))
	return ""
}

// changing counts the transforms of all targets.
func (c *converter) changing() (n int) {
	for _, t := range c.targets {
		n += len(t.changes)
	}
	return n
}

// shimArgs adds what a shim needs in addition to the answer.
func (c *converter) shimArgs(args *mapping, not bool, a src, changes []change) {
	if not {
		args.set("not", literal("true"))
	}
	if t := a.get("threshold"); !t.IsZero() {
		args.set("threshold", literal(t.text()))
	}
	if config := a.get("config"); !config.IsZero() {
		args.set("config", escapedValue(config))
		config.ok("as `args.config`")
	}
	if len(changes) > 0 {
		files := &sequence{}
		for _, ch := range changes {
			files.add(textValue(ch.file))
		}
		args.set("changes", files)
	}
	if targets := c.targetArgs(); !targets.empty() {
		args.set("targets", targets)
	}
}

// targetArgs says, for each target, which transforms apply to its answers before assertions see them.
func (c *converter) targetArgs() *mapping {
	out := &mapping{}
	for _, t := range c.targets {
		m := &mapping{}
		if t.json != "" {
			m.set("json", literal(t.json))
		}
		if len(t.changes) > 0 {
			m.set("changes", texts(t.changes...))
		}
		if !m.empty() {
			out.set(t.name, m)
		}
	}
	return out
}

// loaded lists the files that a shim loads, so that changes to them count as changes of the scorer. The
// first file is the code itself.
func (c *converter) loaded(ref string, args *mapping) []string {
	out := []string{}
	if ref != "" {
		out = append(out, ref)
	}
	add := func(v yamlValue) {
		if l, ok := v.(*sequence); ok {
			for _, e := range l.items {
				out = append(out, string(e.value.(textValue)))
			}
		}
	}
	add(args.get("changes"))
	if targets, ok := args.get("targets").(*mapping); ok {
		for _, e := range targets.entries {
			add(e.value.(*mapping).get("changes"))
		}
	}
	for i, name := range out {
		if file, function, two := strings.Cut(name, ":"); two && i > 0 && function != "" {
			out[i] = file
		}
	}
	return slices.Compact(out)
}

// shimmed makes a scorer that runs one of promptfoo's own checks in the shim.
func (c *converter) shimmed(base string, not bool, a src, changes []change) (*scorer, string) {
	v := a.get("value")
	args := one("check", textValue(base))
	if !v.IsZero() && !v.IsNull() && base != "is-json" && base != "contains-json" {
		value, ok := c.rendered(v, dialect{})
		if !ok {
			return nil, cmp.Or(v.fates.byPath[v.path].note, "the value has no counterpart")
		}
		args.set("value", value)
	}
	if (base == "is-json" || base == "contains-json") && !v.IsZero() && v.text() != "false" {
		return nil, "a schema for an answer that code changes first has no counterpart"
	}
	c.shimArgs(args, not, a, changes)
	command := append([]string{javaScript, c.shims.use(shimAssertJS)}, c.loaded("", args)...)
	return &scorer{
		kind: "exec", value: inShimOf(command, args),
		note: "`" + base + "` in a shim that needs node, since JavaScript comes before it or its expression is not one of RE2",
	}, ""
}

// unusedCode drops files that the suite no longer mentions.
func (c *converter) unusedCode(suite string) {
	text := []string{suite}
	for name, data := range c.files {
		if strings.HasPrefix(name, dataDir+"/") {
			text = append(text, string(data))
		}
	}
	all := strings.Join(text, "\n")
	maps.DeleteFunc(c.files, func(name string, _ []byte) bool {
		return strings.HasPrefix(name, checksDir+"/") && !strings.Contains(all, name)
	})
}
