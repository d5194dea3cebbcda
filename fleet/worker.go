package fleet

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/evalrun/evalrun"
	"github.com/evalrun/evalrun/diag"
	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/files"
	"github.com/evalrun/evalrun/internal/flow"
	"github.com/evalrun/evalrun/runner"
)

// Worker makes calls for a coordinator, with the keys and addresses of its own machine.
type Worker struct {
	creds   *Creds
	conn    *nats.Conn
	config  *WorkerConfig
	id      string
	shelf   *shelf
	hash    string // of the loaded pack
	granted bool   // a ledger grants the calls
	execute eval.Executor
	open    sync.WaitGroup     // calls in progress
	hears   *nats.Subscription // for new calls; nil before the first

	heard atomic.Pointer[time.Time] // when the coordinator was last heard; at first, when the worker began
	away  bool                      // the coordinator
	said  string                    // the last notice about it
	done  chan struct{}
	over  sync.Once
	lost  chan string // why no more calls can be made here
	out   atomic.Bool // the service refuses the key

	mu    sync.Mutex
	calls map[uint64]context.CancelFunc // in progress
}

// WorkerConfig configures a worker.
type WorkerConfig struct {
	Creds   *Creds
	URL     string // of the server
	Places  int    // calls at once
	Version string
	Wait    time.Duration // for a coordinator; 0 for ten minutes
	// Options are the options of this machine: addresses, and what suites may do. The coordinator adds
	// those of the run.
	Options evalrun.Options
	Notice  func(string)
	// Leave makes the worker finish its calls and leave.
	Leave <-chan os.Signal
}

// Times of a worker.
const (
	helloEvery  = 500 * time.Millisecond
	helloTime   = 3 * time.Second
	patience    = 3 * time.Second  // without a probe, before a worker says hello again
	drainTime   = 30 * time.Second // for calls in progress, when the worker leaves
	defaultWait = 10 * time.Minute // for a coordinator
	reconnected = 500 * time.Millisecond
)

// errDone ends a worker after its run is complete.
var errDone = errors.New("the run is complete")

// Work works until the run is complete, and then returns nil, or until the worker must leave. It waits
// while the coordinator is away.
func Work(ctx context.Context, cfg WorkerConfig) error {
	w := &Worker{
		creds:  cfg.Creds,
		config: &cfg,
		id:     newID(),
		shelf:  newShelf(),
		done:   make(chan struct{}),
		lost:   make(chan string, 2), // the ledger and the key
		calls:  map[uint64]context.CancelFunc{},
		away:   true,
	}
	w.hear()
	cfg.Wait = cmp.Or(cfg.Wait, defaultWait)
	if err := w.without(); err != nil {
		return worked(err)
	}
	if err := w.connect(ctx); err != nil {
		return worked(err)
	}
	defer w.conn.Close()
	dir, remove, err := files.Scratch()
	if err != nil {
		return eval.WithCode(eval.CodeIncomplete, err)
	}
	defer remove()
	return worked(w.work(ctx, dir))
}

// worked is nil for a worker whose run is complete.
func worked(err error) error {
	if errors.Is(err, errDone) {
		return nil
	}
	return err
}

// work loads the pack and makes calls until the run is complete.
func (w *Worker) work(ctx context.Context, dir string) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	for {
		if w.away || time.Since(*w.heard.Load()) > patience {
			if err := w.meet(ctx, dir); err != nil {
				return err
			}
		}
		select {
		case <-w.done:
			return nil
		case sig := <-w.config.Leave:
			return w.leave(eval.WithCode(eval.SignalCode(sig.String()), errors.New("interrupted")), cancel)
		case reason := <-w.lost:
			return w.leave(eval.Incomplete("%s: other workers have to make the calls", reason), cancel)
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(helloEvery):
		}
	}
}

// meet joins the coordinator, if there is one.
func (w *Worker) meet(ctx context.Context, dir string) error {
	err := w.join(ctx, dir)
	switch {
	case errors.Is(err, errAway):
		w.away = true
		w.say("waiting for the coordinator")
		return w.without()
	case err != nil:
		return err
	}
	w.away = false
	w.hear()
	w.say("at work, " + diag.Count(w.config.Places, "call") + " at once")
	return nil
}

// say prints a notice about the coordinator, unless it was the last one.
func (w *Worker) say(text string) {
	if text != w.said {
		w.said = text
		w.config.Notice(text)
	}
}

// hear notes that the coordinator has answered.
func (w *Worker) hear() { w.heard.Store(new(time.Now())) }

// errAway means that no coordinator answers.
var errAway = errors.New("the coordinator is away")

