package arch

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"strings"
	"testing"

	"github.com/evalrun/evalrun/internal/expect"
)

// TestKeysStandInTables wants whoever reads a YAML file to take the keys of a mapping from a shape.Block, of which the JSON Schema is made
// too: a key that is written at the call would be missing there.
func TestKeysStandInTables(t *testing.T) {
	t.Parallel()
	for _, dir := range []string{"suite", "scorers", "clients/emulator"} {
		files, err := filepath.Glob("../../" + dir + "/*.go")
		if err != nil || len(files) == 0 {
			t.Fatal(dir, err)
		}
		for _, file := range files {
			if strings.HasSuffix(file, "_test.go") {
				continue
			}
			fset := token.NewFileSet()
			code, err := parser.ParseFile(fset, file, nil, 0)
			expect.OK(t, err)
			ast.Inspect(code, func(n ast.Node) bool {
				call, ok := n.(*ast.CallExpr)
				if !ok || len(call.Args) == 0 {
					return true
				}
				if method, ok := call.Fun.(*ast.SelectorExpr); !ok || method.Sel.Name != "Map" || isPackage(method.X, "strings") ||
					isPackage(method.X, "shape") {
					return true
				}
				if names, ok := call.Args[0].(*ast.CallExpr); ok && len(call.Args) == 1 {
					if method, ok := names.Fun.(*ast.SelectorExpr); ok && method.Sel.Name == "Names" {
						return true
					}
				}
				if names, ok := call.Args[0].(*ast.Ident); ok && names.Name == "keys" {
					return true // of a block, which are needed twice
				}
				t.Errorf("%s: the keys stand at the call: make a shape.Block of them, and write .Map(block.Names()...)", fset.Position(call.Pos()))
				return true
			})
		}
	}
}

func isPackage(x ast.Expr, name string) bool {
	id, ok := x.(*ast.Ident)
	return ok && id.Name == name
}
