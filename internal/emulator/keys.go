package emulator

import (
	"math"
	"slices"

	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/clients/wire"
	"github.com/evalrun/evalrun/internal/yaml"
)

// The keys of a script. Both the reader and the JSON Schema use these tables.

func key(name string, is yaml.Shape, doc string) yaml.Key {
	return yaml.Key{Name: name, Is: is, Doc: doc}
}

func scriptBlock() yaml.Block {
	return yaml.Block{Keys: []yaml.Key{
		key("rules", yaml.List(ruleBlock().Shape()), "The first rule that matches answers; without a match comes a deterministic echo."),
		key("batch", batchBlock().Shape(), "How batches go; without it, a batch has ended when it is first asked for."),
		key("usage", yaml.Bool, "Whether answers carry usageMetadata."),
		key(
			"unknownFields", yaml.Number(0, 1),
			"The share of answers that are indented and carry fields that the specification does not name.",
		),
		key(
			"requestFields", yaml.OneOrList(yaml.Text),
			"Top-level fields that a request may have in addition to the service's own; every other one is refused. Without the "+
				"list all are accepted.",
		),
	}}
}

func ruleBlock() yaml.Block {
	return yaml.Block{Keys: []yaml.Key{
		key("match", matchBlock().Shape(), "All that are given must hold; without `match` the rule answers everything."),
		key("reply", yaml.Text, "The text of the answer; a template with "+listed(replyVariables)+"."),
		key("toolCalls", yaml.List(callBlock().Shape()), "Functions that the answer calls, after the text if there is one."),
		key("reasoning", yaml.Text, "A thought before the answer, a template; calls are then signed."),
		key("replies", yaml.List(replyBlock().Shape()), "The emulator draws one of these answers."),
		key(
			"raw", yaml.Either(yaml.Text, yaml.MapShape(yaml.Any), yaml.List(yaml.Either(yaml.Text, yaml.MapShape(yaml.Any)))),
			"The literal reply: a text is sent as it is, a mapping is the JSON of the reply, a list has the chunks of a stream.",
		),
		key("finishReason", yaml.Suggesting(slices.Concat([]string{"STOP", eval.CutReason, "OTHER"}, emptyReasons)...), ""),
		key("safetyRatings", yaml.List(ratingBlock().Shape()), "They block when the request's threshold says so."),
		key("usage", usageBlock().Shape(), "Counts that usageMetadata carries in addition; it is then sent."),
		key("unknownFields", yaml.Number(0, 1), "The share of this rule's answers that carry unknown fields, instead of the script's."),
		key("blockReason", yaml.Text, "The prompt itself is blocked: no candidates."),
		key("latency", yaml.Either(yaml.Duration, latencyBlock().Shape()), "How long the answer takes, or its distribution."),
		key("stream", streamBlock().Shape(), "How a streamed answer comes."),
		key("faults", yaml.List(faultBlock().Shape()), "What goes wrong."),
	}}
}

func matchBlock() yaml.Block {
	return yaml.Block{Keys: []yaml.Key{
		key("model", yaml.Text, "A glob of models."),
		key("text", yaml.Text, "A glob of the question: the last user turn that is more than results of functions."),
		key("regex", yaml.Text, "A regular expression (RE2) in the question."),
		key("image", yaml.Bool, "Whether there is an image."),
		key("turns", yaml.Int(1, math.MaxInt16), "How many turns there are."),
		key("system", yaml.Text, "A glob of the system instruction."),
		key(
			"step", yaml.Int(1, math.MaxInt16),
			"Which answer to the question this is: 1 before there are results of functions, 2 after the first ones.",
		),
		key("result", yaml.Text, "A glob of functions; one of them has a result in the last turn."),
		key("resultText", yaml.Text, "A glob of that result as JSON."),
	}}
}

func callBlock() yaml.Block {
	return yaml.Block{
		Need: []string{"name"},
		Keys: []yaml.Key{
			key("name", yaml.Text, "The function."),
			key("args", yaml.MapShape(yaml.Any), "Its arguments; texts in them are templates."),
			key("id", yaml.Text, "The id of the call, which its result must carry too."),
		},
	}
}

