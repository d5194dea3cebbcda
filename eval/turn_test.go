package eval

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/evalrun/evalrun/internal/testing/expect"
	"github.com/evalrun/evalrun/internal/wirejson"
)

func replies(texts ...string) []AnsweredCall {
	var out []AnsweredCall
	for _, text := range texts {
		out = append(out, AnsweredCall{Response: Response{Candidates: []Candidate{{Text: text}}}})
	}
	return out
}

func TestAfterAddsTheTurnsToTheRequest(t *testing.T) {
	t.Parallel()
	r := Request{Model: "m", Live: true}
	for _, text := range []string{"a", "b", "c"} {
		r.Contents = append(r.Contents, Content{Role: RoleUser, Parts: []Part{TextPart{Text: text}}})
	}
	for want, turns := range map[string][]AnsweredCall{
		"user:a":                               nil,
		"user:a model:1 user:b":                replies("1"),
		"user:a model:1 user:b model:2 user:c": replies("1", "2"),
		"user:a model:1 user:b model: user:c":  replies("1", "", "more than there are turns"),
	} {
		var got []string
		next := r.After(turns)
		for _, c := range next.Contents {
			got = append(got, c.Role+":"+c.Parts[0].(TextPart).Text)
		}
		if strings.Join(got, " ") != want || next.Model != "m" || len(r.Contents) != 3 {
			t.Errorf("%v, want %s", got, want)
		}
	}
	expect.Same(t, "contents", len((&Request{Live: true}).After(replies("1")).Contents), 0)
	if r.UserTurns() != 3 || (&Request{Contents: r.Contents}).UserTurns() != 1 {
		t.Errorf("got %d turns of a live chat, %d of one call; want 3 and 1", r.UserTurns(), (&Request{Contents: r.Contents}).UserTurns())
	}
}

// step is an answer that calls functions, with the results that the suite gave.
func step(candidate string, results ...CallResult) AnsweredCall {
	c := Candidate{FinishReason: "TOOL_CALLS", Raw: json.RawMessage(candidate)}
	return AnsweredCall{Response: Response{Candidates: []Candidate{c}}, Results: results}
}

func TestAfterStepsResultsFollowTheModelsTurn(t *testing.T) {
	t.Parallel()
	called := step(
		`{"content": {"role": "model", "parts": [{"text": "so", "thought": true}, `+
			`{"functionCall": {"id": "1", "name": "f"}, "signature": "s"}]}}`,
		CallResult{ID: "1", Name: "f", Text: "shipped"}, CallResult{ID: "2", Name: "g", Text: "no", Failed: true},
	)
	said := step(`{"content": {"parts": [{"text": "a"}, {"text": "b"}]}, "avgLogprobs": 1}`)
	said.Candidates[0].Text = "ab"
	user := func(text string) Content { return Content{Role: RoleUser, Parts: []Part{TextPart{Text: text}}} }
	back := []Content{
		{Role: RoleModel, Parts: []Part{
			RawPart{Raw: json.RawMessage(`{"text":"so","thought":true}`)},
			RawPart{Raw: json.RawMessage(`{"functionCall":{"id":"1","name":"f"},"signature":"s"}`)},
		}},
		{Role: RoleUser, Parts: []Part{ResultPart{Result: &called.Results[0]}, ResultPart{Result: &called.Results[1]}}},
	}
	once := Request{Contents: []Content{user("a"), {Role: RoleModel, Parts: []Part{TextPart{Text: "fixed"}}}, user("b")}}
	expect.Same(t, "a fixed chat", once.After(nil).Contents, once.Contents)
	expect.Same(t, "a fixed chat after a step", once.After([]AnsweredCall{called}).Contents, slices.Concat(once.Contents, back))
	live := Request{Live: true, Contents: []Content{user("a"), user("b")}}
	expect.Same(t, "a live chat after a step", live.After([]AnsweredCall{called}).Contents, slices.Concat(live.Contents[:1], back))
	expect.Same(
		t, "a live chat after a step and a reply", live.After([]AnsweredCall{called, said}).Contents,
		slices.Concat(live.Contents[:1], back, []Content{{Role: RoleModel, Parts: []Part{TextPart{Text: "ab"}}}}, live.Contents[1:]),
	)
}

// A call is named by all that goes back before it, however the file of it was indented.
func TestTurnIDOfStepsIgnoresIndentation(t *testing.T) {
	t.Parallel()
	const calls = `{"content":{"parts":[{"functionCall":{"id":"1","name":"f"}}]}}`
	result := CallResult{ID: "1", Name: "f", Text: "x"}
	base := (&Trial{ID: "t"}).CallID([]AnsweredCall{step(calls, result)})
	expect.Same(t, "the same, indented", (&Trial{ID: "t"}).CallID([]AnsweredCall{step(strings.ReplaceAll(calls, ":", ": \n"), result)}), base)
	for name, other := range map[string]AnsweredCall{
		"without a result":  step(calls),
		"another text":      step(calls, CallResult{ID: "1", Name: "f", Text: "y"}),
		"a failure":         step(calls, CallResult{ID: "1", Name: "f", Text: "x", Failed: true}),
		"another call":      step(strings.Replace(calls, `"1"`, `"2"`, 1), result),
		"two results":       step(calls, result, result),
		"nothing but texts": step(`{"content":{"parts":[{"text":""}]}}`, result),
	} {
		if (&Trial{ID: "t"}).CallID([]AnsweredCall{other}) == base {
			t.Errorf("%s: got the name of the step, want another", name)
		}
	}
}

