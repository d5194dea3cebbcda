package page_test

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/testing/expect"
	"github.com/evalrun/evalrun/internal/testing/testrun"
)

// scored is a trial with scores: nil is one that could not be judged.
func scored(n int, scores ...eval.Score) *eval.Result {
	return &eval.Result{
		Trial:  eval.Trial{N: n, ID: fmt.Sprint(n), Suite: "s", Case: fmt.Sprint(n), Arm: "t/p", Repeat: 1},
		Ending: eval.Passed{}, Response: testrun.Answered("x", "STOP"), Scores: scores,
	}
}

// The rows have what a trial costs by the run's price list: -1 where tokens or price are unknown, and no column without a list.
func TestRowsHaveTheirCost(t *testing.T) {
	t.Parallel()
	known, unpriced, unmetered := scored(0), scored(1), scored(2)
	known.Model, unpriced.Model, unmetered.Model = "svc-pro", "svc-other", "svc-pro"
	known.Usage = &eval.Usage{PromptTokens: 1000, OutputTokens: 500, TotalTokens: 1500}
	unpriced.Usage = known.Usage
	prices := json.RawMessage(`{"currency":"EUR","models":{"svc-pro":{"input":2,"output":10}}}`)
	for _, test := range []struct {
		prices json.RawMessage
		want   []float64
	}{
		{prices, []float64{0.007, -1, -1}}, {nil, nil}, {json.RawMessage(`"no list"`), nil},
	} {
		run := eval.Run{ID: "r", Suites: []eval.RunSuite{{Name: "s"}}, Plan: eval.RunPlan{Trials: 3}, Prices: test.prices}
		var rows struct{ Cost []float64 }
		decode(t, pageOf(t, testrun.Record(t, &run, nil, known, unpriced, unmetered)), "rows/0", &rows)
		expect.Same(t, "the costs with "+string(test.prices), rows.Cost, test.want)
	}
}
