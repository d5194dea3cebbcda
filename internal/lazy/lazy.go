// Package lazy holds what is made when it is first used, so that a start of the program does not pay for it.
package lazy

import (
	"regexp"
	"sync"
)

// Regexp compiles an expression when it is first used. Those with classes of characters or letters of either case are
// dear: compiled at once, they took a fifth of the time of `evalrun version`.
func Regexp(expr string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(expr) })
}
