package expression

import (
	"slices"

	"github.com/expr-lang/expr/ast"
)

// hider lets a `let` hide a name of the environment, which the library refuses. It gives the local variable a name that
// no text can spell.
type hider struct{ names []string }

// Visit renames what a declaration makes; the nodes inside it were visited before.
func (h hider) Visit(node *ast.Node) {
	n, ok := (*node).(*ast.VariableDeclaratorNode)
	if !ok || !slices.Contains(h.names, n.Name) {
		return
	}
	ast.Walk(&n.Expr, renaming{n.Name, "let " + n.Name})
	n.Name = "let " + n.Name
}

// renaming gives a variable another name.
type renaming struct{ from, to string }

// Visit renames a node.
func (r renaming) Visit(node *ast.Node) {
	if n, ok := (*node).(*ast.IdentifierNode); ok && n.Value == r.from {
		n.Value = r.to
	}
}
