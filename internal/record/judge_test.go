package record

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/expect"
)

// What judges replied is recorded beside the answer and found under ids of its own.
func TestJudgementsAreRecorded(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "store")
	s, err := Open(dir)
	expect.OK(t, err)
	r := result("c", "x/p", 1, "an answer")
	r.Error = eval.Errorf(eval.KindUnscored, "one of three")
	r.Judgements = []eval.Judgement{
		{ID: "fine", Reply: "{}", FinishReason: "STOP", Usage: &eval.Usage{TotalTokens: 7}, Attempts: 3, LatencyMs: 9},
		{ID: "blocked", BlockReason: "SAFETY", Cached: true},
		{ID: "failed", Error: eval.Errorf(eval.KindStatus, "500")},
	}
	s.Put(r)
	expect.OK(t, s.Save())
	for _, text := range tree(t, dir) {
		if strings.Contains(text, "cached") || strings.Contains(text, "500") {
			t.Error(text)
		}
	}
	if s, err = Open(dir); err != nil {
		t.Fatal(err)
	}
	call := &eval.Call{}
	fine, blocked := s.Answer("fine"), s.Answer("blocked")
	if fine == nil || fine.Replay(call).Text() != "{}" || fine.Replay(call).Usage.TotalTokens != 7 || call.Timing.LatencyMs != 9 ||
		call.Timing.Attempts != 0 {
		t.Errorf("%+v", fine)
	}
	if blocked == nil || blocked.Replay(call).Blocked() != "SAFETY" || s.Answer("failed") != nil || s.Answer(r.ID) == nil {
		t.Errorf("%+v", blocked)
	}
	if s.Forget(); s.Answer("fine") != nil {
		t.Error("it was to be forgotten")
	}
}
