package history

import (
	"database/sql"
	"slices"
	"strings"

	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/stats"
	"github.com/evalrun/evalrun/journal"
)

// The metrics of every arm. Other names are those of named scorers. A scorer with one of these names is
// called namedPrefix and its name.
const (
	MetricPass    = "pass"    // pass/(pass+fail) of each case over its repeats, averaged over cases
	MetricErrors  = "errors"  // share of errors among the trials that ran
	MetricLatency = "latency" // mean over scored trials, in milliseconds
	MetricTokens  = "tokens"  // mean over trials with a known cost
)

// namedPrefix marks a metric as a named scorer, whatever its name is.
const namedPrefix = "score:"

// BuiltIn lists the metrics of every arm.
func BuiltIn() []string { return []string{MetricPass, MetricErrors, MetricLatency, MetricTokens} }

// NamedMetric returns the value of Query.Metric for a named scorer.
func NamedMetric(scorer string) string {
	if slices.Contains(BuiltIn(), scorer) || strings.HasPrefix(scorer, namedPrefix) {
		return namedPrefix + scorer
	}
	return scorer
}

// Query selects the trend of one metric.
type Query struct {
	Suite string // Required.
	Arm   string // Required.
	// Case selects one case. Optional: all cases of the arm together.
	Case string
	// Metric is one of BuiltIn, or a result of NamedMetric. Optional: MetricPass.
	Metric string
	// Limit selects the newest runs. Optional: all.
	Limit int
}

// Point is the value of a metric in one run.
type Point struct {
	Run       string  `json:"run"` // its id
	StartedAt string  `json:"startedAt"`
	Emulator  bool    `json:"emulator"` // answers came from evalrun's emulator
	Value     float64 `json:"value"`
	// N is the number of units: Value is their mean. They are cases, or trials for a single case. For
	// latency and tokens they are always trials.
	N int `json:"n"`
	// Interval is Wilson's 90 % interval, as in reports. Pass rates, shares of errors and named scorers have one.
	Interval *[2]float64 `json:"interval"`
}

// Trend returns a metric in each run that has it, the newest last. It skips shards, because they are
// merged into a run that has their trials, and runs that wait for their batches.
func (s *Store) Trend(q Query) ([]Point, error) {
	named, isNamed := strings.CutPrefix(q.Metric, namedPrefix)
	if q.Metric == "" {
		q.Metric = MetricPass
	}
	if !isNamed && !slices.Contains(BuiltIn(), q.Metric) {
		named, isNamed = q.Metric, true
	}
	statement, args := trendOf(&q, named, isNamed)
	found, err := collect(s, func(rows *sql.Rows, p *trendPoint) error {
		var c trendRow
		err := rows.Scan(
			&p.Run, &p.StartedAt, &p.Emulator, &p.started, &c.Counts.Pass, &c.Counts.Fail, &c.Counts.Error, &c.LatencyMs,
			&c.Tokens.Total, &c.Metered, &c.value.Total, &c.value.N, &c.units,
		)
		if err == nil {
			c.point(&p.Point, q.Metric, isNamed)
		}
		return err
	}, statement, args...)
	if err == nil && q.Case != "" {
		found, err = s.inCells(found, &q, named, isNamed)
	}
	if err != nil {
		return nil, s.explain(err)
	}
	var points []Point
	for i := range found {
		if found[i].N > 0 {
			points = append(points, found[i].Point)
		}
	}
	slices.Reverse(points)
	return points, nil
}

// trendPoint has the time of the run for sorting.
type trendPoint struct {
	Point
	started int64
}

// trendOf returns the SQL statement of a query. CROSS JOIN makes SQLite go from run to run, so that each
// run is one lookup in the primary key of the other table.
func trendOf(q *Query, named string, isNamed bool) (statement string, args []any) {
	const (
		word     = "(SELECT id FROM word WHERE text = ?)"
		numbers  = "SELECT r.id, r.startedAt, r.emulator, r.started, c.pass, c.fail, c.error, c.latency, c.tokens, c.metered, "
		nothing  = "SELECT r.id, r.startedAt, r.emulator, r.started, 0, 0, 0, 0.0, 0, 0, "
		on       = " ON c.run = r.n AND c.suite = " + word + " AND c.arm = " + word
		onCase   = " AND c.kase = " + word
		onMetric = " AND c.metric = " + word
		last     = " WHERE r.shard = '' AND r.reason <> 'waiting' ORDER BY r.started DESC, r.id DESC LIMIT ?"
	)
	args = []any{q.Suite, q.Arm}
	switch oneCase := q.Case != ""; {
	case oneCase && isNamed:
		statement = nothing + "c.sum, c.n, 0 FROM run r CROSS JOIN score c" + on + onCase + onMetric + last
		args = append(args, q.Case, named)
	case oneCase: // the units of a single case are its trials
		statement = numbers + "c.pass, c.pass + c.fail, c.pass + c.fail + c.error FROM run r CROSS JOIN cell c" + on + onCase + last
		args = append(args, q.Case)
	case isNamed:
		statement = nothing + "c.sum, c.n, 0 FROM run r CROSS JOIN mean c" + on + onMetric + last
		args = append(args, named)
	default:
		statement = numbers + "c.rates, c.judged, c.asked FROM run r CROSS JOIN total c" + on + last
	}
	return statement, append(args, sqlLimit(q.Limit))
}

type trendRow struct {
	journal.Sums
	value eval.Sum // over units: cases, or trials of a single case
	units int      // that ran
}

func (c *trendRow) point(p *Point, metric string, named bool) {
	judged := c.Counts.Judged()
	switch {
	case named || metric == MetricPass:
		p.set(c.value.Total, c.value.N, c.value.N)
		p.bound()
	case metric == MetricErrors:
		p.set(float64(c.Counts.Error), c.Counts.Ran(), c.units)
		p.bound()
	case metric == MetricLatency:
		p.set(c.LatencyMs, judged, judged)
	case metric == MetricTokens:
		p.set(float64(c.Tokens.Total), c.Metered, c.Metered)
	}
}

// set sets the value to sum/of over n units; without units there is no value.
func (p *Point) set(sum float64, of, n int) {
	if of > 0 {
		p.Value, p.N = sum/float64(of), n
	}
}

func (p *Point) bound() {
	if p.N > 0 {
		lo, hi := stats.Wilson(p.Value, float64(p.N), stats.Z95)
		p.Interval = &[2]float64{lo, hi}
	}
}

// Excerpt is a part of the history: runs, and the trends of metrics. Its JSON is the output of `evalrun
// history`.
type Excerpt struct {
	Version int         `json:"version"`
	Runs    []RunRecord `json:"runs"`
	Trends  []ArmTrend  `json:"courses"` // the key of earlier versions, which programs read

	Cases    []string `json:"-"` // patterns of the cases of these trends; empty: the trends are of arms
	Narrowed bool     `json:"-"` // the runs lack some of their suites or arms
}

// ArmTrend is the trend of a metric, of an arm or of a case on it.
type ArmTrend struct {
	Suite  string  `json:"suite"`
	Arm    string  `json:"arm"`
	Case   string  `json:"case,omitempty"`
	Metric string  `json:"metric"`
	Level  float64 `json:"level"` // of the intervals
	Points []Point `json:"points"`
}
