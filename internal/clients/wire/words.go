package wire

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/evalrun/evalrun/eval"
)

// statusOf has the HTTP status of vendors' words for errors, which streams send without one.
var statusOf = map[string]int{
	"invalid_request_error": 400, "authentication_error": 401, "invalid_api_key": 401, "billing_error": 402,
	"permission_error": 403, "not_found_error": 404, "model_not_found": 404, "request_too_large": 413,
	"rate_limit_error": 429, "rate_limit_exceeded": 429, "insufficient_quota": 429, "api_error": 500, "server_error": 500,
	"internal_error": 500, "internal_server_error": 500, "service_unavailable": 503, "timeout_error": 504,
	"request_timeout":  504,
	"overloaded_error": 529,
}

// minimaxWords has words for the codes that MiniMax documents, which come with status 200 and no choices.
var minimaxWords = map[LenientInt]string{
	1000: "server_error", 1001: "request_timeout", 1024: "server_error", 1033: "server_error",
	1002: "too_many_requests", 1039: "too_many_requests", 1041: "too_many_requests", 2045: "too_many_requests",
	1004: "auth_error", 2049: "auth_error", 1008: "insufficient_balance",
	2056: "billing_hard_limit_reached", // until the next window of five hours
	1026: "invalid_request_error", 1027: "invalid_request_error", 1042: "invalid_request_error", 2013: "invalid_request_error",
}

// minimaxWord returns "" for codes that are not known, too.
func (f Fields) minimaxWord() string {
	var base struct {
		Code LenientInt `json:"status_code"`
	}
	_ = Read(f["base_resp"], &base) // another type has no code
	return minimaxWords[base.Code]
}

var (
	spentPhrase = pattern(`(?i)credit balance is too low|insufficient (balance|credits?|funds)|` +
		`exceeded your current quota`)
	spentForLongPhrase = pattern(`(?i)credits are depleted|used all available credits|does ?n['o]t have any credits|` +
		`(spending|spend) (limit|cap)\b|specified (workspace )?API usage limits|budget has been exceeded|calls / month`)
	perDayPhrase  = pattern(`(?i)\bper[- ]day\b`)
	waitPhrase    = pattern(`(?i)\bplease wait\b|\b(try again|retry) (in|after|later)\b`)
	tooLongPhrase = pattern(`(?i)(maximum|max|exceeds?|exceeded|available) (the )?(available )?(model'?s )?(maximum )?context|` +
		`context (length|window) (exceeded|of this model)|longer than (the|this) model'?s (maximum )?context|` +
		`(input|prompt|requested) tokens? (count )?(\([\d, ]+\) )?exceeds? (the |this )?(model'?s )?` +
		`(configured |maximum )?(limit|number of tokens|context)|` +
		`(prompt|input|request) (is )?too (long|large)|too many (input |prompt )?tokens|reduce the length of|` +
		"inputs`? tokens \\+ `?max_new_tokens`? must be")
	wrongKeyPhrase = pattern(`(?i)\b(incorrect|invalid|wrong|bad|malformed) (api|x-api)[ _-]key|` +
		`\bapi[ _-]key (you provided |format )?(is |was )?(not valid|invalid|incorrect|wrong|missing|not found|expired|revoked)\b|` +
		`\b(missing|did ?n['o]t provide|provide a valid) (an |the |a )?(valid )?api[ _-]key\b|` +
		`\borganization has been (disabled|restricted)\b|\buser location is not supported\b|` +
		// These stand where a message begins, since one may quote the request.
		`^(bad request: )?((missing|invalid|malformed)[a-z, -]{0,40} authorization header|authorization header is |` +
		`(an? |the )?(access|security|bearer|auth) token [a-z ]{0,30}(invalid|expired)\b|authentication (error|fail)|` +
		`(unauthorized|unauthenticated)\b|login fail|multiple authentication credentials|this credential is only authorized)`)
	// saidWait finds how long to wait, as in "try again in 7m12s" and "retry after 60 seconds".
	saidWait = pattern(`(?i)(?:try again|retry|wait)(?: in| after)? (\d[\dhms.]*)( seconds)?`)
)

