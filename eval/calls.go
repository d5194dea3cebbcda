package eval

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/evalrun/evalrun/internal/wirejson"
)

// AnsweredCall is one of the calls of a trial of several, with its answer: what came back, and what it cost. A trial has
// several where it is a live chat, and where the suite answers the model's tool calls. The reply, which the next call sends
// as the model's own, is the first candidate.
type AnsweredCall struct {
	Response
	// Results are the suite's results for the tool calls of this answer, in their order. The next call sends them.
	// nil means that it is the final answer to the user.
	Results []CallResult `json:"results,omitempty"`
	Usage   Usage        `json:"usage"`
	Timing  Timing       `json:"timing"`
}

// ModelCall is a call of a model that a program under test made, as it passed by.
type ModelCall struct {
	Service string `json:"service"`
	Model   string `json:"model"`
	// Response is the answer, nil where there is none, and for vectors of texts.
	Response *Response `json:"response,omitempty"`
	// Results are what the program gave for the tool calls of the answer, in a later call.
	Results []CallResult `json:"results,omitempty"`
	Usage   Usage        `json:"usage"`
	Timing  Timing       `json:"timing"`
	// Error is why there is no answer, or none that can be read; nil for most.
	Error *Error `json:"error,omitempty"`
}

// ModelExchange is a request of a program and its reply, as they passed by.
type ModelExchange struct {
	Service string
	Method  string // of HTTP
	Path    string // below the base address of the service
	Request []byte
	Status  int    // of the reply
	Type    string // its media type
	Reply   []byte
}

// ModelCalls are the calls of models that the program under test made in a trial, in a chat those of all turns.
func (r *Result) ModelCalls() (all []ModelCall) {
	if len(r.Calls) > 0 {
		for i := range r.Calls {
			all = append(all, r.Calls[i].Calls...)
		}
	} else if r.Response != nil {
		all = r.Response.Calls
	}
	return all
}

// FunctionCalls are the tool calls of the answer.
func (c *ModelCall) FunctionCalls() []FunctionCall {
	if c.Response == nil {
		return nil
	}
	return (&AnsweredCall{Response: *c.Response}).FunctionCalls()
}

// FunctionCalls are the tool calls of the first candidate.
func (t *AnsweredCall) FunctionCalls() []FunctionCall {
	if len(t.Candidates) == 0 {
		return nil
	}
	return t.Candidates[0].FunctionCalls()
}

// Block is the reason for which the call was blocked, its prompt or its first candidate; "" when it was not. A block ends a chat.
func (t *AnsweredCall) Block() string {
	reason := t.PromptBlock()
	if reason == "" && len(t.Candidates) > 0 {
		reason = t.Candidates[0].Block()
	}
	return reason
}

// reply returns the model's own turn for the next request. It uses the raw parts if there is more than
// text, because they have ids and signatures. A reply of an application is a text.
func (t *AnsweredCall) reply(application bool) Content {
	raw := t.raw()
	if raw == nil || application {
		return Content{Role: RoleModel, Parts: []Part{TextPart{Text: t.Text()}}}
	}
	parts := make([]Part, len(raw))
	for i := range raw {
		parts[i] = RawPart{Raw: raw[i]}
	}
	return Content{Role: RoleModel, Parts: parts}
}

// raw returns the raw parts of the first candidate, nil if they are only text.
func (t *AnsweredCall) raw() []json.RawMessage {
	if len(t.Candidates) == 0 {
		return nil
	}
	var out []json.RawMessage
	for _, part := range partsOf(t.Candidates[0].Raw) {
		var compact bytes.Buffer // files may be indented
		if json.Compact(&compact, part) != nil {
			return nil
		}
		out = append(out, compact.Bytes())
	}
	if !slices.ContainsFunc(out, func(part json.RawMessage) bool { return !isText(part) }) {
		return nil
	}
	return out
}

