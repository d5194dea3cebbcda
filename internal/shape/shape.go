// Package shape describes what may appear in a YAML file of evalrun. The loader takes the keys that it knows from a
// Block. The JSON Schema for editors is made of the same Block, so that both know the same keys.
//
// A shape is what an editor can check of a value without the rest of the suite: its type, its words, its bounds. The
// loader checks the rest (a variable that a template names, a glob, a file); it is the stricter of the two.
package shape

import (
	"encoding/json"
	"maps"
	"math"
	"regexp"
	"slices"
	"strconv"
)

// Schema is a JSON Schema, draft 2020-12. It uses only keywords that draft 7 has too, since many editors know no later
// one.
type Schema = map[string]any

// Shape makes the Schema of a value. With templates a text that holds a template may stand for any scalar.
type Shape = func(templates bool) Schema

// Key is a key of a mapping.
type Key struct {
	Name string
	Is   Shape
	Doc  string // what it means, for people
}

// Block is a mapping with known keys.
type Block struct {
	Keys []Key
	Need []string // keys that must be there
	One  []string // exactly one of these must be there
	Some []string // at least one of these must be there
}

// Names lists the keys.
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

// Only returns the block with some of its keys, all of them optional.
func (b Block) Only(names ...string) Block {
	return Block{Keys: slices.DeleteFunc(slices.Clone(b.Keys), func(k Key) bool { return !slices.Contains(names, k.Name) })}
}

// Shape is a mapping with the keys of the block and no others.
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
		return out
	}
}

// Wanting returns one schema for each key, which requires that key, for oneOf and anyOf.
func Wanting(keys ...string) []Schema {
	out := make([]Schema, len(keys))
	for i, k := range keys {
		out[i] = Schema{"required": []string{k}}
	}
	return out
}

func (k Key) schema(templates bool) Schema {
	out := maps.Clone(k.Is(templates))
	if k.Doc != "" {
		out["description"] = k.Doc
	}
	return out
}

// Any is any value, null included.
func Any(bool) Schema { return Schema{} }

// Text is a text; a number or a boolean is taken as it is written.
func Text(bool) Schema { return Schema{"type": []string{"string", "number", "boolean"}} }

// Matching is a text of a form, an expression that JavaScript and RE2 read alike.
func Matching(pattern string) Shape {
	return orTemplate(func() Schema { // the keys are made for every suite, a schema for few
		types := []string{"string"}
		for word, kind := range map[string]string{"true": "boolean", "1": "number"} { // these are taken as they are written
			if regexp.MustCompile(pattern).MatchString(word) {
				types = append(types, kind)
			}
		}
		slices.Sort(types)
		return Schema{"type": types, "pattern": pattern}
	})
}

// Suggesting is any text; editors offer some.
func Suggesting(words ...string) Shape {
	return func(bool) Schema {
		return Schema{"anyOf": []Schema{{"enum": words}, Text(false)}}
	}
}

// WordOf is Word with constants of a type.
func WordOf[T ~string](known ...T) Shape {
	words := make([]string, len(known))
	for i, one := range known {
		words[i] = string(one)
	}
	return Word(words...)
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

// Bool is true or false.
func Bool(templates bool) Schema {
	return orTemplate(func() Schema { return Schema{"type": "boolean"} })(templates)
}

// Int is a whole number between lo and hi.
func Int(lo, hi int) Shape {
	return orTemplate(func() Schema { return bounded("integer", float64(lo), float64(hi)) })
}

// Number is a number between lo and hi.
func Number(lo, hi float64) Shape {
	return orTemplate(func() Schema { return bounded("number", lo, hi) })
}

// bounded leaves out limits that come only from the range of Go's numbers.
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

// Duration is a time with its unit.
func Duration(templates bool) Schema {
	return orTemplate(func() Schema {
		return Schema{
			"type":     "string",
			"pattern":  `^\+?([0-9]*\.?[0-9]+\.?(ns|us|µs|μs|ms|s|m|h))+$`,
			"examples": []string{"500ms", "2s", "1m30s"},
		}
	})(templates)
}

// orTemplate allows a text with a template instead of a value.
func orTemplate(make func() Schema) Shape {
	return func(templates bool) Schema {
		if !templates {
			return make()
		}
		return Schema{"anyOf": []Schema{make(), Ref("template")(false)}}
	}
}

// List is a list.
func List(of Shape) Shape {
	return func(templates bool) Schema {
		return orTemplate(func() Schema { return Schema{"type": "array", "items": of(templates)} })(templates)
	}
}

// Filled is a list of at least one item.
func Filled(of Shape) Shape {
	return func(templates bool) Schema {
		return orTemplate(func() Schema { return Schema{"type": "array", "items": of(templates), "minItems": 1} })(templates)
	}
}

// OneOrMore is a value, or a list of at least one.
func OneOrMore(of Shape) Shape { return Either(of, Filled(of)) }

// OneOrList is a value, or a list of any length.
func OneOrList(of Shape) Shape { return Either(of, List(of)) }

// Either is one of several shapes.
func Either(shapes ...Shape) Shape {
	return func(templates bool) Schema {
		var any []Schema
		for _, s := range shapes {
			any = append(any, s(templates))
		}
		return Schema{"anyOf": any}
	}
}

// Map is a mapping with keys of the user's.
func Map(of Shape) Shape {
	return func(templates bool) Schema {
		return orTemplate(func() Schema { return Schema{"type": "object", "additionalProperties": of(templates)} })(templates)
	}
}

// Named is a mapping with keys of the user's that match an expression.
func Named(pattern string, of Shape) Shape {
	return func(templates bool) Schema {
		return Schema{"type": "object", "additionalProperties": of(templates), "propertyNames": Schema{"pattern": pattern}}
	}
}

// Some is a mapping with at least one key.
func Some(mapping Shape) Shape {
	return func(templates bool) Schema {
		out := maps.Clone(mapping(templates))
		out["minProperties"] = 1
		return out
	}
}

// When makes two shapes of a mapping: one when it has a key, and another when it does not.
func When(key string, then, otherwise Shape) Shape {
	return func(templates bool) Schema {
		return Schema{
			"if":   Schema{"type": "object", "required": []string{key}},
			"then": then(templates),
			"else": otherwise(templates),
		}
	}
}

// Templates is a shape in which texts with templates may stand for scalars.
func Templates(of Shape) Shape { return func(bool) Schema { return of(true) } }

// Ref is a shape that the document defines by name, since it holds itself or appears in many places.
func Ref(name string) Shape {
	return func(bool) Schema { return Schema{"$ref": "#/$defs/" + name} }
}

// Document is the whole JSON Schema of a file.
func Document(title string, root Shape, defs map[string]Shape) []byte {
	out := maps.Clone(root(false))
	all := Schema{"template": Schema{"type": "string", "pattern": `\{\{`, "description": "a text with a template"}}
	for name, is := range defs {
		all[name] = is(false)
	}
	out["$schema"] = "https://json-schema.org/draft/2020-12/schema"
	out["title"] = title
	out["$defs"] = all
	text, err := json.MarshalIndent(out, "", " ")
	if err != nil { // there are only maps, lists and scalars in it
		panic(err)
	}
	return append(text, '\n')
}
