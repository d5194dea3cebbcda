package eval

import (
	"context"
	"os"
)

// Catch starts a goroutine that waits for a signal or the end of ctx, and calls act after a signal. caught
// waits until that goroutine has ended, which needs the end of ctx or the return of act. It returns the
// name of the signal, "" for none.
func Catch(ctx context.Context, signals <-chan os.Signal, act func()) (caught func() string) {
	var name string
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		select {
		case sig := <-signals:
			name = sig.String()
			act()
		case <-ctx.Done():
		}
	}()
	return func() string {
		<-ended
		return name
	}
}

// Until is a context that a signal ends, and a function that ends it and gives the exit code that the signal means,
// CodeOK without one.
func Until(ctx context.Context, signals <-chan os.Signal) (until context.Context, end func() (code int)) {
	until, cancel := context.WithCancel(ctx)
	caught := Catch(until, signals, cancel)
	return until, func() int {
		cancel()
		if name := caught(); name != "" {
			return OfSignal(name)
		}
		return CodeOK
	}
}
