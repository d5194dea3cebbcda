package emulator

import (
	"bytes"
	"crypto/sha256"
	_ "embed" // the demo script
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/evalrun/evalrun/diag"
	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/yaml"
)

// Script is a list of rules. The first rule that matches a request answers it; without a match the prompt
// is echoed.
type Script struct {
	rules         []*rule
	usage         bool
	unknownFields float64 // share of answers with unknown fields
	listsFields   bool    // requests may only have the service's own fields and these
	fields        []string
	sum           string
	batch         batchScript
}

type batchScript struct {
	after   time.Duration // they take at least this long
	polls   int           // they are open for this many questions
	shuffle bool          // results come in another order
	faults  []fault
}

// progress is how many items of an open batch are done.
func (s *batchScript) progress(b *batch, now time.Time) int {
	part := 1.0
	if s.after > 0 {
		part = min(part, float64(now.Sub(b.Created))/float64(s.after))
	}
	if s.polls > 0 {
		part = min(part, float64(b.Asked)/float64(s.polls+1))
	}
	return int(part * float64(b.Items))
}

func readBatch(n yaml.Node) batchScript {
	m := n.Map(batchBlock().Names()...)
	s := batchScript{after: m.Get("after").Duration(), polls: m.Get("polls").Int(0, math.MaxInt32), shuffle: m.Get("shuffle").Bool()}
	for _, item := range m.Get("faults").Seq() {
		s.faults = append(s.faults, readFault(item, batchFaultBlock()))
	}
	return s
}

// Sum returns the SHA-256 digest of the script's text, in hex.
func (s *Script) Sum() string { return s.sum }

type rule struct {
	line          int           // in the script
	model, text   *eval.Pattern // nil: any
	re            *regexp.Regexp
	image         *bool
	turns, step   int
	results       resultMatch
	system        *eval.Pattern
	replies       []weighted
	raw           *rawReply // nil: the answer is made from the replies
	usage         *extraUsage
	unknownFields *float64 // nil: the script's share
	finishReason  string
	ratings       []eval.SafetyRating
	blockReason   string
	median, tail  time.Duration // p50 and p99
	chunks        int           // of a stream; 0: split by words
	gap           time.Duration // between chunks
	faults        []fault
	matches       atomic.Int64
}

//go:embed demo.yaml
var demo []byte

// DemoScript returns the script of `--emulator` without a file. It answers evalrun's example suites.
func DemoScript() *Script {
	var diags diag.List
	s := LoadScript("demo.yaml", demo, &diags)
	if err := diags.Err(); err != nil {
		panic(err) // embedded, and loaded by a test
	}
	return s
}

// LoadScript parses a script and adds its problems to diags.
func LoadScript(file string, src []byte, diags *diag.List) *Script {
	s := &Script{sum: fmt.Sprintf("%x", sha256.Sum256(src))}
	root, ok := yaml.Parse(file, src, diags)
	if !ok {
		return s
	}
	m := root.Map(scriptBlock().Names()...)
	s.usage = m.Get("usage").Bool()
	s.unknownFields = m.Get("unknownFields").Float(0, 1)
	if v := m.Get("requestFields"); !v.IsZero() {
		s.listsFields, s.fields = true, v.Strings()
	}
	s.batch = readBatch(m.Get("batch"))
	for _, n := range m.Get("rules").Seq() {
		s.rules = append(s.rules, readRule(n))
	}
	return s
}

// Idle lists the lines of the rules that no request has matched.
func (s *Script) Idle() (lines []int) {
	for _, r := range s.rules {
		if r.matches.Load() == 0 {
			lines = append(lines, r.line)
		}
	}
	return lines
}

