package openai

import (
	"cmp"
	"encoding/json"
	"slices"
	"strings"

	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/clients/wire"
	"github.com/evalrun/evalrun/internal/wirejson"
)

type choice struct {
	pieces  wire.Pieces
	calls   []*growing
	grew    *growing // the last call that came or grew
	reason  string
	ending  wire.StreamEnd
	refusal strings.Builder
	thought string // the name of the member with thoughts
	listed  bool   // content is a list of parts
	deltas  bool   // a delta said something
	last    chunk  // the last one with an id
	spoke   int    // the number of the last chunk with text
	before  int    // the length of the text with that chunk
	shared  bool   // two chunks have the same id

	audio   audio
	message wire.MergedValue // members of the message that are read nowhere else
	rest    wire.MergedValue // those of the choice
	raw     json.RawMessage
	bare    bool // Extra and Raw are not wanted
}

// audio is a spoken answer. Its transcript is text of the answer too.
type audio struct {
	data, transcript strings.Builder
	heard            int // bytes of the transcript that are in the text because of it
	rest             wire.MergedValue
}

type growing struct {
	*eval.FunctionCall
	custom bool // it has a text as input, and no arguments
	index  *int
	args   strings.Builder
	rest   wire.MergedValue // members that are read nowhere else
}

// isOver reports whether a part with the place of a call begins another one. In a whole answer it does. In a stream it may be
// of a server whose calls share an index and have no id: the call has all of its arguments, and the part the start of others.
func (g *growing) isOver(whole bool, id, name, args string) bool {
	if whole {
		return g.Name != ""
	}
	return name != "" && (id == "" || name != g.Name) && strings.HasPrefix(args, "{") && wirejson.Valid([]byte(g.args.String()))
}

// isOld reports whether a choice is one of the completions before chats, or ended without a message.
func (c *choice) isOld(f wire.Fields, name string) bool {
	if said := string(f[name]); said != "" && said != "null" {
		return false
	}
	return c.raw != nil && c.reason == "stop" || !wire.IsEmpty(f["text"])
}

func (c *choice) add(f wire.Fields, closes bool) (text bool, err error) {
	var reason wire.Word
	var said wire.Fields
	if err := f.Take("finish_reason", &reason); err != nil {
		return false, err
	}
	c.reason = wire.LaterReason(c.reason, string(reason))
	name := c.memberOf(f)
	if c.isOld(f, name) {
		return false, &wire.ShapeError{Field: name, Found: wire.KindOf(f[name])}
	}
	if err := f.Take(name, &said); err != nil {
		return false, err
	}
	delete(f, "message")
	delete(f, "delta")
	c.keep(&c.rest, f)
	again := c.deltas && name == "message"
	if again {
		c.forget(said, closes)
	}
	before := c.pieces.Text()
	calls := !wire.IsEmpty(said["tool_calls"]) || isGiven(said["function_call"])
	if text, err = c.say(said); err != nil {
		return text, err
	}
	if again && text && before != "" {
		return text, wire.SecondReply()
	}
	spoke := text || calls
	c.deltas = c.deltas || name == "delta" && (spoke || c.thought != "")
	return text, c.ending.Add(spoke, reason != "", len(c.pieces.Text()))
}

// forget removes from a message what the deltas before it said, since some servers close a stream with all of the answer. The same text
// elsewhere is a second reply.
func (c *choice) forget(said wire.Fields, closes bool) {
	var text string
	if closes && wire.Read(said["content"], &text) == nil && text == c.pieces.Text() {
		delete(said, "content")
	}
	if c.thought != "" {
		delete(said, c.thought)
	}
	if len(c.calls) > 0 {
		delete(said, "tool_calls")
		delete(said, "function_call")
	}
}

// follow finds a second reply by the chunk of a piece. Another id is a sign only after chunks that share one, or if the
// text repeats itself.
func (c *choice) follow(now chunk, text bool) error {
	before := c.last
	if now.id != "" {
		c.last = now
	}
	other := text && c.spoke > 0 && before.id != "" && now.id != "" && now.id != before.id
	if text && c.spoke == now.number || other && c.shared {
		return wire.SecondReply()
	}
	c.shared = c.shared || now.id != "" && now.id == before.id
	if other {
		c.ending.Suspect(c.before)
	}
	if text {
		c.spoke, c.before = now.number, len(c.pieces.Text())
	}
	return nil
}

// memberOf returns the member with what a choice says, since some servers send both, in answers and in every chunk.
func (c *choice) memberOf(f wire.Fields) string {
	delta, whole := f["delta"], c.raw != nil
	switch {
	case !whole && len(delta) > 0 && string(delta) != "null":
		return "delta"
	case isGiven(delta) && !isGiven(f["message"], "role"):
		return "delta"
	}
	return "message"
}

