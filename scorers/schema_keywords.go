package scorers

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/evalrun/evalrun/diag"
	"github.com/evalrun/evalrun/internal/yaml"
)

// JSON Schema ignores unknown keywords, so a misspelt one asserts nothing. Keys are checked where a schema has
// keywords, but not where it has names (`properties`) or data (`enum`).

type schemaDraft struct {
	name     string
	url      string
	keywords []string
}

// schemaDrafts are the known versions, oldest first. Their keywords come from their meta-schemas.
var schemaDrafts = sync.OnceValue(func() []schemaDraft {
	drafts := []schemaDraft{
		{name: "draft-04", url: "http://json-schema.org/draft-04/schema"},
		{name: "draft-06", url: "http://json-schema.org/draft-06/schema"},
		{name: "draft-07", url: "http://json-schema.org/draft-07/schema"},
		{name: "2019-09", url: "https://json-schema.org/draft/2019-09/schema"},
		{name: "2020-12", url: "https://json-schema.org/draft/2020-12/schema"},
	}
	for i, d := range drafts {
		drafts[i].keywords = append(metaKeywords(jsonschema.NewCompiler().MustCompile(d.url)), "$ref")
	}
	return drafts
})

func metaKeywords(s *jsonschema.Schema) []string {
	names := slices.Sorted(maps.Keys(s.Properties))
	for _, part := range s.AllOf {
		if part.Ref != nil {
			part = part.Ref
		}
		names = append(names, metaKeywords(part)...)
	}
	return names
}

// draftOf is the version that a schema declares; zero when unknown, which the library reports.
func draftOf(schema map[string]any, otherwise schemaDraft) schemaDraft {
	declared, ok := schema["$schema"].(string)
	if !ok {
		return otherwise
	}
	bare := strings.TrimPrefix(strings.TrimPrefix(strings.TrimSuffix(declared, "#"), "http://"), "https://")
	if bare == "json-schema.org/schema" {
		return schemaDrafts()[len(schemaDrafts())-1]
	}
	for _, d := range schemaDrafts() {
		if _, path, _ := strings.Cut(d.url, "://"); path == bare {
			return d
		}
	}
	return schemaDraft{}
}

// Keywords that contain schemas.
var (
	schemaValues = []string{
		"not", "if", "then", "else", "items", "additionalItems", "unevaluatedItems", "contains", "additionalProperties",
		"unevaluatedProperties", "propertyNames", "contentSchema",
	}
	schemaLists = []string{"allOf", "anyOf", "oneOf", "prefixItems", "items"}
	schemaMaps  = []string{"properties", "patternProperties", "$defs", "definitions", "dependentSchemas", "dependencies"}
)

// noteKeywords assert nothing, or only hold schemas for references: they are harmless in drafts without them.
var noteKeywords = strings.Fields(
	"$comment $defs definitions $anchor $id id $vocabulary title description default examples example deprecated readOnly writeOnly " +
		"contentEncoding contentMediaType contentSchema note notes name label order unit units",
)

type keywordCheck struct {
	src   schemaSource
	found bool // whether a problem was reported
	// refers are first steps of references such as #/components/schemas/x: keys of the root that are not keywords but
	// hold schemas.
	refers map[string]bool
}

var rootReference = compiled(`^#/([^/]+)/`)

// checkKeywords reports unknown keywords. It returns whether none of them is an error.
func (s schemaSource) checkKeywords() bool {
	c := &keywordCheck{src: s, refers: map[string]bool{}}
	c.references(s.doc)
	c.schema(s.doc, nil, schemaDrafts()[len(schemaDrafts())-1])
	return !c.found
}

func (c *keywordCheck) references(v any) {
	switch v := v.(type) {
	case map[string]any:
		for key, value := range v {
			if text, ok := value.(string); ok && key == "$ref" {
				if m := rootReference().FindStringSubmatch(text); m != nil {
					c.refers[m[1]] = true
				}
			}
			c.references(value)
		}
	case []any:
		for _, item := range v {
			c.references(item)
		}
	}
}

func (c *keywordCheck) schema(v any, path []string, draft schemaDraft) {
	schema, ok := v.(map[string]any)
	if !ok {
		return
	}
	if draft = draftOf(schema, draft); draft.name == "" {
		return
	}
	for _, key := range slices.Sorted(maps.Keys(schema)) {
		value, inside := schema[key], append(slices.Clip(path), key)
		if !slices.Contains(draft.keywords, key) {
			c.unknown(key, path, draft)
			continue
		}
		c.inside(key, value, inside, draft)
	}
}

func (c *keywordCheck) inside(key string, value any, path []string, draft schemaDraft) {
	switch v := value.(type) {
	case []any:
		for i, item := range v {
			if slices.Contains(schemaLists, key) {
				c.schema(item, append(slices.Clip(path), fmt.Sprint(i)), draft)
			}
		}
	case map[string]any:
		if slices.Contains(schemaValues, key) {
			c.schema(v, path, draft)
		}
		for _, name := range slices.Sorted(maps.Keys(v)) {
			if slices.Contains(schemaMaps, key) {
				c.schema(v[name], append(slices.Clip(path), name), draft)
			}
		}
	}
}

// unknown reports an unknown keyword: as an error when it is probably a typo, or has a meaning in another draft.
func (c *keywordCheck) unknown(key string, path []string, draft schemaDraft) {
	if strings.HasPrefix(key, "x-") || slices.Contains(noteKeywords, key) || len(path) == 0 && c.refers[key] {
		return
	}
	node := at(c.src.node, path)
	if c.src.file == "" {
		node = node.Map().Key(key)
	}
	where := ""
	if c.src.file != "" {
		where = pointer(path) + ": "
	}
	said := fmt.Sprintf("%s`%s` is not a keyword of JSON Schema %s", where, visibleText(key), draft.name)
	switch other, near := draftsWith(key), diag.Nearest(key, draft.keywords, 1); {
	case len(other) > 0:
		c.problem(
			node,
			fmt.Sprintf("a keyword of %s; set `$schema`, or take the keyword of %s", strings.Join(other, ", "), draft.name),
			said,
		)
	case len(near) > 0:
		c.problem(node, fmt.Sprintf("did you mean `%s`?", near[0]), said)
	default:
		node.Warnf(fmt.Sprintf("name a note of your own `x-%s`", visibleText(key)), "%s%s, and is not checked", c.src.prefix(), said)
	}
}

func (c *keywordCheck) problem(node yaml.Node, hint, said string) {
	c.found = true
	c.src.errorAt(node, hint, "%s", said)
}

func draftsWith(key string) (names []string) {
	for _, d := range schemaDrafts() {
		if slices.Contains(d.keywords, key) {
			names = append(names, d.name)
		}
	}
	return names
}
