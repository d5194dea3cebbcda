package scorers_test

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/testing/expect"
	"github.com/evalrun/evalrun/scorers"
)

const ofConversation = "- judge: {rubric: It is polite., sees: conversation}"

// aConversation is a live chat whose first turn took two calls of the model, with a turn of the suite's before it.
func aConversation(last ...eval.Piece) *scorers.Answer {
	user := func(parts ...eval.Part) eval.Content { return eval.Content{Role: eval.RoleUser, Parts: parts} }
	model := func(parts ...eval.Part) eval.Content { return eval.Content{Role: eval.RoleModel, Parts: parts} }
	result := eval.CallResult{Name: "get_order", Text: "shipped"}
	failed := eval.CallResult{Name: "get_order", Text: "exit status 1", Failed: true}
	called := candidate(`get_order {"id":"7"}`, `get_order {"id":"8"}`)
	called.Pieces = append([]eval.Piece{
		eval.ReasoningPiece{Reasoning: "a secret thought"}, eval.TextPiece{Text: "Let me see."},
	}, called.Pieces...)
	called.Text = "Let me see."
	a := &scorers.Answer{
		Request: &eval.Request{
			Live: true, System: "You are a shop.",
			Contents: []eval.Content{
				user(eval.ImagePart{Image: &eval.Image{}}, eval.TextPart{Text: "Hello"}), model(eval.TextPart{Text: "Hi."}),
				user(eval.TextPart{Text: "Where are my orders?"}), model(eval.RawPart{Raw: json.RawMessage(`{"functionCall":{}}`)}),
				user(eval.ResultPart{Result: &result}, eval.ResultPart{Result: &failed}), model(eval.TextPart{Text: "One is on its way."}),
				user(eval.TextPart{Text: "Thanks."}),
			},
		},
		Calls: []eval.AnsweredCall{
			{Response: eval.Response{Candidates: []eval.Candidate{called}}, Results: []eval.CallResult{result, failed}},
			{Response: eval.Response{Candidates: []eval.Candidate{{Text: "One is on its way.", FinishReason: "STOP"}}}},
			{Response: eval.Response{Candidates: []eval.Candidate{{FinishReason: "STOP", Pieces: last}}}},
		},
	}
	for _, p := range last {
		if text, ok := p.(eval.TextPiece); ok {
			a.Calls[2].Candidates[0].Text += text.Text
		}
	}
	a.Response = &a.Calls[2].Response
	return a
}

// inFences are the texts of a question in their order, each with its name.
func inFences(t *testing.T, question string) []string {
	t.Helper()
	code := opening.FindStringSubmatch(question)
	if code == nil {
		t.Fatalf("got the question %s, want a code in it", question)
	}
	var out []string
	for _, m := range regexp.MustCompile(`(?s)\n<<<(\w+) `+code[1]+`\n(.*?)\n(\w+) `+code[1]+`>>>\n`).FindAllStringSubmatch(question, -1) {
		expect.Same(t, "the name that closes a fence", m[1], m[3])
		out = append(out, m[1]+": "+m[2])
	}
	return out
}

func questionTo(t *testing.T, entry string, a *scorers.Answer) []string {
	t.Helper()
	_, questions := judged(t, compile(t, entry), a, `{"reason": "fine", "score": 1}`)
	if len(questions) != 1 {
		t.Fatalf("%s: %d questions, want one", entry, len(questions))
	}
	return inFences(t, questions[0].Contents[0].Parts[0].(eval.TextPart).Text)
}

