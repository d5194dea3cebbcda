package stats

import (
	"bytes"
	"encoding/json"
	"maps"
	"math"
	"os"
	"slices"
	"testing"

	"github.com/evalrun/evalrun/internal/testing/expect"
)

// check reports a value that is off by more than the tolerance, or no number.
func check(t *testing.T, what string, got, want, tolerance float64) {
	t.Helper()
	if !(math.Abs(got-want) <= tolerance) {
		t.Errorf("%s: %v, want %v", what, got, want)
	}
}

func near(t *testing.T, what string, got, want float64) {
	t.Helper()
	check(t, what, got, want, 1e-9)
}

func nearInterval(t *testing.T, got Interval, lo, hi float64) {
	t.Helper()
	near(t, "lo", got.Lo, lo)
	near(t, "hi", got.Hi, hi)
}

// each decodes every entry of a family, all of its fields, and runs the check on it.
func each[T any](checkEntry func(*testing.T, T)) func(*testing.T, json.RawMessage) {
	return func(t *testing.T, raw json.RawMessage) {
		decode := json.NewDecoder(bytes.NewReader(raw))
		decode.DisallowUnknownFields()
		var entries []T
		if err := decode.Decode(&entries); err != nil || len(entries) == 0 {
			t.Fatalf("got %v, %v, want some", len(entries), err)
		}
		for _, e := range entries {
			checkEntry(t, e)
			if t.Failed() {
				t.Fatalf("the entry %+v failed, want that it passes", e)
			}
		}
	}
}

func readVectors(t *testing.T, name string, into any) {
	t.Helper()
	data, err := os.ReadFile("testdata/" + name)
	expect.OK(t, err)
	expect.OK(t, json.Unmarshal(data, into))
}

func TestStatisticsAreThoseOfTheVectors(t *testing.T) {
	t.Parallel()
	var all map[string]json.RawMessage
	readVectors(t, "statistics.json", &all)
	delete(all, "meta")
	checks := map[string]func(*testing.T, json.RawMessage){}
	for _, part := range []map[string]func(*testing.T, json.RawMessage){
		specialVectors(), proportionVectors(), pairedVectors(), scoreVectors(),
		adjustedVectors(), planVectors(), bettingVectors(), repeatsVectors(),
	} {
		maps.Copy(checks, part)
	}
	if got, want := slices.Sorted(maps.Keys(checks)), slices.Sorted(maps.Keys(all)); !slices.Equal(got, want) {
		t.Fatalf("families checked: got %v, want those of the file, %v", got, want)
	}
	for name, raw := range all {
		t.Run(name, func(t *testing.T) { checks[name](t, raw) })
	}
}

func specialVectors() map[string]func(*testing.T, json.RawMessage) {
	return map[string]func(*testing.T, json.RawMessage){
		"qnorm": each(func(t *testing.T, v struct{ P, Z float64 }) {
			near(t, "z", NormalQuantile(v.P), v.Z)
		}),
		"qt": each(func(t *testing.T, v struct{ P, DF, T float64 }) {
			check(t, "t", StudentTQuantile(v.P, v.DF), v.T, 1e-8)
		}),
		"pt": each(func(t *testing.T, v struct{ T, DF, CDF float64 }) {
			near(t, "cdf", studentTCDF(v.T, v.DF), v.CDF)
		}),
		"reg_inc_beta": each(func(t *testing.T, v struct{ X, A, B, I float64 }) {
			near(t, "I", regIncBeta(v.X, v.A, v.B), v.I)
		}),
		"qbeta": each(func(t *testing.T, v struct{ P, A, B, X float64 }) {
			check(t, "x", betaQuantile(v.P, v.A, v.B), v.X, 1e-8)
		}),
	}
}

func proportionVectors() map[string]func(*testing.T, json.RawMessage) {
	type one struct {
		X, N         int
		Conf, Lo, Hi float64
	}
	type two struct {
		XA, NA, XB, NB     int
		Conf, Diff, Lo, Hi float64
		P                  float64 `json:"p_two_sided"`
		BWorse             float64 `json:"p_b_worse"`
	}
	return map[string]func(*testing.T, json.RawMessage){
		"wilson": each(func(t *testing.T, v one) {
			lo, hi := Wilson(float64(v.X)/float64(v.N), float64(v.N), critical(v.Conf))
			nearInterval(t, Interval{lo, hi}, v.Lo, v.Hi)
		}),
		"fisher_exact": each(func(t *testing.T, v two) {
			twoSided, bWorse := FisherExact(v.XA, v.NA, v.XB, v.NB)
			near(t, "two-sided", twoSided, v.P)
			near(t, "b worse", bWorse, v.BWorse)
		}),
	}
}

