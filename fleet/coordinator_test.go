package fleet

import (
	"context"
	"fmt"
	"testing"

	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/expect"
)

// newOffline is a coordinator without a server, whose pack is "pack".
func newOffline(t *testing.T) *Coordinator {
	t.Helper()
	c := newCoordinator(&Creds{Fleet: "f"}, "v1")
	c.hash, c.size = "pack", 12
	t.Cleanup(func() {
		close(c.end)
		c.probes.Wait()
	})
	return c
}

func loaded(id string, places int) *hello {
	return &hello{Worker: id, Version: "v1", Protocol: Protocol, Places: places, Hash: "pack"}
}

func TestAWorkerLoadsThePackAndThenJoins(t *testing.T) {
	t.Parallel()
	c := newOffline(t)
	first := loaded("w", 2)
	first.Hash = ""
	expect.Same(t, "answer to the first hello", *c.admit(first), welcome{Hash: "pack", Size: 12})
	expect.Same(t, "loading", c.expects(), true)
	expect.Same(t, "workers", len(c.workers), 0)
	expect.Same(t, "answer to the second hello", *c.admit(loaded("w", 2)), welcome{Joined: true})
	expect.Same(t, "loading", c.expects(), false)
	expect.Same(t, "answer to a hello that is repeated", *c.admit(loaded("w", 2)), welcome{Joined: true})
	expect.Same(t, "workers", len(c.workers), 1)
}

func TestWorkersOfOtherVersionsAndPacksAreRefused(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		change func(*hello)
		want   string
	}{
		"another version": {
			func(h *hello) { h.Version = "v2" },
			"the coordinator is evalrun-fleet v1, and this worker is v2: install the same version on both",
		},
		"no version": {
			func(h *hello) { h.Version = "" },
			"the coordinator is evalrun-fleet v1, and this worker is : install the same version on both",
		},
		"a newer protocol": {
			func(h *hello) { h.Protocol++ },
			"the coordinator is evalrun-fleet v1, and this worker is v1: install the same version on both",
		},
		"a protocol of before": {
			func(h *hello) { h.Protocol = 0 },
			"the coordinator is evalrun-fleet v1, and this worker is v1: install the same version on both",
		},
		"another pack": {
			func(h *hello) { h.Hash = "other" },
			"the coordinator runs other suites now than this worker has loaded: start the worker again",
		},
	} {
		c := newOffline(t)
		h := loaded("w", 1)
		test.change(h)
		expect.Same(t, name, *c.admit(h), welcome{Refused: test.want})
		expect.Same(t, "workers after "+name, len(c.workers), 0)
	}
}

func TestACompleteRunSendsWorkersHome(t *testing.T) {
	t.Parallel()
	c := newOffline(t)
	c.done = true
	for _, h := range []*hello{loaded("w", 1), {Worker: "x", Version: "v2"}, {Worker: "y", Version: "v1", Protocol: Protocol}} {
		expect.Same(t, "answer to "+h.Worker, *c.admit(h), welcome{Done: true})
	}
	expect.Same(t, "workers", len(c.workers), 0)
}

// at is the worker at which a context has a place, "" for none.
func at(ctx context.Context) string {
	r, _ := ctx.Value(roomKey{}).(*seat)
	if w := r.worker(); w != nil {
		return w.id
	}
	return ""
}

func TestCallsGoToTheWorkerWithTheMostFreePlaces(t *testing.T) {
	t.Parallel()
	c := newOffline(t)
	c.admit(loaded("small", 1))
	c.admit(loaded("large", 3))
	got := map[string]int{}
	var order []string
	for range 4 {
		ctx, _ := c.Enter(t.Context(), nil)
		got[at(ctx)]++
		order = append(order, at(ctx))
	}
	expect.Same(t, "places", got, map[string]int{"small": 1, "large": 3})
	expect.Same(t, "first two", order[:2], []string{"large", "large"})
}

