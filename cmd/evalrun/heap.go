package main

import (
	"runtime"
	"runtime/debug"
	"runtime/metrics"
)

// A collection scans the live data with pointers. Garbage may take as much memory as these, so that a byte is scanned for each that is
// allocated; but at least leastGarbage, because collecting a small heap saves little, and at most mostGarbage, or a third of a large heap.
const leastGarbage, mostGarbage = 12 << 20, 64 << 20

// garbagePercent returns the garbage to allow, in percent of the live bytes. scanned is the number of live
// bytes that may have pointers.
func garbagePercent(live, scanned uint64) int {
	live = max(live, 4<<20) // Go lets a heap grow to this, times the percentage, before it looks at it
	garbage := max(leastGarbage, min(scanned, mostGarbage), scanned/3)
	return int(max(1, 100*garbage/live)) //nolint:gosec // at most 300
}

// followHeap adjusts the garbage after each collection. Go's proportion is too small for a small heap and too large for a large one.
func followHeap(getenv func(string) string) {
	if getenv("GOGC") == "" && getenv("GOMEMLIMIT") == "" {
		debug.SetGCPercent(garbagePercent(0, 0))
		afterCollection()
	}
}

// afterCollection waits for the end of the next collection: it finds the mark that nothing refers to.
func afterCollection() {
	mark := new([4]*byte)
	runtime.AddCleanup(mark, func(struct{}) {
		alive := []metrics.Sample{{Name: "/gc/heap/live:bytes"}, {Name: "/gc/scan/heap:bytes"}}
		metrics.Read(alive)
		debug.SetGCPercent(garbagePercent(alive[0].Value.Uint64(), alive[1].Value.Uint64()))
		afterCollection()
	}, struct{}{})
}