// join says hello until the coordinator admits the worker, and loads the pack.
func (w *Worker) join(ctx context.Context, dir string) error {
	for {
		answer, err := w.hello(hello{
			Worker: w.id, Version: w.config.Version, Protocol: Protocol, Places: w.config.Places, Hash: w.hash, Granted: w.granted,
		})
		switch {
		case err != nil:
			return errAway
		case answer.Done:
			return errDone
		case answer.Refused != "":
			return eval.BadInput("%s", answer.Refused)
		case answer.Joined:
			return nil
		case w.hash != "" || answer.Hash == "":
			return errAway // a reply to an earlier hello
		}
		if err := w.load(ctx, dir, answer); err != nil {
			if !errors.Is(err, errAway) {
				_, _ = w.hello(hello{Worker: w.id, Leaving: true}) // the coordinator need not wait for it
			}
			return err
		}
	}
}

func (w *Worker) hello(h hello) (*welcome, error) {
	text, err := encode(h)
	if err != nil {
		return nil, err
	}
	m, err := w.conn.Request(w.creds.up("hello"), text, helloTime)
	if err != nil {
		return nil, err
	}
	out := &welcome{}
	return out, json.Unmarshal(m.Data, out)
}

// load fetches the suites and connects to their services.
func (w *Worker) load(ctx context.Context, dir string, to *welcome) error {
	pack, err := fetch(ctx, w.conn, w.creds.up("piece"), parcel{Name: "pack", Size: min(to.Size, maxPack)})
	if err != nil {
		return errAway
	}
	if hashOf(pack) != to.Hash {
		return eval.BadInput("the suites from the coordinator are not the announced ones: their hash is another")
	}
	h, err := unpackTo(dir, pack)
	if err != nil {
		return eval.WithCode(eval.CodeIncomplete, err)
	}
	o := w.config.Options
	if err := h.apply(&o, dir); err != nil {
		return err
	}
	w.granted = hasLedger(&o)
	o.Ledger.Lost = func(reason string) { w.lost <- reason } // buffered, and called once
	job, err := evalrun.Load(ctx, o)
	if err != nil {
		return err
	}
	execute, _, err := evalrun.NewExecutor(job, filepath.Join(dir, "work"))
	if err != nil {
		return err
	}
	w.execute, w.hash = execute, to.Hash
	return w.listen(ctx)
}

// apply adds the settings of a run to the options of a worker.
func (h *packHead) apply(o *evalrun.Options, dir string) error {
	for i, name := range h.Suites {
		if !filepath.IsLocal(filepath.FromSlash(name)) {
			return eval.BadInput("the archive of the coordinator has a suite outside of its folder: %q", name)
		}
		o.Suites = append(o.Suites, filepath.Join(dir, strconv.Itoa(i), filepath.FromSlash(name)))
	}
	o.Root, o.AllowFile = dir, []string{"*"} // the coordinator has packed what it allows
	o.Vars = h.Vars
	o.Seed = h.Seed
	o.Repeats, o.MaxTrials = h.Repeats, h.Trials
	o.NoHistory, o.Baseline = true, eval.NoBaseline{} // the coordinator compares
	if h.Ledger {                                     // the coordinator gets the grants
		o.Ledger = evalrun.LedgerOptions{}
		o.Getenv = without(ledgerVariable, o.Getenv)
	}
	if h.Programs {
		o.ProgramsFrom = filepath.Join(dir, programsDir)
	}
	if h.Emulator != "" {
		script := h.Emulator
		if script != eval.DemoScript {
			script = filepath.Join(dir, scriptName)
		}
		if o.Emulator != "" && o.Emulator != script {
			return eval.BadInput("the run has a script for the emulator: leave out --emulator here")
		}
		o.Emulator = script
	}
	if h.Project && !o.Untrusted {
		o.ProjectFile = filepath.Join(dir, filepath.FromSlash(projectName))
	}
	return nil
}

// without hides one variable of an environment.
func without(variable string, getenv func(string) string) func(string) string {
	return func(name string) string {
		if name == variable {
			return ""
		}
		return getenv(name)
	}
}

// listen subscribes to the coordinator's messages for this worker.
func (w *Worker) listen(ctx context.Context) error {
	for name, handle := range map[string]nats.MsgHandler{
		"call": func(m *nats.Msg) { w.begin(ctx, m) }, "piece": w.shelf.serve, "abandon": w.abandon,
		"probe": func(m *nats.Msg) {
			w.hear()
			_ = m.Respond(nil)
		},
		"done": func(m *nats.Msg) {
			_ = m.Respond(nil)
			_ = w.conn.Flush()
			w.over.Do(func() { close(w.done) })
		},
	} {
		s, err := w.conn.Subscribe(w.creds.down(w.id, name), handle)
		if err != nil {
			return eval.WithCode(eval.CodeIncomplete, err)
		}
		if name == "call" {
			w.hears = s
		}
	}
	if w.conn.Flush() != nil {
		return errAway // the NATS client subscribes again after it has reconnected
	}
	return nil
}

