package journal

import (
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/testing/expect"
)

func TestPendingIsReadAgainAndPaidOnce(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	run := header
	w, err := Create(dir, &run, nil)
	expect.OK(t, err)
	began := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	timing := &eval.Timing{StartedAt: began, Attempts: 2}
	usage := &eval.Usage{PromptTokens: 3, OutputTokens: 4, TotalTokens: 7, Source: eval.UsageService}
	answer := &eval.Response{Candidates: []eval.Candidate{{Text: "kept"}}}
	reply := &eval.Judgement{
		ID:       "q",
		Judge:    "j",
		Model:    "m",
		Reply:    "fine",
		Attempts: 1,
		Usage:    &eval.Usage{TotalTokens: 10, OutputTokens: 10},
	}
	second, call := eval.Trial{ID: "id-1", N: 1, Model: "m"}, eval.AnsweredCall{Response: *answer, Usage: *usage, Timing: *timing}
	expect.OK(
		t,
		w.KeptAnswer(&eval.Result{Trial: eval.Trial{ID: "id-0", Model: "m"}, Response: answer, Usage: usage, Timing: timing}),
		w.KeptJudgement("id-0", reply),
		w.KeptCall(&eval.Result{Trial: second, Calls: []eval.AnsweredCall{call}}),
		w.KeptCall(&eval.Result{Trial: second, Calls: []eval.AnsweredCall{call, call}}),
	)
	checkPending(t, dir, 2+1+2+2, 7+10+7+7, "id-0", "id-1")

	settled := result(0, eval.Pass)
	settled.Response, settled.Timing, settled.Usage = answer, timing, usage
	noted := *reply
	noted.Noted = true
	settled.Judgements = []eval.Judgement{noted}
	expect.OK(t, w.Append(settled))
	checkPending(t, dir, 2+1+2+2, 7+10+7+7, "id-1")

	// A chat that broke off and continues later costs what its turns cost beyond the ones that were counted.
	chat := result(1, eval.Err)
	chat.Calls = []eval.AnsweredCall{{Response: *answer}, {Response: *answer}}
	chat.Timing, chat.Usage = &eval.Timing{StartedAt: began, Attempts: 4}, &eval.Usage{TotalTokens: 14, PromptTokens: 6, OutputTokens: 8}
	whole := result(1, eval.Pass)
	whole.Timing, whole.Usage = &eval.Timing{StartedAt: began, Attempts: 5}, &eval.Usage{TotalTokens: 20, PromptTokens: 9, OutputTokens: 11}
	expect.OK(t, w.Append(chat), w.Append(whole))
	checkPending(t, dir, 2+1+5, 7+10+20)
	expect.OK(t, w.Close())
	data, err := os.ReadFile(filepath.Join(dir, FileName))
	expect.OK(t, err)
	for i := len(data) - 1; i > len(data)-400; i-- { // torn anywhere, it can be read
		expect.OK(t, os.WriteFile(filepath.Join(dir, FileName), data[:i], 0o600))
		d, err := Open(dir)
		expect.OK(t, err)
		_ = d.Close()
	}
}

