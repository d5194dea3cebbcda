package session

import (
	"context"
	"errors"
	"testing"

	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/flow"
)

type answering struct{}

func (answering) Generate(context.Context, *eval.Call) (*eval.Response, error) {
	return &eval.Response{}, nil
}

// Where nothing should be called, a call is an error that says what is missing, not a panic.
func TestStandInsRefuseCalls(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	for name, s := range map[string]struct {
		flow.Service
		want refusing
	}{
		"no model":    {absent{refusing: noModel}, noModel},
		"application": {caller{refusing: onlyGenerate, attempter: answering{}}, onlyGenerate},
	} {
		calls := map[string]func() error{
			"generate": func() error { _, err := s.Generate(ctx, &eval.Call{}); return err },
			"count":    func() error { _, err := s.CountTokens(ctx, &eval.Call{}); return err },
			"embed":    func() error { _, err := s.Embed(ctx, &eval.EmbedCall{}); return err },
			"model":    func() error { _, err := s.Model(ctx, "v1", "m"); return err },
			"models":   func() error { _, err := s.Models(ctx, "v1"); return err },
		}
		if name == "application" {
			if err := calls["generate"](); err != nil {
				t.Errorf("%s: got %v, want an answer", name, err)
			}
			delete(calls, "generate")
		}
		for what, call := range calls {
			var e *eval.Error
			if err := call(); !errors.As(err, &e) || e.Message != string(s.want) || e.Retry != eval.RetryNever || !e.Unsent {
				t.Errorf("%s, %s: got %v, want an *eval.Error with %q", name, what, err, s.want)
			}
		}
	}
}
