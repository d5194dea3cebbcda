package wire

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/lazy"
)

// statusOf is the HTTP status that vendors send with their words for errors. Inside of a stream the word comes alone.
var statusOf = map[string]int{
	"invalid_request_error": 400, "authentication_error": 401, "invalid_api_key": 401, "billing_error": 402,
	"permission_error": 403, "not_found_error": 404, "model_not_found": 404, "request_too_large": 413,
	"rate_limit_error": 429, "rate_limit_exceeded": 429, "insufficient_quota": 429, "api_error": 500, "server_error": 500,
	"internal_error": 500, "internal_server_error": 500, "service_unavailable": 503, "timeout_error": 504,
	"overloaded_error": 529,
}

const (
	spentPhrase lazy.Pattern = `(?i)credit balance is too low|insufficient (balance|credits?|funds)|` +
		`exceeded your current quota`
	tooLongPhrase lazy.Pattern = `(?i)(maximum|max|exceed\w*|available) (the )?(available )?(model'?s )?context|` +
		`context (length|window) (exceeded|of this model)|` +
		`(prompt|input|request) (is )?too (long|large)|too many (input |prompt )?tokens|reduce the length of`
)

// classify gives the error of a vendor the kind that its words mean.
func (b *errorBody) classify(e *eval.Error) {
	// Words and phrases of vendors for two errors that waiting does not cure.
	tooLongWords := []string{"context_length_exceeded", "exceed_context_size_error", "request_too_large"}

	spentWords := []string{
		"insufficient_quota", "billing_error", "billing_hard_limit_reached", "billing_not_active", "insufficient_balance",
		"insufficient_credits",
	}

	said := func(words []string) bool {
		return slices.ContainsFunc(b.Words, func(w string) bool { return slices.Contains(words, strings.ToLower(w)) })
	}
	switch {
	case e.Status >= 500:
	case said(spentWords), spentPhrase.Matches(b.Message) && b.Words != nil:
		e.Kind, e.Permanent = eval.KindQuota, true
	case said(tooLongWords), tooLongPhrase.Matches(b.Message) && e.Status != 401 && e.Status != 403:
		e.Kind = eval.KindOverLimit
	case e.Status == 0 && said([]string{"ratelimitreached", "too_many_requests", "429"}):
		e.Kind = eval.KindQuota
	}
}

// reasons are vendors' words for why an answer ended, in lower case, each with evalrun's.
var reasons = map[string]string{
	"stop": "STOP", "eos": "STOP", "end_turn": "STOP", "stop_sequence": "STOP", "completed": "STOP", "complete": "STOP",
	"length": eval.CutReason, "max_tokens": eval.CutReason, "model_length": eval.CutReason,
	"max_output_tokens":             eval.CutReason,
	"model_context_window_exceeded": eval.CutReason,
	"tool_calls":                    CallsReason, "tool_call": CallsReason, "function_call": CallsReason,
	"tool_use": CallsReason, "content_filter": Blocked, "refusal": Blocked, "sensitive": Blocked,
}

// What an answer ends with in evalrun's words.
const (
	// CallsReason is the finish reason of an answer that ends in calls of functions.
	CallsReason = "TOOL_CALLS"
	// Blocked is the finish reason of an answer that the vendor, or the model, withholds.
	Blocked = "SAFETY"
	// other is that of an answer that ends in a way that has no name.
	other = "OTHER"
)

// pausedReason is the word for a turn that the vendor paused, and that a further request would continue. Anthropic
// pauses long turns of tools that run on its side.
const pausedReason = "pause_turn"

// End says by which reason a candidate ended, in the vendor's word, its parts being known. The error is that of an
// answer that is not whole.
func End(c *eval.Candidate, word string) error {
	// brokenReasons are words for an answer that the vendor did not bring to its end.
	brokenReasons := []string{"error", "abort", "aborted", "cancelled", "network_error", "insufficient_system_resource"}

	lower := strings.ToLower(word)
	if slices.Contains(brokenReasons, lower) {
		return eval.Errorf(eval.KindTruncated, "the answer was cut: the service ended it with %q", word)
	}
	if lower == pausedReason {
		return &eval.Error{
			Kind: eval.KindTruncated, Permanent: true, // the same turn would take as long, and cost as much, again
			Message: fmt.Sprintf("the answer is not complete: the service paused the turn (%q), and evalrun does not continue it", word),
		}
	}
	reason, known := reasons[lower]
	switch {
	case word == "":
	case known:
	case eval.IsBlock(strings.ToUpper(word)):
		reason = strings.ToUpper(word)
	default:
		reason = other
	}
	if (reason == "" || reason == "STOP") && endsInCall(c.Parts) {
		reason = CallsReason
	}
	c.FinishReason = reason
	if word != reason {
		c.VendorReason = word
	}
	return nil
}

// Refuse says that the model, or the vendor, declined to answer, which its finish reason may not say.
func Refuse(c *eval.Candidate) {
	if c.Block() == "" {
		c.FinishReason = Blocked
	}
}

// BlockedPrompt is the answer of a service that refuses a prompt for what is in it, which it says by an error; nil for
// any other error.
func BlockedPrompt(e *eval.Error) *eval.Response {
	if e.Code != "content_filter" || e.Status != 0 && e.Status != http.StatusBadRequest {
		return nil
	}
	return &eval.Response{PromptFeedback: &eval.PromptFeedback{
		BlockReason: Blocked, Extra: eval.NewExtra(map[string]json.RawMessage{"message": Quoted(e.Message)}),
	}}
}

// endsInCall reports whether the last part but thoughts is a call.
func endsInCall(parts []eval.Piece) bool {
	for _, p := range slices.Backward(parts) {
		if p.Reasoning == "" {
			return p.Call != nil
		}
	}
	return false
}
