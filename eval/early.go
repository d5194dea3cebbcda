package eval

import (
	"encoding/json"

	"github.com/evalrun/evalrun/internal/wirejson"
)

// ArmStop says that an arm stopped before all of its cases ran: a *KnownVerdict, a *RaceExit or a *BaseExit. It is final.
type ArmStop interface {
	// Stopped returns the arm, and the cases of it that are used.
	Stopped() *StoppedArm
	written() *writtenStop
}

// StoppedArm is an arm that stopped, with what is used of its cases.
type StoppedArm struct {
	Suite string
	Arm   string
	Units int // independent units that were used, in the order of the schedule
	Of    int // of all
	// Unused are the ids of trials that were answered already and are not used, since they come later in the schedule. What
	// comes after this line is not used either.
	Unused []string
}

// Stopped returns a itself.
func (a *StoppedArm) Stopped() *StoppedArm { return a }

// KnownVerdict says that the verdict on an arm was known before all of its cases ran.
type KnownVerdict struct {
	StoppedArm
	Verdict Verdict
	Metric  string // the one that regressed, or the rule that cannot hold any more
	// LogE are the logarithms of the e-values by metric: against being worse by the margin, or, of one that regressed,
	// against not being worse.
	LogE  map[string]float64
	Alpha float64 // spent on looking early
	// Base is the run or arm of the comparison, and Metrics are the metrics with their margins.
	Base    string
	Metrics []MetricMargin
}

// RaceExit says that an arm left a race, since another one is better.
type RaceExit struct {
	StoppedArm
	Metric string  // of the race
	Behind string  // the arm with the strongest evidence of being better
	LogE   float64 // logarithm of that evidence
	Alpha  float64 // bound on the probability that a best arm leaves
}

// BaseExit says that all verdicts on other arms against an arm were known before all of its cases ran.
type BaseExit struct{ StoppedArm }

// writtenStop is a stop in run files. Race marks the exit from a race, and no verdict that of a base.
type writtenStop struct {
	Suite   string             `json:"suite"`
	Arm     string             `json:"arm"`
	Verdict Verdict            `json:"verdict"`
	Metric  string             `json:"metric,omitempty"`
	Units   int                `json:"units"`
	Of      int                `json:"of"`
	LogE    map[string]float64 `json:"logE"`
	Alpha   float64            `json:"alpha"`
	Base    string             `json:"base,omitempty"`
	Metrics []MetricMargin     `json:"metrics,omitempty"`
	Race    bool               `json:"race,omitempty"`
	Unused  []string           `json:"extra,omitempty"`
}

// ReadStop reads the line of a run file.
func ReadStop(data []byte) (ArmStop, error) {
	var w writtenStop
	if err := json.Unmarshal(data, &w); err != nil {
		return nil, err
	}
	switch {
	case w.Race:
		return &RaceExit{w.stoppedArm(), w.Metric, w.Base, w.LogE[w.Metric], w.Alpha}, nil
	case w.Verdict == "":
		return &BaseExit{w.stoppedArm()}, nil
	}
	return new(w.knownVerdict()), nil
}

func (w *writtenStop) stoppedArm() StoppedArm {
	return StoppedArm{w.Suite, w.Arm, w.Units, w.Of, w.Unused}
}

func (w *writtenStop) knownVerdict() KnownVerdict {
	return KnownVerdict{w.stoppedArm(), w.Verdict, w.Metric, w.LogE, w.Alpha, w.Base, w.Metrics}
}

// line has what all kinds write.
func (a *StoppedArm) line() *writtenStop {
	return &writtenStop{Suite: a.Suite, Arm: a.Arm, Units: a.Units, Of: a.Of, Unused: a.Unused}
}

func (v *KnownVerdict) written() *writtenStop {
	w := v.line()
	w.Verdict, w.Metric, w.LogE, w.Alpha, w.Base, w.Metrics = v.Verdict, v.Metric, v.LogE, v.Alpha, v.Base, v.Metrics
	return w
}

func (x *RaceExit) written() *writtenStop {
	w := x.line()
	w.Race, w.Metric, w.LogE, w.Alpha, w.Base = true, x.Metric, map[string]float64{x.Metric: x.LogE}, x.Alpha, x.Behind
	return w
}

func (x *BaseExit) written() *writtenStop { return x.line() }

// MarshalJSON writes the line of a run file.
func (v KnownVerdict) MarshalJSON() ([]byte, error) { return wirejson.Marshal(v.written()) }

// MarshalJSON writes the line of a run file.
func (x RaceExit) MarshalJSON() ([]byte, error) { return wirejson.Marshal(x.written()) }

// MarshalJSON writes the line of a run file.
func (x BaseExit) MarshalJSON() ([]byte, error) { return wirejson.Marshal(x.written()) }

// UnmarshalJSON reads the verdict of a comparison in a report.
func (v *KnownVerdict) UnmarshalJSON(data []byte) error {
	w := v.written()
	err := json.Unmarshal(data, w)
	*v = w.knownVerdict()
	return err
}
