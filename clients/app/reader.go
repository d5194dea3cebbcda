package app

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/evalrun/evalrun/app"
	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/jq"
	"github.com/evalrun/evalrun/internal/wire"
	"github.com/evalrun/evalrun/tool"
)

// reader makes an answer of what an endpoint sends.
type reader struct {
	answer, calls, reason, usage, failure *expression

	stream bool
}

// expression is one of jq; nil where the suite has none.
type expression struct {
	name, source string
	compiled     *jq.Expression
}

// newReader compiles the expressions, which were checked with the suite.
func newReader(r app.Reading) *reader {
	compile := func(name, source string) *expression {
		if source == "" {
			return nil
		}
		compiled, mistake := jq.Compile(source)
		if mistake != nil {
			panic(mistake)
		}
		return &expression{name, source, compiled}
	}
	return &reader{
		answer: compile("answer", r.Answer), calls: compile("toolCalls", r.ToolCalls), reason: compile("finishReason", r.FinishReason),
		usage: compile("usage", r.Usage), failure: compile("error", r.Error), stream: r.Stream,
	}
}

// first is an expression that needs JSON, nil when none does.
func (r *reader) first() *expression {
	for _, e := range []*expression{r.answer, r.calls, r.reason, r.usage, r.failure} {
		if e != nil {
			return e
		}
	}
	return nil
}

// values are what the expression gives for a response; null is nothing.
func (e *expression) values(v any, data []byte) ([]any, error) {
	var out []any
	for value, err := range e.compiled.Run(v) {
		var bound jq.BoundError
		switch {
		case errors.As(err, &bound):
			return nil, e.error("%s", string(bound))
		case err != nil:
			return nil, e.error("does not fit the response (%s): %s", wire.Excerpt([]byte(err.Error())), wire.Excerpt(data))
		case value != nil:
			out = append(out, value)
		}
	}
	return out, nil
}

// error is about what the expression gives. Another attempt would not help.
func (e *expression) error(format string, args ...any) error {
	message := fmt.Sprintf("the jq of `%s`, %s, ", e.name, wire.Excerpt([]byte(e.source))) + fmt.Sprintf(format, args...)
	return &eval.Error{Kind: eval.KindMalformed, Message: message, Permanent: true}
}

func (e *expression) nothing(data []byte) error {
	return e.error("finds nothing in the response: %s", wire.Excerpt(data))
}

// body reads a response that came in one piece.
func (r *reader) body(data []byte, mediaType string) (*eval.Response, error) {
	if len(bytes.TrimSpace(data)) == 0 {
		return nil, eval.Errorf(eval.KindMalformed, "the answer is empty")
	}
	v, err := wire.DecodeAny(data)
	if err == nil {
		return r.json(v, data)
	}
	isJSON := mediaType == "application/json" || strings.HasSuffix(mediaType, "+json") || mediaType == "" && strings.IndexByte("{[", bytes.TrimSpace(data)[0]) >= 0
	needed := r.first()
	switch {
	case isJSON || !utf8.Valid(data):
		return nil, err
	case needed != nil:
		return nil, needed.error("needs JSON, and the answer is %s: %s", named(mediaType), wire.Excerpt(data))
	}
	return response(eval.Candidate{Text: string(data)}), nil
}

// named is a media type for people.
func named(mediaType string) string {
	if mediaType == "" {
		return "a text"
	}
	return mediaType
}

// response is an answer of one candidate.
func response(c eval.Candidate) *eval.Response {
	if c.FinishReason == "" {
		c.FinishReason = "STOP"
	}
	return &eval.Response{Candidates: []eval.Candidate{c}}
}

// json reads a JSON response.
func (r *reader) json(v any, data []byte) (*eval.Response, error) {
	p, err := r.piece(v, data)
	switch {
	case err != nil:
		return nil, err
	case r.answer == nil:
		p.texts = []string{string(data)}
	case len(p.texts) == 0 && len(p.calls) == 0:
		return nil, r.answer.nothing(data)
	case r.reason != nil && p.reason == "":
		return nil, r.reason.nothing(data)
	case r.calls != nil && !p.called:
		return nil, r.calls.nothing(data)
	}
	return p.response(strings.Join(p.texts, "\n"), compact(data)), nil
}

