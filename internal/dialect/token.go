package dialect

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/program"
	"github.com/evalrun/evalrun/internal/secret"
	"github.com/evalrun/evalrun/suite"
)

// Bounds of a program that prints a token.
const (
	tokenTime   = 30 * time.Second
	tokenOutput = 64 << 10
	maxToken    = 16 << 10
)

// Printed hands out the tokens that a program prints, each as long as it lasts. It is safe for concurrent use. Close
// it.
type Printed struct {
	of     *suite.NamedService
	keys   []string // variables that the program does not get
	closed chan struct{}

	mu      sync.Mutex
	token   string // "" before the first one
	since   time.Time
	running *printing // nil: the program does not run
}

// printing is a run of the program. Once done is closed, the token is there, or err says why not.
type printing struct {
	done  chan struct{}
	token string
	err   error
}

// NewPrinted hands out the tokens of a service. Its program does not get the variables named keys.
func NewPrinted(of *suite.NamedService, keys []string) *Printed {
	return &Printed{of: of, keys: keys, closed: make(chan struct{})}
}

// Close ends the program if it runs.
func (p *Printed) Close() { close(p.closed) }

// Token is one that has not outlived its lifetime. The error is an *eval.Error.
func (p *Printed) Token(ctx context.Context) (string, error) {
	p.mu.Lock()
	if p.token != "" && (p.of.Lifetime == 0 || time.Since(p.since) < p.of.Lifetime) {
		defer p.mu.Unlock()
		return p.token, nil
	}
	run := p.start()
	p.mu.Unlock()
	return run.wait(ctx)
}

// Renew runs the program again after a token was refused, unless that was done since; false when it prints the same.
func (p *Printed) Renew(ctx context.Context, refused string) (bool, error) {
	p.mu.Lock()
	if p.token != refused {
		p.mu.Unlock()
		return true, nil
	}
	run := p.start()
	p.mu.Unlock()
	token, err := run.wait(ctx)
	return err == nil && token != refused, err
}

// start runs the program, unless it runs. The caller holds the lock.
func (p *Printed) start() *printing {
	if p.running != nil {
		return p.running
	}
	run := &printing{done: make(chan struct{})}
	p.running = run
	hidden := p.token
	go func() {
		run.token, run.err = p.print(hidden)
		p.mu.Lock()
		if p.running = nil; run.err == nil {
			p.token, p.since = run.token, time.Now()
		}
		p.mu.Unlock()
		close(run.done)
	}()
	return run
}

// wait waits for the token.
func (r *printing) wait(ctx context.Context) (string, error) {
	select {
	case <-r.done:
		return r.token, r.err
	case <-ctx.Done():
		return "", eval.Errorf(eval.KindCanceled, "canceled")
	}
}

// print runs the program. before is the last token, which the program may repeat in what it says.
func (p *Printed) print(before string) (string, error) {
	c := p.of.Login
	switch {
	case c.Gone != nil:
		return "", p.failed(c.Gone.Error())
	case c.Path == "":
		return "", p.failed("cannot be run: the suite does not come from a folder")
	}
	command := program.Invocation{
		Path: c.Path, Args: c.Words[1:], Dir: c.Dir, Pass: p.of.LoginEnv, Keys: p.keys,
		MaxOutput: tokenOutput, Timeout: tokenTime, Stop: p.closed,
	}
	out, err := command.Output()
	switch {
	case errors.Is(err, program.ErrStopped):
		return "", eval.Errorf(eval.KindCanceled, "canceled")
	case err != nil:
		shown := secret.OfVariables(p.of.LoginEnv).OutOf(err.Error())
		shown = secret.New(append(likeTokens(string(out)), before)...).OutOf(shown)
		return "", p.failed(secret.OutOfProse(shown)) // it may have printed a token there alone
	}
	token := strings.TrimSpace(string(out))
	switch {
	case token == "":
		return "", p.failed("printed nothing")
	case len(token) > maxToken || strings.ContainsFunc(token, func(r rune) bool { return r <= ' ' || r > '~' }):
		return "", p.failed("printed more than a token: a single line without spaces is expected, on standard output")
	}
	return token, nil
}

// likeTokens are words of what a program printed that may be tokens: it may have failed after it had one, and say it
// again. A word by itself is one, whatever its length.
func likeTokens(printed string) []string {
	all := strings.Fields(printed)
	if len(all) == 1 {
		return all
	}
	all = slices.DeleteFunc(all, func(word string) bool { return len(word) < minToken })
	slices.SortFunc(all, func(a, b string) int { return len(b) - len(a) })
	return all[:min(len(all), maxTokens)]
}

// Shorter words than minToken are language. maxTokens bounds how many words are looked for, the longest ones.
const minToken, maxTokens = 8, 32

// failed is the error of a program that gave no token.
func (p *Printed) failed(why string) error {
	return &eval.Error{
		Kind: eval.KindAuth, OfLogin: true, Unsent: true, Permanent: true,
		Message: fmt.Sprintf("the service `%s` has no token: the program %q %s", p.of.Name, p.of.Login.Words[0], why),
	}
}
