package emulator

import (
	"bytes"
	"encoding/json"
	"slices"

	"github.com/evalrun/evalrun/glob"
	"github.com/evalrun/evalrun/internal/yamlnode"
	"github.com/evalrun/evalrun/variable"
)

// resultMatch says which function result a rule matches. Without patterns it matches requests with and
// without results.
type resultMatch struct{ name, text *glob.Pattern }

func readResultMatch(m yamlnode.Map) resultMatch {
	var out resultMatch
	if v := m.Get("result"); !v.IsZero() {
		out.name = new(glob.Pattern(v.Str()))
	}
	if v := m.Get("resultText"); !v.IsZero() {
		out.text = new(glob.Pattern(v.Str()))
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
func (m resultMatch) values(req *request) (result variable.Value, results variable.Dict) {
	result, results = variable.Object{}, variable.Dict{}
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
func valueOf(data []byte) variable.Value {
	v, err := variable.Parse(data)
	if err != nil {
		return variable.Null("")
	}
	return v
}
