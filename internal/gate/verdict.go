// Package gate applies the rules of a gate to a run, compares two runs arm by arm, ranks arms, and decides early stops and races.
package gate
