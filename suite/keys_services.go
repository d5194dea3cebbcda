package suite

import (
	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/yaml"
)

func servicesBlock() yaml.Block {
	return yaml.Block{
		Need: []string{"baseUrl"},
		Keys: []yaml.Key{
			{
				Name: "protocol", Is: yaml.WordShape(eval.ProtocolNames()...),
				Doc: "What the service speaks; generative when not given.",
			},
			{Name: "baseUrl", Is: webAddress(), Doc: "Where the service is, such as https://api.example/v1."},
			{
				Name: "keyEnv",
				Is:   yaml.Text,
				Doc:  "The environment variable that holds the key, EVALRUN_* or *_API_KEY. Without it no key is sent.",
			},
			{Name: "auth", Is: loginBlock().Shape(), Doc: "A program that prints a bearer token, instead of a key."},
			{
				Name: "headers",
				Is:   yaml.MapShape(yaml.Text),
				Doc:  "Headers of every request. A value that names ${env:EVALRUN_...} is secret.",
			},
			{
				Name: "path",
				Is:   yaml.Text,
				Doc: "The path of a call below the base URL, such as models/{model}:{method}. The base URL then has the API " +
					"version.",
			},
			{
				Name: "headerPrefix",
				Is:   yaml.Either(yaml.Matching(HeaderPrefix.String()), fromEnvironment()),
				Doc:  "The beginning of the service's header names: x-svc gives x-svc-api-key.",
			},
			{Name: "metadata", Is: yaml.Bool, Doc: "false: no metadata of models are requested."},
			{
				Name: "maxTokensField",
				Is:   yaml.Word(maxTokensFields()...),
				Doc:  "What openai servers call `maxOutputTokens`; max_completion_tokens when not given.",
			},
			{
				Name: "limits", Is: serviceLimitsBlock().Shape(),
				Doc: "Limits of this service. Those of the suite cap the sum of all.",
			},
		},
	}
}

func maxTokensFields() []string { return []string{"max_completion_tokens", "max_tokens"} }

func loginBlock() yaml.Block {
	return yaml.Block{
		Need: []string{"command"},
		Keys: []yaml.Key{
			{
				Name: "command", Is: yaml.OneOrMore(yaml.Text),
				Doc: "The program and its arguments. It prints the token, within 30 seconds.",
			},
			{Name: "env", Is: yaml.OneOrList(yaml.Text), Doc: "Private variables of the environment that the program gets."},
			{Name: "lifetime", Is: yaml.Duration, Doc: "How long a token is good; without it, until the service refuses it."},
		},
	}
}

func serviceLimitsBlock() yaml.Block {
	return yaml.Block{Keys: []yaml.Key{
		{
			Name: "concurrency", Is: yaml.Int(1, MaxConcurrency),
			Doc: "How many requests are under way at once; 8 when not given.",
		},
		{Name: "requestsPerMinute", Is: whole()},
		{Name: "tokensPerMinute", Is: whole()},
	}}
}
