package suite

import (
	"math"
	"sync"

	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/yaml"
)

var atLeast = sync.OnceValue(func() yaml.Block {
	return yaml.Block{Need: []string{"min"}, Keys: []yaml.Key{key("min", share(), "")}}
})

var gateBlock = sync.OnceValue(func() yaml.Block {
	var limits []yaml.Key
	for _, rule := range eval.GateLimits() {
		shape := share()
		if rule.Name == passRate {
			shape = yaml.PassRateBlock(MaxAlpha).Shape()
		} else if rule.Bound != "" {
			shape = yaml.Block{Need: []string{rule.Bound}, Keys: []yaml.Key{key(rule.Bound, share(), "")}}.Shape()
		}
		limits = append(limits, key(rule.Name, shape, rule.Doc))
	}
	return yaml.Block{Keys: append(
		limits,
		key(
			"failures", yaml.Word("allowed"),
			"allowed: failed trials do not fail a gate without passRate, mean, classification, baseline or best.",
		),
		key("mean", yaml.Some(yaml.MapShape(atLeast().Shape())), "The least mean of named scorers."),
		key(
			"classification", yaml.Some(yaml.MapShape(atLeast().Shape())),
			"The least values of metrics of the classification, such as macroF1, kappa or recall.CLASS, on every arm.",
		),
		key("latency", percentileBlock().Shape(), "The longest time that 95 % of the answers take."),
		key("baseline", baselineBlock().Shape(), "What the run is compared with."),
		key("integrity", yaml.Word(string(eval.Clean)), "clean: every trial of a program ran in a sandbox, and gave away no decoy."),
		key("best", bestBlock().Shape(), "The arm that has to be among the best of the suite."),
		key("judges", judgesBlock().Shape(), "How far the judges must agree with people's labels on every arm, by lower bounds."),
		key("drift", yaml.OneOrMore(driftBlock().Shape()), "The metrics that must not get worse over the nights, on every arm."),
	)}
})

const passRate = "passRate"

var bestBlock = sync.OnceValue(func() yaml.Block {
	return yaml.Block{Need: []string{"arm"}, Keys: []yaml.Key{
		key("arm", yaml.Text, "An arm of this run, `target/prompt`. It may not be ruled out as the best."),
		key("sole", yaml.Bool, "Whether all others have to be ruled out."),
		key(
			"within", share(),
			"How much worse than the best the arm may be, a difference of rates. It has to be shown; `sole` does not go with it.",
		),
		key("metric", yaml.Text, "The metric to rank by: pass when not given, or a named scorer."),
		key("alpha", yaml.Number(0, MaxAlpha), "How often the best arm may be ruled out; 0.05 when not given."),
	}}
})

var judgesBlock = sync.OnceValue(func() yaml.Block {
	return yaml.Block{Some: []string{"sensitivity", "specificity", "kappa"}, Keys: []yaml.Key{
		key("sensitivity", share(), "The least share of the answers passed by people that a judge passes."),
		key("specificity", share(), "The least share of the answers failed by people that a judge fails."),
		key("kappa", share(), "The least Cohen's kappa."),
	}}
})

// maxNights is the most runs over which false alarms may be counted.
const maxNights = 10_000

var driftBlock = sync.OnceValue(func() yaml.Block {
	return yaml.Block{Name: "drift", Keys: []yaml.Key{
		key("metric", yaml.Text, "pass (the default), or a named scorer."),
		key("falseAlarms", yaml.Block{Keys: []yaml.Key{
			key("rate", yaml.Number(0, MaxAlpha), "The share of unchanged series that may have an alarm; 0.05 when not given."),
			key("runs", yaml.Int(1, maxNights), "The nights in such a series; 90 when not given."),
		}}.Shape(), "How often the alarm may be false."),
		key("runs", yaml.Text, "The runs that are nights: label:nightly when not given, or another selector of runs."),
		key("onAlarm", yaml.WordShape(eval.OnFail, eval.OnWarn), "What an alarm makes of the gate; fail when not given."),
	}}
})

