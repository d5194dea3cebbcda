package journal

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/testing/expect"
)

// document writes a run of these trials, which are numbered, and opens it.
func document(t *testing.T, change func(*Writer), trials ...*eval.Result) *Document {
	t.Helper()
	dir := t.TempDir()
	run := eval.Run{ID: "r", StartedAt: "2026-01-01T00:00:00Z", Plan: eval.RunPlan{Trials: len(trials), Arms: []string{"t/p", "t/q"}}}
	w, err := Create(dir, &run, nil)
	expect.OK(t, err)
	for n, r := range trials {
		r.N, r.ID = n, fmt.Sprintf("%016x", n)
		expect.OK(t, w.Append(r))
	}
	if change != nil {
		change(w)
	}
	expect.OK(t, w.Finish(&eval.End{Reason: eval.EndCompleted}))
	return followed(t, dir)
}

func answered(name, arm string, outcome eval.Outcome, latency float64) *eval.Result {
	return &eval.Result{
		Trial: eval.Trial{Suite: "s", Case: name, CaseID: "id of " + name, Arm: arm, Repeat: 1}, Ending: ended(outcome),
		Timing: &eval.Timing{LatencyMs: latency}, Usage: &eval.Usage{PromptTokens: 2, OutputTokens: 1, TotalTokens: 3},
	}
}

// Facts say of a trial what its line says: hashes, blocks, ratings, scores.
func TestFactsAreThoseOfTheLine(t *testing.T) {
	t.Parallel()
	full := answered("a", "t/p", eval.Fail, 12.5)
	full.ScorersHash, full.VarsHash, full.RequestHash, full.Cluster = "scorers", "vars", "request", "town"
	full.Tags, full.Repeat = []string{"x", "y"}, 3
	rating := eval.SafetyRating{Category: "HARM", Probability: "HIGH", Blocked: true}
	full.Response = &eval.Response{ModelVersion: "v7", Candidates: []eval.Candidate{
		{Text: "x", FinishReason: "STOP"}, {FinishReason: "SAFETY", SafetyRatings: []eval.SafetyRating{rating}},
	}}
	half := 0.5
	full.Scores = []eval.Score{
		{Scorer: "judge", Name: "tone", Grade: eval.Graded{Value: half}},
		{Scorer: "contains", Grade: eval.Graded{Value: half}},            // without a name
		{Scorer: "judge", Name: "open", Grade: eval.Unscored{Why: "no"}}, // without a value
	}
	bare := answered("b", "t/p", eval.Skip, 0)
	bare.Ending, bare.Usage, bare.Timing = eval.Skipped{Reason: "budget"}, nil, nil
	odd := answered("c", "t/q", eval.Pass, 1)
	odd.CaseID, odd.VarsHash, odd.RequestHash = "0000000000000000", "00000000000000aa", "00000000000000aa+x"
	d := document(t, nil, full, bare, odd)
	kept, err := Open(d.Path(), KeepFacts)
	expect.OK(t, err)
	defer kept.Close()
	want := []Facts{
		{
			ID: fmt.Sprintf("%016x", 0), CaseID: "id of a", ScorersHash: "scorers", VarsHash: "vars", RequestHash: "request", Repeat: 3,
			Suite: "s", Case: "a", Arm: "t/p", Cluster: "town", ModelVersion: "v7", Tags: []string{"x", "y"}, Outcome: eval.Fail,
			Blocked: "SAFETY", Tokens: 3, LatencyMs: 12.5, Ratings: []eval.SafetyRating{rating}, Scores: []NamedScore{{"tone", 0.5}},
		},
		{N: 1, Repeat: 1, ID: fmt.Sprintf("%016x", 1), CaseID: "id of b", Suite: "s", Case: "b", Arm: "t/p", Outcome: eval.Skip},
		{
			N: 2, Repeat: 1, ID: fmt.Sprintf("%016x", 2), CaseID: odd.CaseID, VarsHash: odd.VarsHash, RequestHash: odd.RequestHash,
			Suite: "s", Case: "c", Arm: "t/q", Outcome: eval.Pass, Tokens: 3, LatencyMs: 1,
		},
	}
	for what, d := range map[string]*Document{"of the file": d, "of the index": kept} {
		var got []Facts
		for f, err := range d.Facts() {
			expect.OK(t, err)
			one := *f
			expect.Same(t, "the first line is not that of a trial", one.At > 0, true)
			one.At, one.Scores = 0, slices.Clone(f.Scores)
			got = append(got, one)
		}
		expect.Same(t, "facts "+what, got, want, cmpopts.EquateEmpty())
	}
}

