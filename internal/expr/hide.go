package expr

import (
	"slices"

	"github.com/expr-lang/expr/ast"
)

// hider allows a `let` to hide a name of the environment, which expr-lang refuses. It renames the local
// variable to a name with a space, which no expression can contain.
type hider struct{ names []string }

// Visit renames the variable of a declaration. expr-lang visits inner nodes first.
func (h hider) Visit(node *ast.Node) {
	n, ok := (*node).(*ast.VariableDeclaratorNode)
	if !ok || !slices.Contains(h.names, n.Name) {
		return
	}
	ast.Walk(&n.Expr, renaming{n.Name, "let " + n.Name})
	n.Name = "let " + n.Name
}

type renaming struct{ from, to string }

// Visit implements ast.Visitor.
func (r renaming) Visit(node *ast.Node) {
	if n, ok := (*node).(*ast.IdentifierNode); ok && n.Value == r.from {
		n.Value = r.to
	}
}
