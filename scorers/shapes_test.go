package scorers

import (
	"slices"
	"testing"

	"github.com/evalrun/evalrun/diag"
	"github.com/evalrun/evalrun/internal/yaml"
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
