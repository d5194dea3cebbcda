package emulator

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"sync"
	"time"

	"github.com/evalrun/evalrun/internal/clients/wire"
)

// listening is a handler that is served on an address of this machine.
type listening struct {
	url     string
	warning string
	http    *http.Server
	done    chan struct{}
	once    sync.Once
}

// listen serves h on addr, to requests for a name of this machine. what names it in messages.
func listen(h http.Handler, what, addr string) (*listening, error) {
	listener, err := (&net.ListenConfig{}).Listen(context.Background(), "tcp", addr)
	if err != nil {
		return nil, fmt.Errorf("%s cannot listen on %s: %w", what, addr, err)
	}
	hosts := wire.NewHosts(addr, listener.Addr())
	l := &listening{url: "http://" + listener.Addr().String(), done: make(chan struct{})}
	if !hosts.Local {
		l.warning = "anyone who reaches this address can use " + what + "; without --listen only this machine can"
	}
	l.http = &http.Server{ReadHeaderTimeout: 10 * time.Second, Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !hosts.Allow(r.Host) {
			http.Error(w, "this is not a host name of "+what+": use "+l.url+", or name it with --listen", http.StatusMisdirectedRequest)
			return
		}
		h.ServeHTTP(w, r)
	})}
	go func() {
		defer close(l.done)
		_ = l.http.Serve(listener) // close ends it; if it ends before, callers get no reply
	}()
	return l, nil
}

func (l *listening) close(stop chan struct{}) {
	l.once.Do(func() {
		close(stop)
		_ = l.http.Close() // open connections are dropped on purpose
		<-l.done
	})
}
