//go:build !unix

package term

// Foreground is true: Ctrl-C reaches all processes of a console.
func Foreground() bool { return true }