func TestDifferentRepliesMakeDifferentTurnIDs(t *testing.T) {
	t.Parallel()
	if (&Trial{ID: "x"}).CallID(nil) != "x" {
		t.Errorf("the first turn: got %q, want the id of its trial, x", (&Trial{ID: "x"}).CallID(nil))
	}
	seen := map[string]string{}
	for _, texts := range [][]string{{""}, {"", ""}, {"a"}, {"a", "b"}, {"ab"}, {"a\nb"}, {"a\"\n\"b"}, {"b", "a"}, {"\xff"}, {"\ufffd"}} {
		for _, trial := range []string{"x", "x\n"} {
			id := (&Trial{ID: trial}).CallID(replies(texts...))
			if other, twice := seen[id]; twice {
				t.Errorf("%q after %q: got the name of %s, want another", texts, trial, other)
			}
			seen[id] = fmt.Sprintf("%q after %q", texts, trial)
		}
	}
}

func TestUsageAddsUp(t *testing.T) {
	t.Parallel()
	u := Usage{PromptTokens: 1, OutputTokens: 2, TotalTokens: 3, CachedTokens: 1, Source: UsageService}
	u.Add(&Usage{PromptTokens: 10, OutputTokens: 20, TotalTokens: 30, ToolUseTokens: 4, Source: UsageEstimated})
	u.Add(&Usage{PromptTokens: 100, OutputTokens: 200, TotalTokens: 300, CachedTokens: 2, Source: UsageCounted})
	want := Usage{PromptTokens: 111, OutputTokens: 222, TotalTokens: 333, CachedTokens: 3, ToolUseTokens: 4, Source: UsageEstimated}
	if !reflect.DeepEqual(u, want) {
		t.Errorf("got %+v, want %+v", u, want)
	}
	sum := Timing{
		QueuedMs:     1,
		LatencyMs:    10,
		Attempts:     1,
		StreamTiming: StreamTiming{FirstTokenMs: 5, Chunks: 3, MeanGapMs: 2, MaxGapMs: 3},
	} // replayed: its start is not recorded
	for _, one := range []Timing{
		{
			StartedAt: at("11:00"), QueuedMs: 2, LatencyMs: 20, Attempts: 2,
			StreamTiming: StreamTiming{FirstTokenMs: 7, Chunks: 5, MeanGapMs: 5, MaxGapMs: 6},
		},
		{StartedAt: at("12:00"), Attempts: 1},
	} {
		sum.Add(&one)
	}
	stream := StreamTiming{FirstTokenMs: 5, Chunks: 8, MeanGapMs: 4, MaxGapMs: 6}
	if want := (Timing{QueuedMs: 3, LatencyMs: 30, Attempts: 4, StreamTiming: stream}); sum != want {
		t.Errorf("%+v, want %+v", sum, want)
	}
}

func TestTurnsReadBackFromARunFile(t *testing.T) {
	t.Parallel()
	r := Result{Calls: replies("canary", "canary two")}
	r.Calls[0].Usage, r.Calls[0].Timing = Usage{
		PromptTokens: 1,
		OutputTokens: 2,
		TotalTokens:  3,
		Source:       UsageService,
	}, Timing{
		LatencyMs: 5,
		Attempts:  1,
	}
	r.Calls[0].ModelVersion, r.Calls[0].Extra = "m", map[string]json.RawMessage{"x": json.RawMessage(`"canary"`)}
	r.Calls[1].PromptFeedback = &PromptFeedback{BlockReason: "canary with spaces"}
	line, err := wirejson.Append(nil, &r)
	expect.OK(t, err)
	var back Result
	if err := json.Unmarshal(line, &back); err != nil || !reflect.DeepEqual(back.Calls, r.Calls) {
		t.Errorf("got %[2]v (%[1]v), want %[3]v", err, back.Calls, r.Calls)
	}
	r.Withhold()
	if line, err = wirejson.Append(nil, &r); err != nil || strings.Contains(string(line), "canary") ||
		!strings.Contains(string(line), `"modelVersion":"m"`) {
		t.Errorf("%v %s, want the version of the model, and no canary", err, line)
	}
	expect.Same(t, "the other result", back.Calls[0].Text(), "canary")
}

func TestOnlyTheFirstCandidateBlocksATurn(t *testing.T) {
	t.Parallel()
	second := AnsweredCall{Response: Response{Candidates: []Candidate{{Text: "a"}, {FinishReason: "SAFETY"}}}}
	if second.Block() != "" || second.Blocked() != "SAFETY" {
		t.Errorf("a block of the second candidate: got %q and %q, want none of the turn, and SAFETY", second.Block(), second.Blocked())
	}
	if first := (AnsweredCall{Response: Response{Candidates: []Candidate{{FinishReason: "SPII"}}}}); first.Block() != "SPII" {
		t.Errorf("a block of the first candidate: got %q, want SPII", first.Block())
	}
	if prompt := (AnsweredCall{Response: Response{PromptFeedback: &PromptFeedback{BlockReason: "OTHER"}}}); prompt.Block() != "OTHER" {
		t.Errorf("a block of the prompt: got %q, want OTHER", prompt.Block())
	}
}

func at(clock string) time.Time {
	when, err := time.Parse("15:04", clock)
	if err != nil {
		panic(err)
	}
	return when
}
