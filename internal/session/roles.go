package session

import (
	"maps"
	"reflect"
	"slices"

	"github.com/evalrun/evalrun/eval"
)

// role is what a run that continues makes of an option. The zero role is invalid.
type role int

// The roles of options.
const (
	_       role = iota
	selects      // chooses the trials and what they send: a resume and a rescore keep it
	keeps        // a resume keeps it
	serves       // where requests go, and what untrusted suites may do: the run's own, unless the user replaces all of it
	bounds       // a limit of one session: each resume may set another one
	writes       // where a run and its reports are written
)

type optionFlag struct {
	Name  string
	Role  role
	Value any
}

// flagsOf lists all options, each with its role. It is the one list that decides what a resume, a rescore and a fleet compare.
func flagsOf(o *eval.Options) []optionFlag {
	return []optionFlag{
		{"--repeats", selects, o.Repeats},
		{"--max-trials", selects, o.MaxTrials},
		{"--case", selects, o.Cases},
		{"--tag", selects, o.Tags},
		{"--arm", selects, o.Arms},
		{"--shard", selects, o.Shard},
		{"--var", selects, o.Vars},

		{"--failed-in", keeps, o.FailedIn},
		{"--changed-since", keeps, o.ChangedSince},
		{"--sample", keeps, o.Sample},
		{"a selection of trials", keeps, o.Selected},
		{"--allow-empty", keeps, o.AllowEmpty},
		{"--seed", keeps, o.Seed},
		{"--emulator", keeps, o.Emulator},
		{"--cache", keeps, o.Cache},
		{"--answers", keeps, o.Answers},
		{"--record", keeps, o.Record},
		{"--replay", keeps, o.Replay},
		{"--replay-or-record", keeps, o.ReplayOr},
		{"a run to rescore", keeps, o.Rescore},
		{"--ask-judges", keeps, o.AskJudges},
		{"--extend", keeps, o.Extend},
		{"--min-pass-rate", keeps, o.MinPassRate},
		{"a bound of the pass rate", keeps, o.PassRateBound},
		{"--max-errors", keeps, o.MaxErrors},
		{"the largest share of blocked answers", keeps, o.MaxBlocked},
		baselineFlag(o),
		{"--interleave", keeps, o.Interleave},
		{"--gate-of", keeps, o.GateOf},
		{"--accept-suite-changes", keeps, o.AcceptSuiteChanges},
		{"--race", keeps, o.Race},
		{"--margin", keeps, o.Rule.Margin},
		{"--alpha", keeps, o.Rule.Alpha},
		{"--on-inconclusive", keeps, o.Rule.OnInconclusive},
		{"--metric", keeps, o.Rule.Metrics},
		{"--stop-early", keeps, o.Rule.StopEarly},
		{"--estimand", keeps, o.Rule.Estimand},
		{"--min-paired", keeps, o.Rule.MinPaired},
		{"--allow-removed", keeps, o.Rule.AllowRemoved},
		{"--no-content", keeps, o.NoContent},
		{"--batch", keeps, o.Batch},
		{"--name", keeps, o.Name},
		{"--label", keeps, o.Labels},

		{"--base-url", serves, o.BaseURL},
		{"--api-version", serves, o.APIVersion},
		{"--header-prefix", serves, o.HeaderPrefix},
		{"--auth", serves, o.Auth},
		{"--project", serves, o.Project},
		{"--auth-scope-base", serves, o.ScopeBase},
		{"--service", serves, o.Services},
		{"--allow-env", serves, o.AllowEnv},
		{"--untrusted", serves, o.Untrusted},
		{"--allow", serves, o.Allow},
		{"--allow-file", serves, o.AllowFile},

		{"--concurrency", bounds, o.Concurrency},
		{"--rpm", bounds, o.RPM},
		{"--tpm", bounds, o.TPM},
		{"--budget-calls", bounds, o.BudgetCalls},
		{"--budget-tokens", bounds, o.BudgetTokens},
		{"--budget-money", bounds, o.BudgetMoney},
		{"--budget-time", bounds, o.BudgetTime},
		{"--prices", bounds, o.Prices},
		{"--attempts", bounds, o.Attempts},
		{"--timeout", bounds, o.Timeout},
		{"--max-failures", bounds, o.MaxFailures},
		{"--wait", bounds, o.Wait},
		{"--live", bounds, o.Live},

		{"--out", writes, o.Out},
		{"--report", writes, o.Reports},
	}
}

func baselineFlag(o *eval.Options) optionFlag {
	if o.NoBaseline() {
		return optionFlag{"--no-baseline", keeps, true}
	}
	return optionFlag{"--baseline", keeps, o.BaselineName()}
}

func (f optionFlag) given() bool {
	v := reflect.ValueOf(f.Value)
	return v.IsValid() && !v.IsZero() && (v.Kind() != reflect.Slice && v.Kind() != reflect.Map || v.Len() > 0)
}

// changes reports whether the option was given, with another value than before. Of texts by name, only those given count.
func (f optionFlag) changes(before optionFlag) bool {
	texts, byName := f.Value.(map[string]string)
	if !byName {
		return f.given() && !reflect.DeepEqual(f.Value, before.Value)
	}
	was, _ := before.Value.(map[string]string)
	return slices.ContainsFunc(slices.Collect(maps.Keys(texts)), func(name string) bool {
		old, known := was[name]
		return !known || old != texts[name]
	})
}

// Differing lists the flags whose values differ between two sets of options. It leaves out limits, the run directory and
// reports, which may be others when a run continues, and the places of a selection, which follow from its flags.
func Differing(a, b *eval.Options) []string {
	x, y := *a, *b
	x.Selected, y.Selected = nil, nil
	was := flagsOf(&y)
	var out []string
	for i, f := range flagsOf(&x) {
		if f.Role == bounds || f.Role == writes {
			continue
		}
		if f.changes(was[i]) {
			out = append(out, f.Name)
		} else if was[i].changes(f) {
			out = append(out, was[i].Name)
		}
	}
	slices.Sort(out)
	return out
}
