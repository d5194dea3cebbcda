package evaltest

import (
	"strings"
	"testing"
	"time"
)

func TestOptionsOutOfRangeAreRefused(t *testing.T) {
	for want, o := range map[string]Options{
		"":                                     {Repeats: 3, Concurrency: 8, Attempts: 1, BudgetCalls: 1, BudgetTokens: 1, Timeout: time.Second},
		"Options.Repeats is -1":                {Repeats: -1},
		"Options.Concurrency is 5000":          {Concurrency: 5000},
		"Options.Attempts is 101, and takes 1": {Attempts: 101},
		"Options.BudgetCalls is -7":            {BudgetCalls: -7},
		"Options.BudgetTokens is -1":           {BudgetTokens: -1},
		"Options.Timeout is -1s":               {Timeout: -time.Second},
		"choose one":                           {Emulator: Demo, Replay: "answers"},
	} {
		if _, err := o.options("suite.yaml"); (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("got %[2]v, want %[1]q", want, err)
		}
	}
}
