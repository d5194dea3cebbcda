package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/evalrun/evalrun/diag"
	"github.com/evalrun/evalrun/internal/testing/expect"
	"github.com/evalrun/evalrun/internal/testing/testrun"
	"github.com/evalrun/evalrun/internal/yaml"
	"github.com/evalrun/evalrun/scorers"
	"github.com/evalrun/evalrun/suite"
)

func schemaOf(t testing.TB, what string) []byte {
	t.Helper()
	text, err := schemaText(what)
	expect.OK(t, err)
	return text
}

// validator compiles the schema of a kind of file, which also holds it against the metaschema.
func validator(t testing.TB, what string) *jsonschema.Schema {
	t.Helper()
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(schemaOf(t, what)))
	expect.OK(t, err)
	c := jsonschema.NewCompiler()
	c.DefaultDraft(jsonschema.Draft2020)
	expect.OK(t, c.AddResource("evalrun:///schema.json", doc))
	s, err := c.Compile("evalrun:///schema.json")
	expect.OK(t, err)
	return s
}

func jsonOf(t testing.TB, text []byte) []byte {
	t.Helper()
	var diags diag.List
	root, ok := yaml.Parse("x.yaml", text, &diags)
	if !ok {
		t.Fatalf("got %v, want no problem", diags.Sorted())
	}
	return root.JSON(nil)
}

func allows(t testing.TB, s *jsonschema.Schema, doc []byte) error {
	t.Helper()
	value, err := jsonschema.UnmarshalJSON(bytes.NewReader(doc))
	if err != nil {
		t.Fatalf("%s: %v, want no error", doc, err)
	}
	return s.Validate(value)
}

// TestSchemasAreMadeFromTheTablesOfKeys keeps the schemas of docs/schemas what the tables of keys say.
func TestSchemasAreMadeFromTheTablesOfKeys(t *testing.T) {
	t.Parallel()
	for _, what := range schemas {
		validator(t, what)
		file := "../../docs/schemas/" + what + ".schema.json"
		if *testrun.Update {
			expect.OK(t, os.WriteFile(file, schemaOf(t, what), 0o644))
		}
		got, err := os.ReadFile(file)
		expect.OK(t, err)
		expect.Same(t, file+" (make golden renews it)", string(got), string(schemaOf(t, what)))
	}
}

// TestSchemasAllowTheFilesOfTheRepository checks every suite, part, price list and script of the repository against its schema.
func TestSchemasAllowTheFilesOfTheRepository(t *testing.T) {
	t.Parallel()
	for what, patterns := range map[string][]string{
		"suite": {
			"../../examples/suites/*.yaml", "../../examples/datasets/*.yaml", "../../suite/testdata/ok/*.yaml",
			"../../cmd/evalrun/first.yaml", "testdata/every.yaml",
		},
		"part":   {"../../examples/suites/shared/*.yaml"},
		"prices": {"../../examples/suites/prices/*.yaml"},
		"script": {"../../internal/emulator/*.yaml", "../../examples/datasets/answers/*.yaml"},
	} {
		s := validator(t, what)
		for _, pattern := range patterns {
			for file, text := range filesOf(t, pattern) {
				if err := allows(t, s, jsonOf(t, text)); err != nil {
					t.Errorf("%s: %v, want no error", file, err)
				}
			}
		}
	}
}

func filesOf(t *testing.T, pattern string) map[string][]byte {
	t.Helper()
	files, err := filepath.Glob(pattern)
	if err != nil || len(files) == 0 {
		t.Fatalf("%s: got no file (%v), want some", pattern, err)
	}
	out := map[string][]byte{}
	for _, file := range files {
		if out[file], err = os.ReadFile(file); err != nil {
			t.Fatal(err)
		}
	}
	return out
}

