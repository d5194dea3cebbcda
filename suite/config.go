package suite

import (
	"bytes"
	"cmp"
	"encoding/json"
	"iter"
	"maps"
	"math"
	"slices"
	"strings"
	"sync"

	"github.com/evalrun/evalrun/diag"
	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/yaml"
)

// configBlock holds the keys of eval.GenerationConfig, tailKeys, and `extra`.
var configBlock = sync.OnceValue(func() yaml.Block {
	return yaml.Block{Name: "generationConfig", Keys: []yaml.Key{
		key("stopSequences", yaml.List(yaml.Text), "Texts at which the answer ends."),
		key("temperature", yaml.Number(0, math.MaxFloat64), "How freely tokens are drawn; 0 takes the likeliest."),
		key("maxOutputTokens", whole(), "The most tokens that an answer may have."),
		key("topP", share(), "Tokens are drawn from the likeliest that reach this probability together."),
		key("topK", yaml.Int(0, math.MaxInt32), "Tokens are drawn from this many of the likeliest."),
		key("candidateCount", yaml.Int(1, maxCandidates), "How many answers a call brings."),
		key("seed", yaml.Int(math.MinInt, math.MaxInt), "The same seed draws the same tokens, as far as the service can."),
		key("presencePenalty", penalty(), "Above 0, tokens that the answer already has become less likely."),
		key("frequencyPenalty", penalty(), "Above 0, tokens become less likely with each time that the answer has them."),
		key("responseMimeType", yaml.Text, "The type of the answer, such as application/json."),
		key(
			"responseSchema", yaml.Some(yaml.When("file", schemaFile().Shape(), yaml.MapShape(yaml.Any))),
			"The schema of an answer in JSON, or {file: NAME}, a JSON or YAML file of the project.",
		),
		key("thinkingConfig", yaml.Some(thinkingShape), "How the model thinks; other keys are sent as they are."),
		key("extra", yaml.MapShape(yaml.Any), "Fields that evalrun does not know, sent as they are."),
	}}
})

const maxCandidates = 8

func penalty() yaml.Shape { return yaml.Number(-2, 2) }

var schemaFile = sync.OnceValue(func() yaml.Block {
	return fileBlock("A JSON or YAML file of the project with the schema.")
})

func thinkingShape(templates bool) yaml.Schema {
	out := yaml.Block{Keys: []yaml.Key{
		key("thinkingBudget", yaml.Int(-1, math.MaxInt32), "The most tokens to think with; -1 leaves it to the model."),
		key("includeThoughts", yaml.Bool, "Whether the answer has what the model thought."),
	}}.Shape()(templates)
	delete(out, "additionalProperties")
	return out
}

func optionalFloat(n yaml.Node, hi float64) *float64 {
	if n.IsZero() {
		return nil
	}
	return new(n.Float(0, hi))
}

func optionalInt(n yaml.Node, lo, hi int) *int {
	if n.IsZero() {
		return nil
	}
	return new(n.Int(lo, hi))
}

func (l *loader) generationConfig(n yaml.Node) *eval.GenerationConfig {
	if n.IsZero() {
		return nil
	}
	m := n.Map(configBlock().Names()...)
	c := eval.GenerationConfig{
		Temperature:     optionalFloat(m.Get("temperature"), math.MaxFloat64),
		TopP:            optionalFloat(m.Get("topP"), 1),
		TopK:            optionalInt(m.Get("topK"), 0, math.MaxInt32),
		MaxOutputTokens: optionalInt(m.Get("maxOutputTokens"), 1, math.MaxInt32),
	}
	for _, item := range m.Get("stopSequences").Seq() {
		c.StopSequences = append(c.StopSequences, item.Str())
	}
	c.Extra = configExtra(m)
	for _, name := range tailKeys() {
		value := l.tailValue(name, m.Get(name))
		if value == nil {
			continue
		}
		if c.Extra == nil {
			c.Extra = eval.Extra{}
		}
		c.Extra[name] = value
	}
	return &c
}

// tailKeys are fields that are sent after those of eval.GenerationConfig, sorted by name, together with `extra`.
// Suites that set them in `extra`, before evalrun knew them, thus still send the same bytes.
func tailKeys() []string {
	return []string{
		"candidateCount", "seed", "presencePenalty", "frequencyPenalty", "responseMimeType", "responseSchema", "thinkingConfig",
	}
}

// tailValue returns the value of one of tailKeys in the form that is sent; nil if it is missing or invalid.
func (l *loader) tailValue(name string, n yaml.Node) json.RawMessage {
	if n.IsZero() {
		return nil
	}
	switch name {
	case "candidateCount":
		n.Int(1, maxCandidates)
	case "seed":
		n.Int(math.MinInt, math.MaxInt)
	case "presencePenalty", "frequencyPenalty":
		return number(n, n.Float(-2, 2))
	case "responseMimeType":
		if n.IsScalar() && strings.TrimSpace(n.Str()) == "" {
			n.Errorf("such as application/json", "the type is empty")
		}
		return must(json.Marshal(n.Str()))
	case "responseSchema":
		return l.schema(n)
	case "thinkingConfig":
		checkThinking(n)
	}
	if n.IsNull() { // which was reported
		return nil
	}
	return n.JSON(nil)
}

// number keeps the spelling of a number, unless JSON does not allow it.
func number(n yaml.Node, value float64) json.RawMessage {
	if n.IsScalar() {
		if written := strings.TrimPrefix(n.Written(), "+"); json.Valid([]byte(written)) {
			return json.RawMessage(written)
		}
	}
	return must(json.Marshal(value))
}

