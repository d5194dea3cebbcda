package suite

import (
	"math"
	"slices"
	"sync"

	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/clients/wire"
	"github.com/evalrun/evalrun/internal/yaml"
)

// The tables of keys. Both the loader and the JSON Schema take the keys of a block from here, so both know the same
// keys.

func key(name string, is yaml.Shape, doc string) yaml.Key {
	return yaml.Key{Name: name, Is: is, Doc: doc}
}

func aName() yaml.Shape { return yaml.Matching(plainName().String()) }

// aModel is the id of a model. The loader also checks that models of the unnamed service use fewer characters.
func aModel() yaml.Shape { return yaml.Matching(anyModelID().String()) }

func ofService() yaml.Key {
	return key("service", aName(), "The name of the service that has the model; the one of `service` when not given.")
}

func ofVendor() yaml.Key {
	return key("vendor", yaml.Word(wire.VendorNames()...), "The vendor of the model, as `evalrun vendors` lists it.")
}

func ofBatch() yaml.Key {
	return key(
		"batch", yaml.Bool,
		"Whether calls are answered in batches, within hours and at a lower price; as --batch says when not given.",
	)
}

func share() yaml.Shape { return yaml.Number(0, 1) }

func globList() yaml.Shape { return yaml.OneOrMore(yaml.Text) }

func whole() yaml.Shape { return yaml.Int(1, math.MaxInt32) }

var suiteBlock = sync.OnceValue(func() yaml.Block {
	return yaml.Block{
		Need: []string{"version", "name"},
		Keys: []yaml.Key{
			key("version", yaml.Word("1"), "Always 1."),
			key("name", aName(), "The suite's name: letters, digits, `.`, `_` and `-`."),
			key(
				"include", yaml.OneOrList(yaml.Text),
				"Other files of the project whose targets, prompts, judges, scorerSets, defaults and cases belong to the suite.",
			),
			key("description", yaml.Text, "What the suite is for."),
			key("tags", yaml.OneOrList(yaml.Text), "Tags of every case, for --tag."),
			key(
				"service", serviceBlock().Shape(),
				"Where the service is. Each key is also a flag and an EVALRUN_* variable: flag before variable before file.",
			),
			key(
				"services", yaml.Named(plainName().String(), servicesBlock().Shape()),
				"Services by name, of any vendor, for `service` of targets, judges and `embedding`.",
			),
			key("stream", yaml.Bool, "Whether targets stream their answers by default."),
			key("targets", yaml.List(targetBlock().Shape()), "Models with their settings: the things under test."),
			key("prompts", yaml.List(promptBlock().Shape()), "The prompts under test."),
			key("embedding", embeddingBlock().Shape(), "The model behind the scorer `similar`."),
			key(
				"judges", yaml.Filled(judgeBlock().Shape()),
				"Models that judge answers for the scorer `judge`. They are not under test.",
			),
			key(
				"scorerSets", yaml.Named(plainName().String(), yaml.Filled(scorerItem())),
				"Named lists of scorers, for `- use: NAME` in a list of scorers.",
			),
			key(
				"defaults", defaultsBlock().Shape(),
				"Merged into every case. A case's own value wins; scorers add up, and one of the same name replaces.",
			),
			key("cases", yaml.List(caseBlock().Shape()), "Sets of variables with what the answer must satisfy."),
			key(
				"classification", yaml.Classification.Shape(),
				"The right class of every case, and which one an answer names: a confusion matrix and its metrics.",
			),
			key(
				"metrics", yaml.Some(yaml.Named(plainName().String(), yaml.Text)),
				"Metrics computed from named scorers, such as `f1: 2*precision*recall/(precision+recall)`.",
			),
			key("limits", limitsBlock().Shape(), "How fast evalrun sends requests, and when the run stops."),
			key("prices", yaml.Text, "A price list, a YAML file of the project."),
			key("gate", yaml.Some(gateBlock().Shape()), "The rules that turn outcomes and verdicts into an exit code."),
		},
	}
})

