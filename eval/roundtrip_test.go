package eval

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/evalrun/evalrun/internal/testing/expect"
	"github.com/evalrun/evalrun/internal/wirejson"
)

// secretText is in every text that filled makes when the caller wants it.
const secretText = "canary-content"

// filler gives every field a value of its own that JSON has to carry.
type filler struct {
	random *rand.Rand
	text   string // in every text
	depth  int
	within bool // a call of a program, which has no such calls itself
}

func (f *filler) fill(v reflect.Value) {
	if f.depth++; f.depth > 30 {
		f.depth--
		return
	}
	defer func() { f.depth-- }()
	switch v.Interface().(type) {
	case time.Time:
		v.Set(reflect.ValueOf(time.Unix(f.random.Int64N(2e9), f.random.Int64N(1e9)).UTC()))
	case Score:
		v.Set(reflect.ValueOf(someScore(f)))
	case Result:
		w := some[writtenResult](f)
		if f.random.IntN(2) == 0 {
			w.Outcome, w.SkipReason = Err, ""
		}
		r := w.result()
		r.Scores = []Score{someScore(f), someScore(f)}
		v.Set(reflect.ValueOf(r))
	case BaselineRule:
		for field, one := range v.Fields() {
			if field.Name != "Against" {
				f.fill(one)
			}
		}
		v.FieldByName("Against").Set(reflect.ValueOf(BaseRun{Name: f.text + "run", Path: f.text + "path", ID: f.text + "id"}))
	case Shard:
		v.Set(reflect.ValueOf(Shard{Index: 2, Of: 7}))
	case json.RawMessage:
		v.Set(reflect.ValueOf(json.RawMessage(`{"deep":[1.10,null,"` + f.text + `"]}`)))
	case partList:
		v.Set(reflect.ValueOf(partList{
			some[TextPart](f), some[ImagePart](f), some[DataPart](f), some[RawPart](f), some[ResultPart](f),
		}))
	case []ModelCall:
		if !f.within {
			f.within = true
			v.Set(reflect.ValueOf([]ModelCall{some[ModelCall](f)}))
			f.within = false
		}
	case Rendered:
		v.Set(reflect.ValueOf(Rendered{Payload: new(some[HTTP](f))}))
	case pieceList:
		v.Set(reflect.ValueOf(pieceList{some[TextPiece](f), some[ReasoningPiece](f), some[CallPiece](f), some[OtherPiece](f)}))
	case Extra:
		deep := json.RawMessage(`{"deep":[1.10,null,"` + f.text + `"]}`)
		v.Set(reflect.ValueOf(Extra{"unknown": deep, "other_field": json.RawMessage(`1e3`)}))
	default:
		f.parts(v)
		f.scalar(v)
	}
}

func some[T any](f *filler) T {
	var out T
	f.fill(reflect.ValueOf(&out).Elem())
	return out
}

// someScore is a score with a value, without one, or of a file that contradicts itself.
func someScore(f *filler) Score {
	w := some[writtenScore](f)
	switch f.random.IntN(3) {
	case 0:
		w.Unscored = ""
	case 1:
		w.Value, w.Passed = nil, false
	}
	return w.score()
}

func (f *filler) parts(v reflect.Value) {
	switch v.Kind() {
	case reflect.Struct:
		for i := range v.NumField() {
			if field := v.Type().Field(i); field.IsExported() && !strings.HasPrefix(field.Tag.Get("json"), "-") {
				f.fill(v.Field(i))
			}
		}
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		f.fill(v.Elem())
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 2, 2))
		for i := range v.Len() {
			f.fill(v.Index(i))
		}
	case reflect.Map:
		v.Set(reflect.MakeMap(v.Type()))
		for range 2 {
			key, value := reflect.New(v.Type().Key()).Elem(), reflect.New(v.Type().Elem()).Elem()
			f.fill(key)
			f.fill(value)
			v.SetMapIndex(key, value)
		}
	}
}

func (f *filler) scalar(v reflect.Value) {
	switch v.Kind() {
	case reflect.String:
		v.SetString(fmt.Sprintf("%s <&>\"\\\n\u2028é日本👍🏽 %d", f.text, f.random.IntN(1e6)))
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Int, reflect.Int64:
		v.SetInt(1 + f.random.Int64N(1<<40))
	case reflect.Uint64:
		v.SetUint(f.random.Uint64() | 1<<63)
	case reflect.Float64:
		v.SetFloat(f.random.Float64() + 1e-9)
	}
}

func filled[T any](seed uint64, text string) *T {
	f := filler{random: rand.New(rand.NewPCG(seed, 1)), text: text}
	out := new(T)
	f.fill(reflect.ValueOf(out).Elem())
	return out
}

// plainly is a value as the standard encoder can write it, without a method that calls the other one.
func plainly(v any) any {
	if r, ok := v.(*Result); ok {
		return r.written()
	}
	return v
}

