package e2e_test

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/evalrun/evalrun/compare"
	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/testing/hostile"
	"github.com/evalrun/evalrun/journal"
)

const sentence = "The capital is a city in the north of the country, on the bank of a river. "

// bigRun is a run of 25,000 cases on two arms. Of each arm every tenth case fails, every hundredth errs.
func bigRun(trials int) (eval.Run, func(yield func(*eval.Result) bool)) {
	run := eval.Run{
		ID: "20260101-000000-big", StartedAt: "2026-01-01T00:00:00Z", Suites: []eval.RunSuite{{Name: "big", File: "big.yaml"}},
		Plan: eval.RunPlan{Trials: trials, Arms: []string{"pro/ask", "warm/ask"}},
	}
	return run, func(yield func(*eval.Result) bool) {
		for n := range trials {
			if !yield(bigTrial(n)) {
				return
			}
		}
	}
}

func bigTrial(n int) *eval.Result {
	k := n / 2
	arm := []string{"pro/ask", "warm/ask"}[n%2]
	target, prompt, _ := strings.Cut(arm, "/")
	r := &eval.Result{
		Trial: eval.Trial{
			N: n, ID: fmt.Sprintf("%016x", n), CaseID: fmt.Sprintf("c%d", k), Suite: "big", Case: fmt.Sprintf("case number %d", k), Arm: arm,
			Target: target, Prompt: prompt, Model: "svc-pro", Repeat: 1, Tags: []string{[]string{"europe", "asia", "africa"}[k%3]},
		},
		Request: &eval.Request{
			Contents: []eval.Content{
				{Role: "user", Parts: []eval.Part{eval.TextPart{Text: fmt.Sprintf("What is the capital of country %d? Answer in one word.", k)}}},
			},
		},
		Usage:  &eval.Usage{PromptTokens: 12, OutputTokens: 20 + k%50, TotalTokens: 32 + k%50, Source: eval.UsageEstimated},
		Timing: &eval.Timing{LatencyMs: 200 + float64(k*7919%1000) + 300*float64(n%2), Attempts: 1},
	}
	answer := fmt.Sprintf("Answer %d. %s", k*7919%100_003, strings.Repeat(sentence, 1+k%4))
	finish := "STOP"
	if k%50 == 7 {
		finish = "MAX_TOKENS"
	}
	score := eval.Score{
		Scorer: "contains",
		Name:   "capital",
		Grade:  eval.Graded{Value: 1, Passed: true},
		Weight: 1,
		Reason: fmt.Sprintf("the answer contains %q", "capital"),
	}
	r.Ending = eval.Passed{}
	if k%10 == 3 {
		r.Ending = eval.Failed{}
		score.Grade, score.Reason = eval.Graded{}, fmt.Sprintf("expected the capital %d, got %q", k, answer[:20])
		score.Diff = fmt.Sprintf("expected: Answer %d. The capital\nactual:   %s", k, answer)
	}
	r.Response = &eval.Response{Candidates: []eval.Candidate{{Text: answer, FinishReason: finish, SafetyRatings: []eval.SafetyRating{
		{
			Category:    "HARM_CATEGORY_HARASSMENT",
			Probability: eval.Probabilities[k%17/16],
		}, {Category: "HARM_CATEGORY_HATE_SPEECH", Probability: "NEGLIGIBLE"},
	}}}}
	r.Scores = []eval.Score{score}
	if k%100 == 50 {
		r.Ending, r.Response, r.Scores, r.Usage = eval.Errored{}, nil, nil, nil
		r.Ending = eval.Errored{Error: &eval.Error{Kind: eval.KindStatus, Status: 503, Message: "try again later"}}
	}
	return r
}

