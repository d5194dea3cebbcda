package setup

import "github.com/evalrun/evalrun/internal/doctor"

// Doctor checks a set-up. The command reaches package doctor through this package, which keeps its imports few.
type Doctor = doctor.Doctor

// Checkup is the result of a Doctor.
type Checkup = doctor.Checkup

// Check is one finding of a Checkup.
type Check = doctor.Check

// CheckState is OK, Warning or Problem.
type CheckState = doctor.CheckState

// The states of a Check.
const (
	OK      = doctor.OK
	Warning = doctor.Warning
	Problem = doctor.Problem
)
