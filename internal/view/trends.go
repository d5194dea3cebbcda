package view

import (
	"cmp"
	"net/http"
	"slices"

	"github.com/evalrun/evalrun/history"
	"github.com/evalrun/evalrun/internal/rundir"
)

// How much the page of trends shows.
const (
	trendRuns   = 50  // the newest
	mostCourses = 500 // a metric on an arm each
)

// course is one metric of an arm from run to run.
type course struct {
	Suite  string  `json:"suite"`
	Arm    string  `json:"arm"`
	Metric string  `json:"metric"`
	Points []point `json:"points"`
}

// point is a metric in one run.
type point struct {
	Run       string      `json:"run"`
	Key       string      `json:"key,omitempty"` // of a run in the list
	StartedAt string      `json:"startedAt"`
	Emulator  bool        `json:"emulator"`
	Value     float64     `json:"value"`
	N         int         `json:"n"`
	Interval  *[2]float64 `json:"interval"`
}

// trends answers with the courses of all metrics: out of the history, and out of the run files where it does not know a run.
func (s *Server) trends(w http.ResponseWriter, r *http.Request) {
	end, ok := s.begin(r.Context())
	if !ok {
		return
	}
	defer end()
	t := trends{keys: map[string]string{}, known: map[string]bool{}, courses: []*course{}}
	all := s.runs.list()
	for _, one := range all {
		t.keys[one.ID] = one.Key
	}
	if store, err := s.options.Dir.ReadHistory(); err != nil {
		t.warning = err.Error()
	} else if store != nil {
		if err := t.take(store); err != nil { // the run files have the same numbers
			t = trends{keys: t.keys, known: map[string]bool{}, courses: []*course{}, warning: err.Error()}
		}
		_ = store.Close() // it was only read
	}
	if err := t.takeRuns(all); err != nil {
		refuse(w, http.StatusInternalServerError, err.Error())
		return
	}
	answer(w, map[string]any{"courses": t.sorted(), "more": t.more, "warning": t.warning})
}

type trends struct {
	keys    map[string]string // of runs, by their ids
	known   map[string]bool   // runs that were taken up, by their ids
	courses []*course
	more    int // courses that are left out
	warning string
}

// takeRuns takes up the newest runs that are not known yet, through a history in memory. Runs in progress have no
// numbers yet, and shards are parts of other runs.
func (t *trends) takeRuns(all []*run) error {
	store, err := history.InMemory()
	if err != nil {
		return err
	}
	defer store.Close() //nolint:errcheck // it is gone with it
	for _, one := range all[:min(len(all), trendRuns)] {
		if t.known[one.ID] {
			continue
		}
		d, err := rundir.At("").Open(one.path)
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
	return t.take(store)
}

// take takes up the courses of a history.
func (t *trends) take(store *history.Store) error {
	runs, err := store.Runs(history.Filter{Limit: trendRuns})
	if err != nil {
		return err
	}
	seen := map[[2]string]bool{}
	for i := range slices.Backward(runs) {
		t.known[runs[i].ID] = true
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
func (t *trends) arm(store *history.Store, suite, arm string) error {
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
			t.add(&course{Suite: suite, Arm: arm, Metric: metric}, points)
		}
	}
	return nil
}

// add adds points to their course.
func (t *trends) add(c *course, points []history.Point) {
	at := slices.IndexFunc(t.courses, func(one *course) bool {
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
		one := point{Run: p.RunID, Key: t.keys[p.RunID], StartedAt: p.StartedAt, Emulator: p.Emulator, Value: p.Value, N: p.N}
		if p.Bounded {
			one.Interval = &[2]float64{p.Lo, p.Hi}
		}
		c.Points = append(c.Points, one)
	}
}

// sorted gives the courses with their newest points, the newest last.
func (t *trends) sorted() []*course {
	for _, c := range t.courses {
		slices.SortStableFunc(c.Points, func(a, b point) int { return cmp.Or(cmp.Compare(a.StartedAt, b.StartedAt), cmp.Compare(a.Run, b.Run)) })
		c.Points = c.Points[max(0, len(c.Points)-trendRuns):]
	}
	slices.SortStableFunc(t.courses, func(a, b *course) int { return cmp.Compare(a.Suite, b.Suite) })
	return t.courses
}
