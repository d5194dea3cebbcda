package job

import (
	"cmp"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/exit"
	"github.com/evalrun/evalrun/internal/typeset"
	"github.com/evalrun/evalrun/journal"
	"github.com/evalrun/evalrun/option"
)

// flagValue is an option, by its flag.
type flagValue struct {
	flag  string
	value any
}

// selecting are the options that choose the trials of a run, and what these send. Neither a resume nor a rescore changes them.
func selecting(o *option.Options) []flagValue {
	return []flagValue{
		{"--repeats", o.Repeats}, {"--case", o.Cases}, {"--tag", o.Tags}, {"--arm", o.Arms}, {"--shard", o.Shard}, {"--var", o.Vars},
	}
}

// kept are all options that a resume does not change.
func kept(o *option.Options) []flagValue {
	return append(
		selecting(o),
		flagValue{"--failed-in", o.FailedIn}, flagValue{"--changed-since", o.ChangedSince}, flagValue{"--sample", o.Sample},
		flagValue{"a selection of trials", o.Selected}, flagValue{"--allow-empty", o.AllowEmpty}, flagValue{"--seed", o.Seed},

		flagValue{"--emulator", o.Emulator}, flagValue{"--cache", o.Cache}, flagValue{"--answers", o.Answers},
		flagValue{"--record", o.Record}, flagValue{"--replay", o.Replay}, flagValue{"--replay-or-record", o.ReplayOr},
		flagValue{"a run to rescore", o.Rescore}, flagValue{"--ask-judges", o.AskJudges},

		flagValue{"--min-pass-rate", o.MinPassRate}, flagValue{"--max-errors", o.MaxErrors}, flagValue{"--max-blocked", o.MaxBlocked},
		flagValue{"--baseline", o.Baseline}, flagValue{"--interleave", o.Interleave}, flagValue{"--race", o.Race},
		flagValue{"--margin", o.Rule.Margin}, flagValue{"--alpha", o.Rule.Alpha}, flagValue{"--on-inconclusive", o.Rule.OnInconclusive},
		flagValue{"--metric", o.Rule.Metrics}, flagValue{"--stop-early", o.Rule.StopEarly}, flagValue{"--min-paired", o.Rule.MinPaired},
		flagValue{"--allow-removed", o.Rule.AllowRemoved},

		flagValue{"--out", o.Out}, flagValue{"--no-content", o.NoContent}, flagValue{"--name", o.Name}, flagValue{"--label", o.Labels},
	)
}

// repeated are the options of a resume that the run file does not record: the next resume takes them again.
func (f *Options) repeated() []flagValue {
	out := []flagValue{
		{"--concurrency", f.Concurrency},
		{"--rpm", f.RPM},
		{"--tpm", f.TPM},
		{"--budget-calls", f.BudgetCalls},
		{"--budget-tokens", f.BudgetTokens},
		{"--budget-money", f.BudgetMoney},
		{"--budget-time", f.BudgetTime},
		{"--prices", f.Prices},
		{"--attempts", f.Attempts},
		{"--timeout", f.Timeout},
		{"--untrusted", f.Untrusted},
		{"--allow", f.Allow},
		{"--allow-env", f.AllowEnv},
		{"--trust", f.Trust},
		{"--base-url", f.BaseURL},
		{"--api-version", f.APIVersion},
		{"--header-prefix", f.HeaderPrefix},
		{"--auth", f.Auth},
		{"--project", f.Project},
		{"--auth-scope-base", f.ScopeBase},
		{"--ledger-wait", f.Ledger.Wait},
		{"--no-ledger", f.Ledger.None},
	}
	for _, name := range slices.Sorted(maps.Keys(f.Services)) {
		out = append(out, flagValue{"--service", name + ".baseUrl=" + f.Services[name]})
	}
	return out
}

// ResumeCommand is the command that continues a run which had these options in its last session, a resume or the first one.
// It has no secrets: values of variables that the run does not keep are left to the reader.
func (f Options) ResumeCommand(run *eval.Run, dir string, resumed bool) string {
	was := Options{Options: *run.Options(), Dir: f.Dir}
	if resumed && f.Untrusted { // the service of the run did not count
		was.ServiceOptions, was.Allow, was.Untrusted = option.ServiceOptions{}, nil, false
	}
	f.Absolute()
	words := []string{"evalrun", "resume", dir}
	if !f.Ledger.None {
		words = append(words, run.Ledger.Flags()...)
	}
	before := was.repeated()
	for i, o := range f.repeated() {
		if i < len(before) && !differs(o.value, before[i].value) || !differs(o.value, nil) {
			continue
		}
		switch v := o.value.(type) {
		case bool:
			words = append(words, o.flag)
		case []string:
			for _, one := range v {
				words = append(words, o.flag, one)
			}
		default:
			words = append(words, o.flag, fmt.Sprint(v))
		}
	}
	text := typeset.ShellWords(words)
	if was.NoContent {
		for _, name := range slices.Sorted(maps.Keys(f.Vars)) {
			text += " --var " + typeset.ShellWord(name) + "=<value>"
		}
	}
	return text
}

// differs reports whether a value was given and is another one than before. Of texts by name, only those given count.
func differs(given, was any) bool {
	if texts, ok := given.(map[string]string); ok {
		before, _ := was.(map[string]string)
		for name, text := range texts {
			if old, known := before[name]; !known || old != text {
				return true
			}
		}
		return false
	}
	v := reflect.ValueOf(given)
	if !v.IsValid() || v.IsZero() || v.Kind() == reflect.Slice && v.Len() == 0 {
		return false
	}
	return !reflect.DeepEqual(given, was)
}