// isGiven reports whether an object has a member with a value, since some servers send objects of nulls and empty texts. Members named but
// do not count.
func isGiven(raw json.RawMessage, but ...string) bool {
	if wire.IsEmpty(raw) || raw[0] != '{' {
		return !wire.IsEmpty(raw)
	}
	for name, value := range wirejson.Members(raw) {
		if !wire.IsEmpty(value) && !slices.Contains(but, string(name)) {
			return true
		}
	}
	return false
}

func (c *choice) say(m wire.Fields) (text bool, err error) {
	delete(m, "role")
	c.think(m)
	if text, err = c.content(m); err != nil {
		return text, err
	}
	spoken, err := c.hear(m)
	if err != nil {
		return text, err
	}
	text = text || spoken
	if err := cmp.Or(c.refuse(m), c.takeCalls(m)); err != nil {
		return text, err
	}
	c.keep(&c.message, m)
	for _, raw := range m {
		c.pieces.Grow(len(raw))
	}
	return text, c.pieces.Size()
}

func (c *choice) refuse(m wire.Fields) error {
	if m["refusal"] == nil {
		return nil
	}
	var refusal string
	err := m.Take("refusal", &refusal)
	c.refusal.WriteString(refusal)
	c.pieces.Grow(len(refusal))
	return err
}

// keep adds members that are read nowhere else.
func (c *choice) keep(in *wire.MergedValue, members wire.Fields) {
	if c.bare {
		return
	}
	for name, raw := range members {
		in.Member(name).Add(raw)
	}
}

// more adds the text of a delta with nothing but a text: to the answer, or to the arguments of a call.
func (c *choice) more(said string, to *growing, now chunk) (text bool, err error) {
	if to != nil {
		to.args.WriteString(said)
		c.pieces.Grow(len(said))
	} else {
		c.pieces.AddText(said)
		text = said != ""
	}
	if err := cmp.Or(c.pieces.Size(), c.ending.Add(text || to != nil, false, len(c.pieces.Text()))); err != nil {
		return text, err
	}
	return text, c.follow(now, text)
}

// hear reads a spoken answer, or a piece of one.
func (c *choice) hear(m wire.Fields) (text bool, err error) {
	var f wire.Fields
	if wire.Read(m["audio"], &f) != nil { // no audio, or in a form that is kept as it is
		return false, nil
	}
	var data, said string
	if err := cmp.Or(m.Take("audio", &f), f.Take("data", &data), f.Take("transcript", &said)); err != nil {
		return false, err
	}
	c.audio.data.WriteString(data)
	c.audio.transcript.WriteString(said)
	all, written := c.audio.transcript.String(), c.pieces.Text()
	if c.audio.heard == 0 && strings.HasPrefix(all, written) {
		c.audio.heard = len(written) // the content has said its beginning
	}
	if !strings.HasPrefix(written, all) { // else the content has said it
		c.pieces.AddText(all[c.audio.heard:])
		c.audio.heard = len(all)
	}
	c.pieces.Grow(len(data))
	for name, raw := range f {
		c.audio.rest.Member(name).Set(raw)
	}
	return said != "", nil
}

// members returns the members of the audio, nil if there is none.
func (a *audio) members() map[string]json.RawMessage {
	out := a.rest.Members()
	for name, text := range map[string]*strings.Builder{"data": &a.data, "transcript": &a.transcript} {
		if text.Len() > 0 {
			out[name] = wire.Quoted(text.String())
		}
	}
	return out
}

// think reads thoughts. Some servers send the same under two names, so only the first one counts.
func (c *choice) think(m wire.Fields) {
	for _, name := range []string{"reasoning_content", "reasoning", "reasoning_text"} {
		if m[name] == nil {
			continue
		}
		var thought string
		if wire.Read(m[name], &thought) != nil || thought == "" {
			continue
		}
		if c.thought == "" {
			c.thought = name
		}
		if c.thought == name {
			c.pieces.AddThought(thought)
			delete(m, name)
		}
	}
}

// content reads the content of a message: a text, or a list of parts. Some servers send JSON that the model wrote decoded.
func (c *choice) content(m wire.Fields) (text bool, err error) {
	raw := m["content"]
	delete(m, "content")
	if len(raw) == 0 || string(raw) == "null" {
		return false, nil
	}
	var said string
	if wire.Read(raw, &said) == nil {
		c.pieces.AddText(said)
		if c.listed && said != "" {
			c.list(said)
		}
		return said != "", nil
	}
	parts, isList := partsOf(raw)
	if !isList {
		c.message.Member("content").Set(raw)
		c.pieces.AddText(string(wire.Compact(raw)))
		return true, nil
	}
	if before := c.pieces.Text(); !c.listed && before != "" {
		c.list(before)
	}
	c.listed = true
	for _, part := range parts {
		said, err := c.part(part)
		if err != nil {
			return text, err
		}
		text = text || said
	}
	c.message.Member("content").Add(raw)
	return text, nil
}

