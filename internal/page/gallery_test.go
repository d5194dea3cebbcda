package page_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"html"
	"slices"
	"strings"
	"testing"

	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/page"
	"github.com/evalrun/evalrun/internal/testing/expect"
	"github.com/evalrun/evalrun/internal/testing/hostile"
	"github.com/evalrun/evalrun/internal/testing/testrun"
	"github.com/evalrun/evalrun/journal"
)

// letters are trials of an arm of the suite "s": p passes, f fails, s is skipped.
func letters(text, arm string) (out []*eval.Result) {
	kinds := map[rune]eval.Outcome{'p': eval.Pass, 'f': eval.Fail, 's': eval.Skip}
	for i, letter := range text {
		r := &eval.Result{
			Trial: eval.Trial{
				N: i, ID: fmt.Sprintf("%016x", i), CaseID: fmt.Sprint("id ", i), Suite: "s", Case: fmt.Sprint("c", i), Arm: arm, Repeat: 1,
			},
			Ending: testrun.Ending(kinds[letter]), Response: testrun.Answered("x", "STOP"), Timing: &eval.Timing{LatencyMs: 100, Attempts: 1},
			Usage: &eval.Usage{PromptTokens: 4, OutputTokens: 3, TotalTokens: 7},
		}
		if r.Outcome() == eval.Skip {
			r.Ending, r.Response = eval.Skipped{Reason: "the budget is spent"}, nil
		}
		out = append(out, r)
	}
	return out
}

func head(id string, day, trials int) *eval.Run {
	return &eval.Run{
		ID: id, StartedAt: fmt.Sprintf("2026-01-%02dT00:00:00Z", day), Commit: "commit of " + id, Suites: []eval.RunSuite{{Name: "s"}},
		Plan: eval.RunPlan{Trials: trials, Arms: []string{"t/p"}},
	}
}

func completed() *eval.End {
	return &eval.End{Reason: eval.EndCompleted, FinishedAt: "2026-02-01T00:00:00Z"}
}

func TestSummaryGivesTheStateOfARun(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		letters       string
		planned       int
		end           *eval.End
		running       bool
		state, reason string
		rate          *float64 // of judged trials
	}{
		"complete":                     {"pppf", 4, completed(), false, "complete", "", new(0.75)},
		"killed":                       {"f", 1, nil, false, "interrupted", "killed", new(0.0)},
		"interrupted":                  {"p", 2, &eval.End{Reason: eval.EndInterrupted}, false, "interrupted", "interrupted", new(1.0)},
		"out of budget":                {"ps", 2, &eval.End{Reason: eval.EndBudget}, false, "incomplete", "budget", new(1.0)},
		"waiting":                      {"p", 2, &eval.End{Reason: eval.EndWaiting}, false, "incomplete", "further calls", new(1.0)},
		"with trials that are missing": {"p", 2, completed(), false, "incomplete", "completed", new(1.0)},
		"without judged trials":        {"ss", 2, completed(), false, "incomplete", "completed", nil},
		"running":                      {"p", 2, nil, true, "in progress", "", new(1.0)},
		"empty":                        {"", 0, completed(), false, "complete", "", nil},
	} {
		d := testrun.Record(t, head("r", 1, test.planned), test.end, letters(test.letters, "t/p")...)
		d.Running, d.Decision = test.running, &journal.Decision{Gate: journal.Gate{Exit: 1}}
		got := page.Summarize(d)
		expect.Same(t, "state of a run that is "+name, [2]string{string(got.Phase), got.Reason}, [2]string{test.state, test.reason})
		expect.Same(t, "pass rate of a run that is "+name, got.PassRate, test.rate)
		expect.Same(t, "passes", got.Pass, strings.Count(test.letters, "p"))
		expect.Same(t, "failing cases", len(got.Failing), strings.Count(test.letters, "f"))
		if (got.Exit == nil) != test.running {
			t.Errorf("exit of a run that is %s: got %v, want none only while it runs", name, got.Exit)
		}
	}
}

func TestUnreadableRunSaysWhy(t *testing.T) {
	t.Parallel()
	got := page.Unreadable(errors.New("no space left"))
	expect.Same(t, "summary", got, page.RunFigures{Phase: page.Incomplete, Problem: "no space left"})
	text, err := json.Marshal(got)
	expect.OK(t, err)
	expect.Same(t, "JSON", string(text),
		`{"pass":0,"fail":0,"error":0,"skip":0,"passRate":null,"state":"incomplete","exit":null,"problem":"no space left"}`)
}

