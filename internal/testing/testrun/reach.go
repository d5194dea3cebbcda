package testrun

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/journal"
)

// Reach is a run of a model with tools, an HTTP endpoint, a program and an echo; change changes a trial before it is
// written. Optional.
func Reach(t testing.TB, change func(*eval.Result)) *journal.Document {
	t.Helper()
	var l reach
	l.model()
	l.chat()
	l.applications()
	for _, r := range l {
		if change != nil {
			change(r)
		}
	}
	d := Record(t, reachRun(), &eval.End{FinishedAt: "2026-01-01T00:00:02Z", Reason: eval.EndCompleted}, l...)
	d.Dir = "reach"
	d.Decision.Gate = journal.Gate{Exit: 1}
	return d
}

func reachRun() *eval.Run {
	return &eval.Run{
		ID: "20260101-000000-def456", StartedAt: "2026-01-01T00:00:00Z", Emulator: true,
		Models:  []eval.Model{{Name: "models/svc-pro", APIVersion: "v1", Version: "001"}},
		Service: eval.RunService{BaseURL: "emulator", APIVersion: "v1", HeaderPrefix: "x-svc", Auth: "apiKey"},
		Suites:  []eval.RunSuite{{Name: "shop", File: "shop.yaml"}},
		Plan: eval.RunPlan{
			Trials: 9, Arms: []string{"pro/support", "pro/chat", "app/support", "agent/support", "mirror/support"},
			Targets: []eval.RunTarget{
				{Suite: "shop", Name: "pro", Model: "svc-pro", APIVersion: "v1"},
				{Suite: "shop", Name: "app", App: "POST http://127.0.0.1:8080/chat"},
				{Suite: "shop", Name: "agent", App: "python3 agent.py"},
				{Suite: "shop", Name: "mirror", App: "echo"},
			},
		},
	}
}

// reach is trials in the order of their plan.
type reach []*eval.Result

func (l *reach) add(name, target, prompt string, r *eval.Result) *eval.Result {
	r.Trial = eval.Trial{
		N:      len(*l),
		ID:     fmt.Sprintf("%c", 'a'+len(*l)),
		CaseID: "c" + name,
		Suite:  "shop",
		Case:   name,
		Arm:    target + "/" + prompt,
		Target: target, Prompt: prompt, Repeat: 1,
	}
	if target == "pro" {
		r.Model = "svc-pro"
	}
	if r.Outcome() == eval.Fail && r.Scores == nil {
		r.Scores = []eval.Score{{Scorer: "contains", Grade: eval.Graded{}, Weight: 1, Reason: `the answer does not contain "shipped"`}}
	}
	*l = append(*l, r)
	return r
}

const question = "Where is order 4711?"

func toolRequest(contents ...eval.Content) *eval.Request {
	parameters := json.RawMessage(`{"type":"object","properties":{"id":{"type":"string"}}}`)
	return &eval.Request{
		System: "You help customers of a shop.\nBe brief.", Contents: append([]eval.Content{said("user", question)}, contents...),
		Tools: []eval.Declaration{
			{Name: "get_order", Description: "Looks up an order", Parameters: parameters}, {Name: "search"},
		},
		ToolChoice: &eval.Choice{Mode: eval.Required}, ToolResults: "0123456789abcdef0123",
		Extra: eval.Extra{"labels": json.RawMessage(`{"team":"shop"}`)},
	}
}

func callOf(id, name, args string) eval.Piece {
	return eval.CallPiece{Call: &eval.FunctionCall{ID: id, Name: name, Args: json.RawMessage(args)}}
}

func calling(parts ...eval.Piece) *eval.Response {
	return &eval.Response{ModelVersion: "v1", Candidates: []eval.Candidate{{
		FinishReason: "TOOL_CALLS", VendorReason: "STOP", Pieces: parts,
		Raw: json.RawMessage(`{"content":{"role":"model"},"finishReason":"STOP"}`),
	}}}
}

func step(answer *eval.Response, results ...eval.CallResult) eval.AnsweredCall {
	return eval.AnsweredCall{
		Response: *answer, Results: results,
		Usage: eval.Usage{
			PromptTokens:    20,
			OutputTokens:    9,
			TotalTokens:     33,
			CachedTokens:    8,
			ToolUseTokens:   4,
			ReasoningTokens: 5,
			Source:          eval.UsageService,
		},
		Timing: eval.Timing{LatencyMs: 120, Attempts: 1},
	}
}

// sent are the model's own turn and the results as the next call sends them.
func sent(t *eval.AnsweredCall) []eval.Content {
	back := eval.Content{Role: eval.RoleUser}
	for i := range t.Results {
		back.Parts = append(back.Parts, eval.ResultPart{Result: &t.Results[i]})
	}
	return []eval.Content{{Role: eval.RoleModel, Parts: []eval.Part{eval.RawPart{Raw: json.RawMessage(`{"functionCall":{}}`)}}}, back}
}

// thoughtful is an answer with reasoning, and a piece that no report knows.
func thoughtful(text string) *eval.Response {
	return &eval.Response{ModelVersion: "v1", Candidates: []eval.Candidate{{
		Text: text, FinishReason: "STOP",
		Pieces: []eval.Piece{
			eval.ReasoningPiece{Reasoning: "The order was found.\nSo I can answer."},
			eval.TextPiece{Text: text},
			eval.OtherPiece{Other: json.RawMessage(`{"executableCode":{"code":"1+1"}}`)},
		},
	}}}
}

