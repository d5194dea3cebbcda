package arch

import (
	"go/ast"
	"strings"
	"testing"
)

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
