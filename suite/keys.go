package suite

import (
	"math"

	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/clients/wire"
	"github.com/evalrun/evalrun/internal/yaml"
)

// The tables of keys. Both the loader and the JSON Schema take the keys of a block from here, so both know the same
// keys.

func aName() yaml.Shape { return yaml.Matching(plainName.String()) }

// aModel is the id of a model. The loader also checks that models of the unnamed service use fewer characters.
func aModel() yaml.Shape { return yaml.Matching(anyModelID.String()) }

func ofService() yaml.Key {
	return yaml.Key{
		Name: "service", Is: aName(),
		Doc: "The name of the service that has the model; the one of `service` when not given.",
	}
}

func share() yaml.Shape { return yaml.Number(0, 1) }

func globList() yaml.Shape { return yaml.OneOrMore(yaml.Text) }

func whole() yaml.Shape { return yaml.Int(1, math.MaxInt32) }

func suiteBlock() yaml.Block {
	return yaml.Block{
		Need: []string{"version", "name"},
		Keys: []yaml.Key{
			{Name: "version", Is: yaml.Word("1"), Doc: "Always 1."},
			{Name: "name", Is: aName(), Doc: "The suite's name: letters, digits, `.`, `_` and `-`."},
			{
				Name: "include",
				Is:   yaml.OneOrList(yaml.Text),
				Doc:  "Other files of the suite's folder whose targets, prompts, judges, scorerSets, defaults and cases belong to the suite.",
			},
			{Name: "description", Is: yaml.Text, Doc: "What the suite is for."},
			{Name: "tags", Is: yaml.OneOrList(yaml.Text), Doc: "Tags of every case, for --tag."},
			{
				Name: "service",
				Is:   serviceBlock().Shape(),
				Doc:  "Where the service is. Each key is also a flag and an EVALRUN_* variable: flag before variable before file.",
			},
			{
				Name: "services",
				Is:   yaml.Named(plainName.String(), servicesBlock().Shape()),
				Doc:  "Services by name, of any vendor, for `service` of targets, judges and `embedding`.",
			},
			{Name: "stream", Is: yaml.Bool, Doc: "Whether targets stream their answers by default."},
			{Name: "targets", Is: yaml.List(targetBlock().Shape()), Doc: "Models with their settings: the things under test."},
			{Name: "prompts", Is: yaml.List(promptBlock().Shape()), Doc: "The prompts under test."},
			{Name: "embedding", Is: embeddingBlock().Shape(), Doc: "The model behind the scorer `similar`."},
			{
				Name: "judges",
				Is:   yaml.Filled(judgeBlock().Shape()),
				Doc:  "Models that judge answers for the scorer `judge`. They are not under test.",
			},
			{
				Name: "scorerSets",
				Is:   yaml.Named(plainName.String(), yaml.Filled(scorerItem())),
				Doc:  "Named lists of scorers, for `- use: NAME` in a list of scorers.",
			},
			{
				Name: "defaults",
				Is:   defaultsBlock().Shape(),
				Doc:  "Merged into every case. A case's own value wins; scorers add up, and one of the same name replaces.",
			},
			{Name: "cases", Is: yaml.List(caseBlock().Shape()), Doc: "Sets of variables with what the answer must satisfy."},
			{
				Name: "classification",
				Is:   yaml.Classification.Shape(),
				Doc:  "The right class of every case, and which one an answer names: a confusion matrix and its metrics.",
			},
			{
				Name: "metrics",
				Is:   yaml.Some(yaml.Named(plainName.String(), yaml.Text)),
				Doc:  "Metrics computed from named scorers, such as `f1: 2*precision*recall/(precision+recall)`.",
			},
			{Name: "limits", Is: limitsBlock().Shape(), Doc: "How fast evalrun sends requests, and when the run stops."},
			{Name: "prices", Is: yaml.Text, Doc: "A price list, a YAML file of the suite's folder."},
			{Name: "gate", Is: yaml.Some(gateBlock().Shape()), Doc: "The rules that turn outcomes and verdicts into an exit code."},
		},
	}
}

// partBlock has the keys of an included file. Only the suite itself may say what a run is, where its
// requests go and what it may cost.
func partBlock() yaml.Block {
	return suiteBlock().Only(
		"version",
		"name",
		"description",
		"include",
		"targets",
		"prompts",
		"judges",
		"scorerSets",
		"defaults",
		"cases",
	)
}

// fromEnvironment is a text of the service block that names a variable of the environment.
func fromEnvironment() yaml.Shape { return yaml.Matching(envRef.String()) }

