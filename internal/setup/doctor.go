package setup

import "github.com/evalrun/evalrun/internal/doctor"

// Doctor checks a set-up. The command reaches package doctor through this package, which keeps its imports few.
type Doctor = doctor.Doctor

// Checkup is what a Doctor found.
type Checkup = doctor.Checkup

// Check is one of its findings.
type Check = doctor.Check

// CheckState says whether a Check found what it should.
type CheckState = doctor.CheckState

// States of a Check.
const (
	OK      = doctor.OK
	Warning = doctor.Warning
	Problem = doctor.Problem
)
