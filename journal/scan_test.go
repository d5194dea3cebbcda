package journal

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/testing/expect"
	"github.com/evalrun/evalrun/internal/testing/hostile"
)

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

// sameScans checks that a line is refused if it is not JSON, and that what is read of it is what encoding/json reads. It
// reports whether the line is one of a trial.
func sameScans(t testing.TB, data []byte) bool {
	t.Helper()
	var scanned scannedTrial
	expect.OK(t, scanned.scan(commonLine(t))) // what the last line left must not show
	var facts Facts
	errs := []error{scanned.scan(data), nil}
	reader := factsReader{scanned: scanned}
	errs[1] = cmp.Or(errs[0], reader.fillScanned(&facts))
	if !json.Valid(data) {
		if slices.Contains(errs, nil) {
			t.Fatalf("got no error, want one for what is not JSON: %s", data)
		}
		return false
	}
	var want struct {
		eval.Trial
		Outcome    eval.Outcome
		SkipReason string
		Response   *eval.Response
		Usage      *eval.Usage
	}
	if json.Unmarshal(data, &want) != nil || bytes.Contains(data, []byte("Outcome")) { // the scans know one spelling
		return false
	}
	got, err := decodeTrial(data)
	if err != nil { // in another member
		return false
	}
	expect.OK(t, errs...)
	for _, same := range [][2]any{
		{got.Trial, want.Trial},
		{got.Response, want.Response},
		{got.Usage, want.Usage},
		{
			[]any{scanned.N, scanned.ID, scanned.Case, scanned.Model, scanned.Outcome, scanned.SkipReason},
			[]any{want.N, want.ID, want.Case, want.Model, string(want.Outcome), want.SkipReason},
		},
		{
			[]any{scanned.ID, facts.CaseID, facts.VarsHash, facts.Repeat},
			[]any{want.ID, want.CaseID, want.VarsHash, want.Repeat},
		},
	} {
		expect.Same(t, string(data), same[0], same[1], cmpopts.EquateEmpty())
	}
	if want.Response != nil {
		expect.Same(t, string(data), scanned.flags()&isBlocked != 0, want.Response.Blocked() != "")
		expect.Same(t, string(data), facts.Blocked, want.Response.Blocked())
	}
	return true
}

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
			if ends := objectEnds(data); random.IntN(2) == 0 && len(ends) > 0 {
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

// objectEnds are the places before the ends of objects, where members can be added.
func objectEnds(data []byte) (out []int) {
	for i, b := range data {
		if b == '}' {
			out = append(out, i)
		}
	}
	return out
}

func TestChangedLinesAreReadAsEncodingJSONReadsThem(t *testing.T) {
	t.Parallel()
	line := commonLine(t)
	random := rand.New(rand.NewPCG(19, 1))
	trials := 0
	for range 30_000 {
		if sameScans(t, odd(random, line)) {
			trials++
		}
	}
	if trials < 1000 {
		t.Errorf("got %d changed lines that are trials, want at least 1000", trials)
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
