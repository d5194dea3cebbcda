//go:build !unix

package regular

// nonBlocking is nothing where there are no named pipes among files.
const nonBlocking = 0
