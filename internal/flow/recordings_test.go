package flow

import (
	"encoding/json"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/testing/expect"
)

func result(name, arm string, repeat int, text string) *eval.Result {
	return &eval.Result{
		Trial:    eval.Trial{ID: name + arm + text, Suite: "s", Case: name, Arm: arm, Model: "m", Repeat: repeat},
		Response: &eval.Response{Candidates: []eval.Candidate{{Text: text, FinishReason: "STOP"}}},
		Usage:    &eval.Usage{PromptTokens: 1, Source: eval.UsageService}, Timing: &eval.Timing{LatencyMs: 5},
	}
}

func tree(t *testing.T, dir string) map[string]string {
	t.Helper()
	out := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, e os.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		data, err := os.ReadFile(path)
		out[strings.TrimPrefix(path, dir)] = string(data)
		return err
	})
	expect.OK(t, err)
	return out
}

// The files do not depend on the order in which answers came, and give back what was put.
func TestFilesAreSorted(t *testing.T) {
	t.Parallel()
	dirs := []string{t.TempDir(), t.TempDir()}
	all := []*eval.Result{
		result("a/b ü", "x/p", 1, "one <b>"),
		result("a/b ü", "x/p", 2, "two"),
		result("a/b ü", "w/p", 1, "three"),
		result("a-b", "x/p", 1, "four"),
	}
	putAll(t, dirs[0], all)
	backwards := slices.Clone(all)
	slices.Reverse(backwards)
	putAll(t, dirs[1], backwards)
	first := tree(t, dirs[0])
	expect.Same(t, "the files", tree(t, dirs[1]), first)
	expect.Same(t, "the number of files", len(first), 4)
	s, err := Open(filepath.Join(dirs[0], "deep"))
	expect.OK(t, err)
	for _, r := range all {
		if a := s.answer(r.ID); a == nil || a.Response.Text() != r.Response.Text() || a.Timing.LatencyMs != 5 {
			t.Errorf("%s: %+v, want %q after 5 ms", r.ID, a, r.Response.Text())
		}
	}
	if s.answer("another") != nil || s.vector("f", "text") != nil {
		t.Error("got an answer or a vector that was not put, want none")
	}
	expect.Same(t, "the vector", s.vector("e", "text"), []float64{1, 0.5})
	// A new answer replaces the old one to the same arm and repeat.
	s.Put(result("a/b ü", "x/p", 1, "anew"))
	expect.OK(t, s.Save())
	s, err = Open(filepath.Join(dirs[0], "deep"))
	expect.OK(t, err)
	if s.answer(all[0].ID) != nil || s.answer("a/b üx/panew") == nil {
		t.Error("got the old answer, or no new one; want the new one alone")
	}
}

func putAll(t *testing.T, dir string, all []*eval.Result) {
	t.Helper()
	s, err := Open(filepath.Join(dir, "deep"))
	expect.OK(t, err)
	for _, r := range all {
		s.Put(r)
	}
	s.putVector("e", "text", []float64{1, 0.5})
	expect.OK(t, s.Save())
}

func TestErrorsAreNotRecorded(t *testing.T) {
	t.Parallel()
	s, err := Open(t.TempDir())
	expect.OK(t, err)
	for _, kind := range []eval.ErrorKind{eval.KindStatus, eval.KindTruncated, eval.KindNoCandidates} {
		r := result("c", "x/p", 1, "half")
		r.Ending = eval.Errored{Error: &eval.Error{Kind: kind}}
		s.Put(r)
	}
	s.Put(&eval.Result{Trial: eval.Trial{Suite: "s", Case: "c"}})
	expect.Same(t, "files", len(s.files), 0)
}

func TestBrokenFilesAreNamed(t *testing.T) {
	t.Parallel()
	deep := strings.Repeat("[", 6000) + strings.Repeat("]", 6000)
	for _, text := range []string{"", "[", `{"version":9}`, `{"answers":5}`, `{"version":1,"x":` + deep + "}"} {
		dir := t.TempDir()
		expect.OK(t, os.WriteFile(filepath.Join(dir, "x.json"), []byte(text), 0o600))
		if _, err := Open(dir); err == nil || !strings.Contains(err.Error(), "x.json is not a file of recorded answers") {
			t.Errorf("%q: %v, want one that names the file x.json", text, err)
		}
	}
	if s, err := Open(filepath.Join(t.TempDir(), "nothing")); err != nil || s.answer("x") != nil {
		t.Errorf("got %v, want no answer and no error", err)
	}
}

