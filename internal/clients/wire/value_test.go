package wire

import (
	"bytes"
	"encoding/json"
	"testing"

	"github.com/evalrun/evalrun/internal/testing/expect"
	"github.com/evalrun/evalrun/internal/testing/hostile"
	"github.com/evalrun/evalrun/internal/wirejson"
)

// FuzzDecodeAny checks that a value is what encoding/json makes of it, with numbers as they are written, and that what is no JSON is an
// error.
func FuzzDecodeAny(f *testing.F) {
	for _, s := range hostile.Strings() {
		quoted := wirejson.AppendString(nil, s)
		f.Add([]byte(s))
		f.Add(quoted)
		f.Add([]byte("{" + string(quoted) + ": [" + string(quoted) + ", {}]}"))
	}
	for _, s := range []string{
		`{"a": 1, "a": 2}`, `[1.50, -0, 1e400, 12345678901234567890]`, `[true, false, null, [], {}]`, " \t\r\n1 \n", `"\u00e9\ud83d\ude00\ud83d"`,
		`[1,]`, `{"a"}`, `01`, `1 2`, `"a`, `{"a":{"b":[{"c":"\\\""}]}}`, "\"\xff\"",
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		got, err := DecodeAny(data)
		var want any
		dec := json.NewDecoder(bytes.NewReader(data))
		dec.UseNumber()
		wrong := dec.Decode(&want)
		if fine := json.Valid(data) && Decodable(data) == nil; fine != (err == nil) {
			t.Fatalf("%q: got %v, want it to be read: %t (%v)", data, err, fine, wrong)
		}
		if err == nil {
			expect.Same(t, string(data), got, want)
		}
	})
}
