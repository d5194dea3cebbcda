package reports_test

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/testing/hostile"
	"github.com/evalrun/evalrun/internal/testing/testrun"
	"github.com/evalrun/evalrun/reports"
)

func explained(outcome eval.Outcome, repeat int, text string) *eval.Result {
	r := &eval.Result{Trial: eval.Trial{Case: "c", Arm: "t/p", Repeat: repeat, At: "s.yaml:9:5"}, Ending: testrun.Ending(outcome)}
	r.Response = &eval.Response{Candidates: []eval.Candidate{{Text: text, FinishReason: "STOP"}}}
	switch outcome {
	case eval.Fail:
		r.Scores = []eval.Score{{
			Scorer: "equals", Grade: eval.Graded{}, Reason: "expected a, got " + text, Diff: "expected: a\nactual:   " + text,
		}}
	case eval.Err:
		r.Ending = eval.Errored{Error: eval.Errorf(eval.KindTimeout, "too late")}
	case eval.Skip:
		r.Ending, r.Response = eval.Skipped{Reason: "the budget is spent"}, nil
	}
	return r
}

func TestExplainGivesTheReasonsOfFailures(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		repeats []*eval.Result
		outcome eval.Outcome
		text    string
	}{
		{[]*eval.Result{explained(eval.Pass, 1, "a")}, eval.Pass, ""},
		{
			[]*eval.Result{explained(eval.Fail, 1, "b\r\n\x1b[1m")},
			eval.Fail,
			"equals: expected a, got b  \\x1b[1m\n| s.yaml:9:5\n| FAILED   equals: expected a, got b\n| \\x1b[1m\n| expected: a\n| actual:   " +
				"b\n| \\x1b[1m\n| answer 0 (STOP):\n| b\n| \\x1b[1m",
		},
		{
			[]*eval.Result{explained(eval.Pass, 1, "a"), explained(eval.Err, 2, "b"), explained(eval.Fail, 3, "c")},
			eval.Fail,
			"1 of 3 passed, 1 failed, 1 could not be judged: equals: expected a, got c\n| s.yaml:9:5\n| repeat 3\n| FAILED   equals: expected " +
				"a, got c\n| expected: a\n| actual:   c\n| answer 0 (STOP):\n| c",
		},
		{[]*eval.Result{explained(eval.Err, 1, "b")}, eval.Err, "timeout: too late\n| s.yaml:9:5\n| timeout: too late\n| answer 0 (STOP):\n| b"},
		{[]*eval.Result{explained(eval.Skip, 1, "")}, eval.Skip, "the budget is spent\n| s.yaml:9:5"},
	} {
		outcome, text := reports.Explain(c.repeats)
		if outcome != c.outcome || text != c.text {
			t.Errorf("%s:\n got %q\nwant %q", outcome, text, c.text)
		}
	}
}

// Whatever an answer holds, each line after the first has a bar before it, nothing in it moves the cursor, and it has an end.
func TestExplainIsBounded(t *testing.T) {
	t.Parallel()
	long := []string{strings.Repeat("x\n", 1<<19), strings.Repeat("é", 1<<19), "\n    --- PASS: Test (0.00s)\n\x16=== RUN"}
	for _, hostile := range append(hostile.Strings(), long...) {
		_, text := reports.Explain([]*eval.Result{explained(eval.Fail, 1, hostile)})
		if n := utf8.RuneCountInString(text); n > 40_000 || !utf8.ValidString(text) {
			t.Errorf("got %d code points for %.20q, want at most 40,000 of UTF-8", n, hostile)
		}
		for i, line := range strings.Split(text, "\n") {
			if i > 0 && !strings.HasPrefix(line, "| ") || strings.ContainsAny(line, "\x1b\x16\r\x00") {
				t.Errorf("%.20q: got %q, want a row without control characters", hostile, line)
			}
		}
	}
}
