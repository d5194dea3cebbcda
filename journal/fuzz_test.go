package journal

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/testing/expect"
	"github.com/evalrun/evalrun/internal/testing/hostile"
	"github.com/evalrun/evalrun/internal/wirejson"
)

func sealed(body []byte) []byte {
	body = bytes.Clone(body)
	return fmt.Appendf(body, `,"crc":"%08x"}`, checksum(body))
}

// FuzzLine checks that what frames a line is read as encoding/json reads it, and that its content is the same JSON
// without the frame.
func FuzzLine(f *testing.F) {
	for _, s := range hostile.Strings() {
		f.Add([]byte(`{"text":`+string(wirejson.AppendString(nil, s))+`}`), "trial", 7)
	}
	for _, s := range []string{`{"a":{"b":1,"seq":5}}`, `{"a":"\",\"seq\":3"}`, `{"a":[{"type":"end"}],"n":0}`, `{"x":{"crc":"00000000"}}`} {
		f.Add([]byte(s), "end", 0)
	}
	f.Fuzz(func(t *testing.T, object []byte, kind string, seq int) {
		if seq < 0 || !isRecord(object) {
			return
		}
		if kind != "run" && kind != "end" && kind != "resume" {
			kind = "trial"
		}
		data := sealed(fmt.Appendf(append([]byte(`{"type":"`+kind+`",`), object[1:len(object)-1]...), `,"seq":%d`, seq))
		var want line
		expect.OK(t, json.Unmarshal(data, &want))
		got, err := check(data)
		expect.OK(t, err)
		expect.Same(t, "the line", got, want)
		expect.Same(t, "the frame", got, line{kind, &seq})
		var inner []byte
		if kind == "trial" {
			inner = object
		}
		expect.Same(t, "the content", content(data), inner)
		data[len(data)/2] ^= 1
		if _, err := check(data); err == nil {
			t.Error("a changed line passes, want an error")
		}
	})
}

// isRecord reports whether data may be a record: an object on one line, without members that a frame has.
func isRecord(data []byte) bool {
	var members map[string]json.RawMessage
	if json.Unmarshal(data, &members) != nil || len(members) == 0 || bytes.Contains(data, []byte("\n")) {
		return false
	}
	for name := range members {
		if strings.EqualFold(name, "type") || strings.EqualFold(name, "seq") {
			return false
		}
	}
	return data[0] == '{' && data[len(data)-1] == '}'
}

