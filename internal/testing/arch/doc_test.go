package arch

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/evalrun/evalrun/internal/testing/expect"
)

// nameFirst matches a comment that begins with an identifier and a verb: a sentence begins with a capital otherwise.
var nameFirst = regexp.MustCompile(`^([a-z]\w*) ([a-z]+s|are|have)\b`)

// TestDocCommentsHaveTheNamesOfWhatTheyDescribe finds comments that kept the former name of a function, type or variable.
func TestDocCommentsHaveTheNamesOfWhatTheyDescribe(t *testing.T) {
	t.Parallel()
	root := filepath.Join("..", "..", "..")
	set := token.NewFileSet()
	expect.OK(t, filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && (d.Name() == "testdata" || strings.HasPrefix(d.Name(), ".") && path != root):
			return filepath.SkipDir
		case !strings.HasSuffix(path, ".go"):
			return nil
		}
		file, err := parser.ParseFile(set, path, nil, parser.ParseComments)
		if err != nil {
			return err
		}
		for _, decl := range file.Decls {
			for _, d := range documented(decl) {
				first := nameFirst.FindStringSubmatch(d.doc.Text())
				if first != nil && !slices.Contains(d.names, first[1]) {
					t.Errorf("%s: the comment on %s begins with %q", set.Position(d.doc.Pos()), d.names[0], first[0])
				}
			}
		}
		return nil
	}))
}

// comment is a doc comment and the names that it may begin with.
type comment struct {
	doc   *ast.CommentGroup
	names []string
}

// documented lists the doc comments of a declaration. Tests are left out: theirs say what is tested.
func documented(decl ast.Decl) (all []comment) {
	switch decl := decl.(type) {
	case *ast.FuncDecl:
		if !strings.HasPrefix(decl.Name.Name, "Test") {
			all = append(all, comment{decl.Doc, []string{decl.Name.Name}})
		}
	case *ast.GenDecl:
		group := comment{doc: decl.Doc}
		for _, spec := range decl.Specs {
			switch spec := spec.(type) {
			case *ast.TypeSpec:
				all = append(all, comment{spec.Doc, []string{spec.Name.Name}})
				group.names = append(group.names, spec.Name.Name)
			case *ast.ValueSpec:
				one := comment{doc: spec.Doc}
				for _, name := range spec.Names {
					one.names = append(one.names, name.Name)
				}
				all = append(all, one)
				group.names = append(group.names, one.names...)
			}
		}
		if len(group.names) > 0 {
			all = append(all, group)
		}
	}
	return all
}
