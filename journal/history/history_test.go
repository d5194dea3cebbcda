package history

import (
	"crypto/sha256"
	"database/sql"
	"errors"
	"fmt"
	"math"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/stats"
	"github.com/evalrun/evalrun/internal/testing/expect"
	"github.com/evalrun/evalrun/internal/testing/testrun"
	"github.com/evalrun/evalrun/journal"
)

// sample is a run to write: the i-th of a trend, with an outcome for each case on each arm.
type sample struct {
	id      int
	cases   int
	arms    []string
	repeats int
	outcome func(caseNo, repeat int) eval.Outcome
	change  func(*eval.Run)
	killed  bool
	waits   bool // for a batch
}

func (s sample) write(t testing.TB, folder string) string {
	t.Helper()
	if s.arms == nil {
		s.arms = []string{"pro/ask"}
	}
	if s.outcome == nil {
		s.outcome = func(int, int) eval.Outcome { return eval.Pass }
	}
	s.repeats = max(1, s.repeats)
	started := time.Date(2026, 1, 1, 0, s.id, 0, 0, time.UTC)
	run := eval.Run{
		ID: fmt.Sprintf("run-%04d", s.id), StartedAt: started.Format(time.RFC3339Nano), Labels: map[string]string{"branch": "main"},
		Suites: []eval.RunSuite{{Name: "suite", File: "suite.yaml", Hash: "h1"}},
		Models: []eval.Model{{Name: "models/svc-pro", APIVersion: "v1", Version: "001"}},
		Plan:   eval.RunPlan{Trials: s.cases * len(s.arms) * s.repeats, Arms: s.arms},
	}
	if s.change != nil {
		s.change(&run)
	}
	dir := filepath.Join(folder, run.ID)
	w, err := journal.Create(dir, &run, nil)
	expect.OK(t, err)
	n := 0
	for k := range s.cases {
		for _, arm := range s.arms {
			for repeat := range s.repeats {
				expect.OK(t, w.Append(s.trial(n, k, repeat, arm)))
				n++
			}
		}
	}
	end := eval.End{FinishedAt: started.Add(time.Second).Format(time.RFC3339Nano), Reason: eval.EndCompleted}
	if s.waits {
		expect.OK(t, w.WriteIntent(&journal.Intent{Key: "b", At: run.StartedAt, Items: []string{"x", "y"}}))
		end.Reason = eval.EndWaiting
	}
	if s.killed {
		err = w.Close()
	} else {
		err = w.Finish(&end)
	}
	expect.OK(t, err)
	return dir
}

func (s sample) trial(n, caseNo, repeat int, arm string) *eval.Result {
	r := &eval.Result{
		Trial: eval.Trial{
			N:      n,
			ID:     fmt.Sprintf("%016x", n),
			Suite:  "suite",
			Case:   fmt.Sprintf("case %d", caseNo),
			Arm:    arm,
			Repeat: repeat + 1,
		},
		Ending: testrun.Ending(s.outcome(caseNo, repeat)), Scores: []eval.Score{},
	}
	switch r.Outcome() {
	case eval.Pass, eval.Fail:
		value := 0.25
		if r.Outcome() == eval.Pass {
			value = 1
		}
		r.Scores = []eval.Score{
			{Scorer: "levenshtein", Name: "closeness", Grade: eval.Graded{Value: value}},
			{Scorer: "contains", Name: "latency", Grade: eval.Graded{Value: value}},
		}
		r.Usage = &eval.Usage{PromptTokens: 5, OutputTokens: 2, TotalTokens: 7}
		r.Timing = &eval.Timing{LatencyMs: float64(100 + s.id), Attempts: 1}
	case eval.Err:
		r.Ending = eval.Errored{Error: eval.Errorf(eval.KindTimeout, "late")}
	}
	return r
}

func open(t testing.TB, path string) *Store {
	t.Helper()
	s, err := Open(path)
	expect.OK(t, err)
	t.Cleanup(func() { _ = s.Close() })
	return s
}

func add(t testing.TB, s *Store, dir string) {
	t.Helper()
	expect.OK(t, addDir(s, dir))
}

func addDir(s *Store, dir string) error {
	d, err := journal.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(s.Add(d), d.Close())
}

func trend(t testing.TB, s *Store, q Query) []Point {
	t.Helper()
	points, err := s.Trend(q)
	expect.OK(t, err)
	return points
}

func near(a, b float64) bool { return math.Abs(a-b) < 1e-4 }