// partBlock has the keys of an included file. Only the suite itself may say what a run is, where its
// requests go and what it may cost.
var partBlock = sync.OnceValue(func() yaml.Block {
	return suiteBlock().Only(
		"version", "name", "description", "include", "targets", "prompts", "judges", "scorerSets", "defaults", "cases",
	)
})

// fromEnvironment is a text of the service block that names a variable of the environment.
func fromEnvironment() yaml.Shape { return yaml.Matching(envRef().String()) }

func webAddress() yaml.Shape { return yaml.Either(yaml.Matching(`^https?://`), fromEnvironment()) }

var serviceBlock = sync.OnceValue(func() yaml.Block {
	return yaml.Block{Keys: []yaml.Key{
		key("baseUrl", webAddress(), "Where the service is, without the version: https://..."),
		key(
			"apiVersion", yaml.Either(yaml.Word(wire.APIVersions...), fromEnvironment()),
			"The version of the interface; v1 when not given.",
		),
		key(
			"headerPrefix", yaml.Either(yaml.Matching(HeaderPrefix.String()), fromEnvironment()),
			"The beginning of the service's header names: x-svc gives x-svc-api-key.",
		),
		key(
			"auth", yaml.Either(yaml.Word(eval.AuthKinds()...), fromEnvironment()),
			"How to authenticate: a key in a header (apiKey, the default) or in the query, or oauth. The key itself belongs in "+
				"EVALRUN_API_KEY.",
		),
		key("project", yaml.Either(yaml.Matching(Project.String()), fromEnvironment()), "The cloud project that pays, with oauth."),
		key("authScopeBase", webAddress(), "The beginning of the scopes' identifiers, for `evalrun auth login`."),
		ofBatch(),
	}}
})

var targetBlock = sync.OnceValue(func() yaml.Block {
	return yaml.Block{
		Need: []string{"name"}, One: targetForms(),
		Keys: []yaml.Key{
			key("name", aName(), "The target's name; with a prompt's it makes the name of an arm, `target/prompt`."),
			key("model", aModel(), "The model's id, without `models/`."),
			ofService(),
			ofVendor(),
			key("http", httpBlock().Shape(), "An HTTP endpoint, such as that of your own application."),
			key("program", programBlock().Shape(), "A program that reads the prompt as JSON and writes the answer."),
			key("echo", yaml.Bool, "true: the answer is the rendered prompt, without a service."),
			key("faults", yaml.List(faultBlock().Shape()), "What goes wrong on purpose with the calls of a program's `models`."),
			key("attempts", yaml.Int(1, MaxAttempts), "How often a call is sent at most; `limits.attempts` when not given."),
			key("apiVersion", yaml.Word(wire.APIVersions...), "The version of the interface for this target."),
			key("stream", yaml.Bool, "Whether answers are streamed, with the time to the first token."),
			key(
				"reasoning", yaml.Word(reasoningWords()...),
				"strip: what a model thought in its text, as in <think>...</think>, is no part of the answer; keep when not given.",
			),
			key("generationConfig", configBlock().Shape(), "As the service has it. What is not given is not sent."),
			key("safetySettings", yaml.List(safetyBlock().Shape()), "The probability from which the service blocks, by category."),
			key("extra", yaml.MapShape(yaml.Any), "Fields at the top level of every request, sent as they are, such as `cachedContent`."),
		},
	}
})

