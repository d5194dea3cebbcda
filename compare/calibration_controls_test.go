package compare

import (
	"cmp"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"

	"github.com/evalrun/evalrun/eval"
)

// Negative controls: what evalrun does not do, done here on purpose. Each must go wrong as often as the design says,
// or the scenarios could not separate right from wrong, and the tests above would prove nothing.

// drawClusters draws clusters of five cases that share their fate: cases of a cluster that is hit flip together, four of five.
func drawClusters(rng *rand.Rand, clusters int, lost, gained float64) path {
	const size = 5
	p := newPath(size * clusters)
	for i := range clusters {
		hit := 0
		switch u := rng.Float64(); {
		case u < lost:
			hit = -1
		case u < lost+gained:
			hit = 1
		}
		for j := i * size; j < (i+1)*size; j++ {
			d := 0
			if rng.Float64() < 0.8 {
				d = hit
			}
			p.flip(j, d)
			p.base[j].Cluster, p.head[j].Cluster = caseNames[i], caseNames[i]
		}
	}
	return p
}

// apart takes the clusters away, as if all cases were independent.
func (p path) apart() path {
	for i := range p.base {
		p.base[i].Cluster, p.head[i].Cluster = "", ""
	}
	return p
}

// TestClustersKeepTheRates is "Units and pairs" of docs/explanation/statistics.md: with `cluster:` the rates hold, for
// the whole gate; without it the same data, taken for independent cases, must break them.
func TestClustersKeepTheRates(t *testing.T) {
	t.Parallel()
	paths := pathsFor(60)
	rows := []struct {
		name         string
		lost, gained float64 // of clusters: four of five of their cases
		wrong        func(tally) float64
	}{
		{"false not_worse at a loss of 5 points", 0.10, 0.0375, tally.notWorse},
		{"false regressed without a loss", 0.07, 0.07, tally.regressed},
	}
	for i, r := range rows {
		seed := uint64(300 + i)
		fixed := simulate(t, seed, paths, func(rng *rand.Rand) outcome {
			return outcome{drawClusters(rng, 60, r.lost, r.gained).fixed(passAt(0.05), nominal, nil), 1}
		})
		early := simulate(t, seed, paths, func(rng *rand.Rand) outcome {
			return drawClusters(rng, 60, r.lost, r.gained).early(passAt(0.05))
		})
		naive := simulate(t, seed, paths, func(rng *rand.Rand) outcome {
			return outcome{drawClusters(rng, 60, r.lost, r.gained).apart().fixed(passAt(0.05), nominal, nil), 1}
		})
		t.Logf(
			"60 clusters of 5: %s: %.3f, with stopEarly %.3f; control, clusters forgotten: %.3f", r.name, r.wrong(fixed),
			r.wrong(early), r.wrong(naive),
		)
		atMost(t, r.name, r.wrong(fixed), most(paths))
		atMost(t, r.name+", with stopEarly", r.wrong(early), most(paths))
		atLeast(t, "control: clusters forgotten: "+r.name, r.wrong(naive), 0.10)
	}
}

// peeking tests what there is after every ten cases as if their number had been fixed before, and ends with the first verdict. The tests of
// large numbers show it as well as the exact ones, which would take long so often.
func peeking(p path, margin float64) outcome {
	for n := 10; n <= p.cases(); n += 10 {
		gained, regressed, _ := p.first(n).counts()
		if v := asymptoticVerdict(n, gained, regressed, margin); v != eval.Inconclusive {
			return outcome{v, float64(n) / float64(p.cases())}
		}
	}
	return outcome{eval.Inconclusive, 1}
}

