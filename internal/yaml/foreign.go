package yaml

import (
	"cmp"
	"slices"
	"strings"

	"github.com/evalrun/evalrun/diag"
)

// hint suggests a key instead of an unknown one: evalrun's key for one of another tool, or else the nearest known key.
func hint(word string, known []string) string {
	return cmp.Or(elsewhere(word, known), diag.DidYouMean(word, known))
}

const imports = "; `evalrun import promptfoo` turns a promptfoo configuration into a suite"

// foreign maps keys of other tools, in lower case and without dashes, to evalrun's. An entry applies to blocks that have
// its first key. WORD in a hint stands for the unknown key.
var foreign = []struct{ in, words, hint string }{
	// a suite
	{"cases", "tests scenarios", "write `cases`" + imports},
	{"cases", "test testcases samples examples dataset datasets data", "write `cases`"},
	{"cases", "providers", "write `targets`" + imports},
	{"cases", "provider model models", "write `targets`, such as `targets: [{name: pro, model: svc-pro}]`"},
	{"cases", "prompt", "write `prompts`, such as `prompts: [{name: short, text: ...}]`"},
	{"cases", "defaulttest", "write `defaults`" + imports},
	{"cases", "vars variables", "write `vars` in a case, or in `defaults` for all cases"},
	{"cases", "assert asserts assertions scorers checks evaluators graders", "write `scorers` in a case, or in `defaults` for all cases"},
	{"cases", "assertiontemplates", "write `scorerSets`" + imports},
	{"cases", "derivedmetrics", "write `metrics`" + imports},
	{"cases", "evaluateoptions commandlineoptions", "write `limits`, or use flags such as `-j`" + imports},
	{"cases", "outputpath", "use `-o FORMAT=FILE` on the command line" + imports},
	{"cases", "redteam nunjucksfilters extensions sharing tracing env", "a suite has no such key" + imports},
	{"cases", "threshold", "write `gate: {passRate: {min: ...}}`, or `threshold` in `defaults`"},
	{"cases", "repeat repeats", "write `repeats` in a case, or in `defaults` for all cases"},
	{"cases", "temperature maxtokens config", "write `generationConfig` in a target"},

	// a case
	{"inheritScorers", "input inputs question query prompt message context", "write it as a variable: `vars: {WORD: ...}`"},
	{
		"inheritScorers", "expected expectedoutput ideal answer reference output target groundtruth",
		"write a scorer, such as `scorers: [{equals: ...}]`, or a variable",
	},
	{"inheritScorers", "description title", "write `name`"},
	{"inheritScorers", "metadata", "write `tags`, or a variable"},
	{"inheritScorers", "provider providers prompts", "write `arms`, globs of `target/prompt`"},
	{"inheritScorers", "file data", "write `dataset`"},
	{"inheritScorers", "options transform", "write `select` next to a scorer"},
	{"cluster", "assert asserts assertions checks evaluators graders", "write `scorers`"},
	{"cluster", "variables", "write `vars`"},

	// a target
	{"echo", "provider id", "write `model`, and `service` for a service by its name"},
	{"echo", "config parameters options temperature topp topk maxtokens", "write `generationConfig`, such as `{temperature: 0}`"},
	{"echo", "url", "write `http`"},
	{"echo", "label", "write `name`"},

	// a judge among scorers
	{"rubric", "threshold min weight required name select", "write `WORD` next to `judge`, not in it"},

	// a prompt
	{"live", "content template raw prompt", "write `text`"},
	{"live", "messages", "write `turns`"},
	{"live", "label id", "write `name`"},
}

var plainWord = strings.NewReplacer("_", "", "-", "")

// elsewhere returns the hint for a key of another tool; "" for other words.
func elsewhere(word string, known []string) string {
	plain := plainWord.Replace(strings.ToLower(word))
	for _, f := range foreign {
		if slices.Contains(strings.Fields(f.words), plain) && slices.Contains(known, f.in) {
			return strings.ReplaceAll(f.hint, "WORD", word)
		}
	}
	return ""
}
