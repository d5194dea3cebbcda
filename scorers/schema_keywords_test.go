package scorers_test

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/evalrun/evalrun/diag"
	"github.com/evalrun/evalrun/internal/testing/expect"
	"github.com/evalrun/evalrun/internal/wirejson"
	"github.com/evalrun/evalrun/suite"
)

// problemLines are the positions and messages that a suite with one scorer gets, with hints.
func problemLines(entry string, files fstest.MapFS) []string {
	files["s.yaml"] = &fstest.MapFile{Data: []byte(plainText(entry))}
	_, diags := loadedFrom(files, suite.Options{})
	var lines []string
	for _, d := range diags.Sorted() {
		lines = append(lines, map[diag.Severity]string{diag.Error: "error "}[d.Severity]+d.Pos.String()+": "+d.Message+" ("+d.Hint+")")
	}
	return lines
}

func TestMisspeltKeywordsAreReported(t *testing.T) {
	t.Parallel()
	const in = "- jsonSchema: {schema: "
	draft4, draft6 := "{$schema: 'http://json-schema.org/draft-04/schema#', ", "{$schema: 'http://json-schema.org/draft-06/schema#', "
	draft7, draft19 := "{$schema: 'http://json-schema.org/draft-07/schema#', ", "{$schema: 'https://json-schema.org/draft/2019-09/schema', "
	for schema, want := range map[string]string{
		"{tpye: object}": "error s.yaml:8:31: `tpye` is not a keyword of JSON Schema 2020-12 " +
			"(did you mean `type`?)",
		"{requird: [a]}":                              "error s.yaml:8:31: `requird` is not a keyword of JSON Schema 2020-12 (did",
		"{fomat: date}":                               "(did you mean `format`?)",
		"{propertys: {}}":                             "(did you mean `properties`?)",
		"{additonalProperties: false}":                "(did you mean `additionalProperties`?)",
		"{minlength: 3}":                              "(did you mean `minLength`?)",
		"{Type: object}":                              "(did you mean `type`?)",
		"{min: 3}":                                    "(did you mean `min",
		"{any_of: [{}, {}]}":                          "(did you mean `anyOf`?)",
		"{properties: {a: {tpye: object}}}":           "error s.yaml:8:48: `tpye`",
		"{items: {fomat: date}}":                      "error s.yaml:8:39: `fomat`",
		"{prefixItems: [{fomat: date}]}":              "error s.yaml:8:46: `fomat`",
		"{anyOf: [{}, {not: {enums: [1]}}]}":          "`enums`",
		"{$defs: {a: {patern: x}}}":                   "`patern`",
		"{patternProperties: {'^x-': {maximun: 1}}}":  "`maximun`",
		"{dependentSchemas: {a: {requird: [b]}}}":     "`requird`",
		"{if: {tpye: object}, then: {}}":              "`tpye`",
		"{unevaluatedProperties: {tpye: object}}":     "`tpye`",
		draft7 + "items: [{tpye: object}]}":           "`tpye` is not a keyword of JSON Schema draft-07",
		draft7 + "dependencies: {a: {tpye: object}}}": "`tpye`",
		draft7 + "additionalItems: {tpye: object}}":   "`tpye`",
		draft4 + "requird: [a]}":                      "`requird` is not a keyword of JSON Schema draft-04",
		draft4 + "if: {}}": "`if` is not a keyword of JSON Schema draft-04 " +
			"(a keyword of draft-07, 2019-09, 2020-12;",
		draft4 + "contains: {}}":                        "`contains` is not a keyword of JSON Schema draft-04 (a keyword of draft-06,",
		draft6 + "if: {}}":                              "`if` is not a keyword of JSON Schema draft-06",
		draft7 + "prefixItems: []}":                     "`prefixItems` is not a keyword of JSON Schema draft-07 (a keyword of 2020-12;",
		draft7 + "dependentRequired: {}}":               "a keyword of 2019-09, 2020-12;",
		draft19 + "prefixItems: [{}]}":                  "`prefixItems` is not a keyword of JSON Schema 2019-09",
		"{additionalItems: false}":                      "`additionalItems` is not a keyword of JSON Schema 2020-12 (a keyword of draft-04,",
		"{nullable: true}":                              "s.yaml:8:31: `nullable` is not a keyword of JSON Schema 2020-12, and is not checked",
		"{properties: {a: {discriminator: {}}}}":        "s.yaml:8:48: `discriminator`",
		"{$id: 'http://x.test/', items: {fromat: uri}}": "`fromat`",
	} {
		lines := problemLines(in+schema+"}", fstest.MapFS{})
		if len(lines) != 1 || !strings.Contains(lines[0], want) {
			t.Errorf("%s\n got %s\nwant %s", schema, strings.Join(lines, "\n     "), want)
		}
	}
}

