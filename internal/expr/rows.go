package expr

import (
	"iter"

	"github.com/itchyny/gojq"
)

// Rows is an expression that selects the rows of a JSON document. An expression that begins with a list,
// such as `.data[] | …`, runs on each item of the list. Then the bounds of a run apply to each item, and
// only one item is decoded at a time.
type Rows struct {
	keys []string
	each bool
	run  *Code
	all  *Code // the whole expression
}

// CompileRows compiles an expression of at most MaxSource bytes.
func CompileRows(source string) (*Rows, *queryError) {
	all, bad := CompileJQ(source)
	if bad != nil {
		return nil, bad
	}
	query, bad := parseQuery(source) // parsed again, because Compile has rewritten the first query
	if bad != nil {
		return nil, bad
	}
	keys, rest := split(query)
	if rest == nil {
		all.on = "the file"
		return &Rows{run: all, all: all}, nil
	}
	run, err := expressionOf(rest)
	if err != nil {
		return nil, queryErrorAt(source, err)
	}
	run.on = "an item of the list"
	return &Rows{keys, true, run, all}, nil
}

// List returns the path to the list whose items the expression runs on. each is false if it runs on the
// whole document.
func (r *Rows) List() (keys []string, each bool) { return r.keys, r.each }

// OnlyPicks reports whether the expression only selects; see Code.OnlyPicks.
func (r *Rows) OnlyPicks() bool { return r.all.onlyPicks }

// Run yields the rows of an item, or of the whole document; see List. Selected objects are the ones of
// value, not copies.
func (r *Rows) Run(value any) iter.Seq2[any, error] { return r.run.Run(value) }

// split divides a query into the path to its first list and the rest, which runs on each item. rest is nil
// if the query has another form.
func split(q *gojq.Query) (keys []string, rest *gojq.Query) {
	if q.Meta != nil || len(q.Imports)+len(q.FuncDefs)+len(q.Patterns) > 0 {
		return nil, nil
	}
	if q.Term != nil {
		return splitTerm(q.Term)
	}
	if q.Op != gojq.OpPipe {
		return nil, nil
	}
	keys, first := split(q.Left)
	if first == nil {
		return nil, nil
	}
	return keys, pipe(first, q.Right)
}

func splitTerm(t *gojq.Term) (keys []string, rest *gojq.Query) {
	suffixes := t.SuffixList
	if t.Type == gojq.TermTypeIndex {
		suffixes = append([]*gojq.Suffix{{Index: t.Index}}, suffixes...)
	} else if t.Type != gojq.TermTypeIdentity {
		return nil, nil
	}
	for len(suffixes) > 0 && suffixes[0].Index != nil && suffixes[0].Index.Name != "" {
		keys, suffixes = append(keys, suffixes[0].Index.Name), suffixes[1:]
	}
	// `.a[]?` must not fail where there is no list
	if len(suffixes) == 0 || !suffixes[0].Iter || len(suffixes) > 1 && suffixes[1].Optional {
		return nil, nil
	}
	return keys, &gojq.Query{Term: &gojq.Term{Type: gojq.TermTypeIdentity, SuffixList: suffixes[1:]}}
}
