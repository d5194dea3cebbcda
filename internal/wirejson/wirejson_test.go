package wirejson

import (
	"testing"

	"github.com/evalrun/evalrun/internal/testing/expect"
	"github.com/evalrun/evalrun/internal/testing/hostile"
)

func TestCamelKeysRenamesKeysAndNoTexts(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		`{"finish_reason": "max_tokens", "a_b": 1}`:       `{"finishReason": "max_tokens", "a_b": 1}`,
		`{"text": "\"finish_reason\": 1"}`:                `{"text": "\"finish_reason\": 1"}`,
		`{"x": ["finish_reason", "y"], "top_p" : 1}`:      `{"x": ["finish_reason", "y"], "topP" : 1}`,
		`{"text": "ends with a backslash \\", "top_k":1}`: `{"text": "ends with a backslash \\", "topK":1}`,
		`{"broken`: `{"broken`,
		// what is below arguments, results and schemas is the user's
		`{"function_call": {"args" : {"top_p": {"top_k": "]}"}}, "thought_signature": ""}, "top_k": 1}`: `{"functionCall": {"args" : ` +
			`{"top_p": {"top_k": "]}"}}, "thoughtSignature": ""}, "topK": 1}`,
		`[{"response": [{"top_p": 1}]}, {"top_p": 2}]`:                  `[{"response": [{"top_p": 1}]}, {"topP": 2}]`,
		`{"args": "{", "top_p": 1, "response": null, "top_k": 2}`:       `{"args": "{", "topP": 1, "response": null, "topK": 2}`,
		`{"response_schema": {"properties": {"top_p": {}}}, "top_p":1}`: `{"responseSchema": {"properties": {"top_p": {}}}, "topP":1}`,
		`{"args": {"top_p": "unclosed, "top_k": {}`:                     `{"args": {"top_p": "unclosed, "top_k": {}`,
	} {
		expect.Same(t, in, string(CamelKeys([]byte(in))), want)
	}
}

func TestAppendStringIsThatOfEncodingJSON(t *testing.T) {
	t.Parallel()
	if got := string(AppendString(nil, "aaa\xff")); got != `"aaa\ufffd"` {
		t.Errorf("got %s, want U+FFFD for what is not UTF-8", got)
	}
	for c := range rune(0x3000) {
		sameString(t, "a"+string(c)+"z")
	}
	for b := range 256 {
		sameString(t, string([]byte{'a', byte(b), 'z'}))
		sameString(t, string([]byte{'a', 0xe2, 0x80, byte(b)}))
	}
	for _, s := range hostile.Strings() {
		sameString(t, s)
	}
}

// sameString holds that a text is written as encoding/json writes it.
func sameString(t *testing.T, s string) {
	t.Helper()
	want, err := Marshal(s)
	expect.OK(t, err)
	if got := string(AppendString(nil, s)); got != string(want) {
		t.Errorf("%q: got %s, want %s", s, got, want)
	}
}
