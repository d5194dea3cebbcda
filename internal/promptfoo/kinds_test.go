package promptfoo

import (
	"fmt"
	"maps"
	"slices"
	"testing"

	"github.com/evalrun/evalrun/internal/yaml"
	"github.com/evalrun/evalrun/scorers"
)

// valuesOfAsserts are arguments of assertions: each type takes one of them.
var valuesOfAsserts = []string{
	"Paris", "5", "stop", "[a, b]", "{min: 1, max: 5}", "{type: object}", "{requiredElements: [a]}", "\"output.length > 1\"",
}

// Every scorer of an imported suite names a kind that exists.
func TestScorersAreOfKinds(t *testing.T) {
	t.Parallel()
	for _, name := range slices.Sorted(maps.Keys(assertionKinds())) {
		if assertionKinds()[name].lost != "" {
			continue
		}
		n := 0
		for _, value := range valuesOfAsserts {
			for _, not := range []string{"", "not-"} {
				config := fmt.Sprintf("prompts: ['Say {{x}}']\nproviders: [openai:gpt-4o]\ndefaultTest: {options: {provider: openai:gpt-4o}}\n"+
					"tests: [{vars: {x: 1, query: q, context: c}, assert: [{type: %s%s, value: %s, threshold: 0.5}]}]\n", not, name, value)
				n += scorersOf(t, imported(t, map[string]string{"promptfooconfig.yaml": config}))
			}
		}
		if n == 0 {
			t.Errorf("%s: got no scorer from any value, want one", name)
		}
	}
	for _, config := range configurations {
		scorersOf(t, imported(t, map[string]string{"promptfooconfig.yaml": config}))
	}
}

// scorersOf counts the scorers of an imported suite. Each has to name a kind.
func scorersOf(t *testing.T, im *Import) (n int) {
	t.Helper()
	var problems diagList
	root, ok := yaml.Parse("suite", im.files[SuiteFile], &problems)
	if !ok {
		t.Fatalf("got %v, want a suite", problems.Err())
	}
	table := scorers.Builtin()
	var walk func(s src, scorer bool)
	walk = func(s src, scorer bool) {
		if s.IsSequence() {
			for _, item := range s.items() {
				walk(item, scorer)
			}
			return
		}
		named := false
		for _, e := range s.entries() {
			nests := scorer && (e.key == "not" || e.key == "all" || e.key == "any")
			named = named || scorer && table.Has(e.key)
			walk(e.src, e.key == "scorers" || nests)
		}
		if scorer && s.IsMapping() {
			if n++; !named {
				t.Errorf("got a scorer without a kind, want one of %v:\n%s", table.Names(), im.files[SuiteFile])
			}
		}
	}
	walk(src{root, "", "", newFates(&secrets{})}, false)
	return n
}
