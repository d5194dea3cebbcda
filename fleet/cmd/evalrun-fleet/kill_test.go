package main

import (
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"testing"
	"time"
)

// TestKillsLoseNothing kills workers and the coordinator while a run is under way. Nothing is lost, nothing is there
// twice, and no more calls are made again than had a place at a kill. Each call bears the key of a worker: the coordinator
// has none, or another. With EVALRUN_FLEET_TRIALS it is the long form.
func TestKillsLoseNothing(t *testing.T) {
	trials, workers, places := 300, 4, 4
	if n, err := strconv.Atoi(os.Getenv("EVALRUN_FLEET_TRIALS")); err == nil {
		trials = n
	}
	s := newService(t, 40*time.Millisecond)
	b := newBox(t, s)
	b.write("many.yaml", many)
	b.write("many.csv", rows(trials))

	coordinator := b.serve("many.yaml", "--out", "run", "--seed", "7", "-o", "json=report.json")
	url := coordinator.url
	working := make([]*process, workers)
	begin := func(i int) { working[i] = b.work(url, "run", "-j", strconv.Itoa(places)) }
	for i := range working {
		begin(i)
	}
	random := rand.New(rand.NewPCG(1, 2))
	bound, kills, gone := 0, 0, false
	for !over(coordinator, 700*time.Millisecond) {
		kills++
		if i := random.IntN(workers + 1); i < workers && kills > 1 { // the coordinator is killed at least once
			working[i].kill()
			bound += places
			begin(i)
			continue
		}
		coordinator.kill()
		bound += workers * places
		key, again := []string{"", masterKey}[kills%2], []string{"--resume", "run", "-o", "json=report.json"}
		if !gone && kills > 2 && len(b.judged("run")) < trials { // the store is deleted once: there is only what workers have to load
			gone = true
			_ = os.Remove(filepath.Join(b.dir, "run", "fleet.pack"))
			again = []string{"many.yaml", "--out", "run", "--seed", "7"}
		}
		if coordinator = b.serveWith(key, again...); coordinator.url != url {
			t.Fatalf("after a kill the coordinator is at %s, want %s", coordinator.url, url)
		}
	}
	if got := coordinator.end(); got != 0 {
		t.Fatalf("exit %d, want 0:\n%s", got, coordinator.err.String())
	}
	didWork(t, working...)
	all, repeated := s.counted()
	t.Logf("%d trials, %d kills, %d calls, %d made again of at most %d", trials, kills, all, repeated, bound)
	if repeated > bound {
		t.Errorf("%d calls were made again, want at most %d, the places at %d kills", repeated, bound, kills)
	}
	got := b.judged("run")
	if len(got) != trials {
		t.Errorf("the run file has %d trials, want %d", len(got), trials)
	}
	single := b.alone("alone", nil, "many.yaml")
	if want := b.judged("alone"); !maps.Equal(got, want) {
		t.Errorf("outcomes: got %v, want those of a single process, %v", got, want)
	}
	if code := coordinator.ProcessState.ExitCode(); code != single.Exit {
		t.Errorf("exit %d, want %d as of a single process", code, single.Exit)
	}
}

// over reports whether a process ends within a time.
func over(p *process, within time.Duration) bool {
	select {
	case <-p.ended:
		return true
	case <-time.After(within):
		return false
	}
}
