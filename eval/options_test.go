package eval_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/testing/expect"
	"github.com/evalrun/evalrun/internal/wirejson"
)

// The flags of a run file are one flat object with times in nanoseconds, as version 0.1 wrote them, whichever encoder writes the line.
func TestOptionsAreFlat(t *testing.T) {
	const want = `{"baseUrl":"http://a","emulator":"s.yaml","services":{"n":"http://b"},"concurrency":3,` +
		`"budgetTimeNs":50000000,"cases":["<a>"],"record":"r","rule":{"margin":0.05},"maxErrors":0.5,"out":"o","vars":{"k":"v"}}`
	half := 0.5
	o := eval.Options{
		ServiceOptions:   eval.ServiceOptions{BaseURL: "http://a", Services: map[string]string{"n": "http://b"}},
		LimitOptions:     eval.LimitOptions{Concurrency: 3, BudgetTime: 50 * time.Millisecond},
		SelectionOptions: eval.SelectionOptions{Cases: []string{"<a>"}},
		SourceOptions:    eval.SourceOptions{Record: "r"},
		GateOptions:      eval.GateOptions{Rule: eval.RuleOptions{Margin: 0.05}, MaxErrors: &half},
		Emulator:         "s.yaml", Out: "o", Vars: map[string]string{"k": "v"},
	}
	run := eval.Run{CommandOptions: &eval.RunOptions{Options: o}}
	for name, encode := range map[string]func(any) ([]byte, error){
		"Marshal": wirejson.Marshal, "Append": func(v any) ([]byte, error) { return wirejson.Append(nil, v) },
	} {
		data, err := encode(run)
		if err != nil {
			t.Fatal(name, err)
		}
		var read struct{ Flags json.RawMessage }
		var back eval.Run
		if err := json.Unmarshal(data, &read); err != nil {
			t.Fatal(name, err)
		}
		if err := json.Unmarshal(data, &back); err != nil {
			t.Fatal(name, err)
		}
		if string(read.Flags) != want {
			t.Errorf("%s wrote %s, want %s", name, read.Flags, want)
		}
		expect.Same(t, name+": read back", *back.CommandOptions, eval.RunOptions{Options: o})
	}
}

// A run stays readable whatever another program wrote for its flags.
func TestOptionsOfAForeignFileStayReadable(t *testing.T) {
	t.Parallel()
	var run eval.Run
	expect.OK(t, json.Unmarshal([]byte(`{"id":"r","flags":{"concurrency":"many","out":"o"},"tool":"other"}`), &run))
	if run.Tool != "other" || run.CommandOptions.Out != "o" || run.CommandOptions.Unreadable == nil {
		t.Errorf("read %+v with %v, want the tool, `out`, and why the rest could not be read", run, run.CommandOptions.Unreadable)
	}
}