// hostileRun is a run in which every text that comes from outside is hostile.
func hostileRun() (eval.Run, func(yield func(*eval.Result) bool)) {
	texts := append([]string{"__proto__", "constructor"}, hostile.Strings()...)
	texts = append(
		texts,
		`</script><script>alert(1)</script>`,
		`<!--<script>`,
		`]]><img src=x onerror=alert(1)>`,
		`<svg onload=alert(1)>`,
		`{{constructor.constructor('alert(1)')()}}`,
		"\u2028alert(1)\u2029",
		`<link rel=stylesheet href=http://127.0.0.1:9/x.css>`,
		`<img src="http://127.0.0.1:9/x.png">`,
		`javascript:alert(1)`,
		`<base href=http://127.0.0.1:9/>`,
		`<meta http-equiv=refresh content="0;url=http://127.0.0.1:9/">`,
		`toString`,
		`#/case/a/b?c`,
		`%`,
		`%zz`,
		"\u202eabc",
		"\x00\x1b[31m",
	)
	run := eval.Run{
		ID:        texts[len(texts)-5],
		StartedAt: "2026-01-01T00:00:00Z",
		Suites:    []eval.RunSuite{{Name: `</title><script>alert(1)</script>`}},
		Plan:      eval.RunPlan{Trials: len(texts), Arms: texts},
	}
	run.Service.BaseURL = `"><script>alert(1)</script>`
	prices := map[string]eval.Price{}
	for _, text := range texts {
		prices[text] = eval.Price{Input: 1}
	}
	run.Prices, _ = json.Marshal(eval.PriceList{Currency: `<img src=x onerror=alert(1)>` + "\u202e", Models: prices})
	for n, text := range texts {
		if n%4 == 0 {
			run.Plan.Targets = append(run.Plan.Targets, eval.RunTarget{Suite: run.Suites[0].Name, Name: text, App: text})
		}
	}
	return run, func(yield func(*eval.Result) bool) {
		for n, text := range texts {
			if !yield(hostileTrial(n, text, run.Suites[0].Name)) {
				return
			}
		}
	}
}

// hostileTrial is the n-th trial of a suite, in which every text is the same.
func hostileTrial(n int, text, suite string) *eval.Result {
	zero := 0.0
	r := &eval.Result{
		Trial: eval.Trial{
			N: n, ID: text + fmt.Sprint(n), CaseID: text, Suite: suite,
			Case: strings.ReplaceAll(text, "\n", " ") + fmt.Sprint(n), Arm: text, Target: text, Prompt: text, Model: text,
			Repeat: 1,
			Tags:   []string{text}, Cluster: text, Quarantine: &eval.Quarantine{Reason: text, Owner: text, Until: "2027-01-01"},
		},
		Ending: eval.Failed{},
		Request: &eval.Request{
			Contents: []eval.Content{
				{Role: text, Parts: []eval.Part{
					eval.TextPart{Text: text}, eval.ImagePart{Image: &eval.Image{Path: text, MIMEType: text, SHA256: text}},
				}},
			},
		},
		Response: &eval.Response{
			Candidates: []eval.Candidate{
				{Text: text, FinishReason: text, SafetyRatings: []eval.SafetyRating{{Category: text, Probability: text}}},
			},
			PromptFeedback: &eval.PromptFeedback{BlockReason: text}, ModelVersion: text,
		},
		Scores: []eval.Score{
			{Scorer: text, Name: text, Grade: eval.Graded{}, Reason: text, Diff: "expected: " + text + "\nactual:   x" + text},
		},
		Usage: &eval.Usage{Source: eval.UsageSource(text)},
	}
	r.At, r.Metrics, r.Vars = text, map[string]float64{text: 0.5}, map[string]string{text: text}
	r.Scores[0].Judged = &eval.Judged{
		Judge:     text,
		Choice:    text,
		Agreement: &zero,
		Rulings:   []eval.Ruling{{Choice: text, Reason: text}, {Choice: text, Score: &zero, Reason: text}},
	}
	r.Judgements = []eval.Judgement{
		{
			ID:           text,
			Judge:        text,
			Model:        text,
			Repeat:       1,
			Reply:        text,
			FinishReason: text,
			BlockReason:  text,
			Usage:        &eval.Usage{Source: eval.UsageSource(text)},
			Attempts:     1,
		},
		{ID: text, Judge: text, Model: text, Repeat: 2, Attempts: 1, Error: &eval.Error{Kind: eval.ErrorKind(text), Message: text}},
	}
	reach(r, text, n%4 == 0)
	if n%2 == 1 {
		r.Request.Live = true
		r.Calls = []eval.AnsweredCall{{Response: *r.Response, Usage: *r.Usage}, {Response: *r.Response, Usage: *r.Usage}}
	}
	if n%3 == 1 {
		r.Ending = eval.Errored{Error: &eval.Error{Kind: eval.ErrorKind(text), Message: text}}
	}
	return r
}

