package fleet

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/flow"
	"github.com/evalrun/evalrun/internal/wirejson"
)

// Generate lets a worker call a model or an application.
func (c *Coordinator) Generate(ctx context.Context, call *eval.Call) (*eval.Response, error) {
	a, err := c.attempt(ctx, methodGenerate, call)
	if err != nil {
		return nil, err
	}
	return a.response(), a.Error.err()
}

// CountTokens lets a worker count the tokens of a prompt.
func (c *Coordinator) CountTokens(ctx context.Context, call *eval.Call) (int, error) {
	a, err := c.attempt(ctx, methodCount, call)
	if err != nil {
		return 0, err
	}
	return a.Tokens, a.Error.err()
}

// attempt lets a worker make an attempt of a call.
func (c *Coordinator) attempt(ctx context.Context, method string, call *eval.Call) (*wireAnswer, error) {
	m, err := newCall(method, call)
	if err != nil {
		return nil, eval.AsError(err)
	}
	a, err := c.send(ctx, m)
	if err == nil {
		call.Timing.LatencyMs, call.Timing.StreamTiming = a.Timing.LatencyMs, a.Timing.StreamTiming
		call.Timing.Integrity, call.Timing.Limit = a.Timing.Integrity, a.Timing.Limit
	}
	return a, err
}

// Embed lets a worker embed texts.
func (c *Coordinator) Embed(ctx context.Context, e *eval.EmbedCall) ([][]float64, error) {
	a, err := c.send(ctx, &call{
		Method: methodEmbed, Service: e.Service, Model: e.Model, APIVersion: e.APIVersion, Texts: e.Texts,
	})
	if err != nil {
		return nil, err
	}
	e.Timing.LatencyMs = a.Timing.LatencyMs
	return a.Vectors, a.Error.err()
}

// Model lets a worker request the metadata of a model.
func (c *Coordinator) Model(ctx context.Context, service, apiVersion, id string) (*eval.Model, error) {
	a, err := c.send(ctx, &call{Method: methodModel, Service: service, APIVersion: apiVersion, Model: id})
	if err != nil {
		return nil, err
	}
	return a.Model, a.Error.err()
}

// Models lets a worker list the models of a service.
func (c *Coordinator) Models(ctx context.Context, service, apiVersion string) ([]eval.Model, error) {
	a, err := c.send(ctx, &call{Method: methodModels, Service: service, APIVersion: apiVersion})
	if err != nil {
		return nil, err
	}
	return a.Models, a.Error.err()
}

// Emulated reports whether an answer came from an emulator.
func (c *Coordinator) Emulated() bool { return c.emulated.Load() }

// send sends a call to the worker of the context's place. The error is about the transport, and an
// *eval.Error.
func (c *Coordinator) send(ctx context.Context, m *call) (*wireAnswer, error) {
	r, _ := ctx.Value(roomKey{}).(*seat)
	w := r.worker()
	if w == nil {
		return nil, &eval.Error{Kind: eval.KindCanceled, Unsent: true, Message: "the run was stopped before this call"}
	}
	if !alive(w) {
		return nil, lost(true)
	}
	m.ID = c.calls.Add(1)
	m.Timeout = flow.Allowed(ctx)
	text, err := encode(m)
	if err != nil {
		return nil, eval.AsError(err)
	}
	message, forget := c.shelf.pack(text)
	defer forget()
	waiting, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	defer context.AfterFunc(w.there, func() { cancel(errGone) })()
	if m.Timeout > 0 {
		defer time.AfterFunc(m.Timeout+w.patience(), func() { c.lose(w) }).Stop()
	}
	r.failed.Store(true) // until there is a good answer
	reply, err := c.conn.RequestMsgWithContext(waiting, &nats.Msg{Subject: c.creds.down(w.id, "call"), Data: message})
	if err != nil {
		return nil, c.unanswered(ctx, waiting, w, m, err)
	}
	a, err := c.read(waiting, w, reply.Data)
	switch {
	case errors.Is(err, errForeign): // others make the calls of a worker that is none
		c.late.Add(1)
		c.took(r, w, &sentError{Error: eval.Error{Message: err.Error()}, Origin: eval.FromProcess})
		return nil, lost(false)
	case err != nil:
		return nil, c.unanswered(ctx, waiting, w, m, err)
	}
	if a.Emulated {
		c.emulated.Store(true)
	}
	c.took(r, w, a.Error)
	return a, nil
}

// read decodes an answer. Of each worker, one long answer is fetched at a time.
func (c *Coordinator) read(ctx context.Context, w *member, message []byte) (*wireAnswer, error) {
	if len(message) > 0 && message[0] == markPieces {
		w.long.Lock()
		defer w.long.Unlock()
	}
	text, err := unpack(ctx, c.conn, c.creds.down(w.id, "piece"), message)
	if err != nil {
		return nil, err
	}
	if parts(text) > maxParts {
		return nil, fmt.Errorf("%w: an answer of more than %d parts", errForeign, maxParts)
	}
	a := &wireAnswer{}
	err = wirejson.CheckDepth(text, wirejson.MaxPartDepth)
	if err == nil {
		err = json.Unmarshal(text, a)
	}
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errForeign, err)
	}
	return a, nil
}

// took notes that a worker has answered a call. One that can make no more calls gets none.
func (c *Coordinator) took(r *seat, w *member, e *sentError) {
	c.mu.Lock()
	defer c.mu.Unlock()
	w.answered++
	w.failed = e != nil
	r.failed.Store(w.failed)
	if w.failed && e.Origin == eval.FromProcess && !w.useless { // once, also for a worker that has left by itself since
		w.useless, w.places = true, 0
		c.notice("a worker gets no more calls: " + e.Message)
	}
	c.serve()
}

// errGone is the cause when a worker is gone.
var errGone = errors.New("the worker is gone")

// lost returns the error for a call whose worker is gone.
func lost(unsent bool) *eval.Error {
	return &eval.Error{Kind: eval.KindTransport, Origin: eval.FromProcess, Unsent: unsent, Message: "the worker that made the call is gone"}
}

// unanswered returns the error for a call without an answer.
func (c *Coordinator) unanswered(ctx, waiting context.Context, w *member, m *call, err error) *eval.Error {
	switch {
	case errors.Is(context.Cause(waiting), errGone):
		c.late.Add(1)
		return lost(false)
	case errors.Is(err, nats.ErrNoResponders): // no subscriber; the probes find out which worker is gone
		select {
		case <-w.there.Done():
		case <-time.After(probeEvery):
		case <-ctx.Done():
		}
		return lost(true)
	case ctx.Err() != nil:
		c.abandon(w, m.ID)
		kind := eval.KindCanceled
		if errors.Is(ctx.Err(), context.DeadlineExceeded) {
			kind = eval.KindTimeout
		}
		return eval.Errorf(kind, "%s", ctx.Err())
	}
	return eval.Errorf(eval.KindTransport, "a worker did not answer: %s", err)
}

// abandon sends a worker the message that a call is no longer needed.
func (c *Coordinator) abandon(w *member, id uint64) {
	if text, err := encode(call{ID: id}); err == nil {
		_ = c.conn.Publish(c.creds.down(w.id, "abandon"), text) // if the worker does not get it, the call is wasted
	}
}
