package gate

import (
	"maps"
	"testing"

	"github.com/evalrun/evalrun/compare"
)

// The first case of a unit, on which the schedule depends, is that of the first arm, not that of whichever arm comes first out of a map.
func TestUnitsDependOnTheOrderOfTheArms(t *testing.T) {
	t.Parallel()
	arm := func(names ...string) *compare.Side {
		s := &compare.Side{}
		for _, name := range names {
			s.Cases = append(s.Cases, &compare.CaseTotals{Name: name, ID: name, Cluster: "one"})
		}
		return s
	}
	a, b := arm("x", "both"), arm("y", "both")
	first, second := compare.Units([]*compare.Side{a, b}, nil), compare.Units([]*compare.Side{b, a}, nil)
	if maps.Equal(first, second) {
		t.Errorf("got %v in two orders, want two schedules: the test sees nothing", first)
	}
	for range 20 {
		if second := compare.Units([]*compare.Side{a, b}, nil); !maps.Equal(second, first) {
			t.Errorf("got %v, want %v as before", second, first)
		}
	}
}
