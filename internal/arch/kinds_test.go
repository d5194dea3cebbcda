package arch

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/evalrun/evalrun/internal/expect"
	"github.com/evalrun/evalrun/reports"
	"github.com/evalrun/evalrun/scorers"
)

// Packages below the table of kinds name some of them as texts: hints for checks of other tools, and what an import writes. A kind that is
// deleted or renamed must not stay there.
func TestKindsThatAreWrittenAsTextsAreInTheTable(t *testing.T) {
	t.Parallel()
	var known []string
	for _, k := range scorers.Builtin() {
		known = append(known, k.Name)
	}
	n := 0
	eachTextOf(t, "../../internal/promptfoo", "scorer", "kind", 0, func(at token.Position, kind string) {
		if n++; !slices.Contains(known, kind) {
			t.Errorf("%s: got the kind %q, want one of the table", at, kind)
		}
	})
	eachTextOf(t, "../../suite", "foreignKinds", "kind", 1, func(at token.Position, kind string) {
		if n++; !slices.Contains(known, kind) {
			t.Errorf("%s: got the kind %q, want one of the table", at, kind)
		}
	})
	if n < 40 {
		t.Errorf("got %d names of kinds in the sources, want 40 or more", n)
	}
}

// The same holds for the formats of reports.
func TestFormatsOfImportsAreInTheTable(t *testing.T) {
	t.Parallel()
	n := 0
	eachTextOf(t, "../../internal/promptfoo", "formats", "", 0, func(at token.Position, format string) {
		if n++; reports.Lookup(format) == nil {
			t.Errorf("%s: got the format %q, want one of reports.Formats", at, format)
		}
	})
	if n == 0 {
		t.Error("got no name of a format in the sources, want those of outputPath")
	}
}

// eachTextOf yields the texts of a field in the composite literals of a type, or of the variable that is assigned a list
// or map of them. The field has a name, or a place in the list. Without a name, all values of a map count.
func eachTextOf(t *testing.T, dir, of, field string, place int, yield func(token.Position, string)) {
	t.Helper()
	files, err := filepath.Glob(dir + "/*.go")
	expect.OK(t, err)
	set := token.NewFileSet()
	for _, name := range files {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(set, name, nil, parser.SkipObjectResolution)
		expect.OK(t, err)
		text := func(x ast.Expr) {
			if lit, ok := x.(*ast.BasicLit); ok && lit.Kind == token.STRING {
				s, err := strconv.Unquote(lit.Value)
				expect.OK(t, err)
				yield(set.Position(lit.Pos()), s)
			}
		}
		ast.Inspect(file, func(n ast.Node) bool {
			for _, lit := range literalsOf(n, of) {
				for i, x := range lit.Elts {
					pair, keyed := x.(*ast.KeyValueExpr)
					switch {
					case keyed && (field == "" || isNamed(pair.Key, field)):
						text(pair.Value)
					case !keyed && i == place:
						text(x)
					}
				}
			}
			return true
		})
	}
}

// literalsOf finds the literals of a type, or those within the value of a variable.
func literalsOf(n ast.Node, of string) (out []*ast.CompositeLit) {
	list := func(x ast.Expr) {
		lit, ok := x.(*ast.CompositeLit)
		if !ok {
			return
		}
		inner := len(out)
		for _, item := range lit.Elts {
			if one, ok := item.(*ast.CompositeLit); ok {
				out = append(out, one)
			}
		}
		if len(out) == inner {
			out = append(out, lit)
		}
	}
	switch n := n.(type) {
	case *ast.CompositeLit:
		if isNamed(n.Type, of) {
			out = append(out, n)
		}
	case *ast.ValueSpec:
		if len(n.Values) == 1 && n.Names[0].Name == of {
			list(n.Values[0])
		}
	case *ast.AssignStmt:
		if len(n.Rhs) == 1 && isNamed(n.Lhs[0], of) {
			list(n.Rhs[0])
		}
	}
	return out
}

func isNamed(x ast.Expr, name string) bool {
	id, ok := x.(*ast.Ident)
	return ok && id.Name == name
}
