package reports_test

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/clipperhouse/displaywidth"

	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/testing/expect"
	"github.com/evalrun/evalrun/internal/testing/testrun"
	"github.com/evalrun/evalrun/reports"
)

// brief is a trial in a few words: outcome, and the reason of each scorer that failed, or the error.
type brief struct {
	name, arm   string
	outcome     eval.Outcome
	reasons     []string // scorer: reason
	diff        string
	quarantined bool
	latencyMs   float64
	tokens      int
}

func (t brief) trial(n int) *eval.Result {
	r := &eval.Result{
		Trial:    eval.Trial{N: n, ID: fmt.Sprintf("%016x", n), CaseID: t.name, Suite: "s", Case: t.name, Arm: t.arm, Repeat: 1},
		Ending:   testrun.Ending(t.outcome),
		Response: testrun.Answered("an answer", "STOP"),
		Timing:   &eval.Timing{LatencyMs: t.latencyMs}, Usage: &eval.Usage{TotalTokens: t.tokens},
	}
	if t.quarantined {
		r.Quarantine = &eval.Quarantine{Reason: "known", Until: "2099-01-01"}
	}
	for _, reason := range t.reasons {
		scorer, text, _ := strings.Cut(reason, ": ")
		if t.outcome == eval.Err {
			r.Ending = eval.Errored{Error: eval.Errorf(eval.ErrorKind(scorer), "%s", text)}
			continue
		}
		r.Scores = append(r.Scores, eval.Score{Scorer: scorer, Grade: eval.Graded{}, Reason: text, Diff: t.diff})
	}
	return r
}

// tableOf draws the table of a run of one suite, whose trials follow the order of the plan.
func tableOf(t testing.TB, o reports.Options, trials ...brief) string {
	t.Helper()
	var all []*eval.Result
	for n, one := range trials {
		all = append(all, one.trial(n))
	}
	d := testrun.Record(t, &eval.Run{
		ID:        "r",
		StartedAt: "2026-01-01T00:00:00Z",
		Suites:    []eval.RunSuite{{Name: "s", File: "my suite.yaml"}},
		Plan:      eval.RunPlan{Trials: len(trials)},
	}, completed, all...)
	d.Dir = "it's"
	if d.Summary.Counts.Fail > 0 {
		d.Gate().Exit = 1
	}
	return written(t, "table", d, o)
}

func fails(name, arm string, reasons ...string) brief {
	return brief{name: name, arm: arm, outcome: eval.Fail, reasons: reasons}
}

