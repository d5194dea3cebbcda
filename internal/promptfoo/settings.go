package promptfoo

import (
	"bytes"
	"embed"
	"encoding/json"
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/evalrun/evalrun/diag"
)

// Options of the two blocks that promptfoo knows.
var (
	evaluateOptions = []string{
		"cache", "delay", "filterRange", "generateSuggestions", "interactiveProviders", "isRedteam", "maxConcurrency", "maxEvalTimeMs",
		"progressCallback", "repeat", "showProgressBar", "silent", "suggestionsCount", "timeoutMs",
	}
	commandLineOptions = []string{
		"assertions", "cache", "config", "delay", "description", "envPath", "extension", "filterErrorsOnly", "filterFailing",
		"filterFailingOnly", "filterFirstN", "filterMetadata", "filterPattern", "filterPrompts", "filterProviders", "filterRange",
		"filterSample", "filterSampleSeed", "filterTargets", "generateSuggestions", "grader", "maxConcurrency", "modelOutputs", "noShare",
		"output", "progressBar", "promptPrefix", "promptSuffix", "prompts", "providers", "repeat", "retryErrors", "share",
		"suggestionsCount", "table", "tableCellMaxLength", "tags", "tests", "var", "vars", "verbose", "watch", "write",
	}
)

// options reads a block of options, of which promptfoo knows those in a list.
func (c *converter) options(s src, known []string) {
	for _, e := range s.entries() {
		if why := asFlags[e.key]; slices.Contains(known, e.key) && why != "" {
			e.differs("%s", why)
		} else if slices.Contains(known, e.key) {
			c.option(e)
		}
	}
	s.ok("")
	s.rest(known...)
}

func (c *converter) option(e keyed) {
	switch e.key {
	case "maxConcurrency":
		c.limit(e.src, "concurrency", func(n float64) yamlValue { return integer(max(1, int(n))) })
	case "timeoutMs":
		c.limit(e.src, "timeout", func(n float64) yamlValue { return literal(duration(n)) })
	case "maxEvalTimeMs":
		c.limit(e.src, "budget", func(n float64) yamlValue { return one("time", literal(duration(n))) })
	case "delay":
		c.delay(e.src)
	case "repeat":
		if n, ok := number(e.src); ok && n >= 1 {
			c.defaults.repeats = int(n)
		}
		e.ok("as `defaults.repeats`")
	}
}

var asFlags = map[string]string{
	"cache":              "a flag: `evalrun run --cache`",
	"showProgressBar":    "progress is shown on a terminal; `-q` hides it",
	"verbose":            "a flag: `-v`",
	"filterFirstN":       "a flag: `--sample N`",
	"filterPattern":      "a flag: `--case GLOB`",
	"filterMetadata":     "a flag: `--tag TAG`",
	"filterFailing":      "a flag: `--failed-in RUN`",
	"filterSample":       "a flag: `--sample N`",
	"output":             "a flag: `-o FORMAT=PATH`",
	"table":              "the table is the default report",
	"share":              "results stay on this machine",
	"noShare":            "results stay on this machine",
	"write":              "every run is kept in its directory",
	"progressBar":        "progress is shown on a terminal; `-q` hides it",
	"tableCellMaxLength": "the table fits the terminal",
}

// limit sets a limit once: the first block that has it counts.
func (c *converter) limit(s src, key string, value func(float64) yamlValue) {
	n, ok := number(s)
	if !ok || n <= 0 {
		s.todo("expected a number above 0")
		return
	}
	if c.limits.get(key) == nil {
		c.limits.set(key, value(n))
	}
	s.ok(fmt.Sprintf("as `limits.%s`", key))
}

// delay reads the pause after each call, in milliseconds.
func (c *converter) delay(s src) {
	n, ok := number(s)
	if !ok || n <= 0 {
		s.ok("no pause")
		return
	}
	perMinute := max(1, int(60_000/n))
	if c.limits.get("requestsPerMinute") == nil {
		c.limits.set("requestsPerMinute", integer(perMinute), fmt.Sprintf("promptfoo paused for %s ms after each call", s.text()))
	}
	s.differs("as %s per minute", diag.Count(perMinute, "request"))
}

func number(s src) (float64, bool) {
	if s.IsZero() || !s.IsScalar() {
		return 0, false
	}
	n, err := strconv.ParseFloat(s.Written(), 64)
	return n, err == nil
}

func duration(ms float64) string {
	if ms >= 1000 && ms == float64(int64(ms/1000))*1000 {
		return fmt.Sprintf("%ds", int64(ms/1000))
	}
	return strconv.FormatFloat(ms, 'f', -1, 64) + "ms"
}

// formula matches expressions that mean the same in promptfoo and in evalrun.
var formula = pattern{expression: `^[\w\s.+*/()-]+$`}

