package runner

import (
	"context"
	"sync"

	"github.com/evalrun/evalrun/eval"
)

// memo remembers what calls returned, by a hash of what was sent. The worker that takes a new entry makes the call and
// settles it; the others wait. Calls that failed are forgotten, and so are old ones when there are too many.
type memo[T any] struct {
	mu    sync.Mutex
	most  int
	byKey map[string]*memoEntry[T]
	order []string
}

// memoEntry is there, or says why not, once done is closed.
type memoEntry[T any] struct {
	done  chan struct{}
	value T
	err   *eval.Error
}

func newMemo[T any](most int) *memo[T] {
	return &memo[T]{most: most, byKey: map[string]*memoEntry[T]{}}
}

// take finds an entry, or makes a place for it; first says that the caller has to get the value.
func (m *memo[T]) take(key string) (one *memoEntry[T], first bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if one, ok := m.byKey[key]; ok {
		return one, false
	}
	one = &memoEntry[T]{done: make(chan struct{})}
	m.byKey[key] = one
	m.order = append(m.order, key)
	if len(m.order) > m.most {
		delete(m.byKey, m.order[0])
		m.order = m.order[1:]
	}
	return one, true
}

// settle releases the workers that wait for the entry.
func (m *memo[T]) settle(key string, one *memoEntry[T]) {
	if one.err != nil {
		m.mu.Lock()
		if m.byKey[key] == one {
			delete(m.byKey, key)
		}
		m.mu.Unlock()
	}
	close(one.done)
}

func (e *memoEntry[T]) wait(ctx context.Context) *eval.Error {
	select {
	case <-e.done:
		return e.err
	case <-ctx.Done():
		return eval.Errorf(eval.KindCanceled, "canceled")
	}
}
