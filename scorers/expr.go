package scorers

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/evalrun/evalrun/diag"
	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/clients/wire"
	"github.com/evalrun/evalrun/internal/expr"
	"github.com/evalrun/evalrun/internal/yaml"
	"github.com/evalrun/evalrun/suite"
)

func exprKind() Kind {
	return Kind{
		Name: "expr", Version: 2, Summary: "an expression over the answer, its numbers and the variables of the case",
		Doc: "Takes an expression of expr-lang that gives true or false, or a number from 0 to 1, which passes at 1 or at the " +
			"`threshold` next to the kind. It can name:\n\n" +
			"- `answer`, the text of the chosen candidate; `candidates`, each with `text`, `finishReason` and `safetyRatings` " +
			"(`category`, `probability`, `blocked`)\n" +
			"- `vars`, the variables of the case: texts, and lists and mappings with the types of their values\n" +
			"- `usage`: `promptTokens`, `outputTokens`, `totalTokens`, `cachedTokens`, `reasoningTokens`, `toolUseTokens`, " +
			"`source`\n" +
			"- `timing`: `latencyMs`, `firstTokenMs`, `queuedMs`, `attempts`\n" +
			"- `safety`, the probability of each category, such as `safety.HARM_CATEGORY_HARASSMENT`\n" +
			"- `calls`, the tool calls of the whole trial, each with `name`, `args` (a mapping, or nil), `result` (a text), " +
			"`status` (ok, failed, or none without a result) and `failed`; `steps`, the number of calls of the model\n" +
			"- `parts`, the pieces of the chosen candidate, each with one of `text`, `reasoning`, `call` and `other` (the other " +
			"texts are \"\", the rest is nil)\n" +
			"- `finishReason`, TOOL_CALLS for an answer that ends in tool calls; `blocked`, true for a block\n\n" +
			"A `let` may hide any of these. Another name, or a variable that a case does not have, is an error before the first " +
			"call, unless it says `vars.x ?? \"\"`. Write `vars.x` rather than `\"{{.x}}\"`: it stays data. A variable that is a " +
			"number by itself is a text: `int(vars.n)`. Inside a list or a mapping it is a number: `vars.limits.max + 1`; one that " +
			"is too long to count with is a text.\n\n" +
			"An answer without text fails where `answer` is named, and one that was blocked or never came where `calls` or `parts` " +
			"is. A number outside 0 to 1, a missing rating, a calculation without a finite result (`1 / 0`) and an expression " +
			"without a value (`int(\"many\")`) are unscored. Expressions have at most 4096 bytes, two loops inside each other and " +
			"no clock; one that takes too much is unscored.",
		Example: "- expr: answer contains \"Paris\" and usage.outputTokens < 64", takes: yaml.Text, compile: compileExpr,
	}
}

func compileExpr(a args) AnswerScorer {
	if !a.Args.IsScalar() {
		a.Args.Errorf(
			"such as `expr: len(answer) < 100`; quote it when it begins with [ or {", "`expr` takes an expression, found %s",
			a.Args.Describe(),
		)
		return nil
	}
	program, err := expr.Compile(a.Args.Str(), exprEnv{}, expr.Grade)
	if err != nil {
		e := expr.AsSyntaxError(err)
		a.Args.ErrorfAt(e.Offset, e.Hint, "in the expression: %s", e.Message)
		return nil
	}
	for _, r := range program.Reads() {
		a.readsOf(r)
	}
	scorer := exprScorer{program}
	if program.Uses("vars") {
		at := a.Args
		a.needs.Tries = append(a.needs.Tries, func(vars eval.Dict, diags *diag.List) {
			if e := scorer.try(vars); e != nil {
				at.WithDiags(diags).Errorf(
					"variables are texts: int(vars.x) or float(vars.x) makes a number of one",
					"in the expression: %s", diag.CleanLine(e.Error()),
				)
			}
		})
	}
	return scorer
}

// readsOf records what a value that the expression reads needs.
func (a args) readsOf(r expr.Read) {
	switch {
	case r.Path[0] == "vars" && len(r.Path) == 1:
		a.needs.AllVariables = true
	case r.Path[0] == "vars":
		a.needs.Variables = append(
			a.needs.Variables, suite.VariableUse{Name: r.Path[1], Pos: a.Args.Offset(r.Offset), Optional: r.Optional},
		)
	case r.Path[0] == "safety" && len(r.Path) > 1 && !slices.Contains(wire.Categories, r.Path[1]):
		a.Args.Warnf(diag.DidYouMean(r.Path[1], wire.Categories), "the service's specification names no category `%s`", r.Path[1])
	case r.Path[0] == "steps":
		a.needs.Model = r.Path[0]
	case r.String() == "timing.firstTokenMs":
		a.needs.Stream = r.String()
	case r.Path[0] == "timing":
		a.needs.Latency = true
	}
}

