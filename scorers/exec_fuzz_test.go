package scorers

import (
	"testing"
	"unicode/utf8"
)

// Whatever a program writes is a finding with a value in [0,1], a doubt, or an error.
func FuzzReadFinding(f *testing.F) {
	for _, seed := range []string{
		"true", " 0.5\r\n", `{"score":1,"passed":false,"reason":"x"}`, `{"score":null}`, `{"passed":true}`, `{"score":{}}`,
		`{"score":1e-400}`, "[1]", "nul", `{"SCORE":2}`, "{}{}",
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, out []byte) {
		got, err := readFinding(out)
		if err != nil {
			return
		}
		if !(got.value >= 0 && got.value <= 1) || got.state == brokeUp || len(got.Reason) > maxReason+3 ||
			!utf8.ValidString(got.Reason) {
			t.Errorf("%q: %+v, want a value from 0 to 1 with a short reason", out, got)
		}
	})
}