// roundTrip writes every field of a noun and reads it back, by both encoders.
func roundTrip[T any](t *testing.T) {
	t.Helper()
	t.Run(fmt.Sprintf("%T", *new(T)), func(t *testing.T) {
		t.Parallel()
		for seed := range uint64(3) {
			want := filled[T](seed, "text")
			standard, err := wirejson.Marshal(plainly(want))
			expect.OK(t, err)
			fast, err := wirejson.Append(nil, want)
			expect.OK(t, err)
			expect.Same(t, "AppendJSON against Marshal", string(fast), string(standard))
			if strings.ContainsAny(string(fast), "\n\r") {
				t.Errorf("a record takes more than a line: %s, want one line", fast)
			}
			got := new(T)
			if err := json.Unmarshal(fast, got); err != nil {
				t.Fatalf("%v: %s", err, fast)
			}
			exported := cmp.Exporter(func(reflect.Type) bool { return true })
			expect.Same(t, string(fast), got, want, exported)
		}
	})
}

// What a run file, a baseline and a report record is read back as it was, each field of it.
func TestEveryRecordedNounReadsBack(t *testing.T) {
	t.Parallel()
	roundTrip[Trial](t)
	roundTrip[Quarantine](t)
	roundTrip[Score](t)
	roundTrip[Result](t)
	roundTrip[Counts](t)
	roundTrip[Run](t)
	roundTrip[RunSuite](t)
	roundTrip[RunService](t)
	roundTrip[RunPlan](t)
	roundTrip[RunTarget](t)
	roundTrip[ShardOf](t)
	roundTrip[End](t)
	roundTrip[Spent](t)
	roundTrip[Request](t)
	roundTrip[Response](t)
	roundTrip[Candidate](t)
	roundTrip[SafetyRating](t)
	roundTrip[PromptFeedback](t)
	roundTrip[GenerationConfig](t)
	roundTrip[SafetySetting](t)
	roundTrip[AnsweredCall](t)
	roundTrip[Usage](t)
	roundTrip[Timing](t)
	roundTrip[Error](t)
	roundTrip[Model](t)
	roundTrip[Judgement](t)
	roundTrip[Judged](t)
	roundTrip[GateConfig](t)
	roundTrip[BaselineRule](t)
	roundTrip[Options](t)
}

// The zero value of a noun is read back as itself too: nothing is made of what was never set.
func TestUnsetFieldsStayUnset(t *testing.T) {
	t.Parallel()
	for _, v := range []any{
		&Result{}, &Run{}, &End{}, &Response{}, &GenerationConfig{}, &Usage{}, &Error{}, &GateConfig{}, &Judgement{},
	} {
		line, err := wirejson.Append(nil, v)
		expect.OK(t, err)
		got := reflect.New(reflect.TypeOf(v).Elem()).Interface()
		if err := json.Unmarshal(line, got); err != nil {
			t.Fatalf("%s: %v, want no error", line, err)
		}
		expect.Same(t, string(line), got, v, cmp.Exporter(func(reflect.Type) bool { return true }))
	}
}

// A record of a later version has members that this one does not know: they break nothing.
func TestRecordsOfALaterVersionAreRead(t *testing.T) {
	t.Parallel()
	later := func(v any) []byte {
		var fields map[string]json.RawMessage
		line, err := wirejson.Append(nil, v)
		expect.OK(t, err)
		expect.OK(t, json.Unmarshal(line, &fields))
		fields["later"] = json.RawMessage(`{"a":[1,{"b":null}]}`)
		line, err = json.Marshal(fields)
		expect.OK(t, err)
		return line
	}
	var result Result
	var run Run
	var end End
	for _, test := range []struct{ want, got any }{
		{filled[Result](7, "text"), &result}, {filled[Run](7, "text"), &run}, {filled[End](7, "text"), &end},
	} {
		expect.OK(t, json.Unmarshal(later(test.want), test.got))
		expect.Same(t, fmt.Sprintf("%T", test.want), test.got, test.want, cmp.Exporter(func(reflect.Type) bool { return true }))
	}
}

// Fields of the service that evalrun does not know are sent and recorded digit by digit.
func TestUnknownFieldsOfAConfigAreKept(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		`{"temperature":0,"seed":12345678901234567890}`:       `{"temperature":0,"seed":12345678901234567890}`,
		`{"z":1.10,"a":{"y":[1,  2],"x":null},"topK":0}`:      `{"topK":0,"a":{"y":[1,2],"x":null},"z":1.10}`,
		`{"stopSequences":["\n"],"responseSchema":{"b":1e3}}`: `{"stopSequences":["\n"],"responseSchema":{"b":1e3}}`,
		`{}`: `{}`,
	} {
		var c GenerationConfig
		expect.OK(t, json.Unmarshal([]byte(text), &c))
		got, err := c.MarshalJSON()
		if diff := cmp.Diff(want, string(got)); diff != "" || err != nil {
			t.Errorf("%s: %v (-want +got):\n%s", text, err, diff)
		}
	}
}

