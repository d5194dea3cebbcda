package main

import (
	"testing"
	"time"

	"github.com/evalrun/evalrun/diag"
	"github.com/evalrun/evalrun/internal/ledger"
)

// startLedger serves limits for all who take part.
func startLedger(t *testing.T, limits string) *ledger.Server {
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
	t.Cleanup(s.Close)
	return s
}

// A ledger grants each call once: to the worker, whose key the account is about, or to the coordinator where that has one.
func TestLedgerOfAFleet(t *testing.T) {
	t.Parallel()
	for name, one := range map[string]struct{ serve, work bool }{"the worker's": {work: true}, "the coordinator's": {serve: true}, "both": {true, true}} {
		s := newService(t, time.Millisecond)
		b := newBox(t, s)
		b.write("many.csv", rows(60))
		b.write("many.yaml", many)
		l := startLedger(t, `{service: "*", model: "svc-*", requestsPerMinute: 60000, concurrency: 3, budget: {calls: 60}}`)
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
			t.Fatalf("%s: exit %d\n%s%s%s", name, got, coordinator.out.String(), coordinator.err.String(), worker.err.String())
		}
		granted, settled := 0, 0
		for _, balance := range l.Balances() {
			granted, settled = granted+balance.Granted.Calls, settled+balance.Settled.Calls
		}
		if granted != 60 || settled != 60 || s.count() != 60 {
			t.Errorf("%s: %d calls granted, %d settled and %d made, want 60", name, granted, settled, s.count())
		}
		if s.most > 3 {
			t.Errorf("%s: %d calls at once, and the ledger allows 3", name, s.most)
		}
	}
}
