// Package fleet runs suites on several machines. A Coordinator plans, writes results and judges, as a
// single process does. Workers make the calls, with their own keys. They communicate over NATS: a call is a
// request, and its answer is the reply. So the run file is the only state that could be lost.
package fleet

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats.go"
)

// How the coordinator notices that a worker is gone.
const (
	probeEvery = 300 * time.Millisecond
	probeTime  = 2 * time.Second
	silentFor  = 6 * time.Second // without an answer to a probe
	absentFor  = time.Second     // while probes have no subscriber
)

// Coordinator is an eval.Executor whose attempts are made by workers. Each worker has a number of
// places. A trial keeps its place until its result is written, so a process that dies loses at most the
// calls that had a place.
type Coordinator struct {
	creds   *Creds
	conn    *nats.Conn
	version string
	hash    string // of the pack
	size    int
	shelf   *shelf
	notice  func(string)
	probes  sync.WaitGroup
	end     chan struct{} // closed when no more calls are sent

	calls    atomic.Uint64
	emulated atomic.Bool
	late     atomic.Int64 // calls whose worker went away

	mu      sync.Mutex
	workers map[string]*member
	loading map[string]bool // workers that do not get calls yet
	waiting []ticket        // callers that wait for a place, in order
	ending  bool            // start no more probes
	done    bool            // the run is complete
}

// member is a worker, as the coordinator sees it.
type member struct {
	id           string
	places, busy int
	heard        bool            // it has answered a probe
	answered     int             // calls
	failed       bool            // its last answer is an error
	useless      bool            // it can make no more calls, such as without a key that the service accepts
	granted      bool            // a ledger grants its calls, for which they may wait
	there        context.Context // done when the worker is gone
	gone         func()
	long         sync.Mutex // an answer in pieces is fetched
}

// hello is the message with which a worker joins, reports and leaves.
type hello struct {
	Worker   string `json:"worker"`
	Version  string `json:"version"`
	Protocol int    `json:"protocol"`
	Places   int    `json:"places"`
	Granted  bool   `json:"granted,omitempty"` // it has its own ledger
	Hash     string `json:"hash,omitempty"`    // of the pack that it has loaded; "" if none
	Ending   bool   `json:"ending,omitempty"`  // it finishes its calls and accepts no others
	Leaving  bool   `json:"leaving,omitempty"` // it is going away now
}

// welcome is the reply to hello.
type welcome struct {
	Refused string `json:"refused,omitempty"` // why the worker cannot join
	Done    bool   `json:"done,omitempty"`    // the run is complete
	Hash    string `json:"hash,omitempty"`    // of the pack to load
	Size    int    `json:"size,omitempty"`    // of the pack, in bytes
	Joined  bool   `json:"joined,omitempty"`  // the worker gets calls from now on
}

// newCoordinator returns a coordinator that does not admit workers yet.
func newCoordinator(creds *Creds, version string, notice func(string)) *Coordinator {
	return &Coordinator{
		creds: creds, version: version, shelf: newShelf(), notice: notice, end: make(chan struct{}), workers: map[string]*member{},
		loading: map[string]bool{},
	}
}

// begin admits workers. They load the pack first.
func (c *Coordinator) begin(conn *nats.Conn, pack []byte) error {
	c.conn = conn
	c.hash = hashOf(pack)
	c.size = len(pack)
	c.shelf.keep("pack", pack)
	for name, handle := range map[string]nats.MsgHandler{"hello": c.hello, "piece": c.shelf.serve} {
		if _, err := conn.Subscribe(c.creds.up(name), handle); err != nil {
			return err
		}
	}
	return conn.Flush()
}

// hello handles the message of that name.
func (c *Coordinator) hello(m *nats.Msg) {
	var h hello
	if err := json.Unmarshal(m.Data, &h); err != nil || !isID(h.Worker) {
		return // not a message of evalrun
	}
	text, err := encode(c.admit(&h))
	if err == nil {
		_ = m.Respond(text) // a worker without a reply says hello again
	}
}

