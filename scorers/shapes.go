package scorers

import (
	"encoding/json"
	"maps"
	"slices"

	"github.com/evalrun/evalrun/diag"
	"github.com/evalrun/evalrun/internal/entry"
	"github.com/evalrun/evalrun/internal/shape"
	"github.com/evalrun/evalrun/internal/yamlnode"
)

// Shapes are the shapes of scorers in a suite: `scorer` in a list, `nestedScorer` inside another one, and the
// arguments of each kind by name.
func (t Table) Shapes() map[string]shape.Shape {
	out := map[string]shape.Shape{
		"scorer":       t.entry(entry.SiblingKeys),
		"nestedScorer": t.entry(entry.NestedKeys),
	}
	for _, k := range t {
		out[k.Name] = shape.Templates(k.arguments)
	}
	return out
}

// entry is a mapping with one kind and its options. Any value may come from a template.
func (t Table) entry(siblings shape.Block) shape.Shape {
	b := shape.Block{Keys: slices.Clone(siblings.Keys)}
	options := map[string][]string{} // kinds by option
	for _, k := range t {
		b.Keys = append(b.Keys, shape.Key{Name: k.Name, Is: shape.Ref(k.Name)})
		for _, o := range k.Options {
			options[o] = append(options[o], k.Name)
		}
	}
	b.Keys = append(b.Keys, textKeys().Only(slices.Sorted(maps.Keys(options))...).Keys...)
	// A misspelt kind is one problem: a kind is required only when all keys are known.
	rules := []shape.Schema{
		{"if": shape.Schema{"propertyNames": shape.Schema{"enum": b.Names()}}, "then": shape.Schema{"oneOf": shape.Wanting(t.Names()...)}},
	}
	for _, o := range slices.Sorted(maps.Keys(options)) {
		rules = append(
			rules,
			shape.Schema{"if": shape.Schema{"required": []string{o}}, "then": shape.Schema{"anyOf": shape.Wanting(options[o]...)}},
		)
	}
	return shape.Templates(func(templates bool) shape.Schema {
		out := b.Shape()(templates)
		out["allOf"] = rules
		return out
	})
}

// arguments is the schema of a kind's argument, with its documentation and example.
func (k Kind) arguments(templates bool) shape.Schema {
	out := maps.Clone(k.takes(templates))
	out["description"] = k.Summary + ".\n\n" + k.Doc
	var ignored diag.List // a test checks the examples
	if list, ok := yamlnode.Parse(k.Name, []byte(k.Example), &ignored); ok {
		for _, item := range list.Items() {
			out["examples"] = []json.RawMessage{item.Map().Get(k.Name).JSON(nil)}
		}
	}
	return out
}
