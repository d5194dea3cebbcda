package main

import (
	"io"
	"testing"
)

// A bar is for a terminal that can draw it, and that no log is made of; all else gets lines.
func TestABarIsShownOnlyOnTerminals(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		width       int
		name, value string
		want        bool
	}{{80, "", "", true}, {0, "", "", false}, {80, "TERM", "dumb", false}, {80, "CI", "1", false}} {
		a := &app{err: io.Discard, errWidth: test.width, getenv: func(name string) string {
			return map[string]string{test.name: test.value}[name]
		}}
		if got := a.barColumns() != nil; got != test.want {
			t.Errorf("width %d, %s=%s: a bar is %t, want %t", test.width, test.name, test.value, got, test.want)
		}
	}
}
