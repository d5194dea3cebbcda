package main

import (
	"fmt"
	"testing"

	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/session"
	"github.com/evalrun/evalrun/internal/testing/expect"
	"github.com/evalrun/evalrun/journal"
)

// What needs all answers of a run refuses one that is still in progress, and says when to do it.
func TestARunInProgressIsRefused(t *testing.T) {
	t.Parallel()
	f := newRunFolder(t)
	run := eval.Run{
		ID: "now", StartedAt: "2026-01-01T00:00:00Z", CommandOptions: &eval.RunOptions{}, Suites: []eval.RunSuite{{Name: "s"}},
	}
	w, err := journal.Create(f.Join("now"), &run, nil)
	expect.OK(t, err)
	l := &session.Loaded{}
	l.Options.Dir, l.Options.Rescore = f.Abs(""), "now"
	_, err = newAcceptance(l)
	expect.Contains(t, "accept", fmt.Sprint(err), "now is still in progress: accept its answers when it finishes")
	env := map[string]string{"CI_PROJECT_ID": "9", "GITLAB_TOKEN": "t", "CI_API_V4_URL": "http://127.0.0.1:1"}
	_, err = f.comment(t.Context(), "now", commenting{Getenv: func(name string) string { return env[name] }})
	expect.Contains(t, "comment", fmt.Sprint(err), "the run now is still in progress; comment on it when it finishes")
	expect.OK(t, w.Close())
}

// An error rate that only the API can give is refused as the flag refuses it.
func TestARankingIsNotWrongTooOften(t *testing.T) {
	t.Parallel()
	f := newRunFolder(t)
	f.record("one", nil, completed(), letters("pp", "a", 0, 1)...)
	o := compareRequest{}
	o.ByJudge.Options.Getenv = func(string) string { return "" }
	o.Rule.Alpha = 0.5
	_, err := f.rank("one", o)
	expect.Contains(t, "rank", fmt.Sprint(err), "--alpha 0.5: a ranking with this error rate is not informative; use 0.2 or less")
}
