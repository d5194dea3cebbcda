package emulator

import (
	"hash/fnv"
	"math"
	"math/rand/v2"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/estimate"
	"github.com/evalrun/evalrun/internal/service"
)

// draws hands out random sources that depend on nothing but the seed, what is asked,
// and how often it was asked before.
type draws struct {
	mu   sync.Mutex
	seen map[uint64]uint64
}

func (d *draws) source(seed uint64, r *http.Request, req *request) *rand.Rand {
	h := fnv.New64a()
	if trial := r.Header.Get(service.TrialHeader); trial != "" {
		_, _ = h.Write([]byte(trial))
	} else {
		_, _ = h.Write(req.Raw)
	}
	key := h.Sum64()
	d.mu.Lock()
	d.seen[key]++
	n := d.seen[key]
	d.mu.Unlock()
	return rand.New(rand.NewPCG(seed^key, n)) //nolint:gosec // a repeatable draw is the point
}

type wireResponse struct {
	Candidates     []wireCandidate `json:"candidates,omitempty"`
	PromptFeedback *wireFeedback   `json:"promptFeedback,omitempty"`
	UsageMetadata  *wireUsage      `json:"usageMetadata,omitempty"`
	ModelVersion   string          `json:"modelVersion"`
}

type wireCandidate struct {
	Content       *content            `json:"content,omitempty"`
	FinishReason  string              `json:"finishReason,omitempty"`
	Index         int                 `json:"index"`
	SafetyRatings []eval.SafetyRating `json:"safetyRatings"`
}

type wireFeedback struct {
	BlockReason   string              `json:"blockReason,omitempty"`
	SafetyRatings []eval.SafetyRating `json:"safetyRatings"`
}

type wireUsage struct {
	Prompt     int `json:"promptTokenCount"`
	Candidates int `json:"candidatesTokenCount"`
	Thoughts   int `json:"thoughtsTokenCount,omitempty"`
	Cached     int `json:"cachedContentTokenCount,omitempty"` // only a script knows this and the next one
	ToolUse    int `json:"toolUsePromptTokenCount,omitempty"`
	Total      int `json:"totalTokenCount"`
}

// generate answers generateContent and, in chunks, streamGenerateContent.
func (e *Emulator) generate(w http.ResponseWriter, r *http.Request, m *eval.Model, real string, stream bool) {
	req, p := e.readTurns(r, m, real)
	if p != nil {
		fail(w, p)
		return
	}
	rule, n := e.opts.Script.match(req, real)
	rng := e.draws.source(e.opts.Seed, r, req)
	if !e.wait(r, rule.latency(rng)) {
		return
	}
	if rule.raw != nil {
		e.raw(w, r, rule, rule.fault(rng, n), stream)
		return
	}
	answer, err := e.answer(req, rule, m, real, rng)
	if err != nil {
		fail(w, &problem{http.StatusNotImplemented, "UNIMPLEMENTED", "the emulator's script cannot make an answer: " + err.Error(), ""})
		return
	}
	f := rule.fault(rng, n)
	encode := e.opts.Script.encoding(rule, rng)
	switch {
	case stream && (f == nil || f.inStream()):
		s := newStreamWriter(w, framingOf(r))
		chunks := encodeChunks(split(answer, rule.chunks), func(c wireResponse) []byte { return s.fit(encode(c)) })
		e.stream(s, r, rule, f, chunks)
	case f != nil:
		e.misbehave(w, r, f, plainly(answer))
	default:
		w.Header().Set("Content-Type", jsonType)
		_, _ = w.Write(encode(answer))
	}
}

// readTurns reads a request for an answer and checks it against the model.
func (e *Emulator) readTurns(r *http.Request, m *eval.Model, real string) (*request, *problem) {
	req := &request{}
	body, p := readJSON(r, req)
	if p != nil {
		return nil, p
	}
	req.Raw = body
	for _, check := range []func() *problem{
		func() *problem { return e.opts.Script.checkFields(body, requestFields) },
		req.check,
		req.checkTurns,
		func() *problem { return req.checkModel(m, real) },
	} {
		if p := check(); p != nil {
			return nil, p
		}
	}
	return req, nil
}

