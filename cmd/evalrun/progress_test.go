package main

import (
	"bytes"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/evalrun/evalrun/eval"
)

// Where there is no terminal, or CI says so, there is a line every ten seconds, whether results come
// or not.
func TestProgressLines(t *testing.T) {
	for _, env := range []string{"", "true"} {
		synctest.Test(t, func(t *testing.T) {
			var out bytes.Buffer
			a := &app{err: &out, getenv: func(string) string { return env }}
			if env != "" {
				a.errWidth = 80
			}
			p := a.progress(runOptions{})
			p.Start(4)
			time.Sleep(15 * time.Second)
			p.Done(&eval.Result{Outcome: eval.Fail}, eval.Spent{Tokens: 7})
			time.Sleep(10 * time.Second)
			p.Finish()
			lines := strings.Split(strings.TrimSpace(out.String()), "\n")
			if len(lines) != 2 || !strings.HasPrefix(lines[0], "0 of 4 trials") || lines[1] != "1 of 4 trials: 0 pass, 1 fail, 0 error, 0 skip; 7 tokens; about 1m0s left" {
				t.Errorf("%q", lines)
			}
		})
	}
}

func TestQuietProgress(t *testing.T) {
	var out bytes.Buffer
	a := &app{err: &out, errWidth: 80, getenv: func(string) string { return "" }}
	p := a.progress(runOptions{quiet: true})
	p.Start(1)
	p.Done(&eval.Result{Outcome: eval.Pass}, eval.Spent{})
	p.Finish()
	if out.Len() > 0 {
		t.Errorf("%q", out.String())
	}
}
