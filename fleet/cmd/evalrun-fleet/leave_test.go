package main

import (
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
)

// begun waits until a service has had a number of calls.
func (s *service) begun(n int) {
	for s.count() < n {
		time.Sleep(5 * time.Millisecond)
	}
}

// A worker that gets a signal ends its calls, takes no others, and goes. No call is made twice.
func TestAWorkerThatLeavesRepeatsNoCall(t *testing.T) {
	t.Parallel()
	s := newService(t, 100*time.Millisecond)
	b := newBox(t, s)
	b.write("many.csv", rows(300))
	b.write("many.yaml", many)
	coordinator := b.serve("many.yaml", "--out", "run")
	first := b.work(coordinator.url, "run", "-j", "4")
	s.begun(20)
	second := b.work(coordinator.url, "run", "-j", "4")
	s.begun(60)
	if err := first.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if got := first.end(); got != 143 {
		t.Errorf("exit %d, want 143:\n%s", got, first.err.String())
	}
	if n := s.count(); n > 200 {
		t.Errorf("the worker left after %d calls, want at most 200: it was let go at 60", n)
	}
	if got := coordinator.end(); got != 0 {
		t.Errorf("exit %d, want 0:\n%s", got, coordinator.err.String())
	}
	if got := second.end(); got != 0 {
		t.Errorf("the other worker: exit %d, want 0:\n%s", got, second.err.String())
	}
	if all, repeated := s.counted(); all != 300 || repeated != 0 {
		t.Errorf("%d calls, %d of them again; want 300 and none", all, repeated)
	}
}

// A worker that stops for seconds counts as dead. Its late answers are not used, and it gets calls as before.
func TestAStuckWorkerCountsAsDead(t *testing.T) {
	t.Parallel()
	s := newService(t, 50*time.Millisecond)
	b := newBox(t, s)
	b.write("many.csv", rows(600))
	b.write("many.yaml", many)
	coordinator := b.serve("many.yaml", "--out", "run")
	still := b.work(coordinator.url, "run", "-j", "4")
	s.begun(20)
	if err := still.Process.Signal(syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	other := b.work(coordinator.url, "run", "-j", "2")
	s.begun(300) // the other one has made 200 or more meanwhile, longer than anybody waits for an answer
	if err := still.Process.Signal(syscall.SIGCONT); err != nil {
		t.Fatal(err)
	}
	if got := coordinator.end(); got != 0 {
		t.Errorf("exit %d, want 0:\n%s", got, coordinator.err.String())
	}
	didWork(t, still, other)
	if all, repeated := s.counted(); all != 600+repeated || repeated > 4 {
		t.Errorf("%d calls, %d again; want 600 and at most 4 again", all, repeated)
	}
	if got := b.judged("run"); len(got) != 600 {
		t.Errorf("the run file has %d trials, want 600", len(got))
	}
}

// A worker of another version is of no use, and says so; nothing is sent.
func TestOtherVersionsOfWorkersAreReported(t *testing.T) {
	t.Parallel()
	s := newService(t, time.Millisecond)
	b := newBox(t, s)
	b.write("many.csv", rows(10))
	b.write("many.yaml", many)
	coordinator := b.serve("many.yaml", "--out", "run")
	other := newBox(t, s)
	other.dir, other.env = b.dir, append(other.env, asVersion+"=0.0.1")
	old := other.work(coordinator.url, "run")
	if got := old.end(); got != 2 || !strings.Contains(old.err.String(), "this worker is 0.0.1: install the same version on both") {
		t.Errorf("exit %d, want 2:\n%s", got, old.err.String())
	}
	if n := s.count(); n != 0 {
		t.Errorf("%d calls were sent, want none", n)
	}
	b.work(coordinator.url, "run")
	if got := coordinator.end(); got != 0 {
		t.Errorf("exit %d, want 0:\n%s", got, coordinator.err.String())
	}
}

// A server of somebody else works too; after a kill the run continues there.
func TestAServerOfSomebodyElseWorks(t *testing.T) {
	t.Parallel()
	nats, err := server.NewServer(&server.Options{Host: "127.0.0.1", Port: server.RANDOM_PORT, NoLog: true, NoSigs: true})
	if err != nil {
		t.Fatal(err)
	}
	go nats.Start()
	t.Cleanup(nats.Shutdown)
	if !nats.ReadyForConnections(20 * time.Second) {
		t.Fatal("the server does not listen, want it to within 20 seconds")
	}
	s := newService(t, 20*time.Millisecond)
	b := newBox(t, s)
	b.write("many.csv", rows(100))
	b.write("many.yaml", many)
	coordinator := b.serve("many.yaml", "--out", "run", "--nats", nats.ClientURL())
	if coordinator.url != nats.ClientURL() {
		t.Errorf("the address is %s, want %s", coordinator.url, nats.ClientURL())
	}
	worker := b.work(coordinator.url, "run", "-j", "4")
	s.begun(20)
	coordinator.kill()
	coordinator = b.serve("many.yaml", "--out", "run", "--nats", nats.ClientURL())
	if got := coordinator.end(); got != 0 {
		t.Errorf("exit %d, want 0:\n%s", got, coordinator.err.String())
	}
	if got := worker.end(); got != 0 {
		t.Errorf("worker: exit %d, want 0:\n%s", got, worker.err.String())
	}
	if got := b.judged("run"); len(got) != 100 {
		t.Errorf("the run file has %d trials, want 100", len(got))
	}
}
