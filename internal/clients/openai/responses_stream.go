package openai

import (
	"bytes"
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/clients/wire"
)

const maxItems = 100_000

// responsesAssembly builds a response from its events. Most servers repeat all items in the last event. If it has
// none, the items of earlier events count.
type responsesAssembly struct {
	items map[int]*responsesStream
	last  wire.Fields // the response in the last event
	id    string      // of the response in the first event
	kept  int         // approximate bytes

	alike wire.Alike       // to the last event, if that adds to a text alone
	to    *strings.Builder // that text
	text  bool             // it is a text of the answer
}

type responsesStream struct {
	item json.RawMessage // complete if done, and otherwise its beginning
	done bool

	text, refusal, args, input strings.Builder

	judged  int  // the length of the text that ends were compared with
	differs bool // an end has another text than its pieces
	ending  wire.StreamEnd
}

// deltaShape is an event that only adds to a text.
var deltaShape = wire.Shape{Text: "delta", Free: []string{"sequence_number", "obfuscation"}}

func (a *responsesAssembly) Add(data []byte) (text bool, err error) {
	if said, ok := a.alike.Text(data); ok {
		return a.more(said), a.size()
	}
	a.alike.Forget()
	a.to = nil
	data = bytes.Clone(data) // parts are kept
	f, err := wire.DecodeAnswer(data, "response", "item", "delta", "output", "part")
	if err != nil {
		return false, err
	}
	var kind string
	if err := f.Take("type", &kind); err != nil {
		return false, wire.Misshapen(err, data)
	}
	if text, err = a.event(kind, f, data); err != nil {
		return text, wire.Misshapen(err, data)
	}
	if strings.HasSuffix(kind, ".delta") && a.to != nil {
		a.alike.Learn(data, &deltaShape)
	}
	return text, a.size()
}

func (a *responsesAssembly) size() error {
	if a.kept > wire.MaxResponseBytes {
		return eval.Errorf(eval.KindTooLarge, "%s", wire.ErrTooLarge)
	}
	return nil
}

func (a *responsesAssembly) event(kind string, f wire.Fields, data []byte) (text bool, err error) {
	switch kind {
	case "error":
		return false, wire.ErrorIn(data)
	case "response.completed", "response.incomplete", "response.failed", "response.cancelled", "response.done":
		var whole wire.Fields
		if err := f.Take("response", &whole); err != nil {
			return false, err
		}
		return false, a.end(whole)
	case "response.created":
		if a.items != nil || a.last != nil {
			return false, wire.SecondReply()
		}
		var begun wire.Fields
		_ = f.Take("response", &begun) // the last event counts
		_ = wire.Read(begun["id"], &a.id)
	case "response.output_item.added", "response.output_item.done":
		return false, a.item(f, strings.HasSuffix(kind, "done"))
	case "response.output_text.delta":
		return a.grow(f, func(g *responsesStream) *strings.Builder { return &g.text })
	case "response.output_text.done":
		return false, a.endText(f)
	case "response.refusal.delta":
		return a.grow(f, func(g *responsesStream) *strings.Builder { return &g.refusal })
	case "response.function_call_arguments.delta":
		return a.grow(f, func(g *responsesStream) *strings.Builder { return &g.args })
	case "response.custom_tool_call_input.delta":
		return a.grow(f, func(g *responsesStream) *strings.Builder { return &g.input })
	case "":
		if _, whole := f["output"]; whole { // a complete answer instead of a stream
			return true, a.end(f)
		}
	}
	return false, nil // repeats the items, or is unknown
}

func (a *responsesAssembly) end(whole wire.Fields) error {
	switch {
	case whole == nil:
		return &wire.ShapeError{Field: "response", Found: "nothing"}
	case a.last != nil:
		return wire.SecondReply()
	}
	if wire.HasError(whole["error"]) {
		return wire.ErrorIn(wire.Encode(whole))
	}
	a.last = whole
	return nil
}

// at returns the item of an event, and adds a new one for a new index.
func (a *responsesAssembly) at(f wire.Fields) (*responsesStream, error) {
	var index wire.LenientInt
	if err := f.Take("output_index", &index); err != nil {
		return nil, err
	}
	if a.last != nil {
		return nil, wire.SecondReply()
	}
	if a.items == nil {
		a.items = map[int]*responsesStream{}
	}
	g := a.items[int(index)]
	if g == nil {
		if len(a.items) >= maxItems {
			return nil, eval.Errorf(eval.KindTooLarge, "the response has more than %d items", maxItems)
		}
		g = &responsesStream{}
		a.items[int(index)] = g
	}
	return g, nil
}