var judgeBlock = sync.OnceValue(func() yaml.Block {
	return yaml.Block{
		Need: []string{"name", "model"},
		Keys: []yaml.Key{
			key("name", aName(), "The judge's name, for scorers to choose among several judges."),
			key("model", aModel(), "The model's id, without `models/`."),
			ofService(),
			ofVendor(),
			key("apiVersion", yaml.Word(wire.APIVersions...), "The version of the interface for this judge."),
			key("generationConfig", configBlock().Shape(), "As the service has it. What is not given is not sent."),
			key("safetySettings", yaml.List(safetyBlock().Shape()), "The probability from which the service blocks, by category."),
			key("extra", yaml.MapShape(yaml.Any), "Fields at the top level of every request, sent as they are, such as `cachedContent`."),
			key("choose", chooseBlock().Shape(), "Lets `evalrun compare --choose` use this judge, and says by what it chooses."),
			key(
				"template", yaml.Text,
				"A file of the project with a prompt of your own, a template over `answer`, `question`, `conversation` and "+
					"variables.",
			),
			key(
				"choices", yaml.Some(yaml.MapShape(share())),
				"With `template`: the words among which the judge chooses, and what each is worth.",
			),
		},
	}
})

var chooseBlock = sync.OnceValue(func() yaml.Block {
	return yaml.Block{Keys: []yaml.Key{key("criteria", yaml.Text, "What makes one answer better than another.")}}
})

var safetyBlock = sync.OnceValue(func() yaml.Block {
	return yaml.Block{
		Name: "safetySetting",
		Need: []string{"category", "threshold"},
		Keys: []yaml.Key{
			key("category", yaml.Suggesting(wire.Categories...), ""),
			key("threshold", yaml.Suggesting(wire.Thresholds...), ""),
		},
	}
})

var promptBlock = sync.OnceValue(func() yaml.Block {
	return yaml.Block{
		Need: []string{"name"}, One: promptForms(),
		Keys: append([]yaml.Key{
			key("name", aName(), "The prompt's name; with a target's it makes the name of an arm, `target/prompt`."),
			key("targets", globList(), "Globs of the targets that get this prompt; all when not given."),
			key("text", yaml.Text, "The text to send. `{{.country}}` is the variable `country` of the case."),
			key("file", yaml.Text, "A file of the project with the text."),
			key("turns", yaml.Filled(turnBlock().Shape()), "A chat: turns of user and model, the user's last."),
			key("parts", yaml.Filled(partOfPrompt().Shape()), "Texts, images, other files, and parts in the words of the protocol."),
			key("program", generatorShape(), "A program that writes the prompt, for each case and target."),
			key("system", yaml.Either(yaml.Text, systemFile().Shape()), "The system text that goes with every call: a template, or {file: NAME}."),
			key("live", yaml.Bool, "With `turns`: only the user's are listed, and the model's own replies go in between."),
		}, toolKeys()...),
	}
})

var turnBlock = sync.OnceValue(func() yaml.Block {
	return yaml.Block{
		One: []string{eval.RoleUser, eval.RoleModel},
		Keys: []yaml.Key{
			key(eval.RoleUser, turnShape(), "What the user says: a text, or a list of parts."),
			key(eval.RoleModel, turnShape(), "What the model has said: a text, or a list of parts."),
		},
	}
})

func turnShape() yaml.Shape { return yaml.Either(yaml.Text, yaml.Filled(partOfPrompt().Shape())) }

var partOfPrompt = sync.OnceValue(func() yaml.Block {
	return yaml.Block{
		Name: "part",
		One:  partForms(),
		Keys: []yaml.Key{
			key("text", yaml.Text, "A text, which may be a template."),
			key("image", yaml.Text, "An image of the project; the name may be a template."),
			key(
				"data", yaml.Text,
				"An audio, video or PDF file of the project, or any other with `mimeType`; the name may be a template.",
			),
			key(
				"raw", yaml.Some(yaml.MapShape(yaml.Any)),
				"One part in the words of the protocol, sent as it is; texts in it may be templates.",
			),
			key(
				"mimeType", yaml.Matching(mediaType().String()),
				"The type that the file must have. Only needed where its bytes do not show it.",
			),
			key("resize", yaml.Bool, "Whether the image is made smaller when the prompt would be too large."),
		},
	}
})

