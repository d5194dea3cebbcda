package main

import (
	"runtime"
	"runtime/debug"
	"runtime/metrics"
)

// Garbage may take as much memory as live data, but at least leastGarbage, because collecting a small heap
// saves little, and at most mostGarbage. In a large heap it may be a third of the data with pointers, which
// a collection has to scan, or what the process has taken before, while it read its suites, say.
const leastGarbage, mostGarbage = 12 << 20, 32 << 20

// garbagePercent returns the garbage to allow, in percent of the live bytes. scanned is the number of live
// bytes that may have pointers, most that of the largest heap so far.
func garbagePercent(live, scanned, most uint64) int {
	live = max(live, 4<<20) // Go lets a heap grow to this, times the percentage, before it looks at it
	garbage := min(max(live, leastGarbage), mostGarbage)
	if live > 3*mostGarbage {
		garbage = max(leastGarbage, min(live, scanned)/3)
	}
	if most > live {
		garbage = max(garbage, min(live, most-live))
	}
	return int(100 * garbage / live) //nolint:gosec // at most 300
}

// followHeap adjusts the garbage after each collection. Go's proportion is too small for a small heap and too large for a large one.
func followHeap(getenv func(string) string) {
	if getenv("GOGC") == "" && getenv("GOMEMLIMIT") == "" {
		debug.SetGCPercent(garbagePercent(0, 0, 0))
		afterCollection(0)
	}
}

// afterCollection waits for the end of the next collection: it finds the mark that nothing refers to.
// most is the largest heap so far.
func afterCollection(most uint64) {
	mark := new([4]*byte)
	runtime.AddCleanup(mark, func(struct{}) {
		heap := []metrics.Sample{{Name: "/gc/heap/live:bytes"}, {Name: "/gc/scan/heap:bytes"}}
		metrics.Read(heap)
		live, scanned := heap[0].Value.Uint64(), heap[1].Value.Uint64()
		percent := garbagePercent(live, scanned, most)
		debug.SetGCPercent(percent)
		afterCollection(max(most, live+live*uint64(percent)/100)) //nolint:gosec // it is positive
	}, struct{}{})
}
