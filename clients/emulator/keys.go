package emulator

import (
	"math"
	"slices"

	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/service"
	"github.com/evalrun/evalrun/internal/shape"
)

// The keys of a script. Both the reader and the JSON Schema use these tables.

var scriptBlock = shape.Block{Keys: []shape.Key{
	{
		Name: "rules",
		Is:   shape.List(ruleBlock.Shape()),
		Doc:  "The first rule that matches answers; without a match comes a deterministic echo.",
	},
	{Name: "usage", Is: shape.Bool, Doc: "Whether answers carry usageMetadata."},
	{
		Name: "unknownFields",
		Is:   shape.Number(0, 1),
		Doc:  "The share of answers that are indented and carry fields that the specification does not name.",
	},
	{
		Name: "requestFields",
		Is:   shape.OneOrList(shape.Text),
		Doc: "Top-level fields that a request may have in addition to the service's own; every other one is refused. " +
			"Without the list all are accepted.",
	},
}}

var ruleBlock = shape.Block{Keys: []shape.Key{
	{Name: "match", Is: matchBlock.Shape(), Doc: "All that are given must hold; without `match` the rule answers everything."},
	{Name: "reply", Is: shape.Text, Doc: "The text of the answer; a template with " + listed(replyVariables) + "."},
	{Name: "toolCalls", Is: shape.List(callBlock.Shape()), Doc: "Functions that the answer calls, after the text if there is one."},
	{Name: "reasoning", Is: shape.Text, Doc: "A thought before the answer, a template; calls are then signed."},
	{Name: "replies", Is: shape.List(replyBlock.Shape()), Doc: "The emulator draws one of these answers."},
	{
		Name: "raw",
		Is:   shape.Either(shape.Text, shape.Map(shape.Any), shape.List(shape.Either(shape.Text, shape.Map(shape.Any)))),
		Doc:  "The literal reply: a text is sent as it is, a mapping is the JSON of the reply, a list has the chunks of a stream.",
	},
	{Name: "finishReason", Is: shape.Suggesting(slices.Concat([]string{"STOP", eval.CutReason, "OTHER"}, emptyReasons)...)},
	{Name: "safetyRatings", Is: shape.List(ratingBlock.Shape()), Doc: "They block when the request's threshold says so."},
	{Name: "usage", Is: usageBlock.Shape(), Doc: "Counts that usageMetadata carries in addition; it is then sent."},
	{
		Name: "unknownFields",
		Is:   shape.Number(0, 1),
		Doc:  "The share of this rule's answers that carry unknown fields, instead of the script's.",
	},
	{Name: "blockReason", Is: shape.Text, Doc: "The prompt itself is blocked: no candidates."},
	{Name: "latency", Is: shape.Either(shape.Duration, latencyBlock.Shape()), Doc: "How long the answer takes, or its distribution."},
	{Name: "stream", Is: streamBlock.Shape(), Doc: "How a streamed answer comes."},
	{Name: "faults", Is: shape.List(faultBlock.Shape()), Doc: "What goes wrong."},
}}

var matchBlock = shape.Block{Keys: []shape.Key{
	{Name: "model", Is: shape.Text, Doc: "A glob of models."},
	{Name: "text", Is: shape.Text, Doc: "A glob of the question: the last user turn that is more than results of functions."},
	{Name: "regex", Is: shape.Text, Doc: "A regular expression (RE2) in the question."},
	{Name: "image", Is: shape.Bool, Doc: "Whether there is an image."},
	{Name: "turns", Is: shape.Int(1, math.MaxInt16), Doc: "How many turns there are."},
	{Name: "system", Is: shape.Text, Doc: "A glob of the system instruction."},
	{
		Name: "step",
		Is:   shape.Int(1, math.MaxInt16),
		Doc:  "Which answer to the question this is: 1 before there are results of functions, 2 after the first ones.",
	},
	{Name: "result", Is: shape.Text, Doc: "A glob of functions; one of them has a result in the last turn."},
	{Name: "resultText", Is: shape.Text, Doc: "A glob of that result as JSON."},
}}

var callBlock = shape.Block{
	Need: []string{"name"},
	Keys: []shape.Key{
		{Name: "name", Is: shape.Text, Doc: "The function."},
		{Name: "args", Is: shape.Map(shape.Any), Doc: "Its arguments; texts in them are templates."},
		{Name: "id", Is: shape.Text, Doc: "The id of the call, which its result must carry too."},
	},
}

var usageBlock = shape.Block{Keys: []shape.Key{
	{Name: "cachedContentTokenCount", Is: shape.Int(0, math.MaxInt32), Doc: "Tokens of the prompt that came from a cache."},
	{Name: "toolUsePromptTokenCount", Is: shape.Int(0, math.MaxInt32), Doc: "Tokens of results of the service's own tools."},
}}

var replyBlock = shape.Block{
	Some: []string{"text", "toolCalls"},
	Keys: []shape.Key{
		{Name: "text", Is: shape.Text, Doc: "The text of the answer."},
		{Name: "toolCalls", Is: shape.List(callBlock.Shape()), Doc: "Functions that the answer calls."},
		{Name: "reasoning", Is: shape.Text, Doc: "A thought before the answer."},
		{Name: "weight", Is: shape.Number(1e-9, 1e9), Doc: "How often it is drawn, relative to the others (default 1)."},
	},
}

var ratingBlock = shape.Block{
	Need: []string{"category", "probability"},
	Keys: []shape.Key{
		{Name: "category", Is: shape.Suggesting(service.Categories...)},
		{Name: "probability", Is: shape.Suggesting(eval.Probabilities...)},
	},
}

var streamBlock = shape.Block{Keys: []shape.Key{
	{Name: "chunks", Is: shape.Int(1, 1_000_000), Doc: "In how many pieces."},
	{Name: "gap", Is: shape.Duration, Doc: "The time between two of them."},
}}

var latencyBlock = shape.Block{
	Need: []string{"p50", "p99"},
	Keys: []shape.Key{
		{Name: "p50", Is: shape.Duration, Doc: "The median."},
		{Name: "p99", Is: shape.Duration, Doc: "What one answer in a hundred exceeds."},
	},
}

var malformations = []string{"json", "html", "empty", "type", "none", "error"}

var faultBlock = shape.Block{
	Some: []string{"status", "hang", "cut", "endless", "malformed"},
	Keys: []shape.Key{
		{Name: "status", Is: shape.Int(400, 599), Doc: "An HTTP status."},
		{Name: "message", Is: shape.Text, Doc: "The message of the error."},
		{Name: "retryAfter", Is: shape.Duration, Doc: "When to try again."},
		{Name: "hang", Is: shape.Bool, Doc: "The answer never comes."},
		{Name: "cut", Is: shape.Bool, Doc: "The connection breaks within the answer."},
		{Name: "endless", Is: shape.Either(shape.Bool, shape.Duration), Doc: "The answer never ends; a duration is the time between two pieces."},
		{Name: "after", Is: shape.Int(0, math.MaxInt32), Doc: "The fault comes after N chunks of a stream."},
		{Name: "malformed", Is: shape.Either(shape.Bool, shape.Word(malformations...)), Doc: "What is wrong with the answer."},
		{Name: "rate", Is: shape.Number(0, 1), Doc: "The share of requests that it hits."},
		{Name: "first", Is: shape.Int(1, math.MaxInt32), Doc: "It hits only the first N requests."},
	},
}

// Shape returns the schema of scripts.
func Shape(templates bool) shape.Schema { return scriptBlock.Shape()(templates) }
