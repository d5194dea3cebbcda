// Package jsondiff compares two JSON values and finds where they differ. Values are as encoding/json
// decodes them after json.Decoder.UseNumber.
package jsondiff

import (
	"reflect"
	"slices"
	"strconv"

	"github.com/google/go-cmp/cmp"
)

// jsonArray is a JSON array by index. As a slice, go-cmp would align it, which takes time exponential in the
// nesting. JSON Pointers only have indexes anyway.
type jsonArray map[int]any

type object = map[string]any

// positional converts the arrays of a JSON value to lists.
func positional(v any) any {
	switch v := v.(type) {
	case []any:
		out := make(jsonArray, len(v))
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

// arrays reverses positional.
func arrays(v any) any {
	switch v := v.(type) {
	case jsonArray:
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

// Rules say how to compare two values.
type Rules struct {
	Ignore    Pointers
	Tolerance float64 // largest difference of numbers; 0 compares them exactly
	Unordered bool    // ignore the order of arrays
}

// Pointers are JSON Pointers (RFC 6901), split into segments. `*` matches one segment.
type Pointers [][]string

// Match reports whether a pointer matches the whole path.
func (ps Pointers) Match(path []string) bool {
	return slices.ContainsFunc(ps, func(p []string) bool {
		return len(p) == len(path) && fits(p, path)
	})
}

func fits(pattern, path []string) bool {
	for i, s := range pattern {
		if s != "*" && s != path[i] {
			return false
		}
	}
	return true
}

// Diff is the difference of two values.
type Diff struct {
	Differences []Difference // the first MaxDifferences of Total
	Total       int
	Equal       int // equal fields: values without others inside
	Unequal     int
}

// Difference is a path at which two values differ.
type Difference struct {
	Path      []string
	Want, Got any // Missing on a side without a value
}

// Missing is the value of a side without one.
type Missing struct{}

// MaxDifferences bounds the differences in a Diff.
const MaxDifferences = 20

// Compare compares two values. It returns no diff if got has more than maxFields fields. fields is the
// number of fields in got.
func (r Rules) Compare(want, got any, maxFields int) (d *Diff, fields int) {
	left, right := positional(want), positional(got)
	if fields = r.fields(nil, right); fields > maxFields {
		return nil, fields
	}
	if r.Unordered {
		p := &pairing{rules: r, same: Within(r.Tolerance), left: maxPairing}
		right = p.fit(nil, left, right).value
	}
	c := &diffReporter{rules: r}
	ignored := func(p cmp.Path) bool { return r.Ignore.Match(pointer(p)) }
	opts := cmp.Options{cmp.Reporter(c), cmp.Comparer(Within(r.Tolerance))}
	if len(r.Ignore) > 0 {
		opts = append(opts, cmp.FilterPath(ignored, cmp.Ignore()))
	}
	cmp.Equal(left, right, opts)
	return &c.Diff, fields
}

// Fields counts the values without others inside, except ignored ones.
func (r Rules) Fields(v any) int { return r.fields(nil, positional(v)) }

func (r Rules) fields(at []string, v any) int {
	if len(r.Ignore) > 0 && r.Ignore.Match(at) {
		return 0
	}
	n := 0
	switch v := v.(type) {
	case jsonArray:
		for i, item := range v {
			n += r.fields(append(at, strconv.Itoa(i)), item)
		}
		return orOne(n, len(v))
	case object:
		for key, item := range v {
			n += r.fields(append(at, key), item)
		}
		return orOne(n, len(v))
	}
	return 1
}

// orOne counts an empty list or object as one field.
func orOne(fields, items int) int {
	if items == 0 {
		return 1
	}
	return fields
}

// diffReporter implements the Reporter of go-cmp.
type diffReporter struct {
	Diff
	rules Rules
	path  cmp.Path
}

// pointer converts a path of go-cmp to a JSON Pointer.
func pointer(p cmp.Path) []string {
	var out []string
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

// PushStep implements cmp.Reporter. It counts empty lists and objects, which Report does not see as fields.
func (c *diffReporter) PushStep(s cmp.PathStep) {
	c.path = append(c.path, s)
	want, got := s.Values()
	if empty(want) && empty(got) && want.Type() == got.Type() && !c.rules.Ignore.Match(pointer(c.path)) {
		c.Equal++
	}
}

func empty(v reflect.Value) bool { return v.Kind() == reflect.Map && v.Len() == 0 }

// PopStep implements cmp.Reporter.
func (c *diffReporter) PopStep() { c.path = c.path[:len(c.path)-1] }

// Report implements cmp.Reporter.
func (c *diffReporter) Report(r cmp.Result) {
	switch {
	case r.ByIgnore():
		return
	case r.Equal():
		c.Equal++
		return
	}
	place := pointer(c.path)
	d := Difference{place, Missing{}, Missing{}}
	fields := 1
	want, got := c.path.Last().Values()
	if want.IsValid() {
		part := valueOf(want)
		fields, d.Want = max(fields, c.rules.fields(place, part)), part
	}
	if got.IsValid() {
		part := valueOf(got)
		fields, d.Got = max(fields, c.rules.fields(place, part)), part
	}
	c.Unequal += fields
	if c.Total++; c.Total <= MaxDifferences {
		d.Want, d.Got = arrays(d.Want), arrays(d.Got)
		c.Differences = append(c.Differences, d)
	}
}

// valueOf returns nil for null.
func valueOf(v reflect.Value) any {
	if v.Kind() == reflect.Interface && v.IsNil() {
		return nil
	}
	return v.Interface()
}