var embeddingBlock = sync.OnceValue(func() yaml.Block {
	return yaml.Block{
		Need: []string{"model"},
		Keys: []yaml.Key{
			key("model", aModel(), "The model's id; "+eval.DefaultEmbeddingModel+" when there is no such block."),
			ofService(),
			ofVendor(),
			key("apiVersion", yaml.Word(wire.APIVersions...), "The version of the interface for this model."),
		},
	}
})

var caseKeys = sync.OnceValue(func() []yaml.Key {
	return []yaml.Key{
		key("vars", yaml.MapShape(yaml.Any), "Variables for templates: texts as they are written, lists and mappings."),
		key(
			"hidden", yaml.Either(yaml.MapShape(yaml.Any), yaml.OneOrList(yaml.Text)),
			"Variables that only scorers see: a mapping with their values, or names of variables and columns.",
		),
		key("tags", yaml.OneOrList(yaml.Text), "For --tag."),
		key("arms", globList(), "Globs of the arms (`target/prompt`) that run; all when not given."),
		key(
			"cluster", yaml.Text,
			"Cases of the same cluster are not independent of each other, which verdicts take into account.",
		),
		key("repeats", yaml.Templates(yaml.Int(1, MaxRepeats)), "How often each arm runs; 1 when not given."),
		key(
			"threshold", yaml.Templates(share()),
			"The weighted mean of the scores from which a trial passes. Without it every scorer must pass.",
		),
		key("quarantine", quarantineBlock().Shape(), "Why the case does not count in the gate, and until when."),
		key("scorers", yaml.Ref("scorers"), "What the answer must satisfy."),
	}
})

var defaultsBlock = sync.OnceValue(func() yaml.Block { return yaml.Block{Keys: caseKeys()} })

var caseBlock = sync.OnceValue(func() yaml.Block {
	return yaml.Block{
		Some: []string{"name", "dataset", "program"},
		Keys: slices.Concat(caseKeys(), []yaml.Key{
			key("name", yaml.Text, "One line, which may be a template. With a dataset: of each row."),
			key("program", generatorShape(), "A program that writes cases: a JSON list, or JSON lines."),
			key("id", yaml.Text, "What makes the case the same in another run; a hash of its variables and images when not given."),
			key("inheritScorers", yaml.Bool, "false: the scorers of the defaults do not apply."),
			key("each", yaml.Filled(yaml.MapShape(yaml.Any)), "A list of sets of variables; each set makes a case."),
			key(
				"matrix", yaml.Some(yaml.MapShape(yaml.Filled(yaml.Any))),
				"Variables with lists of values, whose combinations make a case each.",
			),
		}, datasetKeys()),
	}
})

func datasetFormats() []string { return []string{"csv", "tsv", "jsonl", "json", "yaml", "file"} }

// datasetKeys lists the keys of a case that comes from a data file. Every case is searched for them.
var datasetKeys = sync.OnceValue(func() []yaml.Key {
	return []yaml.Key{
		key(
			"dataset", yaml.Text,
			"A file of the project (.csv .tsv .jsonl .json, also with .gz, or .yaml), or a glob of files: one case a row.",
		),
		key("format", yaml.Word(datasetFormats()...), "The format of the dataset, when its name does not show it."),
		key("separator", yaml.Text, "The character between the cells of a .csv file, if not a comma."),
		key("columns", yaml.OneOrMore(yaml.Text), "The names of the columns of a .csv or .tsv file without a header."),
		key("rows", yaml.Text, "jq that selects the rows of a .json file, or of each line of a .jsonl file, such as `.data[].items[]`."),
		key("where", yaml.Text, "Which rows are cases."),
		key("limit", whole(), "How many rows to take, from the first on."),
		key("sample", yaml.Int(1, maxSample), "How many rows to draw, by `seed`."),
		key("seed", yaml.Int(0, math.MaxInt32), "Another seed draws another sample."),
		key("scorerColumn", yaml.Text, "The column with scorers of the row, such as `contains: Paris`."),
	}
})

