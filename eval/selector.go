package eval

import (
	"slices"
	"strings"
)

// Selector selects runs by their headers. `latest:BRANCH` is the newest run of a branch. `branch:GLOB`,
// `name:GLOB`, `label:GLOB`, `label:KEY=GLOB` and `commit:PREFIX` are all matching runs, or the newest of
// them where one run is needed.
type Selector struct {
	Text   string // as the user wrote it
	Latest bool   // only the newest run

	Kind  string // ByBranch, ByName, ByLabel or ByCommit
	Value string
}

// Kinds of selectors.
const (
	ByBranch = "branch"
	ByName   = "name"
	ByLabel  = "label"
	ByCommit = "commit"
)

// ParseSelector parses a selector. ok is false for other names of runs.
func ParseSelector(text string) (s Selector, ok bool) {
	kind, value, ok := strings.Cut(text, ":")
	s = Selector{Text: text, Kind: kind, Value: value}
	if kind == "latest" {
		s.Kind, s.Latest = ByBranch, true
	}
	return s, ok && value != "" && slices.Contains([]string{ByBranch, ByName, ByLabel, ByCommit}, s.Kind)
}

// Matches reports whether a run is selected. It only reads the name, commit, branch and labels of run.
func (s Selector) Matches(run *Run) bool {
	fits := Pattern(s.Value).Match
	switch s.Kind {
	case ByBranch:
		return run.Branch != "" && fits(run.Branch)
	case ByName:
		return run.Name != "" && fits(run.Name)
	case ByCommit:
		return strings.HasPrefix(run.Commit, strings.ToLower(s.Value))
	}
	key, value, valued := strings.Cut(s.Value, "=")
	if valued {
		has, ok := run.Labels[key]
		return ok && Pattern(value).Match(has)
	}
	for name := range run.Labels {
		if fits(name) {
			return true
		}
	}
	return false
}
