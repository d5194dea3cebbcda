package emulator

import (
	"math"
	"slices"

	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/clients/wire"
	"github.com/evalrun/evalrun/internal/yaml"
)

// The keys of a script. Both the reader and the JSON Schema use these tables.

var scriptBlock = yaml.Block{Keys: []yaml.Key{
	{
		Name: "rules",
		Is:   yaml.List(ruleBlock.Shape()),
		Doc:  "The first rule that matches answers; without a match comes a deterministic echo.",
	},
	{Name: "usage", Is: yaml.Bool, Doc: "Whether answers carry usageMetadata."},
	{
		Name: "unknownFields",
		Is:   yaml.Number(0, 1),
		Doc:  "The share of answers that are indented and carry fields that the specification does not name.",
	},
	{
		Name: "requestFields",
		Is:   yaml.OneOrList(yaml.Text),
		Doc: "Top-level fields that a request may have in addition to the service's own; every other one is refused. " +
			"Without the list all are accepted.",
	},
}}

var ruleBlock = yaml.Block{Keys: []yaml.Key{
	{Name: "match", Is: matchBlock.Shape(), Doc: "All that are given must hold; without `match` the rule answers everything."},
	{Name: "reply", Is: yaml.Text, Doc: "The text of the answer; a template with " + listed(replyVariables) + "."},
	{Name: "toolCalls", Is: yaml.List(callBlock.Shape()), Doc: "Functions that the answer calls, after the text if there is one."},
	{Name: "reasoning", Is: yaml.Text, Doc: "A thought before the answer, a template; calls are then signed."},
	{Name: "replies", Is: yaml.List(replyBlock.Shape()), Doc: "The emulator draws one of these answers."},
	{
		Name: "raw",
		Is:   yaml.Either(yaml.Text, yaml.MapShape(yaml.Any), yaml.List(yaml.Either(yaml.Text, yaml.MapShape(yaml.Any)))),
		Doc:  "The literal reply: a text is sent as it is, a mapping is the JSON of the reply, a list has the chunks of a stream.",
	},
	{Name: "finishReason", Is: yaml.Suggesting(slices.Concat([]string{"STOP", eval.CutReason, "OTHER"}, emptyReasons)...)},
	{Name: "safetyRatings", Is: yaml.List(ratingBlock.Shape()), Doc: "They block when the request's threshold says so."},
	{Name: "usage", Is: usageBlock.Shape(), Doc: "Counts that usageMetadata carries in addition; it is then sent."},
	{
		Name: "unknownFields",
		Is:   yaml.Number(0, 1),
		Doc:  "The share of this rule's answers that carry unknown fields, instead of the script's.",
	},
	{Name: "blockReason", Is: yaml.Text, Doc: "The prompt itself is blocked: no candidates."},
	{Name: "latency", Is: yaml.Either(yaml.Duration, latencyBlock.Shape()), Doc: "How long the answer takes, or its distribution."},
	{Name: "stream", Is: streamBlock.Shape(), Doc: "How a streamed answer comes."},
	{Name: "faults", Is: yaml.List(faultBlock.Shape()), Doc: "What goes wrong."},
}}

var matchBlock = yaml.Block{Keys: []yaml.Key{
	{Name: "model", Is: yaml.Text, Doc: "A glob of models."},
	{Name: "text", Is: yaml.Text, Doc: "A glob of the question: the last user turn that is more than results of functions."},
	{Name: "regex", Is: yaml.Text, Doc: "A regular expression (RE2) in the question."},
	{Name: "image", Is: yaml.Bool, Doc: "Whether there is an image."},
	{Name: "turns", Is: yaml.Int(1, math.MaxInt16), Doc: "How many turns there are."},
	{Name: "system", Is: yaml.Text, Doc: "A glob of the system instruction."},
	{
		Name: "step",
		Is:   yaml.Int(1, math.MaxInt16),
		Doc:  "Which answer to the question this is: 1 before there are results of functions, 2 after the first ones.",
	},
	{Name: "result", Is: yaml.Text, Doc: "A glob of functions; one of them has a result in the last turn."},
	{Name: "resultText", Is: yaml.Text, Doc: "A glob of that result as JSON."},
}}

