package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/testing/expect"
	"github.com/evalrun/evalrun/internal/testing/replies"
)

var vendorProtocols = map[string]string{
	"openai": "openai", "compatible": "openai", "responses": "responses", "anthropic": "anthropic",
}

// serveReplies serves each reply below a path of its own, its number, and counts the calls.
func serveReplies(t *testing.T, all []replies.Reply) *recordedService {
	t.Helper()
	s := &recordedService{calls: map[string]int{}}
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		number, _, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, "/"), "/")
		i, err := strconv.Atoi(number)
		if err != nil || r.Method != http.MethodPost {
			http.NotFound(w, r)
			return
		}
		s.mu.Lock()
		s.calls["generateContent"]++
		s.mu.Unlock()
		for name, values := range all[i].Header() {
			w.Header()[name] = values
		}
		w.WriteHeader(all[i].Status)
		_, _ = w.Write(all[i].Body)
	}))
	t.Cleanup(s.Close)
	return s
}

// vendorTargets are replies as models, each of a service of its own, so that a refused key holds up no other.
func vendorTargets(all []replies.Reply, address string) string {
	var targets, services strings.Builder
	for i, r := range all {
		fmt.Fprintf(&targets, "  - {name: r%d, service: s%d, model: m, stream: %t}\n", i, i, r.Stream)
		fmt.Fprintf(&services, "  s%d: {protocol: %s, baseUrl: \"%s/%d\", metadata: false}\n", i, vendorProtocols[r.Folder], address, i)
	}
	return targets.String() + "services:\n" + services.String()
}

// Ninety replies of vendors go through run, journal, reports, kill, resume, record and replay, and are read as their index says.
func TestVendorsRepliesPassThroughARun(t *testing.T) {
	t.Parallel()
	all, err := replies.In("openai", "compatible", "responses", "anthropic")
	if err != nil || len(all) != 90 {
		t.Fatalf("%d replies, %v; want 90", len(all), err)
	}
	refused := func(r replies.Reply) bool { // after which a run is not complete
		return r.Status == http.StatusUnauthorized || r.Status == http.StatusNotFound || strings.Contains(string(r.Body), "insufficient_quota")
	}
	all = slices.DeleteFunc(all, refused)
	service := serveReplies(t, all)
	r := &recordedRun{
		T: t, all: make([]recording, len(all)), service: service, dir: recordedSuite(t, vendorTargets(all, service.URL), 1), program: program(t),
	}
	r.whole()
	checkReplies(t, all, readText(t, r.dir, "whole.jsonl"))
	r.resumed()
	checkReplies(t, all, readText(t, r.dir, "again.jsonl"))
	r.replayed()
}

// checkReplies holds the results of a report against what each reply must be read as.
func checkReplies(t *testing.T, all []replies.Reply, report string) {
	t.Helper()
	seen := 0
	for line := range strings.Lines(report) {
		var result eval.Result
		if json.Unmarshal([]byte(line), &result) != nil || result.Arm == "" {
			continue
		}
		i, err := strconv.Atoi(strings.TrimPrefix(strings.TrimSuffix(result.Arm, "/p"), "r"))
		expect.OK(t, err)
		seen++
		var failure error
		if result.Err() != nil {
			failure = result.Err()
		}
		if result.Response != nil && result.Usage.Source == eval.UsageService {
			result.Response.Usage = result.Usage
		}
		if result.Err() != nil && result.Err().Kind == eval.KindNoCandidates && all[i].Expect.TextLength == 0 {
			continue // an answer that is still to come is none
		}
		all[i].Check(t, result.Response, failure)
	}
	expect.Same(t, "results", seen, len(all))
}