// TestControlPeekingExceedsItsLevel shows why a run looks with e-processes alone: tests of a fixed number of cases that
// are repeated while the cases come must err in more than 10 %. TestSequentialRatesHoldTheirLevel has the e-processes,
// which look after every case.
func TestControlPeekingExceedsItsLevel(t *testing.T) {
	t.Parallel()
	paths := pathsFor(60)
	equal := simulate(t, 401, paths, func(rng *rand.Rand) outcome { return peeking(drawFlips(rng, 500, 0, 0.10), 0.02) })
	worse := simulate(t, 402, paths, func(rng *rand.Rand) outcome { return peeking(drawFlips(rng, 500, 0.05, 0.12), 0.05) })
	t.Logf(
		"peeking every 10 of 500 cases: false regressed %.3f (design .13-.21), false not_worse %.3f (design .17-.21)",
		equal.regressed(), worse.notWorse(),
	)
	atLeast(t, "control: peeking: false regressed", equal.regressed(), 0.10)
	atLeast(t, "control: peeking: false not_worse", worse.notWorse(), 0.10)
}

// completed is the path in the order in which a number of workers get their answers, when one case in five takes
// twenty times as long.
func completed(p path, slow []bool, workers int, rng *rand.Rand) path {
	free := make([]float64, workers) // when each worker takes its next case
	type done struct {
		at    float64
		index int
	}
	all := make([]done, p.cases())
	for i := range all {
		next := 0
		for w := range free {
			if free[w] < free[next] {
				next = w
			}
		}
		latency := 0.5 + rng.Float64()
		if slow[i] {
			latency *= 20
		}
		free[next] += latency
		all[i] = done{free[next], i}
	}
	slices.SortFunc(all, func(a, b done) int { return cmp.Compare(a.at, b.at) })
	out := path{make([]CaseTotals, 0, len(all)), make([]CaseTotals, 0, len(all))}
	for _, d := range all {
		out.base, out.head = append(out.base, p.base[d.index]), append(out.head, p.head[d.index])
	}
	return out
}

// TestControlCompletionOrderHidesLosses shows why results count in the order of the schedule: where losses sit in slow
// cases, answers in the order of their completion look better than they are. With 64 workers the same e-process must
// call more than half of the losses "not worse". In the order of the schedule its promise holds, whatever the
// latencies.
func TestControlCompletionOrderHidesLosses(t *testing.T) {
	t.Parallel()
	paths := pathsFor(50)
	for _, workers := range []int{16, 64, 128} {
		if workers != 64 && !calibrating() {
			continue
		}
		draw := func(rng *rand.Rand) (path, []bool) {
			p, slow := newPath(scenarioCases), make([]bool, scenarioCases)
			for i := range slow {
				d := 0
				if slow[i] = rng.Float64() < 0.2; slow[i] && rng.Float64() < 0.25 {
					d = -1
				}
				p.flip(i, d)
			}
			return p, slow
		}
		naive := simulate(t, 501, paths, func(rng *rand.Rand) outcome {
			p, slow := draw(rng)
			return completed(p, slow, workers, rng).early(passAt(0.05))
		})
		right := simulate(t, 501, paths, func(rng *rand.Rand) outcome {
			p, _ := draw(rng)
			return p.early(passAt(0.05))
		})
		t.Logf(
			"losses in slow cases, %d workers: false not_worse %.3f in completion order (design .20 .92 .99 with 16 64 128), %.3f in the order "+
				"of the schedule",
			workers, naive.notWorse(), right.notWorse(),
		)
		atMost(t, "false not_worse in the order of the schedule", right.notWorse(), most(paths))
		if workers == 64 {
			atLeast(t, "control: completion order: false not_worse", naive.notWorse(), 0.50)
		}
	}
}

func answers(rng *rand.Rand, n int, pass float64) (out []bool, passed int) {
	for i := range n {
		ok := i%10 >= 3 || rng.Float64() < pass
		if out = append(out, ok); ok {
			passed++
		}
	}
	return out, passed
}

func against(base, head []bool) path {
	p := newPath(len(base))
	for i := range base {
		p.base[i].judge(base[i])
		p.head[i].judge(head[i])
	}
	return p
}