var percentileBlock = sync.OnceValue(func() yaml.Block {
	return yaml.Block{Need: []string{"p95"}, Keys: []yaml.Key{key("p95", yaml.Duration, "")}}
})

var baselineBlock = sync.OnceValue(func() yaml.Block {
	return yaml.Block{
		One: []string{"run", "arm"},
		Keys: []yaml.Key{
			key("run", yaml.Text, "The name of a baseline or of a run."),
			key("arm", yaml.Text, "An arm of this run, `target/prompt`."),
			key("margin", share(), "How much worse is still not worse, a difference of rates. There is no default."),
			key("alpha", yaml.Number(0, MaxAlpha), "How often a verdict may be wrong."),
			key(
				"onInconclusive", yaml.WordShape(eval.OnFail, eval.OnWarn, eval.OnPass),
				"What an inconclusive comparison makes of the gate; fail when not given.",
			),
			key(
				"metrics",
				yaml.Either(yaml.Filled(yaml.Text), yaml.Some(yaml.MapShape(yaml.Either(marginBlock().Shape(), ratioBlock().Shape())))),
				"The metrics that are compared: a list of names, or a margin (of latency and tokens a limit) for each. The pass "+
					"rate when not given.",
			),
			key(
				"estimand", yaml.WordShape(eval.OfPopulation, eval.OfSuite),
				"What the verdict is about: population, cases like these (the default), or suite, these cases alone.",
			),
			key("stopEarly", yaml.Bool, "Whether the run ends as soon as the verdict is known."),
			key("minPaired", share(), "The least share of the baseline's cases that must be compared; 0.9 when not given."),
			key("total", totalBlock().Shape(), "The largest loss of the pass rate since an earlier baseline of the same name."),
			key("accepted", acceptedBlock().Shape(), "Cases of the baseline that a change takes out of the comparison on purpose."),
			key("allowRemoved", yaml.List(yaml.Text), "The old spelling of `accepted: {removed: [...]}`, for suites and arms only."),
			key(
				"looks", yaml.Int(1, maxLooks),
				"How often the same prompts, targets and models may be compared with this baseline. Each look has an equal part of alpha.",
			),
		},
	}
})

var acceptedBlock = sync.OnceValue(func() yaml.Block {
	patterns := yaml.OneOrList(yaml.Text)
	return yaml.Block{Keys: []yaml.Key{
		key("removed", patterns, "Patterns of cases, arms and suites that only the baseline may have."),
		key("changed", patterns, "Patterns of cases that may have other variables, another prompt or other scorers."),
		key("quarantined", patterns, "Patterns of cases that may be in quarantine."),
	}}
})

var totalBlock = sync.OnceValue(func() yaml.Block {
	return yaml.Block{Need: []string{"margin"}, Keys: []yaml.Key{
		key("margin", share(), "How much worse than the earlier baseline is still not worse."),
		key("since", yaml.Text, "`first`, the oldest baseline that baselines.json keeps, or the day whose baseline counts."),
	}}
})

var marginBlock = sync.OnceValue(func() yaml.Block {
	return yaml.Block{Keys: []yaml.Key{key("margin", share(), "The margin of this metric.")}}
})

var ratioBlock = sync.OnceValue(func() yaml.Block {
	return yaml.Block{
		Need: []string{"limit"},
		Keys: []yaml.Key{
			key("limit", yaml.Number(0, 100), "How many times as much is still not worse, such as 1.1."),
			key(
				"cap", yaml.Either(yaml.Duration, yaml.Number(1, math.MaxInt32)),
				"What a case counts at most: a time for latency, a number for tokens. Five times the baseline's median when not given.",
			),
			key("strict", yaml.Bool, "Whether too few cases for the limit fail the gate."),
		},
	}
})

var pricesBlock = sync.OnceValue(func() yaml.Block {
	return yaml.Block{
		Need: []string{"currency", "models"},
		Keys: []yaml.Key{
			key("currency", yaml.Text, "What the numbers are, such as EUR."),
			ofBatchPrices(),
			key("models", yaml.Some(yaml.Named(anyModelID().String(), priceBlock().Shape())), "Prices by the ids of models."),
		},
	}
})