// partsOf returns the raw parts of a candidate. Each protocol has them in another place: in the parts of
// its content, in a list of blocks, or in a list of items. A message is a single part.
func partsOf(raw json.RawMessage) []json.RawMessage {
	var came struct {
		Content json.RawMessage   `json:"content"`
		Output  []json.RawMessage `json:"output"`
		Message json.RawMessage   `json:"message"`
	}
	if json.Unmarshal(raw, &came) != nil {
		return nil
	}
	var content struct {
		Parts []json.RawMessage `json:"parts"`
	}
	var blocks []json.RawMessage
	switch {
	case came.Output != nil:
		return came.Output
	case len(came.Message) > 0 && came.Message[0] == '{':
		return []json.RawMessage{withoutNull(came.Message)}
	case json.Unmarshal(came.Content, &blocks) == nil:
		return blocks
	case json.Unmarshal(came.Content, &content) == nil:
		return content.Parts
	}
	return nil
}

// withoutNull is a message without the members that it does not have: servers that send them as null refuse some of
// them. A message without text keeps its content.
func withoutNull(message json.RawMessage) json.RawMessage {
	var fields map[string]json.RawMessage
	if json.Unmarshal(message, &fields) != nil {
		return message
	}
	for name, value := range fields {
		if name != "content" && string(value) == "null" {
			delete(fields, name)
		}
	}
	out, err := wirejson.Marshal(fields)
	if err != nil {
		return message
	}
	return out
}

// isText reports whether a part is a text and nothing else.
func isText(part json.RawMessage) bool {
	var fields map[string]json.RawMessage
	return json.Unmarshal(part, &fields) == nil && len(fields) == 1 && fields["text"] != nil
}

// results is the turn in which the results of the model's calls go back.
func (t *AnsweredCall) results() Content {
	out := Content{Role: RoleUser}
	for i := range t.Results {
		out.Parts = append(out.Parts, ResultPart{Result: &t.Results[i]})
	}
	return out
}

// After is the request for the call that follows the answered ones: the user's turns so far, with the model's own
// turns and the results of its calls in between. The request itself has the turns of the user, and in a chat that is
// not live all that was said before.
func (r *Request) After(answered []AnsweredCall) Request {
	next := *r
	rest := [][]Content{r.Contents}
	if r.Live {
		rest = slices.Collect(slices.Chunk(r.Contents, 1))
	}
	next.Contents = nil
	if len(rest) > 0 {
		next.Contents, rest = slices.Clone(rest[0]), rest[1:]
	}
	for i := range answered {
		t := &answered[i]
		switch {
		case t.Results != nil:
			next.Contents = append(next.Contents, t.reply(r.App != nil), t.results())
		case len(rest) > 0:
			next.Contents = append(append(next.Contents, t.reply(r.App != nil)), rest[0]...)
			rest = rest[1:]
		}
	}
	return next
}

// UserTurns is how many turns of the user the request of a plan has: one, or several in a live chat. Each takes at least
// one call.
func (r *Request) UserTurns() int {
	if r.Live {
		return len(r.Contents)
	}
	return 1
}

// CallID names the call of a trial that follows the answered ones. The first has the trial's own id. A later one has a
// hash of the replies and results before it, since they are part of its request.
func (t *Trial) CallID(answered []AnsweredCall) string {
	if len(answered) == 0 {
		return t.ID
	}
	h := sha256.New()
	fmt.Fprintf(h, "%s", t.ID)
	for i := range answered {
		turn := &answered[i]
		fmt.Fprintf(h, "\n%q", turn.Text())
		for _, part := range turn.raw() {
			fmt.Fprintf(h, " raw %q", part)
		}
		for _, result := range turn.Results {
			fmt.Fprintf(h, " result %q %q %q %t", result.ID, result.Name, result.Text, result.Failed)
		}
	}
	return hex.EncodeToString(h.Sum(nil))[:16]
}

