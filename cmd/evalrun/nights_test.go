package main

import (
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"os"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/evalrun/evalrun/compare"
	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/testing/expect"
	"github.com/evalrun/evalrun/journal"
	"github.com/evalrun/evalrun/journal/history"
)

// shakyModel is a model that passes each case with a probability of its own.
type shakyModel struct {
	mu      sync.Mutex
	rng     *rand.Rand
	pass    []float64
	version string
	down    bool
}

// change changes the model between two runs.
func (v *shakyModel) change(to func()) {
	v.mu.Lock()
	defer v.mu.Unlock()
	to()
}

// caseNumber is the case in a prompt of nightsSuite.
var caseNumber = regexp.MustCompile(`case (\d+)`)

func (v *shakyModel) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body) // a short one fails below
	v.mu.Lock()
	defer v.mu.Unlock()
	found := caseNumber.FindSubmatch(body)
	if v.down || found == nil {
		http.Error(w, "down", http.StatusServiceUnavailable)
		return
	}
	n, _ := strconv.Atoi(string(found[1])) // the expression allows digits alone
	text := "no"
	if v.rng.Float64() < v.pass[n] {
		text = "yes"
	}
	fmt.Fprintf(w, `{"model":%q,"choices":[{"index":0,"message":{"role":"assistant","content":%q},"finish_reason":"stop"}],`+
		`"usage":{"prompt_tokens":2,"completion_tokens":1,"total_tokens":3}}`, v.version, text)
}

// nightsSuite has cases of which every tenth is tagged.
func nightsSuite(url string, cases int) string {
	var b strings.Builder
	fmt.Fprintf(&b, `version: 1
name: nightly
services: {vendor: {protocol: openai, baseUrl: "%s/v1", keyEnv: VENDOR_API_KEY, metadata: false}}
targets: [{name: main, service: vendor, model: m}]
prompts: [{name: ask, text: "case {{.n}}"}]
limits: {concurrency: 8, attempts: 1, requestsPerMinute: 1000000}
defaults: {scorers: [{equals: "yes"}]}
gate: {errors: {max: 1}, drift: {metric: pass}}
cases:
`, url)
	for i := range cases {
		tag := ""
		if i%10 == 0 {
			tag = ", tags: [round]"
		}
		fmt.Fprintf(&b, "  - {name: c%d, vars: {n: %d}%s}\n", i, i, tag)
	}
	return b.String()
}

// newNights is a box with a suite of nights; a fifth of the cases is flaky.
func newNights(t *testing.T, seed uint64, cases int) (*box, *shakyModel) {
	t.Helper()
	v := &shakyModel{rng: rand.New(rand.NewPCG(seed, 1)), version: "v-1"}
	for i := range cases {
		p := 1.0
		if i%5 == 4 {
			p = 0.3 + 0.6*v.rng.Float64()
		}
		v.pass = append(v.pass, p)
	}
	b := newBox(t, v, nil)
	b.env = append(b.env, "VENDOR_API_KEY=key-of-vendor")
	b.write("suite.yaml", nightsSuite(b.url, cases))
	return b, v
}

// night runs the suite, and returns the exit code.
func (b *box) night(args ...string) int {
	b.t.Helper()
	cmd := b.command(append([]string{"run", "suite.yaml", "--label", "nightly"}, args...)...)
	out, _ := cmd.CombinedOutput() // the exit code says what it is
	b.out, b.errs = string(out), ""
	return cmd.ProcessState.ExitCode()
}

