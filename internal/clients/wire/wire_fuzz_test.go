package wire

import (
	"bytes"
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/testing/expect"
	"github.com/evalrun/evalrun/internal/testing/hostile"
	"github.com/evalrun/evalrun/internal/wirejson"
)

// FuzzErrorBody checks that an answer with an error status is an error with words of bounded length. Its wait is
// neither negative nor longer than a duration can hold.
func FuzzErrorBody(f *testing.F) {
	files, _ := filepath.Glob("../../internal/clients/generative/testdata/unary-failure-*.json")
	for _, file := range files {
		data, err := os.ReadFile(file)
		expect.OK(f, err)
		f.Add(403, "", data)
	}
	for _, s := range append(
		hostile.Strings(),
		`{"error":{"details":[{"retryDelay":"46.5s"},{"retryDelay":{"seconds":1e300}},{"retryDelay":"-1s"},{"retryDelay":"NaN"}]}}`,
		`[{"error":"text","message":"more"}]`,
		`{"error":{"details":{"violations":[{"quotaId":"PerDay","quotaValue":0}]},"code":"x","message":[1]}}`, `{"message":"m"}`,
		"[]", "null",
		`{"error":{"message":"API has not been used","details":[{"reason":"API_KEY_INVALID","links":[{"url":"http://x"}]}]}}`,
	) {
		f.Add(429, s, []byte(s))
		f.Add(
			500,
			"",
			[]byte(`{"error":{"message":`+string(wirejson.AppendString(nil, s))+`,"status":`+string(wirejson.AppendString(nil, s))+`}}`),
		)
	}
	for _, s := range []string{
		"7", "1e300", "-5", "NaN", "Inf", "0x10", "Sat, 21 Nov 2099 00:00:00 GMT", "Sat, 21 Nov 1970 00:00:00 GMT", "1_0",
	} {
		f.Add(503, s, []byte(nil))
	}
	f.Fuzz(func(t *testing.T, status int, header string, data []byte) {
		status = 400 + max(0, status)%200
		e := statusError(&http.Response{StatusCode: status, Header: http.Header{"Retry-After": {header}}}, wirejson.CamelKeys(data))
		checkWords(t, e, status)
		checkWait(t, e, header)
	})
}

// checkWords wants an error with the status, and with words of bounded length.
func checkWords(t *testing.T, e *eval.Error, status int) {
	t.Helper()
	if e.Status != status || e.Kind == "" || e.Message == "" && http.StatusText(status) != "" {
		t.Errorf("%+v, want the status %d, a kind and a message", e, status)
	}
	if utf8.RuneCountInString(e.Message) > maxMessage+maxExcerpt+300 || utf8.RuneCountInString(e.Code) > 103 || !utf8.ValidString(e.Error()) {
		t.Errorf("%d characters: %q, want a bounded text in UTF-8", utf8.RuneCountInString(e.Message), e)
	}
}

// checkWait wants a wait that is not negative, is not endless unless the header names a date, and ends the run when it is
// long.
func checkWait(t *testing.T, e *eval.Error, header string) {
	t.Helper()
	if e.RetryAfter < 0 || e.RetryAfter > 1e9*time.Second && !strings.Contains(header, "GMT") && len(header) < 20 {
		t.Errorf("a wait of %s, want one of at most 1e9 seconds", e.RetryAfter)
	}
	if e.Status == 429 && e.RetryAfter > maxWait && e.Retry != eval.RetryNever {
		t.Errorf("got a wait of %s that is not permanent, want it permanent above %s", e.RetryAfter, maxWait)
	}
}

// FuzzContents holds that the contents of a request are JSON, as long as predicted, and decode to the texts.
func FuzzContents(f *testing.F) {
	for _, s := range hostile.Strings() {
		f.Add(s, s, []byte(s))
	}
	f.Fuzz(func(t *testing.T, role, text string, image []byte) {
		in := []eval.Content{{Role: role, Parts: []eval.Part{
			eval.TextPart{Text: text},
			eval.ImagePart{Image: &eval.Image{MIMEType: text, Data: image}},
			eval.TextPart{},
			eval.DataPart{Data: &eval.Image{MIMEType: role, Data: image}},
			eval.ResultPart{Result: &eval.CallResult{ID: role, Name: text, Text: text}},
		}}}
		data := Append(nil, in)
		expect.Same(t, "size", Size(in), len(data))
		var out []struct {
			Role  string `json:"role"`
			Parts []struct {
				Text  string `json:"text"`
				Image *struct {
					MIMEType string `json:"mime_type"`
					Data     []byte `json:"data"`
				} `json:"inline_data"`
			} `json:"parts"`
		}
		if err := json.Unmarshal(data, &out); err != nil {
			t.Fatalf("%v\n%s", err, data)
		}
		if p := out[0].Parts; out[0].Role != inJSON(role) || len(p) != 5 || p[0].Text != inJSON(text) || p[1].Image.MIMEType != inJSON(text) ||
			!bytes.Equal(p[1].Image.Data, image) || !bytes.Equal(p[3].Image.Data, image) {
			t.Errorf("%+v, want the text and the images as they were", out)
		}
	})
}

func inJSON(s string) string { return string([]rune(s)) }