func (a *responsesAssembly) item(f wire.Fields, done bool) error {
	g, err := a.at(f)
	if err != nil {
		return err
	}
	if item := f["item"]; !wire.IsEmpty(item) {
		if g.done && !done && kindOf(item) == kindOf(g.item) {
			return wire.SecondReply()
		}
		g.item, g.done = item, done
		a.kept += len(item)
	}
	return nil
}

func kindOf(item json.RawMessage) string {
	var f struct {
		Type wire.Word `json:"type"`
	}
	_ = wire.Read(item, &f) // checked when the item is read
	return string(f.Type)
}

// endText compares the text of a part with its pieces.
func (a *responsesAssembly) endText(f wire.Fields) error {
	g, err := a.at(f)
	if err != nil {
		return err
	}
	var text string
	if err := f.Take("text", &text); err != nil {
		return err
	}
	if piece := g.text.String()[g.judged:]; piece != "" { // some servers send the end alone
		g.differs = g.differs || piece != text && squeezed(piece) != squeezed(text)
		g.judged = g.text.Len()
		g.ending.Suspect(g.judged)
	}
	return nil
}

func (a *responsesAssembly) grow(f wire.Fields, part func(*responsesStream) *strings.Builder) (text bool, err error) {
	g, err := a.at(f)
	if err != nil {
		return false, err
	}
	var delta string
	if err := f.Take("delta", &delta); err != nil {
		return false, err
	}
	a.to = part(g)
	a.text = a.to == &g.text
	return a.more(delta), nil
}

// more adds to the last text that grew, and reports whether it is a text of the answer.
func (a *responsesAssembly) more(delta string) (text bool) {
	a.kept += len(delta)
	a.to.WriteString(delta)
	return a.text && delta != ""
}

// whole returns an item for the end of the response. A server may have sent only parts of it.
func (g *responsesStream) whole() json.RawMessage {
	if g.done {
		return g.item
	}
	item := wire.Fields{}
	_ = wire.Read(g.item, &item) // without a beginning, it becomes a message
	if wire.IsEmpty(item["type"]) {
		item["type"] = wire.Quoted("message")
	}
	var parts []json.RawMessage
	if g.text.Len() > 0 {
		parts = append(parts, wire.Object("type", wire.Quoted("output_text"), "text", wire.Quoted(g.text.String())))
	}
	if g.refusal.Len() > 0 {
		parts = append(parts, wire.Object("type", wire.Quoted("refusal"), "refusal", wire.Quoted(g.refusal.String())))
	}
	if parts != nil {
		item["content"] = wire.Encode(parts)
	}
	if g.args.Len() > 0 {
		item["arguments"] = wire.Quoted(g.args.String())
	}
	if g.input.Len() > 0 {
		item["input"] = wire.Quoted(g.input.String())
	}
	return wire.Encode(item)
}

func (a *responsesAssembly) Finished() bool { return a.last != nil }

// Over reports whether the event came that ends a response.
func (a *responsesAssembly) Over() bool { return a.last != nil }

// Response returns the complete response. A stream that ends early is an error.
func (a *responsesAssembly) Response() (*eval.Response, error) {
	if a.last == nil {
		return nil, eval.Errorf(eval.KindTruncated, "the stream ends before its response does")
	}
	var id string
	_ = wire.Read(a.last["id"], &id) // one of another type identifies nothing
	if wire.IsEmpty(a.last["output"]) {
		items := make([]json.RawMessage, 0, len(a.items))
		for _, i := range slices.Sorted(maps.Keys(a.items)) {
			items = append(items, a.items[i].whole())
		}
		a.last["output"] = wire.Encode(items)
	}
	out, err := response(a.last)
	if err != nil {
		return nil, wire.Misshapen(err, a.last["output"])
	}
	if err := a.compare(out, id); err != nil {
		return nil, err
	}
	return out, nil
}

// compare finds a second reply: the pieces of the text differ from the text in the last event. A server that withholds an
// answer may do that with its text too. Some gateways change the id, which is a sign only without pieces.
func (a *responsesAssembly) compare(out *eval.Response, id string) error {
	var pieces strings.Builder
	second := false
	for _, i := range slices.Sorted(maps.Keys(a.items)) {
		g := a.items[i]
		pieces.WriteString(g.text.String())
		second = second || g.differs || g.ending.Check(g.text.String()) != nil
		if g.refusal.Len() > 0 {
			wire.Refuse(&out.Candidates[0])
		}
	}
	if said := out.Text(); pieces.Len() > 0 {
		second = second || pieces.String() != said && squeezed(pieces.String()) != squeezed(said)
	} else {
		second = a.id != "" && id != "" && a.id != id
	}
	if second && out.Candidates[0].Block() == "" {
		return wire.SecondReply()
	}
	return nil
}

// squeezed returns a text without its blanks, which some servers trim in the last event.
func squeezed(text string) string { return strings.Join(strings.Fields(text), "") }