// partsOf returns the parts of a message, false for JSON that is something else.
func partsOf(raw json.RawMessage) ([]json.RawMessage, bool) {
	var parts []json.RawMessage
	if wire.Read(raw, &parts) != nil {
		var kind struct {
			Type          string
			Text, Summary json.RawMessage
		}
		thought := wire.Read(raw, &kind) == nil && kind.Type == "reasoning" && (kind.Text != nil || kind.Summary != nil)
		if !thought && !slices.Contains([]string{"text", "output_text", "refusal", "thinking"}, kind.Type) {
			return nil, false
		}
		parts = []json.RawMessage{raw}
	}
	for _, one := range parts {
		var f wire.Fields
		var text string
		isObject := wire.Read(one, &f) == nil
		if isObject && wire.IsEmpty(f["type"]) && f["text"] == nil || !isObject && wire.Read(one, &text) != nil {
			return nil, false
		}
	}
	return parts, true
}

// list adds a text to content that is a list of parts, to keep the raw message in that form.
func (c *choice) list(text string) {
	c.message.Member("content").Add(wire.Encode([]map[string]string{{"type": "text", "text": text}}))
}

func (c *choice) part(raw json.RawMessage) (text bool, err error) {
	var p struct {
		Type     string          `json:"type"`
		Text     *string         `json:"text"`
		Refusal  string          `json:"refusal"`
		Thinking json.RawMessage `json:"thinking"`
		Summary  json.RawMessage `json:"summary"`
	}
	var plain string
	switch {
	case wire.Read(raw, &plain) == nil:
		c.pieces.AddText(plain)
		return plain != "", nil
	case wire.Read(raw, &p) != nil:
		return false, &wire.ShapeError{Field: "content", Found: wire.KindOf(raw)}
	case p.Thinking != nil:
		c.pieces.AddThought(thoughts(p.Thinking))
	case p.Type == "reasoning" && p.Text != nil:
		c.pieces.AddThought(*p.Text)
	case p.Type == "reasoning" && p.Summary != nil:
		c.pieces.AddThought(thoughts(p.Summary))
	case p.Type == "refusal":
		c.refusal.WriteString(p.Refusal)
	case p.Text != nil:
		c.pieces.AddText(*p.Text)
		return *p.Text != "", nil
	default:
		c.pieces.AddOther(raw)
	}
	return false, nil
}

// thoughts returns the thoughts in a part: a text, or a list of texts.
func thoughts(raw json.RawMessage) string {
	var text string
	if wire.Read(raw, &text) == nil {
		return text
	}
	var list []struct {
		Text string `json:"text"`
	}
	if wire.Read(raw, &list) != nil {
		return ""
	}
	var b strings.Builder
	for _, one := range list {
		b.WriteString(one.Text)
	}
	return b.String()
}

// takeCalls adds calls or parts of them, and the older single function_call.
func (c *choice) takeCalls(m wire.Fields) error {
	c.grew = nil
	var all []wire.Fields
	if m["tool_calls"] != nil {
		if err := m.Take("tool_calls", &all); err != nil {
			return err
		}
		for _, f := range all {
			if err := c.takeCall(f); err != nil {
				return err
			}
		}
	}
	old := m["function_call"]
	delete(m, "function_call")
	if !isGiven(old) || len(all) > 0 { // some servers send the same call under both names
		return nil
	}
	index := 0
	return c.grow(&index, wire.Fields{"function": old})
}

func (c *choice) takeCall(f wire.Fields) error {
	var index *wire.LenientInt
	if err := f.Take("index", &index); err != nil {
		return err
	}
	return c.grow((*int)(index), f)
}

func (c *choice) grow(index *int, f wire.Fields) error {
	var id, name wire.Word
	var function wire.Fields
	if err := f.Take("id", &id); err != nil {
		return err
	}
	member, input := "function", "arguments"
	if isGiven(f["custom"]) {
		member, input = "custom", "input"
	}
	if _, ok := f[member]; !ok && len(f) > 1 { // a tool of another kind
		c.pieces.AddOther(wire.Encode(f))
		return nil
	}
	if err := cmp.Or(f.Take(member, &function), function.Take("name", &name)); err != nil {
		return err
	}
	args := wire.ArgumentsIn(function[input])
	if id == "" && name == "" && args == "" { // a call of nothing
		return nil
	}
	if len(c.calls) >= maxCalls {
		return eval.Errorf(eval.KindTooLarge, "the answer has more than %d calls", maxCalls)
	}
	g := c.callOf(index, string(id), string(name))
	if g.isOver(c.raw != nil, string(id), string(name), args) {
		g = c.newCall(index)
	}
	if g.Name == "" {
		g.Name = string(name)
	}
	if g.ID == "" {
		g.ID = string(id)
	}
	g.custom = g.custom || member == "custom"
	c.grew = g
	g.args.WriteString(args)
	c.pieces.Grow(len(args))
	for name, raw := range f {
		g.rest.Member(name).Set(raw)
		c.pieces.Grow(len(raw))
	}
	return nil
}

