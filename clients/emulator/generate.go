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
	"github.com/evalrun/evalrun/variable"
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
	Total      int `json:"totalTokenCount"`
}

// generate answers generateContent and, in chunks, streamGenerateContent.
func (e *Emulator) generate(w http.ResponseWriter, r *http.Request, m *eval.Model, real string, stream bool) {
	req, p := readTurns(r, m, real)
	if p != nil {
		fail(w, p)
		return
	}
	rule, n := e.opts.Script.match(req, real)
	rng := e.draws.source(e.opts.Seed, r, req)
	if !e.wait(r, rule.latency(rng)) {
		return
	}
	if rule.raw != "" {
		e.raw(w, r, rule, rule.fault(rng, n))
		return
	}
	answer, err := e.answer(req, rule, m, real, rng)
	if err != nil {
		fail(w, &problem{http.StatusNotImplemented, "UNIMPLEMENTED", "the emulator's script cannot make an answer: " + err.Error(), ""})
		return
	}
	f := rule.fault(rng, n)
	encode := e.opts.Script.encoding(rng)
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
func readTurns(r *http.Request, m *eval.Model, real string) (*request, *problem) {
	req, p := readRequest(r)
	if p == nil {
		p = req.checkTurns()
	}
	if p == nil {
		p = req.checkModel(m, real)
	}
	return req, p
}

// encoding draws whether an answer has fields that no client knows.
func (s *Script) encoding(rng *rand.Rand) func(wireResponse) []byte {
	if s.unknownFields > 0 && rng.Float64() < s.unknownFields {
		return withUnknownFields
	}
	return plainly
}

// raw sends the literal body of a rule, or what a fault leaves of it.
func (e *Emulator) raw(w http.ResponseWriter, r *http.Request, rule *rule, f *fault) {
	if f != nil {
		e.misbehave(w, r, f, []byte(rule.raw))
		return
	}
	w.Header().Set("Content-Type", jsonType)
	if body := strings.TrimSpace(rule.raw); body != "" && !strings.ContainsAny(body[:1], "{[") {
		w.Header().Set("Content-Type", events.contentType)
	}
	_, _ = w.Write([]byte(rule.raw))
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
	outputTokens := 0
	if rule.blockReason == "" {
		for i := range max(1, int(req.GenerationConfig.CandidateCount)) {
			c, err := e.candidate(req, rule, m, real, rng)
			if err != nil {
				return out, err
			}
			c.Index = i
			out.Candidates = append(out.Candidates, c)
			if c.Content != nil {
				outputTokens += estimate.Tokens(len(c.Content.text()))
			}
		}
	}
	if e.opts.Script.usage {
		in := req.tokens()
		out.UsageMetadata = &wireUsage{in, outputTokens, in + outputTokens}
	}
	return out, nil
}

func (e *Emulator) candidate(req *request, rule *rule, m *eval.Model, real string, rng *rand.Rand) (wireCandidate, error) {
	c := wireCandidate{FinishReason: "STOP", SafetyRatings: withDefaults(rule.ratings)}
	if block(c.SafetyRatings, req.SafetySettings) {
		c.FinishReason = "SAFETY"
		return c, nil
	}
	text, err := rule.text(req, real, temperature(req, m), rng)
	if err != nil {
		return c, err
	}
	text, cut := shorten(text, req.GenerationConfig, m.OutputTokenLimit)
	if cut {
		c.FinishReason = "MAX_TOKENS"
	}
	if rule.finishReason != "" {
		c.FinishReason = rule.finishReason
	}
	if !slices.Contains(eval.BlockReasons, c.FinishReason) {
		c.Content = &content{Role: eval.RoleModel, Parts: []part{{Text: &text}}}
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

// text makes the reply of the rule.
func (ru *rule) text(req *request, model string, temperature float64, rng *rand.Rand) (string, error) {
	if len(ru.replies) == 0 {
		return req.prompt(), nil
	}
	chosen := ru.replies[pick(ru.replies, temperature, rng)]
	vars := variable.Dict{
		"prompt": req.prompt(), "model": model,
		"turns": strconv.Itoa(len(req.Contents)), "images": strconv.Itoa(req.images()),
		"groups": ru.groups(req.prompt()),
	}
	return chosen.text.Render(vars)
}

// pick draws a reply by weight: the heaviest at temperature 0, as given at 1, and the more
// even the higher.
func pick(replies []weighted, temperature float64, rng *rand.Rand) int {
	if len(replies) == 1 {
		return 0
	}
	best := heaviest(replies)
	if temperature <= 0 {
		return best
	}
	sum := 0.0
	shares := make([]float64, len(replies))
	for i, r := range replies {
		shares[i] = math.Pow(r.weight/replies[best].weight, 1/temperature)
		sum += shares[i]
	}
	at := rng.Float64() * sum
	for i, s := range shares {
		if at -= s; at < 0 {
			return i
		}
	}
	return best
}

// heaviest is the place of the first reply that no other outweighs.
func heaviest(replies []weighted) int {
	best := 0
	for i, r := range replies {
		if r.weight > replies[best].weight {
			best = i
		}
	}
	return best
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
