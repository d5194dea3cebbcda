package suite_test

import (
	"testing"

	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/testing/expect"
	"github.com/evalrun/evalrun/suite"
)

func TestDerivedMetricsAreComputedFromScores(t *testing.T) {
	t.Parallel()
	score := func(name string, value float64) eval.Score {
		return eval.Score{Name: name, Grade: eval.Graded{Value: value}}
	}
	p, r, untold := score("precision", 0.5), score("recall", 1), eval.Score{Name: "recall", Grade: eval.Unscored{Why: "no idea"}}
	const f1 = "2*precision*recall/(precision+recall)"
	for _, c := range []struct {
		text   string
		scores []eval.Score
		want   float64
		ok     bool
		err    bool
	}{
		{f1, []eval.Score{p, r}, 2.0 / 3, true, false},
		{f1, []eval.Score{p}, 0, false, false},
		{f1, []eval.Score{p, untold}, 0, false, false},
		{f1, []eval.Score{score("precision", 0), score("recall", 0)}, 0, false, false},
		{"(recall ?? 0.5) * precision", []eval.Score{p}, 0.25, true, false},
		{"(recall ?? 0.5) * precision", []eval.Score{p, untold}, 0.25, true, false},
		{"precision + recall", []eval.Score{p, r}, 0, false, true},
		{"precision - recall", []eval.Score{p, r}, 0, false, true},
		{"1 / precision / 0", []eval.Score{p}, 0, false, false},
		{"min(precision, recall)", []eval.Score{p, r}, 0.5, true, false},
		{"$env[\"two-words\"] / 2", []eval.Score{score("two-words", 1)}, 0.5, true, false},
	} {
		m := derived(t, c.text)
		got, ok, err := m.Of(c.scores)
		if got != c.want || ok != c.ok || (err != nil) != c.err {
			t.Errorf("%s of %v: %v %v %v, want %v %v, and an error: %v", c.text, c.scores, got, ok, err, c.want, c.ok, c.err)
		}
	}
}

func derived(t *testing.T, text string) *suite.DerivedMetric {
	t.Helper()
	s, diags := fromText("version: 1\nname: s\ntargets: [{name: t, model: m}]\nprompts: [{name: p, text: x}]\n"+
		"cases:\n  - name: c\n    scorers:\n      - {contains: x, name: precision}\n      - {contains: x, name: recall}\n"+
		"      - {contains: x, name: two-words}\nmetrics:\n  f1: '"+text+"'\n", suite.Options{})
	if err := diags.Err(); err != nil {
		t.Fatalf("%s: %v, want no error", text, err)
	}
	return s.Derived()[0]
}

// Names that are templates are known only when a case is judged.
func TestDerivedFromTemplatesIsKnownWhenJudged(t *testing.T) {
	t.Parallel()
	s, diags := fromText("version: 1\nname: s\ntargets: [{name: t, model: m}]\nprompts: [{name: p, text: x}]\ncases:\n  - name: c\n"+
		"    vars: {n: tone}\n    scorers:\n      - {contains: x, name: '{{.n}}'}\nmetrics: {half: tone / 2}\n", suite.Options{})
	expect.OK(t, diags.Err())
	one := 1.0
	if got, ok, err := s.Derived()[0].Of([]eval.Score{{Name: "tone", Grade: eval.Graded{Value: one}}}); got != 0.5 || !ok || err != nil {
		t.Errorf("%v %v %v, want 0.5", got, ok, err)
	}
	if _, ok, err := s.Derived()[0].Of(nil); ok || err != nil {
		t.Errorf("%v %v without a score, want none", ok, err)
	}
}