// model adds a loop that ends, one that breaks off, an answer of calls alone, and a prompt with files and a part of the protocol.
func (l *reach) model() {
	order := callOf("c1", "get_order", `{"id":"4711"}`)
	first := step(
		calling(eval.ReasoningPiece{Reasoning: "I have to look it up."}, order, callOf("c2", "search", `{"q":"4711"}`)),
		eval.CallResult{ID: "c1", Name: "get_order", Text: `{"status":"shipped"}`},
		eval.CallResult{ID: "c2", Name: "search", Text: "exit status 1\nno index", Failed: true},
	)
	last := step(thoughtful("It left today."))
	whole := l.add("loop", "pro", "support", &eval.Result{
		Ending: eval.Failed{}, Request: toolRequest(sent(&first)...), Calls: []eval.AnsweredCall{first, last},
	})
	complete(whole)
	broken := l.add("broken loop", "pro", "support", &eval.Result{
		Ending:  eval.Errored{Error: &eval.Error{Kind: eval.KindStatus, Status: 503, Message: "step 2: try again later"}},
		Request: toolRequest(sent(&first)...), Calls: []eval.AnsweredCall{first},
	})
	complete(broken)
	l.add("calls", "pro", "support", &eval.Result{
		Ending: eval.Failed{}, Request: toolRequest(), Response: calling(order), Usage: &first.Usage, Timing: &first.Timing,
	})
	request := toolRequest(eval.Content{Role: "user", Parts: []eval.Part{
		eval.DataPart{Data: &eval.Image{Path: "call.wav", MIMEType: "audio/wav", SHA256: "00ff00ff00ff00ff", Bytes: 1234}},
		eval.RawPart{Raw: json.RawMessage(`{"fileData":{"fileUri":"gs://shop/terms.pdf"}}`)},
	}})
	request.ToolChoice = &eval.Choice{Name: "search"}
	l.add("files", "pro", "support", &eval.Result{
		Ending:   eval.Passed{},
		Request:  request,
		Response: thoughtful("It was shipped."),
		Usage:    &last.Usage,
		Timing:   &last.Timing,
	})
}

// chat adds a live chat whose first turn takes a step.
func (l *reach) chat() {
	first := step(calling(callOf("", "get_order", `{"id":"1"}`)), eval.CallResult{Name: "get_order", Text: "lost"})
	second, last := step(Answered("It is lost.", "STOP")), step(Answered("I am sorry.", "STOP"))
	contents := []eval.Content{said("user", question)}
	contents = append(append(contents, sent(&first)...), said("model", "It is lost."), said("user", "That is bad."))
	complete(l.add("chat", "pro", "chat", &eval.Result{
		Ending: eval.Failed{}, Request: live(contents...), Calls: []eval.AnsweredCall{first, second, last},
	}))
}

// applications adds an endpoint that called something, a program that failed with its workspace kept, and an echo.
func (l *reach) applications() {
	timing := eval.Timing{LatencyMs: 35, Attempts: 1}
	prompt := &eval.Request{Contents: []eval.Content{said("user", question)}}
	requestTo := func(to eval.Rendered) *eval.Request {
		own := *prompt
		own.App = &to
		return &own
	}
	endpoint := requestTo(eval.Rendered{Payload: &eval.HTTP{
		Method: "POST", URL: "http://127.0.0.1:8080/chat?shop=a%20b",
		Headers: []eval.Header{{Name: "content-type", Value: "application/json"}, {Name: "authorization", Secret: true}},
		Body:    `{"question":"Where is order 4711?"}`, Stream: true,
	}})
	answer := calling(callOf("", "get_order", `{"id":"4711"}`), eval.TextPiece{Text: "It has left."})
	answer.Candidates[0].Text, answer.ModelVersion = "It has left.", ""
	answer.Candidates[0].Raw = json.RawMessage(`{"reply":{"text":"It has left."},"steps":[{"name":"get_order"}]}`)
	for _, outcome := range []eval.Outcome{eval.Pass, eval.Fail} {
		l.add("endpoint "+string(outcome), "app", "support", &eval.Result{
			Ending: Ending(outcome), Request: endpoint, Response: answer, Timing: &timing,
			Usage:   &eval.Usage{PromptTokens: 5, OutputTokens: 3, TotalTokens: 8, Source: eval.UsageEstimated},
			TraceID: "4bf92f3577b34da6a3ce929d0e0e4736",
		})
	}
	l.add("program", "agent", "support", &eval.Result{
		Ending: eval.Errored{Error: &eval.Error{Kind: eval.KindProgram, Message: "python3 agent.py: exit status 1: no such order"}},
		Timing: &timing, Workspace: ".evalrun/runs/r/workspaces/a",
		Request: requestTo(eval.Rendered{Payload: &eval.ProgramRun{
			Command: []string{"python3", "agent.py", "two words"}, Files: map[string]string{"agent.py": "ab12ab12ab12ab12"},
			Input: json.RawMessage(`{"prompt":"Where is order 4711?"}`), Workspace: "cd34cd34cd34cd34",
		}}),
	})
	l.add("echo", "mirror", "support", &eval.Result{
		Ending:   eval.Passed{},
		Request:  requestTo(eval.Rendered{Payload: eval.EchoRun{}}),
		Response: Answered(question, "STOP"),
		Timing:   &eval.Timing{Attempts: 1},
	})
}