func webAddress() yaml.Shape { return yaml.Either(yaml.Matching(`^https?://`), fromEnvironment()) }

func serviceBlock() yaml.Block {
	return yaml.Block{Keys: []yaml.Key{
		{Name: "baseUrl", Is: webAddress(), Doc: "Where the service is, without the version: https://..."},
		{
			Name: "apiVersion",
			Is:   yaml.Either(yaml.Word(wire.APIVersions...), fromEnvironment()),
			Doc:  "The version of the interface; v1 when not given.",
		},
		{
			Name: "headerPrefix",
			Is:   yaml.Either(yaml.Matching(HeaderPrefix.String()), fromEnvironment()),
			Doc:  "The beginning of the service's header names: x-svc gives x-svc-api-key.",
		},
		{
			Name: "auth",
			Is:   yaml.Either(yaml.Word(eval.AuthKinds()...), fromEnvironment()),
			Doc: "How to authenticate: a key in a header (apiKey, the default) or in the query, or oauth. The key itself " +
				"belongs in EVALRUN_API_KEY.",
		},
		{Name: "project", Is: yaml.Either(yaml.Matching(Project.String()), fromEnvironment()), Doc: "The cloud project that pays, with oauth."},
		{Name: "authScopeBase", Is: webAddress(), Doc: "The beginning of the scopes' identifiers, for `evalrun auth login`."},
	}}
}

func targetBlock() yaml.Block {
	return yaml.Block{
		Need: []string{"name"}, One: targetForms(),
		Keys: []yaml.Key{
			{Name: "name", Is: aName(), Doc: "The target's name; with a prompt's it makes the name of an arm, `target/prompt`."},
			{Name: "model", Is: aModel(), Doc: "The model's id, without `models/`."},
			ofService(),
			{Name: "http", Is: httpBlock().Shape(), Doc: "An HTTP endpoint, such as that of your own application."},
			{Name: "program", Is: programBlock().Shape(), Doc: "A program that reads the prompt as JSON and writes the answer."},
			{Name: "echo", Is: yaml.Bool, Doc: "true: the answer is the rendered prompt, without a service."},
			{Name: "attempts", Is: yaml.Int(1, MaxAttempts), Doc: "How often a call is sent at most; `limits.attempts` when not given."},
			{Name: "apiVersion", Is: yaml.Word(wire.APIVersions...), Doc: "The version of the interface for this target."},
			{Name: "stream", Is: yaml.Bool, Doc: "Whether answers are streamed, with the time to the first token."},
			{Name: "generationConfig", Is: configBlock().Shape(), Doc: "As the service has it. What is not given is not sent."},
			{
				Name: "safetySettings", Is: yaml.List(safetyBlock().Shape()),
				Doc: "The probability from which the service blocks, by category.",
			},
			{
				Name: "extra", Is: yaml.MapShape(yaml.Any),
				Doc: "Fields at the top level of every request, sent as they are, such as `cachedContent`.",
			},
		},
	}
}

func judgeBlock() yaml.Block {
	return yaml.Block{
		Need: []string{"name", "model"},
		Keys: []yaml.Key{
			{Name: "name", Is: aName(), Doc: "The judge's name, for scorers to choose among several judges."},
			{Name: "model", Is: aModel(), Doc: "The model's id, without `models/`."},
			ofService(),
			{Name: "apiVersion", Is: yaml.Word(wire.APIVersions...), Doc: "The version of the interface for this judge."},
			{Name: "generationConfig", Is: configBlock().Shape(), Doc: "As the service has it. What is not given is not sent."},
			{
				Name: "safetySettings", Is: yaml.List(safetyBlock().Shape()),
				Doc: "The probability from which the service blocks, by category.",
			},
			{
				Name: "extra", Is: yaml.MapShape(yaml.Any),
				Doc: "Fields at the top level of every request, sent as they are, such as `cachedContent`.",
			},
			{Name: "choose", Is: chooseBlock().Shape(), Doc: "Lets `evalrun compare --choose` use this judge, and says by what it chooses."},
			{
				Name: "template", Is: yaml.Text,
				Doc: "A file of the suite's folder with a prompt of your own, a template over `answer`, `question`, " +
					"`conversation` and variables.",
			},
			{
				Name: "choices", Is: yaml.Some(yaml.MapShape(share())),
				Doc: "With `template`: the words among which the judge chooses, and what each is worth.",
			},
		},
	}
}

