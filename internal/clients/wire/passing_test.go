package wire

import (
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/evalrun/evalrun/internal/testing/expect"
)

// A key that is written with an escape is masked where it is, also in what is not JSON.
func TestKeysInWhatIsNotJSONAreMaskedInPlace(t *testing.T) {
	t.Parallel()
	s := NewSecrets("canary-key")
	for passed, want := range map[string]string{
		`{"a": "c\u0061nary-key", "b": 1}`:               `{"a": "[key]", "b": 1}`,
		`{"a": ]]?"c\u0061nary-key", "b": 1}`:            `{"a": ]]?"[key]", "b": 1}`,
		`[ }}[}{"a": ?? "c\u0061nary-key"}, "b"] x`:      `[ }}[}{"a": ?? "[key]"}, "b"] x`,
		`{"a": ?{"index": ?1, "b" ?["canary-", x "key"]`: `{"a": ?{"index": ?1, "b" ?["[key]", x ""]`,
	} {
		expect.Same(t, passed, string(s.OutOfPassed(passed)), want)
	}
}

// Whatever passes, masking changes only strings that have a part of the key.
func TestMaskingChangesNothingElse(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(1, 2))
	parts := []string{
		`{`, `}`, `[`, `]`, `"`, `\`, `,`, `:`, `?`, ` `, `1`, `tru`, `"index":`, `"a"`, `"c\u0061nary-"`, `"key"`, "\n", "data: ",
	}
	s := NewSecrets("canary-key")
	for range 20_000 {
		var passed strings.Builder
		for range random.IntN(24) {
			passed.WriteString(parts[random.IntN(len(parts))])
		}
		rest := func(text string) string {
			for _, part := range []string{`c\u0061nary-`, `key`, `[key]`} {
				text = strings.ReplaceAll(text, part, "")
			}
			return text
		}
		got := string(s.OutOfPassed(passed.String()))
		expect.Same(t, passed.String(), rest(strings.ReplaceAll(got, "[key]", "")), rest(passed.String()))
	}
}
