package expr

import (
	"encoding/json"
	"slices"
	"strconv"

	"github.com/itchyny/gojq"
)

// Most expressions are paths such as .reply.text or .choices[0].message.content. They need no machine,
// clock or meter, because their result is a part of the input.

// pathStep is a key of an object or an index of a list.
type pathStep struct {
	key   string
	place int
	isKey bool
}

// pathOf returns the path that a query consists of, nil for other queries.
func pathOf(q *gojq.Query) []pathStep {
	if q.Meta != nil || len(q.Imports)+len(q.FuncDefs)+len(q.Patterns) > 0 ||
		q.Term == nil || q.Term.Type != gojq.TermTypeIndex {
		return nil
	}
	first, ok := stepOf(q.Term.Index)
	if !ok {
		return nil
	}
	out := []pathStep{first}
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

// stepOf accepts names and indexes from 0.
func stepOf(i *gojq.Index) (pathStep, bool) {
	switch {
	case i.Name != "":
		return pathStep{key: i.Name, isKey: true}, true
	case i.Str != nil || i.IsSlice || i.End != nil || i.Start == nil ||
		i.Start.Term == nil || i.Start.Term.Type != gojq.TermTypeNumber ||
		len(i.Start.Term.SuffixList) > 0:
		return pathStep{}, false
	}
	n, err := strconv.Atoi(i.Start.Term.Number)
	return pathStep{place: n}, err == nil && n >= 0
}

// follow returns the value at a path. ok is false where jq reports an error, or formats a number in another
// way.
func follow(path []pathStep, v any) (out any, ok bool) {
	for _, s := range path {
		switch at := v.(type) {
		case nil: // every path in null leads to null
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

// picks implements Code.OnlyPicks.
func picks(q *gojq.Query) bool {
	switch {
	case q == nil || q.Meta != nil || len(q.Imports)+len(q.FuncDefs)+len(q.Patterns) > 0:
		return false
	case q.Term == nil:
		return (q.Op == gojq.OpPipe || q.Op == gojq.OpComma) && picks(q.Left) && picks(q.Right)
	}
	return picksTerm(q.Term) && !slices.ContainsFunc(q.Term.SuffixList, func(s *gojq.Suffix) bool {
		return s.Index != nil && !plainIndex(s.Index)
	})
}

func picksTerm(t *gojq.Term) bool {
	switch t.Type {
	case gojq.TermTypeIdentity, gojq.TermTypeRecurse:
		return true
	case gojq.TermTypeIndex:
		return plainIndex(t.Index)
	case gojq.TermTypeQuery:
		return picks(t.Query)
	}
	return false
}

// plainIndex accepts a name, a text without interpolation, a number, or a slice with constant bounds.
func plainIndex(i *gojq.Index) bool {
	return plainText(i.Str) && literal(i.Start) && literal(i.End)
}

func plainText(s *gojq.String) bool { return s == nil || len(s.Queries) == 0 }

func literal(q *gojq.Query) bool {
	if q == nil {
		return true
	}
	t := q.Term
	if t != nil && t.Type == gojq.TermTypeUnary && len(t.SuffixList) == 0 {
		t = t.Unary.Term
	}
	return t != nil && len(t.SuffixList) == 0 &&
		(t.Type == gojq.TermTypeNumber || t.Type == gojq.TermTypeString && plainText(t.Str))
}
