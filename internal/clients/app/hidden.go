package app

import (
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
		if hidden.OutOfCandidate(c) {
			c.Raw = nil
		}
	}
	return resp
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
