// Package arch holds tests of the structure of the repository: which package may import which, and which
// names and signatures packages export.
package arch