// Add adds the usage of other calls. Source becomes the less certain of the two sources. A copy of u must not be added to as well:
// both would append to the same calls.
func (u *Usage) Add(other *Usage) {
	u.PromptTokens += other.PromptTokens
	u.OutputTokens += other.OutputTokens
	u.TotalTokens += other.TotalTokens
	u.CachedTokens += other.CachedTokens
	u.WrittenTokens += other.WrittenTokens
	u.HourTokens += other.HourTokens
	u.ToolUseTokens += other.ToolUseTokens
	u.ReasoningTokens += other.ReasoningTokens
	surest := []UsageSource{UsageService, UsageCounted, UsageEstimated}
	if i := slices.Index(surest, other.Source); i > slices.Index(surest, u.Source) {
		u.Source = surest[i]
	}
	u.Long = append(u.Long, other.Long...)
	if other.Batch != nil {
		sum := BatchUsage{}
		if u.Batch != nil { // which a copy of u may share
			sum = *u.Batch
		}
		u.Batch = &BatchUsage{sum.plus(&other.Batch.Billed, 1), append(sum.Long, other.Batch.Long...)}
	}
}

// Add adds the timing of a later call. Times, attempts and chunks add up, and the gaps between chunks are combined.
// The start and the first text stay what they are.
func (t *Timing) Add(later *Timing) {
	gaps, more := max(0, t.Chunks-1), max(0, later.Chunks-1)
	if gaps+more > 0 {
		t.MeanGapMs = (t.MeanGapMs*float64(gaps) + later.MeanGapMs*float64(more)) / float64(gaps+more)
	}
	t.MaxGapMs = max(t.MaxGapMs, later.MaxGapMs)
	t.Chunks += later.Chunks
	t.QueuedMs += later.QueuedMs
	t.LatencyMs += later.LatencyMs
	t.Attempts += later.Attempts
	t.Answer, t.Batch = later.Answer, later.Batch
	t.Integrity, t.Limit = t.Integrity.worse(later.Integrity), cmp.Or(later.Limit, t.Limit)
}

// Declaration is a function that a model may call.
type Declaration struct {
	Name        string `json:"name"`
	Description string `json:"description,omitempty"`
	// Parameters is the JSON Schema of the arguments, as written in the suite; nil means no arguments.
	Parameters json.RawMessage `json:"parameters,omitempty"`
}

// ChoiceMode says whether the model must call a function.
type ChoiceMode string

// Modes of a Choice.
const (
	Auto     ChoiceMode = "auto"     // the model decides
	None     ChoiceMode = "none"     // no call
	Required ChoiceMode = "required" // at least one call
)

// Choice says whether the model must call a function. The zero Choice leaves it to the service's default.
type Choice struct {
	Mode ChoiceMode `json:"mode,omitempty"`
	// Name is the one function that the model must call; "" leaves the function to the model.
	Name string `json:"name,omitempty"`
}

// FunctionCall is a call of a function by a model or an application.
type FunctionCall struct {
	// ID is the service's id of the call, which its result repeats; "" if the service gives none.
	ID   string `json:"id,omitempty"`
	Name string `json:"name"`
	// Args is a JSON object; nil means no arguments. A JSON string has arguments that the model did not
	// write as an object.
	Args json.RawMessage `json:"args,omitempty"`
}

// CallResult is the result of a call, as the suite defines it.
type CallResult struct {
	ID   string `json:"id,omitempty"` // of the call
	Name string `json:"name"`
	Text string `json:"text"`
	// Failed means that the call failed. The model gets Text as an error.
	Failed bool `json:"failed,omitempty"`
}

// Response returns the result in the form that the model gets. A text that is a JSON object stays as it is.
// Other texts become the member `result` of an object, or `error` for a failed call.
func (r *CallResult) Response() json.RawMessage {
	var object map[string]json.RawMessage
	if !r.Failed && json.Unmarshal([]byte(r.Text), &object) == nil && object != nil {
		return json.RawMessage(r.Text)
	}
	key := "result"
	if r.Failed {
		key = "error"
	}
	data, err := json.Marshal(map[string]string{key: r.Text})
	if err != nil { // a map of strings always encodes
		panic(err)
	}
	return data
}
