package proxy

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"reflect"
	"slices"
	"strconv"
	"time"

	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/clients/wire"
)

// Replay has the recorded exchanges of a trial, in their order.
type Replay struct {
	Exchanges []eval.ModelExchange
	used      []bool
}

// keep reserves the place of an exchange among those that are kept; nil keeps none.
func (t *Trial) keep(x *exchange) *eval.ModelExchange {
	if !t.Keep {
		return nil
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	one := &eval.ModelExchange{Service: x.to.Name, Method: x.r.Method, Path: x.in.path}
	t.kept = append(t.kept, one)
	return one
}

// fill takes down the request and the reply that the program has got, without the key, should the service have sent it back. A reply
// that is still encoded, which the service was not asked for, may hide the key.
func (x *exchange) fill(to *eval.ModelExchange) {
	header := x.header
	if x.refused != nil {
		header = x.refused.Header
	}
	if encoding := header.Get("Content-Encoding"); to == nil || x.cut && x.failed != nil || encoding != "" && encoding != "identity" {
		return
	}
	hidden := &wire.Secrets{}
	if x.to.Line != nil { // where there is a service
		hidden = x.to.Line.Secrets()
	}
	to.Request = hidden.OutOfPassed(string(x.body)) // which may repeat earlier replies
	switch {
	case x.refused != nil:
		to.Type, to.Reply, to.Status = header.Get("Content-Type"), x.said, x.refused.StatusCode
	case x.passing && x.came.Len() <= wire.MaxResponseBytes:
		to.Type, to.Reply, to.Status = header.Get("Content-Type"), hidden.OutOfPassed(x.came.String()), x.status
	}
}

// replay answers with the recorded reply to the same request.
func (x *exchange) replay(call *eval.Call) (*eval.Response, error) {
	began := time.Now()
	one, err := x.trial.recorded(x)
	if err != nil {
		return nil, err
	}
	if one.Type != "" {
		x.w.Header().Set("Content-Type", one.Type)
	}
	x.passing, x.status, x.header = true, one.Status, http.Header{}
	x.w.WriteHeader(one.Status)
	_, _ = x.w.Write(one.Reply) // the program may have gone
	x.came.Write(one.Reply)
	call.Timing.StartedAt, call.Timing.LatencyMs = began.UTC(), eval.Milliseconds(time.Since(began))
	if one.Status >= http.StatusBadRequest {
		return nil, &eval.Error{Kind: eval.KindStatus, Status: one.Status, Message: "as it was recorded"}
	}
	return x.answered(&wire.Secrets{})
}

// recorded is the first exchange with the same request that was not replayed yet.
func (t *Trial) recorded(x *exchange) (*eval.ModelExchange, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	r := t.Replay
	if r.used == nil {
		r.used = make([]bool, len(r.Exchanges))
	}
	for i := range r.Exchanges {
		if !r.used[i] && differs(&r.Exchanges[i], x) == "" {
			r.used[i] = true
			return &r.Exchanges[i], nil
		}
	}
	next := slices.Index(r.used, false)
	why := fmt.Sprintf("the program calls once more than was recorded: %s", x.r.URL.Path)
	if next >= 0 {
		why = fmt.Sprintf("call %d of the program is not as it was recorded: %s", next+1, differs(&r.Exchanges[next], x))
	}
	e := &eval.Error{Kind: eval.KindReplayMiss, Retry: eval.RetryNever, Unsent: true, Message: why}
	if t.miss == nil {
		t.miss = e
	}
	return nil, e
}

// Miss is why a call could not be replayed; nil when all were.
func (t *Trial) Miss() *eval.Error { return t.miss }

// differs says where a request differs from a recorded one, "" if it does not.
func differs(one *eval.ModelExchange, x *exchange) string {
	if one.Service != x.to.Name || one.Path != x.in.path || one.Method != x.r.Method {
		return fmt.Sprintf("it is %s %s /%s, recorded is %s %s /%s", x.to.Name, x.r.Method, x.in.path, one.Service, one.Method, one.Path)
	}
	if bytes.Equal(one.Request, x.body) {
		return ""
	}
	want, got := decoded(one.Request), decoded(x.body)
	return difference("", want, got)
}

func decoded(body []byte) (v any) {
	dec := json.NewDecoder(bytes.NewReader(body))
	dec.UseNumber()
	if dec.Decode(&v) != nil {
		return string(body)
	}
	if _, err := dec.Token(); err != io.EOF {
		return string(body)
	}
	return v
}

// difference is the first place where two JSON values differ, with both; "" if they do not.
func difference(at string, want, got any) string {
	if w, ok := want.(map[string]any); ok {
		if g, ok := got.(map[string]any); ok {
			both := maps.Clone(w)
			maps.Copy(both, g)
			for _, name := range slices.Sorted(maps.Keys(both)) {
				if found := difference(at+"."+name, w[name], g[name]); found != "" {
					return found
				}
			}
			return ""
		}
	}
	w, list := want.([]any)
	if g, ok := got.([]any); ok && list {
		for i := range max(len(w), len(g)) {
			if found := difference(at+"["+strconv.Itoa(i)+"]", item(w, i), item(g, i)); found != "" {
				return found
			}
		}
		return ""
	}
	recorded, isText := want.(string)
	if sent, ok := got.(string); isText && ok && wire.IsMasked(recorded, sent) || reflect.DeepEqual(want, got) {
		return ""
	}
	return fmt.Sprintf("`%s` is %s, recorded is %s", at, shown(got), shown(want))
}

func item(list []any, i int) any {
	if i < len(list) {
		return list[i]
	}
	return nil
}

// shown is the beginning of a value as JSON; nothing stands for one that is not there.
func shown(v any) string {
	if v == nil {
		return "nothing"
	}
	text, err := json.Marshal(v)
	if err != nil { // it was decoded from JSON
		return "..."
	}
	return wire.Excerpt(text)
}
