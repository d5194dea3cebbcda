package yaml

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/evalrun/evalrun/internal/testing/expect"
	"github.com/santhosh-tekuri/jsonschema/v6"
)

func TestTheSchemaOfAShapeTakesWhatTheShapeTakes(t *testing.T) {
	t.Parallel()
	block := Block{
		Need: []string{"a"},
		One:  []string{"b", "c"},
		Keys: []Key{{Name: "a", Is: Text}, {Name: "b", Is: Bool}, {Name: "c", Is: Duration, Doc: "how long"}},
	}
	inner := Block{Name: "inner", Need: []string{"a"}, Keys: []Key{{Name: "a", Is: Int(1, 5)}}}
	outer := Block{Name: "outer", Keys: []Key{{Name: "one", Is: inner.Shape(), Doc: "x"}, {Name: "more", Is: List(inner.Shape())}}}
	for name, test := range map[string]struct {
		is       Shape
		yes, not string // JSON values, separated by spaces
	}{
		"text":              {Text, `"x" 1 true ""`, `null [] {}`},
		"number":            {Number(0, 2), `0 2 1.5`, `-1 3 "1" null true`},
		"open number":       {Number(-1e300, 1e300), `-7 1e20`, `"1"`},
		"whole":             {Int(1, 1<<31-1), `1 999999999999`, `0 1.5 "{{.x}}"`},
		"template":          {Templates(Int(1, 5)), `1 "{{.x}}" "1{{.x}}"`, `0 "x" true {}`},
		"nested template":   {Templates(List(MapShape(Bool))), `[{"a":"{{.x}}"}] [] "{{.x}}" ["{{.x}}"]`, `"x" [{"a":"x"}]`},
		"word":              {Word("1", "L"), `"1" 1 "L"`, `"2" 2 null`},
		"suggesting":        {Suggesting("A"), `"A" "B" 1`, `null []`},
		"matching":          {Matching(`^[a-z0-9]+$`), `"a1" 1 true`, `"A" null`},
		"matching no digit": {Matching(`^[A-Z]+$`), `"A"`, `1 true "a"`},
		"duration":          {Duration, `"500ms" "1m30s" "1.5h" ".5s" "+1s"`, `5 "5" "s" "" "1 s" null`},
		"one or more":       {OneOrMore(Text), `"x" ["x"]`, `[] [null] {}`},
		"one or list":       {OneOrList(Text), `"x" []`, `[null] {}`},
		"some":              {Some(Named("^[a-z]+$", Bool)), `{"a":true}`, `{} {"A":true} {"a":1}`},
		"block": {
			block.Shape(), `{"a":"x","b":true} {"a":"x","c":"1s"}`,
			`{} {"b":true} {"a":1} {"a":1,"b":true,"c":"1s"} {"a":1,"b":true,"d":1}`,
		},
		"named block":           {outer.Shape(), `{"one":{"a":1},"more":[{"a":5}]} {}`, `{"one":{}} {"one":{"a":"{{.x}}"}} {"more":[{"b":1}]}`},
		"named block, template": {Templates(outer.Shape()), `{"one":{"a":"{{.x}}"}}`, `{"one":{"a":6}} {"one":{"a":"x"}}`},
		"only":                  {block.Only("b").Shape(), `{} {"b":true}`, `{"a":1}`},
		"when":                  {When("use", MapShape(Text), block.Shape()), `{"use":"x","y":1} {"a":"x","b":true}`, `{"use":[]} {"y":1}`},
		"reference":             {List(Ref("list")), `[] [[]] [[[],[]]]`, `[1] {}`},
	} {
		doc, err := jsonschema.UnmarshalJSON(strings.NewReader(string(Document("x", test.is, map[string]Shape{"list": List(Ref("list"))}))))
		if err != nil {
			t.Fatal(name, err)
		}
		c := jsonschema.NewCompiler()
		if err := c.AddResource("x.json", doc); err != nil {
			t.Fatal(name, err)
		}
		s, err := c.Compile("x.json")
		if err != nil {
			t.Fatal(name, err)
		}
		for want, values := range map[bool]string{true: test.yes, false: test.not} {
			for dec := json.NewDecoder(strings.NewReader(values)); dec.More(); {
				var v any
				if err := dec.Decode(&v); err != nil {
					t.Fatal(name, err)
				}
				if err := s.Validate(v); (err == nil) != want {
					t.Errorf("%s: %v: got valid %t (%v), want %t", name, v, err == nil, err, want)
				}
			}
		}
	}
	written := string(Document("x", Either(outer.Shape(), List(outer.Shape())), nil))
	for _, name := range []string{`"inner": {`, `"outer": {`, `"a": {`} {
		expect.Same(t, name+" in a schema that uses it several times", strings.Count(written, name), 1)
	}
	expect.Same(t, "names", block.Names(), []string{"a", "b", "c"})
}
