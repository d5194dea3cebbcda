package emulator

import (
	"math"

	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/service"
	"github.com/evalrun/evalrun/internal/shape"
)

// The tables of keys of a script: what reads it knows the keys from here, and so does the JSON Schema.

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
}}

var ruleBlock = shape.Block{Keys: []shape.Key{
	{Name: "match", Is: matchBlock.Shape(), Doc: "All that are given must hold; without `match` the rule answers everything."},
	{Name: "reply", Is: shape.Text, Doc: "The answer; a template with prompt, model, turns, images and groups."},
	{Name: "replies", Is: shape.List(replyBlock.Shape()), Doc: "Answers of which one is drawn."},
	{Name: "raw", Is: shape.Text, Doc: "The literal body of the reply, sent as it is."},
	{Name: "finishReason", Is: shape.Suggesting(append([]string{"STOP", "MAX_TOKENS"}, eval.BlockReasons...)...)},
	{Name: "safetyRatings", Is: shape.List(ratingBlock.Shape()), Doc: "They block when the request's threshold says so."},
	{Name: "blockReason", Is: shape.Text, Doc: "The prompt itself is blocked: no candidates."},
	{Name: "latency", Is: shape.Either(shape.Duration, latencyBlock.Shape()), Doc: "How long the answer takes, or its distribution."},
	{Name: "stream", Is: streamBlock.Shape(), Doc: "How a streamed answer comes."},
	{Name: "faults", Is: shape.List(faultBlock.Shape()), Doc: "What goes wrong."},
}}

var matchBlock = shape.Block{Keys: []shape.Key{
	{Name: "model", Is: shape.Text, Doc: "A glob of models."},
	{Name: "text", Is: shape.Text, Doc: "A glob of the last user turn."},
	{Name: "regex", Is: shape.Text, Doc: "A regular expression (RE2) in the last user turn."},
	{Name: "image", Is: shape.Bool, Doc: "Whether there is an image."},
	{Name: "turns", Is: shape.Int(1, math.MaxInt16), Doc: "How many turns there are."},
}}

var replyBlock = shape.Block{
	Need: []string{"text"},
	Keys: []shape.Key{
		{Name: "text", Is: shape.Text, Doc: "The answer."},
		{Name: "weight", Is: shape.Number(1e-9, 1e9), Doc: "How often it is drawn, beside the others; 1 when not given."},
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
		{Name: "after", Is: shape.Int(0, math.MaxInt32), Doc: "The fault comes after so many chunks of a stream."},
		{Name: "malformed", Is: shape.Either(shape.Bool, shape.Word(malformations...)), Doc: "What is wrong with the answer."},
		{Name: "rate", Is: shape.Number(0, 1), Doc: "The share of requests that it hits."},
		{Name: "first", Is: shape.Int(1, math.MaxInt32), Doc: "It hits only so many requests, the first ones."},
	},
}

// Shape is that of a script.
func Shape(templates bool) shape.Schema { return scriptBlock.Shape()(templates) }
