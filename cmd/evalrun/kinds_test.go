package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/session"
	"github.com/evalrun/evalrun/internal/testing/expect"
)

// Each kind is listed and explained in lines that fit, and an unknown one is bad input with the nearest.
func TestKindsAreExplained(t *testing.T) {
	t.Parallel()
	var list bytes.Buffer
	expect.OK(t, writeKinds(&list))
	for _, name := range kindNames() {
		expect.Contains(t, "the list", "\n"+list.String(), "\n"+name+" ")
		var one bytes.Buffer
		expect.OK(t, explainKind(&one, name))
		if !strings.HasPrefix(one.String(), name+": ") || !strings.Contains(one.String(), "\nscorers:\n  ") {
			t.Errorf("got the explanation\n%s\nwant it to begin with the name and to have an example", &one)
		}
		_, paragraph, _ := strings.Cut(one.String(), "\n\n")
		paragraph, _, _ = strings.Cut(paragraph, "\n\nscorers:")
		for line := range strings.Lines(paragraph) {
			if n := len(strings.TrimSuffix(line, "\n")); n > 80 && strings.Contains(line, " ") {
				t.Errorf("%s: got a line of %d columns, want at most 80: %s", name, n, line)
			}
		}
	}
	err := explainKind(&list, "contain")
	expect.Same(t, "exit code", eval.CodeOf(err), eval.CodeBadInput)
	expect.Same(t, "message", fmt.Sprint(err), "there is no scorer kind \"contain\"; did you mean `contains`?")
}

// Lines are filled up to the width, points of a list are indented, and no word is lost.
func TestFillLosesNoWord(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"":                               "",
		"a  b c":                         "a b c",
		"a\nb":                           "a\nb",
		"aaa bbb ccc ddd eee fff ggg":    "aaa bbb ccc ddd eee fff\nggg",
		"aaaaaaaaaaaaaaaaaaaaaaaaaaaa b": "aaaaaaaaaaaaaaaaaaaaaaaaaaaa\nb",
		"exactly twenty-four char x":     "exactly twenty-four char\nx",
		"- aaa bbb ccc ddd eeee fff":     "- aaa bbb ccc ddd eeee\n  fff",
	} {
		expect.Same(t, text, fill(text, 24), want)
	}
}

// Each schema is JSON that names itself; an unknown one is bad input.
func TestSchemasAreJSON(t *testing.T) {
	t.Parallel()
	titles := map[string]string{}
	for _, name := range schemas {
		text, err := schemaText(name)
		expect.OK(t, err)
		var read struct {
			Schema string `json:"$schema"`
			Title  string `json:"title"`
		}
		expect.OK(t, json.Unmarshal(text, &read))
		titles[name] = read.Title
		if !strings.HasPrefix(read.Schema, "https://json-schema.org/") {
			t.Errorf("%s: got the schema %q, want that of json-schema.org", name, read.Schema)
		}
	}
	expect.Same(t, "titles", titles, map[string]string{
		"suite": "A suite of evalrun", "part": "A part that suites of evalrun include", "project": "A project file of evalrun",
		"prices": "A price list of evalrun",
		"script": "A script for evalrun's emulator",
	})
	_, err := schemaText("suit")
	expect.Same(t, "exit code", eval.CodeOf(err), eval.CodeBadInput)
	expect.Same(t, "message", fmt.Sprint(err), "there is no schema of \"suit\"; did you mean `suite`?")
}

// The schema is written next to a suite once, and a file of that name is left alone.
func TestTheSchemaReplacesNoFile(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), schemaFile)
	there, err := writeOnce("schema", path, string(schemaPage("suite")))
	expect.OK(t, err)
	expect.Same(t, "there before", there, false)
	text, err := os.ReadFile(path)
	expect.OK(t, err)
	want, err := schemaText("suite")
	expect.OK(t, err)
	expect.Same(t, "text", string(text), string(want))

	expect.OK(t, os.WriteFile(path, []byte("mine"), 0o600))
	there, err = writeOnce("schema", path, string(schemaPage("suite")))
	expect.OK(t, err)
	text, err = os.ReadFile(path)
	expect.OK(t, err)
	expect.Same(t, "there, with its text", []any{there, string(text)}, []any{true, "mine"})
	_, err = writeOnce("schema", filepath.Join(path, "below", "a", "file"), "")
	expect.Same(t, "exit code where it cannot be", eval.CodeOf(err), eval.CodeBadInput)
}

