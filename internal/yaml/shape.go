package yaml

import (
	"encoding/json"
	"maps"
	"math"
	"regexp"
	"slices"
	"strconv"
)

// Schema is a JSON Schema of draft 2020-12. It uses only keywords that draft 7 has too, because many
// editors do not support later drafts.
type Schema = map[string]any

// Shape returns the Schema of a value. If templates is set, a text with a template is allowed instead of
// any scalar. It has what an editor can check without the rest of the suite. Loaders check more, such as variables in
// templates, globs and files.
type Shape = func(templates bool) Schema

// Key is a key of a mapping.
type Key struct {
	Name string
	Is   Shape
	Doc  string // description for editors
}

// Block is a mapping with a fixed set of keys. Loaders and the JSON Schemas for editors use the same blocks, so both know the
// same keys.
type Block struct {
	Name string // of its definition, by which a schema refers to it wherever it stands; "" has it written there
	Keys []Key
	Need []string // required keys
	One  []string // exactly one of these is required
	Some []string // at least one of these is required
}

// Names returns the names of the keys.
func (b Block) Names() []string {
	out := make([]string, len(b.Keys))
	for i, k := range b.Keys {
		out[i] = k.Name
	}
	return out
}

// Has reports whether the block has a key.
func (b Block) Has(name string) bool {
	return slices.ContainsFunc(b.Keys, func(k Key) bool { return k.Name == name })
}

// Only returns a block with only the named keys, all of them optional.
func (b Block) Only(names ...string) Block {
	return Block{Keys: slices.DeleteFunc(slices.Clone(b.Keys), func(k Key) bool { return !slices.Contains(names, k.Name) })}
}

// Shape allows mappings with the keys of the block and no others.
func (b Block) Shape() Shape {
	return func(templates bool) Schema {
		properties := Schema{}
		for _, k := range b.Keys {
			properties[k.Name] = k.schema(templates)
		}
		out := Schema{"type": "object", "properties": properties, "additionalProperties": false}
		if len(b.Need) > 0 {
			out["required"] = b.Need
		}
		if len(b.One) > 0 {
			out["oneOf"] = Wanting(b.One...)
		}
		if len(b.Some) > 0 {
			out["anyOf"] = Wanting(b.Some...)
		}
		if b.Name != "" {
			return defined(b.Name, templates, out)
		}
		return out
	}
}

// Wanting returns, for each key, a schema that requires it. They are for oneOf and anyOf.
func Wanting(keys ...string) []Schema {
	out := make([]Schema, len(keys))
	for i, k := range keys {
		out[i] = Schema{"required": []string{k}}
	}
	return out
}

func (k Key) schema(templates bool) Schema {
	out := maps.Clone(k.Is(templates))
	if out["$ref"] == nil || k.Doc != "" {
		out["title"] = k.Name // editors show it above the description
	}
	if k.Doc != "" {
		out["description"] = k.Doc
	}
	return out
}

// Any allows all values, including null.
func Any(bool) Schema { return Schema{} }

// Text allows texts. Numbers and booleans are read as texts too.
func Text(bool) Schema { return Schema{"type": []string{"string", "number", "boolean"}} }

// Matching allows texts that match a pattern in the common syntax of JavaScript and RE2.
func Matching(pattern string) Shape {
	return orTemplate(func() Schema { // every suite makes the keys, but few need their schema
		types := []string{"string"}
		for word, kind := range map[string]string{"true": "boolean", "1": "number"} { // unquoted in YAML, these would not be strings
			if regexp.MustCompile(pattern).MatchString(word) {
				types = append(types, kind)
			}
		}
		slices.Sort(types)
		return Schema{"type": types, "pattern": pattern}
	})
}

// Suggesting allows any text. Editors suggest words.
func Suggesting(words ...string) Shape {
	return func(bool) Schema {
		return Schema{"anyOf": []Schema{{"enum": words}, Text(false)}}
	}
}

// WordShape is Word with constants of a type.
func WordShape[T ~string](known ...T) Shape { return Word(plain(known)...) }

func plain[T ~string](known []T) []string {
	words := make([]string, len(known))
	for i, one := range known {
		words[i] = string(one)
	}
	return words
}

// Word is one of some words. Words that YAML takes for numbers need no quotes.
func Word(words ...string) Shape {
	known := make([]any, len(words))
	for i, w := range words {
		known[i] = w
	}
	for _, w := range words {
		if n, err := strconv.Atoi(w); err == nil {
			known = append(known, n)
		}
	}
	return orTemplate(func() Schema { return Schema{"enum": known} })
}

// Bool allows true and false.
func Bool(templates bool) Schema {
	return orTemplate(func() Schema { return Schema{"type": "boolean"} })(templates)
}

// Int allows whole numbers between lo and hi.
func Int(lo, hi int) Shape {
	return orTemplate(func() Schema { return bounded("integer", float64(lo), float64(hi)) })
}

