package generative

import (
	"strings"

	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/wirejson"
)

// joiner emits the parts of an answer in order. It joins adjacent texts, and adjacent thoughts.
type joiner struct {
	text     string // of the whole candidate
	from     int    // up to where it was emitted
	thoughts strings.Builder

	addText    func(text string)
	addThought func(text string)
}

// upTo emits the text before a position. Pending thoughts come first, because they precede that text.
func (j *joiner) upTo(place int) {
	if place <= j.from {
		return
	}
	j.endThought()
	j.addText(j.text[j.from:place])
	j.from = place
}

// think joins a thought with the previous one, unless there is text in between.
func (j *joiner) think(place int, text string) {
	j.upTo(place)
	j.thoughts.WriteString(text)
}

// endThought emits the pending thoughts before something else follows.
func (j *joiner) endThought() {
	if j.thoughts.Len() > 0 {
		j.addThought(j.thoughts.String())
		j.thoughts.Reset()
	}
}

// interrupt emits everything before a part of another kind.
func (j *joiner) interrupt(place int) {
	j.upTo(place)
	j.endThought()
}

// pieces returns the parts in order, with adjacent texts and thoughts joined. It returns nil for an answer
// that is only text.
func pieces(marks []markedPart, text string) []eval.Piece {
	var out []eval.Piece
	more := false
	j := joiner{
		text:       text,
		addText:    func(text string) { out = append(out, eval.TextPiece{Text: text}) },
		addThought: func(text string) { out = append(out, eval.ReasoningPiece{Reasoning: text}) },
	}
	for _, m := range marks {
		switch p := m.piece.(type) {
		case eval.ReasoningPiece:
			if p.Reasoning == "" {
				continue
			}
			j.think(m.at, p.Reasoning)
		case eval.CallPiece, eval.OtherPiece:
			j.interrupt(m.at)
			out = append(out, p)
		case nil, eval.TextPiece:
			continue
		}
		more = true
	}
	if !more {
		return nil
	}
	j.interrupt(len(text))
	return out
}

// rawParts appends the parts of several chunks as JSON. It joins neighbours that are only text or only
// thought.
func rawParts(dst []byte, marks []markedPart, text string) []byte {
	first := len(dst) + 1
	dst = append(dst, '[')
	next := func() {
		if len(dst) > first {
			dst = append(dst, ',')
		}
	}
	add := func(text, more string) {
		next()
		dst = append(wirejson.AppendString(append(dst, `{"text":`...), text), more...)
	}
	j := joiner{
		text:       text,
		addText:    func(text string) { add(text, `}`) },
		addThought: func(text string) { add(text, `,"thought":true}`) },
	}
	for _, m := range marks {
		if thought, ok := m.piece.(eval.ReasoningPiece); ok && m.joins {
			j.think(m.at, thought.Reasoning)
			continue
		}
		j.interrupt(m.at)
		next()
		dst = append(dst, compact(m.raw)...)
		j.from += m.size
	}
	j.interrupt(len(text))
	return append(dst, ']')
}
