package arch

import (
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/evalrun/evalrun/internal/expect"
)

// mostWithoutWanted is a ceiling to lower: calls of tests that print what they got and not what is wanted.
const mostWithoutWanted = 4

// A failing test prints what it got and what was wanted, so that a log of CI is enough to find the reason.
func TestFailuresPrintWhatIsWanted(t *testing.T) {
	t.Parallel()
	lines, worst, sum := map[string][]int{}, "", 0
	eachGoFile(t, func(path string) {
		if !strings.HasSuffix(path, "_test.go") {
			return
		}
		lines[path] = withoutWanted(t, path)
		sum += len(lines[path])
		if len(lines[path]) > len(lines[worst]) {
			worst = path
		}
	})
	if sum > mostWithoutWanted {
		t.Errorf("got %d failures that do not print what is wanted, want at most %d; the worst file is %s, lines %v",
			sum, mostWithoutWanted, worst, lines[worst])
	}
}

// eachGoFile yields the paths of all files of Go in this module.
func eachGoFile(t *testing.T, yield func(path string)) {
	t.Helper()
	expect.OK(t, filepath.WalkDir("../..", func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && path != "../.." && isElsewhere(path):
			return fs.SkipDir
		case strings.HasSuffix(path, ".go"):
			yield(path)
		}
		return nil
	}))
}

// isElsewhere reports whether a folder has no tests of this module: it has a go.mod, data, or what git keeps.
func isElsewhere(dir string) bool {
	_, err := os.Stat(filepath.Join(dir, "go.mod"))
	return err == nil || filepath.Base(dir) == "testdata" || strings.HasPrefix(filepath.Base(dir), ".")
}

var (
	unexpected = regexp.MustCompile(`^\w+ != nil$`) // an error, and none is wanted
	failing    = regexp.MustCompile(`^[tbf]\.(Error|Fatal)f?$`)
	wanted     = regexp.MustCompile("want|expected|instead of")
)

// withoutWanted has the lines of the calls of a file that print values and do not say what is wanted.
func withoutWanted(t *testing.T, path string) (lines []int) {
	t.Helper()
	files := token.NewFileSet()
	file, err := parser.ParseFile(files, path, nil, parser.SkipObjectResolution)
	expect.OK(t, err)
	ast.Inspect(file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.IfStmt:
			return n.Else != nil || !unexpected.MatchString(types.ExprString(n.Cond))
		case *ast.CallExpr:
			if len(n.Args) > 0 && failing.MatchString(types.ExprString(n.Fun)) {
				format, literal := n.Args[0].(*ast.BasicLit)
				if !literal || len(n.Args) > 1 && !wanted.MatchString(format.Value) {
					lines = append(lines, files.Position(n.Pos()).Line)
				}
			}
		}
		return true
	})
	return lines
}
