package wire

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"

	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/wirejson"
	"github.com/evalrun/evalrun/tool"
)

// Pieces are the parts of an answer in the order in which they come. Texts that follow each other are joined, and so
// are thoughts.
type Pieces struct {
	done  []eval.Piece
	run   strings.Builder // the text, or the thought, that may continue
	think bool            // it is a thought
	text  strings.Builder
	size  int // bytes, about
}

// AddText adds to the text of the answer.
func (p *Pieces) AddText(text string) {
	p.add(text, false)
	p.text.WriteString(text)
}

// AddThought adds to what the model thought.
func (p *Pieces) AddThought(text string) { p.add(text, true) }

func (p *Pieces) add(text string, think bool) {
	if text == "" {
		return
	}
	if p.think != think {
		p.end()
		p.think = think
	}
	p.run.WriteString(text)
	p.size += len(text)
}

// AddCall adds a call. Its arguments may still grow, which Grow counts.
func (p *Pieces) AddCall(c *tool.Call) {
	p.end()
	p.done = append(p.done, eval.Piece{Call: c})
	p.size += 200 + len(c.Args)
}

// AddOther adds a part of another kind, as it came.
func (p *Pieces) AddOther(raw json.RawMessage) {
	p.end()
	p.done = append(p.done, eval.Piece{Other: Compact(raw)})
	p.size += 100 + len(raw)
}

// Grow counts bytes that are kept elsewhere.
func (p *Pieces) Grow(n int) { p.size += n }

// end puts the text or the thought before another part.
func (p *Pieces) end() {
	if p.run.Len() == 0 {
		return
	}
	piece := eval.Piece{Text: p.run.String()}
	if p.think {
		piece = eval.Piece{Reasoning: p.run.String()}
	}
	p.done = append(p.done, piece)
	p.run.Reset()
}

// Fill puts the parts into a candidate: its text, and the list where there is more than text.
func (p *Pieces) Fill(c *eval.Candidate) {
	p.end()
	c.Text = p.text.String()
	if slices.ContainsFunc(p.done, func(one eval.Piece) bool { return one.Text == "" }) {
		c.Parts = p.done
	}
}

// Text is the text so far.
func (p *Pieces) Text() string { return p.text.String() }

// Thoughts is all that the model thought.
func (p *Pieces) Thoughts() string {
	var out strings.Builder
	for _, one := range p.done {
		out.WriteString(one.Reasoning)
	}
	if p.think {
		out.WriteString(p.run.String())
	}
	return out.String()
}

// Size is about how many bytes the parts take. The error is that of an answer larger than MaxResponseBytes.
func (p *Pieces) Size() error {
	if p.size > MaxResponseBytes {
		return eval.Errorf(eval.KindTooLarge, "%s", ErrTooLarge)
	}
	return nil
}

// Arguments are the arguments of a call as the model wrote them. They are a JSON object, or nil where there are none.
// Anything else, such as an object that was cut, becomes a JSON string.
func Arguments(written string) json.RawMessage {
	raw := []byte(strings.TrimSpace(written))
	if len(raw) == 0 || string(raw) == "null" {
		return nil
	}
	if raw[0] == '{' && json.Valid(raw) {
		return Compact(raw)
	}
	return wirejson.AppendString(nil, written)
}

// ArgumentsIn are the arguments in a member of an answer, written as a text or as an object. An empty text and an
// object without members are the same: some vendors send either.
func ArgumentsIn(raw json.RawMessage) string {
	var text string
	if Read(raw, &text) == nil {
		return text
	}
	return string(raw)
}

// Compact is a JSON text without white space between its tokens. It was decoded before.
func Compact(raw json.RawMessage) json.RawMessage {
	var b bytes.Buffer
	if err := json.Compact(&b, raw); err != nil {
		return wirejson.AppendString(nil, string(raw))
	}
	return b.Bytes()
}