// TestSchemaAllowsPages holds the suites of the documentation against the schema.
func TestSchemaAllowsPages(t *testing.T) {
	t.Parallel()
	s, found := validator(t, "suite"), 0
	pages := filesOf(t, "../../docs/*/*.md")
	maps.Copy(pages, filesOf(t, "../../README.md"))
	for page, text := range pages {
		for _, m := range fence.FindAllSubmatch(text, -1) {
			name, isFile := strings.CutPrefix(string(m[1]), "yaml ")
			isSuite := bytes.Contains(m[2], []byte("version: 1")) && bytes.Contains(m[2], []byte("cases:"))
			if !isFile || !isSuite || name == "typo.yaml" {
				continue
			}
			found++
			if err := allows(t, s, jsonOf(t, m[2])); err != nil {
				t.Errorf("%s: %s: %v, want no error", page, name, err)
			}
		}
	}
	if found < 10 {
		t.Errorf("%d suites in the documentation, want at least 10", found)
	}
}

// TestSchemaRefusesInvalidSuites checks invalid suites against the schema. It finds the problems of these files, and of no others,
// for their problems only the loader can know.
func TestSchemaRefusesInvalidSuites(t *testing.T) {
	t.Parallel()
	s := validator(t, "suite")
	files, err := filepath.Glob("../../suite/testdata/err/*.yaml")
	if err != nil || len(files) == 0 {
		t.Fatalf("got %d suites, %v; want some", len(files), err)
	}
	var allowed []string
	for _, file := range files {
		text, err := os.ReadFile(file)
		expect.OK(t, err)
		var diags diag.List
		root, ok := yaml.Parse(file, text, &diags)
		if !ok {
			continue // no editor takes it for YAML
		}
		if doc := root.JSON(nil); diags.Len() == 0 && allows(t, s, doc) == nil {
			allowed = append(allowed, filepath.Base(file))
		}
	}
	want := []string{
		"files.yaml",                       // prompt files, images
		"gate-margin.yaml",                 // a margin that is missing
		"http-stream.yaml",                 // what the expressions over a stream read
		"include.yaml",                     // in the files that it includes
		"names.yaml", "scorers-names.yaml", // names that come twice, and scorers of no case
		"template_budget.yaml", // what templates write
		"tools-advice.yaml",    // names of functions
		"variables.yaml",       // that templates name
	}
	expect.Same(t, "what the schema allows", allowed, want)
}

