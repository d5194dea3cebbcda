package emulator

import (
	"bytes"
	"encoding/json"
	"slices"

	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/yaml"
)

// resultMatch says which function result a rule matches. Without patterns it matches requests with and
// without results.
type resultMatch struct{ name, text *eval.Pattern }

func readResultMatch(m yaml.Map) resultMatch {
	var out resultMatch
	if v := m.Get("result"); !v.IsZero() {
		out.name = new(eval.Pattern(v.Str()))
	}
	if v := m.Get("resultText"); !v.IsZero() {
		out.text = new(eval.Pattern(v.Str()))
	}
	return out
}

// fits reports whether the last turn of a request has a matching result.
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
