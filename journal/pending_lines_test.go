package journal

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/testing/expect"
)

// A whole answer and a call of a trial that continues have lines of the same type: only a call has a number.
func TestLinesOfUnsettledTrials(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	run := header
	w, err := Create(dir, &run, nil)
	expect.OK(t, err)
	r := &eval.Result{
		Trial:    eval.Trial{ID: "id", N: 1, Case: "c", Model: "m"},
		Request:  &eval.Request{},
		Response: &eval.Response{Candidates: []eval.Candidate{{Text: "fine"}}},
		Calls: []eval.AnsweredCall{{
			Results: []eval.CallResult{{ID: "1", Name: "f", Text: "done"}},
			Usage:   eval.Usage{TotalTokens: 3, Source: eval.UsageService},
			Timing:  eval.Timing{StartedAt: time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC), Attempts: 1},
		}},
		Usage:   &eval.Usage{TotalTokens: 3, Source: eval.UsageService},
		Timing:  &eval.Timing{Attempts: 2},
		TraceID: "ab",
	}
	expect.OK(t, w.KeptAnswer(r), w.KeptCall(r), w.Close())
	data, err := os.ReadFile(filepath.Join(dir, FileName))
	expect.OK(t, err)
	lines := strings.Split(strings.TrimSpace(string(data)), "\n")
	expect.Same(t, "the lines", lines[1:], []string{
		`{"type":"answer","id":"id","n":1,"model":"m","request":{"contents":null},"response":{"candidates":[{"text":"fi` +
			`ne"}]},"turns":[{"candidates":null,"results":[{"id":"1","name":"f","text":"done"}],"usage":{"promptTokens":0,"` +
			`outputTokens":0,"totalTokens":3,"source":"service"},"timing":{"startedAt":"2026-01-01T00:00:00Z","queuedMs":0,` +
			`"latencyMs":0,"attempts":1}}],"usage":{"promptTokens":0,"outputTokens":0,"totalTokens":3,"source":"service"},"` +
			`timing":{"startedAt":"0001-01-01T00:00:00Z","queuedMs":0,"latencyMs":0,"attempts":2},"traceId":"ab","seq":1,"c` +
			`rc":"d5872a96"}`,
		`{"type":"answer","id":"id","n":1,"model":"m","turn":1,"request":{"contents":null},"response":{"candidates":nul` +
			`l},"results":[{"id":"1","name":"f","text":"done"}],"usage":{"promptTokens":0,"outputTokens":0,"totalTokens":3,` +
			`"source":"service"},"timing":{"startedAt":"2026-01-01T00:00:00Z","queuedMs":0,"latencyMs":0,"attempts":1},"seq` +
			`":2,"crc":"bbcac57f"}`,
	})
}
