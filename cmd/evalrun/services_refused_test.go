package main

import (
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/evalrun/evalrun/internal/testing/expect"
)

// A 403 or a 404 closes the model that it is about, since the service may answer for others; a 401 closes the service. In all
// cases other services continue.
func TestRefusalsCloseTheModelOrTheService(t *testing.T) {
	t.Parallel()
	for code, want := range map[int]struct {
		closed string
		whole  bool // the other model of the service is not called any more either
	}{
		http.StatusForbidden: {
			"the service `one` (URL/one) refuses the key in ONE_API_KEY: 403: no (model closed); what needs it is skipped", false,
		},
		http.StatusNotFound: {"the service `one`: 404: no", false},
		http.StatusUnauthorized: {
			"the service `one` (URL/one) refuses the key in ONE_API_KEY: 401: no; what needs it is skipped", true,
		},
	} {
		t.Run(fmt.Sprintf("status %d", code), func(t *testing.T) {
			t.Parallel()
			var refused, same, after, other atomic.Int64
			b := newBox(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if strings.Contains(r.URL.Path, "closed") {
					refused.Add(1)
					status(code)(w, 1)
					return
				}
				if strings.HasPrefix(r.URL.Path, "/one/") {
					same.Add(1)
					if refused.Load() > 0 && want.whole {
						after.Add(1)
						time.Sleep(patience)
					}
				} else {
					other.Add(1)
				}
				says("hi")(w, 1)
			}), nil)
			b.write("suite.yaml", fmt.Sprintf(`version: 1
name: s
services:
  one: {baseUrl: "%[1]s/one", keyEnv: ONE_API_KEY, metadata: false, limits: {concurrency: 1}}
  two: {baseUrl: "%[1]s/two", metadata: false}
targets:
  - {name: closed, service: one, model: closed}
  - {name: open, service: one, model: open}
  - {name: other, service: two, model: open}
prompts: [{name: p, text: hello}]
limits: {concurrency: 1}
cases: [{name: c, repeats: 30, scorers: [{equals: hi}]}]
`, b.url))
			b.env = append(b.env, "ONE_API_KEY=key-of-one")
			b.exits(4, "run", "suite.yaml", "-o", "table")
			b.says(strings.Replace(want.closed, "URL", b.url, 1))
			expect.Same(t, "calls of the closed model", refused.Load(), 1)
			expect.Same(t, "calls of the other service", other.Load(), 30)
			if want.whole && after.Load() > 2 || !want.whole && same.Load() != 30 {
				t.Errorf("%d calls of the other model of the service, %d after the refusal", same.Load(), after.Load())
			}
		})
	}
}

// A connection that breaks after the event that ends an answer loses nothing, and no second call is paid. A usage of another type is
// none.
func TestABreakAfterTheEndIsNoSecondCall(t *testing.T) {
	t.Parallel()
	for protocol, events := range map[string]string{
		"anthropic": `{"type":"message_start","message":{"type":"message","role":"assistant","content":[],"usage":"many"}}
{"type":"content_block_start","index":0,"content_block":{"type":"text","text":"hi"}}
{"type":"content_block_stop","index":0}
{"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":[2]}
{"type":"message_stop"}`,
		"responses": `{"type":"response.completed","response":{"object":"response","status":"completed","output":[` +
			`{"type":"message","role":"assistant","content":[{"type":"output_text","text":"hi"}]}]}}`,
	} {
		t.Run(protocol, func(t *testing.T) {
			t.Parallel()
			var calls atomic.Int64
			b := newBox(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				calls.Add(1)
				w.Header().Set("Content-Type", "text/event-stream")
				for event := range strings.SplitSeq(events, "\n") {
					fmt.Fprintf(w, "data: %s\n\n", event)
				}
				_ = http.NewResponseController(w).Flush()
				panic(http.ErrAbortHandler)
			}), nil)
			b.write("suite.yaml", fmt.Sprintf(`version: 1
name: s
services: {v: {protocol: %s, baseUrl: "%s/v", metadata: false}}
targets: [{name: t, service: v, model: m, stream: true}]
prompts: [{name: p, text: hello}]
cases: [{name: c, scorers: [{equals: hi}]}]
`, protocol, b.url))
			b.exits(0, "run", "suite.yaml")
			expect.Same(t, "calls", calls.Load(), 1)
		})
	}
}
