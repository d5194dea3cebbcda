// Package lazy has regular expressions that are compiled when they are first used, so that a start of the program
// does not pay for them.
package lazy

import (
	"maps"
	"regexp"
	"sync/atomic"
)

// Regex is a regular expression, a constant that is compiled when it is first used. Those with classes of characters
// or letters of either case are dear: compiled at once, they took a fifth of the time of `evalrun version`.
type Regex string

// compiled is replaced as a whole and never changed: a look-up takes no lock, which workers would share.
var compiled atomic.Pointer[map[Regex]*regexp.Regexp]

// Matches reports whether some part of a text matches.
func (p Regex) Matches(s string) bool { return p.Regexp().MatchString(s) }

// Regexp is the compiled expression. One that is wrong panics.
func (p Regex) Regexp() *regexp.Regexp {
	known := compiled.Load()
	if known != nil {
		if re := (*known)[p]; re != nil {
			return re
		}
	}
	re := regexp.MustCompile(string(p))
	for {
		all := map[Regex]*regexp.Regexp{p: re}
		if known = compiled.Load(); known != nil {
			maps.Copy(all, *known)
		}
		if compiled.CompareAndSwap(known, &all) {
			return re
		}
	}
}