// Names, data, notes and what references point to are no keywords.
func TestKeysThatAreNoKeywordsAreNotReported(t *testing.T) {
	t.Parallel()
	draft4, draft7 := "{$schema: 'http://json-schema.org/draft-04/schema#', ", "{$schema: 'http://json-schema.org/draft-07/schema#', "
	for _, schema := range []string{
		"{properties: {tpye: {}, requird: {type: string}, fomat: {}}}",
		"{patternProperties: {tpye: {}}}",
		"{$defs: {tpye: {}}}",
		"{definitions: {tpye: {}}}",
		"{dependentSchemas: {tpye: {}}, dependentRequired: {fomat: [requird]}}",
		"{enum: [{tpye: 1}]}",
		"{const: {tpye: 1, properties: {fomat: 2}}}",
		"{default: {tpye: 1}, examples: [{requird: 1}]}",
		"{x-tpye: 1, x-note: {tpye: 1}}",
		"{$comment: tpye}",
		"{required: [tpye]}",
		"{example: 1, title: a, description: b, deprecated: true, note: c, name: d, id: e}",
		"{components: {schemas: {a: {type: string}}}, $ref: '#/components/schemas/a'}",
		draft4 + "id: 'http://x.test/', exclusiveMinimum: true, minimum: 1, $comment: x, $defs: {a: {}}}",
		draft7 + "$defs: {a: {}}, examples: [{tpye: 1}], contentEncoding: base64, if: {}, then: {}}",
		"{$schema: 'https://json-schema.org/draft/2019-09/schema', $recursiveAnchor: true, items: [{}], additionalItems: false}",
		"{$dynamicAnchor: a, $dynamicRef: '#a', unevaluatedItems: false, prefixItems: [{}]}",
	} {
		if lines := problemLines("- jsonSchema: {schema: "+schema+"}", fstest.MapFS{}); len(lines) > 0 {
			t.Errorf("%s: got\n%s\nwant no problem", schema, strings.Join(lines, "\n"))
		}
	}
}

// All problems of a schema are reported at once, those of a file where the suite names it.
func TestMisspeltKeywordsOfAFileAreReportedAtOnce(t *testing.T) {
	t.Parallel()
	lines := problemLines("- jsonSchema: {file: order.json}", fstest.MapFS{"order.json": {Data: []byte(
		`{"tpye": "object", "properties": {"a": {"fomat": "date"}, "b": {"anyOf": [{"enumm": [1]}]}}}`,
	)}})
	want := []string{
		"error s.yaml:8:28: order.json: /properties/a: `fomat` is not a keyword of JSON Schema 2020-12 (did you mean `format`?)",
		"error s.yaml:8:28: order.json: /properties/b/anyOf/0: `enumm` is not a keyword of JSON Schema 2020-12 (did you mean `enum`?)",
		"error s.yaml:8:28: order.json: (root): `tpye` is not a keyword of JSON Schema 2020-12 (did you mean `type`?)",
	}
	expect.Same(t, "result", strings.Join(lines, "\n"), strings.Join(want, "\n"))
}

// formats counts the texts of each format that are judged as the RFCs do.
func formats(t *testing.T) (all tally, right map[string]int) {
	t.Helper()
	data, err := os.ReadFile("testdata/schema_formats.txt")
	expect.OK(t, err)
	right = map[string]int{}
	var format, want string
	for i, line := range strings.Split(string(data), "\n") {
		if head, ok := strings.CutPrefix(line, "## "); ok {
			if _, err := fmt.Sscan(head, &format, &want); err != nil {
				t.Fatal(i+1, err)
			}
			continue
		}
		if line == "" || strings.HasPrefix(line, "# ") {
			continue
		}
		text, err := wirejson.Marshal(line)
		expect.OK(t, err)
		got := letter(score(t, "- jsonSchema: {schema: {format: "+format+"}}", answer(string(text))))
		fits := got == map[string]string{"valid": "p", "invalid": "f"}[want]
		if all.add(fits); !fits {
			t.Logf("line %d: %s %q: got %s, want %s", i+1, format, line, got, want)
			continue
		}
		right[format]++
	}
	return all, right
}

// TestFormatsAreJudgedAsTheirRFCsDo holds how many texts of each format are judged as the RFCs do.
func TestFormatsAreJudgedAsTheirRFCsDo(t *testing.T) {
	t.Parallel()
	all, right := formats(t)
	expect.Same(t, "all", all.right, all.all)
	expect.Same(t, "right", right, map[string]int{
		"uri": 45, "uri-reference": 14, "iri": 7, "iri-reference": 4, "uri-template": 14, "email": 34, "hostname": 24,
	})
}

func TestFormatsLookAtTextsAlone(t *testing.T) {
	t.Parallel()
	for _, format := range []string{"uri", "email", "hostname"} {
		checkShapes(t, []shapeTest{{"- jsonSchema: {schema: {format: " + format + "}}", "7", "p"}})
	}
	checkShapes(t, []shapeTest{
		{"- jsonSchema: {schema: {format: hostname}}", `"` + mega("a.") + `a"`, "f"},
		{"- jsonSchema: {schema: {format: uri}}", `"http://a/` + mega("a/") + `"`, "p"},
		{"- jsonSchema: {schema: {format: uri-template}}", `"` + mega("{a") + `"`, "f"},
		{"- jsonSchema: {schema: {format: email}}", `"` + mega("a") + `@b.c"`, "f"},
	})
}
