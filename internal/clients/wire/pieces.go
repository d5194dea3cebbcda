package wire

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"

	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/wirejson"
)

// Pieces collects the parts of an answer in order. It joins adjacent texts, and adjacent thoughts.
type Pieces struct {
	done  []eval.Piece
	run   strings.Builder // a text or thought that may continue
	think bool            // run is a thought
	text  strings.Builder
	size  int // approximate bytes
}

// AddText adds to the text of the answer.
func (p *Pieces) AddText(text string) {
	p.add(text, false)
	p.text.WriteString(text)
}

// AddThought adds to the thoughts.
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

// AddCall adds a call. Its arguments may still grow; then the caller calls Grow.
func (p *Pieces) AddCall(c *eval.FunctionCall) {
	p.end()
	p.done = append(p.done, eval.CallPiece{Call: c})
	p.size += 200 + len(c.Args)
}

// AddOther adds a part of another kind, unchanged.
func (p *Pieces) AddOther(raw json.RawMessage) {
	p.end()
	p.done = append(p.done, eval.OtherPiece{Other: Compact(raw)})
	p.size += 100 + len(raw)
}

// Grow counts bytes that the caller keeps elsewhere.
func (p *Pieces) Grow(n int) { p.size += n }

func (p *Pieces) end() {
	if p.run.Len() == 0 {
		return
	}
	var piece eval.Piece = eval.TextPiece{Text: p.run.String()}
	if p.think {
		piece = eval.ReasoningPiece{Reasoning: p.run.String()}
	}
	p.done = append(p.done, piece)
	p.run.Reset()
}

// Fill sets the text of a candidate, and its parts if there is more than text.
func (p *Pieces) Fill(c *eval.Candidate) {
	p.end()
	c.Text = p.text.String()
	if slices.ContainsFunc(p.done, func(one eval.Piece) bool { _, isText := one.(eval.TextPiece); return !isText }) {
		c.Pieces = p.done
	}
}

// Text returns the text so far.
func (p *Pieces) Text() string { return p.text.String() }

// Thoughts returns all thoughts so far.
func (p *Pieces) Thoughts() string {
	var out strings.Builder
	for _, one := range p.done {
		if thought, ok := one.(eval.ReasoningPiece); ok {
			out.WriteString(thought.Reasoning)
		}
	}
	if p.think {
		out.WriteString(p.run.String())
	}
	return out.String()
}

// Size returns an error when the parts exceed MaxResponseBytes.
func (p *Pieces) Size() error {
	if p.size > MaxResponseBytes {
		return eval.Errorf(eval.KindTooLarge, "%s", ErrTooLarge)
	}
	return nil
}

// Arguments returns the arguments of a call as a JSON object, or nil if there are none. Anything else that
// the model wrote, such as an incomplete object or one that nests too deep, becomes a JSON string.
func Arguments(written string) json.RawMessage {
	raw := []byte(strings.TrimSpace(written))
	if len(raw) == 0 || string(raw) == "null" {
		return nil
	}
	if raw[0] == '{' && !wirejson.Deeper(raw, maxNesting) && json.Valid(raw) {
		return Compact(raw)
	}
	return wirejson.AppendString(nil, written)
}

// ArgumentsIn returns arguments that a member has as a text or as an object. It treats an empty text and an
// empty object alike, because vendors send either.
func ArgumentsIn(raw json.RawMessage) string {
	var text string
	if Read(raw, &text) == nil {
		return text
	}
	return string(raw)
}

// Compact removes white space between the tokens of valid JSON.
func Compact(raw json.RawMessage) json.RawMessage {
	var b bytes.Buffer
	if err := json.Compact(&b, raw); err != nil {
		return wirejson.AppendString(nil, string(raw))
	}
	return b.Bytes()
}
