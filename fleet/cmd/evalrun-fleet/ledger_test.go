package main

import (
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/evalrun/evalrun/diag"
	"github.com/evalrun/evalrun/internal/ledger"
)

// startLedger serves limits for all who take part, until it is stopped or the test ends.
func startLedger(t *testing.T, limits string) (*ledger.Server, func()) {
	t.Helper()
	var diags diag.List
	all := ledger.ReadLimits("limits.yaml", []byte("accounts: ["+limits+"]\n"), &diags)
	if diags.HasErrors() {
		t.Fatal(diags.Err())
	}
	s, err := ledger.Start(ledger.Config{Listen: "127.0.0.1:0", Limits: all, State: t.TempDir(), Notice: func(string) {}})
	if err != nil {
		t.Fatal(err)
	}
	stop := sync.OnceFunc(s.Close)
	t.Cleanup(stop)
	return s, stop
}

// A ledger grants each call once: to the worker, whose key the account is about, or to the coordinator where that has one.
func TestTheLedgerGrantsEachCallOnce(t *testing.T) {
	t.Parallel()
	for name, one := range map[string]struct{ serve, work bool }{
		"the worker's": {work: true}, "the coordinator's": {serve: true}, "both": {true, true},
	} {
		s := newService(t, time.Millisecond)
		b := newBox(t, s)
		b.write("many.csv", rows(60))
		b.write("many.yaml", many)
		l, _ := startLedger(t, `{service: "*", model: "svc-*", requestsPerMinute: 60000, concurrency: 3, budget: {calls: 60}}`)
		serve, work := []string{"many.yaml", "--out", "run"}, []string{"-j", "8"}
		if one.serve {
			serve = append(serve, "--ledger", l.URL)
		}
		if one.work {
			work = append(work, "--ledger", l.URL)
		}
		coordinator := b.serve(serve...)
		worker := b.work(coordinator.url, "run", work...)
		if got := coordinator.end(); got != 0 {
			t.Fatalf("%s: exit %d, want 0\n%s%s%s", name, got, coordinator.out.String(), coordinator.err.String(), worker.err.String())
		}
		granted, settled := 0, 0
		for _, balance := range l.Balances() {
			granted, settled = granted+balance.Granted.Calls, settled+balance.Settled.Calls
		}
		if granted != 60 || settled != 60 || s.count() != 60 {
			t.Errorf("%s: %d calls granted, %d settled and %d made, want 60", name, granted, settled, s.count())
		}
		if s.most > 3 {
			t.Errorf("%s: %d calls at once, want at most 3, which the ledger allows", name, s.most)
		}
	}
}

// A worker whose ledger is away for too long sends nothing and leaves. Others do its calls, and no trial is an error for it.
func TestAWorkerLeavesWhenItsLedgerIsAway(t *testing.T) {
	t.Parallel()
	s := newService(t, 20*time.Millisecond)
	b := newBox(t, s)
	b.write("many.csv", rows(200))
	b.write("many.yaml", many)
	l, stop := startLedger(t, `{service: "*", model: "svc-*", requestsPerMinute: 60000}`)
	coordinator := b.serve("many.yaml", "--out", "run")
	worker := b.work(coordinator.url, "run", "-j", "4", "--ledger", l.URL, "--ledger-wait", "1s")
	s.begun(20)
	stop()
	if got := worker.end(); got != 4 || !strings.Contains(worker.err.String(), "did not answer for 1s") {
		t.Errorf("the worker: exit %d, want 4:\n%s", got, worker.err.String())
	}
	before := s.count()
	other := b.work(coordinator.url, "run", "-j", "4")
	if got := coordinator.end(); got != 0 {
		t.Errorf("exit %d, want 0:\n%s%s", got, coordinator.out.String(), coordinator.err.String())
	}
	if got := other.end(); got != 0 {
		t.Errorf("the other worker: exit %d, want 0:\n%s", got, other.err.String())
	}
	if before == 200 || s.count() != 200 {
		t.Errorf("%d calls before and %d in all, want less than 200 and 200", before, s.count())
	}
	for id, outcome := range b.judged("run") {
		if outcome == "error" {
			t.Errorf("the trial %s is an error, want none", id)
		}
	}
}

// A worker whose ledger does not know the account leaves too.
func TestAWorkerWithoutALedgerAccountLeaves(t *testing.T) {
	t.Parallel()
	s := newService(t, time.Millisecond)
	b := newBox(t, s)
	b.write("many.csv", rows(10))
	b.write("many.yaml", many)
	l, _ := startLedger(t, `{service: "*", model: "another"}`)
	coordinator := b.serve("many.yaml", "--out", "run")
	worker := b.work(coordinator.url, "run", "--ledger", l.URL)
	if got := worker.end(); got != 4 || !strings.Contains(worker.err.String(), "svc-pro") {
		t.Errorf("the worker: exit %d, want 4 and the account:\n%s", got, worker.err.String())
	}
	if n := s.count(); n != 0 {
		t.Errorf("%d calls were sent, want none", n)
	}
	b.work(coordinator.url, "run")
	if got := coordinator.end(); got != 0 {
		t.Errorf("exit %d, want 0:\n%s%s", got, coordinator.out.String(), coordinator.err.String())
	}
}
