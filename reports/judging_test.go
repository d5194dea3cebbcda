package reports_test

import (
	"encoding/json"
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/testing/expect"
	"github.com/evalrun/evalrun/internal/testing/hostile"
	"github.com/evalrun/evalrun/internal/testing/testrun"
	"github.com/evalrun/evalrun/journal"
	"github.com/evalrun/evalrun/reports"
)

type judging struct {
	Calls     int
	Tokens    struct{ Total int }
	Agreement []struct {
		Agreement float64
		Kappa     *float64
	}
}

func judgingOf(t *testing.T, d *journal.Document) *judging {
	t.Helper()
	var out struct{ Summary struct{ Judging *judging } }
	expect.OK(t, json.Unmarshal([]byte(written(t, "json", d, reports.Options{})), &out))
	return out.Summary.Judging
}

// judgedRun is a run whose answers were judged as often as there are choices for each.
func judgedRun(t *testing.T, name string, all ...[]string) *journal.Document {
	t.Helper()
	var trials []*eval.Result
	for n, choices := range all {
		r := &eval.Result{
			Trial:  eval.Trial{N: n, ID: fmt.Sprintf("%016x", n), Suite: "s", Case: fmt.Sprint(n), Arm: "t/p", Repeat: 1},
			Ending: eval.Passed{},
		}
		judged := &eval.Judged{Judge: name, Agreement: agreement(choices)}
		for i, c := range choices {
			judged.Rulings = append(judged.Rulings, eval.Ruling{Choice: c})
			r.Judgements = append(r.Judgements, eval.Judgement{
				ID: fmt.Sprint(n, i), Judge: name, Attempts: 1, Usage: &eval.Usage{TotalTokens: 5},
			})
		}
		r.Scores = []eval.Score{{Scorer: "judge", Name: name, Grade: eval.Graded{Value: 1, Passed: true}, Judged: judged}}
		trials = append(trials, r)
	}
	return testrun.Record(t, &eval.Run{
		ID: "r", Suites: []eval.RunSuite{{Name: "s"}}, Plan: eval.RunPlan{Trials: len(all), Arms: []string{"t/p"}},
	}, completed, trials...)
}

// agreement is the share of pairs of choices that are the same, nil when there is no pair.
func agreement(choices []string) *float64 {
	same, pairs := 0, 0
	for i, a := range choices {
		for _, b := range choices[i+1:] {
			pairs++
			if a == b {
				same++
			}
		}
	}
	if pairs == 0 {
		return nil
	}
	return new(float64(same) / float64(pairs))
}

func TestJudgingHasAgreementAndCost(t *testing.T) {
	t.Parallel()
	d := judgedRun(t, "tone", []string{"a", "a", "a"}, []string{"b", "b", "a"}, []string{"b", "b", "b"})
	j := judgingOf(t, d)
	if len(j.Agreement) != 1 || j.Calls != 9 || j.Tokens.Total != 45 {
		t.Fatalf("%+v, want one agreement, 9 calls and 45 tokens", j)
	}
	// Fleiss by hand: agreement (1 + 1/3 + 1) / 3, by chance (4/9)^2 + (5/9)^2.
	seen, chance := 7./9, 41./81
	for _, test := range []struct{ got, want float64 }{
		{j.Agreement[0].Agreement, seen}, {*j.Agreement[0].Kappa, (seen - chance) / (1 - chance)},
	} {
		if math.Abs(test.got-test.want) > 1e-12 {
			t.Errorf("%v, want %v", test.got, test.want)
		}
	}
	table := written(t, "table", d, reports.Options{Width: 100, Verbose: true})
	missing(t, strings.Join(strings.Fields(table), " "), "judging: 9 calls, 45 tokens",
		"tone on t/p: 3 replies of the judge tone to each of 3 answers agree on 77.8 %, kappa 0.550")
}

func TestJudgingWithoutRepeatsHasNoAgreement(t *testing.T) {
	t.Parallel()
	if j := judgingOf(t, judgedRun(t, "tone", []string{"a"}, []string{"b"})); len(j.Agreement) != 0 || j.Calls != 2 {
		t.Errorf("%+v, want 2 calls and no agreement", j)
	}
	if j := judgingOf(t, judgedRun(t, "tone", []string{"a", "a"})); j.Agreement[0].Kappa != nil {
		t.Errorf("%+v, want no kappa", j)
	}
	if j := judgingOf(t, judgedRun(t, "tone", nil)); j != nil {
		t.Errorf("%+v, want no judging without judges", j)
	}
}

func TestJudgingIsSafe(t *testing.T) {
	t.Parallel()
	for _, s := range hostile.Strings() {
		harmless(t, written(t, "table", judgedRun(t, s, []string{s, "b"}), reports.Options{Width: 80}))
	}
}