// Each turn of a live chat is answered by itself, for what was said before it.
func TestTurnsAreAnsweredByThemselves(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s, err := Open(dir)
	expect.OK(t, err)
	r := result("chat", "x/p", 1, "bye")
	for i, text := range []string{"hello", "again", "bye"} {
		r.Calls = append(r.Calls, eval.AnsweredCall{
			Response: eval.Response{Candidates: []eval.Candidate{{Text: text, FinishReason: "STOP"}}},
			Usage:    eval.Usage{PromptTokens: i, Source: eval.UsageService}, Timing: eval.Timing{LatencyMs: float64(i), Attempts: 1},
		})
	}
	s.Put(r)
	expect.OK(t, s.Save())
	if s, err = Open(dir); err != nil {
		t.Fatal(err)
	}
	for i, turn := range r.Calls {
		call := &eval.Call{}
		a := s.answer(r.CallID(r.Calls[:i]))
		if a == nil {
			t.Fatalf("turn %d: got no answer, want one", i+1)
		}
		if got := a.Replay(call); got.Text() != turn.Text() || !reflect.DeepEqual(*got.Usage, turn.Usage) || call.Timing.LatencyMs != float64(i) {
			t.Errorf("turn %d: %+v, want the reply, the usage and the latency %d ms", i+1, got, i)
		}
	}
	r.Calls[0].Candidates[0].Text = "something else"
	if s.answer(r.CallID(r.Calls[:1])) != nil {
		t.Error("a turn is answered after another reply than the recorded one")
	}
}

// Each step of a tool loop is answered by itself, with the results that followed, and its answer is as it came however the file is written.
func TestStepsAreAnsweredByThemselves(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s, err := Open(dir)
	expect.OK(t, err)
	r := result("loop", "x/p", 1, "done")
	const came = `{"content":{"parts":[{"functionCall":{"id":"1","name":"f","args":{"a":[1,2]}}}]}}`
	call := &eval.FunctionCall{ID: "1", Name: "f", Args: json.RawMessage(`{"a":[1,2]}`)}
	step := eval.Candidate{FinishReason: "TOOL_CALLS", Raw: json.RawMessage(came), Pieces: []eval.Piece{eval.CallPiece{Call: call}}}
	r.Calls = []eval.AnsweredCall{
		{Response: eval.Response{Candidates: []eval.Candidate{step}}, Results: []eval.CallResult{{ID: "1", Name: "f", Text: "x"}}},
		{Response: *r.Response},
	}
	s.Put(r)
	expect.OK(t, s.Save())
	s, err = Open(dir)
	expect.OK(t, err)
	for i, turn := range r.Calls {
		a := s.answer(r.CallID(r.Calls[:i]))
		if a == nil {
			t.Fatalf("call %d: got no answer, want one", i+1)
		}
		replayed := &eval.Call{}
		expect.Same(t, "the answer", a.Replay(replayed).Candidates, turn.Candidates)
		expect.Same(t, "the results", replayed.Results, turn.Results)
	}
	r.Calls[0].Results[0].Text = "y"
	if s.answer(r.CallID(r.Calls[:1])) != nil {
		t.Error("a call is answered after another result than the recorded one")
	}
}

// Check reports what is in the way of the folder, and makes none itself.
func TestCheckLeavesNothing(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	expect.OK(t, os.WriteFile(filepath.Join(dir, "file"), nil, 0o600))
	expect.OK(t, os.Symlink("nowhere", filepath.Join(dir, "link")))
	expect.OK(t, os.Mkdir(filepath.Join(dir, "there"), 0o700))
	for name, fine := range map[string]bool{
		"there": true, "new": true, "new/deep": true, "there/new": true, "file": false, "file/new": false, "link": false, "link/new": false,
	} {
		s, err := Open(filepath.Join(dir, name))
		if err == nil {
			err = s.Check()
		}
		if (err == nil) != fine {
			t.Errorf("%s: %v, want fine: %v", name, err, fine)
		}
	}
	left := 0
	err := filepath.WalkDir(dir, func(string, fs.DirEntry, error) error { left++; return nil })
	if err != nil || left != 4 { // the folder with what was made above
		t.Errorf("%d files are left, want 4; %v", left, err)
	}
}

// What judges replied is recorded next to the answer and found under separate ids.
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
	fine, blocked := s.answer("fine"), s.answer("blocked")
	if fine == nil || blocked == nil || s.answer("failed") != nil || s.answer(r.ID) == nil {
		t.Fatalf("%+v %+v, want both kept, and neither the failed one nor another", fine, blocked)
	}
	reply := fine.Replay(call)
	expect.Same(t, "the reply", reply.Text(), "{}")
	expect.Same(t, "its tokens", reply.Usage.TotalTokens, 7)
	expect.Same(t, "its time", call.Timing.LatencyMs, 9)
	expect.Same(t, "its attempts", call.Timing.Attempts, 0)
	expect.Same(t, "the block", blocked.Replay(call).Blocked(), "SAFETY")
	if s.Forget(); s.answer("fine") != nil {
		t.Error("got an answer after Forget, want none")
	}
}
