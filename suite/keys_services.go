package suite

import (
	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/yaml"
)

func servicesBlock() yaml.Block {
	return yaml.Block{
		Need: []string{"baseUrl"},
		Keys: []yaml.Key{
			key("protocol", yaml.WordShape(eval.ProtocolNames()...), "What the service speaks; generative when not given."),
			key("baseUrl", webAddress(), "Where the service is, such as https://api.example/v1."),
			key("keyEnv", yaml.Text, "The environment variable that holds the key, EVALRUN_* or *_API_KEY. Without it no key is sent."),
			key("auth", loginBlock().Shape(), "A program that prints a bearer token, instead of a key."),
			key("headers", yaml.MapShape(yaml.Text), "Headers of every request. A value that names ${env:EVALRUN_...} is secret."),
			key(
				"path", yaml.Text,
				"The path of a call below the base URL, such as models/{model}:{method}. The base URL then has the API version.",
			),
			key(
				"headerPrefix", yaml.Either(yaml.Matching(HeaderPrefix.String()), fromEnvironment()),
				"The beginning of the service's header names: x-svc gives x-svc-api-key.",
			),
			key("metadata", yaml.Bool, "false: no metadata of models are requested."),
			key(
				"maxTokensField", yaml.Word(maxTokensFields()...),
				"What openai servers call `maxOutputTokens`; max_completion_tokens when not given.",
			),
			key("limits", serviceLimitsBlock().Shape(), "Limits of this service. Those of the suite cap the sum of all."),
		},
	}
}

func maxTokensFields() []string { return []string{"max_completion_tokens", "max_tokens"} }

func loginBlock() yaml.Block {
	return yaml.Block{
		Need: []string{"command"},
		Keys: []yaml.Key{
			key("command", yaml.OneOrMore(yaml.Text), "The program and its arguments. It prints the token, within 30 seconds."),
			key("env", yaml.OneOrList(yaml.Text), "Private variables of the environment that the program gets."),
			key("lifetime", yaml.Duration, "How long a token is good; without it, until the service refuses it."),
		},
	}
}

func serviceLimitsBlock() yaml.Block {
	return yaml.Block{Keys: []yaml.Key{
		key("concurrency", yaml.Int(1, MaxConcurrency), "How many requests are under way at once; 8 when not given."),
		key("requestsPerMinute", whole(), ""),
		key("tokensPerMinute", whole(), ""),
	}}
}
