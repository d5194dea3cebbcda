package journal

import (
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"path/filepath"

	"github.com/evalrun/evalrun/compare"
	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/files"
)

// Drift is what the nights of a suite say of a metric on an arm, up to a run. Nights count from 1.
type Drift struct {
	Suite  string             `json:"suite"`
	Metric string             `json:"metric"`
	Arm    string             `json:"arm"`
	State  compare.DriftState `json:"state"`         // "" where Why says why there is none
	Why    string             `json:"why,omitempty"` // such as that the run is no night
	Broken bool               `json:"broken,omitempty"`
	// OnAlarm is what an alarm makes of the gate.
	OnAlarm eval.OnInconclusive `json:"onAlarm,omitempty"`

	Evidence float64    `json:"evidence"`
	Bar      float64    `json:"bar"`
	Parts    DriftParts `json:"parts"`
	Watched  int        `json:"watched"` // arms times metrics that share the error rate

	Run    string `json:"run,omitempty"`    // the newest night
	Seen   int    `json:"seen,omitempty"`   // the night of the alarm
	Start  int    `json:"start,omitempty"`  // the night on which the loss most likely began
	Starts []int  `json:"starts,omitempty"` // those on which it may have begun
	Back   int    `json:"back,omitempty"`   // the night since which it is no longer shown
	// StartAt are the times (RFC 3339) of Start and of the first and last of Starts.
	StartAt []string `json:"startAt,omitempty"`

	Before  *float64  `json:"before"` // mean over the cases that have results on both sides of Start; nil without an alarm
	Since   *float64  `json:"since"`
	Of      int       `json:"of,omitempty"`    // such cases
	Lower   int       `json:"lower,omitempty"` // of them, those with a lower mean
	Cases   []string  `json:"cases"`           // failed on every night since, and on none before
	Moved   []string  `json:"moved,omitempty"` // failed more often than chance explains; a tenth of them may be wrong
	Tags    []TagLoss `json:"tags,omitempty"`
	Changed []string  `json:"changed"` // what else changed on Start, in words

	Nights int                  `json:"nights"`
	From   int                  `json:"from,omitempty"`  // the night on which the series starts again, 0 if it is the first
	Left   []LeftOut            `json:"left"`            // the runs that are not counted, by reason
	Known  int                  `json:"known,omitempty"` // cases of the newest night that have been run on four nights or more
	Tested int                  `json:"tested,omitempty"`
	Notes  []string             `json:"notes,omitempty"`
	Marks  []DriftMark          `json:"marks,omitempty"` // nights to mark in a plot
	Chance *compare.DriftChance `json:"chance,omitempty"`
}

// DriftParts are the three tests whose largest is the evidence, each with its part of the error rate.
type DriftParts struct {
	Mean    float64 `json:"mean"`
	Weighed float64 `json:"weighed"`
	Streak  float64 `json:"streak"`
}

// DriftMark says what happened on a night.
type DriftMark struct {
	Run   string `json:"run"`
	Words string `json:"words"`
}

// TagLoss is how much the cases with a tag lost, in points of a hundred. It is no test.
type TagLoss struct {
	Tag    string  `json:"tag"`
	Points float64 `json:"points"`
}

// LeftOut counts runs that are no nights for one reason, such as outage.
type LeftOut struct {
	Why  string `json:"why"`
	Runs int    `json:"runs"`
}

// driftName is the file in a run directory that keeps what the nights said when the run ended.
const driftName = "drift.json"

// KeepDrift writes what the nights say into the run directory: later the history has other nights.
func (d *Document) KeepDrift() error {
	if len(d.Drift) == 0 {
		return nil
	}
	return files.Write(filepath.Join(d.Dir, driftName), 0o644, func(w io.Writer) error { return json.NewEncoder(w).Encode(d.Drift) })
}

// KeptDrift reads what KeepDrift wrote into the directory of a run; nil without it.
func KeptDrift(dir string) ([]Drift, error) {
	const most = 64 << 20
	data, err := files.ReadFile(filepath.Join(dir, driftName), most)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	var out []Drift
	if err == nil {
		err = json.Unmarshal(data, &out)
	}
	return out, err
}
