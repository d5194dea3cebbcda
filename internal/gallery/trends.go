package gallery

import (
	"cmp"
	"slices"

	"github.com/evalrun/evalrun/history"
	"github.com/evalrun/evalrun/journal"
)

// How much the page of trends shows.
const (
	trendRuns   = 50  // the newest
	mostCourses = 500 // a metric on an arm each
)

// Course is one metric of an arm from run to run.
type Course struct {
	Suite  string       `json:"suite"`
	Arm    string       `json:"arm"`
	Metric string       `json:"metric"`
	Points []TrendPoint `json:"points"`
}

// TrendPoint is a metric in one run.
type TrendPoint struct {
	Run       string      `json:"run"`
	Key       string      `json:"key,omitempty"` // of a run in the list
	StartedAt string      `json:"startedAt"`
	Commit    string      `json:"commit,omitempty"`
	Emulator  bool        `json:"emulator"`
	Value     float64     `json:"value"`
	N         int         `json:"n"`
	Interval  *[2]float64 `json:"interval"`
}

// Trends are the courses of all metrics, gathered from runs.
type Trends struct {
	keys    map[string]string // of runs, by their ids
	known   map[string]bool   // runs that were taken up, by their ids
	commits map[string]string // of those, by their ids
	courses []*Course
	more    int // courses that are left out
}

// NewTrends begins without a run. The keys of listed runs are by their ids.
func NewTrends(keys map[string]string) *Trends {
	return &Trends{keys: keys, known: map[string]bool{}, commits: map[string]string{}, courses: []*Course{}}
}

// TakeRuns takes up the newest runs that are not known yet, through a history in memory. The list has the newest first,
// and open opens one of them. Runs that cannot be opened are left out. Runs in progress have no numbers yet, and shards
// are parts of other runs.
func (t *Trends) TakeRuns(ids []string, open func(i int) (*journal.Document, error)) error {
	store, err := history.InMemory()
	if err != nil {
		return err
	}
	defer store.Close() //nolint:errcheck // it is gone with it
	for i, id := range ids[:min(len(ids), trendRuns)] {
		if t.known[id] {
			continue
		}
		d, err := open(i)
		if err != nil {
			continue // the list says so
		}
		if !d.Running {
			err = store.Summarize(d)
		}
		_ = d.Close() // it was only read
		if err != nil {
			return err
		}
	}
	return t.Take(store)
}

// Take takes up the courses of a history.
func (t *Trends) Take(store *history.Store) error {
	runs, err := store.Runs(history.RunFilter{Limit: trendRuns})
	if err != nil {
		return err
	}
	for i := range runs {
		t.known[runs[i].ID], t.commits[runs[i].ID] = true, runs[i].Commit
	}
	seen := map[[2]string]bool{}
	for i := range slices.Backward(runs) {
		for j := range runs[i].Arms {
			a := &runs[i].Arms[j]
			if arm := [2]string{a.Suite, a.Arm}; !seen[arm] {
				seen[arm] = true
				if err := t.arm(store, a.Suite, a.Arm); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// arm takes up the courses of one arm.
func (t *Trends) arm(store *history.Store, suite, arm string) error {
	named, err := store.Metrics(suite, arm, trendRuns)
	if err != nil {
		return err
	}
	metrics := history.BuiltIn()
	for _, name := range named {
		metrics = append(metrics, history.NamedMetric(name))
	}
	for _, metric := range metrics {
		points, err := store.Course(history.Query{Suite: suite, Arm: arm, Metric: metric, Limit: trendRuns})
		if err != nil {
			return err
		}
		if len(points) > 0 {
			t.add(&Course{Suite: suite, Arm: arm, Metric: metric}, points)
		}
	}
	return nil
}

// add adds points to their course.
func (t *Trends) add(c *Course, points []history.Point) {
	at := slices.IndexFunc(t.courses, func(one *Course) bool {
		return one.Suite == c.Suite && one.Arm == c.Arm && one.Metric == c.Metric
	})
	switch {
	case at >= 0:
		c = t.courses[at]
	case len(t.courses) == mostCourses:
		t.more++
		return
	default:
		t.courses = append(t.courses, c)
	}
	for _, p := range points {
		one := TrendPoint{
			Run: p.RunID, Key: t.keys[p.RunID], StartedAt: p.StartedAt, Commit: t.commits[p.RunID], Emulator: p.Emulator, Value: p.Value, N: p.N,
		}
		if p.Bounded {
			one.Interval = &[2]float64{p.Lo, p.Hi}
		}
		c.Points = append(c.Points, one)
	}
}

// Shown is what the page of trends reads.
type Shown struct {
	Courses []*Course `json:"courses"`
	More    int       `json:"more"`    // courses that are left out
	Warning string    `json:"warning"` // why the history was not read
}

// Shown gives what was taken up. The warning says why a history was not read; "" without one.
func (t *Trends) Shown(warning string) Shown { return Shown{t.sorted(), t.more, warning} }

// sorted gives the courses with their newest points, the newest last.
func (t *Trends) sorted() []*Course {
	for _, c := range t.courses {
		slices.SortStableFunc(c.Points, func(a, b TrendPoint) int {
			return cmp.Or(cmp.Compare(a.StartedAt, b.StartedAt), cmp.Compare(a.Run, b.Run))
		})
		c.Points = c.Points[max(0, len(c.Points)-trendRuns):]
	}
	slices.SortStableFunc(t.courses, func(a, b *Course) int { return cmp.Compare(a.Suite, b.Suite) })
	return t.courses
}
