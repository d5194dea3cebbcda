package stats

import (
	"encoding/json"
	"math"
	"testing"

	"github.com/evalrun/evalrun/internal/testing/expect"
)

func scoreVectors() map[string]func(*testing.T, json.RawMessage) {
	type score struct {
		D, A, B                     []float64
		Conf, Mean, Diff, SE, DF, T float64
		Lo, Hi, Margin              float64
		TwoSided                    float64 `json:"p_two_sided"`
		Worse                       float64 `json:"p_worse"`
		NonInferior                 float64 `json:"p_noninferior"`
	}
	type skewness struct {
		D        []float64
		N        int
		G1       float64
		Required float64 `json:"n_required"`
		Use      string
	}
	return map[string]func(*testing.T, json.RawMessage){
		"paired_t": each(func(t *testing.T, v score) {
			s := newSample(v.D)
			near(t, "mean", s.Mean, v.Mean)
			near(t, "se", s.SE, v.SE)
			near(t, "df", float64(s.N-1), v.DF)
			statistic, worse, better, twoSided := PairedT(v.D)
			near(t, "t", statistic, v.T)
			near(t, "worse", worse, v.Worse)
			near(t, "better", better, 1-v.Worse)
			near(t, "two-sided", twoSided, v.TwoSided)
			near(t, "non-inferiority", NonInferiorityT(v.D, v.Margin), v.NonInferior)
		}),
		"skewness_rule": each(func(t *testing.T, v skewness) {
			s := newSample(v.D)
			near(t, "g1", s.Skewness, v.G1)
			near(t, "required", skewnessCases(s.Skewness), v.Required)
			if useT := UseT(v.D); s.N != v.N || useT != (v.Use == "t") {
				t.Errorf("rule: got the t test for %d scores: %t, want %s for %d", s.N, useT, v.Use, v.N)
			}
		}),
		"gaffke_lower": each(checkGaffke),
	}
}

type gaffkeVector struct {
	D          []float64
	SupportMin float64 `json:"support_min"`
	Alpha      float64
	Lower      float64
	MCSE       float64  `json:"mc_se"`
	Exact      *float64 `json:"lower_exact"`
	Clopper    *float64 `json:"lower_exact_clopper_pearson"`
}

func checkGaffke(t *testing.T, v gaffkeVector) {
	got := Gaffke(v.D, v.SupportMin, v.Alpha)
	// The reference is a simulation of 4 million draws; ours is not one, so its own error is
	// all there is.
	check(t, "lower", got, v.Lower, 4*v.MCSE)
	for _, exact := range []*float64{v.Exact, v.Clopper} {
		if exact != nil {
			near(t, "exact", got, *exact)
		}
	}
	near(t, "p at the bound", GaffkeNonInferiority(v.D, v.SupportMin, -got), v.Alpha)
}

func bettingVectors() map[string]func(*testing.T, json.RawMessage) {
	type counts struct {
		N, Gained, Regressed, J int
		Margin                  float64
		LogE                    float64 `json:"log_e"`
		E                       float64
	}
	type path struct {
		D      []float64
		Margin float64
		J      int
		LogE   []float64 `json:"log_e"`
	}
	return map[string]func(*testing.T, json.RawMessage){
		"evalue_noninferiority_grid": each(func(t *testing.T, v counts) {
			b := NewBetting(v.Margin, 0.5, v.J)
			for i := range v.N {
				b.Add(binaryDifference(i, v.Gained, v.Regressed), binaryDifference(i, v.Gained, v.Regressed), 1)
			}
			near(t, "one by one", b.LogNI(), v.LogE)
		}),
		"evalue_noninferiority_path": each(func(t *testing.T, v path) {
			b := NewBetting(v.Margin, 0.5, v.J)
			for i, d := range v.D {
				b.Add(d, d, 1)
				near(t, "log e", b.LogNI(), v.LogE[i])
			}
		}),
		"evalue_regression_path": each(func(t *testing.T, v path) {
			b := NewBetting(0.1, 0, v.J) // phi 0: against any loss, whatever the margin
			for i, d := range v.D {
				b.Add(d, d, 1)
				near(t, "log e", b.LogFail(), v.LogE[i])
			}
		}),
		"sequential_stop": each(checkStop),
	}
}

func binaryDifference(i, gained, regressed int) float64 {
	switch {
	case i < gained:
		return 1
	case i < gained+regressed:
		return -1
	}
	return 0
}

