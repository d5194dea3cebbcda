package flow

import "context"

// Slots bound the calls in progress: those to each service with a limit of its own, and all together. The turn of a
// meter is taken in the same way.

// enter takes a slot when one is free. It returns false if the run ends first.
func (l *Limiter) enter(ctx context.Context, slots chan struct{}) bool {
	if slots == nil {
		return true
	}
	select {
	case slots <- struct{}{}:
		return true
	case <-ctx.Done():
	case <-l.cfg.Stop:
	}
	return false
}

// takeSlot takes a slot of the service, and then one of all. Others may use the latter until then. It
// returns false if the run ends first.
func (l *Limiter) takeSlot(ctx context.Context, to peer) bool {
	own := l.shares[to.service]
	if !l.enter(ctx, own) {
		return false
	}
	if l.enter(ctx, l.slots) {
		return true
	}
	if own != nil {
		<-own
	}
	return false
}

// leave gives a slot back.
func (l *Limiter) leave(to peer) {
	for _, slots := range []chan struct{}{l.slots, l.shares[to.service]} {
		if slots != nil {
			<-slots
		}
	}
}
