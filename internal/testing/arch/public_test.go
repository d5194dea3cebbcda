package arch

import (
	"fmt"
	"go/types"
	"strings"
	"testing"
)

// isPublic reports whether programs of others can import a package.
func isPublic(path string) bool {
	room := roomOf(path)
	return !strings.HasPrefix(room, "internal/") && !strings.HasPrefix(room, "cmd/") && !strings.HasPrefix(room, "test/")
}

func eachPublic(t *testing.T, check func(*types.Package)) {
	t.Helper()
	for _, s := range sources(t) {
		if isPublic(s.types.Path()) {
			check(s.types)
		}
	}
}

// TestSignaturesArePublic wants what programs of others can call to take and give nothing that they cannot name.
func TestSignaturesArePublic(t *testing.T) {
	t.Parallel()
	eachPublic(t, func(p *types.Package) {
		w := walk{seen: map[types.Type]bool{}}
		for _, name := range p.Scope().Names() {
			if obj := p.Scope().Lookup(name); obj.Exported() {
				w.object(p.Name()+"."+name, obj)
			}
		}
		for _, hidden := range w.hidden {
			t.Errorf("got %s, want only what other programs can name", hidden)
		}
	})
}

// walk goes through what an exported name shows.
type walk struct {
	seen   map[types.Type]bool
	hidden []string
}

func (w *walk) object(at string, obj types.Object) {
	name, isType := obj.(*types.TypeName)
	if !isType {
		w.typ(at, obj.Type())
		return
	}
	named, ok := types.Unalias(name.Type()).(*types.Named)
	if !ok {
		w.typ(at, name.Type())
		return
	}
	w.typ(at, named.Underlying())
	for m := range named.Methods() {
		if m.Exported() {
			w.typ(at+"."+m.Name(), m.Type())
		}
	}
}

// typ notes the names of internal packages in a type, as far as an importer sees it.
func (w *walk) typ(at string, t types.Type) {
	switch t := types.Unalias(t).(type) {
	case *types.Named:
		if p := t.Obj().Pkg(); p != nil && strings.HasPrefix(p.Path(), module+"internal/") {
			w.hidden = append(w.hidden, fmt.Sprintf("%s has %s", at, t))
		}
		for arg := range t.TypeArgs().Types() {
			w.typ(at, arg)
		}
	case *types.Struct:
		for f := range t.Fields() {
			if f.Exported() {
				w.typ(at+"."+f.Name(), f.Type())
			}
		}
	case *types.Signature:
		w.tuple(at, t.Params())
		w.tuple(at, t.Results())
	case *types.Interface:
		for m := range t.ExplicitMethods() {
			if m.Exported() {
				w.typ(at+"."+m.Name(), m.Type())
			}
		}
	case *types.Map:
		w.typ(at, t.Key())
		w.typ(at, t.Elem())
	case interface{ Elem() types.Type }: // pointers, slices, arrays, channels
		w.typ(at, t.Elem())
	}
}

func (w *walk) tuple(at string, vars *types.Tuple) {
	for v := range vars.Variables() {
		w.typ(at, v.Type())
	}
}
