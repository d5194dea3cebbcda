package eval

import (
	"reflect"
	"testing"
)

// Every option has its flag: one that is missing in the list would be lost by a resume, a rescore and a fleet.
func TestEveryOptionHasAFlag(t *testing.T) {
	t.Parallel()
	fields := 0
	var count func(of reflect.Type)
	count = func(of reflect.Type) {
		for i := range of.NumField() {
			if f := of.Field(i); f.Type.Kind() == reflect.Struct && f.Type != reflect.TypeFor[Shard]() {
				count(f.Type)
			} else {
				fields++
			}
		}
	}
	count(reflect.TypeFor[Options]())
	names := map[string]bool{}
	for _, f := range (&Options{}).Flags() {
		if names[f.Name] || f.Role < Selects || f.Role > Writes {
			t.Errorf("%s: got the role %d, or two flags of the name, want one flag with a role", f.Name, f.Role)
		}
		names[f.Name] = true
	}
	if len(names) != fields {
		t.Errorf("got %d flags for %d options, want one for each", len(names), fields)
	}
}
