package eval_test

import (
	"encoding/json"
	"testing"

	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/testing/expect"
	"github.com/evalrun/evalrun/internal/wirejson"
)

func TestOptionsNameOneSource(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		options eval.SourceOptions
		want    eval.Source
	}{
		"nothing":            {want: eval.FromService{}},
		"a cache":            {eval.SourceOptions{Cache: true}, eval.FromService{}},
		"a record":           {eval.SourceOptions{Record: "r"}, eval.FromService{Record: "r"}},
		"a record that adds": {eval.SourceOptions{ReplayOr: "r"}, eval.FromService{Record: "r", Reuse: true}},
		"a replay":           {eval.SourceOptions{Replay: "r"}, eval.FromRecords{"r"}},
		"a file":             {eval.SourceOptions{Answers: "a"}, eval.FromFile{"a"}},
		"a run":              {eval.SourceOptions{Rescore: "run"}, eval.FromRun{Run: "run"}},
		"a run and judges":   {eval.SourceOptions{Rescore: "run", AskJudges: true}, eval.FromRun{Run: "run", AskJudges: true}},
	} {
		got, err := test.options.Source()
		expect.OK(t, err)
		expect.Same(t, name, got, test.want)
	}
}

// Of two sources neither is taken in silence: the error names the options to choose from.
func TestOptionsThatNameTwoSourcesAreRefused(t *testing.T) {
	t.Parallel()
	const (
		records = "--record, --replay and --replay-or-record are three ways to use recorded answers: choose one"
		file    = "--answers takes the answers from a file, and --record, --replay and --replay-or-record keep or use those of a service: " +
			"choose one"
		run = "a rescore takes the answers from its run: leave out the options that record answers or take others"
	)
	for name, test := range map[string]struct {
		options eval.SourceOptions
		says    string
	}{
		"record and replay":  {eval.SourceOptions{Record: "r", Replay: "s"}, records},
		"replay, or record":  {eval.SourceOptions{Replay: "r", ReplayOr: "r"}, records},
		"answers and record": {eval.SourceOptions{Answers: "a", Record: "r"}, file},
		"answers and replay": {eval.SourceOptions{Answers: "a", Replay: "r"}, file},
		"answers, or record": {eval.SourceOptions{Answers: "a", ReplayOr: "r"}, file},
		"run and answers":    {eval.SourceOptions{Rescore: "run", Answers: "a"}, run},
		"run and record":     {eval.SourceOptions{Rescore: "run", Record: "r"}, run},
		"judges alone": {
			eval.SourceOptions{AskJudges: true},
			"only a rescore can ask judges alone: name the run, or leave the option out",
		},
	} {
		got, err := test.options.Source()
		if err == nil || err.Error() != test.says {
			t.Errorf("%s: got %v, %v, want the error %q", name, got, err, test.says)
		}
	}
}

// The baseline has two keys in run files, at the place that they have had since version 0.1.
func TestTheBaselineHasItsKeysInRunFiles(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		text string
		want eval.BaselineOption
		same bool // it is written as it was read
	}{
		"nothing":              {`{"record":"r","interleave":"s@main","out":"o"}`, nil, true},
		"a name":               {`{"record":"r","baseline":"main","interleave":"s@main","out":"o"}`, eval.NamedBaseline("main"), true},
		"none":                 {`{"record":"r","noBaseline":true,"race":"pass","out":"o"}`, eval.NoBaseline{}, true},
		"both, of version 0.1": {`{"baseline":"main","noBaseline":true}`, eval.NoBaseline{}, false},
	} {
		var o eval.Options
		expect.OK(t, json.Unmarshal([]byte(test.text), &o))
		expect.Same(t, name, o.Baseline, test.want)
		if test.same {
			again, err := wirejson.Append(nil, &o)
			expect.OK(t, err)
			expect.Same(t, name+", written again", string(again), test.text)
		}
	}
	var o eval.Options
	err := json.Unmarshal([]byte(`{"baseline":7,"out":"o"}`), &o)
	if err == nil || o.Out != "o" {
		t.Errorf("got %+v and %v, want the rest, and why the baseline could not be read", o.Out, err)
	}
}
