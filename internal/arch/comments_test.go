package arch

import (
	"go/ast"
	"go/parser"
	"go/token"
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
	for _, s := range sources(t) {
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
	}
}

// Methods and fields in other comments, written as Type.Method, are there too.
func TestCommentsNameMethodsThatThereAre(t *testing.T) {
	t.Parallel()
	for _, s := range sources(t) {
		for _, file := range s.files {
			for _, group := range file.Comments {
				for _, m := range dottedType.FindAllStringSubmatch(group.Text(), -1) {
					if !s.has(m[2], m[3]) {
						t.Errorf("%s: a comment names %s.%s, want a name that there is", s.at(group.Pos()), m[2], m[3])
					}
				}
			}
		}
	}
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