// A prompt's variables get a place each, once, in their order.
func TestAFirstSuiteHasTheVariablesOfItsPrompt(t *testing.T) {
	t.Parallel()
	f := newSuite{Prompt: "{{.ticket}} in {{.words}} words: {{.ticket}}", Model: "own \"model\"", Name: "mine"}
	text, err := f.text("folder/own.yaml")
	expect.OK(t, err)
	for _, want := range []string{
		`vars: {"ticket": "put a real ticket here", "words": "put a real words here"}`, `model: "own \"model\""`, `name: "mine"`, "own.yaml",
	} {
		expect.Contains(t, "the text", text, want)
	}
	for _, gone := range []string{"suite.yaml", "folder", "One-word answers", "maxOutputTokens", "France"} {
		if strings.Contains(text, gone) {
			t.Errorf("got %s, want it gone from\n%s", gone, text)
		}
	}
}

func checked(t *testing.T, text string, change func(*session.Options)) (c *checkedSuites, file string, err error) {
	t.Helper()
	file = filepath.Join(t.TempDir(), "s.yaml")
	expect.OK(t, os.WriteFile(file, []byte(text), 0o600))
	var f session.Options
	f.Suites, f.Getenv = []string{file}, nothing
	if change != nil {
		change(&f)
	}
	c, err = checkSuites(f)
	return c, file, err
}

const goodSuite = "version: 1\nname: s\ntargets: [{name: t, model: svc-pro}]\nprompts: [{name: p, text: x}]\n" +
	"cases: [{name: c, scorers: [{equals: x}]}]\n"

// Problems of a suite have their positions; others have none, and are errors too.
func TestCheckingASuiteGivesProblemsTheirPositions(t *testing.T) {
	t.Parallel()
	c, _, err := checked(t, goodSuite, nil)
	expect.OK(t, err)
	expect.Same(t, "a good suite is bad", c.Bad(), false)

	c, file, err := checked(t, strings.Replace(goodSuite, "equals", "equal", 1), nil)
	expect.OK(t, err)
	expect.Same(t, "a bad suite is bad", c.Bad(), true)
	var b bytes.Buffer
	expect.OK(t, c.Write(&b, "github"))
	if !strings.HasPrefix(b.String(), "::error ") || !strings.Contains(b.String(), "line=5,") ||
		!strings.Contains(b.String(), filepath.Base(file)) {
		t.Errorf("got the annotation %s, want an error at line 5 of %s", &b, filepath.Base(file))
	}
	b.Reset()
	expect.OK(t, c.Write(&b, "json"))
	if !json.Valid(b.Bytes()) || !strings.Contains(b.String(), "did you mean `equals`") {
		t.Errorf("got %s, want JSON with the hint `equals`", &b)
	}

	c, _, err = checked(t, goodSuite, func(f *session.Options) { f.Cases = []string{"gone"} })
	expect.Same(t, "nothing selected: bad, and exit code", [2]any{c.Bad(), eval.CodeOf(err)}, [2]any{true, eval.CodeIncomplete})
}

func nothing(string) string { return "" }

// A first suite loads, whatever a person writes into its places.
func TestAFirstSuiteLoadsWhateverIsWritten(t *testing.T) {
	t.Parallel()
	for name, first := range map[string]newSuite{
		"defaults":  {},
		"a prompt":  {Prompt: "Summarize {{.ticket}} in {{.ticket}} {{.words}} words: \"short\""},
		"the model": {Model: "models/my-own-model", Name: "own"},
	} {
		path := filepath.Join(t.TempDir(), "suite.yaml")
		if err := first.Write(path, nothing); err != nil {
			t.Errorf("%s: %v, want no error", name, err)
		}
		if err := first.Write(path, nothing); eval.CodeOf(err) != eval.CodeBadInput || !strings.Contains(err.Error(), "exists already") {
			t.Errorf("%s, again: %v, want exit 2", name, err)
		}
	}
}
