package emulator

import (
	"cmp"
	"hash/fnv"
	"math/rand/v2"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/clients/wire"
)

// draws hands out random sources. They depend only on the seed, the request, and the number of earlier
// requests for the same.
type draws struct {
	mu   sync.Mutex
	seen map[uint64]uint64
}

func (d *draws) source(seed uint64, r *http.Request, req *request) *rand.Rand {
	h := fnv.New64a()
	if trial := r.Header.Get(wire.TrialHeader); trial != "" {
		_, _ = h.Write([]byte(trial))
	} else {
		_, _ = h.Write(req.Raw)
	}
	key := h.Sum64()
	if item := itemOf(r); item != nil {
		item.Draw = key
	}
	return rand.New(rand.NewPCG(seed^key, d.next(key))) //nolint:gosec // draws must be repeatable
}

// next counts a request for the same.
func (d *draws) next(key uint64) uint64 {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.seen[key]++
	return d.seen[key]
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
	stop          string              // the stop sequence that ended the text
}

type wireFeedback struct {
	BlockReason   string              `json:"blockReason,omitempty"`
	SafetyRatings []eval.SafetyRating `json:"safetyRatings"`
}

type wireUsage struct {
	Prompt     int `json:"promptTokenCount"`
	Candidates int `json:"candidatesTokenCount"`
	Thoughts   int `json:"thoughtsTokenCount,omitempty"`
	Cached     int `json:"cachedContentTokenCount,omitempty"` // only scripts set this and the next one
	ToolUse    int `json:"toolUsePromptTokenCount,omitempty"`
	Total      int `json:"totalTokenCount"`
}

// query is a request for an answer, in any protocol.
type query struct {
	*request
	model  *eval.Model
	real   string // the model behind an alias
	stream bool
	form   answerWriter
}

// outcome is an answer before a protocol writes it.
type outcome struct {
	wireResponse
	counts wireUsage
	odd    bool   // with unknown fields
	id     string // drawn
	query  *query
}

// answerWriter writes answers in the format of one protocol.
type answerWriter interface {
	framing(r *http.Request) framing
	// whole returns a complete answer.
	whole(a *outcome) []byte
	// pieces returns the chunks of a streamed answer.
	pieces(a *outcome, n int) []string
	// raw returns a literal chunk that the script has as a mapping.
	raw(text string) string
	fail(w http.ResponseWriter, p *problem)
	// failure returns an error inside a stream.
	failure(message string) string
	// endless returns a chunk of an endless answer.
	endless() string
	// malformed returns an invalid body.
	malformed(how string) string
}

func (e *Emulator) generate(w http.ResponseWriter, r *http.Request, m *eval.Model, real string, stream bool) {
	req, p := e.readTurns(r, m, real)
	if p != nil {
		fail(w, p)
		return
	}
	e.serve(w, r, &query{req, m, real, stream, native{}})
}

func (e *Emulator) serve(w http.ResponseWriter, r *http.Request, q *query) {
	if q.stream && itemOf(r) != nil {
		q.form.fail(w, badRequest("stream: an answer in a batch cannot be streamed"))
		return
	}
	rule, n := e.opts.Script.match(q.request, q.real)
	if n == 0 {
		e.echoed.Add(1)
	}
	rng := e.draws.source(e.opts.Seed, r, q.request)
	if !e.wait(r, rule.latency(rng)) {
		return
	}
	if rule.raw != nil {
		f := rule.fault(rng, n)
		e.billUnless(f, r, q)
		e.raw(w, r, rule, f, q)
		return
	}
	answer, err := e.answer(q, rule, rng)
	if err != nil {
		q.form.fail(w, &problem{
			http.StatusNotImplemented, "UNIMPLEMENTED", "the emulator's script cannot make an answer: " + err.Error(), "",
		})
		return
	}
	f := rule.fault(rng, n)
	e.billUnless(f, r, q)
	answer.odd = e.opts.Script.odd(rule, rng)
	answer.id = strconv.FormatUint(rng.Uint64(), 16)
	switch {
	case q.stream && (f == nil || f.inStream()):
		s := newStreamWriter(w, q.form.framing(r), q.form)
		e.stream(s, r, rule, f, s.fit(q.form.pieces(answer, rule.chunks)))
	case f != nil:
		answer.odd = false
		e.misbehave(w, r, f, q.form, q.form.whole(answer))
	default:
		w.Header().Set("Content-Type", jsonType)
		_, _ = w.Write(q.form.whole(answer))
	}
}

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

// odd draws whether an answer has fields that clients do not know.
func (s *Script) odd(ru *rule, rng *rand.Rand) bool {
	share := s.unknownFields
	if ru.unknownFields != nil {
		share = *ru.unknownFields
	}
	return share > 0 && rng.Float64() < share
}

