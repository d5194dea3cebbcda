package journal

import (
	"testing"

	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/testing/expect"
)

// Labels with quotes and line breaks are read by the slow reader of lines, all others by the fast one.
func TestClassificationsAreReadByBothReaders(t *testing.T) {
	t.Parallel()
	const odd = "a \"b\"\u2028"
	classified := func(name, label, answer string, outcome eval.Outcome) *eval.Result {
		r := answered(name, "t/p", outcome, 1)
		r.Scores = []eval.Score{{
			Scorer: "classification", Name: "accuracy", Grade: eval.Graded{}, Class: &eval.Pair{Expected: label, Answer: answer},
		}}
		return r
	}
	isolated := classified("d", "x", "x", eval.Pass)
	isolated.Quarantine = &eval.Quarantine{Until: "2027-01-01"}
	failed := classified("c", "x", "x", eval.Err)
	failed.Ending = eval.Errored{Error: eval.Errorf(eval.KindUnscored, "a judge did not reply")}
	trials := []*eval.Result{
		classified("a", "x", "x", eval.Pass), classified("a", "x", odd, eval.Fail), classified("a", "x", "", eval.Fail),
		classified("b", odd, odd, eval.Pass), failed, isolated, answered("e", "t/p", eval.Pass, 1),
	}
	d := document(t, nil, trials...)
	arms := d.Summary.Suites
	expect.Same(t, "no classes, no matrix", arms[0].Arms[0].Classified() == nil, true)
	d.Run.Suites = []eval.RunSuite{{Name: "s", Classes: []string{"x", odd}}}
	arm := &summarize(&d.index, &d.Run).Suites[0].Arms[0]
	third := 1.0 / 3
	expect.Same(t, "matrix", arm.Classification.Counts, [][]float64{{third, third, third}, {0, 1, 0}})
	r := arm.Classified()
	expect.Same(t, "errors", r.Errors, 1)
	mean, _ := arm.Mean("accuracy")
	expect.Same(t, "the mean leaves out the error too", mean, 0.0)
	var pairs []eval.Pair
	for f, err := range d.Facts() {
		expect.OK(t, err)
		if f.Class != nil {
			pairs = append(pairs, *f.Class)
		}
	}
	expect.Same(t, "trials with a class", len(pairs), 6)
	expect.Same(t, "an odd label", pairs[3], eval.Pair{Expected: odd, Answer: odd})
}
