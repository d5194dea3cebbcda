package suite

import (
	"math"

	"github.com/evalrun/evalrun/internal/shape"
	"github.com/evalrun/evalrun/option"
)

// atLeast and atMost are rules of a gate with one number.
func atLeast() shape.Block {
	return shape.Block{Need: []string{"min"}, Keys: []shape.Key{{Name: "min", Is: share()}}}
}

func atMost() shape.Block {
	return shape.Block{Need: []string{"max"}, Keys: []shape.Key{{Name: "max", Is: share()}}}
}

func gateBlock() shape.Block {
	return shape.Block{Keys: []shape.Key{
		{Name: "passRate", Is: atLeast().Shape(), Doc: "The least share of cases that pass, on every arm."},
		{Name: "errors", Is: atMost().Shape(), Doc: "The largest share of trials that could not be judged; 0 when not given."},
		{Name: "blocked", Is: atMost().Shape(), Doc: "The largest share of answers that were blocked."},
		{Name: "mean", Is: shape.Some(shape.Map(atLeast().Shape())), Doc: "The least mean of named scorers."},
		{
			Name: "classification", Is: shape.Some(shape.Map(atLeast().Shape())),
			Doc: "The least values of metrics of the classification, such as macroF1, kappa or recall.CLASS, on every arm.",
		},
		{Name: "latency", Is: percentileBlock().Shape(), Doc: "The longest time that 95 % of the answers take."},
		{Name: "maxQuarantined", Is: share(), Doc: "The largest share of cases in quarantine."},
		{Name: "baseline", Is: baselineBlock().Shape(), Doc: "What the run is compared with."},
		{Name: "best", Is: bestBlock().Shape(), Doc: "The arm that has to be among the best of the suite."},
	}}
}

func bestBlock() shape.Block {
	return shape.Block{Need: []string{"arm"}, Keys: []shape.Key{
		{Name: "arm", Is: shape.Text, Doc: "An arm of this run, `target/prompt`. It may not be ruled out as the best."},
		{Name: "sole", Is: shape.Bool, Doc: "Whether all others have to be ruled out."},
		{Name: "metric", Is: shape.Text, Doc: "The metric to rank by: pass when not given, or a named scorer."},
		{Name: "alpha", Is: shape.Number(0, MaxAlpha), Doc: "How often the best arm may be ruled out; 0.05 when not given."},
	}}
}

func percentileBlock() shape.Block {
	return shape.Block{Need: []string{"p95"}, Keys: []shape.Key{{Name: "p95", Is: shape.Duration}}}
}

func baselineBlock() shape.Block {
	return shape.Block{
		One: []string{"run", "arm"},
		Keys: []shape.Key{
			{Name: "run", Is: shape.Text, Doc: "The name of a baseline or of a run."},
			{Name: "arm", Is: shape.Text, Doc: "An arm of this run, `target/prompt`."},
			{Name: "margin", Is: share(), Doc: "How much worse is still not worse, a difference of rates. There is no default."},
			{Name: "alpha", Is: shape.Number(0, MaxAlpha), Doc: "How often a verdict may be wrong."},
			{
				Name: "onInconclusive",
				Is:   shape.WordOf(option.OnFail, option.OnWarn, option.OnPass),
				Doc:  "What an inconclusive comparison makes of the gate; fail when not given.",
			},
			{
				Name: "metrics",
				Is:   shape.Either(shape.Filled(shape.Text), shape.Some(shape.Map(shape.Either(marginBlock().Shape(), ratioBlock().Shape())))),
				Doc: "The metrics that are compared: a list of names, or a margin (of latency and tokens a limit) for each. The pass rate when not " +
					"given.",
			},
			{Name: "stopEarly", Is: shape.Bool, Doc: "Whether the run ends as soon as the verdict is known."},
			{Name: "minPaired", Is: share(), Doc: "The least share of the baseline's cases that must be compared; 0.9 when not given."},
			{Name: "allowRemoved", Is: shape.List(shape.Text), Doc: "Patterns of suites and arms that only the baseline may have."},
		},
	}
}

func marginBlock() shape.Block {
	return shape.Block{Keys: []shape.Key{{Name: "margin", Is: share(), Doc: "The margin of this metric."}}}
}

func ratioBlock() shape.Block {
	return shape.Block{
		Need: []string{"limit"},
		Keys: []shape.Key{
			{Name: "limit", Is: shape.Number(0, 100), Doc: "How many times as much is still not worse, such as 1.1."},
			{
				Name: "cap", Is: shape.Either(shape.Duration, shape.Number(1, math.MaxInt32)),
				Doc: "What a case counts at most: a time for latency, a number for tokens. Five times the baseline's median when not given.",
			},
			{Name: "strict", Is: shape.Bool, Doc: "Whether too few cases for the limit fail the gate."},
		},
	}
}

func pricesBlock() shape.Block {
	return shape.Block{
		Need: []string{"currency", "models"},
		Keys: []shape.Key{
			{Name: "currency", Is: shape.Text, Doc: "What the numbers are, such as EUR."},
			{Name: "models", Is: shape.Some(shape.Named(modelID.Regexp().String(), priceBlock().Shape())), Doc: "Prices by the ids of models."},
		},
	}
}

func priceBlock() shape.Block {
	return shape.Block{
		Need: []string{"input", "output"},
		Keys: []shape.Key{
			{Name: "input", Is: shape.Number(0, math.MaxInt32), Doc: "Per million tokens of prompts."},
			{Name: "output", Is: shape.Number(0, math.MaxInt32), Doc: "Per million tokens of answers."},
			{
				Name: "cached",
				Is:   shape.Number(0, math.MaxInt32),
				Doc:  "Per million tokens of prompts that the service had in a cache; the price of input when not given.",
			},
		},
	}
}

func limitsBlock() shape.Block {
	return shape.Block{Keys: []shape.Key{
		{Name: "concurrency", Is: shape.Int(1, MaxConcurrency), Doc: "How many requests are under way at once; 8 when not given."},
		{Name: "requestsPerMinute", Is: whole()},
		{Name: "tokensPerMinute", Is: whole()},
		{Name: "budget", Is: budgetBlock().Shape(), Doc: "Limits at which the run stops."},
		{Name: "timeout", Is: shape.Duration, Doc: "Of one attempt, body included; 60s when not given."},
		{Name: "attempts", Is: shape.Int(1, MaxAttempts), Doc: "How often a request is tried; 5 when not given."},
		{
			Name: "countTokens",
			Is:   shape.WordOf(CountAlways, CountAuto, CountNever),
			Doc:  "When the service counts the tokens of a prompt; auto when not given.",
		},
		{Name: "models", Is: shape.Named(anyModelID.Regexp().String(), modelLimits().Shape()), Doc: "Limits of single models."},
	}}
}

func budgetBlock() shape.Block {
	return shape.Block{Keys: []shape.Key{
		{Name: "tokens", Is: whole(), Doc: "Of prompts and answers."},
		{Name: "calls", Is: whole(), Doc: "Every attempt counts. Never overrun."},
		{Name: "money", Is: shape.Number(1e-9, math.MaxInt32), Doc: "In the currency of the price list."},
		{Name: "time", Is: shape.Duration, Doc: "How long the run may take."},
	}}
}

func modelLimits() shape.Block {
	return shape.Block{
		Some: []string{"requestsPerMinute", "tokensPerMinute"},
		Keys: []shape.Key{{Name: "requestsPerMinute", Is: whole()}, {Name: "tokensPerMinute", Is: whole()}},
	}
}
