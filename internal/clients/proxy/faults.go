package proxy

import (
	"context"
	"fmt"
	"hash/fnv"
	"io"
	"strconv"
	"time"

	"github.com/evalrun/evalrun/eval"
)

// faulty is what goes wrong on purpose with a call: the sum of the faults that happen to it.
func (t *Trial) faulty() (out eval.ModelFault) {
	t.mu.Lock()
	t.drawn++
	n := t.drawn
	t.mu.Unlock()
	for i, one := range t.Faults {
		if draw(t.ID, n, i) >= one.Rate {
			continue
		}
		out.Latency += one.Latency
		out.Cut = out.Cut || one.Cut
		if out.Status == 0 {
			out.Status = one.Status
		}
	}
	return out
}

// draw is a number from 0 to 1 that depends on the trial, the number of the call and the fault alone, so that a run can be repeated.
func draw(id string, call, fault int) float64 {
	h := fnv.New64a()
	_, _ = fmt.Fprintf(h, "%s %d %d", id, call, fault)
	x := h.Sum64()
	x ^= x >> 33 // as murmur3 mixes its last bits
	x *= 0xff51afd7ed558ccd
	x ^= x >> 33
	return float64(x>>11) / (1 << 53)
}

// suffer lets the faults of a call happen that come before it is sent. The error is for a call that is not sent.
func (x *exchange) suffer(ctx context.Context) error {
	fault := x.trial.faulty()
	if fault.Latency > 0 {
		select {
		case <-time.After(fault.Latency):
		case <-ctx.Done():
		}
	}
	x.cuts = fault.Cut
	if fault.Status == 0 {
		return nil
	}
	return &eval.Error{
		Kind: eval.KindStatus, Status: fault.Status, Unsent: true, Message: "a fault on purpose: status " + strconv.Itoa(fault.Status),
	}
}

// halved ends in the middle of the first piece that is read.
type halved struct {
	io.ReadCloser
	done bool
}

func (h *halved) Read(p []byte) (int, error) {
	if h.done {
		return 0, io.ErrUnexpectedEOF
	}
	n, err := h.ReadCloser.Read(p)
	h.done = n > 0
	if n == 0 {
		return n, err
	}
	return n / 2, nil
}