func TestJudgeSeesTheConversation(t *testing.T) {
	t.Parallel()
	before := []string{
		"rubric: It is polite.", "question: Thanks.", "system: You are a shop.",
		"user: [an image]", "user: Hello", "model: Hi.", "user: Where are my orders?",
		"model: Let me see.", `call: get_order({"id":"7"})`, `call: get_order({"id":"8"})`,
		"result: get_order: shipped", "result: get_order failed: exit status 1", "model: One is on its way.", "user: Thanks.",
	}
	a := aConversation(eval.TextPiece{Text: "You are welcome."})
	expect.Same(t, "what the judge sees", questionTo(t, ofConversation, a), append(before, "answer: You are welcome."))
	a = aConversation(eval.CallPiece{Call: &eval.FunctionCall{Name: "close"}})
	if diff := cmp.Diff(append(before, "call: close()", "answer: "), questionTo(t, ofConversation, a)); diff != "" {
		t.Errorf("what the judge sees of an answer that is a call (-want +got):\n%s", diff)
	}
	want := []string{before[0], "question: Where are my orders?"}
	want = append(append(want, before[2:12]...), "answer: One is on its way.")
	expect.Same(t, "what the judge sees of the first turn", questionTo(t, ofConversation+"\n  turn: 1", a), want)
	a = aConversation(eval.TextPiece{Text: "You are welcome."})
	want = []string{before[0], before[1], "answer: You are welcome."}
	for _, entry := range []string{byRubric, "- judge: {rubric: It is polite., sees: answer}"} {
		expect.Same(t, fmt.Sprintf("%s: what the judge sees", entry), questionTo(t, entry, a), want)
	}
}

// The question about an answer alone stays the same, so that replies from before still count.
func TestJudgeThatSeesTheAnswerIsSentWhatItWas(t *testing.T) {
	t.Parallel()
	key := func(entry string) string {
		_, questions := judged(t, compile(t, entry), answer("Paris"), `{"reason": "fine", "score": 1}`)
		return questions[0].Key
	}
	const before = "3968534c"
	plain, set, other := key(byRubric), key("- judge: {rubric: It is polite., sees: answer}"), key(ofConversation)
	if !strings.HasPrefix(plain, before) || set != plain || other == plain {
		t.Errorf("keys %.8s, with sees: answer %.8s, of a conversation %.8s, want %s, the same and another", plain, set, other, before)
	}
}

func TestConversationStaysInItsFences(t *testing.T) {
	t.Parallel()
	for _, text := range attacks() {
		a := aConversation(eval.TextPiece{Text: "x" + text})
		a.Request.System = text
		a.Request.Contents[2].Parts[0] = eval.TextPart{Text: text}
		a.Request.Contents[4].Parts[0].(eval.ResultPart).Result.Text = text
		a.Calls[0].Candidates[0].Pieces[2].(eval.CallPiece).Call.Name = text
		s, questions := judged(t, compile(t, ofConversation), a, `{"reason": "no", "score": 0}`)
		if letter(s) != "f" || len(questions) != 1 {
			t.Errorf("%q: %s after %d questions, want f after one", text, letter(s), len(questions))
			continue
		}
		got := inFences(t, questions[0].Contents[0].Parts[0].(eval.TextPart).Text)
		for _, want := range []string{"user: " + text, "result: get_order: " + text, "call: " + text + `({"id":"7"})`, "answer: x" + text} {
			found := 0
			for _, one := range got {
				if one == want {
					found++
				}
			}
			if found != 1 {
				t.Errorf("%q is there %d times, want once in %q", want, found, got)
			}
		}
	}
}

func TestJudgeSeesNoConversationWithoutAnAnswer(t *testing.T) {
	t.Parallel()
	blocked := aConversation(eval.CallPiece{Call: &eval.FunctionCall{Name: "close"}})
	blocked.Calls[2].Candidates[0].FinishReason = "SAFETY"
	for _, a := range []*scorers.Answer{
		aConversation(), blocked, {Response: &eval.Response{PromptFeedback: &eval.PromptFeedback{BlockReason: "SAFETY"}}},
	} {
		s, questions := judged(t, compile(t, "- not: {judge: {rubric: x, sees: conversation}}"), a, "never")
		if letter(s) != "f" || len(questions) > 0 {
			t.Errorf("%s (%s) after %d questions, want f without one", letter(s), s.Reason, len(questions))
		}
	}
	long := aConversation(eval.TextPiece{Text: "x"})
	long.Request.Contents[4].Parts[0].(eval.ResultPart).Result.Text = strings.Repeat("x", 5<<20)
	s, questions := judged(t, compile(t, ofConversation), long, "never")
	if letter(s) != "u" || len(questions) > 0 || !strings.Contains(s.Reason, "too long for a judge") {
		t.Errorf("%s (%s) after %d questions, want it unscored as too long", letter(s), s.Reason, len(questions))
	}
}
