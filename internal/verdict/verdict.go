// Package verdict applies the rules of a gate to a run, compares two runs arm by arm, and ranks the arms of one.
// It stops arms whose verdict is known before all of their cases are sent, and arms that have lost a race. Before
// a run it says what the gate can detect (Outlooks) and how often it errs (SelfTest). The statistics are in
// packages compare and ranking.
//
// The usual order: Checks.Gates before a run, Early during the run, Apply once it has ended.
package verdict
