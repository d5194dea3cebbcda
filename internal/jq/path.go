package jq

import (
	"encoding/json"
	"strconv"

	"github.com/itchyny/gojq"
)

// Most expressions are paths such as .reply.text or .choices[0].message.content. They need no machine, no clock and
// no meter: what they give is there already.

// step is a key of an object, or a place in a list.
type step struct {
	key   string
	place int
	isKey bool
}

// pathOf is the path that a query is, nil where it is more than that.
func pathOf(q *gojq.Query) []step {
	if q.Meta != nil || len(q.Imports)+len(q.FuncDefs)+len(q.Patterns) > 0 || q.Term == nil || q.Term.Type != gojq.TermTypeIndex {
		return nil
	}
	first, ok := stepOf(q.Term.Index)
	if !ok {
		return nil
	}
	out := []step{first}
	for _, s := range q.Term.SuffixList {
		if s.Index == nil || s.Iter || s.Optional {
			return nil
		}
		next, ok := stepOf(s.Index)
		if !ok {
			return nil
		}
		out = append(out, next)
	}
	return out
}

// stepOf is a name, or a number from 0.
func stepOf(i *gojq.Index) (step, bool) {
	switch {
	case i.Name != "":
		return step{key: i.Name, isKey: true}, true
	case i.Str != nil || i.IsSlice || i.End != nil || i.Start == nil || i.Start.Term == nil || i.Start.Term.Type != gojq.TermTypeNumber ||
		len(i.Start.Term.SuffixList) > 0:
		return step{}, false
	}
	n, err := strconv.Atoi(i.Start.Term.Number)
	return step{place: n}, err == nil && n >= 0
}

// follow goes down a path. ok is false where jq has an error, or a number that it would write in another way.
func follow(path []step, v any) (out any, ok bool) {
	for _, s := range path {
		switch at := v.(type) {
		case nil: // which has null everywhere
		case map[string]any:
			if !s.isKey {
				return nil, false
			}
			v = at[s.key]
		case []any:
			if s.isKey {
				return nil, false
			}
			if v = nil; s.place < len(at) {
				v = at[s.place]
			}
		default:
			return nil, false
		}
	}
	switch v.(type) {
	case json.Number, []any, map[string]any:
		return nil, false
	}
	return v, true
}
