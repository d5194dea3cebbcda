package main

import (
	"math"
	"testing"
	"time"

	"github.com/evalrun/evalrun/internal/hostile"
	"github.com/evalrun/evalrun/suite"
)

// FuzzFlags holds that a flag takes what is in its range alone, and tells it so that it is taken again as the same.
func FuzzFlags(f *testing.F) {
	for _, s := range append(hostile.Strings(), "1", "0x10", "1e3", "1_0", "+5", "NaN", "1e-400", "2147483648", "1h", "-1s", "1e300h", ".5ms", "3/4") {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		var n, n2 int
		if (&boundedInt{&n, suite.MaxConcurrency}).Set(text) == nil {
			if n < 1 || n > suite.MaxConcurrency || (&boundedInt{&n2, n}).Set((&boundedInt{&n, n}).String()) != nil || n2 != n {
				t.Error(n, n2)
			}
		}
		var x, x2 positiveFloat
		if x.Set(text) == nil && (!(x > 0) || x > math.MaxInt32 || x2.Set(x.String()) != nil || x2 != x) {
			t.Error(x, x2)
		}
		var d, d2 positiveDuration
		if d.Set(text) == nil && (time.Duration(d) <= 0 || d2.Set(d.String()) != nil || d2 != d) {
			t.Error(d, d2)
		}
		var s, s2 shardFlag
		if s.Set(text) == nil && (s == "" || s2.Set(s.String()) != nil || s2 != s) {
			t.Error(s, s2)
		}
	})
}

// FuzzVar holds that a variable gets its value whole, whatever is in it, and that the last one counts.
func FuzzVar(f *testing.F) {
	for _, s := range hostile.Strings() {
		f.Add("name", s)
		f.Add(s, "a=b")
	}
	f.Fuzz(func(t *testing.T, name, value string) {
		v := vars{}
		err := v.Set(name + "=" + value)
		if name == "" || name[0] == '=' {
			if err == nil || len(v) > 0 {
				t.Errorf("%q", v)
			}
			return
		}
		if err != nil || len(v) != 1 {
			t.Fatal(v, err)
		}
		for got, text := range v {
			if got == "" || got+"="+text != name+"="+value {
				t.Errorf("%q is %q", got, text)
			}
			if err := v.Set(got + "=other"); err != nil || len(v) != 1 || v[got] != "other" {
				t.Error(v, err)
			}
		}
	})
}