// TestExamplesNameTheirSchemaFirst wants the first line of every example to name its schema, by a path relative to the file.
func TestExamplesNameTheirSchemaFirst(t *testing.T) {
	t.Parallel()
	err := filepath.WalkDir("../../examples", func(path string, entry fs.DirEntry, err error) error {
		if entry != nil && entry.IsDir() && slices.Contains([]string{"applications", "ci", "kubernetes"}, entry.Name()) {
			return fs.SkipDir // no suites for editors
		}
		if err != nil || entry.IsDir() || filepath.Ext(path) != ".yaml" {
			return err
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		first, _, _ := strings.Cut(string(text), "\n")
		name, ok := strings.CutPrefix(first, "# yaml-language-server: $schema=")
		if !ok {
			t.Errorf("%s: got the first line %[2]s, want the name of a schema", path, first)
			return nil
		}
		named, err := os.ReadFile(filepath.Join(filepath.Dir(path), filepath.FromSlash(name)))
		if err != nil {
			t.Errorf("%s: %v, want no error", path, err)
			return nil
		}
		what := "suite"
		switch filepath.Base(filepath.Dir(path)) {
		case "shared":
			what = "part"
		case "prices":
			what = "prices"
		case "answers":
			what = "script"
		}
		if !bytes.Equal(named, schemaOf(t, what)) {
			t.Errorf("%s: got %s, want the schema of a %s", path, name, what)
		}
		return nil
	})
	expect.OK(t, err)
}

// onlyLoader are problems that a schema cannot express, or that are not worth a rule in one.
var onlyLoader = []string{
	// The rest of the suite.
	"matches no (target|arm)$", "has no variable `", "there is no scorer set `", "there is no judge ",
	"no arm of this scorer is a live chat", "is not a live chat, so it has no turn",
	"^`tools` has no function `", "has no scorer, so nothing would be scored", "^there are no (targets|prompts)$",
	"takes prompts with an image", "takes text alone", "there is no service `", "there is no vendor `",
	"^the key `baseUrl` is missing$", "is for the protocol openai, and",
	"^the base URL ends in /v1: ", "^`path` needs {method}", "is not the name of an environment variable$",
	"^`keyEnv` takes the name of an environment variable",
	// Files.
	"there is no file", "has no column `",
	// What a template makes of a variable.
	"is not a whole number$", "^`.*` is not a number$", "^-7 is out of range: between 1 and",
	// Languages: expressions, patterns, paths, JSON Schema.
	"^in the expression: ", "^in the metric `both`: ", "names no scorer$", "^not a jq expression", "the expression has no group",
	"is out of range: between 0 and [01]$", "^not a JSON Schema: ", "is not a path of elements$",
	// A number where a text of some form is expected is taken as it is written, which may not be of that form.
	"is not a model id$", "is not the id of a cloud project$",
	// One key against another.
	"needs `min` or a threshold$", "needs `max`, `ratio` or a threshold$", "goes with `(equals|sample)`$", "is not one of the choices",
	"goes with `tools`, and this prompt has none$", "^the arguments of a function are an object",
	"turns alternate between user and model", "are judged at the end$", "^the key `limit` is missing$",
	"^the key `(targets|prompts|cases)` is missing$",
	// Whether the judge of a scorer has a template.
	"; found nothing of that$", "is for a judge with its own template$", "^`choices` takes from 2 to", "^`choices` needs a `template`$",
	"^the template of the judge `mine` does not use `zzz`$", "^the suite has 2 judges, and the scorer names none$",
	// What a variable holds, which a template passes on.
	"`contains` takes one text$", "^expected a whole number, found a list$",
	// Letters of any script, which expressions in JavaScript tell otherwise.
	"is not the letter of a choice", "a separator is one character$",
}

// nearby are the files of testdata/every.yaml and of the examples of kinds.
func nearby(t testing.TB) fstest.MapFS {
	t.Helper()
	png, err := os.ReadFile("../../suite/testdata/images/1x1.png")
	expect.OK(t, err)
	return fstest.MapFS{
		"one.png": {Data: png}, "ask.tmpl": {Data: []byte("{{.country}}")}, "rows.csv": {Data: []byte("country,check\nPeru,\"contains: x\"\n")},
		"judge.tmpl":      {Data: []byte("{{.answer}} {{.right}}")},
		"paper.pdf":       {Data: []byte("%PDF-1.4\n%%EOF\n")},
		"tools.json":      {Data: []byte(`[{"name": "get_order"}]`)},
		"answer.json":     {Data: []byte(`{"type": "OBJECT"}`)},
		"prices.yaml":     {Data: []byte("currency: EUR\nmodels: {svc-pro: {input: 1, output: 2}, svc-pro-vision: {input: 1, output: 2}}\n")},
		"parts/more.yaml": {Data: []byte("cases: [{name: more, scorers: [{contains: x}]}]\n")},
	}
}

func loads(files fstest.MapFS, text []byte) []diag.Diagnostic {
	files["suite.yaml"] = &fstest.MapFile{Data: text}
	var diags diag.List
	suite.Load(files, "suite.yaml", scorers.Builtin(), suite.Options{
		Now:    time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC),
		Getenv: func(string) string { return "v1" },
	}, &diags)
	return slices.DeleteFunc(diags.Sorted(), func(d diag.Diagnostic) bool { return d.Severity != diag.Error })
}

// mutations calls try with every document that differs from doc at one place below node; set replaces the value of
// node.
func mutations(doc func() []byte, node any, set func(any), path string, try func(path string, doc []byte)) {
	put := func(what string, v any) {
		set(v)
		try(path+" = "+what, doc())
		set(node)
	}
	others := []any{nil, true, -7, "zzz", []any{}}
	switch node.(type) {
	case map[string]any:
		others = []any{"zzz", map[string]any{}, []any{}}
	case []any:
		others = []any{"zzz", map[string]any{"zzz": 1}, []any{}, []any{nil}}
	}
	for _, v := range others {
		text, _ := json.Marshal(v)
		put(string(text), v)
	}
	switch node := node.(type) {
	case map[string]any:
		node["zzz"] = 1
		try(path+" + zzz", doc())
		delete(node, "zzz")
		for _, key := range slices.Sorted(maps.Keys(node)) {
			value := node[key]
			delete(node, key)
			try(path+" - "+key, doc())
			node[key] = value
			mutations(doc, value, func(v any) { node[key] = v }, path+"/"+key, try)
		}
	case []any:
		for i, value := range node {
			mutations(doc, value, func(v any) { node[i] = v }, fmt.Sprintf("%s/%d", path, i), try)
		}
	}
}

