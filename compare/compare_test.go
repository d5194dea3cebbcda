package compare

import (
	"encoding/json"
	"fmt"
	"math"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/stats"
	"github.com/evalrun/evalrun/internal/testing/expect"
	"github.com/evalrun/evalrun/internal/wirejson"
)

// side makes an arm whose cases have these passes out of the repeats.
func side(run string, repeats int, passed ...int) *Side {
	s := &Side{Run: run, Suite: "s", Arm: "t/p"}
	for i, p := range passed {
		c := CaseTotals{Name: fmt.Sprintf("case %d", i), ID: fmt.Sprintf("id %d", i), Passed: p, Failed: repeats - p, Ran: repeats}
		for range repeats {
			c.LatencyMs.Add(100)
			c.Tokens.Add(10)
		}
		s.Cases = append(s.Cases, &c)
	}
	return s
}

func updateAll(s *Side, one func(i int, c *CaseTotals)) {
	for i, c := range s.Cases {
		one(i, c)
	}
}

func flipped(n, gained, regressed int) (base, head *Side) {
	before, after := make([]int, n), make([]int, n)
	for i := range n {
		switch {
		case i < gained:
			after[i] = 1
		case i < gained+regressed:
			before[i] = 1
		default:
			before[i], after[i] = 1, 1
		}
	}
	return side("base", 1, before...), side("head", 1, after...)
}

func options(alpha float64, metrics ...eval.MetricMargin) Options {
	return Options{Alpha: alpha, Margins: metrics, MaxErrors: 0.01, Seed: 1}
}

func passMargin(margin float64) eval.MetricMargin {
	return eval.MetricMargin{Name: eval.MetricPass, Margin: margin}
}

func decided(base, head *Side, o Options) *ArmComparison {
	arms := []ArmComparison{Compare(base, head, o)}
	Decide(arms, everywhere(o))
	Advise(arms, everywhere(o))
	return &arms[0]
}

func vectors[T any](t *testing.T, family string) []T {
	t.Helper()
	data, err := os.ReadFile("../internal/stats/testdata/statistics.json")
	expect.OK(t, err)
	var all map[string]json.RawMessage
	expect.OK(t, json.Unmarshal(data, &all))
	var out []T
	expect.OK(t, json.Unmarshal(all[family], &out))
	return out
}

// The values of the tests of large numbers are those of an independent program. So are the verdicts, except where too
// few cases, or the exact tests, make them more careful.
func TestPairedBinaryVerdictsAgreeWithAnotherProgram(t *testing.T) {
	t.Parallel()
	for _, v := range vectors[struct {
		N, Gained, Regressed int
		Margin, Alpha        float64
		PNoninferior         float64 `json:"p_noninferior"`
		PWorse               float64 `json:"p_worse_midp"`
		PBetter              float64 `json:"p_better_midp"`
		Verdict              string
		Flags                []string
	}](t, "gate_paired_binary") {
		base, head := flipped(v.N, v.Gained, v.Regressed)
		m := decided(base, head, options(v.Alpha, passMargin(v.Margin))).Metrics[0]
		got := []float64{*m.PNonInferior, *m.PWorse, *m.PBetter}
		if stats.Exact(v.N, v.Margin) {
			got = []float64{m.Asymptotic.PNonInferior, m.Asymptotic.PWorse, m.Asymptotic.PBetter}
		}
		if diff := cmp.Diff([]float64{v.PNoninferior, v.PWorse, v.PBetter}, got, cmpopts.EquateApprox(0, 1e-9)); diff != "" {
			t.Errorf("%+v: p values (-want +got)\n%s", v, diff)
		}
		want := eval.Verdict(v.Verdict)
		if want == eval.NotWorse && *m.PNonInferior > v.Alpha || want == eval.Regressed && *m.PWorse > v.Alpha {
			want = eval.Inconclusive
		}
		if m.Verdict != want || m.Verdict != binaryVerdict(v.N, v.Gained, v.Regressed, v.Margin, v.Alpha) {
			t.Errorf("%+v: got %s, want %s", v, m.Verdict, want)
		}
		if m.Verdict == eval.Verdict(v.Verdict) && !slices.Equal(m.Cautions, v.Flags) && len(m.Cautions)+len(v.Flags) > 0 {
			t.Errorf("%+v: flags %v, want %v", v, m.Cautions, v.Flags)
		}
	}
}