func TestRunOfTheListHasItsSuitesAndMarks(t *testing.T) {
	t.Parallel()
	r := page.NewListedRun("key", &eval.Run{
		ID: "id", Name: "nightly", Branch: "main", Labels: map[string]string{"z": "1", "a": ""}, StartedAt: "2026-01-01T00:00:00Z",
		Suites: []eval.RunSuite{{Name: "b"}, {Name: "a"}, {Name: "b"}}, Emulator: true, Plan: eval.RunPlan{Trials: 7},
	})
	expect.Same(t, "run", r, page.ListedRun{
		Key: "key", ID: "id", Suites: []string{"b", "a", "b"}, Marks: []string{"nightly", "main", "a", "z=1"},
		StartedAt: "2026-01-01T00:00:00Z", Emulator: true, Planned: 7, Branch: "main", Of: r.Of,
		Gates: map[string]*eval.GateConfig{"a": nil, "b": nil},
	})
	expect.Same(t, "title", r.Title(), "b, a, b")
	empty := page.NewListedRun("", &eval.Run{})
	text, err := json.Marshal(empty)
	expect.OK(t, err)
	expect.Contains(t, "JSON of a run without suites", string(text), `"suites":[],"marks":[]`)
	expect.Same(t, "title without suites", empty.Title(), "")
}

func TestPagesEscapeWhateverTheyAreMadeOf(t *testing.T) {
	t.Parallel()
	for _, text := range hostile.Strings() {
		if strings.ContainsAny(text, "\x00\r") || strings.ToValidUTF8(text, "") != text {
			continue // HTML cannot hold them
		}
		p := page.RunsSource{
			Name: text, Title: text, Maker: text, Area: text, Policy: text, Data: text, Head: text, Root: text, Who: text,
			Links: []page.RunsLink{{Name: text, Title: text, Address: "runs.html"}}, Style: "s.css", Code: "p.js",
		}
		var b strings.Builder
		expect.OK(t, p.Draw(&b))
		got := b.String()
		for _, tag := range []string{"<script", "<img", "<iframe", "<svg"} {
			want := map[string]int{"<script": 1}[tag]
			if n := strings.Count(strings.ToLower(got), tag); n != want {
				t.Errorf("%q: got %d of %s, want %d:\n%s", text, n, tag, want, got)
			}
		}
		expect.Contains(t, "title", html.UnescapeString(got), "<title>"+text+": "+text+"</title>")
	}
}

func TestPageMarksTheLinkToItselfAlone(t *testing.T) {
	t.Parallel()
	p := page.RunsSource{Name: "trends", Title: "Trends", Maker: "evalrun", Links: []page.RunsLink{
		{"runs", "Runs", "index.html"}, {"trends", "Trends", "trends.html"},
	}}
	var b strings.Builder
	expect.OK(t, p.Draw(&b))
	got := b.String()
	expect.Contains(t, "page", got, `<a href="index.html">Runs</a><a href="trends.html" aria-current="page">Trends</a>`)
	for _, absent := range []string{"Content-Security-Policy", "data-from", "data-head", "data-root", "data-who"} {
		if strings.Contains(got, absent) {
			t.Errorf("got %s on a page without it, want it left out:\n%s", absent, got)
		}
	}
}

// documents are runs, the newest first, each with a pass rate.
func documents(t *testing.T, all ...[2]string) (ids []string, open func(int) (*journal.Document, error)) {
	t.Helper()
	var files []string
	for i, one := range all {
		d := testrun.Record(t, head(one[0], len(all)-i, len(one[1])), completed(), letters(one[1], "t/p")...)
		ids, files = append(ids, one[0]), append(files, d.Path())
	}
	return ids, func(i int) (*journal.Document, error) { return journal.Open(files[i]) }
}

func trend(t *testing.T, shown page.Shown, metric string) *page.Trend {
	t.Helper()
	for _, c := range shown.Trends {
		if c.Metric == metric && c.Arm == "t/p" {
			return c
		}
	}
	t.Fatalf("got %d trends without %s, want one", len(shown.Trends), metric)
	return nil
}

// listed are runs in a list, whose suite s has a gate.
func listed(ids ...string) (out []*page.ListedRun) {
	gate := &eval.GateConfig{PassRateMin: new(0.9), Means: []eval.MeanMin{{Metric: "tone", Min: 0.5}}}
	for _, id := range ids {
		r := page.NewListedRun("key-"+id, &eval.Run{ID: id, Suites: []eval.RunSuite{{Name: "s", Gate: gate}}})
		out = append(out, &r)
	}
	return out
}

func TestTrendsHaveTheNewestRunLastWithItsKeyAndCommit(t *testing.T) {
	t.Parallel()
	ids, open := documents(t, [2]string{"c", "ff"}, [2]string{"b", "pf"}, [2]string{"a", "pp"})
	trends := page.NewTrends(listed(ids...))
	expect.OK(t, trends.TakeRuns(open))
	c := trend(t, trends.Shown(""), "pass")
	var got []string
	for _, p := range c.Points {
		got = append(got, fmt.Sprint(p.Run, " ", p.Key, " ", p.Commit, " ", p.Value, " ", p.N))
		if p.Interval == nil || p.Interval[0] > p.Value || p.Interval[1] < p.Value {
			t.Errorf("run %s: got the interval %v, want one around %g", p.Run, p.Interval, p.Value)
		}
	}
	expect.Same(t, "points", got, []string{"a key-a commit of a 1 2", "b key-b commit of b 0.5 2", "c key-c commit of c 0 2"})
	expect.Same(t, "the gate's limit", *c.Limit, 0.9)
	expect.Same(t, "a metric without a rule", trend(t, trends.Shown(""), "tokens").Limit, nil)
}

