package journal

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/tidwall/gjson"

	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/testing/expect"
	"github.com/evalrun/evalrun/internal/testing/hostile"
)

// commonLine is the line of a trial as most are.
func commonLine(t testing.TB) []byte {
	t.Helper()
	half := 0.5
	r := answered("c\u00e4se 1", "t/p", eval.Pass, 42.081)
	r.ID, r.ScorersHash, r.VarsHash, r.RequestHash, r.Cluster = "fb9e115c024bd976", "538e+length.2", "id of c", "2f99a815ea6409a9", "town"
	r.Tags, r.Model, r.Target, r.Prompt, r.At = []string{"x", "y"}, "pro", "t", "p", "rows.csv:3:1"
	r.Scores = []eval.Score{
		{Scorer: "contains", Grade: eval.Graded{Value: half}, Reason: `has "Paris"`},
		{Scorer: "f1", Name: "overlap", Grade: eval.Graded{Value: half}},
		{Scorer: "judge", Name: "tone"},
	}
	r.Request = &eval.Request{Contents: []eval.Content{{Role: "user", Parts: []eval.Part{eval.TextPart{Text: "What?\n<b> \\"}}}}}
	rating := eval.SafetyRating{Category: "HARM", Probability: "LOW"}
	feedback := &eval.PromptFeedback{SafetyRatings: []eval.SafetyRating{rating}}
	r.Response = &eval.Response{ModelVersion: "v7", PromptFeedback: feedback, Candidates: []eval.Candidate{
		{Text: "Paris.", FinishReason: "STOP", SafetyRatings: []eval.SafetyRating{rating, rating}}, {FinishReason: eval.CutReason},
	}}
	r.Timing.StartedAt, r.Timing.Attempts = time.Date(2026, 11, 22, 19, 48, 18, 830836483, time.UTC), 2
	data, err := appendLine(nil, trialKind, r, 1)
	expect.OK(t, err)
	return bytes.TrimSuffix(data, []byte("\n"))
}

// sameScans checks that a line that is read fast is JSON, and is read as any JSON is. It reports whether the line is read fast.
func sameScans(t testing.TB, data []byte) bool {
	t.Helper()
	// What the last line left must not show.
	before := commonLine(t)
	var fast, slow scannedTrial
	var fastFacts, slowFacts Facts
	if !fast.scanFast(before) || !fastFacts.scanFast(before) {
		t.Fatalf("got the slow way, want the fast one: %s", before)
	}
	did, didFacts := fast.scanFast(data), fastFacts.scanFast(data)
	if (did || didFacts) && !gjson.ValidBytes(data) {
		t.Fatalf("got the fast way, want none for what is not JSON: %s", data)
	}
	if gjson.ValidBytes(data) {
		sameResults(t, data)
	}
	if slow.scan(data); did {
		fast.last, slow.last, slow.oddID = texts{}, texts{}, ""
		if !reflect.DeepEqual(sparse(fast), sparse(slow)) {
			t.Fatalf("%s\nfast: got %+v\nwant %+v", data, fast, slow)
		}
	}
	if slowFacts.scan(data); didFacts {
		expect.Same(t, string(data), fastFacts, slowFacts, cmpopts.EquateEmpty())
	}
	return did && didFacts
}

// sameResults checks that a line is decoded as encoding/json decodes it.
func sameResults(t testing.TB, data []byte) {
	t.Helper()
	want := &eval.Result{}
	got, errGot := decodeTrial(data)
	errWant := json.Unmarshal(data, want)
	if fmt.Sprint(errGot) != fmt.Sprint(errWant) || errWant == nil && !reflect.DeepEqual(got, want) {
		t.Fatalf("%s\ngot %+v, %v\nwant %+v, %v", data, got, errGot, want, errWant)
	}
}

// sparse makes what is empty nil.
func sparse(r scannedTrial) scannedTrial {
	if len(r.metrics) == 0 {
		r.metrics = nil
	}
	if len(r.judges) == 0 {
		r.judges = nil
	}
	if len(r.startedAt) == 0 {
		r.startedAt = nil
	}
	return r
}

