package responses

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/wire"
)

// maxItems bounds the items of a response.
const maxItems = 100_000

// assembly puts a response together from its events. The last event has the whole of it, as most servers send it; the
// items that came before count where it has none.
type assembly struct {
	items map[int]*growing
	last  wire.Fields // the response in the last event
	kept  int         // bytes, about
}

// growing is an item that more events may continue.
type growing struct {
	item       json.RawMessage // as it began, or, when it is done, as it is
	done       bool
	text, args strings.Builder
}

// Add takes in an event and reports whether there was text in it.
func (a *assembly) Add(data []byte) (text bool, err error) {
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
	if a.kept > wire.MaxResponseBytes {
		return text, eval.Errorf(eval.KindTooLarge, "%s", wire.ErrTooLarge)
	}
	return text, nil
}

func (a *assembly) event(kind string, f wire.Fields, data []byte) (text bool, err error) {
	switch kind {
	case "error":
		return false, wire.ErrorIn(data)
	case "response.completed", "response.incomplete", "response.failed", "response.cancelled", "response.done":
		var whole wire.Fields
		if err := f.Take("response", &whole); err != nil {
			return false, err
		}
		return false, a.end(whole)
	case "response.output_item.added", "response.output_item.done":
		return false, a.item(f, strings.HasSuffix(kind, "done"))
	case "response.output_text.delta", "response.function_call_arguments.delta":
		return a.grow(f, kind == "response.output_text.delta")
	case "":
		if _, whole := f["output"]; whole { // a whole answer, although the request is for a stream
			return true, a.end(f)
		}
	}
	return false, nil // what the items repeat, or an event that is not known yet
}

// end takes the response in the last event.
func (a *assembly) end(whole wire.Fields) error {
	if whole == nil {
		return &wire.ShapeError{Field: "response", Found: "nothing"}
	}
	if wire.HasError(whole["error"]) {
		return wire.ErrorIn(wire.Encode(whole))
	}
	a.last = whole
	return nil
}

// at is the item at a place, which is added when it is new.
func (a *assembly) at(f wire.Fields) (*growing, error) {
	var index wire.LenientInt
	if err := f.Take("output_index", &index); err != nil {
		return nil, err
	}
	if a.items == nil {
		a.items = map[int]*growing{}
	}
	g := a.items[int(index)]
	if g == nil {
		if len(a.items) >= maxItems {
			return nil, eval.Errorf(eval.KindTooLarge, "the response has more than %d items", maxItems)
		}
		g = &growing{}
		a.items[int(index)] = g
	}
	return g, nil
}

// item takes in an item that begins, or that is done.
func (a *assembly) item(f wire.Fields, done bool) error {
	g, err := a.at(f)
	if err != nil {
		return err
	}
	if item := f["item"]; !wire.IsEmpty(item) {
		g.item, g.done = item, done
		a.kept += len(item)
	}
	return nil
}

// grow adds to the text of an item, or to the arguments of a call.
func (a *assembly) grow(f wire.Fields, text bool) (bool, error) {
	g, err := a.at(f)
	if err != nil {
		return false, err
	}
	var delta string
	if err := f.Take("delta", &delta); err != nil {
		return false, err
	}
	a.kept += len(delta)
	if text {
		g.text.WriteString(delta)
	} else {
		g.args.WriteString(delta)
	}
	return text && delta != "", nil
}

// whole is the item as it is when its response ends.
func (g *growing) whole() json.RawMessage {
	if g.done {
		return g.item
	}
	item := wire.Fields{}
	_ = wire.Read(g.item, &item) // none began: a message
	if wire.IsEmpty(item["type"]) {
		item["type"] = wire.Quoted("message")
	}
	if g.text.Len() > 0 {
		item["content"] = wire.Encode([]json.RawMessage{wire.Object("type", wire.Quoted("output_text"), "text",
			wire.Quoted(g.text.String()))})
	}
	if g.args.Len() > 0 {
		item["arguments"] = wire.Quoted(g.args.String())
	}
	return wire.Encode(item)
}

// Finished reports whether the response ended.
func (a *assembly) Finished() bool { return a.last != nil }

// Response is the whole response. One without an end is an error, whatever else ended the stream.
func (a *assembly) Response() (*eval.Response, error) {
	if a.last == nil {
		return nil, eval.Errorf(eval.KindTruncated, "the stream ends before its response does")
	}
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
	return out, nil
}