func TestAWorkerWithoutPlacesHasOne(t *testing.T) {
	t.Parallel()
	for _, places := range []int{0, -5} {
		c := newOffline(t)
		c.admit(loaded("w", places))
		ctx, leave := c.Enter(t.Context(), nil)
		expect.Same(t, fmt.Sprintf("worker that says %d places", places), at(ctx), "w")
		leave()
	}
}

func TestAFreedPlaceGoesToTheCallThatWaitedLongest(t *testing.T) {
	t.Parallel()
	c := newOffline(t)
	c.admit(loaded("w", 1))
	_, leave := c.Enter(t.Context(), nil)
	tickets := make([]chan *member, 3)
	for i := range tickets {
		tickets[i] = make(chan *member, 1)
		c.mu.Lock()
		c.waiting = append(c.waiting, tickets[i])
		c.mu.Unlock()
	}
	for i, ticket := range tickets {
		expect.Same(t, fmt.Sprint("places before the release of ", i), len(ticket), 0)
		if i == 0 {
			leave()
		} else {
			c.release(c.workers["w"])
		}
		expect.Same(t, fmt.Sprint("places after the release of ", i), len(ticket), 1)
	}
}

func TestEnteringEndsWithTheRunOrTheContext(t *testing.T) {
	t.Parallel()
	c := newOffline(t)
	stop := make(chan struct{})
	close(stop)
	ctx, leave := c.Enter(t.Context(), stop)
	expect.Same(t, "worker after a stop", at(ctx), "")
	leave()
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	ctx, leave = c.Enter(ended, nil)
	expect.Same(t, "worker of an ended context", at(ctx), "")
	leave()
	expect.Same(t, "those who wait", len(c.waiting), 0)
	_, err := c.Generate(ctx, &eval.Call{})
	e := eval.AsError(err)
	if e == nil || e.Kind != eval.KindCanceled || !e.Unsent {
		t.Errorf("a call without a place: got %+v, want one that was canceled and not sent", e)
	}
}

func TestATrialKeepsItsPlaceUntilItsWorkerIsGone(t *testing.T) {
	t.Parallel()
	c := newOffline(t)
	c.admit(loaded("one", 1))
	ctx, leave := c.Enter(t.Context(), nil)
	defer leave()
	again, inner := c.Enter(ctx, nil)
	inner()
	expect.Same(t, "worker of the second call", at(again), "one")
	expect.Same(t, "busy places", c.workers["one"].busy, 1)

	c.admit(loaded("two", 1))
	c.mu.Lock()
	gone := c.workers["one"]
	c.drop(gone)
	c.mu.Unlock()
	_, err := c.Generate(ctx, &eval.Call{})
	e := eval.AsError(err)
	if e == nil || e.Origin != eval.FromProcess || !e.Unsent {
		t.Errorf("a call at a worker that is gone: got %+v, want one that is lost and was not sent", e)
	}
	again, _ = c.Enter(ctx, nil)
	expect.Same(t, "worker of the third call", at(again), "two")
}

func TestAWorkerThatEndsKeepsItsCallsAndGetsNoOthers(t *testing.T) {
	t.Parallel()
	c := newOffline(t)
	c.admit(loaded("leaving", 2))
	ctx, leave := c.Enter(t.Context(), nil)
	expect.Same(t, "answer", *c.admit(&hello{Worker: "leaving", Ending: true}), welcome{})
	expect.Same(t, "worker of the call", at(ctx), "leaving")
	expect.Same(t, "worker is there", alive(c.workers["leaving"]), true)
	leave()
	stop := make(chan struct{})
	close(stop)
	ctx, _ = c.Enter(t.Context(), stop)
	expect.Same(t, "worker of the next call", at(ctx), "")
	expect.Same(t, "answer to one that is not known", *c.admit(&hello{Worker: "stranger", Ending: true}), welcome{})
}
