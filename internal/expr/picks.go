package expr

import (
	"slices"

	"github.com/itchyny/gojq"
)

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
