package page

import (
	"cmp"
	"slices"

	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/overview"
	"github.com/evalrun/evalrun/journal"
	"github.com/evalrun/evalrun/journal/history"
)

// Bounds of the page of trends.
const (
	trendRuns  = 50  // only the newest
	mostTrends = 500 // one for each metric of an arm
)

// Trend is a metric of an arm over several runs.
type Trend struct {
	Suite  string       `json:"suite"`
	Arm    string       `json:"arm"`
	Metric string       `json:"metric"`
	Points []trendPoint `json:"points"`
	// Limit is what the gate of the newest run allows: the least value, or the most errors; nil where it has no such rule.
	Limit *float64 `json:"limit,omitempty"`
	// Drift is what the nights up to the newest run that says it say of the metric; nil where no rule is about it.
	Drift *shownDrift `json:"drift,omitempty"`
}

// shownDrift is a journal.Drift in words, with the nights to mark.
type shownDrift struct {
	Lines []string            `json:"lines"`
	Marks []journal.DriftMark `json:"marks"`
}

type trendPoint struct {
	history.Point
	Key    string `json:"key,omitempty"` // of the run, if it is in the list
	Commit string `json:"commit,omitempty"`
}

type trendPage struct {
	listed  []*ListedRun
	keys    map[string]string           // of listed runs, by id
	gates   map[string]*eval.GateConfig // of the newest listed run of a suite
	added   map[string]bool             // ids of the runs that were added
	commits map[string]string           // of these runs, by id
	trends  []*Trend
	more    int // trends beyond the bound
}

// NewTrends returns Trends without points. listed are the runs that its points lead to, the newest first.
func NewTrends(listed []*ListedRun) *trendPage {
	t := &trendPage{
		listed: listed, keys: map[string]string{}, gates: map[string]*eval.GateConfig{}, added: map[string]bool{}, commits: map[string]string{},
		trends: []*Trend{},
	}
	for _, r := range listed {
		t.keys[r.ID] = r.Key
		for suite, gate := range r.Gates {
			if _, known := t.gates[suite]; !known {
				t.gates[suite] = gate
			}
		}
	}
	return t
}

// TakeDrift adds what the nights say to the trends, from the newest listed run of each suite that has it. dirOf is the
// directory of one.
func (t *trendPage) TakeDrift(dirOf func(i int) string) {
	asked := map[string]bool{}
	for i, r := range t.listed {
		for suite, gate := range r.Gates {
			if gate == nil || len(gate.Drift) == 0 || asked[suite] {
				continue
			}
			kept, _ := journal.KeptDrift(dirOf(i)) // the run itself shows the problem
			for _, f := range kept {
				if f.Suite == suite && f.State != "" {
					asked[suite] = true
					t.addDrift(&f)
				}
			}
		}
	}
}

func (t *trendPage) addDrift(f *journal.Drift) {
	metric := f.Metric
	if metric != history.MetricPass {
		metric = history.NamedMetric(metric)
	}
	for _, c := range t.trends {
		if c.Suite == f.Suite && c.Arm == f.Arm && c.Metric == metric {
			c.Drift = &shownDrift{overview.DriftLines(f, false), f.Marks}
		}
	}
}

// limit is what the gate of a suite allows of a metric; nil where it has no such rule.
func (t *trendPage) limit(suite, metric string) *float64 {
	gate := t.gates[suite]
	switch {
	case gate == nil:
		return nil
	case metric == history.MetricPass:
		return gate.PassRateMin
	case metric == history.MetricErrors:
		return gate.ErrorsMax
	}
	for i := range gate.Means {
		if history.NamedMetric(gate.Means[i].Metric) == metric {
			return &gate.Means[i].Min
		}
	}
	return nil
}

// TakeRuns adds listed runs that Take has not added; open opens the run at an index of the list. It skips shards, runs
// in progress, and runs that cannot be opened.
func (t *trendPage) TakeRuns(open func(i int) (*journal.Document, error)) error {
	store, err := history.InMemory()
	if err != nil {
		return err
	}
	defer store.Close() //nolint:errcheck // in memory only
	for i, r := range t.listed[:min(len(t.listed), trendRuns)] {
		if t.added[r.ID] {
			continue
		}
		d, err := open(i)
		if err != nil {
			continue // the list shows the problem
		}
		if !d.Running {
			err = store.Summarize(d)
		}
		_ = d.Close() // only read
		if err != nil {
			return err
		}
	}
	return t.Take(store)
}

// Take adds the newest runs of a history.
func (t *trendPage) Take(store *history.Store) error {
	runs, err := store.Runs(history.RunFilter{Limit: trendRuns})
	if err != nil {
		return err
	}
	for i := range runs {
		t.added[runs[i].ID], t.commits[runs[i].ID] = true, runs[i].Commit
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

func (t *trendPage) arm(store *history.Store, suite, arm string) error {
	named, err := store.Metrics(suite, arm, trendRuns)
	if err != nil {
		return err
	}
	metrics := history.BuiltIn()
	for _, name := range named {
		metrics = append(metrics, history.NamedMetric(name))
	}
	for _, metric := range metrics {
		points, err := store.Trend(history.Query{Suite: suite, Arm: arm, Metric: metric, Limit: trendRuns})
		if err != nil {
			return err
		}
		if len(points) > 0 {
			t.add(&Trend{Suite: suite, Arm: arm, Metric: metric, Limit: t.limit(suite, metric)}, points)
		}
	}
	return nil
}

func (t *trendPage) add(c *Trend, points []history.Point) {
	at := slices.IndexFunc(t.trends, func(one *Trend) bool {
		return one.Suite == c.Suite && one.Arm == c.Arm && one.Metric == c.Metric
	})
	switch {
	case at >= 0:
		c = t.trends[at]
	case len(t.trends) == mostTrends:
		t.more++
		return
	default:
		t.trends = append(t.trends, c)
	}
	for _, p := range points {
		c.Points = append(c.Points, trendPoint{p, t.keys[p.Run], t.commits[p.Run]})
	}
}

// Shown is the data of the page of trends.
type Shown struct {
	Trends  []*Trend `json:"courses"` // the key of earlier versions
	More    int      `json:"more"`    // trends beyond the bound
	Warning string   `json:"warning"` // why the history could not be read
}

// Shown returns the data. warning says why a history could not be read; "" if it could.
func (t *trendPage) Shown(warning string) Shown { return Shown{t.sorted(), t.more, warning} }

// sorted keeps the newest points of each trend, the newest last.
func (t *trendPage) sorted() []*Trend {
	for _, c := range t.trends {
		slices.SortStableFunc(c.Points, func(a, b trendPoint) int {
			return cmp.Or(cmp.Compare(a.StartedAt, b.StartedAt), cmp.Compare(a.Run, b.Run))
		})
		c.Points = c.Points[max(0, len(c.Points)-trendRuns):]
	}
	slices.SortStableFunc(t.trends, func(a, b *Trend) int { return cmp.Compare(a.Suite, b.Suite) })
	return t.trends
}
