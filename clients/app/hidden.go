package app

import (
	"encoding/json"
	"errors"
	"maps"
	"slices"

	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/secret"
)

// unshown masks secrets in a parsed answer, since joining chunks or resolving JSON escapes can bring one
// together. An answer with such a secret loses its raw form: reading that again would bring the secret
// back.
func unshown(resp *eval.Response, hidden *secret.Set) *eval.Response {
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
			case eval.ReasoningPiece, eval.OtherPiece: // applications send neither
			}
		}
		if m.found {
			c.Raw = nil
		}
	}
	return resp
}

type mask struct {
	hidden *secret.Set
	found  bool // a secret was found
}

func (m *mask) texts(all ...*string) {
	for _, text := range all {
		clean := m.hidden.OutOfText(*text)
		m.found = m.found || clean != *text
		*text = clean
	}
}

// unshownError is unshown for an error, whose text may quote the application, and which may keep an answer.
func unshownError(err error, hidden *secret.Set) error {
	var e *eval.Error
	if !errors.As(err, &e) {
		return err
	}
	clean := *e
	clean.Message = hidden.OutOf(e.Message)
	if e.Answer != nil && slices.ContainsFunc(e.Answer.Candidates, func(c eval.Candidate) bool { return isSpread(c.Raw, hidden) }) {
		clean.Answer = nil // it would be joined when it is read again
	}
	return &clean
}

// isSpread reports whether texts of an unread reply hold a secret when those with the same keys are joined, as the pieces of
// a stream are.
func isSpread(raw json.RawMessage, hidden *secret.Set) bool {
	var reply any
	if json.Unmarshal(raw, &reply) != nil { // there is none
		return false
	}
	joined := map[string]string{}
	joinTexts(joined, "", reply)
	for _, text := range joined {
		if hidden.OutOfText(text) != text {
			return true
		}
	}
	return false
}

// joinTexts adds the texts of a value to those that were found under the same keys before; at names the keys so far.
func joinTexts(joined map[string]string, at string, value any) {
	switch v := value.(type) {
	case string:
		joined[at] += v
	case []any:
		for _, one := range v {
			joinTexts(joined, at, one)
		}
	case map[string]any:
		for _, key := range slices.Sorted(maps.Keys(v)) {
			joinTexts(joined, at+"\x00"+key, v[key])
		}
	}
}
