package eval

import (
	"bytes"
	"encoding/json"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/evalrun/evalrun/internal/testing/expect"
	"github.com/evalrun/evalrun/internal/testing/hostile"
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

func TestTheBaseOfARuleHasTheKeysOfItsKind(t *testing.T) {
	t.Parallel()
	const rest = `"alpha":0.05,"onInconclusive":"warn","metrics":[{"name":"pass","margin":0.1}],"stopEarly":true,` +
		`"minPaired":0.5,"allowRemoved":["a<b"]}`
	for text, want := range map[string]Base{
		`{"run":"main",` + rest:                             BaseRun{Name: "main"},
		`{"run":"main","path":"/a<b","runId":"r-1",` + rest: BaseRun{Name: "main", Path: "/a<b", ID: "r-1"},
		`{"runId":"r-1",` + rest:                            BaseRun{ID: "r-1"},
		`{` + rest:                                          BaseRun{},
		`{"arm":"t/p",` + rest:                              BaseArm{Name: "t/p"},
		`{"suffix":"@main",` + rest:                         BaseVersion{Suffix: "@main"},
		`{"alpha":0,"onInconclusive":"","metrics":null}`:    BaseRun{},
	} {
		var rule BaselineRule
		expect.OK(t, json.Unmarshal([]byte(text), &rule))
		expect.Same(t, text, rule.Against, want)
		again, err := wirejson.Append(nil, GateConfig{Baseline: &rule})
		expect.OK(t, err)
		expect.Same(t, "written again", string(again), `{"errorsMax":0,"baseline":`+text+`}`)
	}
}

// Run files of all versions have stops of all kinds in one form, with all keys in this order.
func TestStopsAreReadAsTheirKindAndWrittenAgain(t *testing.T) {
	t.Parallel()
	arm := func(units int, unused ...string) StoppedArm { return StoppedArm{"s", "t/p", units, 9, unused} }
	for text, want := range map[string]ArmStop{
		`{"suite":"s","arm":"t/p","verdict":"not_worse","units":5,"of":9,"logE":{"blocked":3.5,"pass":3},"alpha":0.05,` +
			`"base":"t/a","metrics":[{"name":"pass","margin":0.1},{"name":"blocked","margin":0.2}],"extra":["1","2"]}`: &KnownVerdict{
			StoppedArm: arm(5, "1", "2"), Verdict: NotWorse, LogE: map[string]float64{"pass": 3, "blocked": 3.5}, Alpha: 0.05, Base: "t/a",
			Metrics: []MetricMargin{{Name: "pass", Margin: 0.1}, {Name: "blocked", Margin: 0.2}},
		},
		`{"suite":"s","arm":"t/p","verdict":"inconclusive","metric":"passRate","units":2,"of":9,"logE":{},"alpha":0}`: &KnownVerdict{
			StoppedArm: arm(2), Verdict: Inconclusive, Metric: "passRate", LogE: map[string]float64{},
		},
		`{"suite":"s","arm":"t/p","verdict":"","metric":"pass","units":4,"of":9,"logE":{"pass":4.5},"alpha":0.05,"base":"t/b",` +
			`"race":true,"extra":["3"]}`: &RaceExit{StoppedArm: arm(4, "3"), Metric: "pass", Behind: "t/b", LogE: 4.5, Alpha: 0.05},
		`{"suite":"s","arm":"t/p","verdict":"","units":6,"of":9,"logE":null,"alpha":0}`: &BaseExit{arm(6)},
	} {
		got, err := ReadStop([]byte(text))
		expect.OK(t, err)
		expect.Same(t, text, got, want)
		again, err := wirejson.Append(nil, got)
		expect.OK(t, err)
		expect.Same(t, "written again", string(again), text)
	}
	_, err := ReadStop([]byte(`{"suite":1}`))
	if err == nil {
		t.Error("got no error for a suite that is a number, want one")
	}
}

// The verdict in a comparison reads back by itself too, also when nothing of it is set.
func TestAKnownVerdictReadsBack(t *testing.T) {
	t.Parallel()
	for _, want := range []KnownVerdict{{}, {
		StoppedArm{"s <&>", "t/p", 5, 9, []string{"1", "\u2028"}},
		Regressed, "pass",
		map[string]float64{"pass": 0.25, "m": -1},
		0.05, "base",
		[]MetricMargin{
			{Name: "m", Margin: 0.1, Cap: 2, Strict: true},
		},
	}} {
		data, err := wirejson.Marshal(want)
		expect.OK(t, err)
		var got KnownVerdict
		expect.OK(t, json.Unmarshal(data, &got))
		expect.Same(t, string(data), got, want)
	}
}

// FuzzGenerationConfig checks that a config reads back as it was written. A known field in another case is left out,
// since encoding/json takes it for the field.
func FuzzGenerationConfig(f *testing.F) {
	for _, s := range append(
		hostile.Strings(), `{"temperature":0,"topK":3,"b":"x","stopSequences":["a"],"":null}`, `{"topP":2,"a":[1e5,{"b":-0}]}`, "null", "{}",
	) {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		var c, second GenerationConfig
		if json.Unmarshal(data, &c) != nil {
			return
		}
		for name := range c.Extra {
			if slices.ContainsFunc(c.Keys(), func(known string) bool { return strings.EqualFold(name, known) }) {
				return
			}
		}
		out, err := wirejson.Marshal(c)
		if err != nil || !json.Valid(out) {
			t.Fatalf("%s %v, want JSON", out, err)
		}
		expect.OK(t, json.Unmarshal(out, &second))
		twice, err := wirejson.Marshal(second)
		expect.OK(t, err)
		expect.Same(t, "written", string(out), string(twice))
		expect.Same(t, "temperature", c.Temperature, second.Temperature)
		expect.Same(t, "top k", c.TopK, second.TopK)
		if c.Temperature != nil && (math.IsNaN(*c.Temperature) || math.IsInf(*c.Temperature, 0)) {
			t.Errorf("got %v, want a finite number", *c.Temperature)
		}
	})
}