func compact(data []byte) json.RawMessage {
	var b bytes.Buffer
	if json.Compact(&b, data) != nil { // it was decoded, and is
		return nil
	}
	return b.Bytes()
}

// piece is what the expressions give for a response, or for an event of a stream.
type piece struct {
	texts  []string
	calls  []tool.Call
	called bool // the expression of calls gave something, if only an empty list
	reason string
	usage  *eval.Usage
}

// response is the answer with a text, raw being the whole of it as it came.
func (p *piece) response(text string, raw json.RawMessage) *eval.Response {
	c := eval.Candidate{Text: text, Raw: raw}
	if c.FinishReason = finishReason(p.reason); c.FinishReason != p.reason {
		c.VendorReason = p.reason
	}
	if len(p.calls) > 0 {
		if text != "" {
			c.Parts = append(c.Parts, eval.Piece{Text: text})
		} else if c.FinishReason == "" {
			c.FinishReason = toolCalls
		}
		for i := range p.calls {
			c.Parts = append(c.Parts, eval.Piece{Call: &p.calls[i]})
		}
	}
	out := response(c)
	out.Usage = p.usage
	return out
}

// piece applies the expressions.
func (r *reader) piece(v any, data []byte) (p piece, err error) {
	if why := jq.Unreadable(v); why != "" {
		return p, eval.Errorf(eval.KindMalformed, "the answer holds %s: %s", why, wire.Excerpt(data))
	}
	if err = r.failed(v, data); err != nil {
		return p, err
	}
	if p.texts, err = r.texts(v, data); err != nil {
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

// failed is the error that the application reports, nil when it reports none.
func (r *reader) failed(v any, data []byte) error {
	if r.failure == nil {
		return nil
	}
	values, err := r.failure.values(v, data)
	if err != nil {
		return err
	}
	for _, value := range values {
		if text := trouble(value); text != "" {
			return eval.Errorf(eval.KindApp, "%s", wire.Cut(text))
		}
	}
	return nil
}

// trouble is a value that says what went wrong as a text, "" when it says that nothing did.
func trouble(v any) string {
	switch v := v.(type) {
	case nil:
		return ""
	case bool:
		if !v {
			return ""
		}
	case string:
		return v
	case []any:
		if len(v) == 0 {
			return ""
		}
	case map[string]any:
		if text, ok := v["message"].(string); ok && text != "" {
			return text
		}
		if len(v) == 0 {
			return ""
		}
	}
	return line(v)
}

// line is a value as jq -r writes it.
func line(v any) string {
	room := wire.MaxResponseBytes
	text, err := jq.Line(v, &room)
	if err != nil || room < 0 {
		return "a value that cannot be shown"
	}
	return text
}

// texts are what the answer says.
func (r *reader) texts(v any, data []byte) ([]string, error) {
	if r.answer == nil {
		return nil, nil
	}
	values, err := r.answer.values(v, data)
	if err != nil {
		return nil, err
	}
	var out []string
	room := wire.MaxResponseBytes
	for _, value := range values {
		text, err := jq.Line(value, &room)
		if err != nil {
			return nil, r.answer.error("gives what cannot be written: %s", err)
		}
		if room < 0 {
			return nil, eval.Errorf(eval.KindTooLarge, "%s", wire.ErrTooLarge)
		}
		out = append(out, text)
	}
	return out, nil
}

// toolCalls are the calls of a response, given as a list or one by one; found says that there was something.
func (r *reader) toolCalls(v any, data []byte) (calls []tool.Call, found bool, err error) {
	if r.calls == nil {
		return nil, false, nil
	}
	null := false
	var items []any
	for value, err := range r.calls.compiled.Run(v) {
		if err != nil {
			_, err = r.calls.values(v, data) // which says it in words
			return nil, false, err
		}
		if list, ok := value.([]any); ok {
			items = append(items, list...)
		} else if null = null || value == nil; value != nil {
			items = append(items, value)
		}
	}
	for _, item := range items {
		call, ok := callOf(item)
		if !ok {
			return nil, false, r.calls.error("gives %s, and a call is {name, args}", wire.Excerpt([]byte(line(item))))
		}
		calls = append(calls, call)
	}
	return calls, !null || len(calls) > 0, nil
}

// callOf reads a call: {name, args}.
func callOf(v any) (call tool.Call, ok bool) {
	object, _ := v.(map[string]any)
	if call.Name, _ = object["name"].(string); call.Name == "" {
		return call, false
	}
	call.ID, _ = object["id"].(string)
	switch args := object["args"].(type) {
	case nil:
	case map[string]any:
		call.Args = json.RawMessage(line(args))
	case string: // JSON in a text, as some chat interfaces have it
		var fields map[string]any
		if json.Unmarshal([]byte(args), &fields) != nil || fields == nil {
			return call, false
		}
		call.Args = compact([]byte(args))
	default:
		return call, false
	}
	return call, true
}

// finished is the word for why the answer ended, "" when it is not there.
func (r *reader) finished(v any, data []byte) (string, error) {
	if r.reason == nil {
		return "", nil
	}
	values, err := r.reason.values(v, data)
	if err != nil || len(values) == 0 {
		return "", err
	}
	word, ok := values[len(values)-1].(string)
	if !ok {
		return "", r.reason.error("gives %s, and a finish reason is a word", wire.Excerpt([]byte(line(values[0]))))
	}
	return word, nil
}

// toolCalls is the finish reason of an answer that ends in calls.
const toolCalls = "TOOL_CALLS"

// finishReason is the word of evalrun for one that applications use; any other stays as it is.
func finishReason(word string) string {
	for known, others := range map[string][]string{
		"STOP":         {"stop", "end_turn", "stop_sequence", "end", "complete", "completed", "done", "finished"},
		eval.CutReason: {"length", "max_tokens", "max_output_tokens", "max_completion_tokens"},
		toolCalls:      {"tool_calls", "tool_use", "function_call", "tool_call"},
		"SAFETY":       {"safety", "content_filter", "refusal", "blocked"},
	} {
		if slices.Contains(others, strings.ToLower(word)) {
			return known
		}
	}
	return word
}

// used is what the response says it cost, nil when it does not.
func (r *reader) used(v any, data []byte) (*eval.Usage, error) {
	if r.usage == nil {
		return nil, nil
	}
	values, err := r.usage.values(v, data)
	if err != nil || len(values) == 0 {
		return nil, err
	}
	last := values[len(values)-1]
	object, _ := last.(map[string]any)
	u, ok := usageOf(object)
	if !ok {
		return nil, r.usage.error("gives %s, and usage is an object with numbers: inputTokens, outputTokens", wire.Excerpt([]byte(line(last))))
	}
	return u, nil
}

// maxTokens is the largest number of tokens that can be true.
const maxTokens = 1 << 40

// usageOf reads an object with numbers of tokens under one of the names that are common for them.
func usageOf(object map[string]any) (*eval.Usage, bool) {
	known, valid := false, true
	number := func(names ...string) (n int, given bool) {
		for _, name := range names {
			v, ok := object[name]
			if !ok || v == nil {
				continue
			}
			var count wire.Number
			if json.Unmarshal([]byte(line(v)), &count) != nil || count < 0 || count > maxTokens {
				valid = false
			}
			known = true
			return int(count), true
		}
		return 0, false
	}
	u := &eval.Usage{Source: eval.UsageService}
	var output, total bool
	u.PromptTokens, _ = number("inputTokens", "promptTokens", "input_tokens", "prompt_tokens")
	u.OutputTokens, output = number("outputTokens", "completionTokens", "output_tokens", "completion_tokens")
	u.TotalTokens, total = number("totalTokens", "total_tokens")
	u.CachedTokens, _ = number("cachedTokens", "cached_tokens")
	u.ReasoningTokens, _ = number("reasoningTokens", "reasoning_tokens")
	switch {
	case !output && total && u.TotalTokens >= u.PromptTokens:
		u.OutputTokens = u.TotalTokens - u.PromptTokens
	case !output:
		u.Source = "" // it is estimated
	}
	u.TotalTokens = max(u.TotalTokens, u.PromptTokens+u.OutputTokens)
	return u, known && valid
}