// TestControlBestBaselineLooksLikeARegression shows why a baseline is not to be picked by its score: nothing changed,
// and against an ordinary baseline the promise holds; against the best of thirty runs more than a quarter must look
// like a regression. So a baseline is chosen before its score is seen.
func TestControlBestBaselineLooksLikeARegression(t *testing.T) {
	t.Parallel()
	paths := pathsFor(200)
	const n = 200
	for _, of := range []int{1, 7, 30} {
		sum := simulate(t, 601, paths, func(rng *rand.Rand) outcome {
			best, most := answers(rng, n, 0.7)
			for range of - 1 {
				if second, passed := answers(rng, n, 0.7); passed > most {
					best, most = second, passed
				}
			}
			head, _ := answers(rng, n, 0.7)
			return outcome{against(best, head).fixed(passAt(0.05), nominal, nil), 1}
		})
		t.Logf("baseline is the best of %d runs: false regressed %.3f (design .044 .208 .377 of 1 7 30)", of, sum.regressed())
		switch of {
		case 1:
			atMost(t, "an ordinary baseline: false regressed", sum.regressed(), most(paths))
		case 30:
			atLeast(t, "control: best of 30: false regressed", sum.regressed(), 0.25)
		}
	}
}

// TestControlRepeatingFailuresHidesALoss shows why an answer is never requested again because it failed: running failed
// cases once more hides a loss of ten points almost always, where without it the gate never lets it through.
func TestControlRepeatingFailuresHidesALoss(t *testing.T) {
	t.Parallel()
	paths := pathsFor(60)
	rates := map[int]float64{}
	for _, attempts := range []int{1, 2} {
		sum := simulate(t, 701, paths, func(rng *rand.Rand) outcome {
			p := newPath(500)
			for i := range p.head {
				p.base[i].judge(rng.Float64() < 0.95)
				ok := false
				for range attempts {
					ok = ok || rng.Float64() < 0.85
				}
				p.head[i].judge(ok)
			}
			return outcome{p.fixed(passAt(0.05), nominal, nil), 1}
		})
		rates[attempts] = sum.notWorse()
	}
	t.Logf(
		"a loss of 10 points, margin 5: false not_worse %.3f, with failed cases asked again %.3f (design .000 and .952)",
		rates[1], rates[2],
	)
	atMost(t, "false not_worse", rates[1], most(paths))
	atLeast(t, "control: failed cases asked again: false not_worse", rates[2], 0.5)
}

// sharedVerdicts are verdicts on counts that paths have come by. Thousands of paths end in a few hundred tables, and each of its verdicts
// takes milliseconds, many times as much with the race detector.
var sharedVerdicts = struct {
	sync.Mutex
	known map[tableSize][]table
}{known: map[tableSize][]table{}}

type tableSize struct {
	n             int
	margin, alpha float64
}

type table struct {
	gained, regressed int
	verdict           eval.Verdict
}

// sharedVerdict is binaryVerdict. The verdict rises with every case gained, and falls with every one that regressed
// (TestACaseThatTurnsForTheWorseNeverHelps of internal/stats): between two tables with the same verdict there is no other.
func sharedVerdict(n, gained, regressed int, margin, alpha float64) eval.Verdict {
	size := tableSize{n, margin, alpha}
	if v, ok := between(size, gained, regressed); ok {
		return v
	}
	v := binaryVerdict(n, gained, regressed, margin, alpha)
	sharedVerdicts.Lock()
	defer sharedVerdicts.Unlock()
	sharedVerdicts.known[size] = append(sharedVerdicts.known[size], table{gained, regressed, v})
	return v
}

// between looks for a table that is no better and one that is no worse, both with the same verdict.
func between(size tableSize, gained, regressed int) (eval.Verdict, bool) {
	sharedVerdicts.Lock()
	defer sharedVerdicts.Unlock()
	noBetter, noWorse := map[eval.Verdict]bool{}, map[eval.Verdict]bool{}
	for _, t := range sharedVerdicts.known[size] {
		if t.gained <= gained && t.regressed >= regressed {
			noBetter[t.verdict] = true
		}
		if t.gained >= gained && t.regressed <= regressed {
			noWorse[t.verdict] = true
		}
	}
	for v := range noBetter {
		if noWorse[v] {
			return v, true
		}
	}
	return "", false
}
