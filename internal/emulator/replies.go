package emulator

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"hash/fnv"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"

	"github.com/evalrun/evalrun/diag"
	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/expr"
	"github.com/evalrun/evalrun/internal/wirejson"
	"github.com/evalrun/evalrun/internal/yaml"
)

type weighted struct {
	text    *expr.Template // nil: no text, and without calls the prompt is echoed
	calls   []scriptedCall
	thought *expr.Template // nil: no thought
	weight  float64
}

// scriptedCall is a function call. The texts in its arguments are templates.
type scriptedCall struct {
	id, name string
	args     any // as decoded from JSON, with templates for texts
}

// replyVariables are the names that the templates of a script may use.
var replyVariables = []string{"prompt", "model", "turns", "images", "groups", "system", "step", "result", "results"}

func listed(words []string) string {
	return strings.Join(words[:len(words)-1], ", ") + " and " + words[len(words)-1]
}

// readReplies reads the answers of a rule: one from reply, toolCalls and reasoning, or several from
// replies.
func (r *rule) readReplies(m yaml.Map) {
	one := []string{"reply", "toolCalls", "reasoning"}
	if slices.ContainsFunc(one, m.Has) {
		if m.Has("replies") {
			m.Key("replies").Errorf("", "a rule with replies has no reply, toolCalls or reasoning outside the list")
		}
		r.replies = []weighted{readReply(m, "reply")}
	}
	for _, item := range m.Get("replies").Seq() {
		w := item.Map(replyBlock().Names()...)
		if item.IsMapping() && !w.Has("text") && !w.Has("toolCalls") {
			item.Errorf("", "an answer has text, toolCalls or both")
		}
		answer := readReply(w, "text")
		if v := w.Get("weight"); !v.IsZero() {
			answer.weight = v.Float(1e-9, 1e9)
		}
		r.replies = append(r.replies, answer)
	}
}

func readReply(m yaml.Map, text string) weighted {
	out := weighted{weight: 1}
	if v := m.Get(text); !v.IsZero() {
		out.text = replyTemplate(v)
	}
	if v := m.Get("reasoning"); !v.IsZero() {
		out.thought = replyTemplate(v)
	}
	for _, item := range m.Get("toolCalls").Seq() {
		call := item.Map(callBlock().Names()...)
		out.calls = append(out.calls, scriptedCall{
			id:   call.Get("id").Str(),
			name: call.Need("name").Str(),
			args: readArgs(call.Get("args")),
		})
	}
	return out
}

// readArgs reads the arguments of a call; without any it returns an empty object.
func readArgs(n yaml.Node) any {
	if n.IsZero() {
		return map[string]any{}
	}
	n.Map() // reports anything but a mapping
	n.EachText(func(at yaml.Node, _ string) { replyTemplate(at) })
	return decoded(n.JSON(nil))
}

// extraUsage has token counts that only a script can set.
type extraUsage struct{ cached, toolUse int }

func readUsage(n yaml.Node) *extraUsage {
	if n.IsZero() {
		return nil
	}
	m := n.Map(usageBlock().Names()...)
	return &extraUsage{m.Get("cachedContentTokenCount").Int(0, math.MaxInt32), m.Get("toolUsePromptTokenCount").Int(0, math.MaxInt32)}
}

// decoded decodes JSON, with numbers as they are written; nil if it is invalid.
func decoded(data []byte) any {
	var out any
	dec := json.NewDecoder(strings.NewReader(string(data)))
	dec.UseNumber()
	if dec.Decode(&out) != nil {
		return nil
	}
	return out
}

// replyTemplate parses a template of a script. It reports problems at n.
func replyTemplate(n yaml.Node) *expr.Template {
	t, err := expr.Parse(n.Str())
	if err == nil {
		for _, f := range t.Fields() {
			if !slices.Contains(replyVariables, f.Name) {
				n.ErrorfAt(f.Offset, diag.DidYouMean(f.Name, replyVariables), "there is no variable `%s`", f.Name)
			}
		}
		return t
	}
	var e *expr.TemplateError
	if errors.As(err, &e) && !n.IsZero() {
		n.Errorf("variables: "+strings.Join(replyVariables, ", "), "in the template: %s", e.Message)
	}
	t, _ = expr.Parse("")
	return t
}

// saying is an answer while it is made.
type saying struct {
	text    *string // nil: none
	thought string
	calls   []functionCall
	prompt  string // echoed if the rule has no text
}

// say draws one of the rule's answers and renders its templates.
func (r *rule) say(req *request, model string, temperature float64, rng *rand.Rand) (*saying, error) {
	out := &saying{prompt: req.prompt()}
	if len(r.replies) == 0 {
		out.text = &out.prompt
		return out, nil
	}
	chosen := r.replies[pick(r.replies, temperature, rng)]
	vars := r.variables(req, model)
	if chosen.text == nil && len(chosen.calls) == 0 {
		out.text = &out.prompt
	}
	return out, out.fill(chosen, vars)
}