// Number allows numbers between lo and hi.
func Number(lo, hi float64) Shape {
	return orTemplate(func() Schema { return bounded("number", lo, hi) })
}

// bounded omits limits that only come from the range of Go's numbers.
func bounded(kind string, lo, hi float64) Schema {
	out := Schema{"type": kind}
	if lo > math.MinInt32 {
		out["minimum"] = lo
	}
	if hi < math.MaxInt32 {
		out["maximum"] = hi
	}
	return out
}

// Duration allows times with a unit.
func Duration(templates bool) Schema {
	return orTemplate(func() Schema {
		return Schema{
			"type":     "string",
			"pattern":  `^\+?([0-9]*\.?[0-9]+\.?(ns|us|µs|μs|ms|s|m|h))+$`,
			"examples": []string{"500ms", "2s", "1m30s"},
		}
	})(templates)
}

// orTemplate also allows a text with a template.
func orTemplate(make func() Schema) Shape {
	return func(templates bool) Schema {
		if !templates {
			return make()
		}
		return Schema{"anyOf": []Schema{make(), Ref("template")(false)}}
	}
}

// List allows lists.
func List(of Shape) Shape {
	return func(templates bool) Schema {
		return orTemplate(func() Schema { return Schema{"type": "array", "items": of(templates)} })(templates)
	}
}

// Filled allows lists with at least one item.
func Filled(of Shape) Shape {
	return func(templates bool) Schema {
		return orTemplate(func() Schema { return Schema{"type": "array", "items": of(templates), "minItems": 1} })(templates)
	}
}

// OneOrMore allows one value, or a list with at least one.
func OneOrMore(of Shape) Shape { return Either(of, Filled(of)) }

// OneOrList allows one value, or a list of any length.
func OneOrList(of Shape) Shape { return Either(of, List(of)) }

// Either allows all values that one of the shapes allows.
func Either(shapes ...Shape) Shape {
	return func(templates bool) Schema {
		var any []Schema
		for _, s := range shapes {
			any = append(any, s(templates))
		}
		return Schema{"anyOf": any}
	}
}

// MapShape allows mappings with any keys.
func MapShape(of Shape) Shape {
	return func(templates bool) Schema {
		return orTemplate(func() Schema { return Schema{"type": "object", "additionalProperties": of(templates)} })(templates)
	}
}

// Named allows mappings whose keys match a pattern.
func Named(pattern string, of Shape) Shape {
	return func(templates bool) Schema {
		return Schema{"type": "object", "additionalProperties": of(templates), "propertyNames": Schema{"pattern": pattern}}
	}
}

// Some requires at least one key in a mapping.
func Some(mapping Shape) Shape {
	return func(templates bool) Schema {
		out := maps.Clone(mapping(templates))
		out["minProperties"] = 1
		return out
	}
}

// When applies one shape to mappings that have a key, and another one to mappings without it.
func When(key string, then, otherwise Shape) Shape {
	return func(templates bool) Schema {
		return Schema{
			"if":   Schema{"type": "object", "required": []string{key}},
			"then": then(templates),
			"else": otherwise(templates),
		}
	}
}

// Templates allows templates instead of scalars in a shape.
func Templates(of Shape) Shape { return func(bool) Schema { return of(true) } }

// Ref refers to a definition of the document, for shapes that are recursive or used in many places.
func Ref(name string) Shape {
	return func(bool) Schema { return Schema{"$ref": "#/$defs/" + name} }
}

// defined refers to a definition, and brings it along until Document takes it to its place.
func defined(name string, templates bool, is Schema) Schema {
	if templates {
		name += "OrTemplate"
	}
	out := Ref(name)(templates)
	out[brought] = Schema{name: is}
	return out
}

const brought = "$brought"

// define moves what a schema brings along to the definitions.
func define(in any, all Schema) {
	switch in := in.(type) {
	case []Schema:
		for _, one := range in {
			define(one, all)
		}
	case Schema:
		if own, ok := in[brought].(Schema); ok {
			delete(in, brought)
			define(own, all)
			maps.Copy(all, own)
		}
		for _, below := range in {
			define(below, all)
		}
	}
}

// Document returns the JSON Schema of a file.
func Document(title string, root Shape, defs map[string]Shape) []byte {
	out := maps.Clone(root(false))
	all := Schema{"template": Schema{"type": "string", "pattern": `\{\{`, "description": "a text with a template"}}
	define(out, all)
	for name, shape := range defs {
		is := shape(false)
		define(is, all)
		all[name] = is
	}
	out["$schema"] = "https://json-schema.org/draft/2020-12/schema"
	out["title"] = title
	out["$defs"] = all
	text, err := json.MarshalIndent(out, "", " ")
	if err != nil { // it has only maps, lists and scalars
		panic(err)
	}
	return append(text, '\n')
}
