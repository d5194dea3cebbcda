package eval

import (
	"cmp"
	"errors"
	"fmt"
	"time"
)

// Request is what a trial sends to a model.
type Request struct {
	Model            string            `json:"-"`
	APIVersion       string            `json:"-"`
	Contents         []Content         `json:"contents"`
	GenerationConfig *GenerationConfig `json:"generationConfig,omitempty"`
	SafetySettings   []SafetySetting   `json:"safetySettings,omitempty"`
	// Stream requests the answer in chunks, as it is generated.
	Stream bool `json:"stream,omitempty"`
	// System is the system prompt, "" for none.
	System     string        `json:"system,omitempty"`
	Tools      []Declaration `json:"tools,omitempty"`
	ToolChoice *Choice       `json:"toolChoice,omitempty"`
	// ToolResults is the hash of what the suite answers to calls, and after how many steps it stops; "" where it answers none.
	ToolResults string `json:"toolResults,omitempty"`
	// Extra has fields of the suite that are sent unchanged at the top level.
	Extra Extra `json:"extra,omitempty"`
	// App is the request to an application, without secrets; nil for a model.
	App *Rendered `json:"app,omitempty"`
	// Live marks a chat that has the model's own replies in it. In a plan the contents are the user's turns alone, and
	// each takes a call; After makes the requests of these.
	Live bool `json:"live,omitempty"`
	// Service is the name of the called service, "" for the unnamed one. Protocol is the protocol of a named service.
	Service  string       `json:"service,omitempty"`
	Protocol ProtocolName `json:"protocol,omitempty"`
}

// Sampled reports whether the request has a temperature above 0, so that two answers to it may differ.
func (r *Request) Sampled() bool {
	return r != nil && r.GenerationConfig != nil && r.GenerationConfig.Temperature != nil && *r.GenerationConfig.Temperature > 0
}

// ShowsModels reports whether the request is to a program whose calls of models are seen.
func (r *Request) ShowsModels() bool {
	if r == nil || r.App == nil {
		return false
	}
	p, ok := r.App.Payload.(*ProgramRun)
	return ok && len(p.Models) > 0
}

// Call is one request on its way, and the record of how it went. The service that carries it out fills in Timing.
type Call struct {
	Request
	// TrialID names the trial for evalrun's own emulator. Optional.
	TrialID string
	// To is the application that is called; nil: it is the model.
	To *Called
	// Vars are the variables of the case, for the templates of an application.
	Vars Dict
	// Attempts is how often the call is sent at most; 0: as often as the run says.
	Attempts int
	// TrialName names the trial to an application: all calls of a trial share it, and one that runs again after a resume has another.
	TrialName string
	// Judge names the judge that gets the question, "" when the call is to a model under test.
	Judge string
	// PromptTokens are the tokens of the prompt, estimated unless Counted.
	PromptTokens int
	Counted      bool
	// OutputLimit is the longest output in tokens, 0 when it is not known.
	OutputLimit int
	// Results are the suite's results for function calls, if the answer is a recorded one with calls.
	Results []CallResult
	// Earlier says whether an answer of an earlier call will do.
	Earlier EarlierAnswer
	Timing  Timing
}

// EarlierAnswer says whether a call may be answered with what an earlier call with the same id got.
type EarlierAnswer int

// What an earlier answer is for a call.
const (
	earlierAllowed  EarlierAnswer = iota // it will do
	EarlierRefused                       // it does not count, as long as there is a service to call
	EarlierRequired                      // nothing else will do: nothing is sent
)

// ErrorKind says why a trial could not be judged.
type ErrorKind string

// The kinds of errors; the words of the run file.
const (
	KindTransport    ErrorKind = "transport"    // no connection, or it broke
	KindTimeout      ErrorKind = "timeout"      // an attempt took longer than limits.timeout
	KindStatus       ErrorKind = "status"       // the service answered with an error status
	KindAuth         ErrorKind = "auth"         // 401 or 403
	KindQuota        ErrorKind = "quota"        // 429 that waiting does not cure
	KindMalformed    ErrorKind = "malformed"    // the answer is not what the service promises
	KindTruncated    ErrorKind = "truncated"    // the answer was cut
	KindTooLarge     ErrorKind = "tooLarge"     // the answer is larger than evalrun reads
	KindOverLimit    ErrorKind = "overLimit"    // the prompt is longer than the model takes
	KindNoCandidates ErrorKind = "noCandidates" // neither an answer nor a block
	KindUnscored     ErrorKind = "unscored"     // a scorer could not tell
	KindScorer       ErrorKind = "scorer"       // a scorer failed
	KindReplayMiss   ErrorKind = "replayMiss"   // nothing was recorded for the trial
	KindProgram      ErrorKind = "program"      // a program under test failed
	KindTainted      ErrorKind = "tainted"      // a program under test looked for the right answers
	KindApp          ErrorKind = "app"          // an application under test says that it failed
	KindCanceled     ErrorKind = "canceled"     // given up by evalrun itself; never journaled
	KindBudget       ErrorKind = "budget"       // not sent: the budget is spent; becomes a skip
	KindWaiting      ErrorKind = "waiting"      // the answer comes with a batch; never journaled
)

