package session

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/clients/wire"
	"github.com/evalrun/evalrun/internal/files"
	"github.com/evalrun/evalrun/suite"
)

// Bounds of a program that prints a token.
const (
	tokenTime   = 30 * time.Second
	tokenOutput = 64 << 10
	maxToken    = 16 << 10
)

// Printed hands out the tokens that a program prints, each for its lifetime. It is safe for concurrent use.
type Printed struct {
	of     *suite.TokenProgram
	whose  string   // the service or the target, as messages name it
	keys   []string // variables that the program must not get
	closed chan struct{}

	mu      sync.Mutex
	token   string // "" before the first one
	since   time.Time
	running *printing // nil while the program is not running
}

// printing is a run of the program. After done is closed, token or err is set.
type printing struct {
	done  chan struct{}
	token string
	err   error
}

// NewPrinted returns the source of the tokens of a service or a target, which messages name as in whose. keys are variables
// that the program does not get.
func NewPrinted(of *suite.TokenProgram, whose string, keys []string) *Printed {
	return &Printed{of: of, whose: whose, keys: keys, closed: make(chan struct{})}
}

// Close stops the program if it is running.
func (p *Printed) Close() { close(p.closed) }

// Token returns a token whose lifetime has not passed. The error is an *eval.Error.
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

// Renew runs the program again after the service refused a token, unless another caller did. It returns
// false when the program prints the same token.
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

// start runs the program unless it is running. The caller holds the lock.
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

func (r *printing) wait(ctx context.Context) (string, error) {
	select {
	case <-r.done:
		return r.token, r.err
	case <-ctx.Done():
		return "", eval.Errorf(eval.KindCanceled, "canceled")
	}
}

// print runs the program. before is the last token, to be masked in what the program prints about a
// failure.
func (p *Printed) print(before string) (string, error) {
	c := p.of.Command
	switch {
	case c.Gone != nil:
		return "", p.failed(c.Gone.Error())
	case c.Path == "":
		return "", p.failed("cannot be run: the suite does not come from a folder")
	}
	command := files.Invocation{
		Path: c.Path, Args: c.Words[1:], Dir: c.Dir, Pass: p.of.Env, Keys: p.keys,
		MaxOutput: tokenOutput, Timeout: tokenTime, Stop: p.closed,
	}
	out, err := command.Output()
	switch {
	case errors.Is(err, files.ErrStopped):
		return "", eval.Errorf(eval.KindCanceled, "canceled")
	case err != nil:
		shown := wire.OfVariables(p.of.Env).OutOf(err.Error())
		shown = wire.NewSecrets(append(likeTokens(string(out)), before)...).OutOf(shown)
		return "", p.failed(wire.OutOfProse(shown)) // its standard error may have a token that its output lacks
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

// likeTokens returns words of the output that may be tokens, since a failing program may print one in its
// message. A single word is a token, whatever its length.
func likeTokens(printed string) []string {
	all := strings.Fields(printed)
	if len(all) == 1 {
		return all
	}
	all = slices.DeleteFunc(all, func(word string) bool { return len(word) < minToken })
	slices.SortFunc(all, func(a, b string) int { return len(b) - len(a) })
	return all[:min(len(all), maxTokens)]
}

// Words shorter than minToken are language. maxTokens bounds the words that are masked; the longest ones
// count.
const minToken, maxTokens = 8, 32

func (p *Printed) failed(why string) error {
	return &eval.Error{
		Kind: eval.KindAuth, Origin: eval.FromLogin, Unsent: true, Retry: eval.RetryNever,
		Message: fmt.Sprintf("%s has no token: the program %q %s", p.whose, p.of.Words[0], why),
	}
}