// Advice names a number only where the loss that was seen leaves room, and the number keeps what it promises.
func TestAdviceKeepsItsPromise(t *testing.T) {
	t.Parallel()
	base, head := flipped(60, 2, 3)
	m := decided(base, head, options(0.05, passMargin(0.05))).Metrics[0]
	psi := stats.Pairs{N: 60, Gained: 2, Regressed: 3}.Discordance()
	all := 60 + m.MoreCases
	if p := stats.NewNotWorseTables(all, 0.05, 0.05).Probability(0, psi); m.Verdict != eval.Inconclusive || p < power || p > power+0.1 ||
		!strings.Contains(m.Advice, "if nothing changed") {
		t.Errorf("%s, %q: a power of %.3f, want inconclusive, with advice that keeps a power of %g to %g",
			m.Verdict, m.Advice, p, power, power+0.1)
	}
	base, head = flipped(30, 1, 4)
	m = decided(base, head, options(0.05, passMargin(0.05))).Metrics[0]
	expect.Same(t, "verdict", m.Verdict, eval.Inconclusive)
	expect.Same(t, "more cases", m.MoreCases, 0)
	expect.Contains(t, "advice", m.Advice, "not smaller than the margin")
}

// The interval says what the verdict says: wholly above the margin where it is not worse, wholly below 0 where it regressed.
func TestIntervalsAgreeWithVerdicts(t *testing.T) {
	t.Parallel()
	for _, n := range []int{20, 60} {
		for gained := 0; gained < 12; gained += 2 {
			for regressed := range 8 {
				base, head := flipped(n, gained, regressed)
				o := options(0.05, passMargin(0.05))
				arms := []ArmComparison{Compare(base, head, o)}
				Decide(arms, everywhere(o))
				m := arms[0].Metrics[0]
				lo, hi := m.Interval[0], m.Interval[1]
				holds := m.Verdict == eval.NotWorse || m.Verdict == eval.Improved
				worse := *m.PWorse <= 0.05
				if holds && lo < -0.05 || !holds && lo > -0.05 || worse && hi > 0 || !worse && hi < 0 ||
					lo > m.Estimate || hi < m.Estimate {
					t.Errorf("n=%d +%d -%d: %s with [%.4f, %.4f], want an interval that agrees with the verdict", n, gained, regressed, m.Verdict, lo, hi)
				}
			}
		}
	}
}

// The stop index and the e-values are those of an independent program.
func TestSequentialStopsAgreeWithAnotherProgram(t *testing.T) {
	t.Parallel()
	for _, v := range vectors[struct {
		Name      string
		StopAt    int `json:"stop_at"`
		Verdict   string
		LogENI    float64 `json:"log_e_ni"`
		LogEFail  float64 `json:"log_e_fail"`
		Generator []any
		Margin    float64
		Alpha     float64 `json:"alpha_early"`
		N         int
	}](t, "sequential_stop") {
		var next func(i int) float64
		switch v.Generator[0] {
		case "const":
			next = func(int) float64 { return v.Generator[1].(float64) }
		case "pattern":
			p := v.Generator[1].([]any)
			next = func(i int) float64 { return p[i%len(p)].(float64) }
		case "lcg":
			x := uint64(v.Generator[1].(float64))
			gain, loss := v.Generator[3].(float64), v.Generator[4].(float64)
			next = func(int) float64 {
				x = (1103515245*x + 12345) & (1<<31 - 1)
				switch u := float64(x) / (1 << 31); {
				case u < gain:
					return 1
				case u < gain+loss:
					return -1
				}
				return 0
			}
		}
		s := NewEarlyStop([]eval.MetricMargin{passMargin(v.Margin)}, v.Alpha/earlyShare, 1)
		for i := range v.N {
			stop := s.Feed(one(next(i)))
			if stop == nil {
				continue
			}
			want := map[eval.Verdict]float64{eval.NotWorse: v.LogENI, eval.Regressed: v.LogEFail}[stop.Verdict]
			if stop.Units != v.StopAt || string(stop.Verdict) != v.Verdict || math.Abs(stop.LogE[eval.MetricPass]-want) > 1e-9 {
				t.Errorf("%s: %+v, want %d %s %v", v.Name, stop, v.StopAt, v.Verdict, want)
			}
			break
		}
	}
}

