package history

// Excerpt is a part of the history: runs, and the trends of metrics. Its JSON is the output of `evalrun
// history`.
type Excerpt struct {
	Version int         `json:"version"`
	Runs    []RunRecord `json:"runs"`
	Trends  []ArmTrend  `json:"courses"`

	Cases    []string `json:"-"` // patterns of the cases of these trends; empty: the trends are of arms
	Narrowed bool     `json:"-"` // the runs lack some of their suites or arms
}

// ArmTrend is the trend of a metric, of an arm or of a case on it.
type ArmTrend struct {
	Suite  string        `json:"suite"`
	Arm    string        `json:"arm"`
	Case   string        `json:"case,omitempty"`
	Metric string        `json:"metric"`
	Level  float64       `json:"level"` // of the intervals
	Points []PointRecord `json:"points"`
}

// PointRecord is the JSON of a Point.
type PointRecord struct {
	Run       string      `json:"run"`
	StartedAt string      `json:"startedAt"`
	Emulator  bool        `json:"emulator"`
	Value     float64     `json:"value"`
	N         int         `json:"n"`
	Interval  *[2]float64 `json:"interval"`
}
