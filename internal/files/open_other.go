//go:build !unix

package files

// nonBlocking is 0 on systems without named pipes among files.
const nonBlocking = 0
