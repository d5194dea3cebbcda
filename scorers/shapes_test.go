package scorers

import (
	"slices"
	"testing"

	"github.com/evalrun/evalrun/diag"
	"github.com/evalrun/evalrun/internal/yamlnode"
)

func TestKindsSayWhatTheyTake(t *testing.T) {
	t.Parallel()
	for _, k := range Builtin() {
		if k.takes == nil {
			t.Errorf("the JSON Schema does not know what %s takes: give the kind a shape", k.Name)
		}
		for _, o := range k.Options {
			if !slices.Contains(textKeys().Names(), o) {
				t.Errorf("the JSON Schema does not know the option %s of %s: add it to textKeys", o, k.Name)
			}
		}
		var diags diag.List
		list, ok := yamlnode.Parse(k.Name, []byte(k.Example), &diags)
		if !ok || len(list.Seq()) != 1 || !list.Seq()[0].Map().Has(k.Name) || diags.Len() > 0 {
			t.Errorf("the example of %s is not a list of one such scorer", k.Name)
		}
	}
}
