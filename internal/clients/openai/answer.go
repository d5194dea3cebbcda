package openai

import (
	"bytes"
	"cmp"
	"encoding/json"
	"slices"

	"github.com/tidwall/gjson"

	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/clients/wire"
)

// Larger answers are refused.
const (
	maxChoices = 1000
	maxCalls   = 10_000 // in one choice
)

// ParseResponse decodes a chat completion: a complete one, or a recorded stream of server-sent events. It
// keeps fields that it does not know. The error is an *eval.Error.
func ParseResponse(data []byte) (*eval.Response, error) { return newAssembly(nil).parse(data) }

// ParseBare is ParseResponse without the Extra and Raw of the response and its candidates, which take a third of its work.
func ParseBare(data []byte) (*eval.Response, error) {
	a := newAssembly(nil)
	a.bare = true
	return a.parse(data)
}

func (a *assembly) parse(data []byte) (*eval.Response, error) {
	read := func(f wire.Fields) (*eval.Response, error) {
		a.whole = true
		if _, err := a.take(f, data); err != nil {
			return nil, err
		}
		return a.Response()
	}
	return wire.ParseKept(data, a, &wire.Whole{Noun: "a chat completion", Field: "choices", Read: read})
}

// assembly joins the chunks of an answer. A complete answer is one chunk.
type assembly struct {
	wanted  int // how many choices the request wants
	whole   bool
	bare    bool // Extra and Raw are not wanted
	model   string
	usage   *eval.Usage
	extra   wire.MergedValue
	choices map[int]*choice
	chunk   chunk
	alike   wire.Alike // to the last chunk that was decoded, if that adds to the text of speaker alone, or the arguments of calling
	speaker *choice
	calling *growing
}

// chunk identifies a chunk. Some servers give each chunk another id.
type chunk struct {
	number int
	id     wire.Word
	closes bool // it has the usage, or is a chat completion of its own: a message in it may repeat all of the answer
}

func newAssembly(call *eval.Call) *assembly {
	a := &assembly{wanted: 1, choices: map[int]*choice{}}
	if call != nil && call.GenerationConfig != nil {
		_ = wire.Read(call.GenerationConfig.Extra["candidateCount"], &a.wanted) // checked with the suite
	}
	return a
}

func (a *assembly) Add(data []byte) (text bool, err error) {
	if said, ok := a.alike.Text(data); ok {
		a.chunk.number++
		return a.speaker.more(said, a.calling, a.chunk)
	}
	data = bytes.Clone(data) // parts are kept
	f, err := wire.DecodeAnswer(data, "choices", "usage")
	if err != nil {
		return false, err
	}
	if text, err = a.take(f, data); err == nil {
		a.learn(data, text)
	}
	return text, err
}

// Chunks of a text, and of the arguments of a call, that say nothing else.
var (
	textShape = wire.Shape{
		Text: "choices.0.delta.content", Known: []string{"index", "delta", "role", "content"}, Other: usageNames, Free: padding,
	}
	argumentsShape = wire.Shape{
		Text:  "choices.0.delta.tool_calls.0.function.arguments",
		Known: []string{"index", "delta", "role", "tool_calls", "function", "arguments"}, Other: usageNames, Free: padding,
	}
	usageNames = []string{"usage", "x_groq"}
	padding    = []string{"obfuscation", "p"}
)

// learn remembers a chunk that only adds to the text of one choice, or to the arguments of a call.
func (a *assembly) learn(data []byte, text bool) {
	a.alike.Forget()
	c := a.choices[int(gjson.GetBytes(data, "choices.0.index").Int())]
	switch {
	case c == nil || c.listed:
	case text:
		a.speaker, a.calling = c, nil
		a.alike.Learn(data, &textShape)
	case c.grew != nil && !c.grew.custom:
		a.speaker, a.calling = c, c.grew
		a.alike.Learn(data, &argumentsShape)
	}
}

