package main

import (
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// A worker whose key is refused leaves, and others make its calls. No trial is an error for it.
func TestAWorkerWithARefusedKeyLeaves(t *testing.T) {
	t.Parallel()
	s := newService(t, 10*time.Millisecond)
	b := newBox(t, s)
	b.write("many.csv", rows(60))
	b.write("many.yaml", many)
	revoked := *b
	revoked.env = append(revoked.env, "EVALRUN_API_KEY="+badKey)
	coordinator := b.serve("many.yaml", "--out", "run")
	for _, when := range []string{"before the first call", "during the run"} {
		worker := revoked.work(coordinator.url, "run", "-j", "4")
		if got := worker.end(); got != 4 || !strings.Contains(worker.err.String(), "refuses the key of a worker: 401") {
			t.Errorf("%s: exit %d, want 4 and why:\n%s", when, got, worker.err.String())
		}
		if when == "before the first call" {
			b.work(coordinator.url, "run", "-j", "1")
			s.begun(5)
		}
	}
	if got := coordinator.end(); got != 0 || !strings.Contains(coordinator.err.String(), "a worker gets no more calls: the service refuses") {
		t.Errorf("exit %d, want 0 and that workers left:\n%s", got, coordinator.err.String())
	}
	for id, outcome := range b.judged("run") {
		if outcome == "error" {
			t.Errorf("the trial %s is an error, want none", id)
		}
	}
	if n := s.with(badKey); n > 5 {
		t.Errorf("%d requests with the refused key, want at most 5: one, and those of four places", n)
	}
}

// A call that failed at a worker is repeated at another one, if there is one.
func TestARetryIsMadeByAnotherWorker(t *testing.T) {
	t.Parallel()
	s := newService(t, 10*time.Millisecond)
	b := newBox(t, s)
	b.write("many.csv", rows(30))
	b.write("many.yaml", many)
	broken := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodGet {
			s.ServeHTTP(w, r)
			return
		}
		http.Error(w, "a broken gateway", http.StatusBadGateway)
	}))
	t.Cleanup(broken.Close)
	coordinator := b.serve("many.yaml", "--out", "run", "--attempts", "2")
	b.work(coordinator.url, "run", "-j", "4", "--base-url", broken.URL)
	b.work(coordinator.url, "run", "-j", "1")
	if got := coordinator.end(); got != 0 {
		t.Errorf("exit %d, want 0:\n%s%s", got, coordinator.out.String(), coordinator.err.String())
	}
	if n := s.count(); n != 30 {
		t.Errorf("%d calls of the service that answers, want 30", n)
	}
}

// A worker that comes after the end of a run leaves, and so does one that was stopped when it ended.
func TestAWorkerThatComesAfterTheEndLeaves(t *testing.T) {
	t.Parallel()
	s := newService(t, 5*time.Millisecond)
	b := newBox(t, s)
	b.write("many.csv", rows(60))
	b.write("many.yaml", many)
	coordinator := b.serve("many.yaml", "--out", "run")
	stopped := b.work(coordinator.url, "run", "-j", "1")
	s.begun(5)
	if err := stopped.Process.Signal(syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	b.work(coordinator.url, "run", "-j", "4")
	if got := coordinator.end(); got != 0 {
		t.Fatalf("exit %d, want 0:\n%s", got, coordinator.err.String())
	}
	if err := stopped.Process.Signal(syscall.SIGCONT); err != nil {
		t.Fatal(err)
	}
	for what, worker := range map[string]*process{"one that was stopped": stopped, "one that comes late": b.work(coordinator.url, "run")} {
		if got := worker.end(); got != 0 {
			t.Errorf("%s: exit %d, want 0:\n%s", what, got, worker.err.String())
		}
	}
}

// A worker waits for a coordinator as long as --wait says.
func TestAWorkerWaitsForALimitedTime(t *testing.T) {
	t.Parallel()
	s := newService(t, 20*time.Millisecond)
	b := newBox(t, s)
	b.write("many.csv", rows(100))
	b.write("many.yaml", many)
	coordinator := b.serve("many.yaml", "--out", "run")
	worker := b.work(coordinator.url, "run", "--wait", "1s")
	s.begun(5)
	coordinator.kill()
	for what, p := range map[string]*process{"during a run": worker, "from the beginning": b.work(coordinator.url, "run", "--wait", "1s")} {
		if got := p.end(); got != 4 || !strings.Contains(p.err.String(), "no coordinator answered at "+coordinator.url+" for 1s") {
			t.Errorf("%s: exit %d, want 4 and how long it waited:\n%s", what, got, p.err.String())
		}
	}
}

// A coordinator that was stopped for 25 seconds takes no worker for dead, and gets the answers that came meanwhile.
func TestACoordinatorThatSleptLosesNoWorker(t *testing.T) {
	t.Parallel()
	s := newService(t, 200*time.Millisecond)
	b := newBox(t, s)
	b.write("many.csv", rows(100))
	b.write("many.yaml", many)
	coordinator := b.serve("many.yaml", "--out", "run")
	first, second := b.work(coordinator.url, "run", "-j", "4"), b.work(coordinator.url, "run", "-j", "4")
	s.begun(20)
	if err := coordinator.Process.Signal(syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	over(coordinator, 25*time.Second)
	if err := coordinator.Process.Signal(syscall.SIGCONT); err != nil {
		t.Fatal(err)
	}
	if got := coordinator.end(); got != 0 || strings.Contains(coordinator.err.String(), "gone") {
		t.Errorf("exit %d, want 0 and no worker gone:\n%s", got, coordinator.err.String())
	}
	didWork(t, first, second)
	if all, repeated := s.counted(); all != 100 || repeated != 0 {
		t.Errorf("%d calls, %d of them again; want 100 and none", all, repeated)
	}
}

// The file of credentials says that the run is complete, until a coordinator serves it again.
func TestCredentialsAreMarkedAtTheEnd(t *testing.T) {
	t.Parallel()
	s := newService(t, 5*time.Millisecond)
	b := newBox(t, s)
	b.write("many.csv", rows(40))
	b.write("many.yaml", many)
	marked := func() bool {
		text, err := os.ReadFile(filepath.Join(b.dir, "run", "fleet.creds"))
		if err != nil {
			t.Fatal(err)
		}
		return strings.Contains(string(text), `"ended": true`)
	}
	coordinator := b.serve("many.yaml", "--out", "run", "--budget-calls", "20")
	worker := b.work(coordinator.url, "run")
	if got := coordinator.end(); got != 4 || marked() {
		t.Errorf("exit %d, marked %v, want 4 and no mark: the budget is spent, and the run can be continued", got, marked())
	}
	if want := "to continue: evalrun-fleet serve --resume run"; !strings.Contains(coordinator.err.String(), want) {
		t.Errorf("got no %q, want it:\n%s", want, coordinator.err.String())
	}
	coordinator = b.serve("--resume", "run", "--budget-calls", "100")
	if got := coordinator.end(); got != 0 || !marked() {
		t.Errorf("exit %d, marked %v, want 0 and the mark:\n%s", got, marked(), coordinator.err.String())
	}
	if got := worker.end(); got != 0 {
		t.Errorf("the worker: exit %d, want 0:\n%s", got, worker.err.String())
	}
}