func readRule(n yaml.Node) *rule {
	m := n.Map(ruleBlock().Names()...)
	r := &rule{
		line:         n.Pos().Line,
		finishReason: m.Get("finishReason").Str(),
		blockReason:  m.Get("blockReason").Str(),
	}
	r.readMatch(m.Get("match"))
	r.readReplies(m)
	r.raw = readRaw(m.Get("raw"))
	if r.raw != nil && (len(r.replies) > 0 || m.Has("replies")) {
		m.Key("raw").Errorf("", "a rule with raw has no reply, replies, toolCalls or reasoning")
	}
	r.usage = readUsage(m.Get("usage"))
	if v := m.Get("unknownFields"); !v.IsZero() {
		r.unknownFields = new(v.Float(0, 1))
	}
	for _, item := range m.Get("safetyRatings").Seq() {
		w := item.Map(ratingBlock().Names()...)
		r.ratings = append(r.ratings, eval.SafetyRating{
			Category:    w.Need("category").Str(),
			Probability: w.Need("probability").Str(),
		})
	}
	r.readLatency(m.Get("latency"))
	stream := m.Get("stream").Map(streamBlock().Names()...)
	r.chunks, r.gap = stream.Get("chunks").Int(1, 1_000_000), stream.Get("gap").Duration()
	for _, item := range m.Get("faults").Seq() {
		r.faults = append(r.faults, readFault(item, faultBlock()))
	}
	return r
}

func (r *rule) readMatch(n yaml.Node) {
	m := n.Map(matchBlock().Names()...)
	r.model, r.text, r.system = readGlob(m.Get("model")), readGlob(m.Get("text")), readGlob(m.Get("system"))
	if v := m.Get("regex"); !v.IsZero() {
		re, err := regexp.Compile(v.Str())
		if err != nil {
			v.Errorf("", "not a regular expression: %s", err)
		}
		r.re = re
	}
	if v := m.Get("image"); !v.IsZero() {
		r.image = new(v.Bool())
	}
	r.turns, r.step = m.Get("turns").Int(1, math.MaxInt16), m.Get("step").Int(1, math.MaxInt16)
	r.results = resultMatch{readGlob(m.Get("result")), readGlob(m.Get("resultText"))}
}

func readGlob(n yaml.Node) *eval.Pattern {
	if n.IsZero() {
		return nil
	}
	return new(eval.Pattern(n.Str()))
}

func (r *rule) readLatency(n yaml.Node) {
	if n.IsMapping() {
		m := n.Map(latencyBlock().Names()...)
		r.median, r.tail = m.Need("p50").Duration(), m.Need("p99").Duration()
		if r.tail > 0 && r.tail < r.median {
			m.Get("p99").Errorf("", "p99 is below p50")
		}
		return
	}
	r.median = n.Duration()
	r.tail = r.median
}

// match returns the rule for a request and how often it has matched. Without a match it returns an empty
// rule, which echoes, and 0. After an invalid reply, a judge gets its question again. Unless a rule matches
// that turn, the rule for the question answers again.
func (s *Script) match(req *request, model string) (*rule, int64) {
	i := s.find(req, model, req.prompt())
	if question, repeated := req.repeatedQuestion(); repeated && (i < 0 || s.rules[i].saysAny()) {
		if of := s.find(req, model, question); of >= 0 {
			i, req.question = of, question
		}
	}
	if i < 0 {
		return &rule{}, 0
	}
	return s.rules[i], s.rules[i].matches.Add(1)
}

// find returns the index of the first rule that matches, -1 if there is none.
func (s *Script) find(req *request, model, prompt string) int {
	return slices.IndexFunc(s.rules, func(r *rule) bool {
		return (r.model == nil || r.model.Match(model)) && r.says(prompt) && r.fits(req)
	})
}

func (r *rule) saysAny() bool { return (r.text == nil || *r.text == "*") && r.re == nil }

func (r *rule) says(prompt string) bool {
	return (r.text == nil || r.text.Match(prompt)) && (r.re == nil || r.re.MatchString(prompt))
}

func (r *rule) fits(req *request) bool {
	return (r.image == nil || *r.image == (req.images() > 0)) && (r.turns == 0 || r.turns == len(req.Contents)) &&
		(r.step == 0 || r.step == req.step()) && (r.system == nil || r.system.Match(req.system())) && r.results.fits(req)
}

func (r *rule) groups(prompt string) eval.Array {
	var out eval.Array
	if r.re != nil {
		for _, g := range r.re.FindStringSubmatch(prompt) {
			out = append(out, g)
		}
	}
	return out
}