// A suite that loses three cases for good is red within the nights that the rule needs, every format names the night and the
// cases, and an acknowledgement ends it.
func TestANightIsRedWhenSomethingHappened(t *testing.T) {
	t.Parallel()
	b, v := newNights(t, 5, 40)
	red := 0
	for n := 1; n <= 24 && red == 0; n++ {
		v.change(func() { v.down = n == 7 })
		if n == 14 {
			v.change(func() { v.version, v.pass[11], v.pass[12], v.pass[13] = "v-2", 0, 0, 0 })
		}
		switch code := b.night("-q", "-o", "json=r.json", "-o", "junit=r.xml", "-o", "markdown=r.md"); {
		case code == 1 && n >= 14:
			red = n
		case code != 0 && n != 7:
			t.Fatalf("night %d: exit %d, want 0\n%s", n, code, b.out)
		case n == 1:
			b.says("TOO EARLY  1 night: nothing to compare with yet", ".evalrun/history.db")
		case n == 7:
			b.says("NO NIGHT  this run is no night: outage")
		case n == 12:
			b.says("UNCHANGED  no loss shown in 11 nights (1 outage not counted)")
		}
	}
	if red == 0 || red > 21 {
		t.Fatalf("red on night %d, want one from 15 to 21\n%s", red, b.out)
	}
	words := []string{
		"LOST    since night 13 (", "seen on night " + strconv.Itoa(red-1), "3 cases failed every night since and never before: c11, c12, c13",
		"on night 13 the model's version changed: v-1 to v-2",
	}
	b.says(append(words, "--as level | outage |", "FAIL")...)
	for _, name := range []string{"r.xml", "r.md"} {
		b.out = strings.ReplaceAll(b.read(name), "&#39;", "'")
		b.says(words...)
	}
	b.out = b.read("r.xml")
	b.says(`name="drift: pass main/ask"`)
	var report struct {
		Drift []struct {
			Metric, Arm, State, Run string
			Evidence, Bar           float64
			Start                   int
			Cases                   []string
		}
	}
	expect.OK(t, json.Unmarshal([]byte(b.read("r.json")), &report))
	found := report.Drift[0]
	expect.Same(t, "the start", found.Start, 13)
	expect.Same(t, "the bar", found.Bar, 1800)
	if found.Evidence < found.Bar {
		t.Errorf("evidence %g below the bar", found.Evidence)
	}
	b.exits(1, "history", "--drift")
	b.says(words...)
	b.exits(0, "report", found.Run, "-o", "table")
	b.says(words...)
	b.exits(2, "history", "--acknowledge", found.Run, "--as", "well")
	b.says("level, outage or nothing")
	b.exits(2, "history", "--acknowledge", "gone", "--as", "level")
	b.says("has no run gone")
	b.exits(0, "history", "--acknowledge", "latest", "--as", "level", "--reason", "the vendor moved")
	b.out = b.read("baselines.json")
	b.says(`"drift": [`, "the vendor moved", found.Run)
	b.exits(2, "history", "--acknowledge", found.Run, "--as", "level")
	b.says("no alarm stands")
	expect.Same(t, "after the acknowledgement: exit", b.night("-q"), 0)
	b.says("re-based once since", "by -", "nights since night 13")
	b.exits(0, "report", found.Run, "-o", "table")
	b.says(words...) // what that night said stays
	b.exits(0, "baseline", "list")
	if strings.Contains(b.out, "drift") {
		t.Errorf("got %q, want no baseline", b.out)
	}
}

// A night that has not kept what the nights said is incomplete where nothing can tell, and no pass.
func TestANightThatIsNotKeptIsNoPass(t *testing.T) {
	t.Parallel()
	b, _ := newNights(t, 2, 3)
	b.exits(0, "run", "suite.yaml", "-q", "--label", "nightly", "--out", "night")
	b.exits(0, "history")
	b.says("Passed")
	b.write("night/drift.json", "x")
	b.exits(0, "history", "--rebuild")
	b.says("Incomplete")
}

// A run that is no night has no verdict from the nights, and its failures count as ever.
func TestARunThatIsNoNightIsJudgedAsEver(t *testing.T) {
	t.Parallel()
	b, v := newNights(t, 3, 10)
	v.change(func() { v.pass[3] = 0 })
	b.exits(1, "run", "suite.yaml", "-q")
	b.says("NO NIGHT  this run is no night: it does not fit label:nightly, give the nightly runs --label nightly")
	b.exits(0, "run", "suite.yaml", "-q", "--label", "nightly", "--case", "c1")
	b.says("NO NIGHT  this run is no night: selection")
	b.exits(0, "history", "--drift")
	b.says("1 selection not counted")
}