func (c *Coordinator) admit(h *hello) *welcome {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case h.Leaving:
		delete(c.loading, h.Worker)
		c.part(c.workers[h.Worker])
		return &welcome{}
	case h.Ending:
		if w := c.workers[h.Worker]; w != nil {
			w.places = 0
		}
		return &welcome{}
	case c.done:
		delete(c.loading, h.Worker)
		return &welcome{Done: true}
	case h.Protocol != Protocol || h.Version != c.version:
		return &welcome{Refused: fmt.Sprintf(
			"the coordinator is evalrun-fleet %s, and this worker is %s: install the same version on both", c.version, h.Version,
		)}
	case h.Hash != "" && h.Hash != c.hash:
		return &welcome{Refused: "the coordinator runs other suites now than this worker has loaded: start the worker again"}
	case h.Hash == "":
		if len(c.loading) < maxWorkers {
			c.loading[h.Worker] = true
		}
		return &welcome{Hash: c.hash, Size: c.size}
	}
	delete(c.loading, h.Worker)
	if c.workers[h.Worker] != nil {
		return &welcome{Joined: true}
	}
	if !c.admits() {
		return &welcome{Refused: fmt.Sprintf("the coordinator has %d workers already: start fewer with more places", maxWorkers)}
	}
	w := &member{id: h.Worker, places: min(max(1, h.Places), MaxPlaces), granted: h.Granted}
	w.there, w.gone = context.WithCancel(context.Background())
	c.workers[h.Worker] = w
	if !c.ending {
		c.probes.Go(func() { c.probe(w) })
	}
	return &welcome{Joined: true}
}

// admits makes room for one more worker: silent workers, without an answer to a probe, give way. The caller
// holds c.mu.
func (c *Coordinator) admits() bool {
	if len(c.workers) < maxWorkers {
		return true
	}
	for _, w := range c.workers {
		if !w.heard {
			c.drop(w)
			return true
		}
	}
	return false
}

// probe watches a worker until it is gone. The worker gets calls from its first answer on. The time during which this
// process was stopped does not count.
func (c *Coordinator) probe(w *member) {
	var silent, absent time.Duration
	for alive(w) {
		begun := time.Now()
		waiting, cancel := context.WithTimeout(w.there, probeTime)
		_, err := c.conn.RequestWithContext(waiting, c.creds.down(w.id, "probe"), nil)
		cancel()
		if err == nil {
			c.heard(w)
			silent, absent = 0, 0
		}
		select {
		case <-w.there.Done():
		case <-c.end:
			return
		case <-time.After(probeEvery):
		}
		switch passed := min(time.Since(begun), probeTime+probeEvery); {
		case errors.Is(err, nats.ErrNoResponders):
			silent += passed
			absent += min(passed, 2*probeEvery)
		case err != nil:
			silent, absent = silent+passed, 0
		}
		if silent > silentFor || absent > absentFor {
			c.lose(w)
		}
	}
}

// heard lets a worker have calls.
func (c *Coordinator) heard(w *member) {
	c.mu.Lock()
	defer c.mu.Unlock()
	w.heard = true
	c.serve()
}

// lose removes a worker that does not answer.
func (c *Coordinator) lose(w *member) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.drop(w)
}

// drop removes a worker, whose calls are lost. The caller holds c.mu.
func (c *Coordinator) drop(w *member) {
	if w != nil && c.workers[w.id] == w {
		delete(c.workers, w.id)
		w.gone()
	}
}

// part removes a worker that has answered all its calls. It waits, because the last answers travel
// separately and may arrive after the farewell. The caller holds c.mu.
func (c *Coordinator) part(w *member) {
	if w == nil {
		return
	}
	w.places = 0
	time.AfterFunc(absentFor, func() { c.lose(w) })
}

// Time for workers to learn that the run is complete.
const (
	farewellTime = 3 * time.Second
	lingerTime   = 3 * time.Second // for workers that reconnect to a restarted coordinator
)

// finish dismisses the workers if the run is complete. Otherwise they wait for another coordinator.
func (c *Coordinator) finish(complete, linger bool) {
	if c.conn == nil {
		return
	}
	c.mu.Lock()
	c.ending = true
	c.mu.Unlock()
	close(c.end)
	c.probes.Wait()
	if complete {
		c.farewell()
		for until := time.Now().Add(lingerTime); time.Now().Before(until) && (linger || c.expects()); {
			time.Sleep(lingerTime / 30)
		}
	}
	c.conn.Close()
}

// expects reports whether workers are still loading. They say hello when they have finished.
func (c *Coordinator) expects() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.loading) > 0
}

// farewell sends all workers the message that the run is complete.
func (c *Coordinator) farewell() {
	c.mu.Lock()
	c.done = true
	ids := slices.Collect(maps.Keys(c.workers))
	c.mu.Unlock()
	var heard sync.WaitGroup
	for _, id := range ids {
		heard.Go(func() { _, _ = c.conn.Request(c.creds.down(id, "done"), nil, farewellTime) })
	}
	heard.Wait()
}