// z99 is the 99 % point of the standard normal distribution.
const z99 = 2.3263478740408408

// latency draws from the log-normal distribution with the rule's median and 99 % point.
func (r *rule) latency(rng *rand.Rand) time.Duration {
	if r.median <= 0 || r.tail <= r.median {
		return r.median
	}
	sigma := math.Log(float64(r.tail)/float64(r.median)) / z99
	return time.Duration(float64(r.median) * math.Exp(sigma*rng.NormFloat64()))
}

// resultMatch says which function result a rule matches. Without patterns it matches requests with and
// without results.
type resultMatch struct{ name, text *eval.Pattern }

func (m resultMatch) fits(req *request) bool {
	return m.name == nil && m.text == nil || slices.ContainsFunc(req.lastResults(), m.matches)
}

func (m resultMatch) matches(f functionResponse) bool {
	if m.name != nil && !m.name.Match(f.Name) {
		return false
	}
	if m.text == nil {
		return true
	}
	var b bytes.Buffer
	return json.Compact(&b, f.Response) == nil && m.text.Match(b.String())
}

// values returns the matching result, empty if there is none, and the latest result of each function.
func (m resultMatch) values(req *request) (result eval.Value, results eval.Dict) {
	result, results = eval.Object{}, eval.Dict{}
	for _, c := range req.Contents {
		for _, f := range c.responses() {
			results[f.Name] = valueOf(f.Response)
		}
	}
	last := req.lastResults()
	if i := slices.IndexFunc(last, m.matches); i >= 0 {
		result = valueOf(last[i].Response)
	}
	return result, results
}

// valueOf converts JSON to a value for templates.
func valueOf(data []byte) eval.Value {
	v, err := eval.ParseValue(data)
	if err != nil {
		return eval.Null("")
	}
	return v
}

type rawReply struct {
	body   string
	chunks []rawChunk // nil: the body is sent unchanged, streamed or not
}

type rawChunk struct {
	text string
	json bool // made from YAML, so that it can be put on one line
}

// readRaw reads a literal reply. A text is sent unchanged, a mapping becomes JSON, and a list has the
// chunks of a stream, each a mapping or a text.
func readRaw(n yaml.Node) *rawReply {
	switch {
	case n.IsZero():
		return nil
	case n.IsMapping():
		body := string(n.JSON(nil))
		return &rawReply{body, []rawChunk{{body, true}}}
	case n.IsSequence():
		out := &rawReply{}
		var texts []string
		for _, item := range n.Seq() {
			chunk := rawChunk{json: item.IsMapping()}
			if chunk.json {
				chunk.text = string(item.JSON(nil))
			} else {
				chunk.text = item.Str()
			}
			out.chunks, texts = append(out.chunks, chunk), append(texts, chunk.text)
		}
		out.body = jsonArray.open + strings.Join(texts, jsonArray.between) + jsonArray.finished
		return out
	}
	if text := n.Str(); text != "" {
		return &rawReply{body: text}
	}
	return nil
}

func (r *rawReply) framed(s *streamWriter) []string {
	out := make([]string, len(r.chunks))
	for i, c := range r.chunks {
		if out[i] = c.text; c.json && s.framing != jsonArray {
			out[i] = s.form.raw(oneLine(c.text))
		}
	}
	return out
}

func (e *Emulator) raw(w http.ResponseWriter, r *http.Request, rule *rule, f *fault, q *query) {
	switch {
	case q.stream && rule.raw.chunks != nil && (f == nil || f.inStream()):
		s := newStreamWriter(w, q.form.framing(r), q.form)
		e.stream(s, r, rule, f, rule.raw.framed(s))
	case f != nil:
		e.misbehave(w, r, f, q.form, []byte(rule.raw.body))
	default:
		w.Header().Set("Content-Type", jsonType)
		if body := strings.TrimSpace(rule.raw.body); body != "" && !strings.ContainsAny(body[:1], "{[") {
			w.Header().Set("Content-Type", events.contentType)
		}
		_, _ = w.Write([]byte(rule.raw.body))
	}
}
