package session

import (
	"fmt"
	"maps"
	"runtime"
	"slices"
	"strings"

	"github.com/evalrun/evalrun/diag"
	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/clients/wire"
	"github.com/evalrun/evalrun/runner"
	"github.com/evalrun/evalrun/suite"
)

// Plan lists the selected trials. It calls no service.
func (j *Job) Plan() *runner.Plan {
	return j.plan(&j.Options, j.places(), j.Settings.Service.APIVersion)
}

// CalledArms returns the arms that the selected trials call, without dividing the trials into shards as Plan does.
func (j *Job) CalledArms() []runner.PlannedArm {
	return runner.CalledArms(j.Suites, filterOf(&j.Options, j.places()))
}

// places returns the places of the selected trials, or nil when all are selected.
func (j *Job) places() *eval.Places {
	if j.Settings.Selection == nil {
		return nil
	}
	return j.Settings.Selection.Places
}

func (r *inputs) plan(f *Options, places *eval.Places, apiVersion string) *runner.Plan {
	p := runner.NewPlan(r.Suites, r.table(), filterOf(f, places), apiVersion)
	p.Uncounted = r.uncounted()
	return p
}

func filterOf(f *Options, places *eval.Places) runner.Filter {
	return runner.Filter{
		Cases:  eval.NewPatterns(f.Cases),
		Tags:   eval.NewPatterns(f.Tags),
		Arms:   eval.NewPatterns(f.Arms),
		Shard:  f.Shard,
		Places: places,
	}
}

func (r *inputs) uncounted() map[string]bool {
	names := map[string]bool{}
	for _, s := range r.Suites {
		for _, named := range s.AllServices() {
			if !Can(named.Protocol, wire.MethodCountTokens) {
				names[named.Name] = true
			}
		}
	}
	return names
}

// used returns the services that the plan calls for models, judges and embeddings; "" is the unnamed one.
func (j *Job) used() []string { return j.calling(true) }

// Called returns the services that this job calls: Only if set; when it rescores, those of judges and embeddings.
func (j *Job) Called() []string {
	if j.Only != nil {
		return []string{*j.Only}
	}
	_, rescored := j.Settings.Rescored()
	return j.calling(!rescored)
}

// calling returns the names of the services for judges and embeddings, and for models under test if those are called.
func (j *Job) calling(underTest bool) []string {
	names := map[string]bool{}
	add := func(s *suite.NamedService) {
		name, _ := s.Identity()
		names[name] = true
	}
	for _, s := range j.Suites {
		for _, version := range s.Versions() {
			if version.Embeds() {
				add(version.Embedding.Service)
			}
			for _, judge := range version.CalledJudges() {
				add(judge.Model.Service)
			}
		}
	}
	for _, judge := range j.chosen {
		add(judge.Model.Service)
	}
	if underTest && slices.ContainsFunc(slices.Collect(j.Targets), (*suite.Target).CallsModels) {
		for _, a := range j.CalledArms() {
			if m := a.Target.Model(); m != nil {
				add(m.Service)
			}
			if p, ok := a.Target.Of.(*suite.Program); ok {
				for _, one := range p.Models {
					add(one)
				}
			}
		}
	}
	return slices.Sorted(maps.Keys(names))
}

// NeedsService reports whether the unnamed service is needed. Without suites it is.
func (j *Job) NeedsService() bool { return len(j.Suites) == 0 || slices.Contains(j.used(), "") }

// AtOnce returns how many calls may be in progress at once. A concurrency that the user set caps the sum of services.
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
	isApp := func(t *suite.Target) bool { return t.App() != nil }
	if !slices.Contains(j.used(), "") && slices.ContainsFunc(slices.Collect(j.Targets), isApp) {
		sum += limits.Concurrency
	}
	if j.Settings.Capped || sum == 0 {
		return limits.Concurrency
	}
	return sum
}

// MostAtOnce bounds the calls in progress at once: those of all services and the workers of programs.
func (j *Job) MostAtOnce(limits *suite.Limits) int {
	most := limits.Concurrency
	for _, own := range limits.Services {
		most += own.Concurrency
	}
	for t := range j.Targets {
		if p, ok := t.Of.(*suite.Program); ok {
			most += p.Workers(limits.Concurrency, runtime.GOMAXPROCS(0))
		}
	}
	return most
}

// AddJudge adds a judge to call although no scorer of the suites names it.
func (l *Loaded) AddJudge(judge *suite.Judge) { l.chosen = append(l.chosen, judge) }

// NamedTargets yields the targets of all suites and earlier versions, by names that are the same in every process.
func (j *Job) NamedTargets(yield func(name string, t *suite.Target) bool) {
	for i, s := range j.Suites {
		for v, version := range s.Versions() {
			for _, t := range version.Targets {
				if !yield(fmt.Sprintf("%d.%d/%s", i, v, t.Name), t) {
					return
				}
			}
		}
	}
}

// Targets yields the targets of all suites and of their earlier versions.
func (j *Job) Targets(yield func(*suite.Target) bool) {
	for _, t := range j.NamedTargets {
		if !yield(t) {
			return
		}
	}
}

// KeyVariables returns the names of environment variables that hold keys of services. Programs do not get them.
func (r *inputs) KeyVariables() []string {
	var names []string
	for _, s := range r.Suites {
		for _, version := range s.Versions() {
			names = append(names, version.KeyVariables()...)
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// Named returns the named services that this job calls, sorted by name.
func (j *Job) Named() []*namedService {
	var services []*namedService
	for _, name := range j.Called() {
		if s := j.Settings.Services[name]; s != nil {
			services = append(services, s)
		}
	}
	return services
}

// SelectsNothing reports whether a plan has no trial, although all cases are known.
func (j *Job) SelectsNothing(plan *runner.Plan) bool {
	return plan.Size() == 0 && j.Unwritten().Lists == 0
}

// Nothing is the error for a selection without trials: what the filters fail to match, and then remedy.
func (j *Job) Nothing(remedy string) error {
	return eval.Incomplete("no trial is selected%s%s", j.Hint(), remedy)
}

// Hint names the first filter that matches nothing, with the nearest existing name. It is "" when every filter matches
// something by itself.
func (j *Job) Hint() string {
	f := &j.Options
	if chosen := j.Settings.Selection; chosen != nil && chosen.Nothing != "" && j.plan(f, nil, "").Size() > 0 {
		return chosen.Nothing
	}
	var cases, arms, tags []string
	for _, s := range j.Suites {
		for cell := range s.OutlinedCells() {
			cases = append(cases, cell.Case.Name)
			tags = append(tags, cell.Case.Tags...)
		}
		for _, a := range s.Arms() {
			arms = append(arms, a.Name())
		}
	}
	for _, set := range []struct {
		flag          string
		given, exists []string
	}{{"--case", f.Cases, cases}, {"--arm", f.Arms, arms}, {"--tag", f.Tags, tags}} {
		for _, g := range set.given {
			if slices.ContainsFunc(set.exists, eval.Pattern(g).Match) {
				continue
			}
			if near := diag.Nearest(g, set.exists, 1); len(near) > 0 && near[0] != g {
				return fmt.Sprintf(": %s %s fits none; did you mean %s?", set.flag, g, near[0])
			}
			hint := diag.DidYouMean(g, slices.Compact(slices.Sorted(slices.Values(set.exists))))
			return strings.TrimSuffix(fmt.Sprintf(": %s %s fits none; %s", set.flag, g, hint), "; ")
		}
	}
	return ""
}