func TestRunsAreListedWithTheTrendsOfTheirMetrics(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	s := open(t, filepath.Join(folder, "history.db"))
	mixed := func(caseNo, repeat int) eval.Outcome { // case 0: 1/2; case 1: pass; case 2: one pass, one error; case 3: skip
		return [][]eval.Outcome{{eval.Pass, eval.Fail}, {eval.Pass, eval.Pass}, {eval.Pass, eval.Err}, {eval.Skip, eval.Skip}}[caseNo][repeat]
	}
	arms := []string{"pro/ask", "pro-warm/ask"}
	second := sample{id: 2, cases: 4, arms: arms, repeats: 2, outcome: mixed}.write(t, folder)
	add(t, s, second)
	add(
		t, s,
		sample{id: 1, cases: 4, arms: arms, repeats: 2, change: func(r *eval.Run) { r.Emulator = true }}.write(t, folder),
	) // later, but older
	add(t, s, second) // again
	add(t, s, sample{id: 3, cases: 4, arms: arms, repeats: 2, change: func(r *eval.Run) {
		r.Plan.Shard = &eval.ShardOf{Index: 1, Of: 2}
	}}.write(t, folder))
	checkRuns(t, s, second)
	checkFilters(t, s)
	checkTrends(t, s)
	checkPoints(t, s)
}

// checkRuns wants the three runs of TestRunsAreListedWithTheTrendsOfTheirMetrics, the oldest first; the second is in a directory.
func checkRuns(t *testing.T, s *Store, second string) {
	t.Helper()
	runs, err := s.Runs(RunFilter{})
	if err != nil || len(runs) != 3 {
		t.Fatalf("got %v, %v, want 3 runs", len(runs), err)
	}
	run := runs[1]
	run.number = 0
	counts := eval.Counts{Pass: 4, Fail: 1, Error: 1, Skip: 2}
	rate := 2.5 / 3
	tokens := journal.Tokens{Prompt: 25, Output: 10, Total: 35}
	expect.Same(t, "the second run", run, RunRecord{
		ID: "run-0002", Dir: second, StartedAt: "2026-01-01T00:02:00Z", FinishedAt: "2026-01-01T00:02:01Z",
		Reason: eval.EndCompleted, Planned: 16,
		Suites: []SuiteRecord{{"suite", "suite.yaml", "h1"}}, Models: []ModelRecord{{"svc-pro", "v1", "001"}},
		Labels: map[string]string{"branch": "main"},
		Arms: []ArmRecord{
			{Suite: "suite", Arm: "pro/ask", Counts: counts, Tokens: tokens, Scored: 3, Rates: 2.5, PassRate: &rate},
			{Suite: "suite", Arm: "pro-warm/ask", Counts: counts, Tokens: tokens, Scored: 3, Rates: 2.5, PassRate: &rate},
		},
	}, cmp.AllowUnexported(RunRecord{}))
	if rate, ok := run.PassRate(); !ok || !near(rate, 2.5/3) || run.Tokens() != 70 || run.Counts().Total() != 16 {
		t.Errorf("got %v, %v, %v, %v, want a rate of %g, 70 tokens and 16 trials", rate, ok, run.Tokens(), run.Counts(), 2.5/3)
	}
	expect.Same(t, "id", runs[0].ID, "run-0001")
	expect.Same(t, "emulator", runs[0].Emulator, true)
	expect.Same(t, "shard", runs[2].Shard, "1/2")
}

// checkFilters wants runs of some arms, and none of a suite that does not exist.
func checkFilters(t *testing.T, s *Store) {
	t.Helper()
	some, err := s.Runs(RunFilter{Arms: eval.Patterns{"pro-*"}, Limit: 2})
	if err != nil || len(some) != 2 || some[0].ID != "run-0002" || len(some[0].Arms) != 1 {
		t.Errorf("%+v %v, want run-0002 with its one arm", some, err)
	}
	none, err := s.Runs(RunFilter{Suites: eval.Patterns{"other"}})
	expect.OK(t, err)
	expect.Same(t, "runs of another suite", len(none), 0)
}

