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

// How a resume or a rescore treats an option that the run did not begin with.
const (
	carried = ""        // it counts
	alone   = "process" // it is of the calling process alone, and counts
)

// resumed has what a resume does with each field of Options: carried, alone, or a word of the error that refuses it. rescored has
// the same where it differs. A field without a line fails the test.
var (
	resumed = map[string]string{
		"Dir": alone, "RetryErrors": alone, "Version": alone, "Stdout": alone, "Layout": alone, "Progress": alone, "Interrupt": alone,
		"Getenv": alone, "ProjectFound": alone, "Root": alone,
		"Reports": alone, // each session writes its own

		"Suites": "keeps its suites", "ProjectFile": "keeps its project file", "ProgramsFrom": "--programs-from",
		"Scorers": carried, "Executor": carried, "Trust": carried, "NoHistory": carried, "Notify": carried,
		"Reading": carried, "Listing": carried,
		"Ledger.URL": carried, "Ledger.CA": carried, "Ledger.Wait": carried, "Ledger.None": carried, "Ledger.Lost": carried,

		"Vars": "--var", "Seed": "--seed", "Emulator": "--emulator", "Untrusted": carried, "Allow": "--allow", "AllowFile": carried,
		"Out": "--out", "Name": "--name", "Labels": "--label", "NoContent": "--no-content",
		"Batch": "--batch", "Wait": carried, "Live": carried,

		"Repeats": "--repeats", "MaxTrials": "--max-trials", "Cases": "--case", "Tags": "--tag", "Arms": "--arm",
		"FailedIn": "--failed-in", "ChangedSince": "--changed-since", "Sample": "--sample", "Selected": "selection of trials",
		"Shard": "--shard", "AllowEmpty": "--allow-empty", "Extend": "--extend",

		"GateOf": "--gate-of", "AcceptSuiteChanges": "--accept-suite-changes",
		"Baseline": "--baseline", "Interleave": "--interleave", "Race": "--race", "MinPassRate": "--min-pass-rate",
		"PassRateBound": "a bound of the pass rate",
		"MaxErrors":     "--max-errors", "MaxBlocked": "blocked answers", "Rule.Margin": "--margin", "Rule.Alpha": "--alpha",
		"Rule.OnInconclusive": "--on-inconclusive", "Rule.Metrics": "--metric", "Rule.StopEarly": "--stop-early",
		"Rule.Estimand": "--estimand", "Rule.MinPaired": "--min-paired", "Rule.AllowRemoved": "--allow-removed",

		"BaseURL": "--base-url", "APIVersion": "--api-version", "HeaderPrefix": "--header-prefix", "Auth": "--auth",
		"Project": "--project", "ScopeBase": "--auth-scope-base", "Services": "--service", "AllowEnv": carried,

		"Record": "--record", "Replay": "--replay", "ReplayOr": "--replay-or-record", "Cache": "--cache", "Answers": "--answers",
		"Rescore": "a run to rescore", "AskJudges": "--ask-judges",

		"Concurrency": carried, "RPM": carried, "TPM": carried, "BudgetTokens": carried, "BudgetCalls": carried, "BudgetMoney": carried,
		"BudgetTime": carried, "Prices": carried, "Attempts": carried, "Timeout": carried, "MaxFailures": carried,
	}
	rescored = map[string]string{
		"Suites": alone, "Interleave": "--interleave", "GateOf": "--gate-of", "AcceptSuiteChanges": "--accept-suite-changes",
		"Vars": "--var", "Repeats": "--repeats", "MaxTrials": "--max-trials", "Cases": "--case", "Tags": "--tag", "Arms": "--arm",
		"Shard": "--shard", "Extend": "does not go with a rescore", "ProgramsFrom": "--programs-from",

		"Rescore": alone, "Record": "leave out the options", "Replay": "leave out the options", "ReplayOr": "leave out the options",
		"Answers": "leave out the options",

		"Allow": "--allow",
	}
)