// FuzzForeign checks that a file of lines with any members, but right checksums, is read or refused. A trial's line
// means the same to all that read it, and reading one trial or all makes no difference.
func FuzzForeign(f *testing.F) {
	const run = `{"type":"run","version":1,"seq":0`
	for _, s := range []string{
		`{"type":"trial","n":0,"id":"a","case":"c","outcome":"pass","seq":1`, `{"type":"trial","n":0,"seq":1,"id":"a","case":"c"`,
		`{"seq":1,"type":"trial","id":"a"`,
		`{"type":"trial","id":"a","response":{"extra":{"a":1,"seq":2}},"seq":1`,
		`{"type":"trial","seq":1,"response":{"extra":{"a":1,"seq":2}}`, `{"type":"end","reason":"x","spent":{"calls":1},"seq":1`,
		`{"type":"resume","dropped":["a"],"seq":1`,
		`{"type":"trial","scores":[{"name":"m","value":1e308}],"usage":{"totalTokens":-1},"timing":{"latencyMs":1e300},"seq":1`,
		`{"type":"trial","type":"end","seq":+1`,
		`{"type":"trial","id":"a","caseId":"b","quarantine":{"until":"2999-01-01"},` +
			`"response":{"candidates":[{"text":"x","finishReason":"SAFETY"}]},"seq":1`,
		`{"type":"stop","suite":"","arm":"","units":1,"extra":["a"],"seq":1` + "\n" +
			`{"type":"trial","id":"a","response":{"promptFeedback":{"blockReason":"OTHER"}},"seq":2`,
	} {
		f.Add([]byte(run + "\n" + s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		var file []byte
		for _, body := range bytes.Split(data, []byte("\n")) {
			file = append(append(file, sealed(body)...), '\n')
		}
		d, err := open(t, file)
		if err != nil {
			return
		}
		var all []*eval.Result
		for r, err := range d.Trials() {
			if err != nil {
				return // a trial of another shape
			}
			all = append(all, r)
		}
		sameLines(t, d, all)
		if d.Summary.Counts.Total() > len(all) {
			t.Errorf("got %+[2]v, want at most %[1]d trials", len(all), d.Summary.Counts)
		}
		if spelledOnce(data) {
			sameFacts(t, d, all)
			expect.OK(t, d.Export(io.Discard))
		}
	})
}

func sameLines(t *testing.T, d *Document, all []*eval.Result) {
	t.Helper()
	i := 0
	for text, err := range d.Lines() {
		var r eval.Result
		expect.OK(t, err, json.Unmarshal(text, &r))
		expect.Same(t, string(text), &r, all[i])
		i++
	}
	expect.Same(t, "the number of lines", i, len(all))
}

// spelledOnce reports whether the keys that Facts reads are spelled as evalrun spells them, and are in each line once.
func spelledOnce(data []byte) bool {
	for _, key := range keysOfFacts.FindAll(data, -1) {
		if name := string(key); !slices.Contains(spelled, name) || bytes.Count(data, key) > bytes.Count(data, []byte("\n"))+1 {
			return false
		}
	}
	return true
}

// sameFacts wants the facts of a document to be those of its trials.
func sameFacts(t *testing.T, d *Document, all []*eval.Result) {
	t.Helper()
	i := 0
	for f, err := range d.Facts() {
		expect.OK(t, err)
		blocked := all[i].Response != nil && all[i].Response.Blocked() != ""
		if f.ID != all[i].ID || f.CaseID != all[i].CaseID || (f.Blocked != "") != blocked {
			t.Errorf("got %+v, want the facts of %+v", f, all[i])
		}
		i++
	}
}

// keysOfFacts are the keys that Facts reads, in whatever spelling the standard decoder takes, and how they are spelled.
var (
	keysOfFacts = regexp.MustCompile(`(?i)"(id|caseId|response|candidates|finishReason|promptFeedback|blockReason)"`)
	spelled     = []string{`"id"`, `"caseId"`, `"response"`, `"candidates"`, `"finishReason"`, `"promptFeedback"`, `"blockReason"`}
)

// FuzzRoundTrip checks that a run of whatever texts is read back as it was written, nothing of it damaged.
func FuzzRoundTrip(f *testing.F) {
	for group := range slices.Chunk(hostile.Strings(), 30) { // a file each
		f.Add(strings.Join(group, " "), group[0])
	}
	f.Fuzz(func(t *testing.T, a, b string) {
		var both eval.Score // a value, and why there is none: only a file can say that
		expect.OK(t, json.Unmarshal(append(wirejson.AppendString([]byte(`{"value":1,"unscored":`), b), '}'), &both))
		says, err := wirejson.Marshal(map[string]any{
			"outcome": eval.Err, "error": &eval.Error{Kind: eval.ErrorKind(a), Code: b, Message: a}, "skipReason": b,
		})
		expect.OK(t, err)
		var ended eval.Result // an error, and why it was skipped
		expect.OK(t, json.Unmarshal(says, &ended))
		in := &eval.Result{
			Trial: eval.Trial{
				ID:      "0123456789abcdef",
				CaseID:  a,
				Suite:   a,
				Case:    b,
				Arm:     a + "/" + b,
				Target:  a,
				Prompt:  b,
				Model:   a,
				Repeat:  1,
				Tags:    []string{a, b},
				Cluster: b,
			},
			Ending: ended.Ending, Scores: []eval.Score{
				{Scorer: a, Name: b, Grade: eval.Graded{Value: 1}, Reason: a, Diff: a},
				{Scorer: a, Name: b, Grade: eval.Unscored{Why: b}},
				both,
			},
			Request: &eval.Request{Contents: []eval.Content{{Role: a, Parts: []eval.Part{
				eval.TextPart{Text: b}, eval.ImagePart{Image: &eval.Image{Path: a, MIMEType: b}},
			}}}},
			Response: &eval.Response{
				Candidates:   []eval.Candidate{{Text: a, FinishReason: b, SafetyRatings: []eval.SafetyRating{{Category: a, Probability: b}}}},
				ModelVersion: a,
			},
		}
		in.Response.Extra = map[string]json.RawMessage{a: wirejson.AppendString(nil, b), "seq": json.RawMessage("9")}
		data := write(t, t.TempDir(), true, in, result(1, eval.Pass))
		d, err := open(t, data)
		if err != nil || len(d.Damaged) > 0 || d.End == nil || bytes.Count(data, []byte("\n")) != 4 {
			t.Fatalf("got %v, want 4 whole lines\n%s", err, data)
		}
		plain, err := wirejson.Marshal(in)
		expect.OK(t, err)
		var want eval.Result // as JSON can hold it
		expect.OK(t, json.Unmarshal(plain, &want))
		out, err := d.Trial(0)
		if err != nil || !reflect.DeepEqual(out, &want) {
			t.Errorf("%v (-want +got): %s", err, cmp.Diff(&want, out))
		}
		for text, err := range d.Lines() {
			expect.OK(t, err)
			expect.Same(t, "text", string(text), string(plain))
			break
		}
		if k := d.Indexed(0); k.ID != in.ID || k.Suite != want.Suite || k.Case != want.Case || k.Arm != want.Arm {
			t.Errorf("%+v, want the id and the names of the result", k)
		}
	})
}
