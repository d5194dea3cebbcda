package evalrun

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/session"
	"github.com/evalrun/evalrun/internal/testing/expect"
	"github.com/evalrun/evalrun/journal"
	"github.com/evalrun/evalrun/scorers"
)

// What becomes of an option that Resume or a rescore gets, and that the run did not begin with.
const (
	carried = ""        // it counts
	process = "process" // it is of this package alone, and counts
)

// resumed has what Resume does with each field of Options: carried, process, or a word of the error that refuses it. The same
// with rescored, where it differs.
var (
	resumed = map[string]string{
		"Dir": process, "RetryErrors": process, "Version": process, "Reports": process, "Stdout": process, "Layout": process,
		"Progress": process, "Interrupt": process, "Getenv": process,

		"Suites": "keeps its suites", "ProjectFile": "keeps its project file",
		"Vars": "--var", "Seed": "--seed", "Scorers": carried, "Emulator": "--emulator", "Executor": carried,
		"Untrusted": carried, "Allow": "--allow", "Trust": carried,
		"Out": "--out", "Name": "--name", "Labels": "--label", "NoContent": "--no-content", "NoHistory": carried,
		"Reading": carried, "Listing": carried,

		"Selection.Repeats": "--repeats", "Selection.MaxTrials": "--max-trials",
		"Selection.Cases": "--case", "Selection.Tags": "--tag", "Selection.Arms": "--arm",
		"Selection.FailedIn": "--failed-in", "Selection.ChangedSince": "--changed-since", "Selection.Sample": "--sample",
		"Selection.Selected": "selection of trials", "Selection.Shard": "--shard", "Selection.AllowEmpty": "--allow-empty",

		"Gate.Baseline": "--baseline", "Gate.Interleave": "--interleave", "Gate.Race": "--race", "Gate.MinPassRate": "--min-pass-rate",
		"Gate.MaxErrors": "--max-errors", "Gate.MaxBlocked": "--max-blocked", "Gate.Rule.Margin": "--margin", "Gate.Rule.Alpha": "--alpha",
		"Gate.Rule.OnInconclusive": "--on-inconclusive", "Gate.Rule.Metrics": "--metric", "Gate.Rule.StopEarly": "--stop-early",
		"Gate.Rule.MinPaired": "--min-paired", "Gate.Rule.AllowRemoved": "--allow-removed",

		"Service.BaseURL": "--base-url", "Service.APIVersion": "--api-version", "Service.HeaderPrefix": "--header-prefix",
		"Service.Auth": "--auth", "Service.Project": "--project", "Service.ScopeBase": "--auth-scope-base",
		"Service.Services": "--service",
		"Service.AllowEnv": carried,

		"Sources.Record": "--record", "Sources.Replay": "--replay", "Sources.ReplayOr": "--replay-or-record", "Sources.Cache": "--cache",
		"Sources.Answers": "--answers", "Sources.Rescore": "a run to rescore", "Sources.AskJudges": "--ask-judges",

		"Limits.Concurrency": carried, "Limits.RPM": carried, "Limits.TPM": carried, "Limits.BudgetTokens": carried,
		"Limits.BudgetCalls": carried, "Limits.BudgetMoney": carried, "Limits.BudgetTime": carried, "Limits.Prices": carried,
		"Limits.Attempts": carried, "Limits.Timeout": carried, "Limits.MaxFailures": carried,

		"Ledger.URL": carried, "Ledger.CA": carried, "Ledger.Wait": carried, "Ledger.None": carried, "Ledger.Lost": carried,
	}
	rescored = map[string]string{
		"Suites": process, "ProjectFile": process, "Gate.Interleave": "--interleave",
		"Vars": "--var", "Selection.Repeats": "--repeats", "Selection.MaxTrials": "--max-trials",
		"Selection.Cases": "--case", "Selection.Tags": "--tag", "Selection.Arms": "--arm",
		"Selection.Shard": "--shard",

		"Sources.Rescore": process, "Sources.Record": "leave out the options", "Sources.Replay": "leave out the options",
		"Sources.ReplayOr": "leave out the options", "Sources.Answers": "leave out the options",

		"Allow": "--allow",
	}
)

// leaves yields the fields of a struct by their paths, those of this module's structs one by one.
func leaves(v reflect.Value, path string, yield func(path string, field reflect.Value)) {
	for i := range v.NumField() {
		at, field := strings.TrimPrefix(path+"."+v.Type().Field(i).Name, "."), v.Field(i)
		switch of := v.Type().Field(i).Type; {
		case !v.Type().Field(i).IsExported():
		case of.Kind() == reflect.Struct && of != reflect.TypeFor[eval.Shard]() && at != "Layout":
			leaves(field, at, yield)
		default:
			yield(at, field)
		}
	}
}

