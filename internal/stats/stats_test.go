package stats

import (
	"encoding/json"
	"math"
	"os"
	"testing"
)

func TestWilson(t *testing.T) {
	data, err := os.ReadFile("testdata/statistics.json")
	if err != nil {
		t.Fatal(err)
	}
	var v struct {
		Wilson []struct{ X, N, Conf, Lo, Hi float64 }
	}
	if err := json.Unmarshal(data, &v); err != nil {
		t.Fatal(err)
	}
	const z975 = 1.959963984540054
	for _, c := range v.Wilson {
		if c.Conf != 0.95 {
			t.Fatalf("no quantile for %v", c.Conf)
		}
		lo, hi := Wilson(c.X/c.N, c.N, z975)
		if math.Abs(lo-c.Lo) > 1e-9 || math.Abs(hi-c.Hi) > 1e-9 {
			t.Errorf("%v of %v: %v %v, want %v %v", c.X, c.N, lo, hi, c.Lo, c.Hi)
		}
	}
	if lo, hi := Wilson(0, 0, Z95); lo != 0 || hi != 1 {
		t.Error("of nothing nothing is known")
	}
}