// callOf finds the call that a part continues, or begins a new one. Servers identify the call by an index,
// by an id, or not at all. With the same index, a part with a name and another id begins a new call.
func (c *choice) callOf(index *int, id, name string) *growing {
	for _, g := range slices.Backward(c.calls) {
		same := index == nil || g.index != nil && *g.index == *index
		switch {
		case !same:
			continue
		case id != "" && g.ID != "" && id != g.ID && (name != "" || index == nil):
		case index == nil && id == "" && name != "":
		default:
			return g
		}
		if index != nil {
			break
		}
	}
	return c.newCall(index)
}

func (c *choice) newCall(index *int) *growing {
	g := &growing{FunctionCall: &eval.FunctionCall{}, index: index}
	c.calls = append(c.calls, g)
	c.pieces.AddCall(g.FunctionCall)
	return g
}

func (c *choice) candidate(index int) (eval.Candidate, error) {
	var out eval.Candidate
	for _, g := range c.calls {
		if g.Name == "" {
			return out, eval.Errorf(eval.KindMalformed, "a call in the answer names no function")
		}
		if g.Args = wire.Arguments(g.args.String()); g.custom {
			g.Args = wire.Quoted(g.args.String())
		}
	}
	if heard := c.audio.members(); len(heard) > 0 {
		c.message.Member("audio").Set(wire.Encode(heard))
		delete(heard, "data")
		heard["type"] = wire.Quoted("audio")
		c.pieces.AddOther(wire.Encode(heard))
	}
	if c.refusal.Len() > 0 {
		c.pieces.AddOther(wire.Object("type", wire.Quoted("refusal"), "refusal", wire.Quoted(c.refusal.String())))
	}
	c.pieces.Fill(&out)
	if err := cmp.Or(c.ending.Check(out.Text), wire.End(&out, c.reason)); err != nil {
		return out, err
	}
	if c.refusal.Len() > 0 {
		wire.Refuse(&out)
	}
	if c.bare {
		return out, nil
	}
	rest := c.rest.Members()
	out.Extra = eval.NewExtra(rest)
	if out.Pieces != nil || len(rest) > 0 || c.message.JSON() != nil {
		out.Raw = c.asItCame(index, out.Text, rest)
	}
	return out, nil
}

// asItCame returns the choice as JSON. A streamed choice is rebuilt from its parts.
func (c *choice) asItCame(index int, text string, rest map[string]json.RawMessage) json.RawMessage {
	if c.raw != nil {
		return wire.Compact(c.raw)
	}
	out := wirejson.OpenObject(`{"message":{"role":"assistant"`)
	out = append(wire.AppendMembers(out, c.messageAsItCame(text)), '}')
	if c.reason != "" {
		out = append(out.Member("finish_reason"), wire.Quoted(c.reason)...)
	}
	out = append(out.Member("index"), wire.Encode(index)...)
	return json.RawMessage(append(wire.AppendMembers(out, rest), '}'))
}

func (c *choice) messageAsItCame(text string) map[string]json.RawMessage {
	message := c.message.Members()
	if message["content"] == nil {
		message["content"] = json.RawMessage("null")
		if text != "" {
			message["content"] = wire.Quoted(text)
		}
	}
	if thought := c.pieces.Thoughts(); thought != "" && c.thought != "" {
		message[c.thought] = wire.Quoted(thought)
	}
	if c.refusal.Len() > 0 {
		message["refusal"] = wire.Quoted(c.refusal.String())
	}
	if len(c.calls) > 0 {
		message["tool_calls"] = c.callsAsTheyCame()
	}
	return message
}

func (c *choice) callsAsTheyCame() json.RawMessage {
	list := make([]json.RawMessage, len(c.calls))
	for i, g := range c.calls {
		kind, input := "function", "arguments"
		if g.custom {
			kind, input = "custom", "input"
		}
		members := g.rest.Members()
		members["type"] = wire.Quoted(kind)
		if g.ID != "" {
			members["id"] = wire.Quoted(g.ID)
		}
		members[kind] = wire.Object("name", wire.Quoted(g.Name), input, wire.Quoted(g.args.String()))
		list[i] = json.RawMessage(append(wire.AppendMembers(wirejson.OpenObject("{"), members), '}'))
	}
	return wire.Encode(list)
}
