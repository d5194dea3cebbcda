package arch

import (
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/evalrun/evalrun/internal/expect"
)

// sharedNames are the names of types that several packages define, each with the reason. A reader of any other name has one
// thing to know.
var sharedNames = map[string]string{
	"Client":    "its package names the protocol",
	"Config":    "it says nothing without its package",
	"File":      "it says nothing without its package",
	"Options":   "it says nothing without its package",
	"Server":    "its package says what it serves",
	"assembly":  "the wire.Assembly of each protocol",
	"growing":   "a function call that arrives in chunks, of each protocol",
	"stamp":     "what shows cheaply that a file has changed",
	"wireUsage": "the usage record of the protocol, written by the emulator and read by clients/generative",

	// Package evalrun has its own type, so that the types of internal packages stay out of its signatures.
	"Executor":      "the face of flow.Executor",
	"Job":           "the face of job.Job",
	"LedgerOptions": "the face of job.LedgerOptions",
	"Todo":          "the face of job.Todo",
	"Result":        "eval has that of a trial, and evalrun that of a run",
}

// Names of types are in one package, but for those with a reason.
func TestNamesOfTypesAreInOnePackage(t *testing.T) {
	t.Parallel()
	in := map[string][]string{}
	eachFolder(t, func(room string, files []*ast.File) {
		for name := range typesOf(files) {
			in[name] = append(in[name], room)
		}
	})
	for _, name := range slices.Sorted(maps.Keys(in)) {
		if _, known := sharedNames[name]; len(in[name]) > 1 && !known {
			t.Errorf("got the type %s in %q, want it in one package; rename the new one, or give a reason in sharedNames", name, in[name])
		}
	}
	for _, name := range slices.Sorted(maps.Keys(sharedNames)) {
		if len(in[name]) < 2 {
			t.Errorf("got the type %s in %q, want it in several packages; delete it from sharedNames", name, in[name])
		}
	}
}

// eachFolder calls check with the files of each package, without tests.
func eachFolder(t *testing.T, check func(room string, files []*ast.File)) {
	t.Helper()
	byFolder := map[string][]*ast.File{}
	for _, pattern := range []string{"*.go", "*/*.go", "*/*/*.go", "*/*/*/*.go"} {
		paths, err := filepath.Glob("../../" + pattern)
		expect.OK(t, err)
		for _, path := range paths {
			room := filepath.ToSlash(filepath.Dir(strings.TrimPrefix(filepath.ToSlash(path), "../../")))
			if strings.HasSuffix(path, "_test.go") || strings.HasPrefix(room, "examples") || strings.Contains(room, "testdata") {
				continue
			}
			file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
			expect.OK(t, err)
			byFolder[room] = append(byFolder[room], file)
		}
	}
	for _, room := range slices.Sorted(maps.Keys(byFolder)) {
		check(room, byFolder[room])
	}
}

// typesOf returns the names of the types that files declare outside of functions. Another name for a type is none.
func typesOf(files []*ast.File) map[string]bool {
	names := map[string]bool{}
	for _, file := range files {
		for _, d := range file.Decls {
			group, ok := d.(*ast.GenDecl)
			if !ok {
				continue
			}
			for _, spec := range group.Specs {
				if one, isType := spec.(*ast.TypeSpec); isType && !one.Assign.IsValid() {
					names[one.Name.Name] = true
				}
			}
		}
	}
	return names
}

// variedFields is how many names of fields have different types of this module in different structs. A pointer, a slice and
// the value itself are the same here, and texts and numbers are left out: Suite is often the name of a suite.
const variedFields = 49

// Fields with one name mean one thing: their types are the same, but for names that already have several.
func TestFieldsWithOneNameHaveOneType(t *testing.T) {
	t.Parallel()
	kinds := map[string]map[string]bool{}
	eachPackage(t, func(p *types.Package) {
		for _, name := range p.Scope().Names() {
			o, ok := p.Scope().Lookup(name).(*types.TypeName)
			if !ok || !o.Exported() || o.IsAlias() {
				continue
			}
			structure, ok := o.Type().Underlying().(*types.Struct)
			if !ok {
				continue
			}
			for field := range structure.Fields() {
				of, ours := elementOf(field.Type())
				if !ours || !field.Exported() || field.Embedded() {
					continue
				}
				if kinds[field.Name()] == nil {
					kinds[field.Name()] = map[string]bool{}
				}
				kinds[field.Name()][of] = true
			}
		}
	})
	var names []string
	for name, of := range kinds {
		if len(of) > 1 {
			names = append(names, name)
		}
	}
	if slices.Sort(names); len(names) > variedFields {
		t.Errorf("got %d names of fields with several types, want %d at most: %q; rename the new one", len(names), variedFields, names)
	}
}

// elementOf names a type without the pointers, slices and maps around it. ours says that this module declares it.
func elementOf(of types.Type) (name string, ours bool) {
	for {
		switch t := of.(type) {
		case *types.Pointer:
			of = t.Elem()
		case *types.Slice:
			of = t.Elem()
		case *types.Map:
			of = t.Elem()
		case *types.Named:
			in := t.Obj().Pkg()
			return t.String(), in != nil && strings.HasPrefix(in.Path()+"/", module)
		default:
			return of.String(), false
		}
	}
}