func pairedVectors() map[string]func(*testing.T, json.RawMessage) {
	type mcnemar struct {
		Regressed, Gained int
		TwoSided          float64 `json:"p_two_sided"`
		Worse             float64 `json:"p_worse"`
		Better            float64 `json:"p_better"`
		MidWorse          float64 `json:"midp_worse"`
		MidTwoSided       float64 `json:"midp_two_sided"`
	}
	type tango struct {
		N, Gained, Regressed             int
		Conf, Diff, Lo, Hi, Margin, Z, P float64
	}
	return map[string]func(*testing.T, json.RawMessage){
		"mcnemar_exact": each(func(t *testing.T, v mcnemar) {
			m := Pairs{Gained: v.Gained, Regressed: v.Regressed}.McNemar()
			near(t, "two-sided", m.TwoSided, v.TwoSided)
			near(t, "worse", m.Worse, v.Worse)
			near(t, "better", m.Better, v.Better)
			near(t, "mid-p worse", m.MidWorse, v.MidWorse)
			near(t, "mid-p two-sided", m.MidTwoSided, v.MidTwoSided)
		}),
		"tango_ci": each(func(t *testing.T, v tango) {
			i := Pairs{v.N, v.Gained, v.Regressed}.Tango(v.Conf)
			check(t, "lo", i.Lo, v.Lo, 1e-8)
			check(t, "hi", i.Hi, v.Hi, 1e-8)
		}),
		"tango_noninferiority": each(func(t *testing.T, v tango) {
			z, p := Pairs{v.N, v.Gained, v.Regressed}.TangoNonInferiority(v.Margin)
			near(t, "z", z, v.Z)
			near(t, "p", p, v.P)
		}),
		"gate_paired_binary": each(checkGate),
	}
}

type gateVector struct {
	N, Gained, Regressed int
	Margin, Alpha        float64
	NonInferior          float64 `json:"p_noninferior"`
	Worse                float64 `json:"p_worse_midp"`
	Better               float64 `json:"p_better_midp"`
	Beyond               float64 `json:"p_beyond_margin"`
	Verdict              string
	Flags                []string
	Needed               int `json:"n_needed_80pct"`
	Extra                int `json:"extra_cases"`
}

// checkGate checks the p-values and, by the rule of a gate, that they give the verdict.
func checkGate(t *testing.T, v gateVector) {
	_, ni := Pairs{v.N, v.Gained, v.Regressed}.TangoNonInferiority(v.Margin)
	m := Pairs{Gained: v.Gained, Regressed: v.Regressed}.McNemar()
	beyond := Pairs{v.N, v.Gained, v.Regressed}.tangoBeyond(v.Margin)
	near(t, "non-inferiority", ni, v.NonInferior)
	near(t, "worse", m.MidWorse, v.Worse)
	near(t, "better", m.MidBetter, v.Better)
	near(t, "beyond", beyond, v.Beyond)
	needed := CasesNeeded(Pairs{v.N, v.Gained, v.Regressed}.Discordance(), v.Margin, v.Alpha, 0.8)
	expect.Same(t, "needed", needed, v.Needed)
	verdict, flags := "inconclusive", []string{}
	switch {
	case ni <= v.Alpha && m.MidBetter <= v.Alpha:
		verdict = "improved"
	case ni <= v.Alpha:
		verdict = "not_worse"
		if m.MidWorse <= v.Alpha {
			flags = append(flags, "worse_within_margin")
		}
	case m.MidWorse <= v.Alpha:
		verdict = "regressed"
		if beyond <= v.Alpha {
			flags = append(flags, "beyond_margin")
		}
	}
	expect.Same(t, "verdict", verdict, v.Verdict)
	expect.Same(t, "flags", flags, v.Flags)
}

func adjustedVectors() map[string]func(*testing.T, json.RawMessage) {
	type adjusted struct{ P, Adjusted []float64 }
	nearAll := func(t *testing.T, got, want []float64) {
		t.Helper()
		for i := range want {
			near(t, "adjusted", got[i], want[i])
		}
	}
	return map[string]func(*testing.T, json.RawMessage){
		"holm":               each(func(t *testing.T, v adjusted) { nearAll(t, Holm(v.P), v.Adjusted) }),
		"benjamini_hochberg": each(func(t *testing.T, v adjusted) { nearAll(t, BenjaminiHochberg(v.P), v.Adjusted) }),
	}
}

func planVectors() map[string]func(*testing.T, json.RawMessage) {
	type plan struct {
		Alpha       float64 `json:"alpha_one_sided"`
		Power       float64
		Discordance float64
		Margin      float64
		TrueDiff    float64 `json:"true_diff"`
		N           int
	}
	same := func(t *testing.T, got, want int) {
		t.Helper()
		expect.Same(t, "result", got, want)
	}
	return map[string]func(*testing.T, json.RawMessage){
		"sample_size_noninferiority": each(func(t *testing.T, v plan) {
			same(t, sampleSize(v.Alpha, v.Power, v.Discordance, v.Margin, v.TrueDiff), v.N)
		}),
		"min_n_zero_discordant": each(func(t *testing.T, v plan) {
			same(t, minCasesWithoutFlip(v.Alpha, v.Margin), v.N)
			if _, p := (Pairs{v.N, 0, 0}).TangoNonInferiority(v.Margin); p > v.Alpha {
				t.Errorf("%d cases: got no pass, want one", v.N)
			}
			if _, p := (Pairs{v.N - 1, 0, 0}).TangoNonInferiority(v.Margin); p <= v.Alpha {
				t.Errorf("%d cases: got a pass, want none", v.N-1)
			}
		}),
	}
}

// tangoBeyond is the lower tail Phi(T(-margin)): the p of the hypothesis that B is worse by
// at most margin. Small, it supports the flag beyond_margin. Bad input: 1.
// Source: as Tango.
func (p Pairs) tangoBeyond(margin float64) float64 {
	if !p.testable(margin) {
		return 1
	}
	return normalCDF(p.tangoZ(-margin))
}
