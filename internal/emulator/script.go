package emulator

import (
	"crypto/sha256"
	_ "embed" // the demo script
	"fmt"
	"math"
	"math/rand/v2"
	"regexp"
	"slices"
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
}

// Sum returns the SHA-256 digest of the script's text, in hex.
func (s *Script) Sum() string { return s.sum }

type rule struct {
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
	m := root.Map(scriptBlock.Names()...)
	s.usage = m.Get("usage").Bool()
	s.unknownFields = m.Get("unknownFields").Float(0, 1)
	if v := m.Get("requestFields"); !v.IsZero() {
		s.listsFields, s.fields = true, v.Strings()
	}
	for _, n := range m.Get("rules").Seq() {
		s.rules = append(s.rules, readRule(n))
	}
	return s
}

func readRule(n yaml.Node) *rule {
	m := n.Map(ruleBlock.Names()...)
	r := &rule{
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
		w := item.Map(ratingBlock.Names()...)
		r.ratings = append(r.ratings, eval.SafetyRating{
			Category:    w.Need("category").Str(),
			Probability: w.Need("probability").Str(),
		})
	}
	r.readLatency(m.Get("latency"))
	stream := m.Get("stream").Map(streamBlock.Names()...)
	r.chunks, r.gap = stream.Get("chunks").Int(1, 1_000_000), stream.Get("gap").Duration()
	for _, item := range m.Get("faults").Seq() {
		r.faults = append(r.faults, readFault(item))
	}
	return r
}

func (r *rule) readMatch(n yaml.Node) {
	m := n.Map(matchBlock.Names()...)
	if v := m.Get("model"); !v.IsZero() {
		r.model = new(eval.Pattern(v.Str()))
	}
	if v := m.Get("text"); !v.IsZero() {
		r.text = new(eval.Pattern(v.Str()))
	}
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
	if v := m.Get("system"); !v.IsZero() {
		r.system = new(eval.Pattern(v.Str()))
	}
	r.turns, r.step = m.Get("turns").Int(1, math.MaxInt16), m.Get("step").Int(1, math.MaxInt16)
	r.results = readResultMatch(m)
}

func (r *rule) readLatency(n yaml.Node) {
	if n.IsMapping() {
		m := n.Map(latencyBlock.Names()...)
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

// saysAny reports whether the rule matches all prompts.
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
