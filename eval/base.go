package eval

import "strings"

// Base is what the arms of a run are compared with: a BaseRun, a BaseArm or a BaseVersion.
type Base interface {
	// Title is the base as the user named it.
	Title() string
	// ArmFor is the arm of the run itself with which an arm is compared, "" for a base in another run.
	ArmFor(arm string) string
	// Includes reports whether an arm of the run itself is there to be compared with.
	Includes(arm string) bool
	sealed()
}

// BaseRun is another run.
type BaseRun struct {
	Name string // a named baseline, a run, or a file that was exported
	// Path is where the run was found when this one began, and ID is its id. Both are "" before that.
	Path string
	ID   string
}

// BaseArm is an arm of the run itself.
type BaseArm struct{ Name string }

// BaseVersion is an earlier version of the suite, whose arms run next to the suite's own.
type BaseVersion struct {
	Suffix string // of the names of its arms: @ and the version as git names it
}

// Title is the name.
func (b BaseRun) Title() string { return b.Name }

// Title is the arm.
func (b BaseArm) Title() string { return b.Name }

// Title is the version as git names it.
func (b BaseVersion) Title() string { return strings.TrimPrefix(b.Suffix, "@") }

// ArmFor is "": the arm is in the other run.
func (BaseRun) ArmFor(string) string { return "" }

// ArmFor is the same arm for all others.
func (b BaseArm) ArmFor(string) string { return b.Name }

// ArmFor is the arm in its earlier version.
func (b BaseVersion) ArmFor(arm string) string { return arm + b.Suffix }

// Includes is false: no arm of this run is in another one.
func (BaseRun) Includes(string) bool { return false }

// Includes reports whether the arm is this one.
func (b BaseArm) Includes(arm string) bool { return arm == b.Name }

// Includes reports whether the arm is one of the earlier version.
func (b BaseVersion) Includes(arm string) bool { return strings.HasSuffix(arm, b.Suffix) }

// Current is the name that an arm of the earlier version has in the suite.
func (b BaseVersion) Current(arm string) string { return strings.TrimSuffix(arm, b.Suffix) }

func (BaseRun) sealed()     {}
func (BaseArm) sealed()     {}
func (BaseVersion) sealed() {}
