package runner_test

import (
	"fmt"
	"testing"
	"testing/fstest"
	"time"

	"github.com/evalrun/evalrun/diag"
	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/testing/expect"
	"github.com/evalrun/evalrun/runner"
	"github.com/evalrun/evalrun/scorers"
	"github.com/evalrun/evalrun/suite"
)

// A limit on tokens needs to know how long answers may be: the service says so of the model, or the suite of the target.
func TestLimitsOnTokensNeedABound(t *testing.T) {
	t.Parallel()
	const text = `version: 1
name: s
targets:
  - {name: told, model: bounded}
  - {name: open, model: open}
  - {name: capped, model: open, generationConfig: {maxOutputTokens: 5}}
  - {name: gone, model: gone}
  - {name: echo, echo: true}
  - {name: unused, model: open}
prompts: [{name: p, text: x}]
cases: [{name: c, arms: ["told/p", "open/p", "capped/p", "gone/p", "echo/p"], scorers: [{contains: x}]}]
`
	for name, test := range map[string]struct {
		limits suite.Limits
		want   []string
	}{
		"none":             {suite.Limits{BudgetCalls: 5, BudgetMoney: 1, RequestsPerMinute: 3}, nil},
		"a rate":           {suite.Limits{TokensPerMinute: 10}, []string{"5 tokensPerMinute"}},
		"a budget":         {suite.Limits{BudgetTokens: 10}, []string{"5 budget.tokens"}},
		"of the model":     {suite.Limits{Models: []suite.ModelLimits{{Model: "open", TokensPerMinute: 5}}}, []string{"5 tokensPerMinute"}},
		"of another model": {suite.Limits{Models: []suite.ModelLimits{{Model: "bounded", TokensPerMinute: 5}}}, nil},
		"calls of a model": {suite.Limits{Models: []suite.ModelLimits{{Model: "open", RequestsPerMinute: 5}}}, nil},
	} {
		p := plan(t, text, runner.Filter{})
		src := &source{models: map[string]eval.Model{"bounded": {Name: "models/bounded", OutputTokenLimit: 10}, "open": {Name: "models/open"}}}
		var ignored, diags diag.List
		expect.OK(t, p.CheckModels(t.Context(), src, &ignored, func(string) {}))
		p.CheckLimits(&test.limits, &diags)
		var got []string
		for _, d := range diags.Sorted() {
			var limit string
			_, err := fmt.Sscanf(d.Message, "`%s", &limit)
			expect.OK(t, err)
			got = append(got, fmt.Sprintf("%d %s", d.Pos.Line, limit[:len(limit)-1]))
		}
		expect.Same(t, name, got, test.want)
	}
}

const countedSuite = `version: 1
name: s
targets: [{name: one, model: svc-pro}, {name: two, model: svc-pro}, {name: three, model: svc-pro}]
prompts: [{name: p, text: "{{.q}}"}]
defaults: {repeats: 2, scorers: [{contains: a}]}
cases:
  - {name: a, vars: {q: a}}
  - {name: b, vars: {q: b}, arms: one/*, repeats: 5}
  - {dataset: rows.csv, name: "{{.q}}", repeats: "{{.r}}", arms: ["one/p", "two/p"]}
  - {name: "m{{.m}}", matrix: {m: [1, 2, 3]}, vars: {q: "m"}, arms: two/*}
`

// counted loads the suite next to an earlier version of it, which has other cases.
func counted(t *testing.T, files fstest.MapFS) *suite.Suite {
	t.Helper()
	load := func(opts suite.Options, text string) *suite.Suite {
		files["s.yaml"] = &fstest.MapFile{Data: []byte(text)}
		var diags diag.List
		s := suite.Load(files, "s.yaml", scorers.Builtin(), opts, &diags)
		expect.OK(t, diags.Err())
		return s
	}
	base := load(suite.Options{Ref: "main"}, countedSuite+"  - {name: gone, vars: {q: gone}, repeats: 7}\n")
	return load(suite.Options{Base: base}, countedSuite)
}

// What the check has counted is what a walk over the plan counts, with an earlier version next to the suite too.
func TestPlanCountsAsTheCheckDid(t *testing.T) {
	t.Parallel()
	s := counted(t, fstest.MapFS{"rows.csv": {Data: []byte("q,r\nx,3\ny,\nx,1\n")}})
	for _, arms := range [][]string{nil, {"one/*"}, {"two/p", "three/p@main"}, {"none/*"}} {
		suites := []*suite.Suite{s}
		fast := runner.NewPlan(suites, scorers.Builtin(), runner.Filter{Arms: eval.NewPatterns(arms)}, "v1")
		every := runner.Filter{Arms: eval.NewPatterns(arms), Cases: eval.NewPatterns([]string{"*"})} // looks at each case
		slow := runner.NewPlan(suites, scorers.Builtin(), every, "v1")
		walked := 0
		for range fast.Trials() {
			walked++
		}
		of := fmt.Sprint(arms)
		expect.Same(t, "the trials of "+of, fast.Size(), slow.Size())
		expect.Same(t, "the walk of "+of, walked, fast.Size())
		expect.Same(t, "the arms of "+of, fast.ArmNames(), slow.ArmNames())
		sharded := every
		sharded.Shard = eval.Shard{Index: 1, Of: 1000}
		expect.Same(t, "what is asked of "+of, fmt.Sprint(runner.CalledArms(suites, sharded)), fmt.Sprint(fast.Arms()))
	}
}

// A data file that has changed since the check is read again before anything is sent. A row that is broken now must
// not be found in the middle of a run.
func TestPlanReadsAChangedDataFile(t *testing.T) {
	t.Parallel()
	for change, of := range map[string]func(fstest.MapFS){
		"it is gone":    func(f fstest.MapFS) { delete(f, "rows.csv") },
		"it is another": func(f fstest.MapFS) { f["rows.csv"] = &fstest.MapFile{Data: []byte("q\n")} },
		"it is newer":   func(f fstest.MapFS) { f["rows.csv"].ModTime = time.Unix(1, 0) },
	} {
		files := fstest.MapFS{"rows.csv": {Data: []byte("q,r\nx,3\n")}}
		s := counted(t, files)
		_, before := s.Trials()
		of(files)
		_, after := s.Trials()
		expect.Same(t, "known before, and known after "+change, []bool{before, after}, []bool{true, false})
	}
	files := fstest.MapFS{"rows.csv": {Data: []byte("q,r\nx,3\n")}}
	s := counted(t, files)
	delete(files, "rows.csv")
	if err := runner.NewPlan([]*suite.Suite{s}, scorers.Builtin(), runner.Filter{}, "v1").Err(); err == nil {
		t.Error("got no error of a plan whose data file is gone, want one")
	}
}
