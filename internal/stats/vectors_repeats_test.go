package stats

import (
	"encoding/json"
	"testing"
)

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
				t.Errorf("kappa of %+v: got it known: %v, want %v", v, ok, want != nil)
			} else if ok {
				check(t, "kappa", got, *want, 1e-12)
			}
		}
	}
	// By hand, three categories: disagreements (1,2) and (3,1) of four, by chance 10, 12
	// and 16 sixteenths.
	a, b := []int{1, 2, 3, 1}, []int{1, 2, 1, 2}
	for weight, want := range map[Weight]float64{Unweighted: 1 - 2/(4*0.625), Linear: 1 - 3/(4*0.75), Quadratic: 1 - 5/(4*1.0)} {
		got, _ := CohenKappa(a, b, weight)
		check(t, "kappa by hand", got, want, 1e-12)
	}
	if kappa, ok := CohenKappa(nil, nil, Linear); ok {
		t.Errorf("kappa of nothing: got %v, want none", kappa)
	}
}