// changed is the flag of the first option that differs, "" if none does.
func changed(given, was []flagValue) string {
	for i, o := range given {
		if differs(o.value, was[i].value) {
			return o.flag
		}
	}
	return ""
}

// checkKept refuses options that differ from those with which the run began.
func (r *Resumption) checkKept(given Options) error {
	was := r.begun
	was.Out, was.Name, was.Labels = r.Dir, r.doc.Run.Name, r.doc.Run.Labels
	if was.NoContent { // what variables hold is not in the file
		given.Vars = nil
	}
	for _, o := range []*Options{&given, &was} {
		o.Absolute()
		if o.Out != "" {
			o.Out = o.Dir.Abs(o.Out)
		}
	}
	for _, name := range []*string{&given.FailedIn, &given.ChangedSince} { // the file has ids
		if run, err := journal.Header(given.Dir.Path(*name)); *name != "" && err == nil {
			*name = run.ID
		}
	}
	if flag := changed(kept(&given.Options), kept(&was.Options)); flag != "" {
		return exit.BadInput(
			"%s differs from what the run %s began with, and a resume keeps that: leave it out, or begin another run", flag, r.Dir,
		)
	}
	return nil
}

// CheckSources refuses other suites, and another project file, than those with which the run began.
func (r *Resumption) CheckSources(suites []string, projectFile string) error {
	var was []string
	for _, one := range r.doc.Run.Suites {
		was = append(was, one.File)
	}
	if differs(suites, was) {
		return exit.BadInput(
			"the run %s is of %s, and a resume keeps its suites: name no others, or begin another run", r.Dir, strings.Join(was, ", "),
		)
	}
	if file := r.doc.Run.ProjectFile; projectFile != "" && r.Options.Dir.Abs(projectFile) != file {
		return exit.BadInput("the run %s keeps its project file (%s): leave %s out, or begin another run",
			r.Dir, cmp.Or(file, "none"), projectFile)
	}
	return nil
}

// checkService refuses another service than that of the run: all answers of a run come from one.
func (r *Resumption) checkService(given *Options) error {
	if r.untrusted { // the service is the user's own
		return nil
	}
	was := &r.doc.Run.Service
	for _, one := range []struct{ flag, value, before string }{
		{"--base-url", strings.TrimRight(given.BaseURL, "/"), was.BaseURL},
		{"--api-version", given.APIVersion, was.APIVersion},
		{"--header-prefix", given.HeaderPrefix, was.HeaderPrefix},
		{"--auth", string(given.Auth), string(was.Auth)},
		{"--project", given.Project, was.Project},
		{"--auth-scope-base", strings.TrimRight(given.ScopeBase, "/"), was.AuthScopeBase},
	} {
		verb := "uses"
		if one.flag == "--base-url" {
			verb = "sends to"
		}
		if differs(one.value, one.before) {
			return exit.BadInput("the run %s %s %s, and %s says %s: leave it out, or add --untrusted to send elsewhere",
				r.Dir, verb, cmp.Or(one.before, "none"), one.flag, one.value)
		}
	}
	return r.sameServices(given.Services)
}

// sameServices refuses addresses of named services that differ from those of the run. given holds addresses by name.
func (r *Resumption) sameServices(given map[string]string) error {
	for name, url := range given {
		was, known := r.doc.Run.Services[name]
		if !known {
			return exit.BadInput("--service %s.baseUrl: the run %s has no service %s: leave it out", name, r.Dir, name)
		}
		if strings.TrimRight(url, "/") != was.BaseURL {
			return exit.BadInput(
				"the run %s sends to %s as the service `%s`, and --service says %s: "+
					"leave it out, or add --untrusted to send elsewhere",
				r.Dir, was.BaseURL, name, url,
			)
		}
	}
	return nil
}

// merge applies what a resume can choose to the options of the run: limits, permissions, and for an untrusted run the service.
func (r *Resumption) merge(f *Options) {
	to := &r.Options
	to.Concurrency = cmp.Or(f.Concurrency, to.Concurrency)
	to.RPM = cmp.Or(f.RPM, to.RPM)
	to.TPM = cmp.Or(f.TPM, to.TPM)
	to.BudgetTokens = cmp.Or(f.BudgetTokens, to.BudgetTokens)
	to.BudgetCalls = cmp.Or(f.BudgetCalls, to.BudgetCalls)
	to.BudgetMoney = cmp.Or(f.BudgetMoney, to.BudgetMoney)
	to.BudgetTime = cmp.Or(f.BudgetTime, to.BudgetTime)
	to.Prices = cmp.Or(f.Prices, to.Prices)
	to.Attempts = cmp.Or(f.Attempts, to.Attempts)
	to.Timeout = cmp.Or(f.Timeout, to.Timeout)
	to.MaxFailures = f.MaxFailures
	if to.NoContent {
		to.Vars = f.Vars
	}
	if r.untrusted {
		to.Allow = f.Allow
		to.Untrusted = true
		to.Record = ""
		to.ReplayOr = ""
		to.Cache = false
		to.ServiceOptions = f.ServiceOptions // the script stays the run's own
		return
	}
	to.Allow = slices.Concat(to.Allow, f.Allow)
	to.AllowEnv = slices.Concat(to.AllowEnv, f.AllowEnv)
	if to.Emulator == "" { // keep the service of the run
		service := r.doc.Run.Service
		to.BaseURL = service.BaseURL
		to.APIVersion = service.APIVersion
		to.HeaderPrefix = service.HeaderPrefix
		to.Auth = service.Auth
		to.Project = service.Project
		to.ScopeBase = service.AuthScopeBase
		to.Services = map[string]string{}
		for name, was := range r.doc.Run.Services {
			to.Services[name] = was.BaseURL
		}
	}
}
