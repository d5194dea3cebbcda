package arch

import (
	"bytes"
	"encoding/json"
	"errors"
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/evalrun/evalrun/internal/expect"
)

type pkg struct {
	ImportPath string
	Doc        string
	Dir        string
	Export     string // file of its compiled form
	GoFiles    []string
	Imports    []string
}

// compiled lists every package that is compiled into the module. It is listed once, since that takes a second.
var compiled = sync.OnceValues(func() (all []pkg, err error) {
	out, err := exec.Command("go", "list", "-export", "-deps", "-json=ImportPath,Doc,Dir,Export,GoFiles,Imports", "../../...").Output()
	for dec := json.NewDecoder(bytes.NewReader(out)); err == nil; {
		var p pkg
		if err = dec.Decode(&p); err == nil {
			all = append(all, p)
		}
	}
	if !errors.Is(err, io.EOF) {
		return nil, err
	}
	return all, nil
})

// packages are those of the module.
func packages(t *testing.T) []pkg {
	t.Helper()
	all, err := compiled()
	expect.OK(t, err)
	return ours(all)
}

func ours(all []pkg) []pkg {
	return slices.DeleteFunc(slices.Clone(all), func(p pkg) bool { return !strings.HasPrefix(p.ImportPath+"/", module) })
}

// source is a package with its comments and all of its names.
type source struct {
	room    string
	set     *token.FileSet
	files   []*ast.File
	types   *types.Package
	imports []*types.Package
	info    *types.Info                 // types of expressions
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

// sources are the packages of the module. Their types are checked once, for all tests.
func sources(t *testing.T) []*source {
	t.Helper()
	all, err := checked()
	expect.OK(t, err)
	return all
}

var checked = sync.OnceValues(func() (out []*source, err error) {
	list, err := compiled()
	if err != nil {
		return nil, err
	}
	exports := map[string]string{}
	for _, p := range list {
		exports[p.ImportPath] = p.Export
	}
	set := token.NewFileSet()
	from := importer.ForCompiler(set, "gc", func(path string) (io.ReadCloser, error) { return os.Open(exports[path]) })
	all := map[string][]*types.Package{}
	for _, path := range slices.Sorted(maps.Keys(exports)) {
		if exports[path] == "" {
			continue
		}
		p, err := from.Import(path)
		if err != nil {
			return nil, err
		}
		all[p.Name()] = append(all[p.Name()], p)
	}
	for _, p := range ours(list) {
		s := &source{room: roomOf(p.ImportPath), set: set, info: &types.Info{Types: map[ast.Expr]types.TypeAndValue{}}, all: all}
		if err := s.check(p, from); err != nil {
			return nil, err
		}
		out = append(out, s)
	}
	return out, nil
})

func (s *source) check(p pkg, from types.Importer) error {
	for _, name := range p.GoFiles {
		file, err := parser.ParseFile(s.set, filepath.Join(p.Dir, name), nil, parser.ParseComments)
		if err != nil {
			return err
		}
		s.files = append(s.files, file)
	}
	for _, path := range p.Imports {
		if strings.HasPrefix(path+"/", module) {
			i, err := from.Import(path)
			if err != nil {
				return err
			}
			s.imports = append(s.imports, i)
		}
	}
	var err error
	s.types, err = (&types.Config{Importer: from}).Check(p.ImportPath, s.set, s.files, s.info)
	return err
}
