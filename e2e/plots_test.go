package e2e_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/gate"
	"github.com/evalrun/evalrun/internal/testing/expect"
	"github.com/evalrun/evalrun/journal"
)

// plotRun is a run whose plots have something to show: arms that cost more answer better.
type plotRun struct {
	arms, cases int
	score       func(r *rand.Rand, arm, k int) *float64 // of the score tone, nil where there is none
	tokens      func(r *rand.Rand, arm int) int
	latency     func(r *rand.Rand, arm int) float64
	name        func(arm int) string
	prices      string
}

func somePlots(arms, cases int) plotRun {
	return plotRun{
		arms: arms, cases: cases,
		score: func(r *rand.Rand, arm, _ int) *float64 {
			if r.IntN(20) == 0 {
				return nil
			}
			return new(min(1, max(0, 0.5+0.05*float64(arm)+0.2*r.NormFloat64())))
		},
		tokens:  func(r *rand.Rand, arm int) int { return 100 + 80*arm + r.IntN(60) },
		latency: func(r *rand.Rand, arm int) float64 { return 300 + 200*float64(arm) + 900*r.ExpFloat64() },
		name:    func(arm int) string { return fmt.Sprintf("model%d/ask", arm) },
	}
}

// path is the path of the report of the run.
func (p plotRun) path(t *testing.T) string {
	t.Helper()
	run, trials := p.record()
	return record(t, run, trials, ranked)
}

func (p plotRun) record() (eval.Run, func(yield func(*eval.Result) bool)) {
	run := eval.Run{
		ID: "20260101-000000-plots", StartedAt: "2026-01-01T00:00:00Z", Suites: []eval.RunSuite{{Name: "plots", File: "plots.yaml"}},
		Plan: eval.RunPlan{Trials: p.arms * p.cases}, Prices: json.RawMessage(p.prices),
	}
	for arm := range p.arms {
		run.Plan.Arms = append(run.Plan.Arms, p.name(arm))
	}
	return run, func(yield func(*eval.Result) bool) {
		r := rand.New(rand.NewPCG(1, 2))
		for n := range run.Plan.Trials {
			if !yield(p.trial(r, n)) {
				return
			}
		}
	}
}

func (p plotRun) trial(r *rand.Rand, n int) *eval.Result {
	arm, k := n%p.arms, n/p.arms
	target, prompt, _ := strings.Cut(p.name(arm), "/")
	out := &eval.Result{
		Trial: eval.Trial{
			N: n, ID: fmt.Sprintf("%016x", n), CaseID: fmt.Sprintf("c%d", k), Suite: "plots", Case: fmt.Sprintf("case %d", k), Arm: p.name(arm),
			Target: target, Prompt: prompt, Model: "svc-pro", Repeat: 1,
		},
		Ending:   eval.Failed{},
		Response: &eval.Response{Candidates: []eval.Candidate{{Text: "An answer.", FinishReason: "STOP"}}},
		Usage:    &eval.Usage{Source: eval.UsageCounted, TotalTokens: p.tokens(r, arm)},
		Timing:   &eval.Timing{LatencyMs: p.latency(r, arm), Attempts: 1},
	}
	tone := p.score(r, arm, k)
	out.Scores = []eval.Score{
		{Scorer: "judge", Name: "tone", Weight: 1, Reason: "so it seems"},
		{Scorer: "contains", Grade: eval.Graded{Value: float64(r.IntN(2))}, Weight: 1},
	}
	out.Usage.OutputTokens = out.Usage.TotalTokens
	if tone != nil {
		out.Scores[0].Grade = eval.Graded{Value: *tone, Passed: *tone >= 0.5}
		if *tone >= 0.5 {
			out.Ending = eval.Passed{}
		}
	}
	return out
}

// ranked adds the ranking of the arms by their pass rates, where they can be ranked.
func ranked(d *journal.Document) {
	if all, err := gate.Rank(d, gate.RankBy{Metric: eval.MetricPass, Alpha: 0.05}); err == nil {
		decided(d).Ranking = all
	}
}