// reasonTables are trials, and what the table has of them.
var reasonTables = map[string]struct {
	trials  []brief
	want    []string
	without []string
}{
	"alone": {
		trials:  []brief{fails("a", "x/p", `equals: expected "1", got "2"`)},
		want:    []string{"FAIL a on x/p\n     equals: expected \"1\", got \"2\"\n"},
		without: []string{"the answer:"},
	},
	"a reason without an excerpt": {
		trials: []brief{fails("a", "x/p", "length: the answer has 9 characters")},
		want:   []string{"     length: the answer has 9 characters\n     the answer: an answer\n"},
	},
	"one part differs": {
		trials: []brief{
			fails("a", "x/p", `has: no "k": "v 1"`), fails("a", "y/p", `has: no "k": "v 1"`),
			fails("b", "x/p", `has: no "k": "w \" 2"...`),
		},
		want: []string{
			"FAIL 3 trials of 2 cases\n     has: no \"k\": \"...\"\n" +
				"       a on x/p, y/p: \"v 1\"\n       b on x/p: \"w \\\" 2\"...\n",
		},
	},
	"several parts differ": {
		trials: []brief{fails("a", "x/p", `equals: expected "1", got "2"`), fails("b", "x/p", `equals: expected "3", got "4"`)},
		want:   []string{"     equals: expected \"...\", got \"...\"\n       a on x/p: expected \"1\", got \"2\"\n"},
	},
	"the same words": {
		trials: []brief{fails("a", "x/p", "length: too long"), fails("b", "x/p", "length: too long"), fails("b", "x/p", "length: too long")},
		want:   []string{"FAIL 3 trials of 2 cases\n     length: too long\n       a on x/p\n       b on x/p (2 trials)\n"},
	},
	"two scorers": {
		trials: []brief{
			fails("a", "x/p", `has: no "1"`, "length: 5 of 3"), fails("b", "x/p", `has: no "2"`, "length: 7 of 3"),
			fails("c", "x/p", "length: 9 of 3"),
		},
		want: []string{
			"FAIL 2 trials of 2 cases\n     has: no \"...\"; length: N of 3\n       a on x/p: \"1\", 5\n       b on x/p: \"2\", 7\n",
			"FAIL c on x/p\n     length: 9 of 3\n",
		},
	},
	"the shortest examples": {
		trials: []brief{
			fails("a", "x/p", `has: "aaaa"`), fails("b", "x/p", `has: "bbbbb"`), fails("c", "x/p", `has: "c"`),
			fails("d", "x/p", `has: "dd"`), fails("e", "x/p", `has: "eeeee"`),
		},
		want: []string{"       a on x/p: \"aaaa\"\n       c on x/p: \"c\"\n       d on x/p: \"dd\"\n       ... and 2 more cases\n"},
	},
	"free texts": {
		trials: []brief{
			fails("a", "x/p", "judge: too vague"), fails("b", "x/p", "judge: wrong tone"), fails("c", "x/p", "judge: rude"),
			fails("d", "x/p", "judge: not to the point"),
		},
		want: []string{"FAIL 4 trials of 4 cases\n     judge: a different reason for each\n       a on x/p: judge: too vague\n"},
	},
	"errors are no failures": {
		trials: []brief{
			fails("a", "x/p", "timeout: after 60s"),
			{name: "b", arm: "x/p", outcome: eval.Err, reasons: []string{"timeout: after 60s"}},
			{name: "c", arm: "x/p", outcome: eval.Err, reasons: []string{"timeout: after 61s"}},
		},
		want: []string{"FAIL a on x/p\n", "\n\nERROR 2 trials of 2 cases\n     timeout: after Ns\n       b on x/p: 60\n       c on x/p: 61\n"},
	},
	"quarantine comes last": {
		trials: []brief{
			{name: "a", arm: "x/p", outcome: eval.Fail, reasons: []string{"has: no"}, quarantined: true},
			{name: "b", arm: "x/p", outcome: eval.Fail, reasons: []string{"has: no"}, quarantined: true},
			fails("c", "x/p", "has: no"),
		},
		want: []string{"FAIL c on x/p\n     has: no\n     the answer: an answer\nFAIL 2 trials of 2 cases, in quarantine\n"},
	},
	"lines that differ": {
		trials: []brief{{
			name: "a", arm: "x/p", outcome: eval.Fail, reasons: []string{"equals: expected ..."},
			diff: "expected: one\ntwo\nthree\nactual:   one\n2\nthree",
		}},
		want: []string{"     equals: expected ...\n       - two\n       + 2\n"},
	},
}

// Trials that failed for the same reason, numbers and quoted texts apart, are shown once; errors are apart from them.
func TestReasonsAreGrouped(t *testing.T) {
	t.Parallel()
	for name, tt := range reasonTables {
		t.Run(name, func(t *testing.T) {
			got := tableOf(t, reports.Options{}, tt.trials...)
			missing(t, got, tt.want...)
			present(t, got, tt.without...)
		})
	}
}

// missing fails for a table that lacks a text.
func missing(t *testing.T, table string, wanted ...string) {
	t.Helper()
	for _, want := range wanted {
		expect.Contains(t, "the table", table, want)
	}
}

func present(t *testing.T, table string, unwanted ...string) {
	t.Helper()
	for _, one := range unwanted {
		if strings.Contains(table, one) {
			t.Errorf("got %q, want none in\n%s", one, table)
		}
	}
}

// A verbose table lists every case; the usual one of very many cases that fail for different reasons stays short.
func TestManyCasesAreListedOnlyWhenVerbose(t *testing.T) {
	t.Parallel()
	var many []brief
	for i := range 1000 {
		one := brief{name: fmt.Sprint("case ", i), arm: "x/p", outcome: eval.Pass}
		if i%10 == 3 {
			one.outcome, one.reasons = eval.Fail, []string{fmt.Sprintf("judge %d: thinks %x", i/100, i)}
		}
		many = append(many, one)
	}
	few := many[:50]
	got := tableOf(t, reports.Options{Verbose: true}, few...)
	missing(t, got, "\n case 12  pass", "\n case 13  FAIL")
	got = tableOf(t, reports.Options{}, many...)
	missing(t, got, "\n... and 43 failures for other reasons\n", "\nFAIL  1000 trials: 900 pass, 100 fail, 1 suite (exit 1)\n")
	present(t, got, "case 12 ")
	if lines := strings.Count(got, "\n"); lines > 60 {
		t.Errorf("%d lines, want at most 60", lines)
	}
}

