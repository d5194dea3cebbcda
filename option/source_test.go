package option_test

import (
	"testing"

	"github.com/evalrun/evalrun/internal/expect"
	"github.com/evalrun/evalrun/option"
)

// Options name one source of answers.
func TestOptionsNameOneSource(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		options option.SourceOptions
		want    option.Source
	}{
		"nothing":            {want: option.FromService{}},
		"a cache":            {option.SourceOptions{Cache: true}, option.FromService{}},
		"a record":           {option.SourceOptions{Record: "r"}, option.FromService{Record: "r"}},
		"a record that adds": {option.SourceOptions{ReplayOr: "r"}, option.FromService{Record: "r", Reuse: true}},
		"a replay":           {option.SourceOptions{Replay: "r"}, option.FromRecords{"r"}},
		"a file":             {option.SourceOptions{Answers: "a"}, option.FromFile{"a"}},
		"a run":              {option.SourceOptions{Rescore: "run"}, option.FromRun{Run: "run"}},
		"a run and judges":   {option.SourceOptions{Rescore: "run", AskJudges: true}, option.FromRun{Run: "run", AskJudges: true}},
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
		options option.SourceOptions
		says    string
	}{
		"record and replay":  {option.SourceOptions{Record: "r", Replay: "s"}, records},
		"replay, or record":  {option.SourceOptions{Replay: "r", ReplayOr: "r"}, records},
		"answers and record": {option.SourceOptions{Answers: "a", Record: "r"}, file},
		"answers and replay": {option.SourceOptions{Answers: "a", Replay: "r"}, file},
		"answers, or record": {option.SourceOptions{Answers: "a", ReplayOr: "r"}, file},
		"run and answers":    {option.SourceOptions{Rescore: "run", Answers: "a"}, run},
		"run and record":     {option.SourceOptions{Rescore: "run", Record: "r"}, run},
		"judges alone": {
			option.SourceOptions{AskJudges: true},
			"only a rescore can ask judges alone: name the run, or leave the option out",
		},
	} {
		got, err := test.options.Source()
		if err == nil || err.Error() != test.says {
			t.Errorf("%s: got %v, %v, want the error %q", name, got, err, test.says)
		}
	}
}
