package runner

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/clients/wire"
	"github.com/evalrun/evalrun/internal/files"
	"github.com/evalrun/evalrun/suite"
)

// MaxCalls is how many calls of the model the trial takes at most, retries aside.
func (t *Planned) MaxCalls() int {
	if t.tools == nil {
		return t.Request.UserTurns()
	}
	return t.tools.MaxSteps
}

// answers reports whether the suite answers what the model calls. It has an answer to every call, and after the next
// call of the model one is left for each later turn of the user.
func (a *scoring) answers(c *eval.Candidate) bool {
	return c.FinishReason == toolCalls && a.trial.tools.Answer(c.FunctionCalls()) && len(a.result.Calls)+a.turnsLeft() < a.trial.tools.MaxSteps
}

// toolCalls is the finish reason of an answer that ends in calls.
const toolCalls = "TOOL_CALLS"

func (a *scoring) lastCalls() []eval.FunctionCall {
	return a.result.Calls[len(a.result.Calls)-1].FunctionCalls()
}

// startsPrograms reports whether answering the last calls takes a program.
func (a *scoring) startsPrograms() bool {
	return slices.ContainsFunc(a.lastCalls(), func(c eval.FunctionCall) bool { return a.trial.tools.Of(c.Name).Command != nil })
}

// maxCallsOfStep bounds the tool calls that one answer may make.
const maxCallsOfStep = 128

// answerCalls answers the last calls, and writes the results down. A call that cannot be carried out has a result
// that says so. The error is an *eval.Error: there is too much to answer, the run was stopped, or a program is not
// there.
func (r *run) answerCalls(ctx context.Context, a *scoring) error {
	calls := a.lastCalls()
	if len(calls) > maxCallsOfStep {
		return eval.Errorf(
			eval.KindTooLarge, "the answer calls functions %d times; at most %d calls are answered",
			len(calls), maxCallsOfStep,
		)
	}
	var all []eval.CallResult
	size := 0
	for _, call := range calls {
		text, err := r.answerCall(ctx, a, &call)
		var e *eval.Error
		if errors.As(err, &e) {
			return e
		}
		one := eval.CallResult{ID: call.ID, Name: call.Name, Text: text}
		if err != nil {
			one.Text, one.Failed = err.Error(), true
		}
		if size += len(one.Text); size > wire.MaxPromptBytes {
			return eval.Errorf(
				eval.KindOverLimit, "the results have %d bytes or more; at most %d are allowed in a prompt", size, wire.MaxPromptBytes,
			)
		}
		all = append(all, one)
	}
	a.result.Calls[len(a.result.Calls)-1].Results = all
	r.keepCall(a)
	return nil
}

func (r *run) answerCall(ctx context.Context, a *scoring, call *eval.FunctionCall) (string, error) {
	args, err := arguments(call.Args)
	if err != nil {
		return "", err
	}
	answer := a.trial.tools.Of(call.Name)
	if answer.Command == nil {
		return answer.Text(args, a.trial.vars)
	}
	return r.runTool(ctx, answer, call.Args)
}

func arguments(raw json.RawMessage) (eval.Object, error) {
	if len(raw) == 0 {
		return nil, nil
	}
	args, err := eval.ParseValue(raw)
	if err != nil && !errors.Is(err, eval.ErrJSON) {
		return nil, err
	}
	switch args := args.(type) {
	case eval.Object:
		return args, nil
	case eval.Null:
		return nil, nil
	}
	return nil, errors.New("the arguments are not a JSON object")
}

// runTool runs the program that answers a call, as soon as fewer than programsPerCPU run for each CPU.
func (r *run) runTool(ctx context.Context, answer *suite.ToolAnswer, args json.RawMessage) (string, error) {
	c := answer.Command
	switch {
	case c.Gone != nil:
		return "", eval.Errorf(eval.KindProgram, "the program %q cannot be run any more: %s", c.Words[0], c.Gone)
	case c.Path == "":
		return "", eval.Errorf(eval.KindProgram, "the program %q cannot be run: the suite does not come from a folder", c.Words[0])
	}
	select {
	case r.programs <- struct{}{}:
		defer func() { <-r.programs }()
	case <-ctx.Done():
		return "", eval.Errorf(eval.KindCanceled, "canceled")
	}
	if len(args) == 0 {
		args = json.RawMessage("{}")
	}
	command := files.Invocation{
		Path:    c.Path,
		Args:    c.Words[1:],
		Dir:     c.Dir,
		Input:   append(bytes.Clone(args), '\n'),
		Timeout: answer.Timeout,
		Stop:    ctx.Done(),
		Pass:    answer.Env,
		Keys:    r.Environment.Keys,
	}
	out, err := command.Output()
	hidden := wire.OfVariables(answer.Env)
	switch {
	case errors.Is(err, files.ErrStopped):
		return "", eval.Errorf(eval.KindCanceled, "canceled")
	case err != nil:
		return "", fmt.Errorf("the program %q %s", c.Words[0], hidden.OutOf(err.Error()))
	case !utf8.Valid(out):
		return "", fmt.Errorf("the program %q wrote what is not UTF-8 text", c.Words[0])
	}
	return hidden.OutOfText(strings.TrimSuffix(strings.TrimSuffix(string(out), "\n"), "\r")), nil
}