func (c *converter) derived(s src) {
	s.listed("as `metrics`")
	for _, item := range s.items() {
		item.strangers("name", "value")
		name, value := item.get("name"), item.get("value")
		as := c.metricNames.plain(name.text(), "metric")
		if !formula.matches(value.text()) {
			why := "an expression over named scorers may have + - * / and parentheses"
			item.todo("%s", why)
			c.metrics.note(fmt.Sprintf("TODO: the metric %s: %s", name.text(), why))
			continue
		}
		c.metrics.set(as, textValue(value.text()), "per trial, and then averaged; promptfoo computes it over sums")
		name.ok("as the metric " + as)
		value.differs("per trial, and then averaged; promptfoo computes it over sums")
	}
}

// plainValue copies a value without templates.
func plainValue(s src) yamlValue {
	return valueOf(s, func(_ src, text string) yamlValue { return textValue(text) })
}

// valueOf copies a value, and passes its texts through a function. Its secrets cannot be expressed.
func valueOf(s src, text func(at src, text string) yamlValue) yamlValue {
	return copied(s, func(at src, written string) yamlValue {
		clean, found := at.withoutSecret(written)
		if found {
			at.unread(clean)
			return textValue(clean)
		}
		return text(at, written)
	})
}

// forProgram copies the settings of a program, whose shim reads secrets from the environment.
func forProgram(s src) yamlValue {
	return copied(s, func(at src, written string) yamlValue {
		clean, _ := at.withoutSecret(written)
		return textValue(clean)
	})
}

func copied(s src, text func(at src, text string) yamlValue) yamlValue {
	switch {
	case s.IsMapping():
		out := &mapping{}
		for _, e := range s.entries() {
			out.set(e.key, copied(e.src, text))
		}
		return out
	case s.IsSequence():
		out := &sequence{}
		for _, item := range s.items() {
			out.add(copied(item, text))
		}
		return out
	case s.IsZero() || s.IsNull():
		return literal("null")
	case s.IsNumber():
		if own, _ := s.lastKeys(); s.inConfig() && secretNumbers.matches(own) {
			return text(s, s.Written())
		}
		return literal(jsText(s.Node))
	case s.IsBool():
		return literal(strings.ToLower(s.Written()))
	}
	return text(s, s.Written())
}

var secretNumbers = pattern{expression: `(?i)(?:passw(?:or)?d|passcode|pwd|secret|pin|api_?key)$`}

// escapedValue escapes texts, for places where evalrun reads templates and promptfoo does not.
func escapedValue(s src) yamlValue {
	return valueOf(s, func(_ src, text string) yamlValue { return textValue(escapeText(text)) })
}

func (c *converter) rendered(s src, d dialect) (yamlValue, bool) {
	fine := true
	out := valueOf(s, func(at src, text string) yamlValue {
		out, ok := c.template(at, text, d)
		fine = fine && ok
		return textValue(out)
	})
	return out, fine
}

// envExpression matches a value that is only an environment variable.
var envExpression = pattern{expression: `^\s*\{\{\s*env\.(\w+)\s*\}\}\s*$`}

//go:embed shims
var shimFiles embed.FS

// File names of the shims.
const (
	shimAssertJS   = "assert.mjs"
	shimAssertPy   = "assert.py"
	shimProviderJS = "provider.mjs"
	shimProviderPy = "provider.py"
	shimExec       = "exec.py"
	shimPromptJS   = "prompt.mjs"
	shimPromptPy   = "prompt.py"
	shimTestsJS    = "tests.mjs"
	shimTestsPy    = "tests.py"
)

// shims are the shims of a suite. They run the author's code unchanged.
type shims struct{ used []string }

func (s *shims) use(name string) string {
	if !slices.Contains(s.used, name) {
		s.used = append(s.used, name)
	}
	return "shims/" + name
}

func (s *shims) addTo(files map[string][]byte) error {
	names := s.used
	if slices.ContainsFunc(names, func(name string) bool { return strings.HasSuffix(name, ".mjs") }) {
		names = append(slices.Clone(names), "common.mjs")
	}
	for _, name := range names {
		data, err := shimFiles.ReadFile("shims/" + name)
		if err != nil {
			return err
		}
		files["shims/"+name] = data
	}
	return nil
}

func (s *shims) programs() (out []string) {
	for _, name := range s.used {
		program := python
		if strings.HasSuffix(name, ".mjs") {
			program = javaScript
		}
		if !slices.Contains(out, program) {
			out = append(out, program)
		}
	}
	slices.Sort(out)
	return out
}

type diagList = diag.List

// Folders below the suite: copied files of the author, and code that was inline in the configuration.
const (
	codeDir   = "code"
	checksDir = "checks"
	dataDir   = "data" // datasets
)

