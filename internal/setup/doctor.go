package setup

import "github.com/evalrun/evalrun/internal/doctor"

// The check-up of a set-up, for the command.
type (
	Doctor     = doctor.Doctor
	Checkup    = doctor.Checkup
	Check      = doctor.Check
	CheckState = doctor.CheckState
)

// States of a Check.
const (
	OK      = doctor.OK
	Warning = doctor.Warning
	Problem = doctor.Problem
)