// A blocked prompt is a block, with its own ratings; an answer that came to its end is none, nor is feedback on a prompt
// that gives no reason.
func TestBlocksAreCountedInFacts(t *testing.T) {
	t.Parallel()
	prompt := func(reason string) *eval.PromptFeedback {
		return &eval.PromptFeedback{BlockReason: reason, SafetyRatings: []eval.SafetyRating{{Category: "A"}}}
	}
	answer := eval.Candidate{FinishReason: "STOP"}
	for _, test := range []struct {
		want     string
		response eval.Response
	}{
		{"", eval.Response{Candidates: []eval.Candidate{answer, {FinishReason: "MAX_TOKENS"}}}},
		{"", eval.Response{PromptFeedback: prompt("BLOCK_REASON_UNSPECIFIED"), Candidates: []eval.Candidate{answer}}},
		{"", eval.Response{PromptFeedback: prompt("0"), Candidates: []eval.Candidate{answer}}},
		{"OTHER", eval.Response{PromptFeedback: prompt("OTHER")}},
		{"SAFETY", eval.Response{Candidates: []eval.Candidate{{FinishReason: "SAFETY", SafetyRatings: []eval.SafetyRating{{Category: "B"}}}}}},
	} {
		r := answered("a", "t/p", eval.Fail, 1)
		r.Response = &test.response
		for f, err := range document(t, nil, r).Facts() {
			expect.OK(t, err)
			expect.Same(t, "reason", f.Blocked, test.want)
			expect.Same(t, "reason in the response", test.response.Blocked(), test.want)
			expect.Same(t, "ratings of a block "+test.want, len(f.Ratings) > 0, test.want != "")
		}
	}
}

// Trials that a verdict did not wait for, or does not use, are marked; they change no figure of the gate.
func TestTrialsThatAVerdictDoesNotUseAreMarked(t *testing.T) {
	t.Parallel()
	skipped := answered("c", "t/p", eval.Skip, 0)
	skipped.Ending = eval.SkippedDecided{}
	extra := answered("b", "t/p", eval.Fail, 900)
	d := document(t, func(w *Writer) {
		expect.OK(t, w.WriteStop(&eval.KnownVerdict{
			StoppedArm: eval.StoppedArm{Suite: "s", Arm: "t/p", Units: 1, Of: 3, Unused: []string{extra.ID}}, Verdict: eval.NotWorse,
		}))
	}, answered("a", "t/p", eval.Pass, 100), extra, skipped)
	var got []string
	for f, err := range d.Facts() {
		expect.OK(t, err)
		got = append(got, fmt.Sprintf("%s extra %v stopped %v", f.Case, f.Unused, f.SkippedEarly))
	}
	expect.Same(t, "facts", got, []string{"a extra false stopped false", "b extra true stopped false", "c extra false stopped true"})
	rate, _ := d.Summary.PassRate()
	expect.Same(t, "pass rate", rate, 1.0)
	expect.Same(t, "counts for the gate", d.Summary.Suites[0].Gated, eval.Counts{Pass: 1})
	expect.Same(t, "partial", d.Partial(), false)
	expect.Same(t, "stopped arms", [2]bool{d.StopOf("s", "t/p") != nil, d.StopOf("s", "t/q") != nil}, [2]bool{true, false})
	slowest, _ := d.LatencyQuantile("s", "t/p", 1)
	expect.Same(t, "the slowest that counts", slowest, 100.0)
}

