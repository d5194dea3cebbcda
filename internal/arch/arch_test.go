package arch

import (
	"slices"
	"strings"
	"testing"
)

const module = "github.com/evalrun/evalrun/"

// direct lists what each package may import. It also reaches whatever those may import.
var direct = map[string][]string{
	"diag":             nil,
	"internal/stats":   nil,
	"internal/arch":    nil,
	"docs":             nil,
	"internal/expect":  nil,
	"internal/hostile": nil,
	"internal/rundir":  {"internal/exit", "history", "journal", "internal/regular", "internal/atomic", "internal/typeset"},
	"internal/verdict": {
		"internal/selection",
		"internal/trialtext",
		"glob",
		"internal/rundir",
		"internal/exit",
		"runner",
		"compare",
		"ranking",
		"internal/stats",
		"journal",
	},
	"internal/textmetric": nil,
	"internal/jsondiff":   nil,
	"internal/entry":      {"internal/shape", "internal/yamlnode"},
	"internal/output":     {"internal/rundir", "reports"},
	"internal/term":       {"internal/trialtext", "internal/typeset", "runner"},
	"internal/flags":      {"evalrun", "internal/job", "internal/term", "reports"},
	"internal/preference": {"internal/harness"},
	"internal/forge":      {"internal/exit", "internal/regular", "diag", "internal/lazy", "internal/secret", "internal/service"},
	"internal/forgetest":  nil,
	"internal/runs": {
		"internal/forge", "internal/preference", "internal/judgecheck", "internal/output", "internal/atomic", "internal/publish",
		"internal/term", "internal/view",
	},
	"internal/authoring": {"internal/job", "clients/emulator", "internal/lazy", "internal/term", "internal/promptfoo", "docs"},
	"internal/promptfoo": {
		"internal/lazy", "diag", "internal/exit", "internal/regular", "option", "internal/tmpl", "internal/yamlnode", "suite",
	},
	"internal/answers": {
		"clients/app", "clients/generative", "clients/openai", "clients/responses", "clients/anthropic", "tool", "runner", "internal/exit",
		"internal/regular",
	},
	"internal/selection":  {"internal/rundir", "runner"},
	"internal/layers":     nil,
	"internal/forecast":   {"internal/job", "internal/verdict"},
	"internal/judgecheck": {"labels", "internal/exit", "internal/stats", "internal/regular", "journal", "scorers"},
	"internal/setup":      {"internal/harness"},
	"internal/exit":       nil,
	"classification":      {"internal/textmetric"},
	"eval":                {"classification", "diag", "internal/blank", "option", "variable", "tool", "app"},
	"option":              {"internal/lazy", "internal/wirejson"},
	"internal/wirejson":   nil,
	"internal/blank":      nil,
	"internal/lazy":       nil,
	"glob":                nil,
	"labels":              {"eval", "tool", "internal/lazy", "internal/regular", "internal/stats"},
	"pricing":             {"eval"},
	"tool":                nil,
	"app":                 {"internal/wirejson", "variable"},
	"variable":            nil,
	"internal/payload":    {"eval"},
	"internal/service":    {"eval"},
	"internal/estimate":   {"internal/payload"},
	"internal/yamlnode":   {"internal/lazy", "diag", "variable"},
	"internal/tmpl":       {"internal/lazy", "variable"},
	"internal/jq":         {"internal/lazy", "internal/yamlnode"},
	"internal/picture":    nil,
	"internal/program":    nil,
	"internal/workspace":  {"internal/regular"},
	"internal/regular":    nil,
	"internal/atomic":     nil,
	"internal/trust":      {"internal/regular", "journal", "internal/exit"},
	"internal/dataset":    {"internal/lazy", "variable", "internal/jq"},
	"suite": {
		"internal/entry", "eval", "diag", "internal/yamlnode", "internal/tmpl", "internal/picture", "internal/dataset",
		"internal/expression", "internal/shape", "internal/payload", "internal/jq", "internal/service", "glob", "variable", "pricing", "tool",
		"app", "internal/program", "internal/workspace", "internal/protocol", "internal/regular", "internal/secret",
		"internal/stats",
	},
	"internal/secret":    {"eval", "internal/program"},
	"internal/wire":      {"clients/account", "eval", "internal/secret", "internal/service"},
	"internal/protocol":  {"eval", "internal/wirejson", "tool"},
	"internal/replies":   {"eval", "internal/expect"},
	"clients/account":    nil,
	"clients/generative": {"clients/account", "internal/wire", "internal/payload"},
	"clients/openai":     {"clients/account", "internal/wire", "internal/protocol"},
	"clients/anthropic":  {"clients/account", "internal/wire", "internal/protocol"},
	"clients/responses":  {"clients/account", "internal/wire", "internal/protocol"},
	"clients/emulator": {
		"eval", "diag", "internal/yamlnode", "internal/tmpl", "internal/shape", "internal/estimate", "internal/service", "glob",
	},
	"clients/app":       {"internal/wire", "internal/payload", "internal/program", "internal/jq", "app", "tool"},
	"clients/oauth":     {"eval", "diag", "internal/secret", "internal/regular", "internal/atomic", "internal/service"},
	"journal":           {"compare", "eval", "internal/regular", "internal/atomic"},
	"internal/record":   {"eval", "internal/regular", "internal/atomic"},
	"internal/ledger":   {"diag", "glob", "internal/yamlnode", "internal/exit", "internal/atomic", "internal/regular", "internal/service"},
	"internal/flow":     {"pricing", "eval", "internal/record", "internal/estimate"},
	"internal/letters":  {"internal/lazy", "internal/textmetric"},
	"internal/refusing": {"internal/blank", "internal/lazy", "internal/textmetric"},
	"scorers": {
		"internal/letters", "internal/refusing",
		"internal/jsondiff", "internal/textmetric", "suite", "eval", "labels", "diag", "internal/program", "internal/secret",
		"internal/shape", "internal/jq", "tool", "internal/typeset",
	},
	"compare":            {"early", "eval", "internal/stats", "ranking"},
	"early":              {"eval"},
	"ranking":            {"internal/stats", "internal/wirejson"},
	"internal/typeset":   {"eval"},
	"internal/overview":  {"internal/typeset", "internal/exit", "ranking", "compare", "journal", "eval", "diag", "internal/stats"},
	"internal/trialtext": {"internal/typeset", "eval", "diag", "tool"},
	"internal/standing":  {"internal/overview"},
	"internal/page":      {"internal/standing", "internal/overview", "internal/trialtext", "compare", "journal", "pricing", "eval"},
	"internal/testrun":   {"journal", "eval"},
	"reports": {
		"internal/standing", "internal/page", "internal/overview", "internal/trialtext", "compare", "history", "journal", "eval", "diag", "glob",
		"internal/wirejson",
	},
	"history":          {"journal", "eval", "glob", "internal/stats"},
	"runner":           {"scorers", "suite", "eval", "diag", "internal/estimate"},
	"internal/githead": {"internal/lazy", "internal/regular"},
	"internal/project": {"internal/exit", "internal/githead", "reports", "suite"},
	"internal/dialect": {
		"internal/flow", "runner", "clients/account", "clients/generative", "clients/openai", "clients/anthropic", "clients/responses",
		"internal/program", "internal/secret", "suite",
	},
	"internal/job": {
		"internal/dialect", "internal/selection", "internal/project", "internal/layers", "internal/trust", "internal/rundir", "runner",
		"journal", "internal/flow", "internal/regular", "scorers", "suite", "clients/emulator",
	},
	"internal/harness": {
		"internal/job", "internal/answers", "internal/dialect", "internal/verdict", "clients/app", "clients/generative", "clients/emulator",
		"clients/oauth", "internal/ledger", "internal/record", "internal/trialdir",
	},
	"internal/trialdir": {"internal/exit", "internal/regular", "internal/workspace", "journal", "runner", "suite"},
	"evalrun":           {"internal/harness", "internal/output"},
	"evaltest":          {"evalrun", "reports", "journal", "scorers", "suite", "eval", "diag"},
	"internal/gallery":  {"history", "journal", "eval"},
	"internal/publish": {
		"internal/gallery", "internal/page", "internal/verdict", "internal/rundir", "internal/overview", "internal/regular", "internal/exit",
		"compare", "journal", "eval",
	},
	"internal/view": {
		"internal/gallery", "internal/verdict", "internal/rundir", "internal/page", "internal/trust", "internal/service", "journal", "labels",
		"eval",
	},
	"cmd/evalrun": {
		"evalrun", "internal/authoring", "internal/flags", "internal/forecast", "internal/runs", "internal/setup",
	},

	"internal/expression": {"diag", "internal/lazy"},
	"internal/shape":      nil,

	"test/dist":     nil,
	"test/process":  nil,
	"test/pictures": nil,
	"test/prose":    nil,
	"test/site":     {"docs"},
}