// A case that failed is named once, and the verdict is the last line, whatever the width.
func TestFailuresAreShownOnce(t *testing.T) {
	t.Parallel()
	for _, width := range []int{0, 60, 80, 120} {
		got := tableOf(
			t, reports.Options{Width: width}, fails("legs", "x/p", `equals: expected "8", got "6"`),
			brief{name: "fine", arm: "x/p", outcome: eval.Pass},
		)
		lines := strings.Split(strings.TrimSuffix(got, "\n"), "\n")
		expect.Same(t, fmt.Sprint("first at ", width), lines[0], "s  1 of 2 pass, 50.0 % (90 % interval 12.1-87.9)")
		expect.Same(t, fmt.Sprint("last at ", width), lines[len(lines)-1], "FAIL  2 trials: 1 pass, 1 fail, 1 suite (exit 1)")
		expect.Same(t, fmt.Sprint("times at ", width), strings.Count(got, "legs"), 1)
		expect.Same(t, fmt.Sprint("lines at ", width), len(lines), 8)
		present(t, got, "fine")
	}
}

// A green run takes a line per suite; a quiet one is the verdict, and says where answers came from that no model gave.
func TestGreenRunsAreShort(t *testing.T) {
	t.Parallel()
	d := testrun.Record(t, &eval.Run{
		ID: "r", StartedAt: "2026-01-01T00:00:00Z", Emulator: true, Suites: []eval.RunSuite{{Name: "s", File: "s.yaml"}},
		Plan: eval.RunPlan{Trials: 1},
	}, completed, brief{name: "a", arm: "x/p", outcome: eval.Pass}.trial(0))
	d.Dir = filepath.Join(".evalrun", "runs", "r")
	const notice = "against evalrun's emulator: answers come from a script, not from a model\n"
	got := written(t, "table", d, reports.Options{Latest: true, Files: []string{"html: page.html"}})
	expect.Same(t, "usual", got, notice+"s  1 pass\nrun:  "+d.Dir+"\nhtml: page.html\nPASS  1 trial, 1 suite\n")
	expect.Same(t, "quiet", written(t, "table", d, reports.Options{Quiet: true}), "PASS  1 trial, 1 suite, emulator\n")
}

// Of many suites only those have a line that did not pass.
func TestManySuitesShowThoseThatDidNotPass(t *testing.T) {
	t.Parallel()
	run := &eval.Run{ID: "r", StartedAt: "2026-01-01T00:00:00Z"}
	var all []*eval.Result
	for n := range 100 {
		name := fmt.Sprint("suite-", n)
		run.Suites = append(run.Suites, eval.RunSuite{Name: name, File: name + ".yaml"})
		one := brief{name: "a", arm: "x/p", outcome: eval.Pass}
		if n == 70 {
			one = fails("a", "x/p", "has: no")
		}
		r := one.trial(n)
		r.Suite = name
		all = append(all, r)
	}
	run.Plan.Trials = len(all)
	d := testrun.Record(t, run, completed, all...)
	got := written(t, "table", d, reports.Options{})
	missing(t, got, "suite-70  0 of 1 pass, 0.0 % (90 % interval 0.0-73.0)\n... and 99 more suites passed\n", "FAIL suite-70: a on x/p\n")
	present(t, got, "suite-71")
}

// What took much more than the rest is named, and nothing when nothing did.
func TestExtremesAreNamed(t *testing.T) {
	t.Parallel()
	var trials []brief
	for i := range 20 {
		trials = append(trials, brief{name: fmt.Sprint("c", i), arm: "x/p", outcome: eval.Pass, latencyMs: 300 + float64(i), tokens: 50 + i})
	}
	present(t, tableOf(t, reports.Options{Verbose: true}, trials...), "slowest", "costliest")
	trials[4].latencyMs, trials[7].latencyMs, trials[9].tokens = 4000, 5000, 900
	present(t, tableOf(t, reports.Options{}, trials...), "slowest", "costliest")
	missing(t, tableOf(t, reports.Options{Verbose: true}, trials...),
		"\nslowest: c7 on x/p (5.00 s), c4 on x/p (4.00 s); the median is 312 ms\n"+
			"costliest: c9 on x/p (900 tokens); the median is 61 tokens\n")
}

// The commands at the end can be copied: quoted for a shell, broken at words, and left out when they cannot be shown as they are.
func TestNextCommandsCanBeCopied(t *testing.T) {
	t.Parallel()
	trials := []brief{
		{name: "what's $HOME?", arm: "x/p", outcome: eval.Fail, reasons: []string{"has: no"}},
		{name: "b", arm: "y/p", outcome: eval.Pass},
	}
	missing(t, tableOf(t, reports.Options{Width: 120, Verbose: true}, trials...),
		`  evalrun show 'it'\''s' 'what'\''s $HOME?'  `, `  evalrun run --failed-in 'it'\''s'  `,
		`  evalrun rescore 'it'\''s'  `, `  evalrun compare 'it'\''s' --arms x/p y/p  `)
	missing(t, tableOf(t, reports.Options{Width: 30, Verbose: true}, trials...), "  evalrun run --failed-in \\\n    'it'\\''s'\n")
	missing(t, tableOf(t, reports.Options{Width: 60}, trials...), "\nnext: evalrun run --failed-in 'it'\\''s'\n")
	missing(t, tableOf(t, reports.Options{Width: 32}, trials...), "\nnext: evalrun rescore 'it'\\''s'\n") // the first that fits
	trials[0].name = "a\x1b[31mb"
	got := tableOf(t, reports.Options{Verbose: true}, trials...)
	missing(t, got, "evalrun rescore")
	present(t, got, "evalrun show")
}

