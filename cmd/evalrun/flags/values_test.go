package flags

import (
	"math"
	"slices"
	"testing"
	"time"

	"github.com/spf13/pflag"

	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/testing/hostile"
	"github.com/evalrun/evalrun/suite"
)

// FuzzFlags checks that a flag takes only what is in its range, and prints it so that it is read back as the same.
func FuzzFlags(f *testing.F) {
	for _, s := range slices.Concat(hostile.Strings(), []string{
		"1", "0x10", "1e3", "1_0", "+5", "NaN", "1e-400", "2147483648", "1h", "-1s", "1e300h", ".5ms", "3/4",
	}) {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		var n, n2 int
		if takes(t, text, boundedInt(&n, suite.MaxConcurrency), boundedInt(&n2, suite.MaxConcurrency)) {
			same(t, n, n2, n >= 1 && n <= suite.MaxConcurrency)
		}
		var x, x2 float64
		if takes(t, text, value[float64]{&x, "N", positiveFloat}, value[float64]{&x2, "N", positiveFloat}) {
			same(t, x, x2, x > 0 && x <= math.MaxInt32)
		}
		var d, d2 Duration
		if takes(t, text, &d, &d2) {
			same(t, d, d2, time.Duration(d) > 0)
		}
		var s, s2 eval.Shard
		if takes(t, text, value[eval.Shard]{&s, "I/N", shardOf}, value[eval.Shard]{&s2, "I/N", shardOf}) {
			same(t, s, s2, s.Of > 0)
		}
	})
}

// takes sets a flag to a text, and a second one to what the first says it is.
func takes(t *testing.T, text string, first, second pflag.Value) bool {
	t.Helper()
	if first.Set(text) != nil {
		return false
	}
	if err := second.Set(first.String()); err != nil {
		t.Errorf("%q is %s, which is not taken again: %v, want no error", text, first, err)
	}
	return true
}

func same[T comparable](t *testing.T, first, second T, inRange bool) {
	t.Helper()
	if !inRange || first != second {
		t.Errorf("%v, taken again as %v; in range: %t, want the same, in range", first, second, inRange)
	}
}

// FuzzVar holds that a variable gets its value whole, whatever is in it, and that the last one counts.
func FuzzVar(f *testing.F) {
	for _, s := range hostile.Strings() {
		f.Add("name", s)
		f.Add(s, "a=b")
	}
	f.Fuzz(func(t *testing.T, name, value string) {
		v := Vars{}
		err := v.Set(name + "=" + value)
		if name == "" || name[0] == '=' {
			if err == nil || len(v) > 0 {
				t.Errorf("%q, want an error, and no value", v)
			}
			return
		}
		if err != nil || len(v) != 1 {
			t.Fatalf("got %v, %v, want one value", v, err)
		}
		for got, text := range v {
			if got == "" || got+"="+text != name+"="+value {
				t.Errorf("%q: got %q, want the name and the value of the text", got, text)
			}
			if err := v.Set(got + "=other"); err != nil || len(v) != 1 || v[got] != "other" {
				t.Errorf("got %v, %v, want the new value alone", v, err)
			}
		}
	})
}