func (a *assembly) take(f wire.Fields, data []byte) (text bool, err error) {
	var choices []json.RawMessage
	var model string
	if err := cmp.Or(f.Take("choices", &choices), f.Take("model", &model)); err != nil {
		return false, wire.Misshapen(err, data)
	}
	a.chunk = chunk{number: a.chunk.number + 1}
	_ = wire.Read(f["id"], &a.chunk.id) // one of another type identifies nothing
	a.model = cmp.Or(model, a.model)
	var usage, groq wire.Fields
	if f.Take("usage", &usage) == nil && usage == nil && f["x_groq"] != nil && wire.Read(f["x_groq"], &groq) == nil {
		_ = groq.Take("usage", &usage) // one of another type is missing
	}
	if usage != nil {
		a.usage = cmp.Or(readUsage(usage), a.usage)
	}
	a.chunk.closes = usage != nil || string(f["object"]) == `"chat.completion"`
	delete(f, "object") // constant
	for _, name := range padding {
		delete(f, name)
	}
	if !a.bare {
		for name, value := range f {
			a.extra.Member(name).Set(value)
		}
	}
	for i, raw := range choices {
		said, err := a.choice(i, raw)
		if err != nil {
			return text, wire.Misshapen(err, data)
		}
		text = text || said
	}
	return text, nil
}

func (a *assembly) choice(place int, raw json.RawMessage) (text bool, err error) {
	f := wire.Fields{}
	if err := wire.Read(raw, &f); err != nil {
		return false, &wire.ShapeError{Field: "choices", Found: wire.KindOf(raw)}
	}
	if len(f) == 0 {
		return false, nil
	}
	if wire.HasError(f["error"]) {
		return false, wire.ErrorIn(raw)
	}
	index := wire.LenientInt(0)
	if a.whole { // one that is missing is that of its place
		index = wire.LenientInt(place)
	}
	if err := f.Take("index", &index); err != nil {
		return false, err
	}
	c := a.choices[int(index)]
	switch {
	case c != nil && a.whole:
		return false, eval.Errorf(eval.KindMalformed, "two choices have the index %d", index)
	case c == nil && len(a.choices) >= maxChoices:
		return false, eval.Errorf(eval.KindTooLarge, "the answer has more than %d choices", maxChoices)
	case c == nil:
		c = &choice{bare: a.bare}
		a.choices[int(index)] = c
	}
	if a.whole {
		c.raw = raw
	}
	if text, err = c.add(f, a.chunk.closes); err != nil {
		return text, err
	}
	return text, c.follow(a.chunk, text)
}

// Finished reports whether all requested choices have a finish reason. Usage may still follow.
func (a *assembly) Finished() bool {
	for _, c := range a.choices {
		if c.reason == "" {
			return false
		}
	}
	return len(a.choices) >= max(1, a.wanted)
}

// Response returns the answer so far, with choices in the order of their indexes.
func (a *assembly) Response() (*eval.Response, error) {
	out := &eval.Response{ModelVersion: a.model, Usage: a.usage, Candidates: make([]eval.Candidate, 0, len(a.choices))}
	extra := a.extra.Members()
	out.Extra = eval.NewExtra(extra)
	indexes := make([]int, 0, len(a.choices))
	for i := range a.choices {
		indexes = append(indexes, i)
	}
	slices.Sort(indexes)
	for _, i := range indexes {
		c, err := a.choices[i].candidate(i)
		if err != nil {
			return nil, err
		}
		out.Candidates = append(out.Candidates, c)
	}
	return out, nil
}

// readUsage returns nil when the record has no plausible number.
func readUsage(f wire.Fields) *eval.Usage {
	var c wire.TokenCounts
	counted := f.TakeCount(&c.Input, "prompt_tokens", "input_tokens")
	known := f.TakeCount(&c.Output, "completion_tokens", "output_tokens")
	f.TakeCount(&c.Total, "total_tokens")
	f.TakeDetails("prompt_tokens_details", "cached_tokens", &c.Cached, "cache_write_tokens", &c.Written)
	f.TakeDetails("completion_tokens_details", "reasoning_tokens", &c.Reasoning)
	if c.Cached == 0 {
		f.TakeCount(&c.Cached, "prompt_cache_hit_tokens")
	}
	if c.Reasoning > 0 && c.Total == c.Input+c.Output+c.Reasoning { // some servers count thoughts apart from the output
		c.Output += c.Reasoning
	}
	if !counted { // or is no whole number: it must cost something
		c.Input = max(0, c.Total-c.Output)
	}
	return c.Usage(known, f)
}
