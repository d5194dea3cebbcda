package flow

import (
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/testing/expect"
)

// Scenario R24: one call a key however many callers want it; errors, blocks and damaged files are not used.
func TestCacheRequestsOnceForAllCallers(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	answers := map[string]func() (*eval.Response, error){
		"good": func() (*eval.Response, error) {
			return &eval.Response{
				Candidates: []eval.Candidate{{Text: "fine", FinishReason: "STOP"}},
				Usage:      &eval.Usage{TotalTokens: 3, Source: eval.UsageService},
			}, nil
		},
		"blocked": func() (*eval.Response, error) {
			return &eval.Response{Candidates: []eval.Candidate{{FinishReason: "SAFETY"}}}, nil
		},
		"error": func() (*eval.Response, error) { return nil, eval.Errorf(eval.KindTruncated, "cut") },
	}
	var mu sync.Mutex
	sent := map[string]int{}
	f := &fake{generate: func(_ int, call *eval.Call) (*eval.Response, error) {
		mu.Lock()
		sent[call.TrialID]++
		mu.Unlock()
		time.Sleep(20 * time.Millisecond)
		return answers[call.TrialID]()
	}}
	s := Cache(dir, "", f, func(text string) { t.Errorf("got the notice %q, want none", text) })
	ask := func(id string) (*eval.Response, error) { return s.Generate(t.Context(), &eval.Call{TrialID: id}) }
	var wg sync.WaitGroup
	for range 64 {
		wg.Go(func() {
			if resp, err := ask("good"); err != nil || resp.Text() != "fine" {
				t.Errorf("got %v, %v, want fine", resp, err)
			}
		})
	}
	wg.Wait()
	for range 2 {
		_, _ = ask("blocked")
		_, _ = ask("error")
	}
	resp, err := ask("good")
	expect.OK(t, err)
	expect.Same(t, "tokens", resp.Usage.TotalTokens, 3)
	expect.Same(t, "calls", sent, map[string]int{"good": 1, "blocked": 2, "error": 2})
	damage(t, dir)
	_, err = ask("good")
	expect.OK(t, err)
	expect.Same(t, "calls after the damage", sent["good"], 2)
}

// damage changes each byte of the one file of a cache, which must be noticed, and leaves half of the file.
func damage(t *testing.T, dir string) {
	t.Helper()
	files, _ := filepath.Glob(filepath.Join(dir, "*", "*.json"))
	if len(files) != 1 {
		t.Fatalf("got %v, want one file", files)
	}
	data, err := os.ReadFile(files[0])
	expect.OK(t, err)
	for at := range data {
		bad := append([]byte{}, data...)
		bad[at] ^= 1
		expect.OK(t, os.WriteFile(files[0], bad, 0o600))
		if a := (answerCache{Dir: dir}).answer("good"); a != nil && a.Response.Text() != "fine" {
			t.Errorf("byte %d: got %+v, want fine or nothing", at, a.Response)
		}
	}
	expect.OK(t, os.WriteFile(files[0], data[:len(data)/2], 0o600))
}
