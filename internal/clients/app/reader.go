package app

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/clients/wire"
	"github.com/evalrun/evalrun/internal/expr"
)

// Reader extracts an answer from the replies of an endpoint. It is safe for concurrent use.
type Reader struct {
	answer, calls, reason, usage, failure *jqQuery

	stream, repeats bool
	named           bool // an expression names $event
}

// jqQuery is a jq expression of the suite; nil where the suite has none.
type jqQuery struct {
	name, source string
	compiled     *expr.Code
}

// NewReader compiles the expressions, which must have been checked with the suite.
func NewReader(r eval.Reading) *Reader {
	named := slices.ContainsFunc([]string{r.Answer, r.ToolCalls, r.FinishReason, r.Usage, r.Error}, expr.NamesEvent)
	compile := func(name, source string) *jqQuery {
		if named && source != "" {
			compiled, problem := expr.CompileEventJQ(source)
			if problem != nil {
				panic(problem)
			}
			return &jqQuery{name, source, compiled}
		}
		return newQuery(name, source)
	}
	return &Reader{
		answer: compile("answer", r.Answer),
		calls:  compile("toolCalls", r.ToolCalls),
		reason: compile("finishReason", r.FinishReason),
		usage:  compile("usage", r.Usage), failure: compile("error", r.Error), stream: r.Stream,
		repeats: r.Repeats, named: named,
	}
}

// newQuery compiles an expression that was checked with the suite; nil for "".
func newQuery(name, source string) *jqQuery {
	if source == "" {
		return nil
	}
	compiled, problem := expr.CompileJQ(source)
	if problem != nil {
		panic(problem)
	}
	return &jqQuery{name, source, compiled}
}

// first returns an expression for the error about a reply that is not JSON, nil if none needs JSON.
func (r *Reader) first() *jqQuery {
	for _, e := range []*jqQuery{r.answer, r.calls, r.reason, r.usage, r.failure} {
		if e != nil {
			return e
		}
	}
	return nil
}

// texts returns the results for a reply as `jq -r` prints them, without nulls.
func (e *jqQuery) texts(v any, data []byte) (out []string, err error) {
	_, err = e.each(v, data, func(value any, room *int) error {
		text, err := expr.Line(value, room)
		out = append(out, text)
		return err
	})
	return out, err
}

// values returns the results for a reply as JSON, without nulls, and whether there was a null.
func (e *jqQuery) values(v any, data []byte) (out []json.RawMessage, nulls bool, err error) {
	nulls, err = e.each(v, data, func(value any, room *int) error {
		one, err := expr.JSON(value, room)
		if err == nil && *room >= 0 {
			err = wire.Decodable(one) // an expression can nest deeper than its input
		}
		out = append(out, one)
		return err
	})
	return out, nulls, err
}

// each passes the results for a reply to write, which takes what it needs off the room. It leaves out nulls, and reports
// whether there was one. Without an expression there are no results.
func (e *jqQuery) each(v any, data []byte, write func(value any, room *int) error) (nulls bool, err error) {
	if e == nil {
		return false, nil
	}
	room := wire.MaxResponseBytes
	for value, err := range e.compiled.Run(v) {
		var bound expr.BoundError
		switch {
		case errors.As(err, &bound):
			return nulls, e.error("%s", string(bound))
		case err != nil:
			return nulls, e.error("does not fit the response (%s): %s", wire.Excerpt([]byte(err.Error())), wire.Excerpt(data))
		case isNothing(value):
			nulls = true
			continue
		}
		if err := write(value, &room); err != nil {
			return nulls, e.error("gives a value that cannot be written: %s", err)
		}
		if room < 0 {
			return nulls, eval.Errorf(eval.KindTooLarge, "%s", wire.ErrTooLarge)
		}
	}
	return nulls, nil
}

// isNothing counts NaN as null: JSON has no number for it, and it would be written as an empty text.
func isNothing(v any) bool {
	f, number := v.(float64)
	return v == nil || number && math.IsNaN(f)
}