func TestLatencyQuantileIsByNearestRank(t *testing.T) {
	t.Parallel()
	var trials []*eval.Result
	for n := range 20 {
		trials = append(trials, answered(fmt.Sprint(n), "t/p", eval.Pass, float64(100-5*n))) // 5, 10 and so on to 100
	}
	isolated := answered("isolated", "t/p", eval.Fail, 5000)
	isolated.Quarantine = &eval.Quarantine{Until: "2027-01-01"}
	failed := answered("failed", "t/p", eval.Err, 5000)
	failed.Ending = eval.Errored{Error: eval.Errorf(eval.KindTimeout, "late")}
	d := document(t, nil, append(trials, isolated, failed, answered("other", "t/q", eval.Pass, 7))...)
	for q, want := range map[float64]float64{0: 5, 0.05: 5, 0.051: 10, 0.5: 50, 0.95: 95, 0.951: 100, 1: 100} {
		got, ok := d.LatencyQuantile("s", "t/p", q)
		expect.Same(t, fmt.Sprint("quantile ", q), got, want)
		expect.Same(t, "known", ok, true)
	}
	for _, of := range [][2]string{{"s", "gone"}, {"gone", "t/p"}, {"t/p", "s"}} {
		if v, ok := d.LatencyQuantile(of[0], of[1], 0.5); ok {
			t.Errorf("%v: got the quantile %g, want none", of, v)
		}
	}
}

// Rows are cases in the order of the plan; a part of one is an arm.
func TestRowsComeInTheOrderOfThePlan(t *testing.T) {
	t.Parallel()
	failed := answered("b", "t/p", eval.Err, 0)
	failed.Ending = eval.Errored{Error: eval.Errorf(eval.KindTimeout, "late")}
	d := document(
		t, nil, answered("a", "t/p", eval.Pass, 1), answered("a", "t/q", eval.Fail, 2), answered("a", "t/p", eval.Pass, 4), failed,
		answered("a", "t/p", eval.Pass, 8), // a later one of the same name is a row of its own
	)
	var got []string
	for row := range d.Rows() {
		text := fmt.Sprintf("%s %d %g", row.Case, row.Counts.Total(), row.LatencyMs())
		for _, arm := range []string{"t/p", "t/q"} {
			if part, ok := row.On(arm); ok {
				n := 0
				for r, err := range d.Read(part) {
					expect.OK(t, err)
					expect.Same(t, "arm", r.Arm, arm)
					n++
				}
				text += fmt.Sprintf(", %d on %s", n, arm)
			}
		}
		for _, kind := range row.ErrorKinds() {
			text += ", " + string(kind)
		}
		got = append(got, text)
	}
	expect.Same(t, "rows", got, []string{"a 3 7, 2 on t/p, 1 on t/q", "b 1 0, 1 on t/p, timeout", "a 1 8, 1 on t/p"})
}

// Cells add up the repeats of a case on an arm; errors have no latency, and quarantine counts for no gate.
func TestCellsAddUpRepeats(t *testing.T) {
	t.Parallel()
	value := 0.25
	scored := func(outcome eval.Outcome) *eval.Result {
		r := answered("a", "t/p", outcome, 10)
		r.Scores = []eval.Score{{Scorer: "x", Name: "tone", Grade: eval.Graded{Value: value}}}
		return r
	}
	failed := answered("a", "t/p", eval.Err, 99)
	failed.Ending = eval.Errored{Error: eval.Errorf(eval.KindTimeout, "late")}
	failed.Usage = nil
	isolated := answered("b", "t/p", eval.Pass, 1)
	isolated.Quarantine = &eval.Quarantine{Until: "2027-01-01"}
	var got []CaseSums
	for c := range document(t, nil, scored(eval.Pass), scored(eval.Fail), failed, answered("a", "t/q", eval.Pass, 5), isolated).CaseSums() {
		one := *c
		one.Metrics = slices.Clone(c.Metrics)
		got = append(got, one)
	}
	three := Tokens{Prompt: 2, Output: 1, Total: 3}
	expect.Same(t, "cells", got, []CaseSums{
		{
			"s", "a", "t/p",
			Sums{eval.Counts{Pass: 1, Fail: 1, Error: 1}, 20, Tokens{4, 2, 6}, 2},
			eval.Counts{Pass: 1, Fail: 1, Error: 1},
			MetricSums{{"tone", eval.Sum{Total: 0.5, N: 2}}},
		},
		{"s", "a", "t/q", Sums{eval.Counts{Pass: 1}, 5, three, 1}, eval.Counts{Pass: 1}, nil},
		{"s", "b", "t/p", Sums{eval.Counts{Pass: 1}, 1, three, 1}, eval.Counts{}, nil},
	}, cmpopts.EquateEmpty())
}

