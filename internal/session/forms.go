package session

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/clients/anthropic"
	"github.com/evalrun/evalrun/internal/clients/app"
	"github.com/evalrun/evalrun/internal/clients/generative"
	"github.com/evalrun/evalrun/internal/clients/openai"
)

type givenCall struct {
	ID   string          `json:"id"`
	Name string          `json:"name"`
	Args json.RawMessage `json:"args"`
}

// givenUsage is a usage as run files have it, or with the more common word for the tokens of the prompt.
type givenUsage struct {
	eval.Usage
	InputTokens *int `json:"inputTokens"`
}

// UnmarshalJSON reads the numbers, which may not be negative. A usage without a source is one that was measured.
func (u *givenUsage) UnmarshalJSON(data []byte) error {
	type plain givenUsage // without this method
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.DisallowUnknownFields()
	if err := dec.Decode((*plain)(u)); err != nil {
		return fmt.Errorf("`usage`: %w", err)
	}
	if u.InputTokens != nil && u.PromptTokens != 0 && *u.InputTokens != u.PromptTokens {
		return errors.New("`usage` has `promptTokens` and `inputTokens`, which mean the same: leave one of them out")
	}
	if u.InputTokens != nil {
		u.PromptTokens = *u.InputTokens
	}
	numbers := []int{
		u.PromptTokens, u.OutputTokens, u.TotalTokens, u.CachedTokens, u.WrittenTokens, u.HourTokens, u.ReasoningTokens, u.ToolUseTokens,
	}
	parts := u.Long
	if u.Batch != nil {
		parts = append(append(parts, u.Batch.Billed), u.Batch.Long...)
	}
	for _, p := range parts {
		numbers = append(numbers, p.PromptTokens, p.OutputTokens, p.CachedTokens, p.WrittenTokens, p.HourTokens, p.ToolUseTokens)
	}
	for _, n := range numbers {
		if n < 0 {
			return fmt.Errorf("`usage` has the number %d of tokens, which is negative", n)
		}
	}
	u.Source = cmp.Or(u.Source, eval.UsageService)
	if !slices.Contains([]eval.UsageSource{eval.UsageService, eval.UsageCounted, eval.UsageEstimated}, u.Source) {
		return fmt.Errorf("`usage.source` is service, counted or estimated, and not %q", u.Source)
	}
	u.TotalTokens = max(u.TotalTokens, u.PromptTokens+u.OutputTokens+u.ToolUseTokens)
	return nil
}

// givenResponse is a response as run files have it, or as a service sent it, in the form of any of the protocols.
type givenResponse struct {
	eval.Response
	failed *eval.Error // the reply is an error, or an answer that the service did not finish
}

// UnmarshalJSON decides by the fields: in run files, candidates have a text of their own.
func (r *givenResponse) UnmarshalJSON(data []byte) error {
	var probe struct {
		Candidates []struct {
			Text *string `json:"text"`
		} `json:"candidates"`
		Choices json.RawMessage `json:"choices"` // of chat completions
		Output  json.RawMessage `json:"output"`  // of Responses
		Content json.RawMessage `json:"content"` // of messages
	}
	parse := generative.ParseReply
	if json.Unmarshal(data, &probe) == nil {
		switch {
		case len(probe.Candidates) > 0 && probe.Candidates[0].Text != nil:
			return json.Unmarshal(data, &r.Response)
		case probe.Choices != nil:
			parse = openai.ParseResponse
		case probe.Output != nil:
			parse = openai.ParseResponses
		case probe.Content != nil:
			parse = anthropic.ParseResponse
		}
	}
	parsed, err := parse(data)
	if e := eval.AsError(err); e != nil && e.Kind != eval.KindMalformed && e.Kind != eval.KindTooLarge {
		r.failed = e
		return nil
	} else if err != nil {
		return fmt.Errorf("`response` is neither that of a run file nor a reply of a service: %w", err)
	}
	r.Response = *parsed
	return nil
}

func checkCalls(calls []givenCall) error {
	for i, c := range calls {
		if c.Name == "" {
			return fmt.Errorf("`toolCalls[%d]` has no `name`", i)
		}
		if !bytes.HasPrefix(c.Args, []byte("{")) && !isNull(c.Args) {
			return fmt.Errorf("`toolCalls[%d].args` is not a JSON object", i)
		}
	}
	return nil
}

func isNull(raw json.RawMessage) bool { return len(raw) == 0 || string(raw) == "null" }

func (l *answerLine) calling() eval.Response {
	calls, text := make([]eval.FunctionCall, len(l.ToolCalls)), ""
	for i, c := range l.ToolCalls {
		calls[i] = eval.FunctionCall{ID: c.ID, Name: c.Name}
		if !isNull(c.Args) {
			calls[i].Args = c.Args
		}
	}
	if l.Text != nil {
		text = *l.Text
	}
	return eval.Response{Candidates: []eval.Candidate{app.Candidate(text, calls, l.FinishReason)}}
}

func answeringFile(text, finishReason string) eval.Response {
	return eval.Response{Candidates: []eval.Candidate{{Text: text, FinishReason: finishReason}}}
}
