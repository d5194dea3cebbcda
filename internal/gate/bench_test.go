package gate

import (
	"fmt"
	"testing"

	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/testing/expect"
	"github.com/evalrun/evalrun/journal"
)

// BenchmarkSequentialGate measures what the early stop of a gate costs a result: it must be small next to an answer.
func BenchmarkSequentialGate(b *testing.B) {
	run := eval.Run{}
	w, err := journal.Create(b.TempDir(), &run, nil)
	expect.OK(b, err)
	defer w.Close()
	const cases = 1 << 16
	trials := make([]eval.Trial, cases)
	start := func() *Sequential {
		rule := &eval.BaselineRule{Alpha: 1e-300, Metrics: []eval.MetricMargin{{Name: eval.MetricPass, Margin: 0.01}}, Against: eval.BaseRun{}}
		suite := &watchedSuite{name: "s", rule: rule, arms: map[string]*watchedArm{}, closed: map[string]bool{}}
		a := &watchedArm{arm: "t/p", by: map[string]*unit{}}
		suite.arms[a.arm] = a
		q := &Sequential{suites: map[string]*watchedSuite{"s": suite}, moved: make(chan struct{})}
		for n := range trials {
			t := &trials[n]
			id := fmt.Sprintf("%016x", n)
			*t = eval.Trial{N: n, ID: id, CaseID: id, Suite: "s", Case: id, Arm: "t/p", Repeat: 1}
			u := &unit{rank: uint64(n), key: suite.keyOf(t), pending: 1, cases: map[string]*unitCase{}}
			u.of(suite, t).base[0] = eval.Sum{Total: 1, N: 1}
			a.by[u.key] = u
			a.units = append(a.units, u)
		}
		suite.begin()
		return q
	}
	q, n := start(), 0
	r := &eval.Result{Ending: eval.Passed{}}
	for b.Loop() {
		if n == cases {
			b.StopTimer()
			q, n = start(), 0
			b.StartTimer()
		}
		r.Trial = trials[n]
		expect.OK(b, q.observe(q.ofResult(r), w))
		n++
	}
}