// checkTrends wants the trend of each metric over the runs of TestRunsAreListedWithTheTrendsOfTheirMetrics; the shard is no point of it.
func checkTrends(t *testing.T, s *Store) {
	t.Helper()
	for _, c := range []struct {
		caseName, metric string
		value            float64
		n                int
		bounded          bool
	}{
		{"", "", 2.5 / 3, 3, true},
		{"", MetricErrors, 1. / 6, 3, true},
		{"", MetricLatency, 102, 5, false},
		{"", MetricTokens, 7, 5, false},
		{"", "closeness", (0.625 + 1 + 1) / 3, 3, true},
		{"", "score:latency", (0.625 + 1 + 1) / 3, 3, true},
		{"case 0", "", 0.5, 2, true},
		{"case 2", MetricErrors, 0.5, 2, true},
		{"case 0", MetricLatency, 102, 2, false},
		{"case 2", MetricTokens, 7, 1, false},
		{"case 0", "closeness", 0.625, 2, true},
	} {
		points := trend(t, s, Query{Suite: "suite", Arm: "pro/ask", Case: c.caseName, Metric: c.metric})
		if len(points) != 2 || points[0].Run != "run-0001" || !points[0].Emulator {
			t.Fatalf("%+v: %+v, want 2 points, the first of run-0001 with the emulator", c, points)
		}
		p := points[1]
		if !near(p.Value, c.value) || p.N != c.n || (p.Interval != nil) != c.bounded {
			t.Errorf("%+v: %+v, want %g of %d, bounded %t", c, p, c.value, c.n, c.bounded)
		}
		if p.Interval != nil {
			lo, hi := stats.Wilson(c.value, float64(c.n), stats.Z95)
			if !near(p.Interval[0], lo) || !near(p.Interval[1], hi) {
				t.Errorf("%+v: got the interval %v, want %g to %g", c, *p.Interval, lo, hi)
			}
		}
	}
}

// checkPoints wants the runs that a trend goes through, and the names of what has one.
func checkPoints(t *testing.T, s *Store) {
	t.Helper()
	for what, c := range map[string]struct {
		query Query
		want  []string
	}{
		"a case that was never sent": {Query{Case: "case 3"}, []string{"run-0001"}},
		"the last point":             {Query{Limit: 1}, []string{"run-0002"}},
		"an unknown metric":          {Query{Metric: "unknown"}, nil},
	} {
		c.query.Suite, c.query.Arm = "suite", "pro/ask"
		var got []string
		for _, p := range trend(t, s, c.query) {
			got = append(got, p.Run)
		}
		expect.Same(t, what, got, c.want)
	}
	names, err := s.Metrics("suite", "pro/ask", 0)
	expect.OK(t, err)
	expect.Same(t, "metrics", names, []string{"closeness", "latency"})
	names, err = s.Cases("suite", "pro/ask", 2)
	expect.OK(t, err)
	expect.Same(t, "cases", names, []string{"case 0", "case 1", "case 2", "case 3"})
}

// A case is looked up once a run, and no table is read as a whole but that of the runs.
func TestTrendUsesIndexes(t *testing.T) {
	t.Parallel()
	s := open(t, filepath.Join(t.TempDir(), "history.db"))
	search := func(q Query, want string, statement string, args []any) {
		plan, err := collect(s, func(rows *sql.Rows, text *string) error {
			var id, parent, unused int
			return rows.Scan(&id, &parent, &unused, text)
		}, "EXPLAIN QUERY PLAN "+statement, args...)
		expect.OK(t, err)
		text := strings.Join(plan, "\n")
		if !strings.Contains(text, want+")") || !strings.Contains(text, "SCAN r USING INDEX run_started") || strings.Contains(text, "SCAN c") ||
			strings.Contains(text, "TEMP B-TREE") || strings.Contains(text, "SCAN word") {
			t.Errorf("%+v: got the plan\n%s\nwant one by the index without a scan or a sort", q, text)
		}
	}
	for _, q := range []Query{
		{Suite: "s", Arm: "a", Case: "c"},
		{Suite: "s", Arm: "a", Case: "c", Metric: "m"},
		{Suite: "s", Arm: "a", Metric: "m"},
		{Suite: "s", Arm: "a"},
	} {
		statement, args := trendOf(&q, q.Metric, q.Metric != "")
		want := "SEARCH c USING PRIMARY KEY (run=? AND suite=? AND arm=?"
		if q.Case != "" {
			want += " AND kase=?"
			ofBuckets, itsArgs := bucketsOf(&q)
			search(q, "SEARCH c USING INDEX sqlite_autoindex_cells_1 (run=? AND suite=? AND arm=? AND bucket=?", ofBuckets, itsArgs)
		}
		if q.Metric != "" {
			want += " AND metric=?"
		}
		search(q, want, statement, args)
	}
}

// A migration comes with the sum of the schema that it leads to.
func TestSchemasAreThoseOfTheMigrations(t *testing.T) {
	t.Parallel()
	db, err := sql.Open("sqlite", ":memory:")
	expect.OK(t, err)
	defer db.Close()
	db.SetMaxOpenConns(1)
	var sums []string
	for _, migration := range migrations {
		_, err = db.Exec(migration)
		expect.OK(t, err)
		schema, err := schemaOf(db)
		expect.OK(t, err)
		sums = append(sums, fmt.Sprintf("%x", sha256.Sum256([]byte(schema))))
	}
	expect.Same(t, "sums of schemas", sums, schemas)
}
