package scorers_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/testing/expect"
	"github.com/evalrun/evalrun/scorers"
)

const ofGoal = "- judge: {goal: The order is found.}"

// anAgent is the answer of a program that called models, the first of them with a tool.
func anAgent(result string, calls int) *scorers.Answer {
	a := answer("Order 7 is shipped.")
	a.Timing.Limit = eval.LimitSteps
	a.Request = &eval.Request{
		App:      &eval.Rendered{Payload: &eval.ProgramRun{Models: []string{"openai"}}},
		Contents: []eval.Content{{Role: eval.RoleUser, Parts: []eval.Part{eval.TextPart{Text: "Where is order 7?"}}}},
	}
	for i := range calls {
		c := candidate(fmt.Sprintf(`get_order {"id":"%d"}`, i))
		a.Response.Calls = append(a.Response.Calls, eval.ModelCall{
			Model: "m", Response: &eval.Response{Candidates: []eval.Candidate{c}},
			Results: []eval.CallResult{{Name: "get_order", Text: result, Failed: i == 0}},
		})
	}
	busy := &eval.Error{Kind: eval.KindStatus, Status: 503, Message: "busy"}
	a.Response.Calls = append(a.Response.Calls, eval.ModelCall{Model: "m", Error: busy})
	return a
}

// A judge of a goal sees what an agent called, what came back and how it ended, and chooses.
func TestJudgeOfAGoalSeesTheTrajectory(t *testing.T) {
	t.Parallel()
	s, questions := judged(t, compile(t, ofGoal), anAgent("no such id", 2), `{"reason": "it is not", "choice": "missed"}`)
	expect.Same(t, "the outcome", letter(s), "f")
	got := inFences(t, questions[0].Contents[0].Parts[0].(eval.TextPart).Text)
	want := []string{
		"goal: The order is found.", "question: Where is order 7?", "user: Where is order 7?", `call: get_order({"id":"0"})`,
		"result: get_order failed: no such id", `call: get_order({"id":"1"})`, "result: get_order: no such id",
		"status: the call of the model m failed: " + anAgent("", 0).Response.Calls[0].Error.Error(), "status: it was ended at its limit: steps",
		"answer: Order 7 is shipped.",
	}
	expect.Same(t, "what the judge sees", got, want)
	silent := anAgent("", 0)
	silent.Response.Candidates[0] = eval.Candidate{FinishReason: "STOP"}
	s, _ = judged(t, compile(t, ofGoal), silent, `{"reason": "it did", "choice": "reached"}`)
	expect.Same(t, "the outcome of an agent that says nothing", letter(s), "p")
}

// Long texts are cut in the middle, the oldest ones most, and what was to be done stays.
func TestTrajectoriesAreFolded(t *testing.T) {
	t.Parallel()
	for calls, wants := range map[int]string{
		2: "result: get_order failed: xxx,[15922 bytes left out],result: get_order: xxx", 60: "[19811 bytes left out],[15915 bytes left out]",
		800: "texts are left out here,[19811 bytes left out]",
	} {
		_, questions := judged(t, compile(t, ofGoal), anAgent(strings.Repeat("x", 20_000), calls), `{"reason": "it is not", "choice": "missed"}`)
		text := questions[0].Contents[0].Parts[0].(eval.TextPart).Text
		if limit := 80 << 10; len(text) > limit {
			t.Errorf("%d calls: got %d bytes, want at most %d", calls, len(text), limit)
		}
		shown := inFences(t, text)
		last := fmt.Sprintf(`call: get_order({"id":"%d"})`, calls-1)
		for _, want := range append(strings.Split(wants, ","), "question: Where is order 7?", last) {
			if !slices.ContainsFunc(shown, func(one string) bool { return strings.Contains(one, want) }) {
				t.Errorf("%d calls: got no %s in %d texts", calls, want, len(shown))
			}
		}
	}
}

// Without a trajectory there is nothing to judge, and what an agent got stays in its fences.
func TestJudgeOfAGoalIsNotMisled(t *testing.T) {
	t.Parallel()
	none := anAgent("", 0)
	none.Response.Calls = nil
	s, questions := judged(t, compile(t, ofGoal), none, "never")
	if letter(s) != "u" || len(questions) > 0 || !strings.Contains(s.Reason, "there is no trajectory to judge") {
		t.Errorf("%s (%s) after %d questions, want it unscored", letter(s), s.Reason, len(questions))
	}
	for _, text := range attacks() {
		_, questions := judged(t, compile(t, ofGoal), anAgent(text, 1), `{"reason": "no", "choice": "missed"}`)
		got := inFences(t, questions[0].Contents[0].Parts[0].(eval.TextPart).Text)
		if len(text) < 4000 && !slices.Contains(got, "result: get_order failed: "+text) {
			t.Errorf("%q: got %q, want it whole in its fence", text, got)
		}
	}
}
