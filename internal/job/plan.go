package job

import (
	"fmt"
	"maps"
	"runtime"
	"slices"

	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/glob"
	"github.com/evalrun/evalrun/internal/dialect"
	"github.com/evalrun/evalrun/internal/service"
	"github.com/evalrun/evalrun/runner"
	"github.com/evalrun/evalrun/suite"
)

// Plan makes the plan of a job without calling the service.
func (j *Job) Plan() *runner.Plan { return j.plan(&j.Flags, j.places(), j.Settings.Service.APIVersion) }

// CalledArms are the arms of the plan, for which no shard has to be cut.
func (j *Job) CalledArms() []runner.PlannedArm {
	return runner.CalledArms(j.Suites, filterOf(&j.Flags, j.places()))
}

// places are those of the trials that are selected, nil when all are.
func (j *Job) places() *eval.Places {
	if j.Settings.Selection == nil {
		return nil
	}
	return j.Settings.Selection.Places
}

func (r *read) plan(f *Flags, places *eval.Places, apiVersion string) *runner.Plan {
	p := runner.NewPlan(r.Suites, r.table(), filterOf(f, places), apiVersion)
	p.Uncounted = r.uncounted()
	return p
}

func filterOf(f *Flags, places *eval.Places) runner.Filter {
	return runner.Filter{
		Cases: glob.New(f.Cases), Tags: glob.New(f.Tags), Arms: glob.New(f.Arms), Shard: f.Shard, Places: places,
	}
}

// uncounted are the names of services that cannot count tokens.
func (r *read) uncounted() map[string]bool {
	out := map[string]bool{}
	for _, s := range r.Suites {
		for _, one := range s.AllServices() {
			if !dialect.Can(one.Protocol, service.MethodCountTokens) {
				out[one.Name] = true
			}
		}
	}
	return out
}

// used are the names of the services that the plan calls, "" being the unnamed one: for models under test, judges and embeddings.
func (j *Job) used() []string { return j.calling(true) }

// Called are the names of the services that are called: of a run whose answers are judged again, those of judges and embeddings.
func (j *Job) Called() []string {
	if j.Only != nil {
		return []string{*j.Only}
	}
	return j.calling(j.Flags.Rescore == "")
}

// calling is used, with or without the models under test.
func (j *Job) calling(underTest bool) []string {
	names := map[string]bool{}
	take := func(of *suite.NamedService) {
		name, _ := of.Identity()
		names[name] = true
	}
	for _, s := range j.Suites {
		for _, version := range s.Versions() {
			if version.Embeds() {
				take(version.Embedding.Service)
			}
			for _, judge := range version.CalledJudges() {
				take(judge.Service)
			}
		}
	}
	for _, judge := range j.chosen {
		take(judge.Service)
	}
	if underTest && slices.ContainsFunc(slices.Collect(j.Targets), func(t *suite.Target) bool { return t.App == nil }) {
		for _, a := range j.CalledArms() {
			if a.Target.App == nil {
				take(a.Target.Service)
			}
		}
	}
	return slices.Sorted(maps.Keys(names))
}

// NeedsService reports whether the plan calls models of the unnamed service: under test, as judges, or for embeddings.
func (j *Job) NeedsService() bool { return len(j.Suites) == 0 || slices.Contains(j.used(), "") }

// AtOnce is how many calls of the plan may be in progress at once. Each service has a share of its own, and a limit
// that the user set caps them all.
func (j *Job) AtOnce() int {
	limits := &j.Settings.Limits
	sum := 0
	for _, name := range j.used() {
		if own, named := limits.Services[name]; named {
			sum += own.Concurrency
		} else {
			sum += limits.Concurrency
		}
	}
	isApp := func(t *suite.Target) bool { return t.App != nil }
	if !slices.Contains(j.used(), "") && slices.ContainsFunc(slices.Collect(j.Targets), isApp) {
		sum += limits.Concurrency
	}
	if j.Settings.Capped || sum == 0 {
		return limits.Concurrency
	}
	return sum
}

// MostAtOnce is how many calls may be under way at once within some limits: programs run in addition.
func (j *Job) MostAtOnce(limits *suite.Limits) int {
	concurrency := limits.Concurrency
	all := concurrency
	for _, own := range limits.Services {
		all += own.Concurrency
	}
	for t := range j.Targets {
		if t.App != nil && t.App.Program != nil {
			all += t.App.Program.Workers(concurrency, runtime.GOMAXPROCS(0))
		}
	}
	return all
}

// AddJudge adds a judge that gets requests although no scorer of the suites names it.
func (l *Loaded) AddJudge(judge *suite.Judge) { l.chosen = append(l.chosen, judge) }

// NamedTargets yields the targets of all suites, and of their earlier versions, by names that are the same in every process that has
// read the suites.
func (j *Job) NamedTargets(yield func(name string, t *suite.Target) bool) {
	for i, one := range j.Suites {
		for v, version := range one.Versions() {
			for _, t := range version.Targets {
				if !yield(fmt.Sprintf("%d.%d/%s", i, v, t.Name), t) {
					return
				}
			}
		}
	}
}

// Targets yields the targets of all suites, and of their earlier versions.
func (j *Job) Targets(yield func(*suite.Target) bool) {
	for _, t := range j.NamedTargets {
		if !yield(t) {
			return
		}
	}
}

// KeyVariables are the names of variables that hold keys of services. Programs do not get them.
func (j *Job) KeyVariables() []string {
	var out []string
	for _, s := range j.Suites {
		for _, version := range s.Versions() {
			out = append(out, version.KeyVariables()...)
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// Named are the named services that the plan calls, in the order of their names.
func (j *Job) Named() []*Named {
	var out []*Named
	for _, name := range j.Called() {
		if one := j.Settings.Services[name]; one != nil {
			out = append(out, one)
		}
	}
	return out
}
