package wire

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/url"
	"strings"
	"testing"

	"github.com/evalrun/evalrun/internal/testing/expect"
	"github.com/evalrun/evalrun/internal/testing/hostile"
	"github.com/evalrun/evalrun/internal/wirejson"
)

// plausible reports whether a text can be a key: printable ASCII of some length and variety.
func plausible(key string) bool {
	kinds := map[rune]bool{}
	for _, r := range key {
		if r <= ' ' || r > '~' || r == '[' || r == ']' {
			return false
		}
		kinds[r] = true
	}
	return len(key) >= minAnswer && len(key) <= 200 && len(kinds) >= 4
}

// FuzzScrub holds that a key in whatever form, with whatever around it, comes out of texts and answers, and that an
// answer of JSON stays JSON.
func FuzzScrub(f *testing.F) {
	keys := []string{"CANARYaB3xY9q7Wzlongkey", `k/e+y=w&i"t<h\odd%'>`, "n0ewline", "abcabcabcd", "%41%42%43z", "u0041u0042", `\\\\abcd`}
	for _, key := range keys {
		f.Add(key, "before ", " after")
	}
	for i, s := range hostile.Strings() {
		f.Add(keys[i%len(keys)], s, s)
	}
	f.Fuzz(func(t *testing.T, key, before, after string) {
		if !plausible(key) {
			return
		}
		s := NewSecrets(key)
		whole := before + key + after
		quoted, err := json.Marshal(whole)
		keyQuoted, _ := json.Marshal(key)
		expect.OK(t, err)
		for form, text := range map[string]string{
			"plain": whole, "query": before + url.QueryEscape(key) + after, "path": before + url.PathEscape(key) + after,
			"json": before + string(wirejson.AppendString(nil, key)) + after, "json for HTML": before + string(keyQuoted) + after,
			"go": before + fmt.Sprintf("%q", key) + after, "hex": fmt.Sprintf("%s%x%s", before, key, after),
			"base64": base64.StdEncoding.EncodeToString([]byte(whole)), "base64 raw": base64.RawURLEncoding.EncodeToString([]byte(whole)),
		} {
			for _, got := range []string{s.OutOf(text), s.OutOfText(text)} {
				clean(t, form, key, got)
			}
			expect.Contains(t, form, s.OutOf(text), "[key]")
		}
		got := s.OutOfAnswer([]byte(`{"a":` + string(quoted) + `}`))
		clean(t, "answer", key, string(got))
		var out struct{ A string }
		if err := json.Unmarshal(got, &out); err != nil {
			t.Fatalf("%v: %s", err, got)
		}
		clean(t, "decoded answer", key, out.A)
	})
}

func clean(t *testing.T, what, key, text string) {
	t.Helper()
	for _, form := range formsOf(key) {
		if strings.Contains(text, form) {
			t.Fatalf("%s: got %[3]q in %[2]q, want it masked", what, text, form)
		}
	}
}

// FuzzEscapes holds that a JSON text means the same after its escapes were put in their shortest form.
func FuzzEscapes(f *testing.F) {
	for _, s := range append(hostile.Strings(), `"a\u0022\u0041\\u0042\n\/\u005c"`, `"\ud83d\ude00\u007f"`, `"\\\\u0041"`) {
		f.Add([]byte(s))
		f.Add(wirejson.AppendString(nil, s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		out := plainEscapes(data)
		var a, b any
		if json.Unmarshal(data, &a) != nil {
			return
		}
		if err := json.Unmarshal(out, &b); err != nil || fmt.Sprint(a) != fmt.Sprint(b) {
			t.Errorf("%s: got %s, want the same but for the key: %v", data, out, err)
		}
	})
}