type agreement struct {
	*testing.T
	schema  *jsonschema.Schema
	files   fstest.MapFS
	loaders []*regexp.Regexp // onlyLoader, compiled
	used    map[string]bool  // of onlyLoader
	refused int              // by both
}

func (a *agreement) try(path string, doc []byte) {
	problems := loads(a.files, doc)
	err := allows(a, a.schema, doc)
	switch {
	case err != nil && len(problems) == 0:
		a.Errorf("%s: the schema refuses what the loader takes: %v", path, err)
	case err != nil:
		a.refused++
	case len(problems) > 0:
		for _, d := range problems {
			i := slices.IndexFunc(a.loaders, func(p *regexp.Regexp) bool { return p.MatchString(d.Message) })
			if i < 0 {
				a.Errorf("%s: the schema allows what the loader refuses: %s", path, d.Message)
				continue
			}
			a.used[onlyLoader[i]] = true
		}
	}
}

// TestSchemaAndLoaderAgree changes a suite with every key, and the example of every kind, at one place at a time. What the schema
// refuses the loader must refuse; what the loader alone refuses must be something that a schema cannot know.
func TestSchemaAndLoaderAgree(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("testdata/every.yaml")
	expect.OK(t, err)
	a := &agreement{T: t, schema: validator(t, "suite"), files: nearby(t), used: map[string]bool{}}
	for _, p := range onlyLoader {
		a.loaders = append(a.loaders, regexp.MustCompile(p))
	}
	if problems := loads(a.files, text); len(problems) > 0 {
		t.Fatalf("got %v, want no mistake", problems)
	}
	walk := func(doc []byte, below ...any) {
		var root any
		expect.OK(t, json.Unmarshal(doc, &root))
		node, set, path := root, func(any) {}, ""
		for _, step := range below {
			switch at := node.(type) {
			case map[string]any:
				key := step.(string)
				node, set = at[key], func(v any) { at[key] = v }
			case []any:
				i := step.(int)
				node, set = at[i], func(v any) { at[i] = v }
			}
			path = fmt.Sprint(path, "/", step)
		}
		now := func() []byte {
			text, err := json.Marshal(root)
			expect.OK(t, err)
			return text
		}
		mutations(now, node, set, path, a.try)
	}
	walk(jsonOf(t, text))
	for _, k := range scorers.Builtin() {
		target := "model: svc-pro, stream: true"
		if k.Name == "file" {
			target = "program: {command: sh, workspace: parts}"
		}
		doc := "version: 1\nname: s\nprices: prices.yaml\ntargets: [{name: t, " + target + "}]\njudges: [{name: judge, model: " +
			"svc-pro}]\nprompts: [{name: p, text: x}]\ncases:\n- name: c\n  scorers:\n  " +
			strings.ReplaceAll(strings.ReplaceAll(k.Example, "./check.sh", "sh"), "\n", "\n  ") + "\n"
		if problems := loads(a.files, []byte(doc)); len(problems) > 0 {
			t.Errorf("the example of %s: %v, want no mistakes", k.Name, problems)
		}
		if err := allows(t, a.schema, jsonOf(t, []byte(doc))); err != nil {
			t.Errorf("the schema refuses the example of %s: %v, want no error", k.Name, err)
		}
		walk(jsonOf(t, []byte(doc)), "cases", 0, "scorers", 0)
	}
	for _, p := range onlyLoader {
		if !a.used[p] {
			t.Errorf("got no mistake like %q, want one: strike it from the list", p)
		}
	}
	if a.refused < 1000 {
		t.Errorf("both refuse %d documents, want at least 1000", a.refused)
	}
}
