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

// TestKeysAreTakenFromTables wants code that reads a YAML file to take the keys of a mapping from a shape.Block. The JSON
// Schema is made from the same block: a key that is written at the call would be missing there.
func TestKeysAreTakenFromTables(t *testing.T) {
	t.Parallel()
	for _, dir := range []string{"suite", "scorers", "clients/emulator"} {
		files, err := filepath.Glob("../../" + dir + "/*.go")
		if err != nil || len(files) == 0 {
			t.Fatalf("%s: got no file (%v), want some", dir, err)
		}
		for _, file := range files {
			if strings.HasSuffix(file, "_test.go") {
				continue
			}
			fset := token.NewFileSet()
			code, err := parser.ParseFile(fset, file, nil, 0)
			expect.OK(t, err)
			ast.Inspect(code, func(n ast.Node) bool {
				if call, ok := n.(*ast.CallExpr); ok && readsMapping(call) && !takesBlock(call) {
					t.Errorf("%s: got keys at the call, want a shape.Block of them and .Map(block.Names()...)", fset.Position(call.Pos()))
				}
				return true
			})
		}
	}
}

// readsMapping reports whether a call is of Node.Map with keys.
func readsMapping(call *ast.CallExpr) bool {
	method, ok := call.Fun.(*ast.SelectorExpr)
	return ok && len(call.Args) > 0 && method.Sel.Name == "Map" && !isNamed(method.X, "strings") && !isNamed(method.X, "shape")
}

// takesBlock reports whether the keys of a call are the names of a block, or a variable with names that are needed
// twice.
func takesBlock(call *ast.CallExpr) bool {
	switch keys := call.Args[0].(type) {
	case *ast.CallExpr:
		method, ok := keys.Fun.(*ast.SelectorExpr)
		return ok && len(call.Args) == 1 && method.Sel.Name == "Names"
	case *ast.Ident:
		return keys.Name == "keys"
	}
	return false
}