// withContent is a result with content in every text of a request, an answer or a judge; what the suite says is there without.
func withContent() *Result {
	r := filled[Result](9, secretText)
	r.Trial = Trial{Case: "c", Suite: "s"}
	r.Metrics = map[string]float64{"closeness": 0.5}
	for i := range r.Scores {
		r.Scores[i].Scorer, r.Scores[i].Name = "contains", "closeness"
		r.Scores[i].Judged.Judge, r.Scores[i].Judged.Choice = "panel", "yes"
		r.Scores[i].Judged.Choices = []string{"yes"}
		r.Scores[i].Class = &Pair{Expected: "yes", Answer: "no"}
		for _, some := range [][]Ruling{r.Scores[i].Judged.Rulings, r.Scores[i].Judged.Panel} {
			for j := range some {
				some[j].Judge, some[j].Choice = "panel", "yes"
			}
		}
	}
	r.Scores[0].Grade, r.Scores[1].Grade = Unscored{secretText, secretText}, writtenGrade{value: 0.5, scored: true, why: secretText}
	for i := range r.Judgements {
		r.Judgements[i].ID, r.Judgements[i].Judge, r.Judgements[i].Model = "id", "panel", "m"
		r.Judgements[i].Withheld, r.Judgements[i].Error.Kind, r.Judgements[i].Usage.Source = nil, KindStatus, UsageService
	}
	r.Request.GenerationConfig, r.Request.SafetySettings = nil, nil // the suite's own words
	r.Request.ToolChoice, r.Request.ToolResults = nil, "hash"
	r.Request.Service, r.Request.Protocol = "", ""
	r.Request.App.Payload.(*HTTP).Method = "POST"
	r.TraceID, r.Workspace, r.Timing.Answer = "0af7", "workspaces/1", "id"
	for i := range r.Request.Contents {
		r.Request.Contents[i].Role = RoleUser
		isFile := func(p Part) bool { return p.File() != nil } // hashes and paths stay
		r.Request.Contents[i].Parts = slices.DeleteFunc(r.Request.Contents[i].Parts, isFile)
	}
	r.Usage.Source, r.Err().Kind = UsageService, KindStatus
	r.Ending = writtenEnding{outcome: Fail, err: r.Err()}
	made := [][]ModelCall{r.Response.Calls}
	for i := range r.Calls {
		r.Calls[i].Usage.Source, r.Calls[i].Timing.Answer = UsageService, "id"
		made = append(made, r.Calls[i].Calls)
	}
	for _, of := range made {
		of[0].Usage.Source, of[0].Timing.Answer, of[0].Error.Kind, of[0].Service = UsageService, "id", KindStatus, "s"
	}
	return r
}

// With --no-content nothing that was sent, came back or was said of an answer stays in a record; hashes and lengths do.
func TestWithheldRecordsHoldNoContent(t *testing.T) {
	t.Parallel()
	r := withContent()
	before, err := wirejson.Marshal(r)
	expect.OK(t, err)
	scores, request := slices.Clone(r.Scores), r.Request
	kept := *r
	kept.Withhold()
	text, err := wirejson.Marshal(&kept)
	expect.OK(t, err)
	if i := strings.Index(string(text), secretText); i >= 0 {
		t.Errorf("got content: %s, want none", text[max(0, i-80):min(len(text), i+80)])
	}
	for i, p := range kept.Request.Contents[0].Parts {
		if got, ok := p.(TextPart); !ok || got.Withheld == nil || got.Withheld.Bytes == 0 || len(got.Withheld.SHA256) != 64 {
			t.Errorf("of %T %+v is kept, want its hash and length", r.Request.Contents[0].Parts[i], p)
		}
	}
	raw := r.Request.Contents[0].Parts[1].(RawPart)
	expect.Same(t, "the length of a withheld part", kept.Request.Contents[0].Parts[1].(TextPart).Withheld.Bytes, len(raw.Raw))
	after, err := wirejson.Marshal(r)
	expect.OK(t, err)
	if diff := cmp.Diff(string(before), string(after)); diff != "" || !reflect.DeepEqual(scores, r.Scores) || request != r.Request {
		t.Errorf("the record that others hold (-want, as before, +after):\n%s", diff)
	}
}

func TestAQuarantineHoldsToTheEndOfItsDay(t *testing.T) {
	t.Parallel()
	q := &Quarantine{Until: "2027-01-31"}
	for at, want := range map[string]bool{
		"2027-01-30T23:59:59Z": true, "2027-01-31T00:00:00Z": true, "2027-01-31T23:59:59Z": true, "2027-02-01T00:00:00Z": false, "": false,
	} {
		expect.Same(t, fmt.Sprintf("at %q", at), q.Holds(at), want)
	}
	if (*Quarantine)(nil).Holds("2020-01-01T00:00:00Z") {
		t.Error("a case without a quarantine is in one, want it in none")
	}
}
