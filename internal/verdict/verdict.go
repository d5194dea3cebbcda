// Package verdict decides: it applies the rules of a gate to a run, compares two runs arm by arm, and stops arms whose verdict is known
// before all of their cases are sent. The statistics are in package compare.
//
// The usual order: Checks.Gates before a run, Early while it goes on, Apply once it has ended.
package verdict