// leaves yields the fields of a struct by their paths, those of this module's structs one by one, and embedded ones by their
// own names.
func leaves(v reflect.Value, path string, yield func(path string, field reflect.Value)) {
	for i := range v.NumField() {
		at, field := strings.TrimPrefix(path+"."+v.Type().Field(i).Name, "."), v.Field(i)
		switch of := v.Type().Field(i).Type; {
		case v.Type().Field(i).Anonymous:
			leaves(field, path, yield)
		case !v.Type().Field(i).IsExported():
		case of.Kind() == reflect.Struct && of != reflect.TypeFor[eval.Shard]() && at != "Layout":
			leaves(field, at, yield)
		default:
			yield(at, field)
		}
	}
}

func fill(field reflect.Value) {
	switch field.Type() {
	case reflect.TypeFor[eval.BaselineOption]():
		field.Set(reflect.ValueOf(eval.NamedBaseline("x")))
		return
	case reflect.TypeFor[eval.Shard]():
		field.Set(reflect.ValueOf(eval.Shard{Index: 1, Of: 2}))
		return
	case reflect.TypeFor[eval.Executor]():
		field.Set(reflect.ValueOf(struct{ eval.Executor }{}))
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
		field.Set(reflect.MakeFunc(field.Type(), func([]reflect.Value) (out []reflect.Value) {
			for of := range field.Type().Outs() {
				out = append(out, reflect.Zero(of))
			}
			return out
		}))
	default:
	}
}

func sample(path string) (o Options) {
	leaves(reflect.ValueOf(&o).Elem(), "", func(at string, field reflect.Value) {
		if at == path {
			fill(field)
		}
	})
	return o
}

// lost lists the fields of the options of a job that were given and are not in effect.
func lost(given *Options, got session.Options) (out []string) {
	effective := map[string]reflect.Value{}
	leaves(reflect.ValueOf(got), "", func(at string, field reflect.Value) { effective[at] = field })
	leaves(reflect.ValueOf(given.settings()), "", func(at string, field reflect.Value) {
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
		case want == alone && err == nil:
		case want == carried && err == nil:
			if forgotten := lost(&o, got); forgotten != nil {
				t.Errorf("Options.%s: %s", at, strings.Join(forgotten, ", "))
			}
		case want == alone || want == carried:
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
		r, err := session.Reopen("run", o.settings())
		if err != nil {
			return session.Options{}, err
		}
		defer r.Close()
		return r.Options, r.CheckSources()
	})
}

// A rescore keeps the selection of its run, and takes every other option.
func TestRescoreCarriesEveryOptionOrRefusesIt(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	suite := "version: 1\nname: s\ntargets: [{name: t, model: m}]\nprompts: [{name: p, text: x}]\n" +
		"cases: [{name: c, scorers: [{contains: x}]}]\n"
	expect.OK(t, os.WriteFile(filepath.Join(dir, "s.yaml"), []byte(suite), 0o600))
	expect.OK(t, os.WriteFile(filepath.Join(dir, "evalrun.yaml"), []byte("suites: [s.yaml]"), 0o600))
	run := eval.Run{ID: "one", CommandOptions: &eval.RunOptions{}}
	run.Suites = []eval.RunSuite{{Name: "s", File: "s.yaml", Copy: "s.yaml", Dir: dir}}
	w, err := journal.Create(filepath.Join(dir, "run"), &run, nil)
	expect.OK(t, err, w.Close())
	table := maps.Clone(resumed)
	for at, what := range table {
		if what != alone {
			table[at] = carried
		}
	}
	maps.Copy(table, rescored)
	check(t, table, func(o *Options) (session.Options, error) {
		if o.Rescore != "" {
			return o.settings(), nil // the run that is rescored
		}
		o.Dir, o.Trust, o.Rescore = dir, true, filepath.Join(dir, "run") // the run has no signature
		if o.Suites != nil {
			o.Suites = []string{"s.yaml"}
		}
		if o.ProjectFile != "" {
			o.ProjectFile = "evalrun.yaml"
		}
		l, err := session.Load(o.settings())
		if err == nil {
			_, err = l.Options.Source()
		}
		if err != nil {
			return session.Options{}, eval.BadInput("%w", err)
		}
		return l.Options, nil
	})
}
