//go:build unix

package runner_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"go.uber.org/goleak"

	"github.com/evalrun/evalrun/diag"
	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/testing/expect"
	"github.com/evalrun/evalrun/runner"
	"github.com/evalrun/evalrun/scorers"
	"github.com/evalrun/evalrun/suite"
)

const toolSuite = `version: 1
name: s
targets: [{name: one, model: svc-pro}]
prompts:
  - name: p
    tools: [{name: get}, {name: run}, {name: bare}]
    toolResults:
      get: {text: '{"id": "{{.args.id}}", "to": "{{.city}}"}'}
      run: {command: COMMAND, timeout: 20s}
    maxSteps: 4
    ASKED
cases: [{name: a, vars: {city: Bern}, scorers: [SCORERS]}]
`

const (
	oncePrompt = `text: "first {{.city}}"`
	livePrompt = "live: true\n    turns: [{user: \"first {{.city}}\"}, {user: second}]"
)

// calls is an answer that calls functions, as a service gives it.
func calls(all ...eval.FunctionCall) *eval.Response {
	c := eval.Candidate{FinishReason: "TOOL_CALLS", VendorReason: "STOP"}
	var parts []string
	for _, one := range all {
		c.Pieces = append(c.Pieces, eval.CallPiece{Call: new(one)})
		parts = append(parts, fmt.Sprintf(`{"functionCall":{"id":%q,"name":%q},"signature":"s"}`, one.ID, one.Name))
	}
	c.Raw = json.RawMessage(`{"content":{"role":"model","parts":[` + strings.Join(parts, ",") + `]}}`)
	return &eval.Response{Candidates: []eval.Candidate{c}}
}

func call(id, name, args string) eval.FunctionCall {
	return eval.FunctionCall{ID: id, Name: name, Args: json.RawMessage(args)}
}

type tooled struct {
	dir, prompt, command, scorers string
	text                          string // of the results of get
	cfg                           runner.Config
}

func (o tooled) result(ctx context.Context, t *testing.T) yieldedResult {
	t.Helper()
	if o.dir == "" {
		o.dir = t.TempDir()
	}
	if o.command == "" {
		o.command = "[cat]"
	}
	if o.scorers == "" {
		o.scorers = "{contains: x}"
	}
	text := strings.NewReplacer("ASKED", o.prompt, "COMMAND", o.command, "SCORERS", o.scorers).Replace(toolSuite)
	if o.text != "" {
		text = strings.Replace(text, `'{"id": "{{.args.id}}", "to": "{{.city}}"}'`, o.text, 1)
	}
	expect.OK(t, os.WriteFile(filepath.Join(o.dir, "s.yaml"), []byte(text), 0o600))
	var diags diag.List
	s := suite.Load(os.DirFS(o.dir), "s.yaml", scorers.Builtin(), suite.Options{Dir: o.dir}, &diags)
	expect.OK(t, diags.Err())
	all := yielded(ctx, t, runner.NewPlan([]*suite.Suite{s}, scorers.Builtin(), runner.Filter{}, "v1"), o.cfg)
	if len(all) != 1 {
		t.Fatalf("got %d results, want 1", len(all))
	}
	return all[0]
}

// scripted is a service with the answers to some calls, in their order, and what it was sent.
type scripted struct {
	fake
	mu   sync.Mutex
	sent []eval.Call
}

func script(answers ...*eval.Response) *scripted {
	s := &scripted{}
	s.generate = func(_ context.Context, c *eval.Call) (*eval.Response, error) {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.sent = append(s.sent, *c)
		c.Timing.LatencyMs = 10
		if len(s.sent) > len(answers) {
			return nil, eval.Errorf(eval.KindStatus, "call %d was not expected", len(s.sent))
		}
		if one := answers[len(s.sent)-1]; one != nil {
			resp := *one
			resp.Usage = &eval.Usage{PromptTokens: 1, OutputTokens: 2, TotalTokens: 3, Source: eval.UsageService}
			return &resp, nil
		}
		return nil, eval.Errorf(eval.KindBudget, "the budget is spent")
	}
	return s
}

type keeper struct {
	mu      sync.Mutex
	answers []eval.Result
	calls   []eval.Result // that have further calls to come
}

func (k *keeper) Writing(ctx context.Context) (context.Context, func()) { return ctx, func() {} }

func (k *keeper) KeepAnswer(r *eval.Result) { k.keep(&k.answers, r) }
func (k *keeper) KeepCall(r *eval.Result)   { k.keep(&k.calls, r) }

