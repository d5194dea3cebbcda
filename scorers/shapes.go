package scorers

import (
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/evalrun/evalrun/internal/yaml"
)

// Shapes are the shapes of scorers in a suite: `scorer` in a list, `nestedScorer` inside another one, and the
// arguments of each kind by name.
func (t Table) Shapes() map[string]yaml.Shape {
	out := map[string]yaml.Shape{
		"scorer":       t.entry(yaml.SiblingKeys),
		"nestedScorer": t.entry(yaml.NestedKeys),
		"fileScorer": t.ofFiles().entry(yaml.Block{
			Need: []string{"path"}, Keys: append(filePathKeys(), yaml.NestedKeys.Only("select", "onError").Keys...),
		}),
	}
	for _, k := range t {
		out[k.Name] = yaml.Templates(k.arguments)
	}
	return out
}

// entry is a mapping with one kind and its options. Any value may come from a template. Rules have what is of a kind: language servers
// then suggest kinds only until there is one, and options only next to kinds that have them. They take every anyOf for true, so the
// conditions have none.
func (t Table) entry(siblings yaml.Block) yaml.Shape {
	kinds, block := yaml.Block{}, yaml.Block{Need: siblings.Need, Keys: slices.Clone(siblings.Keys)}
	options := map[string][]string{} // kinds by option
	for _, k := range t {
		kinds.Keys = append(kinds.Keys, yaml.Key{Name: k.Name, Is: yaml.Ref(k.Name)})
		for _, o := range k.Options {
			options[o] = append(options[o], k.Name)
		}
	}
	ofRules := slices.Concat(t.Names(), slices.Sorted(maps.Keys(options)))
	return yaml.Templates(func(templates bool) yaml.Schema {
		out := block.Shape()(templates)
		properties := out["properties"].(yaml.Schema)
		for _, name := range ofRules {
			properties[name] = true
		}
		known := slices.Sorted(maps.Keys(properties))
		noKind := yaml.Schema{"not": yaml.Schema{"pattern": "^(" + strings.Join(t.Names(), "|") + ")$"}}
		rules := []yaml.Schema{
			// A misspelt kind is one problem: a kind is required only when all keys are known.
			{"if": yaml.Schema{"propertyNames": yaml.Schema{"enum": known}}, "then": yaml.Schema{"oneOf": yaml.Wanting(t.Names()...)}},
			{"if": yaml.Schema{"propertyNames": noKind}, "then": keys(kinds, templates)},
		}
		for _, k := range t {
			own := textKeys().Only(k.Options...)
			own.Keys = append(own.Keys, kinds.Only(k.Name).Keys...)
			rules = append(rules, yaml.Schema{"if": having(k.Name), "then": keys(own, templates)})
		}
		for _, o := range slices.Sorted(maps.Keys(options)) {
			rules = append(rules, yaml.Schema{"if": having(o), "then": yaml.Schema{"anyOf": yaml.Wanting(options[o]...)}})
		}
		out["allOf"] = rules
		return out
	})
}

func having(key string) yaml.Schema { return yaml.Schema{"required": []string{key}} }

func keys(b yaml.Block, templates bool) yaml.Schema {
	return yaml.Schema{"properties": b.Shape()(templates)["properties"]}
}

// arguments is the schema of a kind's argument, with its documentation and a form to fill in.
func (k Kind) arguments(templates bool) yaml.Schema {
	out := maps.Clone(k.takes(templates))
	about := k.Summary + ".\n\n" + k.Doc
	out["title"] = k.Name
	out["description"] = about
	out["markdownDescription"] = about + "\n\n```yaml\n" + k.Example + "\n```"
	out["defaultSnippets"] = []yaml.Schema{{"label": k.Name, "body": k.form()}}
	return out
}

// form is the argument of the example, as text that editors insert after the key. What stands on the key's line is selected, to type over.
func (k Kind) form() string {
	text := strings.TrimPrefix(k.Example, "- "+k.Name+":")
	text = besides.ReplaceAllString(text, "")
	text = strings.NewReplacer(`\`, `\\`, `$`, `\$`, `}`, `\}`).Replace(text)
	if strings.HasPrefix(text, "\n") {
		return text
	}
	return "${1:" + text[1:] + "}"
}

// besides are the options next to the kind in an example.
var besides = regexp.MustCompile(`(?s)\n  \S.*`)
