package arch

import (
	"go/ast"
	"go/types"
	"slices"
	"strings"
	"testing"
)

// TestSwitchesCoverSealedTypes wants a switch over the kinds of a sealed interface to name every kind, so that a new kind
// is not forgotten. A default does not count.
func TestSwitchesCoverSealedTypes(t *testing.T) {
	t.Parallel()
	switches := 0
	for _, one := range sources(t) {
		for _, file := range one.files {
			for n := range ast.Preorder(file) {
				s, ok := n.(*ast.TypeSwitchStmt)
				if !ok {
					continue
				}
				missing, sealed := missingKinds(one.info, s)
				if sealed {
					switches++
				}
				if len(missing) > 0 {
					t.Errorf("%s: got a switch without %s, want every kind", one.at(s.Pos()), strings.Join(missing, ", "))
				}
			}
		}
	}
	if switches == 0 {
		t.Error("got no switch over a sealed interface, want those of parts and pieces")
	}
}

// missingKinds lists the kinds that a switch does not name. sealed is false for a switch over an open interface.
func missingKinds(info *types.Info, s *ast.TypeSwitchStmt) (missing []string, sealed bool) {
	kinds := kindsOf(info.TypeOf(switched(s)))
	for _, clause := range s.Body.List {
		for _, named := range clause.(*ast.CaseClause).List {
			of := info.TypeOf(named)
			kinds = slices.DeleteFunc(kinds, func(kind types.Type) bool { sealed = true; return types.Identical(kind, of) })
		}
	}
	for _, kind := range kinds {
		sealed = true
		missing = append(missing, types.TypeString(kind, (*types.Package).Name))
	}
	return missing, sealed
}

// switched is the expression whose type a switch distinguishes.
func switched(s *ast.TypeSwitchStmt) ast.Expr {
	var x ast.Expr
	switch assign := s.Assign.(type) {
	case *ast.ExprStmt:
		x = assign.X
	case *ast.AssignStmt:
		x = assign.Rhs[0]
	}
	return x.(*ast.TypeAssertExpr).X
}

// kindsOf lists the types that implement an interface of this module that no other package can implement. It is nil for
// other types.
func kindsOf(t types.Type) []types.Type {
	named, ok := t.(*types.Named)
	if !ok || named.Obj().Pkg() == nil || !strings.HasPrefix(named.Obj().Pkg().Path()+"/", module) {
		return nil
	}
	of, ok := named.Underlying().(*types.Interface)
	if !ok || of.NumMethods() == 0 {
		return nil
	}
	for method := range of.Methods() {
		if !method.Exported() {
			return implementing(named.Obj().Pkg().Scope(), of)
		}
	}
	return nil
}

func implementing(scope *types.Scope, of *types.Interface) []types.Type {
	var kinds []types.Type
	for _, name := range scope.Names() {
		kind, ok := scope.Lookup(name).(*types.TypeName)
		if !ok || types.IsInterface(kind.Type()) {
			continue
		}
		switch pointer := types.NewPointer(kind.Type()); {
		case types.Implements(kind.Type(), of):
			kinds = append(kinds, kind.Type())
		case types.Implements(pointer, of):
			kinds = append(kinds, pointer)
		}
	}
	return kinds
}