func chooseBlock() yaml.Block {
	return yaml.Block{Keys: []yaml.Key{{Name: "criteria", Is: yaml.Text, Doc: "What makes one answer better than another."}}}
}

func safetyBlock() yaml.Block {
	return yaml.Block{
		Need: []string{"category", "threshold"},
		Keys: []yaml.Key{
			{Name: "category", Is: yaml.Suggesting(wire.Categories...)},
			{Name: "threshold", Is: yaml.Suggesting(wire.Thresholds...)},
		},
	}
}

func promptBlock() yaml.Block {
	return yaml.Block{
		Need: []string{"name"}, One: promptForms(),
		Keys: append([]yaml.Key{
			{Name: "name", Is: aName(), Doc: "The prompt's name; with a target's it makes the name of an arm, `target/prompt`."},
			{Name: "targets", Is: globList(), Doc: "Globs of the targets that get this prompt; all when not given."},
			{Name: "text", Is: yaml.Text, Doc: "The text to send. `{{.country}}` is the variable `country` of the case."},
			{Name: "file", Is: yaml.Text, Doc: "A file of the suite's folder with the text."},
			{Name: "turns", Is: yaml.Filled(turnBlock().Shape()), Doc: "A chat: turns of user and model, the user's last."},
			{Name: "parts", Is: yaml.Filled(partOfPrompt().Shape()), Doc: "Texts, images, other files, and parts in the words of the protocol."},
			{Name: "system", Is: systemShape(), Doc: "The system text that goes with every call: a template, or {file: NAME}."},
			{Name: "live", Is: yaml.Bool, Doc: "With `turns`: only the user's are listed, and the model's own replies go in between."},
		}, toolKeys()...),
	}
}

func turnBlock() yaml.Block {
	return yaml.Block{
		One: []string{eval.RoleUser, eval.RoleModel},
		Keys: []yaml.Key{
			{Name: eval.RoleUser, Is: turnShape(), Doc: "What the user says: a text, or a list of parts."},
			{Name: eval.RoleModel, Is: turnShape(), Doc: "What the model has said: a text, or a list of parts."},
		},
	}
}

func turnShape() yaml.Shape { return yaml.Either(yaml.Text, yaml.Filled(partOfPrompt().Shape())) }

func partOfPrompt() yaml.Block {
	return yaml.Block{
		One: partForms(),
		Keys: []yaml.Key{
			{Name: "text", Is: yaml.Text, Doc: "A text, which may be a template."},
			{Name: "image", Is: yaml.Text, Doc: "An image of the suite's folder; the name may be a template."},
			{
				Name: "data", Is: yaml.Text,
				Doc: "An audio, video or PDF file of the suite's folder, or any other with `mimeType`; the name may be a template.",
			},
			{
				Name: "raw", Is: yaml.Some(yaml.MapShape(yaml.Any)),
				Doc: "One part in the words of the protocol, sent as it is; texts in it may be templates.",
			},
			{
				Name: "mimeType", Is: yaml.Matching(mediaType.String()),
				Doc: "The type that the file must have. Only needed where its bytes do not show it.",
			},
			{Name: "resize", Is: yaml.Bool, Doc: "Whether the image is made smaller when the prompt would be too large."},
		},
	}
}

func embeddingBlock() yaml.Block {
	return yaml.Block{
		Need: []string{"model"},
		Keys: []yaml.Key{
			{Name: "model", Is: aModel(), Doc: "The model's id; " + wire.DefaultEmbeddingModel + " when there is no such block."},
			ofService(),
			{Name: "apiVersion", Is: yaml.Word(wire.APIVersions...), Doc: "The version of the interface for this model."},
		},
	}
}

// Keys that cases and defaults share.
func caseVars() yaml.Key {
	return yaml.Key{
		Name: "vars",
		Is:   yaml.MapShape(yaml.Any),
		Doc:  "Variables for templates: texts as they are written, lists and mappings.",
	}
}

func caseTags() yaml.Key {
	return yaml.Key{Name: "tags", Is: yaml.OneOrList(yaml.Text), Doc: "For --tag."}
}

func caseArms() yaml.Key {
	return yaml.Key{Name: "arms", Is: globList(), Doc: "Globs of the arms (`target/prompt`) that run; all when not given."}
}

func caseCluster() yaml.Key {
	return yaml.Key{
		Name: "cluster",
		Is:   yaml.Text,
		Doc:  "Cases of the same cluster are not independent of each other, which verdicts take into account.",
	}
}