// Cases are paired by their requests; what cannot be paired is reported.
func TestCasesArePairedByTheirRequests(t *testing.T) {
	t.Parallel()
	base, head := side("base", 1, 1, 1, 1, 1, 1), side("head", 1, 1, 0, 1, 1, 1)
	slices.Reverse(base.Cases)              // the place does not matter
	head.Cases[0].Name = "renamed"          // nor does the name
	head.Cases[2].ID = "other variables"    // another case of the same name
	base.Cases[1].Scorers = "scorers"       // passing means
	head.Cases[3].Scorers = "other scorers" // something else
	head.Cases[4].Passed, head.Cases[4].Errors = 0, 1
	head.Cases = append(head.Cases, &CaseTotals{Name: "new", ID: "new", Passed: 1, Ran: 1})
	head.Cases = append(head.Cases, &CaseTotals{Name: "sick", ID: "sick", Passed: 1, Ran: 1, Quarantined: true})
	base.Cases = append(base.Cases, &CaseTotals{Name: "old", ID: "old", Passed: 1, Ran: 1})
	base.Cases = append(base.Cases, &CaseTotals{Name: "sick", ID: "sick", Failed: 1, Ran: 1})
	p := Compare(base, head, options(0.05)).Cases
	got := fmt.Sprint(p.Paired, p.Units, p.Changed, p.Added, p.Removed, p.Unscored, p.Quarantined)
	expect.Same(t, "moves", got, "3 2 [case 3 case 2] [new] [old] [case 4] [sick]")
}

func TestEqualCasesArePairedByNameThenOrder(t *testing.T) {
	t.Parallel()
	base, head := side("base", 1, 1, 0, 1), side("head", 1, 1, 0, 1)
	for i := range 3 {
		base.Cases[i].ID = "same"
		head.Cases[i].ID = "same"
	}
	slices.Reverse(head.Cases)
	a := Compare(base, head, options(0.05))
	expect.Same(t, "paired cases", a.Cases.Paired, 3)
	expect.Same(t, "flips", len(a.Flips), 0)
}

// What is not comparable has no other verdict, whatever its numbers.
func TestWhatIsNotComparableIsInvalid(t *testing.T) {
	t.Parallel()
	for name, spoil := range map[string]func(base, head *Side){
		"it is the same run on both sides; compare two of its arms, or two runs": func(base, head *Side) { head.Run = base.Run },
		"the baseline is not complete":                                           func(base, _ *Side) { base.Partial = true },
		"the run is not complete":                                                func(_, head *Side) { head.Partial = true },
		"no case is in both": func(_, head *Side) {
			updateAll(head, func(i int, c *CaseTotals) { c.ID, c.Name = fmt.Sprint("other", i), fmt.Sprint("other", i) })
		},
		"no case was scored on both sides": func(_, head *Side) {
			updateAll(head, func(_ int, c *CaseTotals) { c.Passed, c.Failed, c.Errors = 0, 0, 1 })
		},
		"5.0 % of the trials of the run are errors, more than 1 %": func(_, head *Side) {
			for i := range 5 {
				head.Cases[i].Passed, head.Cases[i].Errors = 0, 1
			}
		},
	} {
		base, head := flipped(100, 0, 0)
		spoil(base, head)
		a := decided(base, head, options(0.05, passMargin(0.05)))
		expect.Same(t, name+": verdict", a.Verdict, eval.Invalid)
		expect.Same(t, "why", a.Why, name)
	}
}

// Degenerate data have verdicts, and no NaN anywhere (T7).
func TestDegenerateDataHaveVerdicts(t *testing.T) {
	t.Parallel()
	for _, n := range []int{0, 1, 2, 60} {
		for _, repeats := range []int{1, 3} {
			for _, passed := range []int{0, repeats} {
				all := slices.Repeat([]int{passed}, n)
				base, head := side("base", repeats, all...), side("head", repeats, all...)
				a := decided(base, head, options(0.05, passMargin(0.05), eval.MetricMargin{Name: eval.MetricTokens, Margin: 1.1}))
				if _, err := wirejson.Marshal(a); err != nil {
					t.Errorf("n=%d repeats=%d passed=%d: %v, want no error", n, repeats, passed, err)
				}
				if (n < 52) != (a.Verdict != eval.NotWorse) {
					t.Errorf("n=%d repeats=%d passed=%d: %s, want a verdict of not worse from 52 cases on", n, repeats, passed, a.Verdict)
				}
			}
		}
	}
}

