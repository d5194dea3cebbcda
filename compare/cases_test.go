package compare

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/evalrun/evalrun/internal/testing/expect"
)

// anyCase draws a case: values that many cases share and values of its own, hashes and other texts, and none at all.
func anyCase(rng *rand.Rand) CaseTotals {
	text := func() string {
		switch rng.IntN(5) {
		case 0:
			return ""
		case 1:
			return fmt.Sprint("text ", rng.IntN(1000))
		case 2:
			return "0000000000000000"
		case 3:
			return "ABCDEF0123456789" // not as evalrun writes hashes
		}
		return fmt.Sprintf("%016x", rng.Uint64())
	}
	sum := func() Sum {
		return Sum{[]float64{0, 1, 0.1, 1e300, float64(rng.IntN(1 << 30))}[rng.IntN(5)], rng.IntN(3)}
	}
	c := CaseTotals{
		Name: text(), ID: text(), Scorers: text(), Cluster: text(), Vars: text(), Request: text(), Quarantined: rng.IntN(2) == 0,
		Passed: rng.IntN(3), Failed: rng.IntN(3), Errors: rng.IntN(3), Ran: rng.IntN(3), Blocked: rng.IntN(3), Unused: rng.IntN(3),
		LatencyMs: sum(), Tokens: sum(), HeadPreferred: sum(), Contradicted: sum(), First: sum(), TrialAt: rng.Int64N(1 << (1 + rng.IntN(45))),
	}
	if rng.IntN(3) == 0 {
		c.Vars = c.ID
	}
	for range rng.IntN(3) {
		c.Tags = append(c.Tags, text())
		c.Metrics = append(c.Metrics, sum())
		c.Classes = append(c.Classes, ClassCount{rng.IntN(300), 1 + rng.IntN(2)})
	}
	return c
}

// Whatever cases hold comes back, in whichever order they were set.
func TestCasesComeBackInAnyOrder(t *testing.T) {
	t.Parallel()
	rng := rand.New(rand.NewPCG(1, 2))
	var want []CaseTotals
	var cases Cases
	for range 500 {
		c := anyCase(rng)
		want = append(want, c)
		cases.Add(&c)
	}
	for range 500 {
		i, c := rng.IntN(len(want)), anyCase(rng)
		want[i] = c
		cases.Update(i, func(one *CaseTotals) { *one = c })
	}
	expect.Same(t, "cases", cases.Len(), len(want))
	for i, c := range cases.All() {
		expect.Same(t, fmt.Sprint("case ", i), fmt.Sprintf("%+v", *c), fmt.Sprintf("%+v", want[i]))
		expect.Same(t, fmt.Sprint("copy of case ", i), fmt.Sprintf("%+v", cases.At(i)), fmt.Sprintf("%+v", want[i]))
	}
	for i, c := range cases.AllUnnamed() {
		expect.Same(t, fmt.Sprint("counts of case ", i), fmt.Sprint(c.Passed, c.LatencyMs, c.Metrics, c.Classes),
			fmt.Sprint(want[i].Passed, want[i].LatencyMs, want[i].Metrics, want[i].Classes))
	}
	cases.IgnoreScorers()
	c := cases.At(7)
	expect.Same(t, "scorers that were forgotten", c.Scorers, "")
	cases.Add(&c)
	expect.Same(t, "a case added then", fmt.Sprintf("%+v", cases.At(500)), fmt.Sprintf("%+v", c))
}

// A million like cases take less than fifty bytes each.
func TestCasesAreSmall(t *testing.T) {
	t.Parallel()
	const n = 1 << 14
	var cases Cases
	cases.Grow(n)
	for i := range n {
		id := fmt.Sprintf("%016x", uint64(i+1)*0x9e3779b97f4a7c15)
		c := CaseTotals{
			Name: fmt.Sprint("c", i), ID: id, Vars: id, Request: id, Passed: 1, Ran: 1,
			LatencyMs: Sum{float64(float32(i) / 3), 1}, Tokens: Sum{19, 1}, TrialAt: int64(i) * 1300,
		}
		cases.Add(&c)
	}
	size := len(cases.kindAt.bytes) + len(cases.trials.bytes) + 8*(len(cases.ids.bits)+len(cases.vars.bits)+len(cases.requests.bits)) +
		4*(len(cases.latency.narrow)+len(cases.tokens.narrow)) + 8*(len(cases.latency.wide)+len(cases.tokens.wide))
	for _, column := range []textColumn{cases.names, cases.clusters, cases.ids.other, cases.requests.other, cases.vars.other} {
		size += len(column.last) + 16*len(column.blocks)
		for _, block := range column.blocks {
			size += len(block)
		}
	}
	if each := float64(size) / n; each > 50 {
		t.Errorf("got %.1f bytes a case, want at most 50", each)
	}
	expect.Same(t, "kinds", len(cases.kinds.all), 1)
}
