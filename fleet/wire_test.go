package fleet

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/testing/expect"
	"github.com/evalrun/evalrun/internal/testing/hostile"
)

// carried encodes a message and reads it into another one.
func carried(t testing.TB, message, into any) {
	t.Helper()
	text, err := encode(message)
	expect.OK(t, err)
	expect.OK(t, json.Unmarshal(text, into))
}

func TestCallsArriveAsTheyWereSent(t *testing.T) {
	t.Parallel()
	vars, err := eval.ParseDict([]byte(`{"n":1.10,"list":[1,null,"x"],"s":"שלום <b>"}`))
	expect.OK(t, err)
	sent := &eval.Call{
		Request: eval.Request{
			System: "be <brief> & kind", Contents: []eval.Content{{Role: "user", Parts: []eval.Part{
				eval.ImagePart{Image: &eval.Image{Path: "a.png", MIMEType: "image/png", SHA256: "aa", Bytes: 3, Data: []byte{0, 255, '\n'}}},
				eval.TextPart{Text: "between"},
				eval.DataPart{Data: &eval.Image{Path: "b.pdf", MIMEType: "application/pdf", Bytes: 0}},
			}}, {Role: "user", Parts: []eval.Part{eval.ImagePart{Image: &eval.Image{Path: "c.png", Data: []byte("last")}}}}},
		},
		TrialID: "t", To: &eval.Called{Name: "app"}, TrialName: "s", Judge: "j", Vars: vars, PromptTokens: 1 << 40, OutputLimit: 7,
		Timing: eval.Timing{Attempts: 3},
	}
	sent.Model, sent.APIVersion, sent.Service = "svc-pro", "v1", "other"
	m, err := newCall(methodGenerate, sent)
	expect.OK(t, err)
	var got call
	carried(t, m, &got)
	back, err := got.of()
	expect.OK(t, err)
	expect.Same(t, "call", back, sent, cmpopts.EquateEmpty())
	expect.Same(t, "variables", back.Vars.String(), vars.String())
}

func TestTextsOfCallsAndAnswersSurviveTheWay(t *testing.T) {
	t.Parallel()
	for _, text := range hostile.Strings() {
		want := strings.ToValidUTF8(text, "\ufffd")
		m, err := newCall(methodCount, &eval.Call{Request: eval.Request{Contents: []eval.Content{{Parts: []eval.Part{
			eval.TextPart{Text: text},
		}}}}})
		expect.OK(t, err)
		var c call
		carried(t, m, &c)
		back, err := c.of()
		expect.OK(t, err)
		if got := back.Contents[0].Parts[0].(eval.TextPart).Text; got != want && strings.ToValidUTF8(text, "") == text {
			t.Errorf("prompt: got %q, want %q", got, want)
		}
		var a wireAnswer
		carried(t, answered(&eval.Response{Candidates: []eval.Candidate{{Text: text}}}, eval.Timing{}, nil), &a)
		if got := a.response().Text(); got != want && strings.ToValidUTF8(text, "") == text {
			t.Errorf("answer: got %q, want %q", got, want)
		}
	}
}

// What decides about retries, costs and other workers is in fields that run files leave out: it has to travel all the same.
func TestErrorsArriveWithAllThatARunDecidesBy(t *testing.T) {
	t.Parallel()
	usage := &eval.Usage{PromptTokens: 3, OutputTokens: 2, TotalTokens: 5, Source: eval.UsageService}
	for name, sent := range map[string]*eval.Error{
		"plain":     {Kind: eval.KindStatus, Status: 503, Code: "UNAVAILABLE", Message: "שלום <later>"},
		"retry":     {Kind: eval.KindStatus, Status: 429, RetryAfter: 90 * time.Second},
		"permanent": {Kind: eval.KindTransport, Retry: eval.RetryNever},
		"login":     {Kind: eval.KindAuth, Origin: eval.FromLogin, Retry: eval.RetryWithLogin},
		"unsent":    {Kind: eval.KindTransport, Unsent: true},
		"lost":      {Kind: eval.KindTransport, Origin: eval.FromProcess},
		"an answer": {Kind: eval.KindMalformed, Answer: &eval.Response{Candidates: []eval.Candidate{{Text: "half"}}, Usage: usage}},
	} {
		var a wireAnswer
		carried(t, answered(nil, eval.Timing{LatencyMs: 12}, sent), &a)
		expect.Same[any](t, name, a.Error.err(), sent)
		expect.Same(t, "latency of "+name, a.Timing.LatencyMs, float64(12))
	}
	if err := failed(nil).err(); err != nil {
		t.Errorf("no error: got %v, want nil", err)
	}
}

func TestUsageOfAnAnswerTravels(t *testing.T) {
	t.Parallel()
	sent := &eval.Response{
		Candidates: []eval.Candidate{{Text: "x", FinishReason: "STOP"}},
		Usage:      &eval.Usage{PromptTokens: 3, OutputTokens: 2, TotalTokens: 5, Source: eval.UsageService},
	}
	var a wireAnswer
	carried(t, answered(sent, eval.Timing{}, nil), &a)
	expect.Same(t, "answer", a.response(), sent)
}

// made is an executor that does what a test says.
type made struct {
	generate func(*eval.Call) (*eval.Response, error)
}

