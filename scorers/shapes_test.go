package scorers

import (
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/evalrun/evalrun/diag"
	"github.com/evalrun/evalrun/internal/testing/expect"
	"github.com/evalrun/evalrun/internal/yaml"
	"github.com/evalrun/evalrun/suite"
)

func TestKindsSayWhatTheyTake(t *testing.T) {
	t.Parallel()
	for _, k := range Builtin() {
		if k.takes == nil {
			t.Errorf("%s: got no shape, want one for the JSON Schema", k.Name)
		}
		for _, o := range k.Options {
			if !slices.Contains(textKeys().Names(), o) {
				t.Errorf("got no option %s of %s in the JSON Schema, want it in textKeys", o, k.Name)
			}
		}
		var diags diag.List
		list, ok := yaml.Parse(k.Name, []byte(k.Example), &diags)
		if !ok || len(list.Seq()) != 1 || !list.Seq()[0].Map().Has(k.Name) || diags.Len() > 0 {
			t.Errorf("the example of %s: got another, want a list of one such scorer", k.Name)
		}
	}
}

// What an editor inserts after the name of a kind is the argument of its example. Language servers cannot write examples with mappings in
// lists, so the schema has none.
func TestEditorsInsertForms(t *testing.T) {
	t.Parallel()
	field, escape := regexp.MustCompile(`(?s)^\$\{1:(.*)\}$`), regexp.MustCompile(`\\([\\$}])`)
	for _, k := range Builtin() {
		schema := k.arguments(false)
		expect.Same(t, k.Name+": title", schema["title"], any(k.Name))
		expect.Contains(t, k.Name, schema["markdownDescription"].(string), "```yaml\n"+k.Example+"\n```")
		if schema["examples"] != nil {
			t.Errorf("%s: got examples %v, want none", k.Name, schema["examples"])
		}
		form := schema["defaultSnippets"].([]yaml.Schema)[0]["body"].(string)
		inserted := escape.ReplaceAllString(field.ReplaceAllString(form, "$1"), "$1")
		expect.Same(t, k.Name+": form", exampleArgument(t, k.Name, "- "+k.Name+": "+inserted), exampleArgument(t, k.Name, k.Example))
	}
}

func exampleArgument(t *testing.T, kind, text string) string {
	t.Helper()
	var diags diag.List
	list, ok := yaml.Parse(kind, []byte(text), &diags)
	if !ok {
		t.Fatalf("%s: got %v, want YAML", text, diags.Sorted())
	}
	return string(list.Seq()[0].Map().Get(kind).JSON(nil))
}

// An editor suggests every kind in an empty scorer, and options alone next to a kind: those of every scorer, and of this one.
func TestEditorsSuggestOptionsOfTheKind(t *testing.T) {
	t.Parallel()
	ofAll := yaml.SiblingKeys.Names()
	for written, want := range map[string][]string{
		`{}`:                  slices.Concat(ofAll, Builtin().Names()),
		`{"contains":"x"}`:    slices.Concat(ofAll, []string{"contains", "ignoreCase", "trim", "normalize"}),
		`{"latency":{}}`:      slices.Concat(ofAll, []string{"latency"}),
		`{"all":[],"name":1}`: slices.Concat(ofAll, []string{"all"}),
	} {
		got := slices.Sorted(maps.Keys(suggested(t, Builtin().entry(yaml.SiblingKeys)(false), written)))
		slices.Sort(want)
		expect.Same(t, written, got, want)
	}
}

// suggested are the keys with a schema that concern a mapping, as language servers collect them.
func suggested(t *testing.T, schema yaml.Schema, mapping string) yaml.Schema {
	t.Helper()
	out := yaml.Schema{}
	maps.Copy(out, schema["properties"].(yaml.Schema))
	maps.DeleteFunc(out, func(_ string, is any) bool { return is == true })
	doc, err := jsonschema.UnmarshalJSON(strings.NewReader(mapping))
	expect.OK(t, err)
	for _, rule := range schema["allOf"].([]yaml.Schema) {
		text, err := json.Marshal(rule["if"])
		expect.OK(t, err)
		condition, err := jsonschema.UnmarshalJSON(strings.NewReader(string(text)))
		expect.OK(t, err)
		c := jsonschema.NewCompiler()
		expect.OK(t, c.AddResource("if.json", condition))
		compiled, err := c.Compile("if.json")
		expect.OK(t, err)
		if properties, ok := rule["then"].(yaml.Schema)["properties"].(yaml.Schema); ok && compiled.Validate(doc) == nil {
			maps.Copy(out, properties)
		}
	}
	return out
}

// A text that has not its format says what the format takes.
func TestFormatsOfSchemasSayWhatTheyTake(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		strings.Repeat("a.", 130):        "a host name has at most 253 characters",
		"a..b":                           "the parts of a host name are 1 to 63 letters, digits and inner hyphens",
		"ab--c":                          "hyphens in the third and fourth place are for encoded names (xn--)",
		"ann":                            "it has no @",
		strings.Repeat("a", 65) + "@b.c": "it is longer than an address may be",
		"a b@c.d":                        "what is before the @ is not a local part (RFC 5321)",
		"a@[300.1.1.1]":                  "what is in brackets is not an address",
	} {
		check := validHost
		if strings.Contains(want, "@") || strings.Contains(want, "address") {
			check = validMailbox
		}
		expect.Contains(t, text, fmt.Sprint(check(text)), want)
	}
}

// A scorer needs all that the scorers inside it need.
func TestNeedsOfAScorerInsideAreKept(t *testing.T) {
	t.Parallel()
	var inner suite.Needs
	from := reflect.ValueOf(&inner).Elem()
	for i := range from.NumField() {
		switch field := from.Field(i); field.Kind() {
		case reflect.Slice:
			field.Set(reflect.MakeSlice(field.Type(), 1, 1))
		case reflect.String:
			field.SetString("needed")
		case reflect.Bool:
			field.SetBool(true)
		default:
			t.Fatalf("got the field %s of the kind %s, want one that this test can fill", from.Type().Field(i).Name, field.Kind())
		}
	}
	var outer needs
	outer.add(inner, true)
	got := reflect.ValueOf(outer.Needs)
	for i := range got.NumField() {
		if got.Field(i).IsZero() {
			t.Errorf("%s: got %v, want it taken over", got.Type().Field(i).Name, got.Field(i))
		}
	}
	outer = needs{}
	if outer.add(inner, false); outer.Stream != "" {
		t.Errorf("got the stream of %q, want none where it is not taken over", outer.Stream)
	}
}