// badPlots lists the faults of the plots of a page. They are a missing name, less than two numbers on the scale, and values that are no
// numbers. Texts may not lie outside of their plot or on each other.
const badPlots = `(() => {
	const bad = [], say = (plot, what) => bad.push(what + ' in ' + (plot.getAttribute('aria-label') || '').slice(0, 80));
	for (const plot of document.querySelectorAll('svg.plot')) {
		const box = plot.getBoundingClientRect();
		if (plot.getAttribute('role') !== 'img' || !plot.getAttribute('aria-label')) bad.push('no words in ' + plot.outerHTML.slice(0, 200));
		if (/NaN|Infinity|undefined|null/.test(plot.outerHTML)) say(plot, 'what is no number');
		const texts = [...plot.querySelectorAll('text')];
		const isNumber = text => /^[×+−-]*\s*[\d.,]+(e-?\d+)?([KMBT]| %| ms| s)?$|^(\d+h)?\d+m\d+s$/.test(text);
		const numbers = new Set(texts.map(t => t.textContent).filter(isNumber));
		if (numbers.size < 2) say(plot, 'the numbers ' + JSON.stringify(texts.map(t => t.textContent)));
		const places = texts.filter(t => !t.matches('.inside')).map(t => [t.textContent, t.getBoundingClientRect()]);
		places.forEach(([text, a], i) => {
			if (a.left < box.left - 2 || a.right > box.right + 2 || a.top < box.top - 2 || a.bottom > box.bottom + 3) say(plot, text + ' is cut');
			for (const [other, b] of places.slice(i + 1)) {
				if (Math.min(a.right, b.right) - Math.max(a.left, b.left) > 1 &&
					Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top) > 4) say(plot, text + ' lies on ' + other);
			}
		});
	}
	for (const bar of document.querySelectorAll('svg.share')) {
		const ends = bar.parentElement.querySelectorAll('.ends span');
		if (ends.length < 2) bad.push('no scale at ' + bar.getAttribute('aria-label'));
	}
	const text = document.getElementById('main').innerText.match(/NaN|undefined|Infinity/);
	if (text) bad.push(text[0] + ' on the page');
	return bad;
})()`

// plots checks all plots of the page, and returns how many there are.
func (b *tab) plots(name string) int {
	b.t.Helper()
	b.unfold()
	for _, problem := range evaluate[[]string](b, badPlots) {
		b.t.Errorf("%s: %s, want no problem", name, problem)
	}
	return evaluate[int](b, `document.querySelectorAll('svg.plot').length`)
}