// encoding draws whether an answer of a rule has fields that no client knows.
func (s *Script) encoding(ru *rule, rng *rand.Rand) func(wireResponse) []byte {
	share := s.unknownFields
	if ru.unknownFields != nil {
		share = *ru.unknownFields
	}
	if share > 0 && rng.Float64() < share {
		return withUnknownFields
	}
	return plainly
}

// wait sleeps for d; false when the client has gone meanwhile.
func (e *Emulator) wait(r *http.Request, d time.Duration) bool {
	if d <= 0 {
		return true
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-r.Context().Done():
	case <-e.stop:
	}
	return false
}

func (e *Emulator) answer(req *request, rule *rule, m *eval.Model, real string, rng *rand.Rand) (wireResponse, error) {
	out := wireResponse{ModelVersion: "emulator-" + real}
	prompt := withDefaults(nil)
	if rule.blockReason != "" {
		prompt = withDefaults(rule.ratings)
	}
	out.PromptFeedback = &wireFeedback{BlockReason: rule.blockReason, SafetyRatings: prompt}
	usage := wireUsage{Prompt: req.tokens()}
	if rule.blockReason == "" {
		for i := range max(1, int(req.GenerationConfig.CandidateCount)) {
			c, err := e.candidate(req, rule, m, real, rng)
			if err != nil {
				return out, err
			}
			c.Index = i
			usage.add(c)
			out.Candidates = append(out.Candidates, c.wireCandidate)
		}
	}
	if rule.usage != nil {
		usage.Cached, usage.ToolUse = rule.usage.cached, rule.usage.toolUse
	}
	if e.opts.Script.usage || rule.usage != nil {
		usage.Total = usage.Prompt + usage.Candidates + usage.Thoughts + usage.ToolUse
		out.UsageMetadata = &usage
	}
	return out, nil
}

// add counts the tokens of a candidate.
func (u *wireUsage) add(c candidate) {
	u.Thoughts += estimate.Tokens(len(c.thought))
	if c.Content == nil {
		return
	}
	bytes := 0
	for i := range c.Content.Parts {
		bytes += c.Content.Parts[i].bytes()
	}
	u.Candidates += estimate.Tokens(bytes)
}

// candidate is one of the answer, with what was thought for it, whether or not that is shown.
type candidate struct {
	wireCandidate
	thought string
}

// emptyReasons are the finish reasons of candidates without content.
var emptyReasons = append(slices.Clone(eval.BlockReasons), "MALFORMED_FUNCTION_CALL", "UNEXPECTED_TOOL_CALL")

func (e *Emulator) candidate(req *request, rule *rule, m *eval.Model, real string, rng *rand.Rand) (candidate, error) {
	c := candidate{wireCandidate: wireCandidate{FinishReason: "STOP", SafetyRatings: withDefaults(rule.ratings)}}
	if block(c.SafetyRatings, req.SafetySettings) {
		c.FinishReason = "SAFETY"
		return c, nil
	}
	said, err := rule.say(req, real, temperature(req, m), rng)
	if err != nil {
		return c, err
	}
	said.heed(req)
	if said.shorten(req.GenerationConfig, m.OutputTokenLimit) {
		c.FinishReason = eval.CutReason
	}
	if rule.finishReason != "" {
		c.FinishReason = rule.finishReason
	}
	c.thought = said.thought
	if !slices.Contains(emptyReasons, c.FinishReason) {
		c.Content = &content{Role: eval.RoleModel, Parts: said.parts(req.GenerationConfig.hidesThoughts())}
	}
	return c, nil
}

func temperature(req *request, m *eval.Model) float64 {
	switch {
	case req.GenerationConfig.Temperature != nil:
		return *req.GenerationConfig.Temperature
	case m.Temperature != nil:
		return *m.Temperature
	}
	return 1
}

