package scorers

import (
	"fmt"
	"reflect"
	"strconv"
	"strings"

	"github.com/google/go-cmp/cmp"

	"github.com/evalrun/evalrun/eval"
)

// list is a JSON array by position. go-cmp aligns slices, in time exponential in their nesting, and
// a JSON Pointer knows positions alone.
type list map[int]any

// object is a decoded JSON object.
type object = map[string]any

// positional turns the arrays of a JSON value into lists.
func positional(v any) any {
	switch v := v.(type) {
	case []any:
		out := make(list, len(v))
		for i, item := range v {
			out[i] = positional(item)
		}
		return out
	case object:
		out := make(object, len(v))
		for key, item := range v {
			out[key] = positional(item)
		}
		return out
	}
	return v
}

// arrays is positional undone, for showing.
func arrays(v any) any {
	switch v := v.(type) {
	case list:
		out := make([]any, len(v))
		for i := range out {
			out[i] = arrays(v[i])
		}
		return out
	case object:
		out := make(object, len(v))
		for key, item := range v {
			out[key] = arrays(item)
		}
		return out
	}
	return v
}

// compare finds what differs between the expected value and the one that came, both positional, at a place.
func (r jsonRules) compare(at []string, want, got any) *differences {
	d := &differences{rules: r, at: at}
	ignored := func(p cmp.Path) bool { return r.ignore.match(d.pointer(p)) }
	opts := cmp.Options{cmp.Reporter(d), cmp.Comparer(numbersWithin(r.tolerance))}
	if len(r.ignore) > 0 {
		opts = append(opts, cmp.FilterPath(ignored, cmp.Ignore()))
	}
	cmp.Equal(want, got, opts)
	return d
}

// fields counts the values that hold no others, but for the ignored ones.
func (r jsonRules) fields(at []string, v any) int {
	if len(r.ignore) > 0 && r.ignore.match(at) {
		return 0
	}
	n := 0
	switch v := v.(type) {
	case list:
		for i, item := range v {
			n += r.fields(append(at, strconv.Itoa(i)), item)
		}
		if len(v) > 0 {
			return n
		}
	case object:
		for key, item := range v {
			n += r.fields(append(at, key), item)
		}
		if len(v) > 0 {
			return n
		}
	}
	return 1
}

// differences is a cmp.Reporter that keeps each unequal part with its path, and counts fields.
type differences struct {
	rules          jsonRules
	at             []string // where the comparison began
	path           cmp.Path
	lines          []string
	total          int // unequal parts
	equal, unequal int // fields
}

const maxDifferences = 20

// pointer turns a path of go-cmp into the segments of a JSON Pointer.
func (d *differences) pointer(p cmp.Path) []string {
	out := d.at[:len(d.at):len(d.at)]
	for _, step := range p {
		if s, ok := step.(cmp.MapIndex); ok {
			key := s.Key()
			if key.Kind() == reflect.Int {
				out = append(out, strconv.FormatInt(key.Int(), 10))
			} else {
				out = append(out, key.String())
			}
		}
	}
	return out
}

// PushStep counts the fields that hold nothing, which Report does not hear of.
func (d *differences) PushStep(s cmp.PathStep) {
	d.path = append(d.path, s)
	want, got := s.Values()
	if empty(want) && empty(got) && want.Type() == got.Type() && !d.rules.ignore.match(d.pointer(d.path)) {
		d.equal++
	}
}

func empty(v reflect.Value) bool { return v.Kind() == reflect.Map && v.Len() == 0 }

// PopStep goes back up.
func (d *differences) PopStep() { d.path = d.path[:len(d.path)-1] }

// Report hears of each pair that was compared as a whole.
func (d *differences) Report(r cmp.Result) {
	switch {
	case r.ByIgnore():
		return
	case r.Equal():
		d.equal++
		return
	}
	place := d.pointer(d.path)
	shown := [2]string{"nothing", "nothing"}
	fields := 1
	want, got := d.path.Last().Values()
	for i, v := range []reflect.Value{want, got} {
		if !v.IsValid() {
			continue
		}
		var part any
		if v.Kind() != reflect.Interface || !v.IsNil() {
			part = v.Interface()
		}
		fields = max(fields, d.rules.fields(place, part))
		if d.total < maxDifferences {
			shown[i] = showJSON(part)
		}
	}
	d.unequal += fields
	if d.total++; d.total <= maxDifferences {
		d.lines = append(d.lines, fmt.Sprintf("%s: expected %s, got %s", pointer(place), shown[0], shown[1]))
	}
}

func showJSON(v any) string {
	text, err := eval.Marshal(arrays(v))
	if err != nil {
		return cutText(fmt.Sprint(v))
	}
	return cutText(string(text))
}

func (d *differences) summary() string {
	if d.total == 1 {
		return d.lines[0]
	}
	return fmt.Sprintf("%d differences: %s", d.total, strings.Join(d.lines[:min(3, len(d.lines))], "; "))
}

func (d *differences) String() string {
	out := strings.Join(d.lines, "\n")
	if d.total > maxDifferences {
		out += fmt.Sprintf("\n... and %d more", d.total-maxDifferences)
	}
	return out
}