// Every plot shows two numbers of its scale or more, whatever the data.
func TestPlotsHaveScales(t *testing.T) {
	t.Parallel()
	long := somePlots(24, 40)
	long.name = func(arm int) string {
		return strings.Repeat("very-long-target-name-", 4) + string(rune('a'+arm)) + "/a prompt with a long name as well"
	}
	equal := somePlots(2, 40)
	equal.score = func(*rand.Rand, int, int) *float64 { return new(1.0) }
	equal.tokens = func(*rand.Rand, int) int { return 12 }
	equal.latency = func(*rand.Rand, int) float64 { return 5 }
	empty := somePlots(2, 40)
	empty.score = func(*rand.Rand, int, int) *float64 { return nil }
	empty.tokens = func(*rand.Rand, int) int { return 0 }
	empty.latency = func(*rand.Rand, int) float64 { return 0 }
	huge := somePlots(3, 40)
	huge.tokens = func(r *rand.Rand, arm int) int { return 1 << (20 + arm*15 + r.IntN(3)) }
	huge.latency = func(r *rand.Rand, _ int) float64 { return 1e9 * r.Float64() }
	cheap := somePlots(3, 50)
	cheap.prices = `{"currency":"EUR","models":{"svc-pro":{"input":1e-9,"output":3e-7}}}`
	big, trials := bigRun(400)
	ruled := func(d *journal.Document) {
		decided(d).Gate = journal.Gate{Exit: 1}
		for _, r := range []journal.GateRule{
			{RuleName: "passRate", Found: journal.RuleValue(1.0), Limit: 1, Standing: journal.RuleHolds},
			{RuleName: "errors", Found: journal.RuleValue(0.0), Limit: 0, Standing: journal.RuleHolds},
			{RuleName: "mean words", Found: journal.RuleValue(1234.5), Limit: 2000},
			{RuleName: "mean words", Found: journal.RuleValue(-12.5), Limit: 0},
			{RuleName: "classification kappa", Found: journal.RuleValue(-0.2), Limit: 0.6},
			{RuleName: "latency p95", Found: journal.RuleValue(61e3), Limit: 2},
			{RuleName: "latency p95", Found: journal.RuleValue(0.0), Limit: 0},
			{RuleName: "mean tone", Limit: 0.5},
			{RuleName: "blocked", Found: journal.RuleValue(1e-9), Limit: 1e-6},
		} {
			r.Suite, r.Arm = "big", "pro/ask"
			d.Gate().Rules = append(d.Gate().Rules, r)
		}
	}
	for name, test := range map[string]struct {
		path  string
		pages []reportPage
		least int // plots
	}{
		"three arms":  {somePlots(3, 60).path(t), pages[:1], 16},
		"one trial":   {somePlots(1, 1).path(t), pages[:1], 4},
		"24 arms":     {long.path(t), pages[:1], 24 * 4},
		"all equal":   {equal.path(t), pages[:1], 9},
		"no values":   {empty.path(t), pages[:1], 4},
		"huge values": {huge.path(t), pages[:1], 16},
		"tiny costs":  {cheap.path(t), pages[:1], 19},
		"rules":       {record(t, big, trials, ruled), pages[:1], 8 + 2},
		"a baseline":  {record(t, big, trials, judged), []reportPage{pages[0], pageNamed("comparison")}, 4},
	} {
		for _, width := range []int64{390, 1280, 2560} {
			b := open(t, test.path, width, 1000, map[bool]string{true: "dark", false: "light"}[width == 1280])
			for _, p := range test.pages {
				b.visit(p.hash, p.selector)
				if got := b.plots(fmt.Sprintf("%s at %d, %s", name, width, p.name)); got < test.least {
					t.Errorf("%s at %d, %s: %d plots, want %d", name, width, p.name, got, test.least)
				}
				if got := evaluate[int64](b, `document.documentElement.scrollWidth`); got > width {
					t.Errorf("%s, %s: %d wide on a screen of %d, want it no wider", name, p.name, got, width)
				}
			}
			b.quiet()
		}
	}
}

// pick chooses of a plot what it shows.
func (b *tab) pick(key, text string) {
	b.t.Helper()
	ok := evaluate[bool](b, fmt.Sprintf(`(s => {
		const option = [...s.options].find(o => o.text === %q);
		if (option) { s.value = option.value; s.dispatchEvent(new Event('change')); }
		return option !== undefined;
	})(document.getElementById('pick-' + %q))`, text, key))
	if !ok {
		b.t.Fatalf("%s cannot be chosen at %s, want a choice", text, key)
	}
}

// sectionOf is the text of the section with a heading.
func (b *tab) sectionOf(heading string) string {
	b.t.Helper()
	return evaluate[string](b, fmt.Sprintf(
		`[...document.querySelectorAll('section')].find(s => s.querySelector('h2')?.textContent === %q)?.innerText || 'no such section'`, heading,
	))
}

