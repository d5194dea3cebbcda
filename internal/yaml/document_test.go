package yaml

import (
	"encoding/json"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/evalrun/evalrun/internal/testing/expect"
)

func decoded(t *testing.T, doc []byte) map[string]any {
	t.Helper()
	var out map[string]any
	expect.OK(t, json.Unmarshal(doc, &out))
	return out
}

func TestADocumentNamesItsDraftAndItsParts(t *testing.T) {
	t.Parallel()
	block := Block{Need: []string{"a"}, Keys: []Key{{Name: "a", Is: Ref("part"), Doc: "What a is."}, {Name: "b", Is: Int(1, 5)}}}
	got := decoded(t, Document("A file", block.Shape(), map[string]Shape{"part": Text}))
	want := map[string]any{
		"$schema": "https://json-schema.org/draft/2020-12/schema", "title": "A file", "type": "object", "additionalProperties": false,
		"required": []any{"a"},
		"properties": map[string]any{
			"a": map[string]any{"title": "a", "$ref": "#/$defs/part", "description": "What a is."},
			"b": map[string]any{"title": "b", "type": "integer", "minimum": 1.0, "maximum": 5.0},
		},
		"$defs": map[string]any{
			"part":     map[string]any{"type": []any{"string", "number", "boolean"}},
			"template": map[string]any{"type": "string", "pattern": `\{\{`, "description": "a text with a template"},
		},
	}
	expect.Same(t, "result", got, want)
}

// Schemas are files of the repository: the same tables give the same bytes.
func TestADocumentIsTheSameEachTime(t *testing.T) {
	t.Parallel()
	document := func() string {
		block := Block{
			Some: []string{"x", "y"},
			Keys: []Key{{Name: "x", Is: Matching("^[a-z0-9]+$")}, {Name: "y", Is: Word("1", "b")}, {Name: "z", Is: Bool}},
		}
		return string(Document("t", Templates(block.Shape()), map[string]Shape{"a": Text, "b": Duration, "c": List(Ref("a"))}))
	}
	first := document()
	for range 20 {
		expect.Same(t, "the document, written again", document(), first)
	}
}

// Bounds that are there only because numbers have an end are not shown.
func TestBoundsOfNumbersThemselvesAreNotShown(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		is   Shape
		want Schema
	}{
		"both":     {Int(-3, 7), Schema{"type": "integer", "minimum": -3.0, "maximum": 7.0}},
		"at least": {Int(0, 1<<31-1), Schema{"type": "integer", "minimum": 0.0}},
		"at most":  {Number(-1<<31, 2.5), Schema{"type": "number", "maximum": 2.5}},
		"neither":  {Number(-1e300, 1e300), Schema{"type": "number"}},
		"with template": {
			Templates(Int(1, 2)),
			Schema{"anyOf": []Schema{{"type": "integer", "minimum": 1.0, "maximum": 2.0}, {"$ref": "#/$defs/template"}}},
		},
	} {
		expect.Same(t, name, test.is(false), test.want)
	}
}

// A block that is narrowed, or shown, is not changed for others.
func TestBlocksAreNotShared(t *testing.T) {
	t.Parallel()
	block := Block{Need: []string{"a"}, Keys: []Key{{Name: "a", Is: Text}, {Name: "b", Is: Text}, {Name: "c", Is: Text}}}
	narrow := block.Only("c", "a", "unknown")
	if diff := cmp.Diff([]string{"a", "c"}, narrow.Names()); diff != "" || len(narrow.Need) > 0 {
		t.Errorf("%v must be there (-want +got):\n%s", narrow.Need, diff)
	}
	shown := block.Shape()(false)
	shown["properties"].(Schema)["d"] = Schema{}
	Some(block.Shape())(false)["minProperties"] = 7
	if names := block.Names(); !slices.Equal(names, []string{"a", "b", "c"}) {
		t.Errorf("got %q, want the keys in their order", names)
	}
	expect.Same(t, "result", block.Shape()(false), Schema{"type": "object", "properties": Schema{
		"a": Schema{"title": "a", "type": []string{"string", "number", "boolean"}},
		"b": Schema{"title": "b", "type": []string{"string", "number", "boolean"}},
		"c": Schema{"title": "c", "type": []string{"string", "number", "boolean"}},
	}, "additionalProperties": false, "required": []string{"a"}})
}
