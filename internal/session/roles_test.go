package session

import (
	"reflect"
	"testing"

	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/testing/expect"
)

// Every option has its flag: one that is missing in the list would be lost by a resume, a rescore and a fleet.
func TestEveryOptionHasAFlag(t *testing.T) {
	t.Parallel()
	fields := 0
	var count func(of reflect.Type)
	count = func(of reflect.Type) {
		for f := range of.Fields() {
			if f.Type.Kind() == reflect.Struct && f.Type != reflect.TypeFor[eval.Shard]() {
				count(f.Type)
			} else {
				fields++
			}
		}
	}
	count(reflect.TypeFor[eval.Options]())
	names := map[string]bool{}
	for _, f := range flagsOf(&eval.Options{}) {
		if names[f.Name] || f.Role < selects || f.Role > writes {
			t.Errorf("%s: got the role %d, or two flags of the name, want one flag with a role", f.Name, f.Role)
		}
		names[f.Name] = true
	}
	expect.Same(t, "flags, one for each option", len(names), fields)
}