func (k *keeper) keep(in *[]eval.Result, r *eval.Result) {
	k.mu.Lock()
	defer k.mu.Unlock()
	out := *r
	out.Calls = slices.Clone(r.Calls)
	*in = append(*in, out)
}

func (k *keeper) KeepJudgement(string, *eval.Judgement) {}

// last is what of the conversation came last in a call: the results of functions, or texts.
func last(c *eval.Call) string {
	var out []string
	for _, p := range c.Contents[len(c.Contents)-1].Parts {
		back, ok := p.(eval.ResultPart)
		switch {
		case ok && back.Result.Failed:
			out = append(out, fmt.Sprintf("%s %s failed: %s", back.Result.ID, back.Result.Name, back.Result.Text))
		case ok:
			out = append(out, fmt.Sprintf("%s %s: %s", back.Result.ID, back.Result.Name, back.Result.Text))
		default:
			out = append(out, p.(eval.TextPart).Text)
		}
	}
	return strings.Join(out, "; ")
}

func (s *scripted) lasts() (out []string) {
	for i := range s.sent {
		out = append(out, last(&s.sent[i]))
	}
	return out
}

// A tool loop continues to the model's answer. Results go back in the order of the calls, after the model's own turn
// as it came.
func TestToolLoopContinuesToTheAnswer(t *testing.T) {
	t.Parallel()
	s := script(
		calls(call("1", "run", `{"b": 1}`), call("2", "get", `{"id": "4711"}`)), calls(call("3", "get", `{"id": null}`)), says("done", "STOP"),
	)
	scored := "{equals: done}, {latency: 30ms}, {steps: {max: 3}}"
	r := tooled{prompt: oncePrompt, scorers: scored, cfg: config(&s.fake, 1)}.result(t.Context(), t)
	expect.Same(t, "what came last", s.lasts(), []string{
		"first Bern", `1 run: {"b": 1}; 2 get: {"id": "4711", "to": "Bern"}`, `3 get: {"id": "", "to": "Bern"}`,
	})
	own := s.sent[1].Contents[1].Parts
	expect.Same(t, "the model's own turn", string(own[1].(eval.RawPart).Raw), `{"functionCall":{"id":"2","name":"get"},"signature":"s"}`)
	expect.Same(t, "the outcome", r.Outcome(), eval.Pass)
	expect.Same(t, "the answer", r.Response.Text(), "done")
	expect.Same(t, "the request", len(r.Request.Contents), 5)
	expect.Same(t, "the usage", *r.Usage, eval.Usage{PromptTokens: 3, OutputTokens: 6, TotalTokens: 9, Source: eval.UsageService})
	expect.Same(t, "steps", len(r.Calls), 3)
	expect.Same(t, "attempts", r.Timing.Attempts, 3)
	expect.Same(t, "results of the last", r.Calls[2].Results, nil)
	if s.sent[0].ToolResults == "" || len(s.sent[2].Tools) != 3 || s.sent[0].TrialID != r.ID || s.sent[1].TrialID == s.sent[2].TrialID {
		t.Errorf("%+v, want tools in each call, and a name of its own for each", s.sent)
	}
}

// The loop ends where the suite has no answer, where the steps are used up, and where the answer was cut; what came is scored.
func TestToolLoopEnds(t *testing.T) {
	t.Parallel()
	one := calls(call("1", "get", `{"id": "1"}`))
	cut := calls(call("1", "get", `{"id": "1"}`))
	cut.Candidates[0].FinishReason = "MAX_TOKENS"
	bare := calls(call("1", "get", "{}"), call("2", "bare", "{}"))
	for name, test := range map[string]struct {
		answers []*eval.Response
		calls   int
		turns   int
		reason  string
	}{
		"at once":         {[]*eval.Response{says("x", "STOP")}, 1, 0, "STOP"},
		"maxSteps":        {[]*eval.Response{one, one, one, one}, 4, 4, "TOOL_CALLS"},
		"an unknown call": {[]*eval.Response{bare}, 1, 0, "TOOL_CALLS"},
		"later on":        {[]*eval.Response{one, bare}, 2, 2, "TOOL_CALLS"},
		"cut":             {[]*eval.Response{cut}, 1, 0, "MAX_TOKENS"},
		"blocked":         {[]*eval.Response{one, says("", "SAFETY")}, 2, 2, "SAFETY"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := script(test.answers...)
			r := tooled{prompt: oncePrompt, scorers: "{finishReason: " + test.reason + "}", cfg: config(&s.fake, 1)}.result(t.Context(), t)
			expect.Same(t, "the outcome", r.Outcome(), eval.Pass)
			expect.Same(t, "calls", len(s.sent), test.calls)
			expect.Same(t, "turns", len(r.Calls), test.turns)
			expect.Same(t, "the finish reason", r.Response.Candidates[0].FinishReason, test.reason)
		})
	}
}