// must is for what always encodes.
func must(data []byte, err error) []byte {
	if err != nil {
		panic(err)
	}
	return data
}

func checkThinking(n yaml.Node) {
	m := n.Map()
	if n.IsMapping() && m.Len() == 0 {
		n.Errorf("such as {thinkingBudget: 1024}", "the mapping is empty")
	}
	m.Get("thinkingBudget").Int(-1, math.MaxInt32)
	m.Get("includeThoughts").Bool()
}

// schema reads a schema: a mapping, or the name of a file with one.
func (l *loader) schema(n yaml.Node) json.RawMessage {
	m := n.Map()
	switch {
	case !n.IsMapping():
		return nil
	case m.Len() == 0:
		n.Errorf("such as {type: object, properties: {...}}, or {file: schema.json}", "the schema is empty")
		return nil
	case m.Has("file"): // no keyword of a schema is called so
		return l.mappingIn(n.Map(schemaFile().Names()...).Get("file"))
	}
	return n.JSON(nil)
}

// mappingIn reads the mapping in a JSON or YAML file of the suite's folder, as JSON. The file is a part of the suite
// from then on.
func (l *loader) mappingIn(file yaml.Node) json.RawMessage {
	name := file.Str()
	text, err := l.files.text(name)
	if err != nil {
		file.Errorf("", "%s", err)
		return nil
	}
	text = bytes.TrimSpace(bytes.TrimPrefix(text, []byte("\ufeff")))
	var b bytes.Buffer
	if bytes.HasPrefix(text, []byte("{")) && json.Compact(&b, text) == nil { // it may be indented with tabs, which YAML is not
		return b.Bytes()
	}
	root, ok := yaml.Parse(l.Shown(name), text, l.diags)
	if !ok {
		return nil
	}
	if root.Map(); !root.IsMapping() {
		return nil
	}
	return root.JSON(nil)
}

func configExtra(config yaml.Map) eval.Extra {
	var out eval.Extra
	for e := range config.Get("extra").Map().Entries() {
		switch {
		case slices.Contains(eval.GenerationConfig{}.Keys(), e.Name()):
			e.Key.Errorf("write it next to `extra`, not in it", "`%s` is a field that evalrun knows", e.Name())
			continue
		case slices.Contains(tailKeys(), e.Name()) && config.Has(e.Name()):
			e.Key.Errorf("keep one of them", "`%s` is given next to `extra`, too", e.Name())
			continue
		}
		if out == nil {
			out = eval.Extra{}
		}
		out[e.Name()] = e.Value.JSON(nil)
	}
	return out
}

type requestFields struct {
	ofPrompt  map[string]string // that evalrun writes from the prompt, each with the key of a suite for it
	owned     map[string]string // the others that evalrun writes
	published []string          // the others that the protocol is known to have
}

func fieldsOf(of *NamedService) requestFields {
	if p, other := of.spoken(); other {
		ofPrompt, owned := p.Owned()
		return requestFields{ofPrompt, owned, p.Published()}
	}
	return requestFields{
		map[string]string{
			"contents": "write it as a prompt", "systemInstruction": "use `system` of the prompt",
			"tools": "use `tools` of the prompt", "toolConfig": "use `toolChoice` of the prompt",
		},
		map[string]string{
			"model": "use `model`", "generationConfig": "use `generationConfig`", "safetySettings": "use `safetySettings`",
		},
		[]string{"cachedContent", "labels", "modelArmorConfig", "serviceTier", "store"},
	}
}

// find returns the field with a name in camelCase or snake_case; "" if there is none.
func find(name string, among iter.Seq[string]) string {
	for one := range among {
		if camelCase(one) == camelCase(name) {
			return one
		}
	}
	return ""
}

// extraFields are the fields that a target, or a judge, adds at the top level of its requests.
func extraFields(n yaml.Node, what string, of *NamedService) eval.Extra {
	var out eval.Extra
	known := fieldsOf(of)
	for e := range n.Map().Entries() {
		ofPrompt, owned := find(e.Name(), maps.Keys(known.ofPrompt)), find(e.Name(), maps.Keys(known.owned))
		switch hint := cmp.Or(known.ofPrompt[ofPrompt], known.owned[owned]); {
		case ofPrompt != "" && what == "judge":
			e.Key.Errorf("remove it", "evalrun writes the prompt of a judge itself, without `%s`", e.Name())
			continue
		case hint != "":
			e.Key.Errorf(hint, "evalrun writes `%s` itself", e.Name())
			continue
		case find(e.Name(), slices.Values(known.published)) == "":
			e.Key.Warnf(known.sentAsItIs(e.Name()), "the protocol is not known to have a field `%s`", e.Name())
		}
		if out == nil {
			out = eval.Extra{}
		}
		out[e.Name()] = e.Value.JSON(nil)
	}
	return out
}

// sentAsItIs is the hint of a field that is not known.
func (f requestFields) sentAsItIs(name string) string {
	hint := "it is sent as it is"
	var all []string
	for _, one := range slices.Concat(f.published, names(f.ofPrompt), names(f.owned)) {
		if camelCase(one) == one {
			name = camelCase(name)
		}
		all = append(all, one)
	}
	if near := diag.Nearest(name, all, 1); len(near) > 0 {
		hint += "; did you mean `" + near[0] + "`?"
	}
	return hint
}

// camelCase is the camelCase spelling of a name, which may be in snake_case.
func camelCase(name string) string {
	words := strings.Split(name, "_")
	for i := 1; i < len(words); i++ {
		if words[i] != "" {
			words[i] = strings.ToUpper(words[i][:1]) + words[i][1:]
		}
	}
	return strings.Join(words, "")
}