// A call whose results came from programs has two lines, and costs what it cost once.
func TestPendingStepsArePaidOnce(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	run := header
	w, err := Create(dir, &run, nil)
	expect.OK(t, err)
	called := &eval.Response{Candidates: []eval.Candidate{{FinishReason: "TOOL_CALLS", Raw: json.RawMessage(`{"a":1}`)}}}
	results := []eval.CallResult{{ID: "1", Name: "f", Text: "done"}}
	began := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	step := func(turn int, results []eval.CallResult) *eval.Result {
		calls := make([]eval.AnsweredCall, turn)
		calls[turn-1] = eval.AnsweredCall{
			Response: *called, Results: results,
			Usage:  eval.Usage{TotalTokens: 7, Source: eval.UsageService},
			Timing: eval.Timing{StartedAt: began.Add(time.Duration(turn) * time.Second), Attempts: 2},
		}
		return &eval.Result{Trial: eval.Trial{ID: "id-1", N: 1, Model: "m"}, Calls: calls}
	}
	for i, one := range []struct {
		step         *eval.Result
		turns, calls int
	}{
		{step(1, nil), 1, 2}, {step(1, results), 1, 2}, {step(2, nil), 2, 4}, {step(2, results), 2, 4}, {step(3, results), 3, 6},
	} {
		expect.OK(t, w.KeptCall(one.step))
		d, err := Open(dir)
		expect.OK(t, err)
		p := d.Pending("id-1")
		expect.Same(t, "calls", d.Spent.Attempts, one.calls)
		expect.Same(t, "tokens", d.Spent.Tokens, one.calls/2*7)
		expect.Same(t, "turns", len(p.Calls), one.turns)
		last := p.Calls[len(p.Calls)-1]
		expect.Same(t, fmt.Sprintf("results after line %d", i+1), last.Results, one.step.Calls[len(p.Calls)-1].Results)
		expect.Same(t, "the answer as it came", string(last.Candidates[0].Raw), `{"a":1}`)
		_ = d.Close()
	}
	expect.OK(t, w.Close())
}

// checkPending wants what the run in a directory has spent, and which of the two trials of TestPendingIsReadAgainAndPaidOnce are pending.
func checkPending(t *testing.T, dir string, calls, tokens int, want ...string) {
	t.Helper()
	d, err := Open(dir)
	expect.OK(t, err)
	defer d.Close()
	if d.Spent.Attempts != calls || d.Spent.Tokens != tokens {
		t.Errorf("spent %+v, want %d calls and %d tokens", d.Spent, calls, tokens)
	}
	var got []string
	if p := d.Pending("id-0"); p != nil {
		got = append(got, "id-0")
		if p.Response.Text() != "kept" || len(p.Judgements) != 1 || p.Judgements[0].Reply != "fine" || !p.Judgements[0].Noted {
			t.Errorf("id-0: %+v, want the reply and its judgement", p)
		}
	}
	if p := d.Pending("id-1"); p != nil {
		got = append(got, "id-1")
		if len(p.Calls) != 2 || p.Response != nil {
			t.Errorf("id-1: %+v, want 2 turns and no response", p)
		}
	}
	expect.Same(t, "pending trials", got, want)
}

// Calls that were booked tell what was spent, with what was under way when the process died.
func TestBookedCallsCountAsSpent(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	run := header
	w, err := Create(dir, &run, nil)
	expect.OK(t, err)
	at := time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
	for i := range 3 {
		b := eval.Booking{
			At:     at.Add(time.Duration(i) * 40 * time.Second).Format(time.RFC3339Nano),
			Model:  "m",
			Tokens: 100,
			Spent:  eval.Spent{Attempts: i + 1, Tokens: 100 * (i + 1)},
		}
		expect.OK(t, w.Booked(b))
	}
	expect.OK(t, w.Append(result(0, eval.Pass)))
	expect.OK(t, w.Close())
	d, err := Open(dir)
	expect.OK(t, err)
	defer d.Close()
	if d.Spent.Attempts != 3 || d.Spent.Tokens != 300 || !d.Booked() || len(d.LastCalls()) != 2 {
		t.Errorf("spent %+v, booked %t, %d calls of the last minute, want 3 calls of 300 tokens that are booked, 2 of the last minute",
			d.Spent, d.Booked(), len(d.LastCalls()))
	}
}

