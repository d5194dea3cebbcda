package expr

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"math/big"
	"strings"
	"time"

	"github.com/itchyny/gojq"
)

// MaxSource bounds an expression, in bytes. Callers check it.
const MaxSource = 10_000

// maxSteps counts steps of gojq's machine, so that a loop ends at the same place on every machine. maxTime
// is for single steps that are slow.
const (
	maxSteps = 1_000_000
	maxTime  = 10 * time.Second
)

// Code is a compiled jq expression. It is safe for concurrent use. Its steps, its time and the size of what it makes are
// bounded. One of an untrusted suite may only select: see OnlyPicks.
type Code struct {
	code      *gojq.Code
	path      []pathStep // set if the expression is only a path, nil otherwise
	onlyPicks bool
	on        string // the name of its input in messages, such as "this answer"
}

// queryError is a problem in an expression. Offset is its position in bytes.
type queryError struct {
	Offset  int
	Message string
}

func (e *queryError) Error() string { return e.Message }

// Report adds the problem at n, the value with the expression, such as a yaml.Node. shown prepares a message
// for printing.
func (e *queryError) Report(n interface {
	ErrorfAt(offset int, hint, format string, args ...any)
}, shown func(string) string,
) {
	n.ErrorfAt(e.Offset, "the language is that of jq, such as .items[0].name", "not a jq expression: %s", shown(e.Message))
}

// CompileJQ compiles an expression of at most MaxSource bytes.
func CompileJQ(source string) (*Code, *queryError) {
	query, bad := parseQuery(source)
	if bad != nil {
		return nil, bad
	}
	out, err := expressionOf(query)
	if err != nil {
		return nil, queryErrorAt(source, err)
	}
	return out, nil
}

// NamesEvent reports whether an expression names $event, the name of an event of a stream.
func NamesEvent(source string) bool { return namedEvent().MatchString(source) }

var namedEvent = compiled(`\$event\b`)

// CompileEventJQ compiles an expression over events of the form {"event": NAME, "data": VALUE}. It sees the data, and the name
// as $event.
func CompileEventJQ(source string) (*Code, *queryError) {
	const head = ".event as $event | .data | ("
	out, bad := CompileJQ(head + source + ")")
	if bad != nil {
		bad.Offset = max(0, min(bad.Offset-len(head), len(source)-1))
	}
	return out, bad
}

// parseQuery also compiles the query, because problems are to be reported in the user's text, before bound
// rewrites it.
func parseQuery(source string) (*gojq.Query, *queryError) {
	query, err := gojq.Parse(source)
	if err == nil {
		_, err = gojq.Compile(query)
	}
	if err != nil {
		return nil, queryErrorAt(source, err)
	}
	if c := constant(query); c != "" {
		return nil, &queryError{max(0, strings.Index(source, c)), "has no finite result: " + c}
	}
	return query, nil
}

func expressionOf(query *gojq.Query) (out *Code, err error) {
	out = &Code{path: pathOf(query), onlyPicks: picks(query), on: "this answer"} // before it is metered
	out.code, err = compile(query)
	return out, err
}

// OnlyPicks reports whether the expression only selects: `.a[0].b?`, `.[]`, pipes, commas and parentheses.
// Then each result is a part of the input. For other expressions, the growth within one step cannot be
// bounded.
func (e *Code) OnlyPicks() bool { return e.onlyPicks }

var undefinedName = compiled(`not defined: (\$?[\w:@]+)`)

// queryErrorAt finds the position of an error in an expression.
func queryErrorAt(source string, err error) *queryError {
	offset := 0
	var wrong *gojq.ParseError
	if errors.As(err, &wrong) {
		offset = min(wrong.Offset-len(wrong.Token), len(source)-1)
	} else if m := undefinedName().FindStringSubmatch(err.Error()); m != nil {
		offset = strings.Index(source, m[1])
	}
	return &queryError{max(0, offset), err.Error()}
}

// stepped is a context that ends after left calls of Done. gojq calls Done once per step.
type stepped struct {
	context.Context
	left int
}

var (
	errSteps = errors.New("too many steps")
	closed   = func() chan struct{} { c := make(chan struct{}); close(c); return c }()
)

func (s *stepped) Done() <-chan struct{} {
	if s.left--; s.left < 0 {
		return closed
	}
	return s.Context.Done()
}

func (s *stepped) Err() error {
	if s.left < 0 {
		return errSteps
	}
	return s.Context.Err()
}

// BoundError says which bound ended a run. It continues a sentence about the expression: "takes more than
// 10s on this answer".
type BoundError string

func (e BoundError) Error() string { return string(e) }

// Run yields the results for a value that encoding/json decoded with UseNumber. nil is the result null. An
// error comes last: a BoundError, or the error of the expression.
func (e *Code) Run(value any) iter.Seq2[any, error] {
	return func(yield func(any, error) bool) {
		if e.path != nil {
			if v, ok := follow(e.path, value); ok {
				yield(v, nil)
				return
			}
		}
		limited, cancel := context.WithTimeout(context.Background(), maxTime)
		defer cancel()
		m := &sizeMeter{}
		results := e.code.RunWithContext(&stepped{limited, maxSteps}, value, m)
		for v, more := results.Next(); more; v, more = results.Next() {
			if err, failed := v.(error); failed {
				yield(nil, e.bounded(err))
				return
			}
			if !yield(v, nil) {
				return
			}
		}
		// the expression caught the error
		switch {
		case m.made >= maxMade:
			yield(nil, e.bounded(errMade))
		case m.noNumber:
			yield(nil, e.bounded(errNoNumber))
		}
	}
}

// bounded turns an error that a bound caused into a BoundError.
func (e *Code) bounded(err error) error {
	switch {
	case errors.Is(err, errSteps):
		return BoundError(fmt.Sprintf("takes more than %d steps on %s", maxSteps, e.on))
	case errors.Is(err, errMade):
		return BoundError(fmt.Sprintf("makes more than %d bytes of %s", maxMade, e.on))
	case errors.Is(err, errNoNumber):
		return BoundError("calculates no number on " + e.on + ": it is undefined, or too large")
	case errors.Is(err, context.DeadlineExceeded):
		return BoundError(fmt.Sprintf("takes more than %s on %s", maxTime, e.on))
	}
	return err
}

// Line returns a result as `jq -r` prints it, and subtracts its length from room. When room gets negative,
// the result is not encoded.
func Line(v any, room *int) (string, error) {
	if s, ok := v.(string); ok {
		*room -= len(s) + 1
		return s, nil
	}
	data, err := JSON(v, room)
	return string(data), err
}

// JSON returns a result as JSON, with room as in Line.
func JSON(v any, room *int) ([]byte, error) {
	if *room -= weight(v, *room); *room < 0 {
		return nil, nil
	}
	return gojq.Marshal(v)
}

// weight estimates the length of a value as JSON, up to limit. The memory of a value says too little,
// because its parts may be shared.
func weight(v any, limit int) int {
	w := 1
	switch v := v.(type) {
	case string:
		w += 2 + len(v)
	case json.Number:
		w += len(v)
	case *big.Int:
		w += v.BitLen() / 3
	case []any:
		for _, item := range v {
			if w += weight(item, limit-w); w > limit {
				break
			}
		}
	case map[string]any:
		for key, item := range v {
			if w += 4 + len(key) + weight(item, limit-w); w > limit {
				break
			}
		}
	default:
		w += 4
	}
	return w
}
