package compare

import (
	"testing"

	"github.com/evalrun/evalrun/internal/testing/expect"
)

func versioned(run string, scorers ...string) *Side {
	s := &Side{Run: run}
	for i, hash := range scorers {
		name := string(rune('a' + i))
		s.Cases = append(s.Cases, &CaseTotals{Name: name, ID: name, Scorers: hash, Passed: 1, Ran: 1})
	}
	return s
}

func TestOtherScorerVersionsMakeCasesChanged(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name       string
		base, head []string
		changed    int
		want       []ScorerVersion
		words      string
	}{
		{"the same", []string{"h", "h+list.2"}, []string{"h", "h+list.2"}, 0, nil, ""},
		{"other scorers", []string{"h"}, []string{"i+list.2"}, 1, nil, ""},
		{"no versions", []string{"h+x", "h+"}, []string{"h+y", "h+x.y"}, 2, nil, ""},
		{
			"a later version",
			[]string{"h", "i", "j"},
			[]string{"h+choice.2", "i+choice.2", "j"},
			2,
			[]ScorerVersion{{"choice", 1, 2, 2}},
			"the scorer `choice` means something else since version 2: `evalrun rescore B` scores the answers of the baseline again",
		},
		{
			"several kinds",
			[]string{"h+choice.2", "i"},
			[]string{"h+choice.3+list.2", "i+list.2"},
			2,
			[]ScorerVersion{{"choice", 2, 3, 1}, {"list", 1, 2, 2}},
			"the scorer `choice` means something else since version 3, the scorer `list` means something else since version 2: " +
				"`evalrun rescore B` scores the answers of the baseline again",
		},
		{
			"an earlier version",
			[]string{"h+choice.2"},
			[]string{"h"},
			1,
			[]ScorerVersion{{"choice", 2, 1, 1}},
			"the scorer `choice` means something else since version 2: `evalrun rescore H` scores the answers of the run again",
		},
	} {
		c := Compare(versioned("B", test.base...), versioned("H", test.head...), Options{Alpha: 0.05, MaxErrors: 0.01})
		expect.Same(t, test.name+", changed", len(c.Cases.Changed), test.changed)
		expect.Same(t, test.name, c.Cases.ScorerVersions, test.want)
		expect.Same(t, test.name+", in words", c.Cases.Rescore("B", "H"), test.words)
	}
	p := NewPreview(versioned("B", "h+choice.2"), versioned("", "h"), nil)
	expect.Same(t, "a baseline from the future", p.Rescore("B", ""),
		"the scorer `choice` means something else since version 2, which this evalrun does not know")
}