// leastFactor is the least factor of the prices by batch, which are never free.
const leastFactor = 0.001

func ofBatchPrices() yaml.Key {
	return key(
		"batch", yaml.Number(leastFactor, 1),
		"The factor of all prices for calls that come by batch, such as 0.5; that of a model wins over that of the list.",
	)
}

var priceBlock = sync.OnceValue(func() yaml.Block {
	above := key("above", longPriceBlock().Shape(), "The prices of calls whose prompts have more than `tokens` tokens.")
	return yaml.Block{
		Need: rateBlock().Need, Keys: append(
			rateBlock().Keys, ofBatchPrices(), above,
			key("source", yaml.Text, "Where the prices are from, such as the vendor's page."),
			key("date", yaml.Matching(`^[0-9]{4}-[0-9]{2}-[0-9]{2}$`), "The day on which they were there, such as 2027-01-31."),
		),
	}
})

var longPriceBlock = sync.OnceValue(func() yaml.Block {
	tokens := key("tokens", yaml.Int(eval.LongPrompt, math.MaxInt32), "The longest prompt at the other prices.")
	return yaml.Block{Need: append([]string{"tokens"}, rateBlock().Need...), Keys: append([]yaml.Key{tokens}, rateBlock().Keys...)}
})

var rateBlock = sync.OnceValue(func() yaml.Block {
	return yaml.Block{
		Need: []string{"input", "output"},
		Keys: []yaml.Key{
			key("input", yaml.Number(0, math.MaxInt32), "Per million tokens of prompts."),
			key("output", yaml.Number(0, math.MaxInt32), "Per million tokens of answers."),
			key(
				"cached", yaml.Number(0, math.MaxInt32),
				"Per million tokens of prompts that the service had in a cache; the price of input when not given.",
			),
			key(
				"cacheWrite", yaml.Number(0, math.MaxInt32),
				"Per million tokens of prompts that the service put into a cache; the price of input when not given.",
			),
			key(
				"cacheWriteHour", yaml.Number(0, math.MaxInt32),
				"The same, of those that it keeps for an hour; the price of cacheWrite when not given.",
			),
		},
	}
})

var limitsBlock = sync.OnceValue(func() yaml.Block {
	return yaml.Block{Keys: []yaml.Key{
		key("concurrency", yaml.Int(1, MaxConcurrency), "How many requests are under way at once; 8 when not given."),
		key("requestsPerMinute", whole(), ""),
		key("tokensPerMinute", whole(), ""),
		key("budget", budgetBlock().Shape(), "Limits at which the run stops."),
		key("timeout", yaml.Duration, "Of one attempt, body included; 60s when not given."),
		key("attempts", yaml.Int(1, MaxAttempts), "How often a request is tried; 5 when not given."),
		key(
			"countTokens", yaml.WordShape(CountAlways, CountAuto, CountNever),
			"When the service counts the tokens of a prompt; auto when not given.",
		),
		key("models", yaml.Named(anyModelID().String(), modelLimits().Shape()), "Limits of single models."),
		key("batch", batchLimitsBlock().Shape(), "Limits of batches."),
	}}
})

var batchLimitsBlock = sync.OnceValue(func() yaml.Block {
	return yaml.Block{Keys: []yaml.Key{
		key("wait", yaml.Duration, "How long a run with --wait waits for its batches; 24h when not given."),
	}}
})

var budgetBlock = sync.OnceValue(func() yaml.Block {
	return yaml.Block{Keys: []yaml.Key{
		key("tokens", whole(), "Of prompts and answers."),
		key("calls", whole(), "Every attempt counts. Never overrun."),
		key("money", yaml.Number(1e-9, math.MaxInt32), "In the currency of the price list."),
		key("time", yaml.Duration, "How long the run may take."),
	}}
})

var modelLimits = sync.OnceValue(func() yaml.Block {
	return yaml.Block{
		Some: []string{"requestsPerMinute", "tokensPerMinute"},
		Keys: []yaml.Key{key("requestsPerMinute", whole(), ""), key("tokensPerMinute", whole(), "")},
	}
})
