package reports

import (
	"strings"
	"testing"

	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/testing/expect"
)

// Calls are named as the errors of a trial name them.
func TestCallsAreNamedAsInErrors(t *testing.T) {
	t.Parallel()
	step, last := eval.AnsweredCall{Results: []eval.CallResult{{Name: "f"}}}, eval.AnsweredCall{}
	for name, test := range map[string]struct {
		live  bool
		turns []eval.AnsweredCall
		want  string
	}{
		"a chat":             {true, []eval.AnsweredCall{last, last}, "turn 1|turn 2"},
		"a loop":             {false, []eval.AnsweredCall{step, step, last}, "step 1|step 2|step 3"},
		"a chat with a step": {true, []eval.AnsweredCall{last, step, last}, "turn 1, step 1|turn 2, step 1|turn 2, step 2"},
		"broken off":         {false, []eval.AnsweredCall{step}, "step 1"},
	} {
		got := strings.Join(turnNames(&eval.Result{Request: &eval.Request{Live: test.live}, Calls: test.turns}), "|")
		expect.Same(t, name, got, test.want)
	}
}

// Usage names what it has, and who reported it.
func TestTokensInWordsNameTheirSource(t *testing.T) {
	t.Parallel()
	plain := eval.Usage{PromptTokens: 5, OutputTokens: 2, TotalTokens: 7, Source: eval.UsageService}
	rich := plain
	rich.CachedTokens, rich.ReasoningTokens, rich.ToolUseTokens, rich.TotalTokens = 4, 1, 3, 10
	for want, r := range map[string]*eval.Result{
		"5 prompt + 2 output = 7 (service)":                                        {Usage: &plain},
		"5 prompt (4 cached) + 3 tool use + 2 output (1 reasoning) = 10 (service)": {Usage: &rich},
		"5 prompt + 2 output = 7 (application)": {
			Usage: &plain, Request: &eval.Request{App: &eval.Rendered{Payload: eval.EchoRun{}}},
		},
	} {
		expect.Same(t, "tokens", tokensOf(r), want)
	}
}
