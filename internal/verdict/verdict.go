// Package verdict applies the rules of a gate to a run and compares two runs arm by arm. It stops arms whose verdict
// is known before all of their cases are sent. The statistics are in package compare.
//
// The usual order: Checks.Gates before a run, Early during the run, Apply once it has ended.
package verdict