// try evaluates the expression with the variables of a case and an empty answer. It reports type errors, which
// every answer would cause.
func (c exprScorer) try(vars eval.Dict) error {
	r := &eval.Response{Candidates: []eval.Candidate{{FinishReason: "STOP"}}}
	_, err := c.program.Run(newExprEnv(&Answer{Response: r, Candidate: &r.Candidates[0], Vars: vars}, c.program.Uses))
	var e *expr.RunError
	if errors.As(err, &e) && e.OfTypes && e.OfTexts {
		return err
	}
	return nil
}

type exprScorer struct{ program *expr.Expression }

// Score evaluates the expression, provided that all values it reads exist.
func (c exprScorer) Score(a *Answer) Finding {
	env := newExprEnv(a, c.program.Uses)
	if f, missing := c.missing(a, env); missing {
		return f
	}
	text := cutText(strings.Join(strings.Fields(c.program.Text()), " "))
	result, err := c.program.Run(env)
	if err != nil {
		return Unscored("%s: %s%s%s", text, cutText(diag.CleanLine(err.Error())), c.seen(env), c.ofTexts(err))
	}
	value, err := expr.Graded(result)
	switch _, isBool := result.(bool); {
	case err != nil:
		return Unscored("%s: %s%s", text, err, c.seen(env))
	case !isBool:
		return Graded(value, value == 1, "%s is %.6g%s", text, value, c.seen(env))
	case value == 1:
		return Pass("%s is true%s", text, c.seen(env))
	}
	return Fail("%s is false%s", text, c.seen(env))
}

// ofTexts adds a hint that variables are texts to a type error.
func (c exprScorer) ofTexts(err error) string {
	var e *expr.RunError
	if !c.program.Uses("vars") || !errors.As(err, &e) || !e.OfTexts {
		return ""
	}
	return "; variables are texts: int(vars.x) or float(vars.x) makes numbers of them"
}

// missing reports values that the expression reads and the answer lacks.
func (c exprScorer) missing(a *Answer, env exprEnv) (Finding, bool) {
	uses := c.program.Uses
	if f, none := c.unanswered(a); none {
		return f, true
	}
	switch {
	case uses("safety") && len(env.Safety) == 0:
		return Unscored("the answer has no safety ratings"), true
	case uses("timing") && a.Timing.Batch != "":
		return unscoredInBatch(), true
	case uses("timing", "firstTokenMs") && a.Timing.Chunks == 0:
		return Unscored("the answer was not streamed: set `stream: true` on the target"), true
	}
	for _, r := range c.program.Reads() {
		if f, none := missingRead(r, env); none {
			return f, true
		}
	}
	return Finding{}, false
}

// unanswered is the finding for an answer without text, or cut short, when the expression reads the missing part.
func (c exprScorer) unanswered(a *Answer) (Finding, bool) {
	if f, none := noText(a); none && c.needsAnswer(a) {
		return f, true
	}
	f, short := cutShort(a)
	return f, short && (c.program.Uses("calls") || c.program.Uses("parts"))
}

func missingRead(r expr.Read, env exprEnv) (Finding, bool) {
	if _, ok := r.Value(env); ok || r.Optional || len(r.Path) == 1 {
		return Finding{}, false
	}
	switch r.Path[0] {
	case "safety":
		return Unscored("the answer has no rating for %s", quote(r.Path[1])), true
	case "vars":
		return Unscored("the case has no variable %s", quote(strings.Join(r.Path[1:], "."))), true
	}
	return Finding{}, false
}

// needsAnswer reports whether the expression reads what an answer without text lacks.
func (c exprScorer) needsAnswer(a *Answer) bool {
	uses := c.program.Uses
	return uses("answer") || a.Candidate == nil && uses("finishReason") || len(a.Response.Candidates) == 0 && uses("candidates")
}

// maxSeen is the number of values that a reason shows.
const maxSeen = 5

// seen shows the short ones of the values that the expression read.
func (c exprScorer) seen(env exprEnv) string {
	var out []string
	for _, r := range c.program.Reads() {
		v, ok := r.Value(env)
		if !ok {
			continue
		}
		shown := shownValue(v)
		if shown == "" {
			continue
		}
		if one := r.String() + ": " + shown; !slices.Contains(out, one) && len(out) < maxSeen {
			out = append(out, one)
		}
	}
	if len(out) == 0 {
		return ""
	}
	return " (" + strings.Join(out, ", ") + ")"
}

// shownValue shows a value in a reason, "" when it is too large.
func shownValue(v any) string {
	switch v := v.(type) {
	case string:
		return quote(v)
	case map[string]any, map[string]string, []exprCandidate, []exprPart:
		return ""
	case float64:
		return fmt.Sprintf("%.6g", v)
	}
	data, err := json.Marshal(v)
	if err != nil || len(data) > maxQuoted {
		return ""
	}
	return cutText(string(data))
}
