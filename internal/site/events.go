package site

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"net/http"
	"time"

	"github.com/evalrun/evalrun/internal/page"
)

const (
	alive       = 15 * time.Second // between signs of life, because proxies close silent connections
	sendTime    = 10 * time.Second // for one event
	mostAtOnce  = 20               // blocks in one batch
	reconnectMs = 2000
)

// events reports the progress of a run as server-sent events: `news` has the head or a block of new trials, `again` makes the
// page reload the run, `end` ends it. A reader that reconnects sends the id of its last event and misses nothing.
func (s *Server) events(w http.ResponseWriter, r *http.Request) {
	one, ok := s.found(w, r.PathValue("run"))
	if !ok {
		return
	}
	select {
	case s.watchers <- struct{}{}:
		defer func() { <-s.watchers }()
	default:
		w.Header().Set("Retry-After", "10")
		refuse(w, http.StatusServiceUnavailable, "too many pages watch runs")
		return
	}
	opened := s.opened.take(one)
	defer s.opened.leave(opened)
	w.Header().Set("Content-Type", "text/event-stream")
	out := &stream{w: w, control: http.NewResponseController(w)}
	out.put(fmt.Appendf(nil, "retry: %d\n\n", reconnectMs))
	v := watcher{run: opened, mark: cmp.Or(r.Header.Get("Last-Event-ID"), r.URL.Query().Get("after"))}
	tick := time.NewTicker(s.options.Every)
	defer tick.Stop()
	for out.err == nil && !s.sendNews(r, &v, out) {
		select {
		case <-tick.C:
		case <-r.Context().Done():
			return
		}
	}
}

type watcher struct {
	run  *openRun
	mark string
	head []byte // the one sent last
}

// sendNews reports whether the reader needs no further events.
func (s *Server) sendNews(r *http.Request, v *watcher, out *stream) (ended bool) {
	for more := true; more && out.err == nil; {
		var sent []event
		var err error
		if sent, more, err = s.news(r, v); err != nil {
			sent = []event{{name: "again", data: []byte("{}")}}
		}
		for _, e := range sent {
			out.send(e)
			ended = ended || e.name != "news"
		}
	}
	if time.Since(out.last) > alive {
		out.put([]byte(":\n\n"))
	}
	return ended
}

// news returns the events that the watcher is missing, and whether more are waiting.
func (s *Server) news(r *http.Request, v *watcher) (sent []event, more bool, err error) {
	if err := s.useBlocks(r.Context(), v.run); err != nil {
		return nil, false, err
	}
	defer v.run.mu.Unlock()
	has, ok := v.run.blocksOf(v.mark)
	if !ok {
		return []event{{name: "again", data: []byte("{}")}}, false, nil
	}
	blocks := v.run.served.Blocks()
	last := min(blocks, has+mostAtOnce)
	for ; has < last; has++ {
		block, err := v.run.served.News(has)
		if err != nil {
			return nil, false, err
		}
		v.mark = v.run.mark(has + 1)
		sent = append(sent, event{v.mark, "news", fmt.Appendf(nil, `{"block":%s}`, block)})
	}
	if last < blocks {
		return sent, true, nil
	}
	state, err := v.state()
	return append(sent, state...), false, err
}

// state returns the head of the run if it has changed since the last event, and the end of the run.
func (v *watcher) state() ([]event, error) {
	head, err := page.Head(v.run.doc)
	if err != nil {
		return nil, err
	}
	var sent []event
	if !bytes.Equal(head, v.head) {
		v.head = head
		sent = append(sent, event{v.mark, "news", fmt.Appendf(nil, `{"head":%s}`, head)})
	}
	if !v.run.doc.Running {
		sent = append(sent, event{v.mark, "end", []byte("{}")})
	}
	return sent, nil
}

type event struct {
	id, name string
	data     json.RawMessage // one line, as the format of server-sent events wants
}

// stream remembers when it last wrote, to know when a sign of life is due.
type stream struct {
	w       http.ResponseWriter
	control *http.ResponseController
	last    time.Time
	err     error
}

func (o *stream) send(e event) {
	o.put(fmt.Appendf(nil, "id: %s\nevent: %s\ndata: %s\n\n", e.id, e.name, e.data))
}

// put sets a deadline for each write, because a deadline for the response would end a long stream.
func (o *stream) put(data []byte) {
	if o.err != nil {
		return
	}
	if o.err = o.control.SetWriteDeadline(time.Now().Add(sendTime)); o.err != nil {
		return
	}
	if _, o.err = o.w.Write(data); o.err != nil {
		return
	}
	o.err = o.control.Flush()
	o.last = time.Now()
}
