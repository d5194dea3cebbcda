package scorers_test

import (
	"strings"
	"testing"
	"testing/fstest"

	"github.com/evalrun/evalrun/scorers"
	"github.com/evalrun/evalrun/suite"
)

func reportedPlain(entry string) []string { return reported(entry, suite.Options{}, nil) }

func TestSchemaFileIsReadAsJSONOrYAML(t *testing.T) {
	t.Parallel()
	files := fstest.MapFS{
		"schemas/a.json": {
			Data: []byte("\ufeff{\r\n  \"$ref\": \"#/$defs/n\",\r\n\t\"$defs\": {\"n\": {\"type\": \"string\", \"format\": \"date\"}}\r\n}\r\n"),
		},
		"schemas/b.yaml": {Data: []byte("$ref: '#/$defs/n'\n$defs: {n: {type: string, format: date}}\n")},
		"s.yaml":         {},
	}
	for name := range files {
		if name == "s.yaml" {
			continue
		}
		files["s.yaml"].Data = []byte(plainText("- jsonSchema: {file: " + name + "}"))
		s, diags := loadedFrom(files, suite.Options{})
		compiled := onlyOf(t, name, s, diags)
		for text, want := range map[string]string{`"2026-02-28"`: "p", `"2026-02-30"`: "f", "3": "f", "": "f"} {
			if got, err := compiled.Score(answer(text)); err != nil || letter(got) != want {
				t.Errorf("%s on %s: %s (%s) %v, want %s", name, text, letter(got), got.Reason, err, want)
			}
		}
		before := s.Hash()
		files[name].Data = []byte(strings.Replace(string(files[name].Data), "date", "time", 1))
		if after := suite.Load(files, "s.yaml", scorers.Builtin(), suite.Options{}, diags).Hash(); after == before {
			t.Errorf("%s: got the same hash, want another", name)
		}
	}
}

func TestSchemaFileProblemsAreReportedAtTheirPlace(t *testing.T) {
	t.Parallel()
	for content, want := range map[string]string{
		"":                               "x.json:1:1: not valid JSON",
		"{\n  \"a\": }":                  "x.json:2:8: not valid JSON",
		"{\"a\": 1":                      "x.json:1:8: not valid JSON",
		"{}\n {}":                        "x.json:2:2: not valid JSON",
		"[]":                             "x.json: a JSON Schema is an object",
		`{"type": "strnig"}`:             "x.json: not a JSON Schema: /type",
		`{"pattern": "(?=a)"}`:           "x.json: not a JSON Schema: /pattern",
		`{"$ref": "other.json"}`:         "x.json: evalrun:///other.json: references to files and addresses are not followed",
		`{"$ref": "file:///etc/passwd"}`: "x.json: file:///etc/passwd: references",
		`{"$ref": "https://x.test/s"}`:   "x.json: https://x.test/s: references",
		`{"$ref": "#/$defs/none"}`:       "x.json: not a JSON Schema",
		`{"items": [{"format": "emial"}], "$schema": "http://json-schema.org/draft-07/schema#"}`:// a warning
		"x.json: the format `emial` is not known",
		strings.Repeat(`{"items":`, 600) + "{}" + strings.Repeat("}", 600): "x.json: the schema holds values nested deeper",
		strings.Repeat("[", 100_000): "x.json:1:",
	} {
		checkReported(
			t, content[:min(len(content), 99)], "8:28: "+want,
			reported("- jsonSchema: {file: x.json}", suite.Options{}, fstest.MapFS{"x.json": {Data: []byte(content)}}),
		)
	}
	for content, want := range map[string]string{
		"":                "x.yaml: the file is empty",
		"type: [":         "x.yaml:1",
		"a: 1\na: 2\n":    "x.yaml:2:1: duplicate key",
		"a: &x [*x]\n":    "x.yaml",
		"type: strnig\n":  "x.yaml: not a JSON Schema: /type",
		"minimum: 0o17\n": "x.yaml:1:10: `0o17` is not a number",
	} {
		checkReported(
			t, content, "8:28: "+want,
			reported("- jsonSchema: {file: x.yaml}", suite.Options{}, fstest.MapFS{"x.yaml": {Data: []byte(content)}}),
		)
	}
	for entry, want := range map[string]string{
		"- jsonSchema: {file: y.json}":            "8:28: there is no file y.json",
		"- jsonSchema: {file: ../y.json}":         "8:28: there is no file ../y.json",
		"- jsonSchema: {file: ''}":                "8:28: `file` needs the name",
		"- jsonSchema: {file: [a]}":               "8:28: expected a text",
		"- jsonSchema: {file: s.yaml, schema: 1}": "8:22: `schema` and `file` are both a schema",
		"- jsonSchema: {fence: true}":             "8:21: the key `schema` is missing",
	} {
		got := reportedPlain(entry)
		if len(got) > 1 { // expected a text, and then no name
			got = got[:1]
		}
		checkReported(t, entry, want, got)
	}
}