// In a live chat each turn of the user has its loop, within the steps of the whole trial.
func TestEachTurnOfAChatHasItsToolLoop(t *testing.T) {
	t.Parallel()
	one := calls(call("1", "get", `{"id": "1"}`))
	s := script(one, says("reply", "STOP"), one, says("done", "STOP"))
	r := tooled{
		prompt: livePrompt, scorers: "{equals: done}, {equals: reply, turn: 1}, {equals: done, turn: 2}, {latency: {max: 20ms}, turn: 2}",
		cfg: config(&s.fake, 1),
	}.result(t.Context(), t)
	const back = `1 get: {"id": "1", "to": "Bern"}`
	expect.Same(t, "what came last", s.lasts(), []string{"first Bern", back, "second", back})
	expect.Same(t, "the reply in the conversation", s.sent[3].Contents[3].Parts[0].(eval.TextPart).Text, "reply")
	expect.Same(t, "the outcome", r.Outcome(), eval.Pass)
	expect.Same(t, "turns", len(r.Calls), 4)

	greedy := script(one, one, one, says("never", "STOP")) // a step is left for the second turn
	r = tooled{prompt: livePrompt, scorers: "{finishReason: TOOL_CALLS}, {contains: x, turn: 2}", cfg: config(&greedy.fake, 1)}.
		result(t.Context(), t)
	expect.Same(t, "calls", len(greedy.sent), 3)
	expect.Same(t, "the outcome", r.Outcome(), eval.Fail)
	expect.Same(t, "scores", [2]bool{r.Scores[0].Passed(), r.Scores[1].Passed()}, [2]bool{true, false})
}

// What a call comes to that cannot be carried out goes back to the model as an error.
func TestFailedToolsAreAnsweredWithTheError(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		command, function, args, want string
	}{
		"no argument":    {"", "get", `{"order": "1"}`, "1 get failed: the call has no argument `id`"},
		"no object":      {"", "get", `["1"]`, "1 get failed: the arguments are not a JSON object"},
		"nothing at all": {"", "get", ``, "1 get failed: the call has no argument `id`"},
		"exit status": {
			"[sh, -c, 'echo no luck >&2; exit 3']", "run", "{}",
			`1 run failed: the program "sh" ended with exit status 3; its standard error: no luck`,
		},
		"no UTF-8":    {`[printf, '\377']`, "run", "{}", `1 run failed: the program "printf" wrote what is not UTF-8 text`},
		"too much":    {"[yes]", "run", "{}", `1 run failed: the program "yes" wrote more than 1048576 bytes; its standard error is empty`},
		"no input":    {"[cat]", "run", ``, `1 run: {}`},
		"line breaks": {`[printf, '\na\n\n']`, "run", "{}", "1 run: \na\n"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := script(calls(call("1", test.function, test.args)), says("x", "STOP"))
			r := tooled{prompt: oncePrompt, command: test.command, cfg: config(&s.fake, 1)}.result(t.Context(), t)
			expect.Same(t, "the result", last(&s.sent[1]), test.want)
			expect.Same(t, "whether it failed", r.Calls[0].Results[0].Failed, strings.Contains(test.want, " failed: "))
			expect.Same(t, "the outcome", r.Outcome(), eval.Pass)
		})
	}
}

// Arguments keep their form in templates, and what they hold is data.
func TestArgumentsKeepTheirFormInTemplates(t *testing.T) {
	t.Parallel()
	const args = `{"n": 1.50, "flag": true, "off": false, "list": [1, "{{.city}}"], "of": {"a": null}, "big": 12345678901234567890}`
	for text, want := range map[string]string{
		`"{{.args.n}} {{.args.big}}"`:                                "1.50 12345678901234567890",
		`"{{json .args.of}} {{json .args.list}}"`:                    `{"a":null} [1,"{{.city}}"]`,
		`"{{range .args.list}}[{{.}}]{{end}}"`:                       "[1][{{.city}}]",
		`"{{if .args.flag}}yes{{end}}{{index .args.list 0}}"`:        "yes1",
		`"{{if .args.off}}yes{{end}}{{if gt .args.n 1}}more{{end}}"`: "more",
		`"{{index .args.list 7}}"`: "the result cannot be made of the arguments: error calling index: no item 7 in a list " +
			"of 2",
		`"{{.args.of.b}}"`: "the result cannot be made of the arguments: there is no `b`, only a",
		`"{{if eq .args.n \"1.50\"}}same{{end}} {{.city | upper}}"`: "same BERN",
	} {
		s := script(calls(call("1", "get", args)), says("x", "STOP"))
		r := tooled{prompt: oncePrompt, text: text, cfg: config(&s.fake, 1)}.result(t.Context(), t)
		expect.Same(t, text, r.Calls[0].Results[0].Text, want)
	}
}