// What is offered after errors changes something: no command repeats what would end the same way.
func TestNextAfterErrorsOffersWhatChangesSomething(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		kind   eval.ErrorKind
		reason string
		want   []string
	}{
		{eval.KindMalformed, "the jq of `answer`, .x, finds nothing", []string{"rescore RUN"}},
		{eval.KindMalformed, "the answer is empty", []string{"resume RUN --errors"}},
		{eval.KindStatus, "500: boom", []string{"resume RUN --errors"}},
		{eval.KindTransport, "no connection", []string{"resume RUN --errors"}},
		{eval.KindUnscored, "snapshot: there is no expected answer yet: accept it", []string{"accept RUN", "rescore RUN"}},
		{eval.KindUnscored, "snapshot: there is no expected answer yet, and this one cannot be", []string{"rescore RUN"}},
		{eval.KindUnscored, "judge: the judge `j` was never asked this question", []string{"rescore RUN --ask-judges"}},
		{eval.KindUnscored, "safety: the answer has no safety rating", []string{"rescore RUN"}},
		{eval.KindScorer, "it broke", []string{"rescore RUN"}},
		{eval.KindReplayMiss, "nothing is recorded", nil},
		{eval.KindOverLimit, "too long", nil},
	} {
		got := tableOf(
			t, reports.Options{Width: 120, Verbose: true},
			brief{name: "a", arm: "x/p", outcome: eval.Err, reasons: []string{string(test.kind) + ": " + test.reason}},
		)
		var steps []string
		for line := range strings.Lines(got) {
			if command, ok := strings.CutPrefix(line, "  evalrun "); ok && !strings.HasPrefix(command, "show") {
				command, _, _ = strings.Cut(command, "  ")
				steps = append(steps, strings.ReplaceAll(strings.TrimSpace(command), `'it'\''s'`, "RUN"))
			}
		}
		if !slices.Equal(steps, test.want) {
			t.Errorf("%s: %s: got %q, want %q\n%s", test.kind, test.reason, steps, test.want, got)
		}
	}
}

// Wide characters, combining marks, texts from right to left and colours keep the columns in line, and every line fits.
func TestColumnsAlignWithWideCharacters(t *testing.T) {
	t.Parallel()
	var trials []brief
	for _, name := range []string{
		"plain", "日本語のテスト", "👩‍👩‍👧 family", "e\u0301\u0301galite\u0301", "שלום עולם", "مرحبا", strings.Repeat("長い", 100),
	} {
		for _, arm := range []string{"x/p", "y/p"} {
			trials = append(trials, brief{name: name, arm: arm, outcome: eval.Fail, reasons: []string{fmt.Sprintf("has: no %q", name)}})
		}
	}
	for width := 60; width <= 200; width += 10 {
		got := tableOf(t, reports.Options{Width: width, Verbose: true}, trials...)
		colored := tableOf(t, reports.Options{Width: width, Verbose: true, Color: true}, trials...)
		if plain := colors.ReplaceAllString(colored, ""); plain == colored || plain != got {
			t.Errorf("width %d: got with colors\n%s\nwant the same columns as\n%s", width, colored, got)
		}
		at := -1
		for _, line := range strings.Split(got, "\n") {
			if w := displaywidth.String(line); w > width {
				t.Errorf("width %d: got %d columns, want no more: %s", width, w, line)
			}
			if before, _, found := strings.Cut(line, "  FAIL "); found {
				at = aligned(t, line, before, at)
			}
		}
		if at < 0 {
			t.Errorf("width %d: got no cases, want some\n%s", width, got)
		}
	}
}

// aligned fails for a line whose outcome is in another column than that of the lines before it, or whose case reaches into
// it. It returns the column; -1 is that of no line.
func aligned(t *testing.T, line, before string, at int) int {
	t.Helper()
	column := displaywidth.String(line[:strings.LastIndex(line, "FAIL")])
	if at < 0 {
		return column
	}
	if w := displaywidth.String(strings.TrimRight(before, " ")); w > at {
		t.Errorf("got the column %d, want at most %d: %s", w, at, line)
	}
	if column != at {
		t.Errorf("got the column %d, want %d: %s", column, at, line)
	}
	return at
}