// wait sleeps for d. It returns false when the client has gone. Nobody waits for an item of a batch.
func (e *Emulator) wait(r *http.Request, d time.Duration) bool {
	if d <= 0 || itemOf(r) != nil {
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

func (e *Emulator) answer(q *query, rule *rule, rng *rand.Rand) (*outcome, error) {
	out := &outcome{wireResponse: wireResponse{ModelVersion: "emulator-" + q.real}, query: q}
	prompt := withDefaults(nil)
	if rule.blockReason != "" {
		prompt = withDefaults(rule.ratings)
	}
	out.PromptFeedback = &wireFeedback{BlockReason: rule.blockReason, SafetyRatings: prompt}
	usage := wireUsage{Prompt: q.tokens()}
	if rule.blockReason == "" {
		var err error
		if out.Candidates, err = e.candidates(q, rule, rng, &usage); err != nil {
			return nil, err
		}
	}
	if rule.usage != nil {
		usage.Cached, usage.ToolUse = rule.usage.cached, rule.usage.toolUse
	}
	usage.Total = usage.Prompt + usage.Candidates + usage.Thoughts + usage.ToolUse
	out.counts = usage
	if e.opts.Script.usage || rule.usage != nil {
		out.UsageMetadata = &usage
	}
	return out, nil
}

func (u *wireUsage) add(c candidate) {
	u.Thoughts += wire.Tokens(len(c.thought))
	if c.Content == nil {
		return
	}
	bytes := 0
	for i := range c.Content.Parts {
		bytes += c.Content.Parts[i].bytes()
	}
	u.Candidates += wire.Tokens(bytes)
}

// candidate includes the thought, whether or not the answer shows it.
type candidate struct {
	wireCandidate
	thought string
}

// emptyReasons are the finish reasons of candidates without content.
var emptyReasons = append(slices.Clone(eval.BlockReasons), "MALFORMED_FUNCTION_CALL", "UNEXPECTED_TOOL_CALL")

// candidates returns as many candidates as the request wants, and adds their tokens to usage.
func (e *Emulator) candidates(q *query, rule *rule, rng *rand.Rand, usage *wireUsage) (out []wireCandidate, err error) {
	for i := range max(1, int(q.GenerationConfig.CandidateCount)) {
		c, err := e.candidate(q.request, rule, q.model, q.real, rng)
		if err != nil {
			return nil, err
		}
		c.Index = i
		usage.add(c)
		out = append(out, c.wireCandidate)
	}
	return out, nil
}

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
	stop, cut := said.shorten(req.GenerationConfig, m.OutputTokenLimit)
	c.stop = stop
	if cut {
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

// shorten applies stop sequences and the token limit. It returns the sequence that ended the text, or that
// the limit cut it.
func shorten(text string, c config, limit int) (short, stop string, cut bool) {
	for _, one := range c.StopSequences {
		if i := strings.Index(text, one); i >= 0 && one != "" {
			text, stop = text[:i], one
		}
	}
	if c.MaxOutputTokens != nil {
		limit = min(limit, int(*c.MaxOutputTokens))
	}
	if wire.Tokens(len(text)) <= limit {
		return text, stop, false
	}
	end := 4 * limit
	for end > 0 && !utf8.RuneStart(text[end]) {
		end--
	}
	return text[:end], "", true
}

// withDefaults adds a rating for each category without one.
func withDefaults(given []eval.SafetyRating) []eval.SafetyRating {
	out := slices.Clone(given)
	for _, c := range wire.Categories {
		if !slices.ContainsFunc(out, func(r eval.SafetyRating) bool { return r.Category == c }) {
			out = append(out, eval.SafetyRating{Category: c, Probability: "NEGLIGIBLE"})
		}
	}
	return out
}

// blockedFrom returns the level from which a threshold blocks. The specification only names BLOCK_ONLY_HIGH
// and a default; clients of this protocol send the others.
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

// block marks the ratings that the settings block, and reports whether there are any.
func block(ratings []eval.SafetyRating, settings []safetySetting) bool {
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

func codeOf(status int) string {
	codes := map[int]string{
		http.StatusBadRequest:         "INVALID_ARGUMENT",
		http.StatusUnauthorized:       "UNAUTHENTICATED",
		http.StatusForbidden:          "PERMISSION_DENIED",
		http.StatusNotFound:           "NOT_FOUND",
		http.StatusTooManyRequests:    "RESOURCE_EXHAUSTED",
		http.StatusServiceUnavailable: "UNAVAILABLE",
		http.StatusGatewayTimeout:     "DEADLINE_EXCEEDED",
	}
	return cmp.Or(codes[status], "INTERNAL")
}
