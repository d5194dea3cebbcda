package generative

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/clients/wire"
	"github.com/evalrun/evalrun/internal/wirejson"
)

// found holds a candidate as the service sent it.
type found struct {
	fields wire.Fields     // by name
	raw    json.RawMessage // the whole candidate
	marks  []markedPart    // the parts that are more than text
	more   bool            // there is more than text, a finish reason, an index and ratings
}

// markedPart is a part that is more than text, with its position in the text of the candidate.
type markedPart struct {
	at, size int             // bytes of text before the part, and in it
	piece    eval.Piece      // nil for a text that has something else with it, such as a signature
	raw      json.RawMessage // the part as the service sent it
	joins    bool            // a thought and nothing else, which may be joined with its neighbours
}

// UnmarshalJSON only stores the candidate; fill reads it.
func (f *found) UnmarshalJSON(data []byte) error {
	f.raw = slices.Clone(data)
	return json.Unmarshal(data, &f.fields)
}

// fill reads the candidate, and records in f what it has besides text.
func (f *found) fill(out *eval.Candidate, index *int) error {
	rest := maps.Clone(f.fields)
	var content wire.Fields
	var reason wire.Word
	var rated []wireRating
	var place wire.LenientInt
	if err := cmp.Or(
		rest.Take("content", &content), rest.Take("finishReason", &reason), rest.Take("safetyRatings", &rated), rest.Take("index", &place),
	); err != nil {
		return err
	}
	*index = int(place)
	if len(rated) > maxRatings {
		return &wire.ShapeError{Field: "safetyRatings", Found: fmt.Sprintf("%d of them", len(rated))}
	}
	out.FinishReason, out.SafetyRatings = string(reason), ratings(rated)
	var parts []json.RawMessage
	if err := content.Take("parts", &parts); err != nil {
		return err
	}
	delete(content, "role")
	text, others, err := f.read(parts)
	if err != nil {
		return err
	}
	out.Text = text
	f.more = len(f.marks)+len(rest)+len(content) > 0 || slices.ContainsFunc(rated, func(r wireRating) bool { return r.extra != nil })
	if len(others) > 0 {
		rest["parts"] = must(wirejson.Marshal(others))
	}
	out.Extra = eval.NewExtra(rest)
	return nil
}

// read joins the texts of the parts, except thoughts, and lists the other parts.
func (f *found) read(parts []json.RawMessage) (string, []json.RawMessage, error) {
	var text strings.Builder
	var others []json.RawMessage
	for _, raw := range parts {
		p, err := newPart(raw)
		if err != nil {
			return "", nil, err
		}
		if p.text == nil || p.thought {
			others = append(others, raw)
		}
		if !p.isPlain() {
			f.marks = append(f.marks, p.mark(text.Len()))
		}
		text.WriteString(p.said())
	}
	return text.String(), others, nil
}

type answerPart struct {
	raw     json.RawMessage
	text    *string
	thought bool
	call    *eval.FunctionCall
	more    int // members besides text and thought
}

var textKeys = map[string]bool{"text": true}

func newPart(raw json.RawMessage) (answerPart, error) {
	p := answerPart{raw: raw}
	known := struct {
		Text    **string `json:"text"`
		Thought *bool    `json:"thought"`
	}{&p.text, &p.thought}
	if err := json.Unmarshal(raw, &known); err != nil {
		return p, &wire.ShapeError{Field: "parts", Found: wire.KindOf(raw)}
	}
	if wirejson.HasOnlyKeys(raw, textKeys) {
		return p, nil
	}
	var f wire.Fields
	if json.Unmarshal(raw, &f) != nil { // null
		return p, nil
	}
	delete(f, "text")
	delete(f, "thought")
	p.more = len(f)
	var call wire.Fields
	err := f.Take("functionCall", &call)
	if len(call) > 0 { // an empty call says that no more arguments follow
		p.call, err = newCall(call)
	}
	return p, err
}

// newCall fails for a call that it cannot read, because such an answer cannot be judged.
func newCall(f wire.Fields) (*eval.FunctionCall, error) {
	var c eval.FunctionCall
	var args wire.Fields
	given := f["args"]
	if err := cmp.Or(f.Take("id", &c.ID), f.Take("name", &c.Name), f.Take("args", &args)); err != nil {
		return nil, err
	}
	if c.Name == "" {
		return nil, &wire.ShapeError{Field: "functionCall.name", Found: "nothing"}
	}
	if args != nil {
		c.Args = compact(given)
	}
	return &c, nil
}

// said returns what the part adds to the text of the candidate.
func (p *answerPart) said() string {
	if p.text == nil || p.thought {
		return ""
	}
	return *p.text
}

func (p *answerPart) isPlain() bool { return p.text != nil && !p.thought && p.more == 0 }

// mark makes a mark for the part; at is the length of the text before it.
func (p *answerPart) mark(at int) markedPart {
	m := markedPart{at: at, size: len(p.said()), raw: p.raw}
	switch {
	case p.call != nil:
		m.piece = eval.CallPiece{Call: p.call}
	case p.text != nil && p.thought:
		m.piece, m.joins = eval.ReasoningPiece{Reasoning: *p.text}, p.more == 0
	case p.text == nil && !p.thought && p.more > 0:
		m.piece = eval.OtherPiece{Other: compact(p.raw)}
	}
	return m
}

// firstCall returns the first call of functions, nil if there is none.
func firstCall(marks []markedPart) json.RawMessage {
	i := slices.IndexFunc(marks, func(m markedPart) bool { _, is := m.piece.(eval.CallPiece); return is })
	if i < 0 {
		return nil
	}
	return marks[i].raw
}

// callsReason is the finish reason of an answer that ends in calls of functions. The service has none of
// its own for that.
const callsReason = "TOOL_CALLS"

// endInCalls sets callsReason on an answer that ends in calls. Another reason of the service than
// "complete" stays.
func endInCalls(c *eval.Candidate) {
	if !c.EndsInCall() || !slices.Contains([]string{"", "STOP", unspecified}, c.FinishReason) {
		return
	}
	c.FinishReason, c.VendorReason = callsReason, c.FinishReason
}

func compact(raw json.RawMessage) json.RawMessage {
	var b bytes.Buffer
	if err := json.Compact(&b, raw); err != nil { // decoded before
		panic(err)
	}
	return b.Bytes()
}