// oddities are put into lines.
var oddities = []string{
	`,"n":7`, `,"n":-1`, `,"n":1.5`, `,"n":null`, `,"n":01`, `,"n":99999999999999999999`, `,"suite":"other"`, `,"case":"a\"b"`,
	`,"case":null`,
	`,"finishReason":"SAFETY"`, `,"finishReason":"MAX_TOKENS"`, `,"finishReason":7`, `,"blockReason":"OTHER"`, `"blockReason"`,
	`,"promptFeedback":{"blockReason":"OTHER"}`, `,"promptFeedback":{"blockReason":""}`, `,"promptFeedback":[{"blockReason":"OTHER"}]`,
	`,"attempts":9`, `,"latencyMs":1e3`, `,"latencyMs":"x"`, `,"value":null`, `,"value":-0.25e-2`,
	`,"value":1e999`, `,"value":true`, `,"name":""`, `,"error":{"kind":"timeout"}`, `,"quarantine":{"until":"2999-01-01"}`, `,"tags":["z"]`,
	`,"tags":{}`, `,"tags":[1]`, `,"response":null`, `,"turns":[{"finishReason":"MAX_TOKENS"}]`, `,"usage":{"totalTokens":1}`, `,"repeat":3`,
	`,"metrics":{"f":0.5}`, `,"skipReason":"earlyStop"`, `,"x\"finishReason":"MAX_TOKENS"`, `,"blocked":true`, `,"blocked":null`,
	`,"Outcome":"fail"`, `,"SEQ":9`, `,"startedAt":"2026-11-22"`, `,"startedAt":"2026-11-22T19:48:18+02:00"`, `,"STARTEDAT":"2026-11-22"`,
	`,"category":"X"`, `[[[{}]]]`, `{}`, `[]`, ` `, "\t", "\x00", "\x1f", "\x7f", `\`, `\u12`, `\u00e9`, `"`, `,`, `:`, `{`, `}`, `[`,
	`]`, `tru`, `true`, `null`, `-`, `-0`, `1.`, `.5`, `1e`, `1e+`, "\xff", "\u2028",
}

// odd changes a line in some places: bytes, parts that go or come twice, and oddities.
func odd(random *rand.Rand, line []byte) []byte {
	data := bytes.Clone(line)
	for range 1 + random.IntN(3) {
		at := random.IntN(len(data))
		to := min(len(data), at+1+random.IntN(30))
		switch random.IntN(6) {
		case 0:
			data[at] = byte(random.IntN(256))
		case 1:
			data = slices.Delete(data, at, to)
		case 2:
			data = slices.Insert(data, at, bytes.Clone(data[at:to])...)
		default:
			if ends := ends(data); random.IntN(2) == 0 && len(ends) > 0 {
				at = ends[random.IntN(len(ends))]
			}
			data = slices.Insert(data, at, []byte(oddities[random.IntN(len(oddities))])...)
		}
		if len(data) == 0 {
			return []byte("{}")
		}
	}
	return data
}

// ends are the places before the ends of objects, where members can be added.
func ends(data []byte) (out []int) {
	for i, b := range data {
		if b == '}' {
			out = append(out, i)
		}
	}
	return out
}

// Lines that are changed in drawn places are read fast only if that comes to the same as reading them as any JSON.
func TestLinesReadFastAreReadTheSame(t *testing.T) {
	t.Parallel()
	line := commonLine(t)
	if !sameScans(t, line) {
		t.Fatalf("got the slow way, want the fast one: %s", line)
	}
	random := rand.New(rand.NewPCG(19, 1))
	fast := 0
	for range 60_000 {
		if sameScans(t, odd(random, line)) {
			fast++
		}
	}
	if fast < 1000 {
		t.Errorf("got %d of the changed lines read fast, want at least 1000", fast)
	}
}

// FuzzScan is the same for lines that the machine makes up.
func FuzzScan(f *testing.F) {
	f.Add(commonLine(f))
	for _, s := range append(hostile.Strings(), oddities...) {
		f.Add(fmt.Appendf(nil, `{"type":"trial","case":%q%s}`, s, s))
	}
	f.Fuzz(func(t *testing.T, data []byte) { sameScans(t, data) })
}
