package emulator

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"sync"
	"time"
)

// listening is a handler that is served on an address of this machine.
type listening struct {
	url  string
	http *http.Server
	done chan struct{}
	once sync.Once
}

// listen serves h on addr. what names it in the error.
func listen(h http.Handler, what, addr string) (*listening, error) {
	listener, err := (&net.ListenConfig{}).Listen(context.Background(), "tcp", addr)
	if err != nil {
		return nil, fmt.Errorf("%s cannot listen on %s: %w", what, addr, err)
	}
	l := &listening{
		url: "http://" + listener.Addr().String(), done: make(chan struct{}),
		http: &http.Server{Handler: h, ReadHeaderTimeout: 10 * time.Second},
	}
	go func() {
		defer close(l.done)
		_ = l.http.Serve(listener) // close ends it; if it ends before, callers get no reply
	}()
	return l, nil
}

// close ends the server and all requests. stop ends requests that hang.
func (l *listening) close(stop chan struct{}) {
	l.once.Do(func() {
		close(stop)
		_ = l.http.Close() // open connections are dropped on purpose
		<-l.done
	})
}
