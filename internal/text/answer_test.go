package text

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/testing/expect"
)

func text(role, s string) eval.Content {
	return eval.Content{Role: role, Parts: []eval.Part{eval.TextPart{Text: s}}}
}

func answered(finish string, results ...eval.CallResult) eval.AnsweredCall {
	return eval.AnsweredCall{Response: eval.Response{Candidates: []eval.Candidate{{Text: "t", FinishReason: finish}}}, Results: results}
}

// own and back are what a step adds to a request: the model's turn, and the results of its calls.
var (
	own  = eval.Content{Role: eval.RoleModel, Parts: []eval.Part{eval.RawPart{Raw: json.RawMessage(`{}`)}}}
	back = eval.Content{Role: eval.RoleUser, Parts: []eval.Part{eval.ResultPart{Result: &eval.CallResult{Name: "f"}}}}
)

// What the suite gives of a request is kept apart from what the trial added to it.
func TestSuiteContentsAreKeptFromThoseOfTheTrial(t *testing.T) {
	t.Parallel()
	step, last := answered("TOOL_CALLS", eval.CallResult{Name: "f"}), answered("STOP")
	user, shot, more := text("user", "a"), text("model", "b"), text("user", "c")
	withheld := eval.Content{Role: eval.RoleUser, Parts: []eval.Part{eval.TextPart{Withheld: &eval.Withheld{}}}}
	list := func(all ...eval.Content) []eval.Content { return all }
	for name, test := range map[string]struct {
		contents, want []eval.Content
		turns          []eval.AnsweredCall
		live           bool
	}{
		"one call":  {contents: list(user, shot, more), want: list(user, shot, more)},
		"a loop":    {contents: list(user, own, back), want: list(user), turns: []eval.AnsweredCall{step, last}},
		"two steps": {contents: list(user, own, back, own, back), want: list(user), turns: []eval.AnsweredCall{step, step, last}},
		"examples and a loop": {
			contents: list(user, shot, more, own, back), want: list(user, shot, more), turns: []eval.AnsweredCall{step, last},
		},
		"not kept":               {contents: list(user, own, withheld), want: list(user), turns: []eval.AnsweredCall{step, last}},
		"broke off after a step": {contents: list(user, own, back), want: list(user), turns: []eval.AnsweredCall{step}},
		"broke off before the results were sent": {
			contents: list(user, own, back), want: list(user), turns: []eval.AnsweredCall{step, step},
		},
		"examples, and nothing was sent again": {
			contents: list(user, shot, more), want: list(user, shot, more), turns: []eval.AnsweredCall{step},
		},
		"a chat": {contents: list(user, shot, more), want: list(user, more), turns: []eval.AnsweredCall{last, last}, live: true},
		"a chat with a step": {
			contents: list(user, own, back, shot, more), want: list(user, more), turns: []eval.AnsweredCall{step, last, last}, live: true,
		},
		"a chat, a step last": {
			contents: list(user, shot, more, own, back), want: list(user, more), turns: []eval.AnsweredCall{last, step, last}, live: true,
		},
	} {
		r := &eval.Result{Request: &eval.Request{Contents: test.contents, Live: test.live}, Calls: test.turns}
		expect.Same(t, name, SuiteContents(r), test.want)
	}
	if got := SuiteContents(&eval.Result{}); got != nil {
		t.Errorf("no request: %v, want none", got)
	}
}

// An answer in words has its text and its calls; long arguments and many calls are cut.
func TestAnswersInWordsAreCut(t *testing.T) {
	t.Parallel()
	call := func(args string) eval.Piece {
		return eval.CallPiece{Call: &eval.FunctionCall{Name: "f", Args: json.RawMessage(args)}}
	}
	many := make([]eval.Piece, 25)
	for i := range many {
		many[i] = call("")
	}
	for name, test := range map[string]struct {
		c    eval.Candidate
		want string
	}{
		"text":   {eval.Candidate{Text: "a", Pieces: []eval.Piece{eval.ReasoningPiece{Reasoning: "r"}, eval.TextPiece{Text: "a"}}}, "a"},
		"a call": {eval.Candidate{Pieces: []eval.Piece{call(`{"a":1}`)}}, `calls f {"a":1}`},
		"both":   {eval.Candidate{Text: "a", Pieces: []eval.Piece{eval.TextPiece{Text: "a"}, call("")}}, "a\ncalls f"},
		"long arguments": {
			eval.Candidate{Pieces: []eval.Piece{call(`"` + strings.Repeat("x", 400) + `"`)}}, `calls f "` + strings.Repeat("x", 299) + "...",
		},
		"many":    {eval.Candidate{Pieces: many}, strings.Repeat("calls f\n", 20) + "and 5 more calls"},
		"nothing": {},
	} {
		expect.Same(t, name, Answer(&eval.Response{Candidates: []eval.Candidate{test.c}}), test.want)
	}
	if got := Answer(&eval.Response{}); got != "" {
		t.Errorf("no candidate: got %q, want nothing", got)
	}
}

