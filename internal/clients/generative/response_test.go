package generative

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/testing/expect"
	"github.com/evalrun/evalrun/internal/wirejson"
)

func TestRecordedRepliesAreRead(t *testing.T) {
	t.Parallel()
	for name, data := range recordings(t, "unary-*.json") {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			resp, err := parseResponse(wirejson.CamelKeys(data))
			switch name {
			case "failure-api-key", "failure-unknown-model", "failure-generativelanguage-api-not-enabled":
				var e *eval.Error
				if !errors.As(err, &e) || e.Message == "" || e.Code == "" {
					t.Errorf("got %v, want an error with a message and a code", err)
				}
				return
			}
			expect.OK(t, err)
			checkRecorded(t, name, resp)
		})
	}
}

// checkRecorded wants what is special about a recorded answer to be read.
func checkRecorded(t *testing.T, name string, resp *eval.Response) {
	t.Helper()
	good := true
	switch name {
	case "failure-finish-reason-safety":
		good = resp.Blocked() == "SAFETY" && resp.Candidates[0].SafetyRatings[0].Probability == "NEGLIGIBLE" && resp.Usage.TotalTokens == 27
	case "failure-only-prompt-feedback":
		good = resp.Blocked() == "" && len(resp.Candidates) == 0
	case "failure-with-message-no-content":
		good = resp.Candidates[0].FinishReason == "OTHER" && resp.Text() == "" && resp.Candidates[0].Extra["finishMessage"] != nil
	default:
		checkSuccess(t, name, resp)
	}
	if !good {
		t.Errorf("%+v, want a good response", resp)
	}
}

func checkSuccess(t *testing.T, name string, resp *eval.Response) {
	t.Helper()
	if strings.HasPrefix(name, "success") && !strings.Contains(name, "function-call") && resp.Text() == "" {
		t.Error("got no text, want that of the answer")
	}
	if resp.Usage == nil || resp.Usage.TotalTokens == 0 {
		t.Errorf("usage: got %+v, want counts", resp.Usage)
	}
	if strings.Contains(name, "thought-summary") && strings.Contains(resp.Text(), "**") {
		t.Errorf("got thoughts in the text: %.80s, want the answer alone", resp.Text())
	}
}

// recordings are the files of testdata with a form of name, by what is special about them.
func recordings(t testing.TB, pattern string) map[string][]byte {
	t.Helper()
	files, err := filepath.Glob(filepath.Join("testdata", pattern))
	if err != nil || len(files) == 0 {
		t.Fatalf("got no recordings (%v), want some", err)
	}
	out := map[string][]byte{}
	prefix, suffix, _ := strings.Cut(pattern, "*")
	for _, file := range files {
		data, err := os.ReadFile(file)
		expect.OK(t, err)
		out[strings.TrimSuffix(strings.TrimPrefix(filepath.Base(file), prefix), suffix)] = data
	}
	return out
}

func TestSnakeAndCamelAreReadTheSame(t *testing.T) {
	t.Parallel()
	camel := `{"candidates":[{"content":{"parts":[{"text":"a \"safety_ratings\": x"}]},"finishReason":"STOP",` +
		`"safetyRatings":[{"category":"C","probability":"LOW"}],"index":1},{"content":{"parts":[{"text":"first"}]},"index":0}],` +
		`"promptFeedback":{"blockReason":"X"},"usageMetadata":{"promptTokenCount":1,"candidatesTokenCount":2,` +
		`"totalTokenCount":3},"modelVersion":"v","surprise":{"x":[1]}}`
	snake := strings.NewReplacer(
		`"finishReason":`, `"finish_reason" : `, `"safetyRatings":`, `"safety_ratings":`, `"promptFeedback":`, `"prompt_feedback":`,
		`"blockReason":`, `"block_reason":`, `"usageMetadata":`, `"usage_metadata":`, `"promptTokenCount":`, `"prompt_token_count":`,
		`"candidatesTokenCount":`, `"candidates_token_count":`, `"totalTokenCount":`, `"total_token_count":`,
		`"modelVersion":`, `"model_version":`,
	).Replace(camel)
	a, err := parseResponse([]byte(camel))
	expect.OK(t, err)
	b, err := parseResponse(wirejson.CamelKeys([]byte(snake)))
	expect.OK(t, err)
	expect.Same(t, "camel, then snake", b, a)
	expect.Same(t, "text of the first", a.Text(), "first")
	expect.Same(t, "text of the second", a.Candidates[1].Text, `a "safety_ratings": x`)
	expect.Same(t, "surprise", string(a.Extra["surprise"]), `{"x":[1]}`)
}

func FuzzParseResponse(f *testing.F) {
	for _, data := range recordings(f, "unary-*.json") {
		f.Add(data)
	}
	f.Add([]byte(`{"a\"_b":1,"finish_reason":"\\"}`))
	f.Add([]byte(
		`{"candidates":[{"content":{"parts":[{"text":"a"}]},"finishReason":"STOP","index":0,` +
			`"safetyRatings":[{"category":"C","probability":"LOW"}]}],"usageMetadata":{"promptTokenCount":1}}`,
	))
	f.Fuzz(func(t *testing.T, data []byte) {
		resp, err := parseResponse(wirejson.CamelKeys(data))
		if (resp == nil) == (err == nil) {
			t.Errorf("%v %v, want a response or an error", resp, err)
		}
	})
}
