package arch

import (
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/evalrun/evalrun/internal/expect"
)

// proper are capitalized words of package comments that are names of people, products and protocols.
var proper = strings.Fields(`
	Go GitHub GitLab OAuth APIs Messages Responses SQuAD NaN Big Naughty Cohen
	TestPrompts Educational Psychological
`)

var (
	dotted     = regexp.MustCompile(`\b([A-Za-z]\w*)\.([A-Z]\w*)`)          // Type.Method, package.Name
	dottedType = regexp.MustCompile(`(^|[^\w./"])([A-Z]\w*)\.([A-Z]\w*)\b`) // Type.Method
	inside     = regexp.MustCompile("(?:[\\w,;:)] +[*(`]?|^`?)([A-Z]\\w*[a-z]\\w*)\\b(\\.\\w)?")
	sentence   = regexp.MustCompile(`[.?!]\s`)
	testName   = regexp.MustCompile(`\bTest[A-Z]\w*[a-z]\w*`)
	humps      = regexp.MustCompile(`[a-z][A-Z]`)
)

// Names of Go in a package comment are names of the package, or of one that it imports: comments outlive a rename that no compiler checks.
func TestPackageCommentsNameWhatThereIs(t *testing.T) {
	t.Parallel()
	eachSource(t, func(s *source) {
		for _, file := range s.files {
			if file.Doc == nil {
				continue
			}
			text := strings.Join(strings.Fields(file.Doc.Text()), " ")
			for _, m := range dotted.FindAllStringSubmatch(text, -1) {
				if !s.has(m[1], m[2]) {
					t.Errorf("%s: the package comment names %s, want a name that there is", s.room, m[0])
				}
			}
			for _, part := range sentence.Split(text, -1) {
				for k, m := range inside.FindAllStringSubmatch(part, -1) {
					word := k == 0 && strings.HasPrefix(part, m[1]) && !humps.MatchString(m[1])
					if !word && m[2] == "" && !slices.Contains(proper, m[1]) && !s.names(m[1]) {
						t.Errorf("%s: the package comment has %s, want a name of the package, or a line in the table of proper names", s.room, m[1])
					}
				}
			}
		}
	})
}

// Methods and fields in other comments, written as Type.Method, are there too.
func TestCommentsNameMethodsThatThereAre(t *testing.T) {
	t.Parallel()
	eachSource(t, func(s *source) {
		for _, file := range s.files {
			for _, group := range file.Comments {
				for _, m := range dottedType.FindAllStringSubmatch(group.Text(), -1) {
					if !s.has(m[2], m[3]) {
						t.Errorf("%s: a comment names %s.%s, want a name that there is", s.at(group.Pos()), m[2], m[3])
					}
				}
			}
		}
	})
}

// Tests that comments point to are there. Files of tests count, and files that only some builds have.
func TestCommentsNameTestsThatThereAre(t *testing.T) {
	t.Parallel()
	defined, named := map[string]bool{}, map[string]token.Position{}
	set := token.NewFileSet()
	eachGoFile(t, func(path string) {
		file, err := parser.ParseFile(set, path, nil, parser.ParseComments|parser.SkipObjectResolution)
		expect.OK(t, err)
		for _, decl := range file.Decls {
			if f, ok := decl.(*ast.FuncDecl); ok {
				defined[f.Name.Name] = true
			}
		}
		for _, group := range file.Comments {
			for _, name := range testName.FindAllString(group.Text(), -1) {
				named[name] = set.Position(group.Pos())
			}
		}
	})
	for name, at := range named {
		if !defined[name] && !slices.Contains(proper, name) {
			t.Errorf("%s: a comment names %s, want a test that there is", at, name)
		}
	}
}

// source is a package with its comments and all of its names.
type source struct {
	room    string
	set     *token.FileSet
	files   []*ast.File
	types   *types.Package
	imports []*types.Package
	all     map[string][]*types.Package // every package that is compiled into the module, by its name
}

func (s *source) at(p token.Pos) token.Position { return s.set.Position(p) }

// has reports whether x.y is a method or field of a type or of a field, or a name of a package.
func (s *source) has(x, y string) bool {
	if o := s.lookup(x); o != nil {
		found, _, _ := types.LookupFieldOrMethod(o.Type(), true, o.Pkg(), y)
		return found != nil
	}
	in := func(p *types.Package) bool { return p.Scope().Lookup(y) != nil }
	return slices.ContainsFunc(s.all[x], in) || slices.ContainsFunc(s.types.Scope().Names(), func(of string) bool {
		found, _, _ := types.LookupFieldOrMethod(s.types.Scope().Lookup(of).Type(), true, s.types, x)
		if found == nil {
			return false
		}
		found, _, _ = types.LookupFieldOrMethod(found.Type(), true, s.types, y)
		return found != nil
	})
}

// names reports whether the package or one that it imports has a name, or a type of the package has such a method.
func (s *source) names(name string) bool {
	if s.lookup(name) != nil {
		return true
	}
	return slices.ContainsFunc(s.types.Scope().Names(), func(of string) bool { return s.has(of, name) })
}

func (s *source) lookup(name string) types.Object {
	for _, p := range append([]*types.Package{s.types}, s.imports...) {
		if o := p.Scope().Lookup(name); o != nil {
			return o
		}
	}
	return nil
}

func eachSource(t *testing.T, check func(*source)) {
	t.Helper()
	compiled, _ := exportData(t)
	set := token.NewFileSet()
	from := importer.ForCompiler(set, "gc", func(path string) (io.ReadCloser, error) { return os.Open(compiled[path]) })
	all := map[string][]*types.Package{}
	for _, path := range slices.Sorted(maps.Keys(compiled)) {
		if compiled[path] == "" {
			continue
		}
		p, err := from.Import(path)
		expect.OK(t, err)
		all[p.Name()] = append(all[p.Name()], p)
	}
	for _, p := range packages(t) {
		s := &source{room: roomOf(p.ImportPath), set: set, all: all}
		for _, name := range p.GoFiles {
			file, err := parser.ParseFile(set, filepath.Join(p.Dir, name), nil, parser.ParseComments)
			expect.OK(t, err)
			s.files = append(s.files, file)
		}
		for _, path := range p.Imports {
			if ours := strings.HasPrefix(path+"/", module); ours {
				i, err := from.Import(path)
				expect.OK(t, err)
				s.imports = append(s.imports, i)
			}
		}
		checked, err := (&types.Config{Importer: from}).Check(p.ImportPath, set, s.files, nil)
		expect.OK(t, err)
		s.types = checked
		check(s)
	}
}
