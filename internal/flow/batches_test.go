package flow

import (
	"testing"

	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/clients/openai"
	"github.com/evalrun/evalrun/internal/clients/wire"
	"github.com/evalrun/evalrun/internal/rates"
	"github.com/evalrun/evalrun/internal/testing/expect"
	"github.com/evalrun/evalrun/journal"
)

// An item that failed is explained as a live call is, and may even be an answer. One that the vendor answered is paid.
func TestFailedItemsAreExplained(t *testing.T) {
	t.Parallel()
	refused := func(status int, code, message string) *eval.Error {
		return &eval.Error{Kind: eval.KindStatus, Status: status, Code: code, Message: message}
	}
	in := &incoming{
		OpenBatch: &journal.OpenBatch{}, state: &wire.BatchState{}, left: rates.Amount{Calls: 4, Tokens: 40},
		failed: map[string]*eval.Error{
			"blocked": refused(400, "content_filter", "the prompt was filtered"),
			"advice":  refused(400, "", "max_completion_tokens is not permitted"),
			"long":    eval.Errorf(eval.KindTooLarge, "the answer is too large"),
		},
	}
	limiter := NewLimiter(LimiterConfig{})
	b := NewBatches(BatchesConfig{Services: map[string]*BatchService{"": {
		Batcher: openai.New(wire.Server{BaseURL: "http://service.invalid/v1"}),
	}}})
	b.Under(limiter)
	limiter.Reserved(in.left)
	for id := range in.failed {
		b.items[id] = item{in, unanswered, false}
	}
	call := func(id string) (*eval.Response, error) {
		return b.reply(&eval.Call{Request: eval.Request{Model: "m"}, PromptTokens: 5, OutputLimit: 5}, id)
	}
	got, err := call("blocked")
	expect.OK(t, err)
	expect.Same(t, "the block", got.PromptBlock(), "SAFETY")
	_, err = call("advice")
	expect.Contains(t, "the error", err.Error(), "set `maxTokensField: max_tokens` at the service")
	before := limiter.Spent()
	_, err = call("long")
	expect.Same(t, "the kind", eval.AsError(err).Kind, eval.KindTooLarge)
	expect.Same(t, "its price in calls", limiter.Spent().Attempts-before.Attempts, 1)
}
