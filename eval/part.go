package eval

import (
	"encoding/json"
	"slices"

	"github.com/evalrun/evalrun/internal/wirejson"
)

// Part is a piece of a turn: a TextPart, ImagePart, DataPart, RawPart or ResultPart.
type Part interface {
	// File is the image or the other file of the part, nil for a part without one.
	File() *Image
	// withheld is the part without its content. Every kind has to say what of it may be kept.
	withheld() Part
}

// TextPart is a text. Withheld replaces a text that is kept out of the file.
type TextPart struct {
	Text     string    `json:"text,omitempty"`
	Withheld *Withheld `json:"withheld,omitempty"`
}

// ImagePart is an image.
type ImagePart struct {
	Image *Image `json:"image,omitempty"`
}

// DataPart is a file other than an image: audio, video, a PDF. It is sent like an image.
type DataPart struct {
	Data *Image `json:"data,omitempty"`
}

// RawPart is a part in the syntax of the protocol that is sent unchanged: from the suite, or from the model's own turn.
type RawPart struct {
	Raw json.RawMessage `json:"raw,omitempty"`
}

// ResultPart is the result of a tool call.
type ResultPart struct {
	Result *CallResult `json:"result,omitempty"`
}

func (p TextPart) withheld() Part   { return TextPart{Withheld: withhold(p.Text)} }
func (p ImagePart) withheld() Part  { return p } // a hash and a path
func (p DataPart) withheld() Part   { return p }
func (p RawPart) withheld() Part    { return TextPart{Withheld: withhold(string(p.Raw))} }
func (p ResultPart) withheld() Part { return TextPart{Withheld: withhold(p.Result.Text)} }

// TextOf is the text of a part, "" for one of another kind.
func TextOf(p Part) string {
	text, _ := p.(TextPart)
	return text.Text
}

// File is nil: a text has no file.
func (TextPart) File() *Image { return nil }

// File is the image.
func (p ImagePart) File() *Image { return p.Image }

// File is the file of the data.
func (p DataPart) File() *Image { return p.Data }

// File is nil: what is in the part is not known.
func (RawPart) File() *Image { return nil }

// File is nil: a result is a text.
func (ResultPart) File() *Image { return nil }

type partList []Part

// UnmarshalJSON reads parts from a run file. The member of a part says which kind it is. The list has this
// method instead of the turn or candidate around it: a decoder scans a value twice if it has the method.
func (p *partList) UnmarshalJSON(data []byte) (err error) {
	const most = 1 // turns have one part; the decoder would make room for ten
	*p, err = decodeList(data, most, func(w *struct {
		TextPart
		ImagePart
		DataPart
		RawPart
		ResultPart
	},
	) Part {
		switch {
		case w.Image != nil:
			return w.ImagePart
		case w.Data != nil:
			return w.DataPart
		case w.Raw != nil:
			return w.RawPart
		case w.Result != nil:
			return w.ResultPart
		}
		return w.TextPart
	})
	return err
}

// decodeList reads a list of items of several kinds, and kind takes out the one that is written. null is nil.
func decodeList[Written, Item any](data []byte, room int, kind func(*Written) Item) (out []Item, err error) {
	written := make([]Written, 0, room)
	if err := wirejson.DecodeAnyCase(data, &written); err != nil || written == nil {
		return nil, err
	}
	out = make([]Item, len(written))
	for i := range written {
		out[i] = kind(&written[i])
	}
	return out, nil
}

// Piece is a part of an answer: a TextPiece, ReasoningPiece, CallPiece or OtherPiece.
type Piece interface {
	// withheldPiece is what may be kept of the piece without content, nil for nothing.
	withheldPiece() Piece
}

// TextPiece is a text of the answer.
type TextPiece struct {
	Text string `json:"text,omitempty"`
}

// ReasoningPiece is what the model thought.
type ReasoningPiece struct {
	Reasoning string `json:"reasoning,omitempty"`
}

// CallPiece is a call of a tool.
type CallPiece struct {
	Call *FunctionCall `json:"call,omitempty"`
}

// OtherPiece is a part that evalrun does not know, unchanged.
type OtherPiece struct {
	Other json.RawMessage `json:"other,omitempty"`
}

func (TextPiece) withheldPiece() Piece      { return nil }
func (ReasoningPiece) withheldPiece() Piece { return nil }
func (p CallPiece) withheldPiece() Piece {
	return CallPiece{&FunctionCall{Name: word(p.Call.Name)}}
}
func (OtherPiece) withheldPiece() Piece { return nil }

// ShowsMore reports whether people see a piece next to the text: a call, or a part that is not known.
func (c *Candidate) ShowsMore() bool {
	for _, p := range c.Pieces {
		switch p.(type) {
		case CallPiece, OtherPiece:
			return true
		case TextPiece, ReasoningPiece:
		}
	}
	return false
}

// EndsInCall reports whether the last piece is a call, which the client has to answer. Thoughts and parts that evalrun does
// not know, such as calls of the vendor's own tools with their results, may follow it.
func (c *Candidate) EndsInCall() bool {
	for _, p := range slices.Backward(c.Pieces) {
		switch p.(type) {
		case CallPiece:
			return true
		case TextPiece:
			return false
		case ReasoningPiece, OtherPiece:
		}
	}
	return false
}

type pieceList []Piece

// UnmarshalJSON reads pieces as that of partList reads parts.
func (p *pieceList) UnmarshalJSON(data []byte) (err error) {
	const most = 2 // answers with pieces have a call, and a text or a thought
	*p, err = decodeList(data, most, func(w *struct {
		TextPiece
		ReasoningPiece
		CallPiece
		OtherPiece
	},
	) Piece {
		switch {
		case w.Call != nil:
			return w.CallPiece
		case w.Other != nil:
			return w.OtherPiece
		case w.Reasoning != "":
			return w.ReasoningPiece
		}
		return w.TextPiece
	})
	return err
}