// A whole answer and a call of a trial that continues have lines of the same type: only a call has a number.
func TestLinesOfUnsettledTrials(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	run := header
	w, err := Create(dir, &run, nil)
	expect.OK(t, err)
	r := &eval.Result{
		Trial:    eval.Trial{ID: "id", N: 1, Case: "c", Model: "m"},
		Request:  &eval.Request{},
		Response: &eval.Response{Candidates: []eval.Candidate{{Text: "fine"}}},
		Calls: []eval.AnsweredCall{{
			Results: []eval.CallResult{{ID: "1", Name: "f", Text: "done"}},
			Usage:   eval.Usage{TotalTokens: 3, Source: eval.UsageService},
			Timing:  eval.Timing{StartedAt: time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC), Attempts: 1},
		}},
		Usage:   &eval.Usage{TotalTokens: 3, Source: eval.UsageService},
		Timing:  &eval.Timing{Attempts: 2},
		TraceID: "ab",
	}
	expect.OK(t, w.KeptAnswer(r), w.KeptCall(r), w.Close())
	data, err := os.ReadFile(filepath.Join(dir, FileName))
	expect.OK(t, err)
	lines := strings.Split(strings.TrimSpace(string(data)), "\n")
	expect.Same(t, "the lines", lines[1:], []string{
		`{"type":"answer","id":"id","n":1,"model":"m","request":{"contents":null},"response":{"candidates":[{"text":"fi` +
			`ne"}]},"turns":[{"candidates":null,"results":[{"id":"1","name":"f","text":"done"}],"usage":{"promptTokens":0,"` +
			`outputTokens":0,"totalTokens":3,"source":"service"},"timing":{"startedAt":"2026-01-01T00:00:00Z","queuedMs":0,` +
			`"latencyMs":0,"attempts":1}}],"usage":{"promptTokens":0,"outputTokens":0,"totalTokens":3,"source":"service"},"` +
			`timing":{"startedAt":"0001-01-01T00:00:00Z","queuedMs":0,"latencyMs":0,"attempts":2},"traceId":"ab","seq":1,"c` +
			`rc":"d5872a96"}`,
		`{"type":"answer","id":"id","n":1,"model":"m","turn":1,"request":{"contents":null},"response":{"candidates":nul` +
			`l},"results":[{"id":"1","name":"f","text":"done"}],"usage":{"promptTokens":0,"outputTokens":0,"totalTokens":3,` +
			`"source":"service"},"timing":{"startedAt":"2026-01-01T00:00:00Z","queuedMs":0,"latencyMs":0,"attempts":1},"seq` +
			`":2,"crc":"bbcac57f"}`,
	})
}

// What sessions without a price list have spent is priced call by call when a later one has a list: in single calls, in chats
// that are written turn by turn, and in what is run again after an error.
func TestEarlierCallsAreBilledOneByOne(t *testing.T) {
	t.Parallel()
	call := func(prompt int, batch bool) eval.Usage {
		u := eval.Usage{PromptTokens: prompt, OutputTokens: 100, TotalTokens: prompt + 100, Source: eval.UsageService}
		return *u.OfCall(batch)
	}
	price := eval.Price{Input: 1, Output: 4, Above: &eval.LongPrice{Tokens: 200_000, Price: eval.Price{Input: 2, Output: 6}}}
	list := eval.PriceList{Batch: new(0.5), Models: map[string]eval.Price{"m": price}}
	calls := []eval.Usage{call(250_000, false), call(150_000, false), call(250_000, true), call(1000, true)}
	want := 0.0
	for i := range calls {
		want += list.Of("m", &calls[i])
	}

	run := header
	w, err := Create(t.TempDir(), &run, nil)
	expect.OK(t, err)
	single, chat := result(0, eval.Pass), result(1, eval.Err)
	single.Model, single.Usage = "m", &calls[0]
	chat.Model = "m"
	chat.Usage, chat.Timing = &eval.Usage{}, &eval.Timing{StartedAt: time.Unix(5, 0).UTC()}
	for i := range calls[1:] {
		u := &calls[1+i]
		chat.Calls = append(chat.Calls, eval.AnsweredCall{Usage: *u, Timing: eval.Timing{StartedAt: time.Unix(int64(5+i), 0).UTC(), Attempts: 1}})
		chat.Usage.Add(u)
		if i < 2 {
			expect.OK(t, w.KeptCall(chat))
		}
	}
	expect.OK(t, w.Append(single), w.Append(chat), w.Append(chat)) // the chat was scored again: nothing new was paid
	d, err := Open(w.path)
	expect.OK(t, err)
	u := d.Unpriced["m"]
	if got := list.Of("m", &u); math.Abs(got-want) > 1e-9 {
		t.Errorf("%+v: got %g, want %g", u, got, want)
	}
	expect.OK(t, w.Close())
}
