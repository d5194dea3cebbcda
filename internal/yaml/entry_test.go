package yaml

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/evalrun/evalrun/internal/testing/expect"
)

// allows reports whether an editor with the schema of a shape takes a JSON value.
func allows(t *testing.T, is Shape, value string) bool {
	t.Helper()
	doc, err := jsonschema.UnmarshalJSON(strings.NewReader(string(Document("x", is, nil))))
	expect.OK(t, err)
	c := jsonschema.NewCompiler()
	expect.OK(t, c.AddResource("x.json", doc))
	schema, err := c.Compile("x.json")
	expect.OK(t, err)
	var v any
	if err := json.Unmarshal([]byte(value), &v); err != nil {
		t.Fatal(value, err)
	}
	return schema.Validate(v) == nil
}

func TestOptionsNextToAKindAreChecked(t *testing.T) {
	t.Parallel()
	for value, want := range map[string]bool{
		`{}`:                              true,
		`{"name":"closeness","weight":2}`: true,
		`{"weight":0}`:                    true,
		`{"weight":-1}`:                   false,
		`{"weight":1e300}`:                true, // an editor does not know where numbers end
		`{"weight":"2"}`:                  false,
		`{"required":true}`:               true,
		`{"required":"yes"}`:              false,
		`{"threshold":0.5}`:               true,
		`{"threshold":1.5}`:               false,
		`{"arms":"pro/*"}`:                true,
		`{"arms":["pro/*","eyes/x"]}`:     true,
		`{"arms":[]}`:                     false,
		`{"candidate":"first"}`:           true,
		`{"candidate":"all"}`:             true,
		`{"candidate":0}`:                 true,
		`{"candidate":"last"}`:            false,
		`{"candidate":-1}`:                false,
		`{"turn":"last"}`:                 true,
		`{"turn":1}`:                      true,
		`{"turn":0}`:                      false,
		`{"turn":"first"}`:                false,
		`{"partial":"allow"}`:             true,
		`{"partial":true}`:                false,
		`{"onError":"fail"}`:              true,
		`{"onError":"unscored"}`:          true,
		`{"onError":"pass"}`:              false,
		`{"select":{"jq":".x"}}`:          true,
		`{"select":[{"fence":"json"},{"regex":"(x)","group":1}]}`: true,
		`{"select":{"jq":".x","fence":"json"}}`:                   false,
		`{"select":{"group":1}}`:                                  false,
		`{"select":[]}`:                                           false,
		`{"candidates":"all"}`:                                    false,
	} {
		expect.Same(t, value, allows(t, SiblingKeys.Shape(), value), want)
	}
}

// What makes a score of its own, such as a name or a weight, belongs to the outer scorer.
func TestNestedScorersHaveOnlyOptionsOfTheirText(t *testing.T) {
	t.Parallel()
	names := NestedKeys.Names()
	slices.Sort(names)
	expect.Same(t, "options of nested scorers", names, []string{"candidate", "onError", "partial", "select", "turn"})
	for _, name := range names {
		if !slices.Contains(SiblingKeys.Names(), name) {
			t.Errorf("`%s`: got an option of nested scorers alone, want it for all", name)
		}
	}
}

func TestEveryOptionIsExplained(t *testing.T) {
	t.Parallel()
	for _, key := range slices.Concat(SiblingKeys.Keys, SelectStep.Keys) {
		if key.Doc == "" {
			t.Errorf("`%s`: got no explanation for editors, want one", key.Name)
		}
	}
}

// Lines of block texts hold no values, and count for none. What only looks like a block text counts.
func TestEntriesLeaveOutBlockTexts(t *testing.T) {
	t.Parallel()
	const text = "\n      one, two\n\n      three, four\n"
	for name, test := range map[string]struct {
		src  string
		want int
	}{
		"a block text":                 {"a:\n  - name: x\n    b: |" + text + "    c: d, e\n", 5},
		"folded, with indicators":      {"a: >-2" + text + "b: c\n", 2},
		"with properties and comment":  {"a: &x !!str |+" + text + "b: c\n", 2},
		"an item":                      {"- |" + text + "- b\n", 2},
		"an item of an item":           {"- - |" + text + "- b\n", 2},
		"a key of an item":             {"- a: |" + text + "  b: c\n- d\n", 3},
		"the key of an item ends it":   {"- a: |\n  b, c: d\n", 3},
		"windows":                      {"a: |\r\n  b, c\r\nd: e\r\n", 2},
		"a comment is none":            {"a: b # c: |\n  , ,\n", 4},
		"a line of comment is none":    {"# c: |\n  a, b: [1, 2]\n", 4},
		"a word is none":               {"a: b |\n  , ,\n", 4},
		"brackets of a line are none":  {"a: [b |\n  , ,]\n", 4},
		"it ends where it is indented": {"a:\n  b: |\n    c, d\n  e: f, g\n h: [i, j]\n", 6},
	} {
		expect.Same(t, name, entries([]byte(test.src)), test.want)
	}
}

// A thousand cases with long texts are no hostile file.
func TestManyLongTextsLoad(t *testing.T) {
	t.Parallel()
	src := "cases:\n" + strings.Repeat("  - text: |\n"+strings.Repeat("      a line, with commas, of a long text\n", 200), 1000)
	n, diags := parsed(t, src)
	if got := len(n.Map().Get("cases").Seq()); got != 1000 || diags.Len() > 0 {
		t.Errorf("got %d cases and %v, want 1000", got, problems(diags))
	}
}

// A key of another tool gets a hint with ours, by the block in which it is; other keys get the nearest one.
func TestKeysOfOtherToolsHaveAHint(t *testing.T) {
	t.Parallel()
	inSuite := []string{"version", "name", "targets", "prompts", "cases", "scorerSets", "defaults", "tags"}
	inCase := []string{"name", "vars", "scorers", "inheritScorers", "cluster", "tags"}
	for _, test := range []struct {
		word  string
		known []string
		want  string
	}{
		{"tests", inSuite, "write `cases`" + imports},
		{"providers", inSuite, "write `targets`" + imports},
		{"default_test", inSuite, "write `defaults`" + imports},
		{"vars", inSuite, "write `vars` in a case, or in `defaults` for all cases"},
		{"scorers", inSuite, "write `scorers` in a case, or in `defaults` for all cases"},
		{"target", inSuite, "did you mean `targets`?"},
		{"assert", inCase, "write `scorers`"},
		{"expected_output", inCase, "write a scorer, such as `scorers: [{equals: ...}]`, or a variable"},
		{"question", inCase, "write it as a variable: `vars: {question: ...}`"},
		{"scorer", inCase, "did you mean `scorers`?"},
		{"assert", []string{"hang", "latency"}, "known here: hang, latency"},
	} {
		expect.Same(t, test.word, hint(test.word, test.known), test.want)
	}
}
