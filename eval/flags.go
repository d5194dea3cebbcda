package eval

import (
	"maps"
	"reflect"
	"slices"
)

// Role is what a run that continues makes of an option. The zero Role is invalid.
type Role int

// The roles of options.
const (
	_       Role = iota
	Selects      // chooses the trials and what they send: a resume and a rescore keep it
	Keeps        // a resume keeps it
	Serves       // where requests go, and what untrusted suites may do: the run's own, unless the user replaces all of it
	Bounds       // a limit of one session: each resume may set another one
	Writes       // where a run and its reports are written
)

// Flag is an option by the name of its flag.
type Flag struct {
	Name  string
	Role  Role
	Value any
}

// Flags lists all options, each with its role. It is the one list that decides what a resume, a rescore and a fleet compare.
func (o *Options) Flags() []Flag {
	return []Flag{
		{"--repeats", Selects, o.Repeats},
		{"--max-trials", Selects, o.MaxTrials},
		{"--case", Selects, o.Cases},
		{"--tag", Selects, o.Tags},
		{"--arm", Selects, o.Arms},
		{"--shard", Selects, o.Shard},
		{"--var", Selects, o.Vars},

		{"--failed-in", Keeps, o.FailedIn},
		{"--changed-since", Keeps, o.ChangedSince},
		{"--sample", Keeps, o.Sample},
		{"a selection of trials", Keeps, o.Selected},
		{"--allow-empty", Keeps, o.AllowEmpty},
		{"--seed", Keeps, o.Seed},
		{"--emulator", Keeps, o.Emulator},
		{"--cache", Keeps, o.Cache},
		{"--answers", Keeps, o.Answers},
		{"--record", Keeps, o.Record},
		{"--replay", Keeps, o.Replay},
		{"--replay-or-record", Keeps, o.ReplayOr},
		{"a run to rescore", Keeps, o.Rescore},
		{"--ask-judges", Keeps, o.AskJudges},
		{"--extend", Keeps, o.Extend},
		{"--min-pass-rate", Keeps, o.MinPassRate},
		{"a bound of the pass rate", Keeps, o.PassRateBound},
		{"--max-errors", Keeps, o.MaxErrors},
		{"the largest share of blocked answers", Keeps, o.MaxBlocked},
		o.baselineFlag(),
		{"--interleave", Keeps, o.Interleave},
		{"--gate-of", Keeps, o.GateOf},
		{"--accept-suite-changes", Keeps, o.AcceptSuiteChanges},
		{"--race", Keeps, o.Race},
		{"--margin", Keeps, o.Rule.Margin},
		{"--alpha", Keeps, o.Rule.Alpha},
		{"--on-inconclusive", Keeps, o.Rule.OnInconclusive},
		{"--metric", Keeps, o.Rule.Metrics},
		{"--stop-early", Keeps, o.Rule.StopEarly},
		{"--estimand", Keeps, o.Rule.Estimand},
		{"--min-paired", Keeps, o.Rule.MinPaired},
		{"--allow-removed", Keeps, o.Rule.AllowRemoved},
		{"--no-content", Keeps, o.NoContent},
		{"--batch", Keeps, o.Batch},
		{"--name", Keeps, o.Name},
		{"--label", Keeps, o.Labels},

		{"--base-url", Serves, o.BaseURL},
		{"--api-version", Serves, o.APIVersion},
		{"--header-prefix", Serves, o.HeaderPrefix},
		{"--auth", Serves, o.Auth},
		{"--project", Serves, o.Project},
		{"--auth-scope-base", Serves, o.ScopeBase},
		{"--service", Serves, o.Services},
		{"--allow-env", Serves, o.AllowEnv},
		{"--untrusted", Serves, o.Untrusted},
		{"--allow", Serves, o.Allow},
		{"--allow-file", Serves, o.AllowFile},

		{"--concurrency", Bounds, o.Concurrency},
		{"--rpm", Bounds, o.RPM},
		{"--tpm", Bounds, o.TPM},
		{"--budget-calls", Bounds, o.BudgetCalls},
		{"--budget-tokens", Bounds, o.BudgetTokens},
		{"--budget-money", Bounds, o.BudgetMoney},
		{"--budget-time", Bounds, o.BudgetTime},
		{"--prices", Bounds, o.Prices},
		{"--attempts", Bounds, o.Attempts},
		{"--timeout", Bounds, o.Timeout},
		{"--max-failures", Bounds, o.MaxFailures},
		{"--wait", Bounds, o.Wait},
		{"--live", Bounds, o.Live},

		{"--out", Writes, o.Out},
		{"--report", Writes, o.Reports},
	}
}

func (o *Options) baselineFlag() Flag {
	if o.NoBaseline() {
		return Flag{"--no-baseline", Keeps, true}
	}
	return Flag{"--baseline", Keeps, o.BaselineName()}
}

// Given reports whether the option was given.
func (f Flag) Given() bool {
	v := reflect.ValueOf(f.Value)
	return v.IsValid() && !v.IsZero() && (v.Kind() != reflect.Slice && v.Kind() != reflect.Map || v.Len() > 0)
}

// Changes reports whether the option was given, with another value than before. Of texts by name, only those given count.
func (f Flag) Changes(before Flag) bool {
	texts, byName := f.Value.(map[string]string)
	if !byName {
		return f.Given() && !reflect.DeepEqual(f.Value, before.Value)
	}
	was, _ := before.Value.(map[string]string)
	return slices.ContainsFunc(slices.Collect(maps.Keys(texts)), func(name string) bool {
		old, known := was[name]
		return !known || old != texts[name]
	})
}

// Differing lists the flags whose values differ between two sets of options. It leaves out limits, the run directory and
// reports, which may be others when a run continues, and the places of a selection, which follow from its flags.
func Differing(a, b *Options) []string {
	x, y := *a, *b
	x.Selected, y.Selected = nil, nil
	was := y.Flags()
	var out []string
	for i, f := range x.Flags() {
		if f.Role == Bounds || f.Role == Writes {
			continue
		}
		if f.Changes(was[i]) {
			out = append(out, f.Name)
		} else if was[i].Changes(f) {
			out = append(out, was[i].Name)
		}
	}
	slices.Sort(out)
	return out
}