func TestTrendsLeaveOutRunsThatCannotBeOpenedOrStillRun(t *testing.T) {
	t.Parallel()
	ids, open := documents(t, [2]string{"running", "p"}, [2]string{"gone", "p"}, [2]string{"good", "p"})
	trends := page.NewTrends(listed(ids...))
	expect.OK(t, trends.TakeRuns(func(i int) (*journal.Document, error) {
		if ids[i] == "gone" {
			return nil, errors.New("it is gone")
		}
		d, err := open(i)
		if err == nil {
			d.Running = ids[i] == "running"
		}
		return d, err
	}))
	points := trend(t, trends.Shown(""), "pass").Points
	expect.Same(t, "runs", []string{points[0].Run}, []string{"good"})
	expect.Same(t, "points", len(points), 1)
}

func TestTrendsTakeEachRunOnce(t *testing.T) {
	t.Parallel()
	ids, open := documents(t, [2]string{"b", "pf"}, [2]string{"a", "pp"})
	trends := page.NewTrends(listed(ids...))
	expect.OK(t, trends.TakeRuns(func(i int) (*journal.Document, error) {
		if i == 0 {
			return nil, errors.New("it is not there yet")
		}
		return open(i)
	}))
	opened := []int{}
	expect.OK(t, trends.TakeRuns(func(i int) (*journal.Document, error) {
		opened = append(opened, i)
		return open(i)
	}))
	expect.Same(t, "opened the second time", opened, []int{0})
	expect.Same(t, "points", len(trend(t, trends.Shown(""), "pass").Points), 2)
}

func TestTrendsOpenOnlyTheNewestRuns(t *testing.T) {
	t.Parallel()
	ids := make([]string, 80)
	for i := range ids {
		ids[i] = fmt.Sprint("r", i)
	}
	opened := []int{}
	trends := page.NewTrends(listed(ids...))
	expect.OK(t, trends.TakeRuns(func(i int) (*journal.Document, error) {
		opened = append(opened, i)
		return nil, errors.New("gone")
	}))
	expect.Same(t, "opened", [3]int{len(opened), opened[0], opened[len(opened)-1]}, [3]int{50, 0, 49})
	shown := trends.Shown("the history is of a newer evalrun")
	text, err := json.Marshal(shown)
	expect.OK(t, err)
	expect.Same(t, "what the page reads", string(text), `{"courses":[],"more":0,"warning":"the history is of a newer evalrun"}`)
}

// Five hundred trends are shown; the page says how many more there are.
func TestTrendsCountThoseThatAreLeftOut(t *testing.T) {
	t.Parallel()
	const arms = 130 // with four metrics each
	var trials []*eval.Result
	for i := range arms {
		r := letters("p", fmt.Sprintf("t/%03d", i))[0]
		r.N, r.ID = i, fmt.Sprintf("%016x", i)
		trials = append(trials, r)
	}
	d := testrun.Record(t, head("r", 1, arms), completed(), trials...)
	trends := page.NewTrends(listed("r"))
	expect.OK(t, trends.TakeRuns(func(int) (*journal.Document, error) { return journal.Open(d.Path()) }))
	shown := trends.Shown("")
	expect.Same(t, "trends", len(shown.Trends), 500)
	expect.Same(t, "trends that are left out", shown.More, arms*4-500)
}

func TestTrendsAreGroupedBySuite(t *testing.T) {
	t.Parallel()
	var trials []*eval.Result
	for i, name := range []string{"zeta", "alpha", "zeta"} {
		r := letters("p", fmt.Sprint("t/", i))[0]
		r.N, r.ID, r.Suite = i, fmt.Sprintf("%016x", i), name
		trials = append(trials, r)
	}
	run := head("r", 1, 3)
	run.Suites = []eval.RunSuite{{Name: "zeta"}, {Name: "alpha"}}
	d := testrun.Record(t, run, completed(), trials...)
	trends := page.NewTrends(listed("r"))
	expect.OK(t, trends.TakeRuns(func(int) (*journal.Document, error) { return journal.Open(d.Path()) }))
	var order []string
	for _, c := range trends.Shown("").Trends {
		order = append(order, c.Suite)
	}
	if len(order) == 0 || !slices.IsSorted(order) || order[0] != "alpha" {
		t.Errorf("got the suites %q, want trends of one suite together, in alphabetical order", order)
	}
}
