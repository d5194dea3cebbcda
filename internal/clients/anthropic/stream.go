package anthropic

import (
	"bytes"
	"cmp"
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"github.com/tidwall/gjson"

	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/clients/wire"
	"github.com/evalrun/evalrun/internal/wirejson"
)

const maxBlocks = 100_000

type assembly struct {
	fields wire.MergedValue // of the message, blocks and usage left out
	usage  wire.MergedValue
	blocks map[int]*growing
	reason string // why the message ended
	begun  bool   // there was a message_start
	ended  bool   // there was a stop reason or message_stop
	over   bool   // there was a message_stop
	kept   int    // approximate bytes

	alike wire.Alike       // to the last event, if that adds to a text alone
	to    *strings.Builder // that text
	text  bool             // it is a text of the answer
}

type growing struct {
	start                 wire.Fields
	text, thinking, input strings.Builder
	rest                  wire.MergedValue // what else pieces add
	closed                bool             // there was a content_block_stop
}

func (a *assembly) Add(data []byte) (text bool, err error) {
	if said, ok := a.alike.Text(data); ok {
		a.to.WriteString(said)
		return a.text && said != "", a.keep(data)
	}
	a.alike.Forget()
	data = bytes.Clone(data) // parts are kept
	f, err := wire.DecodeAnswer(data, "type", "content")
	if err != nil {
		return false, err
	}
	var kind string
	if err := f.Take("type", &kind); err != nil {
		return false, wire.Misshapen(err, data)
	}
	if text, err = a.event(kind, f); err != nil {
		return text, wire.Misshapen(err, data)
	}
	if kind == "content_block_delta" {
		a.learn(data)
	}
	return text, a.keep(data)
}

// keep bounds what is kept. An event is several times as long as the text in it.
func (a *assembly) keep(data []byte) error {
	if a.kept += len(data); a.kept > 4*wire.MaxResponseBytes {
		return eval.Errorf(eval.KindTooLarge, "%s", wire.ErrTooLarge)
	}
	return nil
}

// learn remembers an event that only adds to a text of a block.
func (a *assembly) learn(data []byte) {
	b := a.blocks[int(gjson.GetBytes(data, "index").Int())]
	if b == nil || b.closed {
		return
	}
	for name, to := range map[string]*strings.Builder{"text": &b.text, "thinking": &b.thinking, "partial_json": &b.input} {
		if gjson.GetBytes(data, "delta."+name).Type == gjson.String {
			a.to, a.text = to, to == &b.text
			a.alike.Learn(data, &wire.Shape{Text: "delta." + name, Known: []string{"type", name}, Other: []string{"content_block"}})
		}
	}
}

func (a *assembly) event(kind string, f wire.Fields) (text bool, err error) {
	switch kind {
	case "message_start":
		var message wire.Fields
		if err := f.Take("message", &message); err != nil {
			return false, err
		}
		return false, a.begin(message)
	case "message": // a complete answer instead of a stream
		return true, a.begin(f)
	case "content_block_start", "content_block_delta":
		if a.ended {
			return false, wire.SecondReply()
		}
		return a.piece(f)
	case "message_delta":
		var delta wire.Fields
		if err := f.Take("delta", &delta); err != nil {
			return false, err
		}
		maps.Copy(f, delta)
		return false, a.take(f)
	case "content_block_stop":
		return false, a.closeBlock(f)
	case "message_stop":
		if a.over {
			return false, wire.SecondReply()
		}
		a.ended, a.over = true, true
	}
	return false, nil // a ping, or unknown
}

func (a *assembly) begin(message wire.Fields) error {
	if a.begun {
		return wire.SecondReply()
	}
	a.begun = true
	return a.take(message)
}

// take adds members of the message; later ones replace earlier ones.
func (a *assembly) take(f wire.Fields) error {
	var blocks []json.RawMessage
	var usage wire.Fields
	if err := f.Take("content", &blocks); err != nil {
		return err
	}
	_ = f.Take("usage", &usage) // another type counts as none, as in a whole answer
	for i, raw := range blocks {
		if _, err := a.piece(wire.Fields{"index": wire.Encode(i), "content_block": raw}); err != nil {
			return err
		}
	}
	for name, value := range usage {
		if string(value) == "0" && a.usage.Member(name).JSON() != nil { // of a gateway that counts only once
			continue
		}
		a.usage.Member(name).Set(value)
	}
	if err := a.end(f); err != nil {
		return err
	}
	for name, value := range f {
		a.fields.Member(name).Set(value)
	}
	return nil
}