var quarantineBlock = sync.OnceValue(func() yaml.Block {
	return yaml.Block{
		Name: "quarantine",
		Need: []string{"reason", "owner", "until"},
		Keys: []yaml.Key{
			key("reason", yaml.Text, "Why."),
			key("owner", yaml.Text, "Who is responsible."),
			key("until", yaml.Matching(`^[0-9]{4}-[0-9]{2}-[0-9]{2}$`), "The last day, such as 2027-01-31."),
		},
	}
})

var useBlock = sync.OnceValue(func() yaml.Block {
	return yaml.Block{
		Need: []string{useKey},
		Keys: []yaml.Key{key(useKey, yaml.OneOrList(yaml.Text), "The names of scorer sets.")},
	}
})

// scorerItem is an item of a list of scorers. The table of kinds defines the scorers themselves.
func scorerItem() yaml.Shape { return yaml.When(useKey, useBlock().Shape(), yaml.Ref("scorer")) }

// Shape is the shape of a suite. It refers to `scorers`, which is ScorersShape. That refers to `scorer`, which the table of
// kinds defines.
func Shape(templates bool) yaml.Schema {
	out := suiteBlock().Shape()(templates)
	out["if"] = yaml.Schema{"required": []string{"include"}}
	out["else"] = yaml.Schema{"required": []string{"targets", "prompts", "cases"}}
	return out
}

// PartShape is the shape of a file that a suite includes.
func PartShape(templates bool) yaml.Schema { return partBlock().Shape()(templates) }

// PricesShape is the shape of a price list.
func PricesShape(templates bool) yaml.Schema { return pricesBlock().Shape()(templates) }

// ScorersShape is the shape of a list of scorers. Shape and PartShape refer to it as `scorers`.
func ScorersShape(templates bool) yaml.Schema { return yaml.List(scorerItem())(templates) }

var servicesBlock = sync.OnceValue(func() yaml.Block {
	return yaml.Block{
		Keys: []yaml.Key{
			key(
				"vendor", yaml.Word(wire.VendorNames()...),
				"The vendor, which fills in what is not given; that of the service's name when there is one.",
			),
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
			ofBatch(),
			key("metadata", yaml.Bool, "false: no metadata of models are requested."),
			key(
				"maxTokensField", yaml.Word(maxTokensFields()...),
				"What openai servers call `maxOutputTokens`; max_completion_tokens when not given.",
			),
			key(
				"resendReasoning", yaml.Bool,
				"Whether what the model thought goes back to openai servers in a conversation; as the vendor wants it when not given.",
			),
			key("tls", tlsBlock().Shape(), "Certificates, PEM files of the project."),
			key("limits", serviceLimitsBlock().Shape(), "Limits of this service. Those of the suite cap the sum of all."),
		},
	}
})

func maxTokensFields() []string { return []string{"max_completion_tokens", "max_tokens"} }

var loginBlock = sync.OnceValue(func() yaml.Block {
	return yaml.Block{
		Name: "login",
		Need: []string{"command"},
		Keys: []yaml.Key{
			key("command", yaml.OneOrMore(yaml.Text), "The program and its arguments. It prints the token, within 30 seconds."),
			key("env", yaml.OneOrList(yaml.Text), "Private variables of the environment that the program gets."),
			key("lifetime", yaml.Duration, "How long a token is good; without it, until the service refuses it."),
		},
	}
})

var serviceLimitsBlock = sync.OnceValue(func() yaml.Block {
	return yaml.Block{Keys: []yaml.Key{
		key("concurrency", yaml.Int(1, MaxConcurrency), "How many requests are under way at once; 8 when not given."),
		key("requestsPerMinute", whole(), ""),
		key("tokensPerMinute", whole(), ""),
	}}
})