func (m made) Enter(ctx context.Context, _ <-chan struct{}) (context.Context, func()) {
	return ctx, func() {}
}

func (m made) Generate(_ context.Context, c *eval.Call) (*eval.Response, error) {
	c.Timing.LatencyMs = 5
	return m.generate(c)
}
func (m made) CountTokens(context.Context, *eval.Call) (int, error) { return 11, nil }

func (m made) Embed(_ context.Context, e *eval.EmbedCall) (out [][]float64, err error) {
	for i := range e.Texts {
		out = append(out, []float64{float64(i), 0.1})
	}
	return out, nil
}

func (m made) Model(_ context.Context, service, version, id string) (*eval.Model, error) {
	return &eval.Model{Name: service + "/" + version + "/" + id}, nil
}

func (m made) Models(context.Context, string, string) ([]eval.Model, error) {
	return nil, &eval.Error{Kind: eval.KindStatus, Status: 404, Message: "none"}
}
func (m made) Emulated() bool { return true }

// worker is one that is not connected.
func worker(generate func(*eval.Call) (*eval.Response, error)) *Worker {
	return &Worker{creds: &Creds{Fleet: "f"}, shelf: newShelf(), calls: map[uint64]context.CancelFunc{}, execute: made{generate}}
}

func echo(c *eval.Call) (*eval.Response, error) {
	return &eval.Response{Candidates: []eval.Candidate{{Text: "echo " + c.Contents[0].Parts[0].(eval.TextPart).Text}}}, nil
}

func TestAWorkerMakesTheAttemptThatAMessageWants(t *testing.T) {
	t.Parallel()
	w := worker(echo)
	prompt := &eval.Request{Contents: []eval.Content{{Parts: []eval.Part{eval.TextPart{Text: "hi"}}}}}
	text := func(a *wireAnswer) string { return a.response().Text() }
	tokens := func(a *wireAnswer) string { return fmt.Sprint(a.Tokens) }
	vectors := func(a *wireAnswer) string { return fmt.Sprint(a.Vectors) }
	for name, test := range map[string]struct {
		call call
		read func(a *wireAnswer) string
		want string
	}{
		"generate": {call{Method: methodGenerate, Request: prompt}, text, "echo hi"},
		"count":    {call{Method: methodCount, Request: prompt}, tokens, "11"},
		"embed":    {call{Method: methodEmbed, Texts: []string{"a", "b"}}, vectors, "[[0 0.1] [1 0.1]]"},
		"model": {
			call{Method: methodModel, Service: "s", APIVersion: "v", Model: "m"}, func(a *wireAnswer) string { return a.Model.Name }, "s/v/m",
		},
		"models": {call{Method: methodModels}, func(a *wireAnswer) string { return fmt.Sprint(a.Error.err()) }, "404: none"},
	} {
		encoded, err := encode(test.call)
		expect.OK(t, err)
		message, _ := w.shelf.pack(encoded)
		a := w.call(t.Context(), message)
		expect.Same(t, name, test.read(a), test.want)
		expect.Same(t, "emulated", a.Emulated, true)
	}
	expect.Same(t, "calls in progress", len(w.calls), 0)
}

func TestAWorkerAnswersMessagesThatItCannotRead(t *testing.T) {
	t.Parallel()
	w := worker(echo)
	for message, want := range map[string]string{
		"":                                   "a message that is none of a fleet",
		"=":                                  "unexpected end of JSON input",
		"={":                                 "unexpected end of JSON input",
		"=[]":                                "cannot unmarshal array",
		"x":                                  "a message that is none of a fleet",
		"#{":                                 "a message that is none of a fleet",
		`#{"name":"1","size":-1}`:            "a message that is none of a fleet",
		`#{"name":"1","size":1099511627776}`: "a message that is none of a fleet",
		`={"method":"dream"}`:                `a worker knows no method "dream"`,
		`={"method":"generate","new":1}`:     "this is a bug in evalrun, not in what you did",
		`={"method":"generate","vars":[1]}`:  "",
	} {
		a := w.call(t.Context(), []byte(message))
		if a.Error == nil {
			t.Errorf("%q: got the answer %+v, want an error", message, a)
			continue
		}
		expect.Contains(t, fmt.Sprintf("error of %q", message), a.Error.Message, want)
	}
	expect.Same(t, "calls in progress", len(w.calls), 0)
}

func TestAPanicCostsACallAndNotTheWorker(t *testing.T) {
	t.Parallel()
	w := worker(func(*eval.Call) (*eval.Response, error) { panic("out of range") })
	a := w.call(t.Context(), []byte(`={"method":"generate"}`))
	e := eval.AsError(a.Error.err())
	expect.Same(t, "message", e.Message, "this is a bug in evalrun, not in what you did: out of range")
	expect.Same(t, "permanent", e.Retry == eval.RetryNever, true)
	expect.Same(t, "counts", w.call(t.Context(), []byte(`={"method":"count"}`)).Tokens, 11)
}

func TestPartsOfAnswersAreCountedOutsideOfTexts(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]int{
		``: 0, `{}`: 1, `{"models":[{},{}]}`: 4, `"[{"`: 0, `{"a":"\"[{"}`: 1, `{"a":"\\","b":[]}`: 2, `[[`: 2, `"[\`: 0,
	} {
		expect.Same(t, "parts of "+text, parts([]byte(text)), want)
	}
}
