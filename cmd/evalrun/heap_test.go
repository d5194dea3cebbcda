package main

import (
	"testing"

	"github.com/evalrun/evalrun/internal/testing/expect"
)

// A small heap may grow to a multiple, a large one by a third of what has to be looked at.
func TestGarbagePercentShrinksAsTheHeapGrows(t *testing.T) {
	t.Parallel()
	for live, want := range map[uint64]int{0: 300, 4: 300, 12: 100, 32: 100, 40: 80, 64: 50, 96: 33, 144: 33, 4096: 33} {
		expect.Same(t, "percent", garbagePercent(live<<20, live<<20), want)
	}
	expect.Same(t, "percent, of columns without pointers", garbagePercent(120<<20, 1<<20), 10)
}
