package app

import (
	"encoding/json"
	"errors"

	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/secret"
)

// unshown takes secrets out of an answer once more, now that it is read: pieces of a stream are joined, and escapes
// of JSON are resolved. What held one in pieces is not kept as it came: reading it again would put the pieces
// together.
func unshown(resp *eval.Response, hidden *secret.Set) *eval.Response {
	for i := range resp.Candidates {
		c := &resp.Candidates[i]
		m := mask{hidden: hidden}
		m.texts(&c.Text, &c.FinishReason, &c.VendorReason)
		for j := range c.Parts {
			p := &c.Parts[j]
			if m.texts(&p.Text); p.Call != nil {
				m.texts(&p.Call.ID, &p.Call.Name)
				p.Call.Args = json.RawMessage(hidden.OutOfAnswer(p.Call.Args))
			}
		}
		if m.found {
			c.Raw = nil
		}
	}
	return resp
}

// mask takes secrets out of texts.
type mask struct {
	hidden *secret.Set
	found  bool // there was one
}

func (m *mask) texts(all ...*string) {
	for _, text := range all {
		clean := m.hidden.OutOfText(*text)
		m.found = m.found || clean != *text
		*text = clean
	}
}

// unshownError is unshown for an error, which may hold what the application says.
func unshownError(err error, hidden *secret.Set) error {
	var e *eval.Error
	if !errors.As(err, &e) {
		return err
	}
	clean := *e
	clean.Message = hidden.OutOf(e.Message)
	return &clean
}
