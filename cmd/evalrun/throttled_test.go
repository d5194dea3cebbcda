package main

import (
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
)

// A model that is throttled holds up no other: the healthy one gets all of its calls while the first has to wait.
func TestThrottledModelHoldsUpNoOther(t *testing.T) {
	t.Parallel()
	const trials = 200
	var healthy, throttled, late atomic.Int64
	b := newBox(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case r.Method == http.MethodGet:
			fmt.Fprintf(w, `{"name":"models/%s"}`, r.URL.Path[len("/v1/models/"):])
		case strings.Contains(r.URL.Path, "healthy"):
			if throttled.Load() > 40 {
				late.Add(1)
			}
			healthy.Add(1)
			fmt.Fprint(w, hi)
		case healthy.Load() < trials:
			throttled.Add(1)
			w.Header().Set("Retry-After", "1")
			w.WriteHeader(http.StatusTooManyRequests)
		default:
			fmt.Fprint(w, hi)
		}
	}), map[string]string{
		"suite.yaml": "version: 1\nname: s\ntargets: [{name: busy, model: throttled}, {name: free, model: healthy}]\nprompts: [{name: p, " +
			"text: hello}]\n" +
			"limits: {concurrency: 8, attempts: 20}\ncases: [{name: c, repeats: " + fmt.Sprint(
			trials,
		) + ", scorers: [{equals: hi}]}]\n",
	})
	b.exits(0, "run", "suite.yaml")
	if healthy.Load() != trials || late.Load() > 0 {
		t.Errorf(
			"the healthy model got %d calls, %d of them after the throttled one had refused 40; want %d and none",
			healthy.Load(), late.Load(), trials,
		)
	}
}

// The limits of one model hold up no other either.
func TestLimitedModelHoldsUpNoOther(t *testing.T) {
	t.Parallel()
	var free, slow atomic.Int64
	b := newBox(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case r.Method == http.MethodGet:
			fmt.Fprintf(w, `{"name":"models/%s"}`, r.URL.Path[len("/v1/models/"):])
		case strings.Contains(r.URL.Path, "free"):
			free.Add(1)
			fmt.Fprint(w, hi)
		default:
			if slow.Add(1) == 3 && free.Load() < 60 {
				t.Errorf("got %d calls of the free model while the limited one had 3, want 60", free.Load())
			}
			fmt.Fprint(w, hi)
		}
	}), map[string]string{
		"suite.yaml": "version: 1\nname: s\ntargets: [{name: slow, model: slow}, {name: free, model: free}]\nprompts: [{name: p, text: " +
			"hello}]\n" +
			"limits: {concurrency: 4, models: {slow: {requestsPerMinute: 60}}}\ncases: [{name: c, repeats: 60, arms: [\"free/*\"], scorers: " +
			"[{equals: hi}]}, {name: d, repeats: 3, arms: [\"slow/*\"], scorers: [{equals: hi}]}]\n",
	})
	b.exits(0, "run", "suite.yaml")
}
