// Package jq runs expressions of jq over JSON values, within bounds on steps, on time, and on what they make. An
// expression of an untrusted suite may only pick: see Expression.OnlyPicks.
//
// The usual order: Compile once, Run for each value.
package jq

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

	"github.com/evalrun/evalrun/internal/lazy"
	"github.com/evalrun/evalrun/internal/yamlnode"
)

// MaxSource is how long an expression may be, in bytes.
const MaxSource = 10_000

// Bounds of one run. Steps are those of gojq's machine, so that a loop ends at the same
// place on every machine; the time is for steps that are slow by themselves.
const (
	maxSteps = 1_000_000
	maxTime  = 10 * time.Second
)

// Code is a compiled expression; safe for concurrent use.
type Code struct {
	code      *gojq.Code
	path      []step // of an expression that is nothing else; nil otherwise
	onlyPicks bool
	on        string // what it runs on, for messages: "this answer"
}

// QueryError is a problem in an expression. Offset is its byte in the text.
type QueryError struct {
	Offset  int
	Message string
}

func (e *QueryError) Error() string { return e.Message }

// Report puts the problem at its place in the value n that holds the expression. shown makes a message fit to be
// printed.
func (e *QueryError) Report(n yamlnode.Node, shown func(string) string) {
	n.ErrorfAt(e.Offset, "the language is that of jq, such as .items[0].name", "not a jq expression: %s", shown(e.Message))
}

// Compile compiles an expression, whose length the caller has checked.
func Compile(source string) (*Code, *QueryError) {
	query, bad := parse(source)
	if bad != nil {
		return nil, bad
	}
	out, err := expressionOf(query)
	if err != nil {
		return nil, located(source, err)
	}
	return out, nil
}

// parse reads an expression, and finds its problems in the user's own text.
func parse(source string) (*gojq.Query, *QueryError) {
	query, err := gojq.Parse(source)
	if err == nil {
		_, err = gojq.Compile(query)
	}
	if err != nil {
		return nil, located(source, err)
	}
	return query, nil
}

func expressionOf(query *gojq.Query) (out *Code, err error) {
	out = &Code{path: pathOf(query), onlyPicks: picks(query), on: "this answer"} // before it is metered
	out.code, err = compile(query)
	return out, err
}

// OnlyPicks reports whether the expression only goes down paths: `.a[0].b?`, `.[]`, pipes, commas and parentheses. Each
// result is then a part of the input. Growth within a step of any other expression cannot be bounded.
func (e *Code) OnlyPicks() bool { return e.onlyPicks }

const undefined lazy.Pattern = `not defined: (\$?[\w:@]+)`

// located finds the place of an error in an expression.
func located(source string, err error) *QueryError {
	offset := 0
	var wrong *gojq.ParseError
	if errors.As(err, &wrong) {
		offset = min(wrong.Offset-len(wrong.Token), len(source)-1)
	} else if m := undefined.Regexp().FindStringSubmatch(err.Error()); m != nil {
		offset = strings.Index(source, m[1])
	}
	return &QueryError{max(0, offset), err.Error()}
}

// stepped is a context that ends after a number of looks at whether it has ended: gojq looks once in
// every step.
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

// BoundError says which bound ended a run, as a phrase that follows the expression: "takes more than 10s on this answer".
type BoundError string

func (e BoundError) Error() string { return string(e) }

// Run yields what the expression gives for a value as package encoding/json decodes it with UseNumber, null included.
// An error is the last that it yields: a BoundError, or the error that ended the run.
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
		m := &meter{}
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
		if m.made >= maxMade { // and the expression continued without it
			yield(nil, e.bounded(errMade))
		}
	}
}

// bounded makes a BoundError of an error that a bound has caused.
func (e *Code) bounded(err error) error {
	switch {
	case errors.Is(err, errSteps):
		return BoundError(fmt.Sprintf("takes more than %d steps on %s", maxSteps, e.on))
	case errors.Is(err, errMade):
		return BoundError(fmt.Sprintf("makes more than %d bytes of %s", maxMade, e.on))
	case errors.Is(err, context.DeadlineExceeded):
		return BoundError(fmt.Sprintf("takes more than %s on %s", maxTime, e.on))
	}
	return err
}

// Line is a result as `jq -r` writes it. It takes its bytes out of room; what does not fit is not written, and room
// is then below zero.
func Line(v any, room *int) (string, error) {
	if s, ok := v.(string); ok {
		*room -= len(s) + 1
		return s, nil
	}
	data, err := JSON(v, room)
	return string(data), err
}

// JSON is a result as JSON. It takes its bytes out of room as Line does.
func JSON(v any, room *int) ([]byte, error) {
	if *room -= weight(v, *room); *room < 0 {
		return nil, nil
	}
	return gojq.Marshal(v)
}

// weight is about how long a value is as JSON, or more than the limit when it is longer. A value that holds
// a part many times over is small in memory alone.
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