func (a *assembly) end(f wire.Fields) error {
	var word wire.Word
	if err := f.Take("stop_reason", &word); err != nil {
		return err
	}
	a.ended = a.ended || word != ""
	if a.reason = wire.LaterReason(a.reason, string(word)); a.reason != "" {
		f["stop_reason"] = wire.Quoted(a.reason)
	}
	return nil
}

func (a *assembly) piece(f wire.Fields) (text bool, err error) {
	var index wire.LenientInt
	var start, delta wire.Fields
	if err := cmp.Or(f.Take("index", &index), f.Take("content_block", &start), f.Take("delta", &delta)); err != nil {
		return false, err
	}
	if a.blocks == nil {
		a.blocks = map[int]*growing{}
	}
	b, known := a.blocks[int(index)]
	if !known {
		if len(a.blocks) >= maxBlocks {
			return false, eval.Errorf(eval.KindTooLarge, "the message has more than %d blocks", maxBlocks)
		}
		b = &growing{}
		a.blocks[int(index)] = b
	}
	if start != nil {
		if known {
			return false, wire.SecondReply()
		}
		b.start = start
	}
	return b.add(delta)
}

func (a *assembly) closeBlock(f wire.Fields) error {
	var index wire.LenientInt
	if err := f.Take("index", &index); err != nil {
		return err
	}
	if b := a.blocks[int(index)]; b != nil {
		b.closed = true
	}
	return nil
}

func (b *growing) add(delta wire.Fields) (text bool, err error) {
	var kind, said, thought, input string
	var citation json.RawMessage
	if err := cmp.Or(
		delta.Take("type", &kind), delta.Take("text", &said), delta.Take("thinking", &thought),
		delta.Take("partial_json", &input),
		delta.Take("citation", &citation),
	); err != nil {
		return false, err
	}
	if b.closed && said+thought+input != "" {
		return false, wire.SecondReply()
	}
	b.text.WriteString(said)
	b.thinking.WriteString(thought)
	b.input.WriteString(input)
	if citation != nil {
		b.rest.Member("citations").Add(wire.Encode([]json.RawMessage{citation}))
	}
	delete(delta, "estimated_tokens")
	for name, value := range delta {
		b.rest.Member(name).Add(value)
	}
	return said != "", nil
}

// twice reports whether the pieces of a text repeat the text with which its block began.
func (b *growing) twice() bool {
	var begun string
	return wire.Read(b.start["text"], &begun) == nil && begun != "" && begun == b.text.String()
}

func (b *growing) whole() json.RawMessage {
	f := maps.Clone(b.start)
	if f == nil {
		f = wire.Fields{}
	}
	grow := func(name string, more *strings.Builder) {
		if more.Len() > 0 {
			var begun string
			_ = wire.Read(f[name], &begun) // a value of another type is replaced
			f[name] = wire.Quoted(begun + more.String())
		}
	}
	grow("text", &b.text)
	grow("thinking", &b.thinking)
	if b.input.Len() > 0 {
		f["input"] = wire.Arguments(b.input.String())
	}
	for name, value := range b.rest.Members() {
		var m wire.MergedValue
		m.Add(f[name])
		m.Add(value)
		f[name] = m.JSON()
	}
	if wire.IsEmpty(f["type"]) {
		f["type"] = wire.Quoted("text")
	}
	kind := f["type"]
	delete(f, "type")
	out := append(wirejson.OpenObject("{").Member("type"), kind...)
	return json.RawMessage(append(wire.AppendMembers(out, f), '}'))
}

func (a *assembly) Finished() bool { return a.ended }

// Over reports whether the event came that ends a message.
func (a *assembly) Over() bool { return a.over }

// Response returns the complete message. A stream that ends early is an error.
func (a *assembly) Response() (*eval.Response, error) {
	if !a.ended {
		return nil, eval.Errorf(eval.KindTruncated, "the stream ends before its message does")
	}
	f := wire.Fields(a.fields.Members())
	blocks := make([]json.RawMessage, 0, len(a.blocks))
	for _, i := range slices.Sorted(maps.Keys(a.blocks)) {
		if a.blocks[i].twice() {
			return nil, wire.SecondReply()
		}
		blocks = append(blocks, a.blocks[i].whole())
	}
	f["content"] = wire.Encode(blocks)
	if usage := a.usage.Members(); len(usage) > 0 {
		f["usage"] = wire.Encode(usage)
	}
	out, err := message(f)
	if err != nil {
		return nil, wire.Misshapen(err, f["content"])
	}
	return out, nil
}
