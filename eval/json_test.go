package eval

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/evalrun/evalrun/internal/wirejson"
)

// FuzzAppendJSON holds the fast encoder to the standard one, byte by byte, for all that a record can hold.
func FuzzAppendJSON(f *testing.F) {
	for _, s := range []string{
		"", "plain", "<a href='&'>", "\"\\/\b\f\n\r\t", "\x00\x1b\x7f\u0085", "\xff\xed\xa0\x80", "\u2028\u2029\u202e\ufffd\U0001F600", "{{.x}}",
	} {
		f.Add(s, 0.1, int64(-1))
	}
	f.Add("x", 1e21, int64(1)<<62)
	f.Add("x", 5e-324, int64(0))
	f.Fuzz(func(t *testing.T, s string, x float64, n int64) {
		r := Result{
			Trial:  Trial{N: int(n), ID: s, Tags: []string{s, ""}, Threshold: &x},
			Ending: writtenEnding{Outcome(s), &Error{Kind: ErrorKind(s), Message: s}, s},
			Scores: []Score{{Name: s, Grade: Graded{Value: x}, Weight: x}, {}},
			Request: &Request{
				Contents: []Content{{Role: s, Parts: []Part{TextPart{Text: s}, ImagePart{Image: &Image{Path: s, Data: []byte(s)}}}}},
				GenerationConfig: &GenerationConfig{
					Temperature:   &x,
					StopSequences: []string{s},
					Extra:         map[string]json.RawMessage{"b": json.RawMessage(`1`), "a<": json.RawMessage(`[2]`)},
				},
			},
			Response: &Response{Candidates: []Candidate{{Text: s, SafetyRatings: []SafetyRating{{Category: s}}}}},
			Calls: []AnsweredCall{
				{
					Response: Response{Candidates: []Candidate{{Text: s}}, Usage: &Usage{}},
					Usage:    Usage{PromptTokens: int(n)},
					Timing:   Timing{LatencyMs: x},
				},
			},
			Timing: &Timing{StartedAt: time.Unix(n%1e9, n%1e9).UTC(), LatencyMs: x},
		}
		want, wantErr := wirejson.Marshal(r.written())
		got, err := wirejson.Append(nil, &r)
		if (err == nil) != (wantErr == nil) {
			t.Fatalf("%v, want %v", err, wantErr)
		}
		if err == nil && !bytes.Equal(got, want) {
			t.Fatalf("got\n%s\nwant\n%s", got, want)
		}
	})
}

// A gate is written as every version has written it, and read back to the same rules; runs of all versions state the share of errors.
func TestAGateIsWrittenAsInEveryVersion(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]GateConfig{
		`{"errorsMax":0}`:                                      {},
		`{"passRateMin":0.5,"errorsMax":0}`:                    {PassRateMin: new(0.5), ErrorsMax: new(0.0)},
		`{"passRateMin":1,"errorsMax":0.1,"latencyP95Ms":250}`: {PassRateMin: new(1.0), ErrorsMax: new(0.1), LatencyP95Ms: new(250.0)},
		`{"errorsMax":0.1,"blockedMax":0,"means":[{"metric":"m","min":0}]}`: {
			ErrorsMax: new(0.1), BlockedMax: new(0.0), Means: []MeanMin{{Metric: "m"}},
		},
	} {
		one := RunSuite{Gate: &want}
		for name, encode := range map[string]func(any) ([]byte, error){
			"Marshal": wirejson.Marshal, "Append": func(v any) ([]byte, error) { return wirejson.Append(nil, v) },
		} {
			data, err := encode(one)
			if err != nil || !strings.Contains(string(data), `"gate":`+text) {
				t.Errorf("%s: got %s, %v, want %s in it", name, data, err, text)
			}
		}
		var back GateConfig
		if err := json.Unmarshal([]byte(text), &back); err != nil || back.MostErrors() != want.MostErrors() {
			t.Errorf("%s: got errors up to %v, %v, want %v", text, back.MostErrors(), err, want.MostErrors())
		}
		again, err := json.Marshal(back)
		if err != nil || string(again) != text {
			t.Errorf("got %s, %v, want %s", again, err, text)
		}
	}
}
