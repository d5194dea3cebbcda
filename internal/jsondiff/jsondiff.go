// Package jsondiff compares two JSON values and says where they differ. Values are as encoding/json decodes them with UseNumber.
package jsondiff

import (
	"cmp"
	"encoding/json"
	"maps"
	"slices"
	"strconv"
)

// list is a JSON array by position, as a JSON Pointer knows it. One whose items were paired may have holes.
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

// Rules say how two values are compared.
type Rules struct {
	Ignore    Pointers
	Tolerance float64 // how far off numbers may be; 0 compares them exactly
	Unordered bool    // arrays are compared whatever the order of their items
}

// Pointers are JSON Pointers (RFC 6901), split into segments; `*` stands for one segment.
type Pointers [][]string

// Match reports whether one of the pointers is that of a path.
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

// Diff is how two values differ.
type Diff struct {
	Differences []Difference // the first MaxDifferences of Total
	Total       int
	Equal       int // fields: values that hold no others
	Unequal     int
}

// Difference is a place at which two values differ.
type Difference struct {
	Path      []string
	Want, Got any // Missing where there is none
}

// Missing is the value of a side that has none.
type Missing struct{}

// MaxDifferences is how many differences a Diff keeps.
const MaxDifferences = 20

// Compare compares two values. When got has more than maxFields fields there is no diff; fields is how many it has.
func (r Rules) Compare(want, got any, maxFields int) (d *Diff, fields int) {
	left, right := positional(want), positional(got)
	if fields = r.fields(nil, right); fields > maxFields {
		return nil, fields
	}
	if r.Unordered {
		p := &pairing{rules: r, same: Within(r.Tolerance), left: maxPairing}
		right = p.fit(nil, left, right).value
	}
	c := &comparison{rules: r, same: Within(r.Tolerance)}
	switch { // an answer that is null as a whole has nothing
	case left == nil && right != nil:
		left = Missing{}
	case right == nil && left != nil:
		right = Missing{}
	}
	c.walk(nil, left, right)
	return &c.Diff, fields
}

// Fields counts the values that hold no others, but for the ignored ones.
func (r Rules) Fields(v any) int { return r.fields(nil, positional(v)) }

func (r Rules) fields(at []string, v any) int {
	if len(r.Ignore) > 0 && r.Ignore.Match(at) {
		return 0
	}
	n := 0
	switch v := v.(type) {
	case list:
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

// comparison is two values on the way to their difference.
type comparison struct {
	Diff
	rules Rules
	same  func(a, b json.Number) bool
}

// walk compares what is at a place, where both sides have something.
func (c *comparison) walk(at []string, want, got any) {
	if c.rules.Ignore.Match(at) {
		return
	}
	switch w := want.(type) {
	case object:
		if g, ok := got.(object); ok {
			walkParts(c, at, w, g, func(key string) string { return key })
			return
		}
	case list:
		if g, ok := got.(list); ok {
			walkParts(c, at, w, g, strconv.Itoa)
			return
		}
	}
	if sameScalar(want, got, c.same) {
		c.Equal++
		return
	}
	c.report(at, want, got)
}

// walkParts compares the parts of two objects, or of two lists, in the order of their keys.
func walkParts[K cmp.Ordered](c *comparison, at []string, want, got map[K]any, name func(K) string) {
	if len(want)+len(got) == 0 {
		c.Equal++
		return
	}
	keys := slices.AppendSeq(slices.Collect(maps.Keys(want)), maps.Keys(got))
	slices.Sort(keys)
	for _, key := range slices.Compact(keys) {
		w, wanted := want[key]
		g, there := got[key]
		place := below(at, name(key))
		switch {
		case wanted && there:
			c.walk(place, w, g)
		case c.rules.Ignore.Match(place):
		case wanted:
			c.report(place, w, Missing{})
		default:
			c.report(place, Missing{}, g)
		}
	}
}

// report takes in a pair of values that differ.
func (c *comparison) report(at []string, want, got any) {
	c.Unequal += max(c.fields(at, want), c.fields(at, got), 1)
	if c.Total++; c.Total <= MaxDifferences {
		c.Differences = append(c.Differences, Difference{at, arrays(want), arrays(got)})
	}
}

// fields counts those of a side, which has none where it is missing.
func (c *comparison) fields(at []string, v any) int {
	if v == (Missing{}) {
		return 0
	}
	return c.rules.fields(at, v)
}
