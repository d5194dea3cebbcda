package app

import (
	"encoding/json"
	"errors"

	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/clients/wire"
)

// unshown masks secrets in a parsed answer, since joining chunks or resolving JSON escapes can bring one
// together. An answer with such a secret loses its raw form: reading that again would bring the secret
// back.
func unshown(resp *eval.Response, hidden *wire.Secrets) *eval.Response {
	for i := range resp.Candidates {
		c := &resp.Candidates[i]
		m := mask{hidden: hidden}
		m.texts(&c.Text, &c.FinishReason, &c.VendorReason)
		for j := range c.Pieces {
			switch p := c.Pieces[j].(type) {
			case eval.TextPiece:
				m.texts(&p.Text)
				c.Pieces[j] = p
			case eval.CallPiece:
				m.texts(&p.Call.ID, &p.Call.Name)
				p.Call.Args = json.RawMessage(hidden.OutOfAnswer(p.Call.Args))
			case eval.ReasoningPiece:
				m.texts(&p.Reasoning)
				c.Pieces[j] = p
			case eval.OtherPiece:
				c.Pieces[j] = eval.OtherPiece{Other: json.RawMessage(hidden.OutOfAnswer(p.Other))}
			}
		}
		if m.found {
			c.Raw = nil
		}
	}
	return resp
}

type mask struct {
	hidden *wire.Secrets
	found  bool // a secret was found
}

func (m *mask) texts(all ...*string) {
	for _, text := range all {
		clean := m.hidden.OutOfText(*text)
		m.found = m.found || clean != *text
		*text = clean
	}
}

// unshownError is unshown for an error, whose text may quote the application, and for the answer that it keeps.
func unshownError(err error, hidden *wire.Secrets) error {
	var e *eval.Error
	if !errors.As(err, &e) {
		return err
	}
	clean := *e
	clean.Message = hidden.OutOf(e.Message)
	if e.Answer != nil {
		clean.Answer = unshown(e.Answer, hidden)
	}
	return &clean
}