// IsUnscored reports whether an answer came and could not be scored.
func (k ErrorKind) IsUnscored() bool { return k == KindUnscored || k == KindScorer }

// Retry says whether another attempt may go better.
type Retry int

// What another attempt may do.
const (
	retryByKind    Retry = iota // the kind and the status of the error decide
	RetryNever                  // no attempt helps although the kind suggests it
	RetryWithLogin              // the login of the request has been replaced since: the next attempt has the new one
)

// Origin says where an error comes from.
type Origin int

// The origins of errors.
const (
	fromService Origin = iota // the service, or the way to it
	FromLogin                 // the login, which says nothing about the service
	FromBreaker               // the service is taken to be gone: nothing more is sent
	FromProcess               // the process that made the attempt is gone, which says nothing about the service
)

// Error is why something could not be done, for clients, decorators and run files.
type Error struct {
	Kind    ErrorKind `json:"kind"`
	Status  int       `json:"status,omitempty"` // HTTP status, 0 when there was none
	Code    string    `json:"code,omitempty"`   // the service's own code, such as INVALID_ARGUMENT
	Message string    `json:"message"`
	Cause   Cause     `json:"cause,omitempty"`
	// RetryAfter is the least time to wait that the service requested.
	RetryAfter time.Duration `json:"-"`
	// Retry says whether another attempt may go better, where the kind does not decide.
	Retry Retry `json:"-"`
	// Origin says whose trouble it is.
	Origin Origin `json:"-"`
	// Answer is a reply that could not be read. The suite may later read it in another way.
	Answer *Response `json:"-"`
	// Unsent says that the request never left: it cannot have cost anything.
	Unsent bool `json:"-"`
	// Service and Model say where the error came from; "" if unknown, or for the unnamed service.
	Service string `json:"-"`
	Model   string `json:"-"`
}

// MayPass reports whether a later attempt may go better.
func (e *Error) MayPass() bool {
	if e.Retry == RetryNever {
		return false
	}
	switch e.Kind {
	case KindTransport, KindTimeout, KindTruncated, KindMalformed, KindQuota, KindProgram:
		return true
	case KindAuth:
		return e.Retry == RetryWithLogin
	case KindStatus:
		return isPassing(e.Status)
	}
	return false
}

// isPassing reports whether an HTTP status is of a transient fault. These are request timeout, internal error, bad gateway,
// unavailable, gateway timeout, and the statuses of a content network that does not reach the service. Some services use 529 to say
// that they are overloaded.
func isPassing(status int) bool {
	switch status {
	case 408, 500, 502, 503, 504, 520, 521, 522, 523, 524, 529:
		return true
	}
	return false
}

func (e *Error) Error() string {
	switch {
	case e.Status != 0 && e.Code != "":
		return fmt.Sprintf("%d %s: %s", e.Status, e.Code, e.Message)
	case e.Status != 0:
		return fmt.Sprintf("%d: %s", e.Status, e.Message)
	}
	return e.Message
}

// NotFound reports whether the service does not know what the request names.
func (e *Error) NotFound() bool { return e.Status == 404 }

// AsError is the *Error in err, nil for nil. An error of another type is a defect of the caller; it becomes a
// transport error that no retry helps.
func AsError(err error) *Error {
	if err == nil {
		return nil
	}
	var e *Error
	if !errors.As(err, &e) {
		return &Error{Kind: KindTransport, Message: err.Error(), Retry: RetryNever}
	}
	return e
}

// Errorf makes an Error without a status.
func Errorf(kind ErrorKind, format string, args ...any) *Error {
	return &Error{Kind: kind, Message: fmt.Sprintf(format, args...)}
}

// Timing is when a call was made and how long it took.
type Timing struct {
	StartedAt time.Time `json:"startedAt"` // of the first attempt
	// QueuedMs is the time spent waiting for rate limits and back-off.
	QueuedMs float64 `json:"queuedMs"`
	// LatencyMs is the service time of the last attempt, body included.
	LatencyMs float64 `json:"latencyMs"`
	Attempts  int     `json:"attempts"` // 0: a recorded answer
	// Answer identifies the answer, of several calls the last one: trials with the same one have one answer, which was
	// recorded. It is "" where that is not known.
	Answer string `json:"answer,omitempty"`
	// Integrity says whether a program under test could have seen the right answers; "" for other targets, and where it is not known.
	Integrity Integrity `json:"integrity,omitempty"`
	// Limit is what ended a program or an endpoint whose work was scored nevertheless: LimitTime or another one, or "".
	Limit string `json:"limit,omitempty"`
	// Batch is the batch that the answer came with, by the service's id, of several calls the last one; "" for calls of their own.
	Batch string `json:"batch,omitempty"`
	StreamTiming
}

