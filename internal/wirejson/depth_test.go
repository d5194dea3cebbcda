package wirejson

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/evalrun/evalrun/internal/testing/expect"
)

// Nesting is decoded as far as encoding/json does, and two megabytes of brackets are no more work than other text.
func TestDepthIsThatOfEncodingJSON(t *testing.T) {
	t.Parallel()
	for _, form := range []struct {
		open, end string
		levels    int
	}{{"[", "]", 1}, {`{"a":`, "}", 1}, {`["]}\\\"[{",{"[":`, "}]", 2}} {
		for _, n := range []int{1, MaxDepth / form.levels, MaxDepth/form.levels + 1, 2_000_000 / len(form.open)} {
			text := []byte(strings.Repeat(form.open, n) + "1" + strings.Repeat(form.end, n))
			name := fmt.Sprint(n, " times ", form.open)
			expect.Same(t, name, Valid(text), json.Valid(text))
			expect.Same(t, name, Decode(text, new(json.RawMessage)) == nil, json.Valid(text))
			expect.Same(t, name, Deeper(text, n*form.levels-1), true)
			expect.Same(t, name, Deeper(text, n*form.levels), false)
		}
	}
	err := Decode([]byte(strings.Repeat("[", 2_000_000)), new(any))
	expect.Same(t, "the error", fmt.Sprint(err), "nested deeper than 10000 levels")
	for _, text := range []string{"", `"`, `"[`, `\[`, "]]][", `{"a":"\`} {
		expect.Same(t, text, Deeper([]byte(text), 1), false)
	}
}
