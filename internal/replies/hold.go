package replies

import (
	"testing"

	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/expect"
)

// Sender has a client send one request, which the canned reply answers.
type Sender func(t *testing.T, reply *Canned, stream bool) (*eval.Response, error)

// HoldAll wants n replies in the folders, and each of them read as its index says: by a client, and out of a file by
// parse.
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

// HoldFaults damages each stream of the folders: what a client makes of it is an error, and never another answer.
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