// codeFile puts code into a file for a shim. It copies a file of the author with its imports. kind is part
// of the name of an inline file.
func (c *converter) codeFile(s src, kind string) (string, bool) {
	code := s.text()
	if ref, is := strings.CutPrefix(code, "file://"); is {
		file, function, _ := strings.Cut(ref, ":")
		name, ok := c.copyCode(s, file)
		if ok && function != "" {
			name += ":" + function
		}
		s.ok("in " + name)
		return name, ok
	}
	if strings.TrimSpace(code) == "" {
		s.todo("there is no code")
		return "", false
	}
	name := c.inline(code, kind, ".js")
	s.ok("in " + name)
	return name, true
}

// inline writes inline code to a file. The same code goes to the same file.
func (c *converter) inline(code, kind, ending string) string {
	key := kind + "\x00" + ending + "\x00"
	name := c.inlined[key+code]
	if name == "" {
		c.codeNames[key]++
		name = fmt.Sprintf("%s/%s-%d%s", checksDir, kind, c.codeNames[key], ending)
		c.inlined[key+code], c.files[name] = name, []byte(code)
	}
	return name
}

// copyCode copies a file of the author, with the local files that it imports, or returns the path to it where it stays.
func (c *converter) copyCode(s src, ref string) (string, bool) {
	name, data, err := c.source.read(ref)
	if err != nil {
		s.todo("%s", err)
		return "", false
	}
	if slices.Contains([]string{".ts", ".mts", ".cts"}, path.Ext(name)) {
		s.differs("node runs TypeScript from 22.18 on")
	}
	if c.source.place != "" {
		return path.Join(c.source.place, name), true
	}
	c.keep(name, data, 0)
	return c.source.copied(codeDir, name), true
}

// maxDepth bounds the chain of imports that are followed.
const maxDepth = 8

// keep adds a file of code and the files that it imports.
func (c *converter) keep(name string, data []byte, depth int) {
	at := c.source.copied(codeDir, name)
	if c.files[at] != nil || depth > maxDepth {
		return
	}
	c.files[at] = data
	for _, next := range imports(name, data) {
		if !c.source.has(next) { // one of several places to look in
			continue
		}
		if found, more, err := c.source.read(next); err == nil {
			c.keep(found, more, depth+1)
		}
	}
	if p := path.Join(path.Dir(name), "package.json"); language(name) == javaScript && depth == 0 {
		if found, more, err := c.source.read(p); err == nil { // package.json says whether .js files are modules
			c.files[c.source.copied(codeDir, found)] = more
		}
	}
}

var (
	jsImport = pattern{expression: `(?:from|import|require\(|import\()\s*\(?["'](\.{1,2}/[^"']+)["']`}
	pyImport = pattern{expression: `(?m)^\s*(?:from\s+([\w.]+)\s+import|import\s+([\w.]+))`}
	dataFile = pattern{expression: `["'](\.{1,2}/[\w./-]+\.(?:json|ya?ml|csv|txt|md))["']`}
)

// imports lists the files that code may import, as paths to try from the configuration's folder.
func imports(name string, data []byte) (out []string) {
	dir := path.Dir(name)
	if language(name) == python {
		for _, m := range pyImport.regexp().FindAllSubmatch(data, -1) {
			module := strings.ReplaceAll(strings.Trim(string(m[1])+string(m[2]), "."), ".", "/")
			out = append(out, path.Join(dir, module+".py"), path.Join(dir, module, "__init__.py"), module+".py")
		}
		return out
	}
	for _, m := range append(jsImport.regexp().FindAllSubmatch(data, -1), dataFile.regexp().FindAllSubmatch(data, -1)...) {
		ref := path.Join(dir, string(m[1]))
		out = append(out, ref)
		for _, ending := range scriptEndings {
			out = append(out, ref+ending, strings.TrimSuffix(ref, path.Ext(ref))+ending, path.Join(ref, "index"+ending))
		}
	}
	return out
}

func (c *converter) copyFile(s src, ref string) (string, bool) {
	name, data, err := c.source.read(ref)
	if err != nil {
		s.todo("%s", err)
		return "", false
	}
	at := c.source.copied("files", name)
	c.files[at] = data
	return at, true
}

func jsonOf(s src) []byte {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	_ = enc.Encode(native(forProgram(s))) // values from YAML always encode
	return b.Bytes()
}

// native converts a value for encoding/json, which sorts the keys.
func native(v yamlValue) any {
	switch v := v.(type) {
	case *mapping:
		out := map[string]any{}
		for _, e := range v.entries {
			out[e.key] = native(e.value)
		}
		return out
	case *sequence:
		out := []any{}
		for _, e := range v.items {
			out = append(out, native(e.value))
		}
		return out
	case literal:
		if json.Valid([]byte(v)) {
			return json.RawMessage(v)
		}
		return string(v)
	case textValue:
		return string(v)
	}
	return nil
}