// The plot of two arms counts the cases in which one has more, and links to the cases that differ most. Many cases share a bubble.
func TestThePlotOfTwoArmsCountsCases(t *testing.T) {
	t.Parallel()
	p := somePlots(3, 2_000)
	p.score = func(_ *rand.Rand, arm, k int) *float64 {
		switch {
		case k == 17:
			return new(float64(arm % 2)) // differs most
		case arm == 2:
			return nil
		case k%4 == 0:
			return new(0.5)
		}
		return new(0.25 + 0.25*float64((k+arm)%3))
	}
	more, less := 0, 0
	for k := range p.cases {
		if a, b := *p.score(nil, 0, k), *p.score(nil, 1, k); b > a {
			more++
		} else if b < a {
			less++
		}
	}
	b := open(t, p.path(t), 1280, 1000, "light")
	b.visit("#/", ".verdict")
	const heading = "Two arms, case by case"
	want := fmt.Sprintf(
		"tone of B is higher in %s cases, lower in %s, the same in %s.", thousands(more), thousands(less), thousands(p.cases-more-less),
	)
	if got := b.sectionOf(heading); !strings.Contains(got, want) {
		t.Errorf("no %q in %s", want, got)
	}
	first := evaluate[string](b, `document.querySelector('#pick-versus-a').closest('section').querySelector('tbody a').getAttribute('href')`)
	expect.Same(t, "the case that differs most", first, "#/side/plots/case%2017?a=model0%2Fask&b=model1%2Fask")
	if n := evaluate[int](b, `document.querySelectorAll('section:has(#pick-versus-a) circle').length`); n > 300 || n < 4 {
		t.Errorf("%d bubbles, want 4 to 300", n)
	}
	b.pick("versus-b", "model2/ask")
	if got := b.sectionOf(heading); !strings.Contains(got, "tone of B is higher in 0 cases, lower in 0, the same in 1.") {
		t.Errorf("got %q, want 0 cases higher, 0 lower, 1 the same", got)
	}
	b.pick("versus-value", "tokens")
	if got := b.sectionOf(heading); !strings.Contains(got, "tokens of B is higher in 2,000 cases, lower in 0, the same in 0.") {
		t.Errorf("got %q, want 2,000 cases higher, 0 lower, 0 the same", got)
	}
	b.plots(heading)
	b.visit(first, "main.side h1")
	b.quiet()
}

// Quality is drawn against money where the run has a price list. The table says which arms are beaten.
func TestQualityIsDrawnAgainstCost(t *testing.T) {
	t.Parallel()
	p := somePlots(3, 60)
	p.prices = `{"currency":"EUR","models":{"svc-pro":{"input":1,"output":10}}}`
	p.tokens = func(_ *rand.Rand, arm int) int { return 100 * (1 + arm) }
	p.score = func(_ *rand.Rand, arm, k int) *float64 { return new([]float64{0, 1, 0.75}[arm] * float64(k%2)) }
	b := open(t, p.path(t), 1280, 1000, "light")
	b.visit("#/", ".verdict")
	rows := func() []string {
		return evaluate[[]string](
			b, `[...document.querySelector('#pick-cost-0').closest('section').querySelectorAll('tbody tr')].
				map(r => r.innerText.replace(/\s+/g, ' '))`,
		)
	}
	expect.Same(t, "by pass rate and money", rows(), []string{
		"1 model0/ask 0 % 1.00 none", "2 model1/ask 50 % 2.00 none", "3 model2/ask 50 % 3.00 2",
	})
	if got := b.sectionOf("Quality against cost"); !strings.Contains(got, "EUR per 1,000 trials") {
		t.Errorf("got %q, want `EUR per 1,000 trials`", got)
	}
	b.pick("quality-0", "tone")
	b.pick("cost-0", "tokens per trial")
	expect.Same(t, "by tone and tokens", rows(), []string{
		"1 model0/ask 0 100 none", "2 model1/ask 0.5 200 none", "3 model2/ask 0.375 300 2",
	})
	points := evaluate[int](b, `document.querySelector('#pick-cost-0').closest('section').querySelectorAll('circle.point').length`)
	expect.Same(t, "full points", points, 2)
	b.visit("#/matrix", ".line.heads .arm")
	heads := strings.Join(texts(b, ".line.heads .arm .note"), "|")
	expect.Contains(t, "a head of the matrix", heads, ", 200 tokens, 2.00 EUR per 1,000 trials|")
	b.quiet()
}
