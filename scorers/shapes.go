package scorers

import (
	"encoding/json"
	"maps"
	"slices"

	"github.com/evalrun/evalrun/diag"
	"github.com/evalrun/evalrun/internal/yaml"
)

// Shapes are the shapes of scorers in a suite: `scorer` in a list, `nestedScorer` inside another one, and the
// arguments of each kind by name.
func (t Table) Shapes() map[string]yaml.Shape {
	out := map[string]yaml.Shape{
		"scorer":       t.entry(yaml.SiblingKeys),
		"nestedScorer": t.entry(yaml.NestedKeys),
	}
	for _, k := range t {
		out[k.Name] = yaml.Templates(k.arguments)
	}
	return out
}

// entry is a mapping with one kind and its options. Any value may come from a template.
func (t Table) entry(siblings yaml.Block) yaml.Shape {
	b := yaml.Block{Keys: slices.Clone(siblings.Keys)}
	options := map[string][]string{} // kinds by option
	for _, k := range t {
		b.Keys = append(b.Keys, yaml.Key{Name: k.Name, Is: yaml.Ref(k.Name)})
		for _, o := range k.Options {
			options[o] = append(options[o], k.Name)
		}
	}
	b.Keys = append(b.Keys, textKeys().Only(slices.Sorted(maps.Keys(options))...).Keys...)
	// A misspelt kind is one problem: a kind is required only when all keys are known.
	rules := []yaml.Schema{
		{"if": yaml.Schema{"propertyNames": yaml.Schema{"enum": b.Names()}}, "then": yaml.Schema{"oneOf": yaml.Wanting(t.Names()...)}},
	}
	for _, o := range slices.Sorted(maps.Keys(options)) {
		rules = append(
			rules,
			yaml.Schema{"if": yaml.Schema{"required": []string{o}}, "then": yaml.Schema{"anyOf": yaml.Wanting(options[o]...)}},
		)
	}
	return yaml.Templates(func(templates bool) yaml.Schema {
		out := b.Shape()(templates)
		out["allOf"] = rules
		return out
	})
}

// arguments is the schema of a kind's argument, with its documentation and example.
func (k Kind) arguments(templates bool) yaml.Schema {
	out := maps.Clone(k.takes(templates))
	out["description"] = k.Summary + ".\n\n" + k.Doc
	var ignored diag.List // a test checks the examples
	if list, ok := yaml.Parse(k.Name, []byte(k.Example), &ignored); ok {
		for _, item := range list.Items() {
			out["examples"] = []json.RawMessage{item.Map().Get(k.Name).JSON(nil)}
		}
	}
	return out
}
