package overview

import (
	"testing"

	"github.com/evalrun/evalrun/compare"
	"github.com/evalrun/evalrun/internal/testing/expect"
)

func TestRepeatedComparisonsAreWarnedOf(t *testing.T) {
	t.Parallel()
	const where = " on this machine: each is another chance to pass by luck"
	for n, want := range map[int]string{
		2: "second", 3: "third", 10: "tenth", 11: "11th", 12: "12th", 13: "13th", 21: "21st", 22: "22nd", 23: "23rd", 24: "24th", 111: "111th",
	} {
		c := compare.Comparison{Arms: []compare.ArmComparison{{Suite: "s"}}, Repeated: []compare.Repeated{{Suite: "s", Nth: n}}}
		expect.Same(t, want, Repeated(&c), []string{want + " comparison of this suite with this baseline" + where})
	}
	c := compare.Comparison{
		Arms: []compare.ArmComparison{{Suite: "s"}, {Suite: "two"}}, Repeated: []compare.Repeated{{Suite: "two", Nth: 2}},
	}
	expect.Same(t, "of two suites", Repeated(&c), []string{"second comparison of the suite two with its baseline" + where})
	expect.Same(t, "without a comparison", len(Repeated(nil)), 0)
}