func (s *saying) fill(from weighted, vars eval.Dict) error {
	if from.text != nil {
		text, err := from.text.Render(vars)
		if err != nil {
			return err
		}
		s.text = &text
	}
	if from.thought != nil {
		var err error
		if s.thought, err = from.thought.Render(vars); err != nil {
			return err
		}
	}
	for _, c := range from.calls {
		call, err := c.render(vars)
		if err != nil {
			return err
		}
		s.calls = append(s.calls, call)
	}
	return nil
}

func (r *rule) variables(req *request, model string) eval.Dict {
	prompt := req.prompt()
	result, results := r.results.values(req)
	return eval.Dict{
		"prompt": prompt, "model": model, "system": req.system(),
		"turns": strconv.Itoa(len(req.Contents)), "images": strconv.Itoa(req.images()), "step": strconv.Itoa(req.step()),
		"groups": r.groups(prompt), "result": result, "results": results,
	}
}

func (c scriptedCall) render(vars eval.Dict) (functionCall, error) {
	args, err := filled(c.args, vars)
	if err != nil {
		return functionCall{}, err
	}
	data, err := wirejson.Marshal(args)
	return functionCall{ID: c.id, Name: c.name, Args: data}, err
}

// filled copies a decoded value with its templates rendered.
func filled(v any, vars eval.Dict) (any, error) {
	switch v := v.(type) {
	case string:
		t, err := expr.Parse(v)
		if err != nil { // checked when the script was read
			return nil, err
		}
		return t.Render(vars)
	case map[string]any:
		out := make(map[string]any, len(v))
		for name, value := range v {
			one, err := filled(value, vars)
			if err != nil {
				return nil, err
			}
			out[name] = one
		}
		return out, nil
	case []any:
		out := make([]any, len(v))
		for i, value := range v {
			one, err := filled(value, vars)
			if err != nil {
				return nil, err
			}
			out[i] = one
		}
		return out, nil
	}
	return v, nil
}

// heed applies the request's mode for function calls. NONE removes calls; ANY requires a call of an allowed
// function.
func (s *saying) heed(req *request) {
	switch req.mode() {
	case modeNone:
		s.calls = nil
		if s.text == nil {
			s.text = &s.prompt
		}
	case modeAny:
		allowed := req.allowed()
		s.calls = slices.DeleteFunc(s.calls, func(c functionCall) bool { return !slices.Contains(allowed, c.Name) })
		if len(s.calls) == 0 {
			s.text, s.calls = nil, []functionCall{{Name: allowed[0], Args: json.RawMessage("{}")}}
		}
	}
}

// shorten applies stop sequences and the limit of tokens to the text. It returns the sequence that ended
// it, or that the limit cut it. A cut also removes the calls, which come after the text.
func (s *saying) shorten(c config, limit int) (stop string, cut bool) {
	if s.text == nil {
		return "", false
	}
	text, stop, cut := shorten(*s.text, c, limit)
	s.text = &text
	if cut {
		s.calls = nil
	}
	return stop, cut
}

func (s *saying) parts(hideThought bool) []wirePart {
	var out []wirePart
	if s.thought != "" && !hideThought {
		out = append(out, wirePart{Text: &s.thought, Thought: true})
	}
	if s.text != nil {
		out = append(out, wirePart{Text: s.text})
	}
	for i := range s.calls {
		p := wirePart{FunctionCall: &s.calls[i]}
		if s.thought != "" {
			p.ThoughtSignature = signature(p.FunctionCall)
		}
		out = append(out, p)
	}
	return out
}

// ownSignature begins the emulator's signatures, decoded.
const ownSignature = "evalrun-emulator "

// signature returns the signature of a call after a thought. It depends only on the call without its id,
// because some clients add ids to calls that have none.
func signature(c *functionCall) string {
	h := fnv.New64a()
	args, _ := json.Marshal(decoded(c.Args)) // sorts the keys and removes white space
	fmt.Fprintf(h, "%s %s", c.Name, args)
	return base64.StdEncoding.EncodeToString(fmt.Appendf(nil, "%s%016x", ownSignature, h.Sum64()))
}

func isOwnSignature(s string) bool {
	data, err := base64.StdEncoding.DecodeString(s)
	return err == nil && strings.HasPrefix(string(data), ownSignature)
}

// pick draws a reply by weight: the heaviest at temperature 0, by the weights at 1, and more evenly above.
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

// heaviest returns the index of the first reply with the highest weight.
func heaviest(replies []weighted) int {
	best := 0
	for i, r := range replies {
		if r.weight > replies[best].weight {
			best = i
		}
	}
	return best
}