type stopVector struct {
	StopAt      int `json:"stop_at"`
	Verdict     string
	LogNI       float64 `json:"log_e_ni"`
	LogFail     float64 `json:"log_e_fail"`
	Name        string
	Generator   []json.RawMessage
	Margin, Phi float64
	Alpha       float64 `json:"alpha_early"`
	J, N        int
}

func checkStop(t *testing.T, v stopVector) {
	next := generator(t, v.Generator)
	b := NewBetting(v.Margin, v.Phi, v.J)
	limit := math.Log(1 / v.Alpha)
	verdict := "none"
	n := 0
	for ; n < v.N && verdict == "none"; n++ {
		d := next(n)
		b.Add(d, d, 1)
		if b.LogNI() >= limit {
			verdict = "not_worse"
		} else if b.LogFail() >= limit {
			verdict = "regressed"
		}
	}
	expect.Same(t, "cases at the stop", n, v.StopAt)
	expect.Same(t, "verdict", verdict, v.Verdict)
	near(t, "log e, non-inferiority", b.LogNI(), v.LogNI)
	near(t, "log e, failure", b.LogFail(), v.LogFail)
}

// generator gives the i-th difference of a vector: a constant, a repeated pattern, or gains and
// losses from the linear congruential generator of ANSI C.
func generator(t *testing.T, spec []json.RawMessage) func(int) float64 {
	t.Helper()
	read := func(i int, into any) {
		expect.OK(t, json.Unmarshal(spec[i], into))
	}
	var kind string
	switch read(0, &kind); kind {
	case "const":
		var d float64
		read(1, &d)
		return func(int) float64 { return d }
	case "pattern":
		var pattern []float64
		read(1, &pattern)
		return func(i int) float64 { return pattern[i%len(pattern)] }
	case "lcg":
		var x uint32
		var gain, loss float64
		read(1, &x)
		read(3, &gain)
		read(4, &loss)
		return func(int) float64 {
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
	t.Fatalf("got the generator %v, want a known one", kind)
	return nil
}

func repeatsVectors() map[string]func(*testing.T, json.RawMessage) {
	return map[string]func(*testing.T, json.RawMessage){
		"pass_at_k": each(checkPassAtK),
	}
}

type passVector struct {
	N, C, K  int
	PassAtK  float64 `json:"pass_at_k"`
	PassHatK float64 `json:"pass_hat_k"`
	Fraction string
}

func checkPassAtK(t *testing.T, v passVector) {
	at, ok := PassAtK(v.N, v.C, v.K)
	hat, okHat := PassHatK(v.N, v.C, v.K)
	if !ok || !okHat {
		t.Errorf("pass@k and pass^k: got known %t and %t, want both", ok, okHat)
	}
	check(t, "pass@k", at, v.PassAtK, 1e-12)
	check(t, "pass^k", hat, v.PassHatK, 1e-12)
}

func TestPassAtKIsThatOfTheVectors(t *testing.T) {
	t.Parallel()
	var file struct{ Cases json.RawMessage }
	readVectors(t, "pass_at_k.json", &file)
	each(checkPassAtK)(t, file.Cases)
	for _, bad := range [][3]int{{2, 2, 3}, {0, 0, 1}, {3, 4, 1}, {3, -1, 1}, {3, 1, 0}} {
		if _, ok := PassAtK(bad[0], bad[1], bad[2]); ok {
			t.Errorf("%v: got a pass@k, want none", bad)
		}
		if _, ok := PassHatK(bad[0], bad[1], bad[2]); ok {
			t.Errorf("%v: got a pass^k, want none", bad)
		}
	}
}

func TestKappaIsThatOfTheVectors(t *testing.T) {
	t.Parallel()
	var file struct {
		Cases []struct {
			Rater1, Rater2 []int
			Kappa          *float64
		}
	}
	readVectors(t, "agreement.json", &file)
	for _, v := range file.Cases {
		got, ok := CohenKappa(v.Rater1, v.Rater2)
		if ok != (v.Kappa != nil) {
			t.Errorf("kappa of %+v: got it known: %v, want %v", v, ok, v.Kappa != nil)
		} else if ok {
			check(t, "kappa", got.Value, *v.Kappa, 1e-12)
		}
	}
	// By hand, three categories: disagreements (1,2) and (3,1) of four, by chance 10 sixteenths.
	got, _ := CohenKappa([]int{1, 2, 3, 1}, []int{1, 2, 1, 2})
	check(t, "kappa by hand", got.Value, 1-2/(4*0.625), 1e-12)
	if kappa, ok := CohenKappa(nil, nil); ok {
		t.Errorf("kappa of nothing: got %v, want none", kappa)
	}
}
