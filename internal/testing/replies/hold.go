package replies

import (
	"testing"

	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/testing/expect"
)

// Sender sends one request through a client, which gets the canned reply.
type Sender func(t *testing.T, reply *Canned, stream bool) (*eval.Response, error)

// HoldAll checks all replies in the folders. It fails unless there are n. Both a client and parse must read
// each as its index says.
func HoldAll(t *testing.T, n int, ask Sender, parse func([]byte) (*eval.Response, error), folders ...string) {
	t.Helper()
	all, err := In(folders...)
	expect.OK(t, err)
	expect.Same(t, "the number of replies", len(all), n)
	for _, r := range all {
		t.Run(r.Name(), func(t *testing.T) {
			t.Parallel()
			r.Read(t, func(c *Canned) (*eval.Response, error) { return ask(t, c, r.Stream) }, parse)
		})
	}
}

// HoldFaults calls Faults for each stream in the folders.
func HoldFaults(t *testing.T, ask Sender, folders ...string) {
	t.Helper()
	all, err := In(folders...)
	expect.OK(t, err)
	for _, r := range all {
		if !r.Stream || r.Expect.Error != nil {
			continue
		}
		t.Run(r.Name(), func(t *testing.T) {
			t.Parallel()
			r.CheckFaults(t, func(c *Canned) (*eval.Response, error) { return ask(t, c, true) })
		})
	}
}
