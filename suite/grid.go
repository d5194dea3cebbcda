package suite

import (
	"fmt"
	"maps"
	"strings"

	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/yaml"
)

type combination struct {
	vars  eval.Dict
	names []string // in the order of the file
}

// maxCombinations is the most cases that one definition may expand to with `each` and `matrix`.
const maxCombinations = 100_000

// grid combines each entry of `each` with each combination of the lists of `matrix`.
func (l *loader) grid(def *caseDef) []combination {
	each, matrix := def.node.Get("each"), def.node.Get("matrix")
	if each.IsZero() && matrix.IsZero() {
		return nil
	}
	taken := map[string]string{}
	for e := range def.node.Get("vars").Map().Entries() {
		taken[e.Name()] = "vars"
	}
	out := []combination{{vars: eval.Dict{}}}
	if !each.IsZero() {
		out = eachOf(each, taken)
	}
	for e := range matrix.Map().Entries() {
		if in := taken[e.Name()]; in != "" {
			e.Key.Errorf("leave it out there", "the variable `%s` is in `%s` too", e.Name(), in)
			continue
		}
		out = times(out, e)
		if len(out) > maxCombinations {
			e.Key.Errorf("a dataset has room for more", "the matrix makes more than %d cases", maxCombinations)
			return nil
		}
	}
	if matrix.IsMapping() && matrix.Map().Len() == 0 {
		matrix.Errorf("such as {style: [short, long]}", "the matrix is empty")
	}
	return out
}

func eachOf(n yaml.Node, taken map[string]string) []combination {
	var out []combination
	for _, item := range n.Seq() {
		one := combination{vars: eval.Dict{}}
		for e := range item.Map().Entries() {
			if taken[e.Name()] == "vars" {
				e.Key.Errorf("leave it out there", "the variable `%s` is in `vars` too", e.Name())
			}
			one.vars[e.Name()] = eval.Written(e.Value.Value())
			one.names = append(one.names, e.Name())
		}
		out = append(out, one)
	}
	for _, one := range out {
		for _, name := range one.names {
			taken[name] = "each"
		}
	}
	if n.IsSequence() && len(out) == 0 {
		n.Errorf("such as [{country: France}, {country: Spain}]", "the list is empty, so there would be no case")
	}
	return out
}

// times combines each combination so far with each value of a variable.
func times(before []combination, e yaml.Entry) []combination {
	items := e.Value.Seq()
	if e.Value.IsSequence() && len(items) == 0 {
		e.Value.Errorf("write at least one value", "the list is empty, so there would be no case")
	}
	out := make([]combination, 0, min(len(before)*len(items), maxCombinations+1))
	for _, b := range before {
		for _, item := range items {
			if len(out) > maxCombinations {
				return out
			}
			one := combination{vars: maps.Clone(b.vars), names: append(b.names[:len(b.names):len(b.names)], e.Name())}
			one.vars[e.Name()] = eval.Written(item.Value())
			out = append(out, one)
		}
	}
	return out
}

const maxShown = 40

// shortened formats a value on one line for the name of a case.
func shortened(v eval.Value) string {
	text := []rune(strings.Join(strings.Fields(fmt.Sprint(v)), " "))
	if len(text) > maxShown {
		return string(text[:maxShown-1]) + "…"
	}
	return string(text)
}
