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
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/evalrun/evalrun/internal/testing/expect"
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
	list := exec.Command( // with the flags of make build: packages are not compiled again
		"go", "list", "-trimpath", "-gcflags=all=-dwarf=false", "-export", "-deps", "-json=ImportPath,Doc,Dir,Export,GoFiles,Imports",
		module+"...",
	)
	list.Env = append(os.Environ(), "CGO_ENABLED=0")
	out, err := list.Output()
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

// source is a package with its comments and types.
type source struct {
	set   *token.FileSet
	files []*ast.File
	types *types.Package
	info  *types.Info // types of expressions
}

func (s *source) at(p token.Pos) token.Position { return s.set.Position(p) }

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
	for _, p := range ours(list) {
		s := &source{set: set, info: &types.Info{Types: map[ast.Expr]types.TypeAndValue{}}}
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
	var err error
	s.types, err = (&types.Config{Importer: from}).Check(p.ImportPath, s.set, s.files, s.info)
	return err
}