// reach adds tools, pieces of answers, and what an application is sent: an endpoint or a program. All texts are one.
func reach(r *eval.Result, text string, endpoint bool) {
	literal, err := json.Marshal(text)
	if err != nil { // strings always encode
		panic(err)
	}
	q, c := r.Request, &r.Response.Candidates[0]
	q.System, q.Tools = text, []eval.Declaration{{Name: text, Description: text, Parameters: literal}}
	q.ToolChoice, q.ToolResults, q.Extra = &eval.Choice{Name: text}, text, eval.Extra{text: literal}
	results := []eval.CallResult{{ID: text, Name: text, Text: text, Failed: endpoint}}
	q.Contents[0].Parts = append(
		q.Contents[0].Parts, eval.DataPart{Data: &eval.Image{Path: text, MIMEType: text}}, eval.RawPart{Raw: literal},
		eval.ResultPart{Result: &results[0]},
	)
	q.App = &eval.Rendered{Payload: &eval.ProgramRun{
		Command: []string{text}, Files: map[string]string{text: text}, Input: literal, Workspace: text,
	}}
	if endpoint {
		q.App = &eval.Rendered{Payload: &eval.HTTP{
			Method: text, URL: text, Headers: []eval.Header{{Name: text, Value: text}}, Body: text, Stream: true,
		}}
		r.Calls = []eval.AnsweredCall{{Response: *r.Response, Results: results}, {Response: *r.Response}}
	}
	c.VendorReason, c.Raw = text, literal
	c.Pieces = []eval.Piece{
		eval.TextPiece{Text: text},
		eval.ReasoningPiece{Reasoning: text},
		eval.CallPiece{Call: &eval.FunctionCall{ID: text, Name: text, Args: literal}},
		eval.OtherPiece{Other: literal},
	}
	r.TraceID, r.Workspace = text, text
}

// judged gives a run a gate and a comparison, for what they look like.
func judged(d *journal.Document) {
	half, low := 0.89, 0.01
	interval := &[2]float64{-0.08, -0.03}
	margin := 0.05
	decided(d).Gate = journal.Gate{Exit: 1, Rules: []journal.GateRule{
		{Suite: "big", RuleName: "passRate", Arm: "pro/ask", Found: journal.RuleValue(half), Limit: 0.95},
		{Suite: "big", RuleName: "passRate", Arm: "warm/ask", Found: journal.RuleValue(half), Limit: 0.8, Standing: journal.RuleHolds},
		{Suite: "big", RuleName: "errors", Found: journal.RuleValue(low), Limit: 0.02, Standing: journal.RuleHolds},
		{Suite: "big", RuleName: "baseline", Arm: "pro/ask", Found: journal.RuleVerdict(eval.Regressed), Why: "the pass rate is worse"},
	}}
	decided(d).Comparison = &compare.Comparison{
		Base: compare.Compared{Run: "20251231-000000-abc", Name: "main"}, Head: compare.Compared{Run: d.Run.ID}, Verdict: eval.Regressed,
		Arms: []compare.ArmComparison{{
			Suite: "big", BaseArm: "pro/ask", HeadArm: "pro/ask", Verdict: eval.Regressed,
			Cases: compare.Pairing{
				Paired: 25000, Units: 25000, Compared: 25000, Of: 25002, MinPaired: 0.6, Added: []string{"one more"},
				Removed: []string{"gone"}, PassedBefore: []string{"gone"},
			},
			Metrics: []compare.MetricComparison{
				{
					Name: "pass",
					MetricChange: compare.MetricChange{
						Base: 0.945, Head: 0.89, Estimate: -0.055, Interval: interval, Level: 0.9, N: 25000, Gained: 10, Regressed: 30,
					},
					MetricTests:   compare.MetricTests{Test: "paired", Gated: true, Margin: &margin},
					MetricVerdict: compare.MetricVerdict{Verdict: eval.Regressed},
				},
				{
					Name: "latency",
					MetricChange: compare.MetricChange{
						Base: 650, Head: 700, Estimate: 1.08, Interval: &[2]float64{1.02, 1.13}, Level: 0.9, N: 25000,
					},
					MetricTests: compare.MetricTests{Test: "signed rank"},
				},
			},
			Flips: []compare.Flip{
				{
					Case:         "case number 3",
					BasePassed:   1,
					BaseScored:   1,
					HeadScored:   1,
					SingleSample: true,
					BaseAnswer:   "Answer 5. The capital is a town in the north.",
					HeadAnswer:   "Answer 23757. The capital is a city in the north.",
				},
				{Case: "case number 4", BaseScored: 1, HeadPassed: 1, HeadScored: 1, SingleSample: true},
			},
		}},
	}
}
