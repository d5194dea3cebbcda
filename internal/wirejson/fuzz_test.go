package wirejson

import (
	"bytes"
	"encoding/json"
	"testing"

	"github.com/evalrun/evalrun/internal/testing/expect"
	"github.com/evalrun/evalrun/internal/testing/hostile"
)

// FuzzCamelKeys holds that known keys of a JSON text get their other spelling, all else stays, and doing it twice is
// doing it once.
func FuzzCamelKeys(f *testing.F) {
	for _, s := range []string{
		`{"finish_reason":"a","x":["top_p"],"top_p" : {"top_k":1}}`,
		`{"text":"\"finish_reason\": 1","a\\":"\\","mime_type":0}`,
		`{"a":"finish_reason"  ,"b":"\\\"top_p\":1"}`,
		`{"function_call":{"args":{"top_p":{"args":[1,"]"]}}},"response_schema":{"top_k":0},"top_k":0}`,
	} {
		f.Add([]byte(s))
	}
	for _, s := range hostile.Strings() {
		f.Add(AppendString([]byte(`{"top_p":`), s))
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		out := CamelKeys(bytes.Clone(data))
		expect.Same(t, "twice", string(CamelKeys(bytes.Clone(out))), string(out))
		if !json.Valid(data) {
			return
		}
		// One token after the other, so that keys that come twice do not matter.
		in, got := json.NewDecoder(bytes.NewReader(data)), json.NewDecoder(bytes.NewReader(out))
		for {
			a, err1 := in.Token()
			b, err2 := got.Token()
			if (err1 == nil) != (err2 == nil) {
				t.Fatalf("%s: %v, %v, want errors of both or of neither", out, err1, err2)
			}
			if err1 != nil {
				return
			}
			if key, ok := a.(string); ok && a != b && b == snakeNames[key] {
				continue
			}
			if a != b {
				t.Fatalf("%v became %v: want the same in %s", a, b, out)
			}
		}
	})
}
