package arch

import (
	"go/types"
	"slices"
	"testing"
)

// shared is how many names of types several packages define. A reader of one word should have to know one thing; names that say nothing
// without their package, such as Options and Client, are among them.
const shared = 16

// Names of types are in one package, but for those that are already in several.
func TestNamesOfTypesAreInOnePackage(t *testing.T) {
	t.Parallel()
	in := map[string][]string{}
	eachPackage(t, func(p *types.Package) {
		for _, name := range p.Scope().Names() {
			if o, ok := p.Scope().Lookup(name).(*types.TypeName); ok && o.Exported() && !o.IsAlias() {
				in[name] = append(in[name], roomOf(p.Path()))
			}
		}
	})
	var names []string
	for name, rooms := range in {
		if len(rooms) > 1 {
			names = append(names, name)
		}
	}
	if slices.Sort(names); len(names) > shared {
		t.Errorf("got %d names of types in several packages, want %d at most: %q; rename the new one", len(names), shared, names)
	}
}
