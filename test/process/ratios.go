package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
)

// kept is what is committed of a measurement. The page's table and plot are views of it.
type kept struct {
	Measured string           `json:"measured"` // when and on what, of the last that was whole
	Rows     map[string]ratio `json:"rows"`
	Growth   []point          `json:"growth"`
}

// ratio is what is held of a row from commit to commit. Seconds differ from machine to machine.
type ratio struct {
	Share        float64 `json:"share"`                  // of the loop's speed
	CPU          float64 `json:"cpu"`                    // as a multiple of the loop's
	ShareOfLimit float64 `json:"shareOfLimit,omitempty"` // the same of the limit, of rows that send
	CPUOfLimit   float64 `json:"cpuOfLimit,omitempty"`
	Allocations  int64   `json:"allocations,omitempty"` // per trial
	OfLimit      int64   `json:"allocationsOfLimit,omitempty"`
	MB           int64   `json:"megabytes"` // the peak
}

// tolerance is by how much a row may be worse than its ratio.
const tolerance = 0.10

func ratioOf(f figure) ratio {
	r := ratio{
		Share: rounded(f.Evalrun.share(f.Loop)), CPU: rounded(f.Evalrun.times(f.Loop)), MB: f.Evalrun.Memory >> 20,
		Allocations: f.Allocations.Evalrun, OfLimit: f.Allocations.Limit,
	}
	if f.Limit != (cost{}) {
		r.ShareOfLimit, r.CPUOfLimit = rounded(f.Evalrun.share(f.Limit)), rounded(f.Evalrun.times(f.Limit))
	}
	return r
}

func rounded(v float64) float64 { return math.Round(v*1000) / 1000 }

// with replaces what was measured.
func (k kept) with(measured string, all []figure, growth []point) kept {
	now := kept{measured, map[string]ratio{}, growth}
	for _, r := range rows() {
		if before, known := k.Rows[r.name]; known {
			now.Rows[r.name] = before
		}
	}
	for _, f := range all {
		now.Rows[f.Name] = ratioOf(f)
	}
	if len(all) < len(rows()) {
		now.Measured = k.Measured
	}
	if growth == nil {
		now.Growth = k.Growth
	}
	return now
}

func (k kept) write(file string) error {
	data, err := json.MarshalIndent(k, "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(file, append(data, '\n'), 0o644)
}

// readKept reads the file; without one nothing is kept.
func readKept(file string) (k kept, err error) {
	data, err := os.ReadFile(file)
	if errors.Is(err, os.ErrNotExist) {
		return k, nil
	}
	if err != nil {
		return k, err
	}
	return k, json.Unmarshal(data, &k)
}

// hold says what is worse than what is committed by more than the tolerance.
func (k kept) hold(all []figure, growth []point) error {
	worse := []error{flat(growth)}
	for _, f := range all {
		before, known := k.Rows[f.Name]
		if !known {
			worse = append(worse, fmt.Errorf("%s: nothing is committed; WRITE=1 writes it", f.Name))
			continue
		}
		worse = append(worse, before.against(f.Name, ratioOf(f))...)
	}
	return errors.Join(worse...)
}

// against says in what a row is worse than it was.
func (r ratio) against(name string, got ratio) (worse []error) {
	for _, c := range []struct {
		what    string
		was, is float64
		isWorse bool
	}{
		{"of the loop's speed", r.Share, got.Share, got.Share < r.Share*(1-tolerance)},
		{"of the limit's speed", r.ShareOfLimit, got.ShareOfLimit, got.ShareOfLimit < r.ShareOfLimit*(1-tolerance)},
		{"times the loop's CPU", r.CPU, got.CPU, got.CPU > r.CPU*(1+tolerance)},
		{"times the limit's CPU", r.CPUOfLimit, got.CPUOfLimit, got.CPUOfLimit > r.CPUOfLimit*(1+tolerance)},
		{"allocations a trial", float64(r.Allocations), float64(got.Allocations), got.Allocations*10 > r.Allocations*11},
		{"MB", float64(r.MB), float64(got.MB), float64(got.MB) > float64(r.MB)*(1+tolerance)+1},
	} {
		if c.isWorse {
			worse = append(worse, fmt.Errorf("%s: %.6g %s, was %.6g", name, c.is, c.what, c.was))
		}
	}
	return worse
}
