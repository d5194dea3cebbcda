package runs

import (
	"fmt"
	"path/filepath"
	"testing"

	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/rundir"
	"github.com/evalrun/evalrun/internal/testing/expect"
	"github.com/evalrun/evalrun/journal"
)

// BenchmarkMerge joins ten shards of 100,000 trials.
func BenchmarkMerge(b *testing.B) {
	const shards, trials = 10, 100_000
	dir := b.TempDir()
	var names []string
	for i := range shards {
		names = append(names, filepath.Join(dir, fmt.Sprint(i)))
		benchShard(b, names[i], eval.ShardOf{Index: i + 1, Of: shards, Plan: "plan", Trials: shards * trials})
	}
	n := 0
	for b.Loop() {
		n++
		if _, err := merge(rundir.At(""), names, filepath.Join(dir, fmt.Sprint("merged", n)), func(string) string { return "" }); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(shards*trials*float64(b.N)/b.Elapsed().Seconds(), "trials/s")
}

func benchShard(b *testing.B, name string, shard eval.ShardOf) {
	b.Helper()
	run := eval.Run{ID: name, Plan: eval.RunPlan{Trials: shard.Trials / shard.Of, Arms: []string{"t/p"}, Shard: &shard}}
	w, err := journal.Create(name, &run, nil)
	expect.OK(b, err)
	for n := shard.Index - 1; n < shard.Trials; n += shard.Of {
		r := &eval.Result{
			Trial:    eval.Trial{N: n, ID: fmt.Sprintf("%016x", n), Suite: "s", Case: "c", Arm: "t/p", Repeat: n + 1},
			Ending:   eval.Passed{},
			Scores:   []eval.Score{{Scorer: "contains", Grade: eval.Graded{Value: 1, Passed: true}}},
			Request:  &eval.Request{Contents: []eval.Content{{Parts: []eval.Part{eval.TextPart{Text: "What is the capital of France?"}}}}},
			Response: &eval.Response{Candidates: []eval.Candidate{{Text: "The capital of France is Paris."}}},
		}
		expect.OK(b, w.Append(r))
	}
	expect.OK(b, w.Finish(&eval.End{Reason: eval.EndCompleted}))
}