// only says which packages may import something from outside the module.
var only = map[string][]string{
	"gopkg.in/yaml.v3": {"internal/yamlnode"},
	"net/http": {
		"internal/wire", "clients/account", "clients/app", "clients/generative", "clients/openai", "clients/anthropic", "clients/responses",
		"clients/emulator", "clients/oauth", "internal/forge", "internal/forgetest", "internal/replies",
		"internal/ledger", // which has nothing to do with a service
		"internal/view",   // which serves pages on this machine, and sends nothing
		"test/process",
	},
	"database/sql":       {"history"},
	"modernc.org/sqlite": {"history"},

	"github.com/expr-lang/expr": {"internal/expression"},

	"github.com/segmentio/encoding/json": {"internal/wirejson"}, // which bounds the depth that it recurses to
}

// roomOf is the name of a package in the tables; the module's own is evalrun.
func roomOf(path string) string {
	if name, below := strings.CutPrefix(path, module); below {
		return name
	}
	return "evalrun"
}

func reaches(from, to string) bool {
	return slices.ContainsFunc(direct[from], func(d string) bool { return d == to || reaches(d, to) })
}

func TestImportsFollowTheArrows(t *testing.T) {
	t.Parallel()
	for _, p := range packages(t) {
		name := roomOf(p.ImportPath)
		if _, known := direct[name]; !known {
			t.Errorf("%s: got no room, want one: add it to the table above", name)
		}
		if p.Doc == "" {
			t.Errorf("%s: got no package comment, want one", name)
		}
		for _, imported := range p.Imports {
			if allowed, limited := only[imported]; limited && !slices.Contains(allowed, name) {
				t.Errorf("%s imports %s: want that of %v alone", name, imported, allowed)
			}
			if ours := strings.HasPrefix(imported+"/", module); ours && !reaches(name, roomOf(imported)) {
				t.Errorf("%s: got an import of %s, want none", name, imported)
			}
		}
	}
}