func usageBlock() yaml.Block {
	return yaml.Block{Keys: []yaml.Key{
		key("cachedContentTokenCount", yaml.Int(0, math.MaxInt32), "Tokens of the prompt that came from a cache."),
		key("toolUsePromptTokenCount", yaml.Int(0, math.MaxInt32), "Tokens of results of the service's own tools."),
	}}
}

func replyBlock() yaml.Block {
	return yaml.Block{
		Some: []string{"text", "toolCalls"},
		Keys: []yaml.Key{
			key("text", yaml.Text, "The text of the answer."),
			key("toolCalls", yaml.List(callBlock().Shape()), "Functions that the answer calls."),
			key("reasoning", yaml.Text, "A thought before the answer."),
			key("weight", yaml.Number(1e-9, 1e9), "How often it is drawn, relative to the others (default 1)."),
		},
	}
}

func ratingBlock() yaml.Block {
	return yaml.Block{
		Need: []string{"category", "probability"},
		Keys: []yaml.Key{
			key("category", yaml.Suggesting(wire.Categories...), ""),
			key("probability", yaml.Suggesting(eval.Probabilities...), ""),
		},
	}
}

func streamBlock() yaml.Block {
	return yaml.Block{Keys: []yaml.Key{
		key("chunks", yaml.Int(1, 1_000_000), "In how many pieces."),
		key("gap", yaml.Duration, "The time between two of them."),
	}}
}

func latencyBlock() yaml.Block {
	return yaml.Block{
		Need: []string{"p50", "p99"},
		Keys: []yaml.Key{
			key("p50", yaml.Duration, "The median."),
			key("p99", yaml.Duration, "What one answer in a hundred exceeds."),
		},
	}
}

var malformations = []string{"json", "html", "empty", "type", "none", "error"}

func faultBlock() yaml.Block {
	return yaml.Block{
		Some: []string{"status", "hang", "cut", "endless", "malformed"},
		Keys: slices.Concat(replyFaults(), []yaml.Key{
			key("endless", yaml.Either(yaml.Bool, yaml.Duration), "The answer never ends; a duration is the time between two pieces."),
			key("after", yaml.Int(0, math.MaxInt32), "The fault comes after N chunks of a stream."),
		}),
	}
}

func replyFaults() []yaml.Key {
	return []yaml.Key{
		key("status", yaml.Int(400, 599), "An HTTP status."),
		key("message", yaml.Text, "The message of the error."),
		key("retryAfter", yaml.Duration, "When to try again."),
		key("hang", yaml.Bool, "The answer never comes."),
		key("cut", yaml.Bool, "The connection breaks within the answer."),
		key("malformed", yaml.Either(yaml.Bool, yaml.Word(malformations...)), "What is wrong with the answer."),
		key("rate", yaml.Number(0, 1), "The share of requests that it hits."),
		key("first", yaml.Int(1, math.MaxInt32), "It hits only the first N requests."),
	}
}

func batchBlock() yaml.Block {
	return yaml.Block{Keys: []yaml.Key{
		key("after", yaml.Duration, "How long a batch takes."),
		key("polls", yaml.Int(0, math.MaxInt32), "How many questions for its state find it open; a list is one for each batch in it."),
		key("shuffle", yaml.Bool, "Whether its results come in another order than its items."),
		key("faults", yaml.List(batchFaultBlock().Shape()), "What goes wrong with submissions, and with the batches that they make."),
	}}
}

func batchFaultBlock() yaml.Block {
	n := yaml.Int(1, math.MaxInt32)
	return yaml.Block{
		Some: []string{"status", "hang", "cut", "malformed", "fail", "expire", "cancel", "repeat", "unknown", "cutResults"},
		Keys: slices.Concat(replyFaults(), []yaml.Key{
			key("fail", yaml.Text, "The batch fails as a whole, for this reason."),
			key("expire", n, "It expires before its last N items have an answer."),
			key("cancel", n, "Somebody cancels it before its last N items have an answer."),
			key("repeat", n, "Its first N results come twice."),
			key("unknown", n, "N results are of items that nobody sent."),
			key("cutResults", n, "The first N readings of its results end in the middle."),
		}),
	}
}

// Shape returns the schema of scripts.
func Shape(templates bool) yaml.Schema { return scriptBlock().Shape()(templates) }