// Integrity says whether a program under test could have seen the right answers.
type Integrity string

// The values of Integrity.
const (
	Clean   Integrity = "clean"   // it was confined, and they were out of its reach
	Open    Integrity = "open"    // it was not confined: it could have read them
	Tainted Integrity = "tainted" // it gave away that it had looked for them
)

func (i Integrity) worse(o Integrity) Integrity {
	for _, one := range []Integrity{Tainted, Open, Clean} {
		if i == one || o == one {
			return one
		}
	}
	return cmp.Or(i, o)
}

// The values of Limit: what was ended when its time was up, or when a program had made its calls.
const (
	LimitTime   = "time"
	LimitSteps  = "steps"
	LimitTokens = "tokens"
	LimitMoney  = "money"
)

// StreamTiming is how the last attempt's answer was streamed. It is zero for one that came in one piece.
type StreamTiming struct {
	// FirstTokenMs is the time until the first chunk that held text; 0 when none did.
	FirstTokenMs float64 `json:"firstTokenMs,omitempty"`
	// Chunks is how many pieces the answer came in.
	Chunks int `json:"chunks,omitempty"`
	// MeanGapMs and MaxGapMs are the times between one chunk and the next.
	MeanGapMs float64 `json:"meanGapMs,omitempty"`
	MaxGapMs  float64 `json:"maxGapMs,omitempty"`
}

// Milliseconds converts a duration for Timing.
func Milliseconds(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }

// Usage counts the tokens of a trial.
type Usage struct {
	PromptTokens int `json:"promptTokens"` // cached ones included
	OutputTokens int `json:"outputTokens"` // thoughts included
	TotalTokens  int `json:"totalTokens"`
	// CachedTokens are the tokens of the prompt that the service had in a cache.
	CachedTokens int `json:"cachedTokens,omitempty"`
	// WrittenTokens are the tokens of the prompt that the service put into a cache, HourTokens those of them that it keeps for
	// an hour.
	WrittenTokens int `json:"writtenTokens,omitempty"`
	HourTokens    int `json:"hourTokens,omitempty"`
	// ToolUseTokens are the tokens of what the service's own tools added to the prompt; PromptTokens leaves them out.
	ToolUseTokens int `json:"toolUseTokens,omitempty"`
	// ReasoningTokens are the tokens of the output that the model thought with; OutputTokens has them in.
	ReasoningTokens int         `json:"reasoningTokens,omitempty"`
	Source          UsageSource `json:"source"`
	// Batch are the calls that came by batch; nil for none.
	Batch *BatchUsage `json:"batch,omitempty"`
	// Long are the calls with prompts of more than LongPrompt tokens, without those in Batch. Price lists may have other prices
	// for them. Runs of earlier versions have none.
	Long []Billed `json:"long,omitempty"`
	// Extra are the fields of the service's own record that evalrun does not add up, such as tokens by modality.
	Extra Extra `json:"extra,omitempty"`
}

// withheld is the usage without what the service may have added.
func (u *Usage) withheld() *Usage {
	if u == nil || u.Extra == nil {
		return u
	}
	out := *u
	out.Extra = nil
	return &out
}

// UsageSource says where the numbers of a Usage come from.
type UsageSource string

// Sources of usage, the surest first.
const (
	UsageService   UsageSource = "service"   // the answer carried usageMetadata
	UsageCounted   UsageSource = "counted"   // countTokens on the output
	UsageEstimated UsageSource = "estimated" // guessed from the length of the text
)

// Cause says why there is no answer or no score, where evalrun knows a command that helps. The zero Cause is none: the
// text alone says why.
type Cause string

// The causes; the words of the run file.
const (
	NothingAccepted Cause = "nothingAccepted" // a snapshot has no expected answer yet, and the answer may become it
	NeverCalled     Cause = "neverCalled"     // a judge that gets no requests has no reply on record
	UnreadByJQ      Cause = "unreadByJQ"      // an expression of the target does not fit the reply
)

// DefaultEmbeddingModel embeds where a suite names no model for it.
const DefaultEmbeddingModel = "embedding-001"

// EmbedCall requests the vectors of texts, in one call of the service.
type EmbedCall struct {
	Model      string
	APIVersion string
	Service    string   // by name; "" for the unnamed one
	Texts      []string // from 1 to wire.MaxEmbedTexts
	Timing     Timing
}