// What ends a loop in the middle is an error that names the step; what was answered stays.
func TestErrorsInAToolLoopNameTheStep(t *testing.T) {
	t.Parallel()
	one := calls(call("1", "get", `{"id": "1"}`))
	many := calls(slices.Repeat(one.Candidates[0].FunctionCalls(), 129)...)
	for name, test := range map[string]struct {
		prompt  string
		answers []*eval.Response
		kind    eval.ErrorKind
		message string
		turns   int
	}{
		"budget":         {oncePrompt, []*eval.Response{one, nil}, eval.KindUnscored, "step 2: the budget is spent", 1},
		"status":         {oncePrompt, []*eval.Response{one, one}, eval.KindStatus, "step 3: call 3 was not expected", 2},
		"no candidates":  {oncePrompt, []*eval.Response{one, {}}, eval.KindNoCandidates, "step 2: the answer has no candidates", 2},
		"too many calls": {oncePrompt, []*eval.Response{many}, eval.KindTooLarge, "the answer calls functions 129 times", 1},
		"nothing at all": {oncePrompt, []*eval.Response{{}}, eval.KindNoCandidates, "the answer has no candidates", 0},
		"in a chat":      {livePrompt, []*eval.Response{says("x", "STOP"), one}, eval.KindStatus, "turn 2, step 2: call 3 was not", 2},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := script(test.answers...)
			r := tooled{prompt: test.prompt, cfg: config(&s.fake, 1)}.result(t.Context(), t)
			expect.Same(t, "the outcome", r.Outcome(), eval.Err)
			expect.Same(t, "the kind", r.Err().Kind, test.kind)
			if !strings.HasPrefix(r.Err().Message, test.message) {
				t.Errorf("%v, want %q first", r.Err(), test.message)
			}
			expect.Same(t, "turns", len(r.Calls), test.turns)
			expect.Same(t, "over budget", r.overBudget(), name == "budget")
		})
	}
}

// Results that no prompt can hold end the trial.
func TestResultsAreBounded(t *testing.T) {
	t.Parallel()
	s := script(calls(slices.Repeat([]eval.FunctionCall{call("1", "run", "{}")}, 9)...))
	r := tooled{prompt: oncePrompt, command: "[head, -c, '1000000', /dev/zero]", cfg: config(&s.fake, 1)}.result(t.Context(), t)
	expect.Same(t, "the kind", r.Err().Kind, eval.KindOverLimit)
	expect.Same(t, "calls", len(s.sent), 1)
	expect.Same(t, "turns", len(r.Calls), 1)
}

// A trial whose first step is over the budget is skipped.
func TestAToolLoopOverBudgetIsSkipped(t *testing.T) {
	t.Parallel()
	s := script(nil)
	r := tooled{prompt: oncePrompt, cfg: config(&s.fake, 1)}.result(t.Context(), t)
	expect.Same(t, "the outcome", r.Outcome(), eval.Skip)
}

