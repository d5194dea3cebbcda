package arch

import (
	"go/ast"
	"strings"
	"testing"
)

// gjson.Valid recurses without a bound, and a stack that overflows ends the process. wirejson.Valid bounds the depth before.
func TestValidityIsCheckedWithABound(t *testing.T) {
	t.Parallel()
	eachFolder(t, func(room string, files []*ast.File) {
		for _, file := range files {
			ast.Inspect(file, func(n ast.Node) bool {
				if of, ok := n.(*ast.SelectorExpr); ok && isNamed(of.X, "gjson") && strings.HasPrefix(of.Sel.Name, "Valid") {
					t.Errorf("%s: got gjson.%s, want wirejson.Valid", room, of.Sel.Name)
				}
				return true
			})
		}
	})
}
