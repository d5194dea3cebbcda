// Package arch holds one test: which package may import which, and that each says what it is
// for.
package arch