// keepNights writes a history of nights with a case's outcome by night and case, both from 0, as so many runs would have.
func (b *box) keepNights(nights, cases int, passes func(night, n int) bool) {
	b.t.Helper()
	expect.OK(b.t, os.MkdirAll(b.path(".evalrun"), 0o755))
	store, err := history.Open(b.path(".evalrun/history.db"))
	expect.OK(b.t, err)
	for night := range nights {
		at := time.Date(2026, 1, 1+night, 0, 0, 0, 0, time.UTC)
		run := eval.Run{
			ID: fmt.Sprintf("night-%04d", night+1), StartedAt: at.Format(time.RFC3339Nano), Labels: map[string]string{"nightly": ""},
			Suites: []eval.RunSuite{{Name: "nightly", File: "suite.yaml"}},
			Plan:   eval.RunPlan{Trials: cases, Arms: []string{"main/ask"}},
		}
		dir := b.path(run.ID)
		w, err := journal.Create(dir, &run, nil)
		expect.OK(b.t, err)
		for n := range cases {
			var ending eval.Ending = eval.Failed{}
			if passes(night, n) {
				ending = eval.Passed{}
			}
			id := fmt.Sprintf("%016x", n)
			expect.OK(b.t, w.Append(&eval.Result{
				Trial:  eval.Trial{N: n, ID: id, CaseID: id, Suite: "nightly", Case: fmt.Sprintf("c%d", n), Arm: "main/ask", Repeat: 1},
				Timing: &eval.Timing{Attempts: 1}, Ending: ending, Scores: []eval.Score{},
			}))
		}
		expect.OK(b.t, w.Finish(&eval.End{FinishedAt: at.Add(time.Hour).Format(time.RFC3339Nano), Reason: eval.EndCompleted}))
		d, err := journal.Open(dir)
		expect.OK(b.t, err, store.Add(d), d.Close(), os.RemoveAll(dir))
	}
	expect.OK(b.t, store.Close())
}

func (b *box) drift() (found journal.Drift) {
	b.t.Helper()
	out, _ := b.command("history", "--drift", "--json").Output() // an alarm is exit 1
	var all struct{ Drift []journal.Drift }
	expect.OK(b.t, json.Unmarshal(out, &all))
	expect.Same(b.t, "series", len(all.Drift), 1)
	return all.Drift[0]
}

// TestCalibratedNights counts false alarms in histories of 90 unchanged nights, at most 4 of 30, and holds how soon a loss of
// 8 points is found, in all of 20: within 14 nights after 10.
func TestCalibratedNights(t *testing.T) {
	t.Parallel()
	series, found := 2, 1
	if os.Getenv("EVALRUN_CALIBRATE") != "" {
		series, found = 30, 20
	}
	const cases, nights, before, within = 100, 90, 10, 14
	keep := func(seed uint64, nights, lost int) *box {
		rng := rand.New(rand.NewPCG(seed, 1))
		pass := make([]float64, cases)
		for i := range pass {
			if pass[i] = 0.995; i%5 == 4 {
				pass[i] = 0.3 + 0.6*rng.Float64()
			}
		}
		b := newBox(t, nil, nil)
		b.keepNights(nights, cases, func(night, n int) bool {
			gone := night >= before && n%10 == 1 && n < 10*lost
			return rng.Float64() < pass[n] && !gone
		})
		return b
	}
	alarms := 0
	for s := range series {
		if f := keep(uint64(100+s), nights, 0).drift(); f.State == compare.DriftLost {
			alarms++
			t.Logf("series %d: an alarm on night %d", s, f.Seen)
		} else {
			expect.Same(t, "state", f.State, compare.DriftUnchanged)
			expect.Same(t, "nights", f.Nights, nights)
		}
	}
	if alarms > 4 {
		t.Errorf("%d of %d unchanged series have an alarm, want at most 4", alarms, series)
	}
	for s := range found {
		f := keep(uint64(200+s), before+within, 8).drift()
		t.Logf("series %d: a loss from night %d, seen on night %d", s, f.Start, f.Seen)
		expect.Same(t, "state after a loss", f.State, compare.DriftLost)
		if f.Seen <= before || f.Start < before-2 || f.Start > before+4 {
			t.Errorf("series %d: a loss from night %d, seen on night %d, want one from night %d", s, f.Start, f.Seen, before+1)
		}
	}
}
