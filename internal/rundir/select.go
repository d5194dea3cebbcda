package rundir

import (
	"cmp"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/evalrun/evalrun/diag"
	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/journal"
)

// Selector selects runs by their headers. `latest:BRANCH` is the newest run of a branch. `branch:GLOB`,
// `name:GLOB`, `label:GLOB`, `label:KEY=GLOB` and `commit:PREFIX` are all matching runs, or the newest of
// them where one run is needed.
type Selector struct {
	Text   string // as the user wrote it
	Latest bool   // only the newest run

	kind, value string
}

// Kinds of selectors.
const (
	byBranch = "branch"
	byName   = "name"
	byLabel  = "label"
	byCommit = "commit"
)

// ParseSelector parses a selector. ok is false for other names of runs.
func ParseSelector(text string) (s Selector, ok bool) {
	kind, value, ok := strings.Cut(text, ":")
	s = Selector{Text: text, kind: kind, value: value}
	if kind == latest {
		s.kind, s.Latest = byBranch, true
	}
	return s, ok && value != "" && slices.Contains([]string{byBranch, byName, byLabel, byCommit}, s.kind)
}

// Selectors separates selectors from other names of runs. The name of an existing path is not a selector.
func (d Dir) Selectors(named []string) (selectors []Selector, others []string) {
	for _, name := range named {
		s, ok := ParseSelector(name)
		if _, err := os.Stat(d.Join(name)); ok && err != nil {
			selectors = append(selectors, s)
		} else {
			others = append(others, name)
		}
	}
	return selectors, others
}

// Matches reports whether a run is selected. It only reads the name, commit, branch and labels of run.
func (s Selector) Matches(run *eval.Run) bool {
	fits := eval.Pattern(s.value).Match
	switch s.kind {
	case byBranch:
		return run.Branch != "" && fits(run.Branch)
	case byName:
		return run.Name != "" && fits(run.Name)
	case byCommit:
		return strings.HasPrefix(run.Commit, strings.ToLower(s.value))
	}
	key, value, valued := strings.Cut(s.value, "=")
	if valued {
		has, ok := run.Labels[key]
		return ok && eval.Pattern(value).Match(has)
	}
	for name := range run.Labels {
		if fits(name) {
			return true
		}
	}
	return false
}

// selected reports whether a run matches the selectors: of each kind in the list, one must match. Without
// selectors every run matches. It ignores Latest, which the caller must handle.
func selected(selectors []Selector, run *eval.Run) bool {
	for _, s := range selectors {
		same := func(other Selector) bool { return other.kind == s.kind && other.Matches(run) }
		if !slices.ContainsFunc(selectors, same) {
			return false
		}
	}
	return true
}

// Select lists the directories of matching runs, the oldest first; none without selectors.
func (d Dir) Select(selectors []Selector) (dirs []string) {
	if len(selectors) == 0 {
		return nil
	}
	headers := d.headers()
	for _, i := range Choose(selectors, len(headers), func(i int) *eval.Run { return headers[i].Run }) {
		dirs = append(dirs, headers[i].Dir)
	}
	return dirs
}

// Choose returns the indexes of the matching runs among n, which are sorted by age. Each `latest:BRANCH`
// selects only the newest run.
func Choose(selectors []Selector, n int, at func(int) *eval.Run) (out []int) {
	filters := slices.DeleteFunc(slices.Clone(selectors), func(s Selector) bool { return s.Latest })
	newest := slices.DeleteFunc(slices.Clone(selectors), func(s Selector) bool { return !s.Latest })
	if len(newest) == 0 {
		for i := range n {
			if selected(filters, at(i)) {
				out = append(out, i)
			}
		}
		return out
	}
	for _, s := range newest {
		for i := n - 1; i >= 0; i-- {
			if selected(filters, at(i)) && s.Matches(at(i)) {
				out = append(out, i)
				break
			}
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

type withHeader struct {
	Dir string
	Run *eval.Run
}

// headers reads the headers of the readable runs below .evalrun/runs, the oldest first.
func (d Dir) headers() []withHeader {
	var out []withHeader
	for _, id := range d.IDs() {
		dir := filepath.Join(d.Join(Runs), id)
		if run, err := journal.Header(dir); err == nil {
			out = append(out, withHeader{dir, run})
		}
	}
	slices.SortStableFunc(out, func(a, b withHeader) int {
		return cmp.Or(strings.Compare(a.Run.StartedAt, b.Run.StartedAt), strings.Compare(a.Dir, b.Dir))
	})
	return out
}

// Offers yields what names runs on the command line, of the newest run first, with its time and suites: `latest`, its name, its
// labels and its id.
func (d Dir) Offers(yield func(name, about string) bool) {
	runs := d.headers()
	for i := range runs {
		run := runs[len(runs)-1-i]
		names := slices.Clip([]string{latest, latest + "~1"})[min(i, 2):min(i+1, 2)]
		if run.Run.Name != "" {
			names = append(names, byName+":"+run.Run.Name)
		}
		for _, key := range slices.Sorted(maps.Keys(run.Run.Labels)) {
			names = append(names, strings.TrimSuffix(byLabel+":"+key+"="+run.Run.Labels[key], "="))
		}
		at, _, _ := strings.Cut(strings.Replace(run.Run.StartedAt, "T", " ", 1), ".")
		about := strings.TrimSuffix(at, "Z")
		for k := range run.Run.Suites {
			about += " " + run.Run.Suites[k].Name
		}
		for _, name := range append(names, filepath.Base(run.Dir)) {
			if !yield(name, about) {
				return
			}
		}
	}
}

// selectorHint suggests values for a selector that matches no run.
func (d Dir) selectorHint(s Selector) string {
	known := map[string]bool{}
	for _, one := range d.headers() {
		switch s.kind {
		case byBranch:
			known[one.Run.Branch] = true
		case byName:
			known[one.Run.Name] = true
		case byLabel:
			for key := range one.Run.Labels {
				known[key] = true
			}
		}
	}
	delete(known, "")
	names := slices.Sorted(maps.Keys(known))
	if s.kind == byCommit {
		return ""
	}
	if len(names) == 0 {
		return "; none of them has a " + s.kind
	}
	key, _, _ := strings.Cut(s.value, "=")
	return "; " + diag.DidYouMean(key, names)
}