// error returns an error that is permanent, because another attempt would have the same result.
func (e *jqQuery) error(format string, args ...any) *eval.Error {
	message := fmt.Sprintf("the jq of `%s`, %s, ", e.name, wire.Excerpt([]byte(e.source))) + fmt.Sprintf(format, args...)
	return &eval.Error{Kind: eval.KindMalformed, Message: message, Cause: eval.UnreadByJQ, Retry: eval.RetryNever}
}

func (e *jqQuery) nothing(data []byte) error {
	return e.error("finds nothing in the response: %s", wire.Excerpt(data))
}

// meansJSON decides by the media type, and without one by the first character.
func meansJSON(mediaType string, data []byte) bool {
	if mediaType == "" {
		return strings.IndexByte("{[", bytes.TrimSpace(data)[0]) >= 0
	}
	return mediaType == "application/json" || strings.HasSuffix(mediaType, "+json")
}

// body reads a reply that came in one piece.
func (r *Reader) body(data []byte, mediaType string) (*eval.Response, error) {
	if len(bytes.TrimSpace(data)) == 0 {
		return nil, eval.Errorf(eval.KindMalformed, "the answer is empty")
	}
	v, err := wire.DecodeAny(data)
	if err == nil {
		return r.json(v, data)
	}
	needed := r.first()
	switch {
	case meansJSON(mediaType, data) || !utf8.Valid(data):
		return nil, err
	case needed != nil:
		err := needed.error("needs JSON, and the answer is %s: %s", cmp.Or(mediaType, "a text"), wire.Excerpt(data))
		err.Answer = &eval.Response{Candidates: []eval.Candidate{{Text: string(data)}}}
		return nil, err
	}
	text := answer{text: string(data)}
	return text.response(), nil
}

// Reread reads an answer again from the raw reply that is kept with it, since the expressions of the suite
// may have changed. The error is an *eval.Error.
func (r *Reader) Reread(before *eval.Response) (*eval.Response, error) {
	if len(before.Candidates) != 1 || before.Blocked() != "" && before.Candidates[0].Raw == nil {
		return before, nil
	}
	was := &before.Candidates[0]
	out, err := r.reread(was)
	if err != nil {
		return nil, err
	}
	merged := *before
	merged.Candidates = out.Candidates
	if out.Usage != nil {
		merged.Usage = out.Usage
	}
	return &merged, nil
}

func (r *Reader) reread(was *eval.Candidate) (*eval.Response, error) {
	switch needed := r.first(); {
	case was.Raw == nil && needed != nil:
		return nil, needed.error("needs JSON, and the answer is a text: %s", wire.Excerpt([]byte(was.Text)))
	case was.Raw == nil:
		text := answer{text: was.Text}
		return text.response(), nil
	case r.stream:
		return r.events(was.Raw)
	case r.answer == nil && bytes.Equal(compact([]byte(was.Text)), compact(was.Raw)): // the text keeps its line breaks
		return r.body([]byte(was.Text), "application/json")
	}
	return r.body(compact(was.Raw), "application/json")
}

func (r *Reader) events(raw json.RawMessage) (*eval.Response, error) {
	var events []json.RawMessage
	if json.Unmarshal(raw, &events) != nil {
		return nil, eval.Errorf(eval.KindMalformed, "the kept answer is not a list of events: %s", wire.Excerpt(raw))
	}
	out := &assembly{Reader: r, reread: true}
	for _, event := range events {
		if _, err := out.Add(unquoted(event)); err != nil {
			return nil, err
		}
	}
	return out.response()
}

func unquoted(event json.RawMessage) []byte {
	var text string
	if json.Unmarshal(event, &text) == nil {
		return []byte(text)
	}
	return compact(event)
}

func (r *Reader) json(v any, data []byte) (*eval.Response, error) {
	resp, err := r.whole(v, data)
	return resp, keeping(err, data)
}

