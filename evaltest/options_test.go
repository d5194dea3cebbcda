package evaltest

import (
	"strings"
	"testing"
	"time"
)

func TestOptionsOutOfRangeAreRefused(t *testing.T) {
	for want, set := range map[string]func(o *Options){
		"": func(o *Options) {
			o.Repeats, o.Concurrency, o.Attempts, o.BudgetCalls, o.BudgetTokens, o.Timeout = 3, 8, 1, 1, 1, time.Second
		},
		"Options.Repeats is -1":                func(o *Options) { o.Repeats = -1 },
		"Options.Concurrency is 5000":          func(o *Options) { o.Concurrency = 5000 },
		"Options.Attempts is 101, and takes 1": func(o *Options) { o.Attempts = 101 },
		"Options.BudgetCalls is -7":            func(o *Options) { o.BudgetCalls = -7 },
		"Options.BudgetTokens is -1":           func(o *Options) { o.BudgetTokens = -1 },
		"Options.Timeout is -1s":               func(o *Options) { o.Timeout = -time.Second },
		"choose one":                           func(o *Options) { o.Emulator, o.Replay = Demo, "answers" },
		"Options.Suites is the argument":       func(o *Options) { o.Suites = []string{"other.yaml"} },
	} {
		var o Options
		set(&o)
		if _, err := o.options("suite.yaml"); (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%+v: got %v, want %q", o, err, want)
		}
	}
}