var callBlock = yaml.Block{
	Need: []string{"name"},
	Keys: []yaml.Key{
		{Name: "name", Is: yaml.Text, Doc: "The function."},
		{Name: "args", Is: yaml.MapShape(yaml.Any), Doc: "Its arguments; texts in them are templates."},
		{Name: "id", Is: yaml.Text, Doc: "The id of the call, which its result must carry too."},
	},
}

var usageBlock = yaml.Block{Keys: []yaml.Key{
	{Name: "cachedContentTokenCount", Is: yaml.Int(0, math.MaxInt32), Doc: "Tokens of the prompt that came from a cache."},
	{Name: "toolUsePromptTokenCount", Is: yaml.Int(0, math.MaxInt32), Doc: "Tokens of results of the service's own tools."},
}}

var replyBlock = yaml.Block{
	Some: []string{"text", "toolCalls"},
	Keys: []yaml.Key{
		{Name: "text", Is: yaml.Text, Doc: "The text of the answer."},
		{Name: "toolCalls", Is: yaml.List(callBlock.Shape()), Doc: "Functions that the answer calls."},
		{Name: "reasoning", Is: yaml.Text, Doc: "A thought before the answer."},
		{Name: "weight", Is: yaml.Number(1e-9, 1e9), Doc: "How often it is drawn, relative to the others (default 1)."},
	},
}

var ratingBlock = yaml.Block{
	Need: []string{"category", "probability"},
	Keys: []yaml.Key{
		{Name: "category", Is: yaml.Suggesting(wire.Categories...)},
		{Name: "probability", Is: yaml.Suggesting(eval.Probabilities...)},
	},
}

var streamBlock = yaml.Block{Keys: []yaml.Key{
	{Name: "chunks", Is: yaml.Int(1, 1_000_000), Doc: "In how many pieces."},
	{Name: "gap", Is: yaml.Duration, Doc: "The time between two of them."},
}}

var latencyBlock = yaml.Block{
	Need: []string{"p50", "p99"},
	Keys: []yaml.Key{
		{Name: "p50", Is: yaml.Duration, Doc: "The median."},
		{Name: "p99", Is: yaml.Duration, Doc: "What one answer in a hundred exceeds."},
	},
}

var malformations = []string{"json", "html", "empty", "type", "none", "error"}

var faultBlock = yaml.Block{
	Some: []string{"status", "hang", "cut", "endless", "malformed"},
	Keys: []yaml.Key{
		{Name: "status", Is: yaml.Int(400, 599), Doc: "An HTTP status."},
		{Name: "message", Is: yaml.Text, Doc: "The message of the error."},
		{Name: "retryAfter", Is: yaml.Duration, Doc: "When to try again."},
		{Name: "hang", Is: yaml.Bool, Doc: "The answer never comes."},
		{Name: "cut", Is: yaml.Bool, Doc: "The connection breaks within the answer."},
		{Name: "endless", Is: yaml.Either(yaml.Bool, yaml.Duration), Doc: "The answer never ends; a duration is the time between two pieces."},
		{Name: "after", Is: yaml.Int(0, math.MaxInt32), Doc: "The fault comes after N chunks of a stream."},
		{Name: "malformed", Is: yaml.Either(yaml.Bool, yaml.Word(malformations...)), Doc: "What is wrong with the answer."},
		{Name: "rate", Is: yaml.Number(0, 1), Doc: "The share of requests that it hits."},
		{Name: "first", Is: yaml.Int(1, math.MaxInt32), Doc: "It hits only the first N requests."},
	},
}

// Shape returns the schema of scripts.
func Shape(templates bool) yaml.Schema { return scriptBlock.Shape()(templates) }
