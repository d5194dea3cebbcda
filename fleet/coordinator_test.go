package fleet

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/testing/expect"
)

// newOffline is a coordinator without a server, whose pack is "pack".
func newOffline(t *testing.T) *Coordinator {
	t.Helper()
	c := newCoordinator(&Creds{Fleet: "f"}, "v1", func(string) {})
	c.hash, c.size = "pack", 12
	c.ending = true // without a server there are no probes
	t.Cleanup(func() { close(c.end) })
	return c
}

// joined adds a worker that has answered a probe.
func joined(c *Coordinator, id string, places int) *member {
	c.admit(loaded(id, places))
	c.heard(c.workers[id])
	return c.workers[id]
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
	joined(c, "small", 1)
	joined(c, "large", 3)
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
		joined(c, "w", places)
		ctx, leave := c.Enter(t.Context(), nil)
		expect.Same(t, fmt.Sprintf("worker that says %d places", places), at(ctx), "w")
		leave()
	}
}

func TestAFreedPlaceGoesToTheCallThatWaitedLongest(t *testing.T) {
	t.Parallel()
	c := newOffline(t)
	joined(c, "w", 1)
	_, leave := c.Enter(t.Context(), nil)
	tickets := make([]chan *member, 3)
	for i := range tickets {
		tickets[i] = make(chan *member, 1)
		c.mu.Lock()
		c.waiting = append(c.waiting, ticket{got: tickets[i]})
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
	joined(c, "one", 1)
	ctx, leave := c.Enter(t.Context(), nil)
	defer leave()
	again, inner := c.Enter(ctx, nil)
	inner()
	expect.Same(t, "worker of the second call", at(again), "one")
	expect.Same(t, "busy places", c.workers["one"].busy, 1)

	joined(c, "two", 1)
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
	joined(c, "leaving", 2)
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

// busy are the places that are taken at each worker.
func busy(c *Coordinator) map[string]int {
	out := map[string]int{}
	for id, w := range c.workers {
		out[id] = w.busy
	}
	return out
}

func TestAWorkerEarnsItsPlacesByAnswers(t *testing.T) {
	t.Parallel()
	c := newOffline(t)
	c.admit(loaded("silent", 1<<31))
	full := make(chan struct{})
	close(full)
	ctx, _ := c.Enter(t.Context(), full)
	expect.Same(t, "worker of a call before an answer to a probe", at(ctx), "")
	greedy := joined(c, "greedy", 1<<31)
	joined(c, "small", 2)
	for range 20 {
		c.Enter(t.Context(), full)
	}
	expect.Same(t, "places in use", busy(c), map[string]int{"silent": 0, "greedy": firstPlaces, "small": 2})
	expect.Same(t, "places", greedy.places, MaxPlaces)
	c.took(&seat{}, greedy, nil)
	ctx, _ = c.Enter(t.Context(), full)
	expect.Same(t, "worker after an answer", at(ctx), "greedy")
}

func TestACallThatFailedGoesToAnotherWorker(t *testing.T) {
	t.Parallel()
	synctest.Test(t, callThatFailed)
}

func callThatFailed(t *testing.T) {
	c := newOffline(t)
	broken := joined(c, "broken", 2)
	ctx, leave := c.Enter(t.Context(), nil)
	r, _ := ctx.Value(roomKey{}).(*seat)
	c.took(r, broken, &sentError{})
	ctx, _ = c.Enter(ctx, nil)
	expect.Same(t, "worker where there is no other", at(ctx), "broken")
	good := joined(c, "good", 1)
	ctx, _ = c.Enter(ctx, nil)
	expect.Same(t, "worker of a call after a good one", at(ctx), "broken")

	other, freed := c.Enter(t.Context(), nil)
	expect.Same(t, "worker of another trial", at(other), "good")
	c.took(r, broken, &sentError{})
	moved := make(chan string)
	go func() {
		ctx, _ = c.Enter(ctx, nil) // waits for the place of the other trial
		moved <- at(ctx)
	}()
	synctest.Wait()
	expect.Same(t, "places while it waits", busy(c), map[string]int{"broken": 0, "good": 1})
	freed()
	expect.Same(t, "worker after a failure", <-moved, "good")
	leave()
	expect.Same(t, "places at the end", busy(c), map[string]int{"broken": 0, "good": 0})
	c.took(r, good, &sentError{Origin: eval.FromProcess})
	expect.Same(t, "a worker that can make no calls takes them", c.takes(good), false)
}

func TestWorkersAreBounded(t *testing.T) {
	t.Parallel()
	c := newOffline(t)
	name := func(i int) string {
		return "w" + strings.Map(func(r rune) rune { return r - '0' + 'a' }, fmt.Sprint(i))
	}
	for i := range 3 * maxWorkers {
		expect.Same(t, "answer to one of too many", *c.admit(loaded(name(i), 1)), welcome{Joined: true})
	}
	expect.Same(t, "silent workers", len(c.workers), maxWorkers)
	joined(c, "honest", 1)
	for i := range 3 * maxWorkers {
		c.admit(loaded(name(i), 1))
		c.admit(&hello{Worker: name(i), Version: "v1", Protocol: Protocol})
	}
	expect.Same(t, "an honest worker is still there", c.takes(c.workers["honest"]), true)
	expect.Same(t, "loading workers", len(c.loading), maxWorkers)
	for _, w := range c.workers {
		c.heard(w)
	}
	if got := c.admit(loaded("late", 1)).Refused; !strings.Contains(got, "has 1000 workers already") {
		t.Errorf("got the answer %q, want that there are enough", got)
	}
	for id, want := range map[string]bool{
		newID(): true, "": false, "a.b": false, ">": false, "*": false, strings.Repeat("a", 13): false, "A": false,
	} {
		expect.Same(t, fmt.Sprintf("%q is an id", id), isID(id), want)
	}
}