// fill gives a field a value that no run of this test began with.
func fill(field reflect.Value) {
	switch field.Type() {
	case reflect.TypeFor[eval.BaselineOption]():
		field.Set(reflect.ValueOf(eval.NamedBaseline("x")))
		return
	case reflect.TypeFor[eval.Shard]():
		field.Set(reflect.ValueOf(eval.Shard{Index: 1, Of: 2}))
		return
	case reflect.TypeFor[Executor]():
		field.Set(reflect.ValueOf(struct{ Executor }{}))
		return
	case reflect.TypeFor[scorers.Kind]():
		field.Set(reflect.ValueOf(scorers.New("x", func(string) (scorers.Func, error) { return nil, nil })))
		return
	}
	switch field.Kind() {
	case reflect.Bool:
		field.SetBool(true)
	case reflect.Int, reflect.Int64:
		field.SetInt(3)
	case reflect.Uint64:
		field.SetUint(3)
	case reflect.Float64:
		field.SetFloat(0.1)
	case reflect.String:
		field.SetString("x")
	case reflect.Slice:
		field.Set(reflect.MakeSlice(field.Type(), 1, 1))
		fill(field.Index(0))
	case reflect.Map:
		field.Set(reflect.ValueOf(map[string]string{"x": "https://x.example"}))
	case reflect.Pointer:
		field.Set(reflect.New(field.Type().Elem()))
	case reflect.Func:
		field.Set(reflect.MakeFunc(field.Type(), func([]reflect.Value) []reflect.Value { return nil }))
	default:
	}
}

// sample is what fill makes of one field of Options.
func sample(path string) (o Options) {
	leaves(reflect.ValueOf(&o).Elem(), "", func(at string, field reflect.Value) {
		if at == path {
			fill(field)
		}
	})
	return o
}

// lost lists the fields of the options of a job that were given and are not in effect.
func lost(given, got session.Options) (out []string) {
	effective := map[string]reflect.Value{}
	leaves(reflect.ValueOf(got), "", func(at string, field reflect.Value) { effective[at] = field })
	leaves(reflect.ValueOf(given), "", func(at string, field reflect.Value) {
		switch now := effective[at]; {
		case field.IsZero() || at == "Dir":
		case (field.Kind() == reflect.Func || field.Kind() == reflect.Slice) && field.Pointer() == now.Pointer():
		case reflect.DeepEqual(field.Interface(), now.Interface()):
		default:
			out = append(out, fmt.Sprintf("%s is %v, not %v", at, now, field))
		}
	})
	return out
}

// check takes each field of Options to something that gets it, and wants what a table says of it.
func check(t *testing.T, table map[string]string, try func(o *Options) (session.Options, error)) {
	t.Helper()
	fields := map[string]bool{}
	leaves(reflect.ValueOf(Options{}), "", func(at string, _ reflect.Value) { fields[at] = true })
	for _, at := range slices.Sorted(maps.Keys(fields)) {
		want, known := table[at]
		o := sample(at)
		got, err := try(&o)
		switch {
		case !known:
			t.Errorf("Options.%s: got no line in the table of this test, want what becomes of it", at)
		case want == process && err == nil:
		case want == carried && err == nil:
			if forgotten := lost(o.jobOptions(), got); forgotten != nil {
				t.Errorf("Options.%s: %s", at, strings.Join(forgotten, ", "))
			}
		case want == process || want == carried:
			t.Errorf("Options.%s: got %v, want no error", at, err)
		case err == nil || !strings.Contains(err.Error(), want) || ExitCode(err) != 2:
			t.Errorf("Options.%s: got %v, want exit 2 and %q", at, err, want)
		}
		delete(table, at)
	}
	for at := range table {
		t.Errorf("Options.%s: got a line in the table of this test, want none: there is no such field", at)
	}
}

// No option is accepted and ignored by Resume: it counts, or it is what the run began with, or it is refused by name.
func TestResumeCarriesEveryOptionOrRefusesIt(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	run := eval.Run{ID: "one", CommandOptions: &eval.RunOptions{}}
	w, err := journal.Create(filepath.Join(dir, "run"), &run, nil)
	expect.OK(t, err, w.Close())
	check(t, maps.Clone(resumed), func(o *Options) (session.Options, error) {
		o.Dir = dir
		r, err := session.Reopen("run", o.jobOptions(), o.RetryErrors)
		if err != nil {
			return session.Options{}, err
		}
		defer r.Close()
		return r.Options, r.CheckSources(o.Suites, o.ProjectFile)
	})
}

// A rescore keeps the selection of its run, and takes every other option.
func TestRescoreCarriesEveryOptionOrRefusesIt(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	suite := "version: 1\nname: s\ntargets: [{name: t, model: m}]\nprompts: [{name: p, text: x}]\n" +
		"cases: [{name: c, scorers: [{contains: x}]}]\n"
	expect.OK(t, os.WriteFile(filepath.Join(dir, "s.yaml"), []byte(suite), 0o600))
	run := eval.Run{ID: "one", CommandOptions: &eval.RunOptions{}}
	run.Suites = []eval.RunSuite{{Name: "s", File: "s.yaml", Copy: "s.yaml", Dir: dir}}
	w, err := journal.Create(filepath.Join(dir, "run"), &run, nil)
	expect.OK(t, err, w.Close())
	table := maps.Clone(resumed)
	for at, what := range table {
		if what != process {
			table[at] = carried
		}
	}
	maps.Copy(table, rescored)
	check(t, table, func(o *Options) (session.Options, error) {
		o.Dir, o.Trust = dir, true // the run has no signature
		l, err := session.LoadRescored("run", nil, o.jobOptions(), func(string) string { return "" })
		if err == nil {
			_, err = l.Options.Source()
		}
		if err != nil {
			return session.Options{}, eval.BadInput("%w", err)
		}
		return l.Options, nil
	})
}
