package suite

import (
	"iter"
	"path"
	"slices"
	"strings"

	"github.com/evalrun/evalrun/internal/yaml"
)

// include reads the files that a suite includes, directly or through others, each once and before the file that
// includes it.
func (l *loader) include(root yaml.Map) []yaml.Map {
	in := includer{loader: l, taken: map[string]bool{}}
	in.visit(root, []string{l.files.suite})
	return in.out
}

type includer struct {
	*loader
	taken map[string]bool
	out   []yaml.Map
}

// visit reads the files that a file includes. chain lists the files from the suite to this one, to find circles.
func (in *includer) visit(m yaml.Map, chain []string) {
	for _, item := range m.Get("include").Items() {
		name := path.Clean(item.Str())
		if item.Str() == "" {
			continue
		}
		if i := slices.Index(chain, name); i >= 0 {
			item.Errorf(
				"one of them does not need the other", "the files include each other in a circle: %s",
				strings.Join(append(chain[i:], name), " > "),
			)
			return
		}
		if in.taken[name] {
			continue
		}
		in.taken[name] = true
		if part, ok := in.open(item, name); ok {
			in.visit(part, append(chain[:len(chain):len(chain)], name))
			in.out = append(in.out, part)
		}
	}
}

func checkIncluded(part yaml.Map) {
	included, whole := partBlock().Names(), suiteBlock().Names()
	for e := range part.Entries() {
		switch {
		case slices.Contains(included, e.Name()):
		case slices.Contains(whole, e.Name()):
			e.Key.Errorf("move it into the suite", "`%s` is not taken from a file that is included", e.Name())
		default:
			part.ReportUnknown(e, included)
		}
	}
}

func (in *includer) open(item yaml.Node, name string) (part yaml.Map, ok bool) {
	src, err := in.files.text(name)
	if err != nil {
		item.Errorf("", "%s", err)
		return part, false
	}
	shown := in.Shown(name)
	in.diags.AddInclude(shown, item.Pos())
	root, ok := yaml.Parse(shown, src, in.diags)
	if !ok {
		return part, false
	}
	part = root.Map()
	checkIncluded(part)
	if v := part.Get("version"); !v.IsZero() && v.Str() != "1" {
		v.Errorf("write `version: 1`", "this evalrun reads suites of version 1, not %s", v.Str())
	}
	return part, true
}

// items yields the items of a list, the ones of included files first. A list without items in any file is an error.
func (l *loader) items(key, none, hint string) iter.Seq[yaml.Node] {
	return func(yield func(yaml.Node) bool) {
		var last yaml.Node
		n := 0
		for _, root := range l.roots {
			list := root.Get(key)
			if list.IsZero() {
				continue
			}
			last = list
			for _, item := range list.Seq() {
				if n++; !yield(item) {
					return
				}
			}
		}
		switch {
		case last.IsZero() && slices.ContainsFunc(l.roots, func(root yaml.Map) bool { return root.Misspells(key) }):
		case last.IsZero():
			l.roots[len(l.roots)-1].Need(key)
		case last.IsSequence() && n == 0:
			last.Errorf(hint, "%s", none)
		}
	}
}
