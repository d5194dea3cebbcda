package yaml

import "testing"

// A key of another tool gets a hint with ours, by the block in which it is; other keys get the nearest one.
func TestKeysOfOtherToolsHaveAHint(t *testing.T) {
	t.Parallel()
	inSuite := []string{"version", "name", "targets", "prompts", "cases", "scorerSets", "defaults", "tags"}
	inCase := []string{"name", "vars", "scorers", "inheritScorers", "cluster", "tags"}
	for _, test := range []struct {
		word  string
		known []string
		want  string
	}{
		{"tests", inSuite, "write `cases`" + imports},
		{"providers", inSuite, "write `targets`" + imports},
		{"default_test", inSuite, "write `defaults`" + imports},
		{"vars", inSuite, "write `vars` in a case, or in `defaults` for all cases"},
		{"scorers", inSuite, "write `scorers` in a case, or in `defaults` for all cases"},
		{"target", inSuite, "did you mean `targets`?"},
		{"assert", inCase, "write `scorers`"},
		{"expected_output", inCase, "write a scorer, such as `scorers: [{equals: ...}]`, or a variable"},
		{"question", inCase, "write it as a variable: `vars: {question: ...}`"},
		{"scorer", inCase, "did you mean `scorers`?"},
		{"assert", []string{"hang", "latency"}, "known here: hang, latency"},
	} {
		if got := hint(test.word, test.known); got != test.want {
			t.Errorf("%s: got %q, want %q", test.word, got, test.want)
		}
	}
}
