package session_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/session"
	"github.com/evalrun/evalrun/internal/testing/expect"
	"github.com/evalrun/evalrun/suite"
)

// login is a program that prints tokens, and notes each of its runs.
type login struct {
	dir string
	*session.Printed
}

func newLogin(t *testing.T, script string) login {
	t.Helper()
	dir := t.TempDir()
	expect.OK(t, os.WriteFile(filepath.Join(dir, "login.sh"), []byte("echo run >>runs\n"+script+"\n"), 0o600))
	p := session.NewPrinted(&suite.TokenProgram{
		Command: &suite.Command{Words: []string{"sh", "login.sh"}, Path: "/bin/sh", Dir: dir},
	}, "the service `s`", nil)
	t.Cleanup(func() {
		p.Close()
		_, _ = p.Token(context.Background()) // which waits until nothing writes into the folder any more
	})
	return login{dir, p}
}

func (l *login) runs(t *testing.T) int {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(l.dir, "runs"))
	expect.OK(t, err)
	return strings.Count(string(text), "run")
}

func TestATokenIsPrintedOnceForAllWhoNeedIt(t *testing.T) {
	t.Parallel()
	l := newLogin(t, "echo '  token-of-all  '")
	var asking sync.WaitGroup
	for range 10 {
		asking.Go(func() {
			token, err := l.Token(t.Context())
			if token != "token-of-all" || err != nil {
				t.Errorf("got the token %q, %v, want token-of-all", token, err)
			}
		})
	}
	asking.Wait()
	expect.Same(t, "runs of the program", l.runs(t), 1)
}

func TestARefusedTokenIsRenewedUnlessThatWasDone(t *testing.T) {
	t.Parallel()
	l := newLogin(t, "echo token-$(wc -l <runs | tr -d ' ')")
	first, err := l.Token(t.Context())
	expect.OK(t, err)
	for i, test := range []struct {
		refused string
		runs    int
	}{{first, 2}, {first, 2}, {"another", 2}, {"token-2", 3}} {
		renewed, err := l.Renew(t.Context(), test.refused)
		expect.OK(t, err)
		expect.Same(t, "renewed "+test.refused, renewed, true)
		expect.Same(t, fmt.Sprint("runs after refusal ", i+1), l.runs(t), test.runs)
	}
	same := newLogin(t, "echo always-this")
	token, err := same.Token(t.Context())
	expect.OK(t, err)
	renewed, err := same.Renew(t.Context(), token)
	expect.OK(t, err)
	expect.Same(t, "renewed by the same token", renewed, false)
}

func TestAProgramThatPrintsNoTokenIsAnErrorOfTheLogin(t *testing.T) {
	t.Parallel()
	for script, want := range map[string]string{
		"true":                                 "printed nothing",
		`printf ' \n\t\n'`:                     "printed nothing",
		"echo one; echo two":                   "printed more than a token",
		"echo Bearer abc":                      "printed more than a token",
		"echo שלום":                            "printed more than a token",
		`printf 'a\000b'`:                      "printed more than a token",
		"head -c 20000 /dev/zero | tr '\\0' x": "printed more than a token",
		"exit 3":                               "exit status 3",
	} {
		l := newLogin(t, script)
		token, err := l.Token(t.Context())
		e := eval.AsError(err)
		if e == nil || token != "" {
			t.Errorf("%s: got the token %q, want an error", script, token)
			continue
		}
		expect.Contains(t, script, e.Message, "the service `s` has no token: the program \"sh\" ")
		expect.Contains(t, script, e.Message, want)
		expect.Same(t, "kind and ways of "+script, []any{e.Kind, e.Origin, e.Unsent, e.Retry},
			[]any{eval.KindAuth, eval.FromLogin, true, eval.RetryNever})
	}
}

// A program that fails after it had a token may say it in its error: it must not reach a report.
func TestErrorsOfAProgramShowNoToken(t *testing.T) {
	t.Parallel()
	for _, script := range []string{
		"echo hushhush-1; echo 'cannot keep hushhush-1' >&2; exit 1",
		"echo 'new token hushhush-1'; echo 'hushhush-1 is refused' >&2; exit 1",
	} {
		l := newLogin(t, script)
		_, err := l.Token(t.Context())
		if err == nil || strings.Contains(err.Error(), "hushhush-1") {
			t.Errorf("%s: got the error %v, want one without the token", script, err)
		}
	}
	l := newLogin(t, "if [ $(wc -l <runs) -gt 1 ]; then echo 'hushhush-1 is still good' >&2; exit 1; fi; echo hushhush-1")
	token, err := l.Token(t.Context())
	expect.OK(t, err)
	if _, err := l.Renew(t.Context(), token); err == nil || strings.Contains(err.Error(), token) {
		t.Errorf("renewing: got the error %v, want one without the token of before", err)
	}
	again, err := l.Token(t.Context())
	expect.OK(t, err)
	expect.Same(t, "token after a renewal that failed", again, token)
}

func TestWaitingForATokenEndsWithItsContextAndWithClose(t *testing.T) {
	t.Parallel()
	l := newLogin(t, "exec tail -f /dev/null")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := l.Token(ctx)
	if e := eval.AsError(err); e == nil || e.Kind != eval.KindCanceled {
		t.Errorf("an ended context: got %v, want that it was canceled", err)
	}
	closing := session.NewPrinted(&suite.TokenProgram{
		Command: &suite.Command{Words: []string{"sh"}, Path: "/bin/sh", Dir: l.dir},
	}, "the service `s`", nil)
	closing.Close()
	if token, err := closing.Token(t.Context()); err == nil {
		t.Errorf("a login that was closed: got the token %q, want an error", token)
	}
}
