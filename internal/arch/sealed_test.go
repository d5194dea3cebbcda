package arch

import (
	"bufio"
	"bytes"
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/evalrun/evalrun/internal/expect"
)

// TestSwitchesCoverSealedTypes wants a switch over the kinds of a sealed interface to name every kind, so that a new kind
// is not forgotten. A default does not count.
func TestSwitchesCoverSealedTypes(t *testing.T) {
	t.Parallel()
	files, _ := exportData(t)
	fset := token.NewFileSet()
	imports := importer.ForCompiler(fset, "gc", func(path string) (io.ReadCloser, error) { return os.Open(files[path]) })
	sources, err := exec.Command("go", "list", "-f", "{{.ImportPath}}\t{{.Dir}}\t{{join .GoFiles \" \"}}", "../../...").Output()
	expect.OK(t, err)
	switches := 0
	for lines := bufio.NewScanner(bytes.NewReader(sources)); lines.Scan(); {
		fields := strings.Split(lines.Text(), "\t")
		var parsed []*ast.File
		for _, name := range strings.Fields(fields[2]) {
			file, err := parser.ParseFile(fset, filepath.Join(fields[1], name), nil, 0)
			expect.OK(t, err)
			parsed = append(parsed, file)
		}
		info := &types.Info{Types: map[ast.Expr]types.TypeAndValue{}}
		_, err := (&types.Config{Importer: imports}).Check(fields[0], fset, parsed, info)
		expect.OK(t, err)
		for _, file := range parsed {
			for n := range ast.Preorder(file) {
				if s, ok := n.(*ast.TypeSwitchStmt); ok {
					missing, sealed := missingKinds(info, s)
					if sealed {
						switches++
					}
					if len(missing) > 0 {
						t.Errorf("%s: got a switch without %s, want every kind", fset.Position(s.Pos()), strings.Join(missing, ", "))
					}
				}
			}
		}
	}
	if switches < 20 {
		t.Errorf("got %d switches over sealed interfaces, want those of parts and pieces at least", switches)
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
	for i := range of.NumMethods() {
		if !of.Method(i).Exported() {
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
