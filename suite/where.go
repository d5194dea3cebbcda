package suite

import (
	"errors"
	"fmt"
	"iter"

	"github.com/evalrun/evalrun/diag"
	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/expr"
	"github.com/evalrun/evalrun/internal/yaml"
)

// filter is an expression over the columns of a row: `where`.
type filter struct {
	node    yaml.Node
	program *expr.Expression // nil if the expression is invalid
}

// compile compiles the expression when the columns are known. Rows of a table all have the same columns, so another name is
// an error; in other formats a row may have more.
func (f *filter) compile(first *row, diags *diag.List) {
	var env any = expr.Open{}
	if first.of.isTable() {
		env = first.vars.Plain()
	}
	var problem *expr.SyntaxError
	var err error
	if f.program, err = expr.Compile(f.node.Str(), env, expr.Truth); errors.As(err, &problem) {
		f.node.WithDiags(diags).ErrorfAt(problem.Offset, problem.Hint, "in the expression: %s", problem.Message)
	}
}

func (l *checker) readWhere(r *rows) {
	if r.where == nil {
		return
	}
	for first := range l.all(r, l.diags) {
		r.where.compile(first, l.diags)
		return
	}
}

func (f *filter) takes(r *row) (bool, error) {
	if f == nil {
		return true, nil
	}
	if f.program == nil { // accept all rows, so that their other problems are reported too
		return true, nil
	}
	for _, read := range f.program.Reads() {
		if !read.Optional && lacks(r.vars, read.Path) {
			return false, &expr.SyntaxError{
				Message: fmt.Sprintf("it has no `%s`", read),
				Hint:    fmt.Sprintf("`%s ?? \"\"` is the empty text where there is none", read),
			}
		}
	}
	out, err := f.program.Run(r.vars.Plain())
	if err != nil {
		return false, err
	}
	taken, ok := out.(bool)
	if !ok {
		return false, errors.New("the expression gives neither true nor false")
	}
	return taken, nil
}

// lacks reports whether a row has nothing at a path. An expression would see nil there, so that a typo would select all
// rows, or none.
func lacks(v eval.Value, path []string) bool {
	for _, name := range path {
		found, named, there := eval.Get(v, name)
		if !named {
			return false // the expression reports it
		}
		if !there {
			return true
		}
		v = found
	}
	return false
}

func (s *Suite) filtered(r *rows, diags *diag.List) iter.Seq[*row] {
	return func(yield func(*row) bool) {
		for one := range s.all(r, diags) {
			taken, err := r.where.takes(one)
			var lack *expr.SyntaxError
			switch {
			case errors.As(err, &lack):
				diags.Errorf(one.pos, lack.Hint, "`where` cannot be determined for the row: %s", lack.Message)
			case err != nil:
				diags.Errorf(
					one.pos, "a cell may be empty: count != \"\" and int(count) > 1", "`where` cannot be determined for the row: %s",
					err,
				)
			}
			if taken && !yield(one) {
				return
			}
		}
	}
}
