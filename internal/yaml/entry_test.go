package yaml

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/santhosh-tekuri/jsonschema/v6"
)

// allows reports whether an editor with the schema of a shape takes a JSON value.
func allows(t *testing.T, is Shape, value string) bool {
	t.Helper()
	doc, err := jsonschema.UnmarshalJSON(strings.NewReader(string(Document("x", is, nil))))
	if err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	if err := c.AddResource("x.json", doc); err != nil {
		t.Fatal(err)
	}
	schema, err := c.Compile("x.json")
	if err != nil {
		t.Fatal(err)
	}
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
		if got := allows(t, SiblingKeys.Shape(), value); got != want {
			t.Errorf("%s: got %v, want %v", value, got, want)
		}
	}
}

// What makes a score of its own, such as a name or a weight, belongs to the outer scorer.
func TestNestedScorersHaveOnlyOptionsOfTheirText(t *testing.T) {
	t.Parallel()
	names := NestedKeys.Names()
	slices.Sort(names)
	if diff := cmp.Diff([]string{"candidate", "onError", "partial", "select", "turn"}, names); diff != "" {
		t.Errorf("options of nested scorers (-want +got):\n%s", diff)
	}
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