// begin makes a call in the background.
func (w *Worker) begin(ctx context.Context, m *nats.Msg) {
	w.open.Go(func() {
		a := w.call(ctx, m.Data)
		text, err := encode(a)
		if err != nil {
			text, _ = encode(answered(nil, eval.Timing{}, err))
		}
		message, forget := w.shelf.pack(text)
		time.AfterFunc(time.Minute, forget)
		_ = m.Respond(message) // without a reply, the coordinator counts the call as spent
	})
}

// refused leaves the calls to other workers once the service refuses the key of this one.
func (w *Worker) refused(c *call, a *wireAnswer) {
	if a.Error == nil || a.Error.Kind != eval.KindAuth || a.Error.Retry == eval.RetryWithLogin || c.Target != "" {
		return
	}
	a.Error.Origin = eval.FromProcess
	a.Error.Message = runner.Served(c.Service) + " refuses the key of a worker: " + a.Error.Error.Error()
	if !w.out.Swap(true) {
		w.lost <- a.Error.Message // buffered, and sent once
	}
}

// call decodes a message and makes the attempt.
func (w *Worker) call(ctx context.Context, message []byte) *wireAnswer {
	text, err := unpack(ctx, w.conn, w.creds.up("piece"), message)
	var c call
	if err == nil {
		err = json.Unmarshal(text, &c)
	}
	if err != nil {
		return answered(nil, eval.Timing{}, &eval.Error{Kind: eval.KindTransport, Unsent: true, Message: err.Error()})
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	ctx = flow.Allow(ctx, c.Timeout)
	w.mu.Lock()
	w.calls[c.ID] = cancel
	w.mu.Unlock()
	defer func() {
		w.mu.Lock()
		delete(w.calls, c.ID)
		w.mu.Unlock()
	}()
	if w.out.Load() {
		return answered(nil, eval.Timing{}, &eval.Error{
			Kind: eval.KindTransport, Origin: eval.FromProcess, Unsent: true, Message: "the service refuses the key of this worker",
		})
	}
	a := w.made(ctx, &c)
	w.refused(&c, a)
	a.Emulated = w.execute.Emulated()
	return a
}

// made makes an attempt and returns its result. A panic fails the call, but not the worker.
func (w *Worker) made(ctx context.Context, c *call) (out *wireAnswer) {
	defer func() {
		if p := recover(); p != nil {
			out = answered(nil, eval.Timing{}, &eval.Error{
				Kind:    eval.KindTransport,
				Retry:   eval.RetryNever,
				Message: fmt.Sprintf("this is a bug in evalrun, not in what you did: %v", p),
			})
		}
	}()
	switch c.Method {
	case methodGenerate, methodCount:
		one, err := c.of()
		if err != nil {
			return answered(nil, eval.Timing{}, err)
		}
		if c.Method == methodGenerate {
			resp, err := w.execute.Generate(ctx, one)
			return answered(resp, one.Timing, err)
		}
		n, err := w.execute.CountTokens(ctx, one)
		return &wireAnswer{Tokens: n, Timing: one.Timing, Error: failed(err)}
	case methodEmbed:
		e := &eval.EmbedCall{Model: c.Model, APIVersion: c.APIVersion, Service: c.Service, Texts: c.Texts}
		vectors, err := w.execute.Embed(ctx, e)
		return &wireAnswer{Vectors: vectors, Timing: e.Timing, Error: failed(err)}
	case methodModel:
		m, err := w.execute.Model(ctx, c.Service, c.APIVersion, c.Model)
		return &wireAnswer{Model: m, Error: failed(err)}
	case methodModels:
		all, err := w.execute.Models(ctx, c.Service, c.APIVersion)
		return &wireAnswer{Models: all, Error: failed(err)}
	}
	return answered(nil, eval.Timing{}, eval.Errorf(eval.KindTransport, "a worker knows no method %q", c.Method))
}

// abandon cancels a call that the coordinator no longer needs.
func (w *Worker) abandon(m *nats.Msg) {
	var c call
	if json.Unmarshal(m.Data, &c) != nil {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if cancel := w.calls[c.ID]; cancel != nil {
		cancel()
	}
}
