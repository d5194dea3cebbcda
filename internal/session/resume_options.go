package session

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/text"
	"github.com/evalrun/evalrun/journal"
	"github.com/evalrun/evalrun/runner"
)

// repeated are the options of a resume that the run file does not record: the next resume takes them again.
func (f *Options) repeated() []optionFlag {
	out := slices.DeleteFunc(flagsOf(&f.Options), func(o optionFlag) bool {
		return o.Role != bounds && o.Role != serves || o.Name == "--service" || o.Name == "--max-failures" ||
			o.Name == "--auth-scope-base" // which only the environment and suites set
	})
	out = append(
		out, optionFlag{Name: "--trust", Value: f.Trust}, optionFlag{Name: "--ledger-wait", Value: f.Ledger.Wait},
		optionFlag{Name: "--no-ledger", Value: f.Ledger.None},
	)
	for _, name := range slices.Sorted(maps.Keys(f.Services)) {
		out = append(out, optionFlag{Name: "--service", Value: name + ".baseUrl=" + f.Services[name]})
	}
	return out
}

// ResumeCommand is the command that continues a run with the options of its last session. Values that the run does not keep are left out.
func (f Options) ResumeCommand(run *eval.Run, dir string, resumed bool) string {
	was := Options{Options: *run.Options(), Caller: runner.Caller{Dir: f.Dir}}
	if resumed && f.Untrusted { // the service of the run did not count
		was.ServiceOptions, was.Allow, was.Untrusted = eval.ServiceOptions{}, nil, false
	}
	f.Absolute()
	words := []string{"evalrun", "resume", dir}
	if !f.Ledger.None {
		words = append(words, run.Ledger.Flags()...)
	}
	before := was.repeated()
	for i, o := range f.repeated() {
		if !o.given() || i < len(before) && !o.changes(before[i]) {
			continue
		}
		switch v := o.Value.(type) {
		case bool:
			words = append(words, o.Name)
		case []string:
			for _, one := range v {
				words = append(words, o.Name, one)
			}
		default:
			words = append(words, o.Name, fmt.Sprint(v))
		}
	}
	body := text.ShellWords(words)
	if was.NoContent {
		for _, name := range slices.Sorted(maps.Keys(f.Vars)) {
			body += " --var " + text.ShellWord(name) + "=<value>"
		}
	}
	return body
}

// changed is the flag of the first option with one of these roles that differs, "" if none does.
func changed(given, was *eval.Options, roles ...role) string {
	before := flagsOf(was)
	for i, o := range flagsOf(given) {
		if slices.Contains(roles, o.Role) && o.changes(before[i]) {
			return o.Name
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
			o.Out = o.In().Abs(o.Out)
		}
	}
	for _, name := range []*string{&given.FailedIn, &given.ChangedSince} { // the file has ids
		if run, err := journal.Header(given.In().Path(*name)); *name != "" && err == nil {
			*name = run.ID
		}
	}
	given.Reports = nil // each resume writes its own
	if flag := changed(&given.Options, &was.Options, selects, keeps, writes); flag != "" {
		return eval.BadInput(
			"%s differs from what the run %s began with, and a resume keeps that: leave it out, or begin another run", flag, r.Dir,
		)
	}
	return nil
}

// CheckSources refuses other suites, and another project file, than those with which the run began.
func (r *Resumption) CheckSources() error {
	var was []string
	for _, one := range r.doc.Run.Suites {
		was = append(was, one.File)
	}
	f := &r.Options
	if len(f.Suites) > 0 && !slices.Equal(f.Suites, was) {
		return eval.BadInput(
			"the run %s is of %s, and a resume keeps its suites: name no others, or begin another run", r.Dir, strings.Join(was, ", "),
		)
	}
	if f.ProgramsFrom != "" {
		return eval.BadInput("--programs-from: the run %s has what its programs wrote: leave it out, or begin another run", r.Dir)
	}
	if file := r.doc.Run.ProjectFile; f.ProjectFile != "" && f.In().Abs(f.ProjectFile) != file {
		return eval.BadInput("the run %s keeps its project file (%s): leave %s out, or begin another run",
			r.Dir, cmp.Or(file, "none"), f.ProjectFile)
	}
	return nil
}

// checkService refuses another service than that of the run: all answers of a run come from one.
func (r *Resumption) checkService(given *Options) error {
	if r.untrusted { // the service is the user's own
		return nil
	}
	for _, s := range unnamedService() {
		verb := "uses"
		if s.flag == "--base-url" {
			verb = "sends to"
		}
		value, before := s.trimmed(*s.option(&given.ServiceOptions)), *s.run(&r.doc.Run.Service)
		if value != "" && value != before {
			return eval.BadInput("the run %s %s %s, and %s says %s: leave it out, or add --untrusted to send elsewhere",
				r.Dir, verb, cmp.Or(before, "none"), s.flag, value)
		}
	}
	return r.sameServices(given.Services)
}

// sameServices refuses addresses of named services that differ from those of the run. given holds addresses by name.
func (r *Resumption) sameServices(given map[string]string) error {
	for name, url := range given {
		was, known := r.doc.Run.Services[name]
		if !known {
			return eval.BadInput("--service %s.baseUrl: the run %s has no service %s: leave it out", name, r.Dir, name)
		}
		if strings.TrimRight(url, "/") != was.BaseURL {
			return eval.BadInput(
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
	to.Wait, to.Live = f.Wait, f.Live
	if to.NoContent {
		to.Vars = f.Vars
	}
	if r.untrusted {
		to.Allow = f.Allow
		to.AllowFile = f.AllowFile
		to.Untrusted = true
		to.Record = ""
		to.ReplayOr = ""
		to.Cache = false
		to.ServiceOptions = f.ServiceOptions // the script stays the run's own
		return
	}
	to.Allow = slices.Concat(to.Allow, f.Allow)
	to.AllowEnv = slices.Concat(to.AllowEnv, f.AllowEnv)
	to.AllowFile = slices.Concat(to.AllowFile, f.AllowFile)
	if to.Emulator == "" { // keep the service of the run
		to.useService(&r.doc.Run.Service, false)
		to.Services = map[string]string{}
		for name, was := range r.doc.Run.Services {
			to.Services[name] = was.BaseURL
		}
	}
}
