package stats

import (
	"encoding/json"
	"testing"
)

func repeatsVectors() map[string]func(*testing.T, json.RawMessage) {
	type repeats struct {
		A, B          [][]float64
		MeanDiff      float64 `json:"mean_diff"`
		VarD          float64 `json:"var_d"`
		WithinA       float64 `json:"within_a"`
		WithinB       float64 `json:"within_b"`
		Omega2, SE    float64
		SEManyRepeats float64 `json:"se_if_k_infinite"`
		SEFixedSuite  float64 `json:"se_fixed_suite"`
	}
	return map[string]func(*testing.T, json.RawMessage){
		"pass_at_k": each(checkPassAtK),
		"repeats_variance": each(func(t *testing.T, v repeats) {
			r := RepeatsVariance(v.A, v.B)
			near(t, "mean", r.MeanDiff, v.MeanDiff)
			near(t, "var", r.VarD, v.VarD)
			near(t, "within a", r.WithinA, v.WithinA)
			near(t, "within b", r.WithinB, v.WithinB)
			near(t, "omega2", r.Omega2, v.Omega2)
			near(t, "se", r.SE, v.SE)
			near(t, "se, many repeats", r.SEManyRepeats, v.SEManyRepeats)
			near(t, "se, fixed suite", r.SEFixedSuite, v.SEFixedSuite)
		}),
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
		t.Error("unknown")
	}
	check(t, "pass@k", at, v.PassAtK, 1e-12)
	check(t, "pass^k", hat, v.PassHatK, 1e-12)
}

func TestPassAtK(t *testing.T) {
	var file struct{ Cases json.RawMessage }
	readVectors(t, "pass_at_k.json", &file)
	each(checkPassAtK)(t, file.Cases)
	for _, bad := range [][3]int{{2, 2, 3}, {0, 0, 1}, {3, 4, 1}, {3, -1, 1}, {3, 1, 0}} {
		if _, ok := PassAtK(bad[0], bad[1], bad[2]); ok {
			t.Error("pass@k known of", bad)
		}
		if _, ok := PassHatK(bad[0], bad[1], bad[2]); ok {
			t.Error("pass^k known of", bad)
		}
	}
}

func TestAgreement(t *testing.T) {
	var file struct {
		Cases []struct {
			Rater1, Rater2 []int
			Kappa          *float64
			Linear         *float64 `json:"kappa_linear"`
			Quadratic      *float64 `json:"kappa_quadratic"`
			Accuracy       float64
		}
	}
	readVectors(t, "agreement.json", &file)
	for _, v := range file.Cases {
		for weight, want := range []*float64{v.Kappa, v.Linear, v.Quadratic} {
			got, ok := CohenKappa(v.Rater1, v.Rater2, Weight(weight))
			if ok != (want != nil) {
				t.Errorf("kappa of %+v known: %v", v, ok)
			} else if ok {
				check(t, "kappa", got, *want, 1e-12)
			}
		}
		got, ok := Accuracy(v.Rater1, v.Rater2)
		if check(t, "accuracy", got, v.Accuracy, 1e-12); !ok {
			t.Error("accuracy unknown")
		}
	}
	// By hand, three categories: disagreements (1,2) and (3,1) of four, by chance 10, 12
	// and 16 sixteenths.
	a, b := []int{1, 2, 3, 1}, []int{1, 2, 1, 2}
	for weight, want := range map[Weight]float64{Unweighted: 1 - 2/(4*0.625), Linear: 1 - 3/(4*0.75), Quadratic: 1 - 5/(4*1.0)} {
		got, _ := CohenKappa(a, b, weight)
		check(t, "kappa by hand", got, want, 1e-12)
	}
	if _, ok := CohenKappa(nil, nil, Linear); ok {
		t.Error("kappa of nothing")
	}
	if _, ok := Accuracy([]int{1}, nil); ok {
		t.Error("accuracy of ratings that do not pair")
	}
}
