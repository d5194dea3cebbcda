package replies

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/testing/expect"
)

// fuzzSize bounds the replies that are seeds, in bytes.
const fuzzSize = 8 << 10

// Fuzz checks that any input is an error of a known kind, or an answer that survives writing and reading.
func Fuzz(f *testing.F, parse func([]byte) (*eval.Response, error), more []string, folders ...string) {
	all, err := In(folders...)
	expect.OK(f, err)
	for _, r := range all {
		if len(r.Body) <= fuzzSize {
			f.Add(r.Body)
		}
	}
	for _, text := range more {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		got, err := parse(data)
		if err != nil {
			if e := eval.AsError(err); e.Kind == "" || e.Message == "" || got != nil {
				t.Errorf("%v %v", got, err)
			}
			return
		}
		text, err := json.Marshal(got)
		expect.OK(t, err)
		var second eval.Response
		expect.OK(t, json.Unmarshal(text, &second))
		expect.Same(t, "the candidates, written and read again", second.Candidates, got.Candidates, cmpopts.EquateEmpty())
		for i := range got.Candidates {
			check(t, &got.Candidates[i])
		}
	})
}

// check requires that the parts of a candidate agree with its text.
func check(t *testing.T, c *eval.Candidate) {
	t.Helper()
	joined := ""
	for _, p := range c.Pieces {
		if text, ok := p.(eval.TextPiece); ok {
			joined += text.Text
		}
		if p, ok := p.(eval.CallPiece); ok && (p.Call.Name == "" || p.Call.Args != nil && !json.Valid(p.Call.Args)) {
			t.Errorf("the call %+v", p.Call)
		}
	}
	if c.Pieces != nil && joined != c.Text {
		t.Errorf("the parts say %q, the text is %q", joined, c.Text)
	}
	if c.Raw != nil && !json.Valid(c.Raw) {
		t.Errorf("the candidate as it came is no JSON: %s", c.Raw)
	}
}
