package generative

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/clients/wire"
	"github.com/evalrun/evalrun/internal/wirejson"
)

type found struct {
	raw   json.RawMessage // the whole candidate
	parts []answerPart
	more  bool // there is more than text, a finish reason, an index and ratings
}

// fill reads the candidate and returns its index, if it has one. It records in f what there is besides text.
func (f *found) fill(out *eval.Candidate) (index *wire.LenientInt, err error) {
	var in struct {
		content, role  json.RawMessage
		ratings, parts []json.RawMessage
		index          *wire.LenientInt
	}
	rest, err := wire.ReadObject("candidates", f.raw, "content", &in.content,
		"finishReason", (*wire.Word)(&out.FinishReason), "safetyRatings", &in.ratings, "index", &in.index)
	if err != nil {
		return nil, err
	}
	if len(in.ratings) > maxRatings {
		return nil, &wire.ShapeError{Field: "safetyRatings", Found: fmt.Sprintf("%d of them", len(in.ratings))}
	}
	if wire.IsEmpty(in.content) && !wire.IsEmpty(rest["output"]) { // a text of the service's first version is no empty answer
		return nil, &wire.ShapeError{Field: "content", Found: wire.KindOf(in.content)}
	}
	around, err := wire.ReadObject("content", in.content, "parts", &in.parts, "role", &in.role)
	if err != nil {
		return nil, err
	}
	if out.SafetyRatings, err = readRatings(in.ratings); err != nil {
		return nil, err
	}
	f.more = len(rest)+len(around) > 0 ||
		slices.ContainsFunc(out.SafetyRatings, func(r eval.SafetyRating) bool { return r.Extra != nil })
	for _, raw := range in.parts {
		p, err := newPart(raw)
		if err != nil {
			return nil, err
		}
		f.parts = append(f.parts, p)
		f.more = f.more || !p.isPlain()
		out.Text += p.said()
	}
	out.Extra = eval.NewExtra(rest)
	return in.index, nil
}

func (f *found) call() json.RawMessage {
	i := slices.IndexFunc(f.parts, func(p answerPart) bool { return p.call != nil })
	if i < 0 {
		return nil
	}
	return f.parts[i].raw
}

type answerPart struct {
	raw     json.RawMessage
	text    *string
	thought bool
	call    *eval.FunctionCall
	partial wire.Fields // a call, or more of one, whose arguments are streamed
	more    int         // members besides text and thought
}

func newPart(raw json.RawMessage) (answerPart, error) {
	p := answerPart{raw: raw}
	f, err := wire.ReadObject("parts", raw, "text", &p.text, "thought", &p.thought)
	if err != nil {
		return p, &wire.ShapeError{Field: "parts", Found: wire.KindOf(raw)}
	}
	p.more = len(f)
	var call wire.Fields
	err = f.Take("functionCall", &call)
	switch {
	case call == nil:
	case len(call) == 0 || call["partialArgs"] != nil || call["willContinue"] != nil:
		p.partial = call
	default:
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
		c.Args = wire.Compact(given)
	}
	return &c, nil
}

func (p *answerPart) said() string {
	if p.text == nil || p.thought {
		return ""
	}
	return *p.text
}

func (p *answerPart) isPlain() bool { return p.text != nil && !p.thought && p.more == 0 }

type gathered struct {
	pieces  wire.Pieces
	others  []json.RawMessage // all but texts
	partial partialCall
}

// join adds a part, or the calls that it completes, and returns what it added.
func (g *gathered) join(p answerPart) ([]answerPart, error) {
	whole, err := g.partial.join(p)
	for i := range whole {
		g.add(&whole[i])
	}
	return whole, err
}

func (g *gathered) add(p *answerPart) {
	if p.text == nil || p.thought {
		g.others = append(g.others, wire.Compact(p.raw))
	}
	switch {
	case p.call != nil:
		g.pieces.AddCall(p.call)
	case p.text != nil && p.thought:
		g.pieces.AddThought(*p.text)
	case p.text == nil && !p.thought && p.more > 0:
		g.pieces.AddOther(p.raw)
	}
	g.pieces.AddText(p.said())
}

// fill sets what the parts say of a candidate that is complete.
func (g *gathered) fill(c *eval.Candidate) {
	g.pieces.Fill(c)
	if len(g.others) > 0 {
		if c.Extra == nil {
			c.Extra = eval.Extra{}
		}
		c.Extra["parts"] = wire.Encode(g.others)
	}
	endInCalls(c)
}

// rawParts are the parts of a streamed candidate as JSON. Neighbours that are only text, or only thought, are joined.
type rawParts struct {
	done  []json.RawMessage
	run   strings.Builder // a text or thought that may continue
	think bool            // run is a thought
}

func (r *rawParts) add(p *answerPart) {
	if p.text == nil || p.more > 0 {
		r.end()
		r.done = append(r.done, wire.Compact(p.raw))
		return
	}
	if r.think != p.thought {
		r.end()
		r.think = p.thought
	}
	r.run.WriteString(*p.text)
}

// end adds the pending text or thought before another part.
func (r *rawParts) end() {
	if r.run.Len() == 0 {
		return
	}
	one := wirejson.AppendString([]byte(`{"text":`), r.run.String())
	if r.think {
		one = append(one, `,"thought":true`...)
	}
	r.done = append(r.done, append(one, '}'))
	r.run.Reset()
}

// endInCalls sets evalrun's own reason on an answer that ends in calls: the service has none for that.
func endInCalls(c *eval.Candidate) {
	if !c.EndsInCall() || !slices.Contains([]string{"", "STOP", unspecified}, c.FinishReason) {
		return
	}
	c.FinishReason, c.VendorReason = wire.CallsReason, c.FinishReason
}