// The account of a trial names each scorer that failed, or the error, or why it was not sent.
func TestWhyATrialDidNotPass(t *testing.T) {
	t.Parallel()
	scores := []eval.Score{
		{Scorer: "equals", Name: "exact", Reason: "expected x"},
		{Scorer: "contains", Grade: eval.Graded{Value: 1, Passed: true}, Reason: "it does"},
		{Scorer: "regex", Name: "regex", Reason: "no match"},
	}
	for want, r := range map[string]*eval.Result{
		"":                              {Ending: eval.Passed{}, Scores: scores},
		"the budget is spent":           {Ending: eval.Skipped{Reason: "the budget is spent"}},
		"timeout: after 60s":            {Ending: eval.Errored{Error: eval.Errorf(eval.KindTimeout, "after 60s")}},
		"the run file does not say why": {Ending: eval.Errored{}},
		"exact (equals): expected x; regex: no match": {Ending: eval.Failed{}, Scores: scores},
		"the weighted mean of the scores is below the threshold": {
			Ending: eval.Failed{}, Scores: []eval.Score{{Scorer: "contains", Grade: eval.Graded{Value: 1, Passed: true}}},
		},
	} {
		expect.Same(t, "why", Why(r), want)
	}
}

// Whatever a trial sends is in the text that readers compare, one thing a line; secrets are not.
func TestSentHasAllThatIsSent(t *testing.T) {
	t.Parallel()
	model := &eval.Request{
		Service: "eu", SafetySettings: []eval.SafetySetting{{Category: "HARASSMENT", Threshold: "NONE"}},
		Tools:      []eval.Declaration{{Name: "find", Description: "Finds a file.", Parameters: json.RawMessage(`{"type":"object"}`)}},
		ToolChoice: &eval.Choice{Mode: eval.Auto}, Extra: eval.Extra{"labels": json.RawMessage(`{"a":1}`)}, System: "Be brief.",
		Contents: []eval.Content{{Role: "user", Parts: []eval.Part{
			eval.TextPart{Text: "Hello"}, eval.ImagePart{Image: &eval.Image{Path: "a.png", MIMEType: "image/png", Bytes: 3, SHA256: "abc"}},
		}}},
	}
	for name, test := range map[string]struct {
		request *eval.Request
		want    string
	}{
		"a model": {model, `model: pro
service: eu
safety HARASSMENT: NONE
labels: {"a":1}
tool find: Finds a file.
{
  "type": "object"
}
toolChoice: auto
system: Be brief.
user: Hello
user: [image a.png, image/png, 3 bytes, sha256 abc]`},
		"an endpoint": {app(&eval.HTTP{
			Method: "POST", URL: "http://a.example", Body: `{"q":1}`, Headers: []eval.Header{{Name: "X-Key", Value: "hidden", Secret: true}},
		}), `model: pro
POST http://a.example
X-Key: ***

{
  "q": 1
}`},
		"a program": {app(&eval.ProgramRun{
			Command: []string{"sh", "a b.sh"}, Files: map[string]string{"a b.sh": "0123456789abcdef"}, Workspace: "feed",
			Input: json.RawMessage(`{}`),
		}), `model: pro
command: sh 'a b.sh'
file a b.sh: sha256 0123456789ab
workspace: sha256 feed
input: {}`},
		"nothing": {nil, ""},
	} {
		expect.Same(t, name, Sent(&eval.Result{Trial: eval.Trial{Model: "pro"}, Request: test.request}), test.want)
	}
}

func app(p eval.Payload) *eval.Request { return &eval.Request{App: &eval.Rendered{Payload: p}} }