// keeping adds the JSON of the reply to an error, except to the application's own failures.
func keeping(err error, came []byte) error {
	e := eval.AsError(err)
	if e == nil || e.Kind == eval.KindApp {
		return err
	}
	kept := *e
	kept.Answer = &eval.Response{Candidates: []eval.Candidate{{Raw: compact(came)}}}
	return &kept
}

func (r *Reader) whole(v any, data []byte) (*eval.Response, error) {
	p, err := r.piece(v, data)
	switch {
	case err != nil:
		return nil, err
	case r.answer == nil:
		p.texts = []string{string(data)}
	case len(p.texts) == 0 && !p.endsInCalls():
		return nil, r.answer.nothing(data)
	case r.reason != nil && p.reason == "":
		return nil, r.reason.nothing(data)
	case r.calls != nil && !p.called:
		return nil, r.calls.nothing(data)
	}
	return p.response(strings.Join(p.texts, "\n"), compact(data)), nil
}

type extracted struct {
	texts  []string
	calls  []eval.FunctionCall
	called bool // the expression for calls gave a result, possibly an empty list
	reason string
	usage  *eval.Usage
}

// endsInCalls reports whether the answer ends in calls for the caller to carry out, so that it needs no
// text. Calls that the application made on its way do not count.
func (p *extracted) endsInCalls() bool {
	reason, _ := finish(p.reason)
	return len(p.calls) > 0 && reason == "TOOL_CALLS"
}

func (p *extracted) response(text string, raw json.RawMessage) *eval.Response {
	a := answer{text: text, calls: p.calls, usage: p.usage, reason: p.reason, raw: raw}
	return a.response()
}

func (r *Reader) piece(v any, data []byte) (p extracted, err error) {
	if why := expr.Unreadable(v); why != "" {
		return p, eval.Errorf(eval.KindMalformed, "the answer holds %s: %s", why, wire.Excerpt(data))
	}
	if err = r.failed(v, data); err != nil {
		return p, err
	}
	if p.texts, err = r.answer.texts(v, data); err != nil {
		return p, err
	}
	if p.calls, p.called, err = r.toolCalls(v, data); err != nil {
		return p, err
	}
	if p.reason, err = r.finished(v, data); err != nil {
		return p, err
	}
	p.usage, err = r.used(v, data)
	return p, err
}

func (r *Reader) failed(v any, data []byte) error {
	values, _, err := r.failure.values(v, data)
	if err != nil {
		return err
	}
	for _, value := range values {
		if text := errorOf(value); text != "" {
			return saidError(text)
		}
	}
	return nil
}

// toolCalls accepts a list of calls or single calls. found says that there was a result, possibly an empty list.
func (r *Reader) toolCalls(v any, data []byte) (calls []eval.FunctionCall, found bool, err error) {
	if r.calls == nil {
		return nil, false, nil
	}
	values, nulls, err := r.calls.values(v, data)
	if err != nil {
		return nil, false, err
	}
	for _, value := range values {
		list := value
		if value[0] != '[' {
			list = slices.Concat([]byte{'['}, value, []byte{']'})
		}
		more, err := readCalls(list)
		if err != nil {
			return nil, false, err
		}
		calls = append(calls, more...)
	}
	return calls, len(values) > 0 || !nulls, nil
}

// finished returns the word for why the answer ended, "" when the reply has none.
func (r *Reader) finished(v any, data []byte) (string, error) {
	values, _, err := r.reason.values(v, data)
	if err != nil || len(values) == 0 {
		return "", err
	}
	last := values[len(values)-1]
	if last[0] != '"' {
		return "", misshapen("finishReason", "a word", last)
	}
	return textOf(last), nil
}

// used returns the usage in the reply, nil when it has none.
func (r *Reader) used(v any, data []byte) (*eval.Usage, error) {
	values, _, err := r.usage.values(v, data)
	if err != nil || len(values) == 0 {
		return nil, err
	}
	last := values[len(values)-1]
	u, err := readUsage(last)
	if err == nil && u == nil {
		err = misshapen("usage", "an object such as {inputTokens: 12, outputTokens: 3}", last)
	}
	return u, err
}
