package gate

import (
	"io"
	"path/filepath"
	"sync"
	"testing"

	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/testing/expect"
	"github.com/evalrun/evalrun/journal"
	"github.com/evalrun/evalrun/reports"
)

// BenchmarkCompare compares two runs of 100,000 cases, from opening them to the verdict.
func BenchmarkCompare(b *testing.B) {
	const cases = 100_000
	dir := b.TempDir()
	names := [2]string{filepath.Join(dir, "base"), filepath.Join(dir, "head")}
	for _, name := range names {
		writeCases(b, name, cases)
	}
	rule := &eval.BaselineRule{Alpha: eval.DefaultAlpha, Metrics: []eval.MetricMargin{{Name: eval.MetricPass, Margin: 0.05}}}
	for b.Loop() {
		var docs [2]*journal.Document
		var opening sync.WaitGroup
		for i, name := range names {
			opening.Go(func() {
				d, err := journal.Open(name)
				if err != nil {
					b.Error(err)
				}
				docs[i] = d
			})
		}
		opening.Wait()
		c, err := Compare(docs[0], docs[1], Comparing{Rules: func(string) *eval.BaselineRule { return rule }})
		if err != nil || c.Verdict != eval.NotWorse {
			b.Fatalf("got %v, %v, want %s", c, err, eval.NotWorse)
		}
		docs[0].Close()
		docs[1].Close()
	}
	b.ReportMetric(2*cases*float64(b.N)/b.Elapsed().Seconds(), "trials/s")
}

// writeCases makes a complete run of n cases with answers of a usual length.
func writeCases(b *testing.B, dir string, cases int) {
	run := eval.Run{ID: dir, Plan: eval.RunPlan{Trials: cases, Arms: []string{"t/p"}}, Suites: []eval.RunSuite{{Name: "s"}}}
	w, err := journal.Create(dir, &run, nil)
	expect.OK(b, err)
	value := 0.5
	ratings := []eval.SafetyRating{
		{Category: "HARM_CATEGORY_HARASSMENT", Probability: "NEGLIGIBLE"},
		{Category: "HARM_CATEGORY_HATE_SPEECH", Probability: "NEGLIGIBLE"},
	}
	for n := range cases {
		r := &eval.Result{
			Trial: eval.Trial{
				N:           n,
				ID:          hexID(n),
				CaseID:      hexID(n),
				ScorersHash: "same",
				Suite:       "s",
				Case:        hexID(n),
				Arm:         "t/p",
				Repeat:      1,
				Tags:        []string{"a", "b"},
			},
			Ending: eval.Passed{}, Scores: []eval.Score{{Scorer: "contains", Name: "good", Grade: eval.Graded{Value: value, Passed: true}}},
			Request: &eval.Request{
				Contents: []eval.Content{{Parts: []eval.Part{eval.TextPart{Text: "What is the capital of France? Answer in one sentence."}}}},
			},
			Response: &eval.Response{
				Candidates: []eval.Candidate{{Text: "The capital of France is Paris.", FinishReason: "STOP", SafetyRatings: ratings}},
			},
			Usage: &eval.Usage{
				PromptTokens: 10,
				OutputTokens: 8,
				TotalTokens:  18 + n%3,
			}, Timing: &eval.Timing{LatencyMs: float64(100 + n%50), Attempts: 1},
		}
		expect.OK(b, w.Append(r))
	}
	if err := w.Finish(&eval.End{Reason: eval.EndCompleted}); err != nil {
		b.Fatal(err)
	}
}

func hexID(n int) string {
	const digits = "0123456789abcdef"
	b := make([]byte, 16)
	for i := range b {
		b[15-i] = digits[n>>(4*min(i, 15))&15]
	}
	return string(b)
}

// BenchmarkReports writes each report of a run of 100,000 trials that is open already.
func BenchmarkReports(b *testing.B) {
	const cases = 100_000
	dir := b.TempDir()
	writeCases(b, dir, cases)
	d, err := journal.Open(dir)
	expect.OK(b, err)
	defer d.Close()
	Apply(d)
	for _, f := range reports.Formats() {
		b.Run(f.Name, func(b *testing.B) {
			for b.Loop() {
				if err := f.Write(io.Discard, d, reports.Options{}); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(cases*float64(b.N)/b.Elapsed().Seconds(), "trials/s")
		})
	}
}

// BenchmarkSequentialGate measures what the early stop of a gate costs a result: it must be small next to an answer.
func BenchmarkSequentialGate(b *testing.B) {
	run := eval.Run{}
	w, err := journal.Create(b.TempDir(), &run, nil)
	expect.OK(b, err)
	defer w.Close()
	const cases = 1 << 16
	trials := make([]eval.Trial, cases)
	start := func() *Sequential {
		rule := &eval.BaselineRule{Alpha: 1e-300, Metrics: []eval.MetricMargin{{Name: eval.MetricPass, Margin: 0.01}}, Against: eval.BaseRun{}}
		suite := &watchedSuite{name: "s", rule: rule, arms: map[string]*watchedArm{}, closed: map[string]bool{}}
		a := &watchedArm{arm: "t/p", by: map[string]*unit{}}
		suite.arms[a.arm] = a
		q := &Sequential{suites: map[string]*watchedSuite{"s": suite}, moved: make(chan struct{})}
		for n := range trials {
			t := &trials[n]
			*t = eval.Trial{N: n, ID: hexID(n), CaseID: hexID(n), Suite: "s", Case: hexID(n), Arm: "t/p", Repeat: 1}
			u := &unit{rank: uint64(n), key: suite.keyOf(t), pending: 1, cases: map[string]*unitCase{}}
			u.of(suite, t).base[0] = eval.Sum{Total: 1, N: 1}
			a.by[u.key] = u
			a.units = append(a.units, u)
		}
		suite.begin()
		return q
	}
	q, n := start(), 0
	r := &eval.Result{Ending: eval.Passed{}}
	for b.Loop() {
		if n == cases {
			b.StopTimer()
			q, n = start(), 0
			b.StartTimer()
		}
		r.Trial = trials[n]
		expect.OK(b, q.observe(q.ofResult(r), w))
		n++
	}
}