// The verdict does not depend on the order of the cases (T6), and swapping the sides mirrors it (T4).
func TestSwappingTheSidesMirrorsTheVerdict(t *testing.T) {
	t.Parallel()
	base, head := flipped(200, 5, 25)
	a := decided(base, head, options(0.05, passMargin(0.05)))
	slices.Reverse(head.Cases)
	b := decided(base, head, options(0.05, passMargin(0.05)))
	expect.Same(t, "verdict", a.Verdict, b.Verdict)
	expect.Same(t, "p of not worse", *a.Metrics[0].PNonInferior, *b.Metrics[0].PNonInferior)
	c := decided(head, base, options(0.05, passMargin(0.05)))
	m, mirrored := a.Metrics[0], c.Metrics[0]
	if m.Estimate != -mirrored.Estimate || math.Abs(m.Interval[0]+mirrored.Interval[1]) > 1e-9 ||
		math.Abs(*m.PWorse-*mirrored.PBetter) > 1e-12 ||
		c.Verdict != eval.Improved {
		t.Errorf("got %+v\nwant it mirrored in\n%+v", m, mirrored)
	}
}

// Few cases show an improvement. Clusters of different sizes are tested by a bound, which a rare loss must not escape.
func TestFewCasesShowAnImprovement(t *testing.T) {
	t.Parallel()
	for _, n := range []int{8, 20, 40, 58} {
		base, head := flipped(n, 7, 0)
		m := decided(base, head, options(0.05, passMargin(0.05))).Metrics[0]
		expect.Same(t, fmt.Sprintf("n=%d: verdict", n), m.Verdict, eval.Improved)
		expect.Same(t, fmt.Sprintf("n=%d: advice", n), m.Advice, "")
		if m.Interval[0] <= 0 {
			t.Errorf("n=%d: got the interval %v, want it above 0", n, *m.Interval)
		}
		for i := range 2 {
			head.Cases[n-1-i].Cluster = "two"
		}
		m = decided(base, head, options(0.05, passMargin(0.05))).Metrics[0]
		if m.Verdict != eval.Inconclusive || m.Interval[0] == -0.05 {
			t.Errorf("n=%d, with a cluster: got %s and %v, want inconclusive, with an interval that does not end at the margin",
				n, m.Verdict, *m.Interval)
		}
	}
}

func TestFlipsOverManyRepeatsHavePValues(t *testing.T) {
	t.Parallel()
	base, head := side("base", 1, 1, 0, 1), side("head", 1, 0, 1, 1)
	flips := Compare(base, head, options(0.05)).Flips
	if len(flips) != 2 || flips[0].Case != "case 0" || !flips[0].SingleSample || flips[0].P != nil || flips[1].Case != "case 1" {
		t.Errorf("%+v, want case 0, of a single sample, and case 1", flips)
	}
	base, head = side("base", 10, 10, 10, 0), side("head", 10, 0, 10, 0)
	flips = Compare(base, head, options(0.05)).Flips
	if len(flips) != 1 || flips[0].SingleSample || flips[0].P == nil || *flips[0].P > 0.001 {
		t.Errorf("%+v, want one of many samples with a p value of at most 0.001", flips)
	}
}

// A recorded stop is final; the tests at the end do not change it.
func TestStopIsFinal(t *testing.T) {
	t.Parallel()
	base, head := flipped(60, 0, 6)
	o := options(0.05, passMargin(0.05))
	arms := []ArmComparison{Compare(base, head, o)}
	arms[0].EarlyVerdict = &eval.KnownVerdict{Verdict: eval.NotWorse}
	expect.Same(t, "overall verdict", Decide(arms, everywhere(o)), eval.NotWorse)
	expect.Same(t, "verdict", arms[0].Metrics[0].Verdict, eval.NotWorse)
}

// An error is neither a block nor an answer without one, on both sides alike: the early stop and the comparison count the same.
func TestErrorsAreNoAnswersWithoutABlock(t *testing.T) {
	t.Parallel()
	c := CaseTotals{Ran: 2, Errors: 1, Blocked: 1}
	rate, _ := c.blockRate()
	early, _ := c.Of(&Side{}, eval.MetricBlocked).Mean()
	if rate != 1 || early != 1 {
		t.Errorf("got %g in the comparison and %g in the early stop, want 1: the one answer was blocked", rate, early)
	}
}

func one(d float64) Unit { return Unit{[]float64{d}, []float64{d}, 1} }