// classify derives the kind of an error from the vendor's words.
func (b *errorBody) classify(e *eval.Error) {
	// The words and phrases below are for errors that waiting does not resolve.
	tooLongWords := []string{"context_length_exceeded", "exceed_context_size_error", "request_too_large"}

	spentWords := []string{
		"insufficient_quota", "billing_error", "billing_hard_limit_reached", "billing_not_active", "insufficient_balance",
		"insufficient_credits",
	}

	keyWords := []string{
		"invalid_api_key", "invalidapikey", "authentication_error", "authenticationerror", "auth_error", "token_not_found_in_db",
	}

	said := func(words []string) bool {
		return slices.ContainsFunc(b.Words, func(w string) bool { return slices.Contains(words, strings.ToLower(w)) })
	}
	isRate := e.Status == http.StatusTooManyRequests && waitPhrase().MatchString(b.Message)
	switch {
	case e.Status >= 500:
	case said(spentWords), b.saysSpent(e):
		e.Kind, e.Retry = eval.KindQuota, eval.RetryNever
	case said(tooLongWords), tooLongPhrase().MatchString(b.Message) && e.Status != 401 && e.Status != 403 && !isRate:
		e.Kind = eval.KindOverLimit
	case e.Status == 0 && said([]string{"ratelimitreached", "too_many_requests", "429"}):
		e.Kind = eval.KindQuota
	case e.Status != http.StatusTooManyRequests && (said(keyWords) || wrongKeyPhrase().MatchString(b.Message)):
		e.Kind = eval.KindAuth // some services answer a wrong key with 400
	}
}

// saysSpent reports whether the message is of a quota for which waiting does not help.
func (b *errorBody) saysSpent(e *eval.Error) bool {
	const longest = 500 // bytes; a longer message may quote the request
	return spentPhrase().MatchString(b.Message) && b.Words != nil ||
		len(b.Message) <= longest && spentForLongPhrase().MatchString(b.Message) ||
		e.Status == http.StatusTooManyRequests && e.RetryAfter == 0 && perDayPhrase().MatchString(b.Message)
}

// reasons maps vendors' words for why an answer ended, in lower case, to evalrun's.
var reasons = map[string]string{
	"stop": "STOP", "eos": "STOP", "end_turn": "STOP", "stop_sequence": "STOP", "completed": "STOP", "complete": "STOP",
	"length": eval.CutReason, "max_tokens": eval.CutReason, "model_length": eval.CutReason,
	"max_output_tokens":             eval.CutReason,
	"model_context_window_exceeded": eval.CutReason,
	"tool_calls":                    CallsReason, "tool_call": CallsReason, "function_call": CallsReason,
	"tool_use": CallsReason, "content_filter": blocked, "refusal": blocked, "sensitive": blocked,
}

// Evalrun's own finish reasons.
const (
	// CallsReason is the finish reason of an answer that ends in calls of functions.
	CallsReason = "TOOL_CALLS"
	// blocked is the finish reason of an answer that the vendor or the model withholds.
	blocked = "SAFETY"
	// other is the finish reason for unknown words.
	other = "OTHER"
)

// pausedReason means that the vendor paused a turn, which another request would continue. Anthropic pauses
// long turns of tools that run on its side.
const pausedReason = "pause_turn"

// End sets the finish reason from the vendor's word, once all parts are known. An incomplete answer is an error.
func End(c *eval.Candidate, word string) error {
	// brokenReasons are words for an answer that the vendor did not finish.
	brokenReasons := []string{"error", "abort", "aborted", "cancelled", "network_error", "insufficient_system_resource"}

	lower := strings.ToLower(word)
	if slices.Contains(brokenReasons, lower) {
		return eval.Errorf(eval.KindTruncated, "the answer was cut: the service ended it with %q", word)
	}
	if lower == pausedReason {
		return &eval.Error{
			Kind: eval.KindTruncated, Retry: eval.RetryNever, // the same turn would take as long again, and cost as much
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
	if (reason == "" || reason == "STOP") && c.EndsInCall() {
		reason = CallsReason
	}
	c.FinishReason = reason
	if word != reason {
		c.VendorReason = word
	}
	return nil
}

// LaterReason returns which of two words of a stream counts: the later one, unless the earlier one is a block.
func LaterReason(soFar, word string) string {
	if word == "" || reasons[strings.ToLower(soFar)] == blocked || eval.IsBlock(strings.ToUpper(soFar)) {
		return soFar
	}
	return word
}

// Refuse marks an answer as declined by the model or the vendor, which its finish reason may not show.
func Refuse(c *eval.Candidate) {
	if c.Block() == "" {
		c.FinishReason = blocked
	}
}

// flagged is the code that evalrun gives an error by which a router's moderation refuses a prompt.
const flagged = "flagged_input"

// BlockedPrompt returns the answer for a prompt that was blocked with an error, nil for other errors.
func BlockedPrompt(e *eval.Error) *eval.Response {
	if e.Code != flagged && (e.Code != "content_filter" || e.Status != 0 && e.Status != http.StatusBadRequest) {
		return nil
	}
	return &eval.Response{PromptFeedback: &eval.PromptFeedback{
		BlockReason: blocked, Extra: eval.NewExtra(map[string]json.RawMessage{"message": Quoted(e.Message)}),
	}}
}
