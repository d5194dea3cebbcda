package suite

import (
	"math"

	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/yaml"
)

func atLeast() yaml.Block {
	return yaml.Block{Need: []string{"min"}, Keys: []yaml.Key{{Name: "min", Is: share()}}}
}

func atMost() yaml.Block {
	return yaml.Block{Need: []string{"max"}, Keys: []yaml.Key{{Name: "max", Is: share()}}}
}

func gateBlock() yaml.Block {
	return yaml.Block{Keys: []yaml.Key{
		{Name: "passRate", Is: atLeast().Shape(), Doc: "The least share of cases that pass, on every arm."},
		{Name: "errors", Is: atMost().Shape(), Doc: "The largest share of trials that could not be judged; 0 when not given."},
		{Name: "blocked", Is: atMost().Shape(), Doc: "The largest share of answers that were blocked."},
		{Name: "mean", Is: yaml.Some(yaml.MapShape(atLeast().Shape())), Doc: "The least mean of named scorers."},
		{
			Name: "classification", Is: yaml.Some(yaml.MapShape(atLeast().Shape())),
			Doc: "The least values of metrics of the classification, such as macroF1, kappa or recall.CLASS, on every arm.",
		},
		{Name: "latency", Is: percentileBlock().Shape(), Doc: "The longest time that 95 % of the answers take."},
		{Name: "maxQuarantined", Is: share(), Doc: "The largest share of cases in quarantine."},
		{Name: "baseline", Is: baselineBlock().Shape(), Doc: "What the run is compared with."},
		{Name: "best", Is: bestBlock().Shape(), Doc: "The arm that has to be among the best of the suite."},
	}}
}

func bestBlock() yaml.Block {
	return yaml.Block{Need: []string{"arm"}, Keys: []yaml.Key{
		{Name: "arm", Is: yaml.Text, Doc: "An arm of this run, `target/prompt`. It may not be ruled out as the best."},
		{Name: "sole", Is: yaml.Bool, Doc: "Whether all others have to be ruled out."},
		{Name: "metric", Is: yaml.Text, Doc: "The metric to rank by: pass when not given, or a named scorer."},
		{Name: "alpha", Is: yaml.Number(0, MaxAlpha), Doc: "How often the best arm may be ruled out; 0.05 when not given."},
	}}
}

func percentileBlock() yaml.Block {
	return yaml.Block{Need: []string{"p95"}, Keys: []yaml.Key{{Name: "p95", Is: yaml.Duration}}}
}

func baselineBlock() yaml.Block {
	return yaml.Block{
		One: []string{"run", "arm"},
		Keys: []yaml.Key{
			{Name: "run", Is: yaml.Text, Doc: "The name of a baseline or of a run."},
			{Name: "arm", Is: yaml.Text, Doc: "An arm of this run, `target/prompt`."},
			{Name: "margin", Is: share(), Doc: "How much worse is still not worse, a difference of rates. There is no default."},
			{Name: "alpha", Is: yaml.Number(0, MaxAlpha), Doc: "How often a verdict may be wrong."},
			{
				Name: "onInconclusive",
				Is:   yaml.WordShape(eval.OnFail, eval.OnWarn, eval.OnPass),
				Doc:  "What an inconclusive comparison makes of the gate; fail when not given.",
			},
			{
				Name: "metrics",
				Is:   yaml.Either(yaml.Filled(yaml.Text), yaml.Some(yaml.MapShape(yaml.Either(marginBlock().Shape(), ratioBlock().Shape())))),
				Doc: "The metrics that are compared: a list of names, or a margin (of latency and tokens a limit) for each. The pass rate when not " +
					"given.",
			},
			{Name: "stopEarly", Is: yaml.Bool, Doc: "Whether the run ends as soon as the verdict is known."},
			{Name: "minPaired", Is: share(), Doc: "The least share of the baseline's cases that must be compared; 0.9 when not given."},
			{Name: "allowRemoved", Is: yaml.List(yaml.Text), Doc: "Patterns of suites and arms that only the baseline may have."},
		},
	}
}

func marginBlock() yaml.Block {
	return yaml.Block{Keys: []yaml.Key{{Name: "margin", Is: share(), Doc: "The margin of this metric."}}}
}

func ratioBlock() yaml.Block {
	return yaml.Block{
		Need: []string{"limit"},
		Keys: []yaml.Key{
			{Name: "limit", Is: yaml.Number(0, 100), Doc: "How many times as much is still not worse, such as 1.1."},
			{
				Name: "cap", Is: yaml.Either(yaml.Duration, yaml.Number(1, math.MaxInt32)),
				Doc: "What a case counts at most: a time for latency, a number for tokens. Five times the baseline's median when not given.",
			},
			{Name: "strict", Is: yaml.Bool, Doc: "Whether too few cases for the limit fail the gate."},
		},
	}
}

func pricesBlock() yaml.Block {
	return yaml.Block{
		Need: []string{"currency", "models"},
		Keys: []yaml.Key{
			{Name: "currency", Is: yaml.Text, Doc: "What the numbers are, such as EUR."},
			{Name: "models", Is: yaml.Some(yaml.Named(modelID.String(), priceBlock().Shape())), Doc: "Prices by the ids of models."},
		},
	}
}

func priceBlock() yaml.Block {
	return yaml.Block{
		Need: []string{"input", "output"},
		Keys: []yaml.Key{
			{Name: "input", Is: yaml.Number(0, math.MaxInt32), Doc: "Per million tokens of prompts."},
			{Name: "output", Is: yaml.Number(0, math.MaxInt32), Doc: "Per million tokens of answers."},
			{
				Name: "cached",
				Is:   yaml.Number(0, math.MaxInt32),
				Doc:  "Per million tokens of prompts that the service had in a cache; the price of input when not given.",
			},
		},
	}
}

func limitsBlock() yaml.Block {
	return yaml.Block{Keys: []yaml.Key{
		{Name: "concurrency", Is: yaml.Int(1, MaxConcurrency), Doc: "How many requests are under way at once; 8 when not given."},
		{Name: "requestsPerMinute", Is: whole()},
		{Name: "tokensPerMinute", Is: whole()},
		{Name: "budget", Is: budgetBlock().Shape(), Doc: "Limits at which the run stops."},
		{Name: "timeout", Is: yaml.Duration, Doc: "Of one attempt, body included; 60s when not given."},
		{Name: "attempts", Is: yaml.Int(1, MaxAttempts), Doc: "How often a request is tried; 5 when not given."},
		{
			Name: "countTokens",
			Is:   yaml.WordShape(CountAlways, CountAuto, CountNever),
			Doc:  "When the service counts the tokens of a prompt; auto when not given.",
		},
		{Name: "models", Is: yaml.Named(anyModelID.String(), modelLimits().Shape()), Doc: "Limits of single models."},
	}}
}

func budgetBlock() yaml.Block {
	return yaml.Block{Keys: []yaml.Key{
		{Name: "tokens", Is: whole(), Doc: "Of prompts and answers."},
		{Name: "calls", Is: whole(), Doc: "Every attempt counts. Never overrun."},
		{Name: "money", Is: yaml.Number(1e-9, math.MaxInt32), Doc: "In the currency of the price list."},
		{Name: "time", Is: yaml.Duration, Doc: "How long the run may take."},
	}}
}

func modelLimits() yaml.Block {
	return yaml.Block{
		Some: []string{"requestsPerMinute", "tokensPerMinute"},
		Keys: []yaml.Key{{Name: "requestsPerMinute", Is: whole()}, {Name: "tokensPerMinute", Is: whole()}},
	}
}