// shorten applies stop sequences and the token limit, and says whether the limit cut the
// text.
func shorten(text string, c config, limit int) (string, bool) {
	for _, stop := range c.StopSequences {
		if i := strings.Index(text, stop); i >= 0 && stop != "" {
			text = text[:i]
		}
	}
	if c.MaxOutputTokens != nil {
		limit = min(limit, int(*c.MaxOutputTokens))
	}
	if estimate.Tokens(len(text)) <= limit {
		return text, false
	}
	end := 4 * limit
	for end > 0 && !utf8.RuneStart(text[end]) {
		end--
	}
	return text[:end], true
}

// withDefaults completes ratings to one per category.
func withDefaults(given []eval.SafetyRating) []eval.SafetyRating {
	out := slices.Clone(given)
	for _, c := range service.Categories {
		if !slices.ContainsFunc(out, func(r eval.SafetyRating) bool { return r.Category == c }) {
			out = append(out, eval.SafetyRating{Category: c, Probability: "NEGLIGIBLE"})
		}
	}
	return out
}

// blockedFrom is the level from which a threshold blocks. The specification names
// BLOCK_ONLY_HIGH and a default; the others are what clients of this protocol send.
func blockedFrom(threshold string) int {
	switch threshold {
	case "BLOCK_LOW_AND_ABOVE":
		return 1
	case "BLOCK_ONLY_HIGH":
		return 3
	case "BLOCK_NONE", "OFF":
		return 4
	}
	return 2 // BLOCK_MEDIUM_AND_ABOVE
}

// block marks the ratings that the settings block and reports whether there are any.
func block(ratings []eval.SafetyRating, settings []setting) bool {
	any := false
	for i, r := range ratings {
		threshold := ""
		for _, s := range settings {
			if s.Category.category() == r.Category {
				threshold = s.Threshold.threshold()
			}
		}
		if r.Level() >= blockedFrom(threshold) {
			ratings[i].Blocked = true
			any = true
		}
	}
	return any
}

// misbehave does what the fault says instead of answering.
func (e *Emulator) misbehave(w http.ResponseWriter, r *http.Request, f *fault, body []byte) {
	switch {
	case f.status > 0:
		if f.retryAfter > 0 {
			w.Header().Set("Retry-After", strconv.Itoa(int(math.Ceil(f.retryAfter.Seconds()))))
		}
		fail(w, &problem{f.status, codeOf(f.status), f.words(), ""})
	case f.hang:
		select {
		case <-r.Context().Done():
		case <-e.stop:
		}
		panic(http.ErrAbortHandler)
	case f.cut:
		w.Header().Set("Content-Type", jsonType)
		w.Header().Set("Content-Length", strconv.Itoa(len(body)))
		_, _ = w.Write(body[:len(body)/2]) //nolint:gosec // JSON, and said to be
		if flusher, ok := w.(http.Flusher); ok {
			flusher.Flush()
		}
		panic(http.ErrAbortHandler)
	default:
		w.Header().Set("Content-Type", jsonType)
		_, _ = w.Write([]byte(malformed(f.malformed)))
	}
}

// malformed is the body of an answer that is not what it should be.
func malformed(how string) string {
	switch how {
	case "json":
		return `{"candidates": [}`
	case "html":
		return "<!DOCTYPE html><html><body>Bad gateway</body></html>"
	case "type":
		return `{"candidates": "none"}`
	case "none":
		return `{"candidates": []}`
	case "error":
		return `{"error": {"code": 500, "message": "the emulator's script asks for this fault", "status": "INTERNAL"}}`
	}
	return "" // "empty"
}

func codeOf(status int) string {
	switch status {
	case http.StatusBadRequest:
		return "INVALID_ARGUMENT"
	case http.StatusUnauthorized:
		return "UNAUTHENTICATED"
	case http.StatusForbidden:
		return "PERMISSION_DENIED"
	case http.StatusNotFound:
		return "NOT_FOUND"
	case http.StatusTooManyRequests:
		return "RESOURCE_EXHAUSTED"
	case http.StatusServiceUnavailable:
		return "UNAVAILABLE"
	case http.StatusGatewayTimeout:
		return "DEADLINE_EXCEEDED"
	}
	return "INTERNAL"
}
