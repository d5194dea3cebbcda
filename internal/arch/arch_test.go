package arch

import (
	"encoding/json"
	"errors"
	"io"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/evalrun/evalrun/internal/expect"
)

const module = "github.com/evalrun/evalrun/"

// direct lists what each package may import. It also reaches whatever those may import.
var direct = map[string][]string{
	"diag":                nil,
	"internal/stats":      nil,
	"internal/arch":       nil,
	"docs":                nil,
	"internal/expect":     nil,
	"internal/hostile":    nil,
	"internal/rundir":     {"internal/exit", "history", "journal", "internal/regular", "internal/atomic"},
	"internal/verdict":    {"internal/rundir", "internal/exit", "runner", "compare", "internal/stats", "journal"},
	"internal/textmetric": nil,
	"internal/jsondiff":   nil,
	"internal/entry":      {"internal/shape", "internal/yamlnode"},
	"internal/output":     {"internal/rundir", "reports"},
	"internal/answers":    {"clients/generative", "runner", "internal/exit", "internal/regular"},
	"internal/selection":  {"internal/rundir", "runner"},
	"internal/accept":     {"internal/harness", "internal/output", "internal/atomic"},
	"internal/layers":     nil,
	"internal/forecast":   {"internal/verdict"},
	"internal/judgecheck": {"internal/exit", "internal/stats", "internal/regular", "journal", "scorers"},
	"internal/doctor":     {"internal/harness"},
	"internal/exit":       nil,
	"eval":                {"diag"},
	"internal/yamlnode":   {"diag"},
	"internal/tmpl":       {"eval"},
	"internal/picture":    nil,
	"internal/program":    nil,
	"internal/regular":    nil,
	"internal/atomic":     nil,
	"internal/trust":      {"internal/regular"},
	"internal/dataset":    {"internal/tmpl"},
	"suite": {
		"internal/entry", "eval", "diag", "internal/yamlnode", "internal/tmpl", "internal/picture", "internal/dataset",
		"internal/expression", "internal/shape",
	},
	"internal/secret":    {"eval"},
	"internal/wire":      {"eval", "internal/secret"},
	"clients/generative": {"internal/wire"},
	"clients/emulator":   {"eval", "diag", "internal/yamlnode", "internal/tmpl", "internal/shape"},
	"clients/oauth":      {"eval", "diag", "internal/secret", "internal/regular"},
	"journal":            {"eval", "internal/regular"},
	"internal/record":    {"eval", "internal/regular", "internal/atomic"},
	"internal/flow":      {"eval", "internal/record"},
	"scorers":            {"internal/jsondiff", "internal/textmetric", "suite", "eval", "diag", "internal/program", "internal/shape"},
	"compare":            {"eval", "internal/stats"},
	"reports":            {"journal", "eval", "diag", "internal/stats"},
	"history":            {"journal", "eval", "internal/stats"},
	"runner":             {"scorers", "suite", "eval", "diag"},
	"internal/harness": {
		"internal/output", "internal/answers", "internal/selection",
		"internal/layers", "internal/verdict", "internal/rundir", "runner", "compare", "internal/stats", "reports", "history",
		"journal", "clients/generative", "clients/emulator", "clients/oauth", "internal/flow", "internal/record",
		"internal/trust", "internal/regular", "internal/atomic", "scorers", "suite",
	},
	"evalrun":       {"internal/harness", "internal/output"},
	"evaltest":      {"evalrun", "reports", "journal", "scorers", "suite", "eval", "diag"},
	"internal/view": {"internal/verdict", "internal/rundir", "reports", "history", "journal", "eval"},
	"cmd/evalrun": {
		"internal/accept",
		"evalrun", "internal/forecast", "internal/judgecheck", "internal/doctor", "docs", "internal/regular", "internal/view",
		"internal/harness", "history", "journal", "clients/emulator", "clients/oauth", "reports", "runner", "scorers",
		"suite", "eval", "diag", "internal/shape",
	},

	"internal/expression": {"diag"},
	"internal/shape":      nil,

	"test/dist":     nil,
	"test/pictures": nil,
}

// only says which packages may import something from outside the module.
var only = map[string][]string{
	"gopkg.in/yaml.v3": {"internal/yamlnode"},
	"net/http": {
		"internal/wire", "clients/generative", "clients/emulator", "clients/oauth", "internal/view",
	}, // the last serves pages on this machine, and asks nobody
	"database/sql":       {"history"},
	"modernc.org/sqlite": {"history"},

	"github.com/expr-lang/expr": {"internal/expression"},
}

type pkg struct {
	ImportPath string
	Doc        string
	Imports    []string
}

func packages(t *testing.T) []pkg {
	t.Helper()
	out, err := exec.Command("go", "list", "-json=ImportPath,Doc,Imports", "../../...").Output()
	expect.OK(t, err)
	var all []pkg
	for dec := json.NewDecoder(strings.NewReader(string(out))); ; {
		var p pkg
		if err := dec.Decode(&p); errors.Is(err, io.EOF) {
			return all
		} else if err != nil {
			t.Fatal(err)
		}
		all = append(all, p)
	}
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

func TestArrows(t *testing.T) {
	t.Parallel()
	for _, p := range packages(t) {
		name := roomOf(p.ImportPath)
		if _, known := direct[name]; !known {
			t.Errorf("%s stands in no room: give it one in the table above", name)
		}
		if p.Doc == "" {
			t.Errorf("%s has no package comment", name)
		}
		for _, imported := range p.Imports {
			if allowed, limited := only[imported]; limited && !slices.Contains(allowed, name) {
				t.Errorf("%s imports %s, which is for %v", name, imported, allowed)
			}
			if ours := strings.HasPrefix(imported+"/", module); ours && !reaches(name, roomOf(imported)) {
				t.Errorf("%s must not import %s", name, imported)
			}
		}
	}
}
