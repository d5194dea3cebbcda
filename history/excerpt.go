package history

// Excerpt is a part of the history: runs, and how metrics went from run to run. Its JSON form is that of `evalrun history`.
type Excerpt struct {
	Version int         `json:"version"`
	Runs    []RunRecord `json:"runs"`
	Courses []ArmCourse `json:"courses"`

	Cases    []string `json:"-"` // the patterns of the cases whose courses these are; none: the courses are of arms
	Narrowed bool     `json:"-"` // the runs are without some of their suites or arms
}

// ArmCourse is one metric of an arm, or of a case on it, from run to run.
type ArmCourse struct {
	Suite  string        `json:"suite"`
	Arm    string        `json:"arm"`
	Case   string        `json:"case,omitempty"`
	Metric string        `json:"metric"`
	Level  float64       `json:"level"` // of the intervals
	Points []CoursePoint `json:"points"`
}

// CoursePoint is a Point in JSON.
type CoursePoint struct {
	Run       string      `json:"run"`
	StartedAt string      `json:"startedAt"`
	Emulator  bool        `json:"emulator"`
	Value     float64     `json:"value"`
	N         int         `json:"n"`
	Interval  *[2]float64 `json:"interval"`
}
