package eval

import (
	"regexp"
	"strings"
)

// thinking matches the beginning of a text in which a model wrote what it thinks, up to the end of that. Some servers leave out the
// first mark, which is a part of their prompt.
var thinking = regexp.MustCompile(`(?s)^\s*(?:<(think|thinking|thought|reasoning)>)?(.*?)</(think|thinking|thought|reasoning)>\s*`)

// cutThoughts separates what a model thought, between marks such as <think> at the beginning of its text, from the rest. Without the
// last mark all of it is the rest.
func cutThoughts(text string) (thought, rest string) {
	if !strings.Contains(text, "</") {
		return "", text
	}
	at := thinking.FindStringSubmatchIndex(text)
	if at == nil {
		return "", text
	}
	thought, closed := text[at[4]:at[5]], text[at[6]:at[7]]
	if opened := at[2] >= 0; opened && text[at[2]:at[3]] != closed ||
		!opened && (closed != "think" || strings.Contains(thought, "<think>")) {
		return "", text
	}
	return strings.TrimSpace(thought), text[at[1]:]
}

// WithoutThoughts returns the response with what the model thought in its text as reasoning, which no scorer reads.
func (r *Response) WithoutThoughts() *Response {
	out := *r
	out.Candidates = make([]Candidate, len(r.Candidates)) // [] in files, and not null
	for i, c := range r.Candidates {
		out.Candidates[i] = c.withoutThoughts()
	}
	return &out
}

func (c Candidate) withoutThoughts() Candidate {
	thought, rest := cutThoughts(c.Text)
	if rest == c.Text {
		return c
	}
	if c.Pieces == nil {
		c.Pieces = pieceList{TextPiece{c.Text}}
	}
	left := len(c.Text) - len(rest) // bytes of texts to leave out
	pieces := pieceList{ReasoningPiece{thought}}
	for _, p := range c.Pieces {
		if text, ok := p.(TextPiece); ok {
			n := min(left, len(text.Text))
			left -= n
			if p = (TextPiece{text.Text[n:]}); n == len(text.Text) {
				continue
			}
		}
		pieces = append(pieces, p)
	}
	c.Text, c.Pieces = rest, pieces
	return c
}
