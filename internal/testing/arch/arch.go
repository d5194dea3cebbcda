// Package arch holds tests of the structure of the repository: which package imports which, that public signatures name
// public types, and that switches over sealed interfaces name every kind.
package arch