// Steps are written down as they come: once where texts answer, before and after where programs run. What is known
// from before is not done again.
func TestStepsAreKept(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	const command = `[sh, -c, 'echo ran >> ran; cat']`
	ran := func() int {
		text, _ := os.ReadFile(filepath.Join(dir, "ran"))
		return strings.Count(string(text), "ran")
	}
	run, get := calls(call("1", "run", `{"a":1}`)), calls(call("2", "get", `{"id":"1"}`))
	s := script(run, get, says("x", "STOP"))
	k := &keeper{}
	cfg := config(&s.fake, 1)
	cfg.Keeper = k
	one := tooled{dir: dir, prompt: oncePrompt, command: command, cfg: cfg}
	first := one.result(t.Context(), t)
	var kept []string
	for _, r := range k.calls {
		kept = append(kept, fmt.Sprint(len(r.Calls), len(r.Calls[len(r.Calls)-1].Results), len(r.Request.Contents)))
	}
	expect.Same(t, "the lines", kept, []string{"1 0 1", "1 1 1", "2 1 3"})
	expect.Same(t, "programs", ran(), 1)

	for known, want := range map[int]struct{ calls, programs int }{1: {2, 1}, 2: {2, 0}, 3: {1, 0}} {
		before := ran()
		turns := slices.Clone(k.calls[known-1].Calls)
		rest := script([]*eval.Response{run, get, says("x", "STOP")}[3-want.calls:]...)
		one.cfg = config(&rest.fake, 1)
		one.cfg.EarlierRuns.Trial = func(*runner.Planned) runner.EarlierTrial { return runner.BegunTrial{Calls: turns} }
		second := one.result(t.Context(), t)
		expect.Same(t, fmt.Sprintf("calls after %d lines", known), len(rest.sent), want.calls)
		expect.Same(t, fmt.Sprintf("programs after %d lines", known), ran()-before, want.programs)
		expect.Same(t, "the outcome", second.Outcome(), eval.Pass)
		expect.Same(t, "results", second.Calls[0].Results, first.Calls[0].Results)
		expect.Same(t, "the usage", *second.Usage, *first.Usage)
		expect.Same(t, "attempts", second.Timing.Attempts, 3)
	}
}

// Recorded results are taken instead of running a program.
func TestRecordedResultsReplacePrograms(t *testing.T) {
	t.Parallel()
	s := script(calls(call("1", "run", "{}")), says("x", "STOP"))
	generate := s.generate
	s.generate = func(ctx context.Context, c *eval.Call) (*eval.Response, error) {
		resp, err := generate(ctx, c)
		if len(s.sent) == 1 {
			c.Results = []eval.CallResult{{ID: "1", Name: "run", Text: "recorded"}}
		}
		return resp, err
	}
	r := tooled{prompt: oncePrompt, command: "[sh, -c, 'touch ran']", cfg: config(&s.fake, 1)}.result(t.Context(), t)
	expect.Same(t, "the result", last(&s.sent[1]), "1 run: recorded")
	expect.Same(t, "steps", len(r.Calls), 2)
}

// A program that hangs is abandoned with the run; the paid answer stays.
func TestToolsAreAbandoned(t *testing.T) {
	defer goleak.VerifyNone(t)
	ctx, cancel := context.WithCancel(t.Context())
	dir := t.TempDir()
	s := script(calls(call("1", "run", "{}")))
	k := &keeper{}
	cfg := config(&s.fake, 1)
	cfg.Keeper = k
	go func() {
		for {
			if _, err := os.Stat(filepath.Join(dir, "begun")); err == nil {
				cancel()
				return
			}
		}
	}()
	r := tooled{dir: dir, prompt: oncePrompt, command: "[sh, -c, 'touch begun; sleep 600']", cfg: cfg}.result(ctx, t)
	expect.Same(t, "the outcome", r.Outcome(), eval.Err)
	expect.Same(t, "the error", *r.Err(), eval.Error{Kind: eval.KindTransport, Message: "abandoned when the run was stopped"})
	expect.Same(t, "turns", len(r.Calls), 1)
	expect.Same(t, "lines", len(k.calls), 1)
}

// The answers of the suite to calls are a part of the request.
func TestAnswersToCallsArePartOfTheRequest(t *testing.T) {
	t.Parallel()
	base := strings.NewReplacer("ASKED", oncePrompt, "COMMAND", "[cat]", "SCORERS", "{contains: x}").Replace(toolSuite)
	seen := map[string]string{}
	for name, edit := range map[string][2]string{
		"the same": {"", ""}, "another text": {`"to"`, `"for"`}, "another command": {"[cat]", "[cat, -u]"},
		"more steps":   {"maxSteps: 4", "maxSteps: 5"},
		"another tool": {"{name: bare}", "{name: naked}"}, "a choice": {"maxSteps", "toolChoice: auto\n    maxSteps"},
		"another city": {"city: Bern", "city: Basel"}, "no answer": {"run: {command: [cat], timeout: 20s}", ""},
		"no tools": {base[strings.Index(base, "    tools"):strings.Index(base, "    text")], ""},
	} {
		for tr := range plan(t, strings.Replace(base, edit[0], edit[1], 1), runner.Filter{}).Trials() {
			if other, twice := seen[tr.ID]; twice {
				t.Errorf("%s and %s: got the same id, want two", name, other)
			}
			seen[tr.ID] = name
		}
	}
	expect.Same(t, "ids", len(seen), 9)
}
