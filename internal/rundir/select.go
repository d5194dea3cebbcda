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

// Selectors separates selectors from other names of runs. The name of an existing path is not a selector.
func (d Dir) Selectors(named []string) (selectors []eval.Selector, others []string) {
	for _, name := range named {
		s, ok := eval.ParseSelector(name)
		if _, err := os.Stat(d.Join(name)); ok && err != nil {
			selectors = append(selectors, s)
		} else {
			others = append(others, name)
		}
	}
	return selectors, others
}

// selected reports whether a run matches the selectors: of each kind in the list, one must match. Without
// selectors every run matches. It ignores Latest, which the caller must handle.
func selected(selectors []eval.Selector, run *eval.Run) bool {
	for _, s := range selectors {
		same := func(other eval.Selector) bool { return other.Kind == s.Kind && other.Matches(run) }
		if !slices.ContainsFunc(selectors, same) {
			return false
		}
	}
	return true
}

// Select lists the directories of matching runs, the oldest first; none without selectors.
func (d Dir) Select(selectors []eval.Selector) (dirs []string) {
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
func Choose(selectors []eval.Selector, n int, at func(int) *eval.Run) (out []int) {
	filters := slices.DeleteFunc(slices.Clone(selectors), func(s eval.Selector) bool { return s.Latest })
	newest := slices.DeleteFunc(slices.Clone(selectors), func(s eval.Selector) bool { return !s.Latest })
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
			names = append(names, eval.ByName+":"+run.Run.Name)
		}
		for _, key := range slices.Sorted(maps.Keys(run.Run.Labels)) {
			names = append(names, strings.TrimSuffix(eval.ByLabel+":"+key+"="+run.Run.Labels[key], "="))
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
func (d Dir) selectorHint(s eval.Selector) string {
	known := map[string]bool{}
	for _, one := range d.headers() {
		switch s.Kind {
		case eval.ByBranch:
			known[one.Run.Branch] = true
		case eval.ByName:
			known[one.Run.Name] = true
		case eval.ByLabel:
			for key := range one.Run.Labels {
				known[key] = true
			}
		}
	}
	delete(known, "")
	names := slices.Sorted(maps.Keys(known))
	if s.Kind == eval.ByCommit {
		return ""
	}
	if len(names) == 0 {
		return "; none of them has a " + s.Kind
	}
	key, _, _ := strings.Cut(s.Value, "=")
	return "; " + diag.DidYouMean(key, names)
}
