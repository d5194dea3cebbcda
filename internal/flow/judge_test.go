package flow

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/testing/expect"
)

// What judges replied is recorded next to the answer and found under ids of its own.
func TestJudgementsAreRecorded(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "store")
	s, err := Open(dir)
	expect.OK(t, err)
	r := result("c", "x/p", 1, "an answer")
	r.Ending = eval.Errored{Error: eval.Errorf(eval.KindUnscored, "one of three")}
	r.Judgements = []eval.Judgement{
		{ID: "fine", Reply: "{}", FinishReason: "STOP", Usage: &eval.Usage{TotalTokens: 7}, Attempts: 3, LatencyMs: 9},
		{ID: "blocked", BlockReason: "SAFETY", Cached: true},
		{ID: "failed", Error: eval.Errorf(eval.KindStatus, "500")},
	}
	s.Put(r)
	expect.OK(t, s.Save())
	for _, text := range tree(t, dir) {
		if strings.Contains(text, "cached") || strings.Contains(text, "500") {
			t.Errorf("got %v, want neither the cache nor a time", text)
		}
	}
	s, err = Open(dir)
	expect.OK(t, err)
	call := &eval.Call{}
	fine, blocked := s.Answer("fine"), s.Answer("blocked")
	if fine == nil || blocked == nil || s.Answer("failed") != nil || s.Answer(r.ID) == nil {
		t.Fatalf("%+v %+v, want both kept, and neither the failed one nor another", fine, blocked)
	}
	reply := fine.Replay(call)
	expect.Same(t, "the reply", reply.Text(), "{}")
	expect.Same(t, "its tokens", reply.Usage.TotalTokens, 7)
	expect.Same(t, "its time", call.Timing.LatencyMs, 9)
	expect.Same(t, "its attempts", call.Timing.Attempts, 0)
	expect.Same(t, "the block", blocked.Replay(call).Blocked(), "SAFETY")
	if s.Forget(); s.Answer("fine") != nil {
		t.Error("got an answer after Forget, want none")
	}
}
