package main

import (
	"testing"

	"github.com/evalrun/evalrun/internal/testing/expect"
)

// A small heap may grow to a multiple, a large one by a third of what has to be looked at.
func TestGarbagePercentShrinksAsTheHeapGrows(t *testing.T) {
	t.Parallel()
	for live, want := range map[uint64]int{0: 300, 4: 300, 12: 100, 64: 100, 80: 80, 128: 50, 192: 33, 4096: 33} {
		expect.Same(t, "percent", garbagePercent(live<<20, live<<20), want)
	}
	expect.Same(t, "percent, of columns without pointers", garbagePercent(120<<20, 1<<20), 10)
	expect.Same(t, "percent, of more of them than Go's percent can say", garbagePercent(4<<30, 1<<20), 1)
}
