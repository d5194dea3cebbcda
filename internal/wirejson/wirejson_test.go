package wirejson

import (
	"testing"
)

func TestCamelKeys(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		`{"finish_reason": "max_tokens", "a_b": 1}`:       `{"finishReason": "max_tokens", "a_b": 1}`,
		`{"text": "\"finish_reason\": 1"}`:                `{"text": "\"finish_reason\": 1"}`,
		`{"x": ["finish_reason", "y"], "top_p" : 1}`:      `{"x": ["finish_reason", "y"], "topP" : 1}`,
		`{"text": "ends with a backslash \\", "top_k":1}`: `{"text": "ends with a backslash \\", "topK":1}`,
		`{"broken`: `{"broken`,
	} {
		if got := string(CamelKeys([]byte(in))); got != want {
			t.Errorf("%s: %s", in, got)
		}
	}
}

func TestAppendString(t *testing.T) {
	t.Parallel()
	if got := string(AppendString(nil, "aaa\xff")); got != `"aaa\ufffd"` {
		t.Errorf("got %s, want U+FFFD for what is not UTF-8", got)
	}
}