// Accounts have the scores that did not pass and the errors, and leave out trials that passed or were not sent.
func TestAccountsHaveOnlyWhatDidNotPass(t *testing.T) {
	t.Parallel()
	fails := answered("a", "t/p", eval.Fail, 1)
	fails.Repeat = 2
	fails.Scores = []eval.Score{{Scorer: "equals", Grade: eval.Graded{Value: 1, Passed: true}}, {Scorer: "regex", Reason: "no match"}}
	fails.Judgements = []eval.Judgement{{Judge: "panel"}}
	failed := answered("a", "t/q", eval.Err, 1)
	failed.Ending, failed.Scores = eval.Errored{Error: eval.Errorf(eval.KindTimeout, "late")}, []eval.Score{}
	d := document(t, nil, answered("a", "t/p", eval.Pass, 1), fails, failed, answered("a", "t/p", eval.Skip, 1))
	var got []Failing
	for row := range d.Rows() {
		for a, err := range d.Accounts(row) {
			expect.OK(t, err)
			got = append(got, *a)
		}
	}
	expect.Same(t, "accounts", got, []Failing{
		{Place: 1, Arm: "t/p", Outcome: eval.Fail, Repeat: 2, Scores: []eval.Score{{Scorer: "regex", Reason: "no match"}}, HasReplies: true},
		{Place: 2, Arm: "t/q", Outcome: eval.Err, Repeat: 1, Error: failed.Err()},
	}, cmpopts.EquateEmpty(), cmpopts.IgnoreUnexported(eval.Error{}))
}

// An export has what a comparison needs, and no word of prompts, answers or reasons.
func TestAnExportHasFactsAndNoWords(t *testing.T) {
	t.Parallel()
	value := 1.0
	r := answered("a", "t/p", eval.Fail, 12)
	r.ScorersHash, r.VarsHash, r.RequestHash, r.Tags, r.Cluster = "scorers", "vars", "request", []string{"x"}, "town"
	r.Request = &eval.Request{Contents: []eval.Content{{Parts: []eval.Part{eval.TextPart{Text: "secret prompt"}}}}}
	r.Response = &eval.Response{ModelVersion: "v7", Candidates: []eval.Candidate{{Text: "secret answer", FinishReason: "STOP"}}}
	r.Scores = []eval.Score{
		{
			Scorer: "judge",
			Name:   "tone",
			Grade:  eval.Graded{Value: value},
			Reason: "secret reason",
			Diff:   "secret diff",
		}, {Scorer: "equals", Reason: "secret too"},
	}
	r.Judgements = []eval.Judgement{{Judge: "panel", Reply: "secret reply"}}
	failed := answered("b", "t/p", eval.Err, 1)
	failed.Ending = eval.Errored{Error: eval.Errorf(eval.KindStatus, "secret error")}
	d := document(t, nil, r, failed)
	d.Run.Suites = []eval.RunSuite{{Name: "s", Dir: "/secret/dir"}}
	d.Run.Signature = "secret signature"
	var b bytes.Buffer
	expect.OK(t, d.Export(&b))
	if strings.Contains(b.String(), "secret") {
		t.Errorf("got words in the export, want none:\n%s", b.String())
	}
	expect.Same(t, "the document's own suite", d.Run.Suites[0].Dir, "/secret/dir")
	second, err := open(t, b.Bytes())
	expect.OK(t, err)
	expect.Same(t, "partial", second.Partial(), false)
	facts := func(d *Document) (out []Facts) {
		for f, err := range d.Facts() {
			expect.OK(t, err)
			one := *f
			one.Tags, one.Scores, one.Ratings, one.At = slices.Clone(f.Tags), slices.Clone(f.Scores), nil, 0
			out = append(out, one)
		}
		return out
	}
	expect.Same(t, "facts", facts(second), facts(d), cmpopts.EquateEmpty())
	expect.Same(t, "summary", second.Summary.Suites[0].Arms[0].Scored, 1)
}
