package scorers

import (
	"context"
	"encoding/json"
	"errors"
	"math/big"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/itchyny/gojq"

	"github.com/evalrun/evalrun/internal/yamlnode"
)

// Bounds of one selection by jq. Steps are those of gojq's machine, so that a loop ends at the same
// place on every machine; the time is for steps that are slow by themselves.
const (
	maxJQ      = 10_000 // bytes of an expression
	maxJQSteps = 1_000_000
	maxJQTime  = 10 * time.Second
)

var undefined = regexp.MustCompile(`not defined: (\$?[\w:@]+)`)

// jqSelector compiles an expression. Several results are the lines of a text, as `jq -r` writes them;
// null is no result. An untrusted expression may only pick: what grows within a step cannot be bounded.
func jqSelector(n yamlnode.Node, untrusted bool) *selector {
	source := textOf(n)
	if source == "" || len(source) > maxJQ {
		n.Errorf("such as .name, or .items[0].id", "`jq` needs an expression of at most %d bytes", maxJQ)
		return nil
	}
	code, onlyPicks, err := parseJQ(source)
	if err != nil {
		reportJQ(n, source, err)
		return nil
	}
	if untrusted && !onlyPicks {
		n.Errorf("such as .items[0].id, .items[].name, or .a, .b", "in a suite that is not trusted, `jq` only takes paths")
		return nil
	}
	name := "jq " + written(source)
	return &selector{name, func(text string) (string, *Finding) {
		if len(text) > maxSelect {
			return unscoredText("%s: the text has %d bytes, at most %d are read", name, len(text), maxSelect)
		}
		value, problem := parseJSON(text)
		if problem != "" {
			return missing("%s has nothing to select from: %s", name, problem)
		}
		if why := unreadable(value, 0); why != "" {
			return unscoredText("%s: the answer holds %s", name, why)
		}
		return runJQ(name, code, value, text)
	}}
}

func parseJQ(source string) (code *gojq.Code, onlyPicks bool, err error) {
	query, err := gojq.Parse(source)
	if err != nil {
		return nil, false, err
	}
	onlyPicks = picks(query)                      // before it is metered
	if _, err = gojq.Compile(query); err != nil { // for mistakes, as the user has written it
		return nil, false, err
	}
	code, err = compileJQ(query)
	return code, onlyPicks, err
}

// reportJQ puts a mistake in an expression at its place.
func reportJQ(n yamlnode.Node, source string, err error) {
	const hint = "the language is that of jq, such as .items[0].name"
	offset := 0
	var wrong *gojq.ParseError
	if errors.As(err, &wrong) {
		offset = min(wrong.Offset-len(wrong.Token), len(source)-1)
	} else if m := undefined.FindStringSubmatch(err.Error()); m != nil {
		offset = strings.Index(source, m[1])
	}
	n.ErrorfAt(max(0, offset), hint, "not a jq expression: %s", visibleText(err.Error()))
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

func runJQ(name string, code *gojq.Code, value any, text string) (string, *Finding) {
	limited, cancel := context.WithTimeout(context.Background(), maxJQTime)
	defer cancel()
	meter := &jqMeter{}
	results := code.RunWithContext(&stepped{limited, maxJQSteps}, value, meter)
	var lines []string
	room := maxSelect
	for v, more := results.Next(); more; v, more = results.Next() {
		if err, failed := v.(error); failed {
			return failedJQ(name, err, text)
		}
		if v == nil {
			continue
		}
		line, err := jqLine(v, &room)
		if err != nil {
			return unscoredText("%s: %s", name, visibleText(err.Error()))
		}
		if room < 0 {
			return unscoredText("%s selects more than %d bytes", name, maxSelect)
		}
		lines = append(lines, line)
	}
	if meter.made >= maxJQMade { // and the expression went on without it
		return unscoredText("%s makes more than %d bytes of this answer", name, maxJQMade)
	}
	if out := strings.Join(lines, "\n"); out != "" {
		return out, nil
	}
	return missing("%s finds nothing in %s", name, quote(text))
}

// failedJQ is for an expression that a bound or a mistake has ended.
func failedJQ(name string, err error, text string) (string, *Finding) {
	switch {
	case errors.Is(err, errSteps):
		return unscoredText("%s takes more than %d steps on this answer", name, maxJQSteps)
	case errors.Is(err, errJQMade):
		return unscoredText("%s makes more than %d bytes of this answer", name, maxJQMade)
	case errors.Is(err, context.DeadlineExceeded):
		return unscoredText("%s takes more than %s on this answer", name, maxJQTime)
	}
	return missing("%s cannot select from %s: %s", name, quote(text), visibleText(err.Error()))
}

// jqLine is a result as `jq -r` writes it. It takes its bytes out of room; what does not fit is not written.
func jqLine(v any, room *int) (string, error) {
	if s, ok := v.(string); ok {
		*room -= len(s) + 1
		return s, nil
	}
	if *room -= weight(v, *room); *room < 0 {
		return "", nil
	}
	data, err := gojq.Marshal(v)
	return string(data), err
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

// picks reports whether an expression only goes down paths: `.a[0].b?`, `.[]`, pipes, commas and
// parentheses. Then what it selects is no more than the answer, as often as there are steps.
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

// plainIndex: a name, a text without interpolation, a number, or a slice of numbers.
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
	return t != nil && len(t.SuffixList) == 0 && (t.Type == gojq.TermTypeNumber || t.Type == gojq.TermTypeString && plainText(t.Str))
}
