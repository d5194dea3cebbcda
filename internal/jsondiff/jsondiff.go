// Package jsondiff compares two JSON values and finds where they differ. Values are as encoding/json
// decodes them after json.Decoder.UseNumber.
package jsondiff

import (
	"encoding/json"
	"maps"
	"slices"
	"strconv"
)

type object = map[string]any

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
	Differences []difference // the first MaxDifferences of Total
	Total       int
	Equal       int // equal fields: values without others inside
	Unequal     int
}

type difference struct {
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
	if fields = r.Fields(got); fields > maxFields {
		return nil, fields
	}
	c := &comparison{rules: r, same: Within(r.Tolerance)}
	if r.Unordered {
		p := &pairing{rules: r, same: c.same, left: maxPairing}
		got = p.fit(nil, want, got).value
	}
	c.compare(nil, want, got)
	return &c.Diff, fields
}

// Fields counts the values without others inside, except ignored ones.
func (r Rules) Fields(v any) int { return r.fields(nil, v) }

func (r Rules) fields(at []string, v any) int {
	if r.Ignore.Match(at) {
		return 0
	}
	n := 0
	switch v := v.(type) {
	case []any:
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

// comparison collects the differences of two values.
type comparison struct {
	Diff
	rules Rules
	same  func(a, b json.Number) bool
}

// compare compares the values at a path. Lists are compared item by item, and either side may be Missing.
func (c *comparison) compare(at []string, want, got any) {
	if c.rules.Ignore.Match(at) {
		return
	}
	switch w := want.(type) {
	case object:
		if g, ok := got.(object); ok {
			c.objects(at, w, g)
			return
		}
	case []any:
		if g, ok := got.([]any); ok {
			c.lists(at, w, g)
			return
		}
	default:
		if sameScalar(want, got, c.same) {
			c.Equal++
			return
		}
	}
	c.differ(at, want, got)
}

func (c *comparison) objects(at []string, want, got object) {
	keys := slices.Concat(slices.Collect(maps.Keys(want)), slices.Collect(maps.Keys(got)))
	slices.Sort(keys)
	if len(keys) == 0 {
		c.Equal++
	}
	for _, key := range slices.Compact(keys) {
		c.compare(append(at, key), member(want, key), member(got, key))
	}
}

func (c *comparison) lists(at []string, want, got []any) {
	if len(want)+len(got) == 0 {
		c.Equal++
	}
	for i := range max(len(want), len(got)) {
		c.compare(append(at, strconv.Itoa(i)), item(want, i), item(got, i))
	}
}

func member(o object, key string) any {
	if v, there := o[key]; there {
		return v
	}
	return Missing{}
}

func item(list []any, i int) any {
	if i < len(list) {
		return list[i]
	}
	return Missing{}
}

// sameScalar compares two values; the first is neither an object nor a list.
func sameScalar(want, got any, same func(a, b json.Number) bool) bool {
	w, ok := want.(json.Number)
	if ok {
		g, ok := got.(json.Number)
		return ok && same(w, g)
	}
	switch got.(type) {
	case object, []any:
		return false
	}
	return want == got
}

func (c *comparison) differ(at []string, want, got any) {
	c.Unequal += max(1, c.rules.fields(at, want), c.rules.fields(at, got))
	if c.Total++; c.Total <= MaxDifferences {
		c.Differences = append(c.Differences, difference{slices.Clone(at), want, got})
	}
}