func caseRepeats() yaml.Key {
	return yaml.Key{
		Name: "repeats",
		Is:   yaml.Templates(yaml.Int(1, MaxRepeats)),
		Doc:  "How often each arm runs; 1 when not given.",
	}
}

func caseThreshold() yaml.Key {
	return yaml.Key{
		Name: "threshold",
		Is:   yaml.Templates(share()),
		Doc:  "The weighted mean of the scores from which a trial passes. Without it every scorer must pass.",
	}
}

func caseQuarantine() yaml.Key {
	return yaml.Key{
		Name: "quarantine",
		Is:   quarantineBlock().Shape(),
		Doc:  "Why the case does not count in the gate, and until when.",
	}
}

func caseScorers() yaml.Key {
	return yaml.Key{Name: "scorers", Is: yaml.Ref("scorers"), Doc: "What the answer must satisfy."}
}

func defaultsBlock() yaml.Block {
	return yaml.Block{
		Keys: []yaml.Key{caseRepeats(), caseVars(), caseTags(), caseArms(), caseCluster(), caseThreshold(), caseQuarantine(), caseScorers()},
	}
}

func caseBlock() yaml.Block {
	return yaml.Block{
		Some: []string{"name", "dataset"},
		Keys: append([]yaml.Key{
			caseVars(), caseTags(), caseArms(), caseCluster(), caseRepeats(), caseThreshold(), caseQuarantine(), caseScorers(),
			{Name: "name", Is: yaml.Text, Doc: "One line, which may be a template. With a dataset: of each row."},
			{Name: "id", Is: yaml.Text, Doc: "What makes the case the same in another run; a hash of its variables and images when not given."},
			{Name: "inheritScorers", Is: yaml.Bool, Doc: "false: the scorers of the defaults do not apply."},
			{Name: "each", Is: yaml.Filled(yaml.MapShape(yaml.Any)), Doc: "A list of sets of variables; each set makes a case."},
			{
				Name: "matrix",
				Is:   yaml.Some(yaml.MapShape(yaml.Filled(yaml.Any))),
				Doc:  "Variables with lists of values, whose combinations make a case each.",
			},
		}, datasetKeys...),
	}
}

func datasetFormats() []string { return []string{"csv", "tsv", "jsonl", "json", "yaml", "file"} }

// datasetKeys lists the keys of a case that comes from a data file. Every case is searched for them.
var datasetKeys = []yaml.Key{
	{
		Name: "dataset",
		Is:   yaml.Text,
		Doc: "A file of the suite's folder (.csv .tsv .jsonl .json, also with .gz, or .yaml), or a glob of files: one " +
			"case a row.",
	},
	{Name: "format", Is: yaml.Word(datasetFormats()...), Doc: "The format of the dataset, when its name does not show it."},
	{Name: "separator", Is: yaml.Text, Doc: "The character between the cells of a .csv file, if not a comma."},
	{
		Name: "columns",
		Is:   yaml.OneOrMore(yaml.Text),
		Doc:  "The names of the columns of a .csv or .tsv file without a header.",
	},
	{
		Name: "rows",
		Is:   yaml.Text,
		Doc:  "jq that selects the rows of a .json file, or of each line of a .jsonl file, such as `.data[].items[]`.",
	},
	{Name: "where", Is: yaml.Text, Doc: "Which rows are cases."},
	{Name: "limit", Is: whole(), Doc: "How many rows to take, from the first on."},
	{Name: "sample", Is: yaml.Int(1, maxSample), Doc: "How many rows to draw, by `seed`."},
	{Name: "seed", Is: yaml.Int(0, math.MaxInt32), Doc: "Another seed draws another sample."},
	{Name: "scorerColumn", Is: yaml.Text, Doc: "The column with scorers of the row, such as `contains: Paris`."},
}

func quarantineBlock() yaml.Block {
	return yaml.Block{
		Need: []string{"reason", "owner", "until"},
		Keys: []yaml.Key{
			{Name: "reason", Is: yaml.Text, Doc: "Why."},
			{Name: "owner", Is: yaml.Text, Doc: "Who is responsible."},
			{Name: "until", Is: yaml.Matching(`^[0-9]{4}-[0-9]{2}-[0-9]{2}$`), Doc: "The last day, such as 2027-01-31."},
		},
	}
}

func useBlock() yaml.Block {
	return yaml.Block{
		Need: []string{useKey},
		Keys: []yaml.Key{{Name: useKey, Is: yaml.OneOrList(yaml.Text), Doc: "The names of scorer sets."}},
	}
}

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
