package arch

import (
	"fmt"
	"go/ast"
	"slices"
	"strings"
	"testing"
)

const module = "github.com/evalrun/evalrun/"

// ladder lists the packages of the module from the top down. A package imports only those below it.
var ladder = strings.Fields(`
	cmd/evalrun cmd/evalrun/flags cmd/evalrun/term
	evaltest
	evalrun
	internal/site
	internal/judging internal/session internal/gate runner internal/flow
	reports internal/page internal/overview
	internal/promptfoo
	scorers internal/jsondiff scorers/labels
	suite internal/dataset
	internal/rundir journal/history journal
	internal/emulator internal/ledger
	internal/clients/app internal/clients/proxy
	internal/clients/generative internal/clients/openai internal/clients/anthropic internal/clients/oauth
	internal/clients/wire
	internal/expr internal/yaml internal/files internal/rates
	compare internal/stats
	internal/text
	eval internal/textmetric internal/wirejson
	diag docs
`)

// only says which packages may import something from outside the module.
var only = map[string][]string{
	"gopkg.in/yaml.v3": {"internal/yaml"},
	"net/http": {
		"internal/clients/wire", "internal/clients/app", "internal/clients/generative", "internal/clients/openai",
		"internal/clients/anthropic", "internal/clients/oauth", "internal/clients/proxy", "internal/emulator", "internal/ledger",
		"internal/site", // which serves pages on this machine, and sends nothing
		"cmd/evalrun",   // which comments at a forge
		"internal/testing/forgetest", "internal/testing/replies", "test/process",
	},
	"database/sql":              {"journal/history"},
	"modernc.org/sqlite":        {"journal/history"},
	"github.com/expr-lang/expr": {"internal/expr"},
}

// roomOf is the name of a package in the tables; the module's own is evalrun.
func roomOf(path string) string {
	if name, below := strings.CutPrefix(path, module); below {
		return name
	}
	return "evalrun"
}

// onLadder reports whether a package is part of the program, and not of its tests and tools.
func onLadder(room string) bool {
	return !strings.HasPrefix(room, "test/") && !strings.HasPrefix(room, "internal/testing/") && !strings.HasPrefix(room, "examples/")
}

func TestImportsGoDownTheLadder(t *testing.T) {
	t.Parallel()
	for _, p := range packages(t) {
		name := roomOf(p.ImportPath)
		floor := slices.Index(ladder, name)
		if floor < 0 && onLadder(name) {
			t.Errorf("%s: got no place on the ladder, want one: add it to the table above", name)
		}
		if p.Doc == "" {
			t.Errorf("%s: got no package comment, want one", name)
		}
		for _, imported := range p.Imports {
			if problem := forbidden(name, floor, imported); problem != "" {
				t.Errorf("%s imports %s: got %s", name, imported, problem)
			}
		}
	}
}

// forbidden says why a package of the ladder may not import another one; "" if it may.
func forbidden(name string, floor int, imported string) string {
	if allowed, limited := only[imported]; limited && !slices.Contains(allowed, name) {
		return fmt.Sprintf("an import that is for %v alone", allowed)
	}
	if !strings.HasPrefix(imported+"/", module) || !onLadder(name) {
		return ""
	}
	switch to := slices.Index(ladder, roomOf(imported)); {
	case to < 0:
		return "an import of a package for tests, want none in the program"
	case to <= floor:
		return "an import up the ladder, want it down"
	}
	return ""
}

// gjson.Valid recurses without a bound, and a stack that overflows ends the process. wirejson.Valid bounds the depth before.
func TestValidityIsCheckedWithABound(t *testing.T) {
	t.Parallel()
	for _, s := range sources(t) {
		for _, file := range s.files {
			for n := range ast.Preorder(file) {
				of, ok := n.(*ast.SelectorExpr)
				if !ok || !strings.HasPrefix(of.Sel.Name, "Valid") {
					continue
				}
				if of, ok := of.X.(*ast.Ident); ok && of.Name == "gjson" {
					t.Errorf("%s: got gjson.Valid, want wirejson.Valid", s.at(of.Pos()))
				}
			}
		}
	}
}
