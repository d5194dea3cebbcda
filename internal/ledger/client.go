package ledger

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/clients/wire"
	"github.com/evalrun/evalrun/internal/files"
)

// Options configure a Client.
type Options struct {
	URL    string
	Token  string        // "" if none is needed
	CA     string        // file with additional certificates to trust; "" for none
	Wait   time.Duration // how long the ledger may be unavailable before the process gives up
	Notice func(string)  // gets messages for people
	Lost   func(reason string)
}

// Client connects a process to a ledger. It is safe for concurrent use.
type Client struct {
	options Options
	owner   string
	http    *http.Client
	stop    chan struct{}
	loops   sync.WaitGroup

	mu      sync.Mutex
	away    time.Time // start of the current outage; zero if there is none
	settled []settlement
	work    chan struct{} // has a token while there is something to settle
}

// Dial returns a client without sending anything. An error has exit code 2: the address is invalid, or
// would send the token unencrypted over a network.
func Dial(o Options) (*Client, error) {
	u, err := url.Parse(o.URL)
	switch {
	case err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https":
		return nil, eval.BadInput("--ledger takes an address such as http://127.0.0.1:8421, and not %q", o.URL)
	case u.User != nil || u.RawQuery != "" || u.Fragment != "" || strings.Trim(u.Path, "/") != "":
		return nil, eval.BadInput("--ledger takes an address without a path, a user or a query: the token is in EVALRUN_LEDGER_TOKEN")
	case u.Scheme == "http" && !wire.IsLoopback(u.Hostname()):
		return nil, eval.BadInput("--ledger %s would be reached in the clear: use https, or an address of this machine", o.URL)
	}
	trusted, err := trust(o.CA)
	if err != nil {
		return nil, err
	}
	o.URL = u.Scheme + "://" + u.Host
	c := &Client{options: o, owner: rand.Text(), stop: make(chan struct{}), work: make(chan struct{}, 1)}
	c.http = &http.Client{
		Transport: &http.Transport{
			TLSClientConfig:     &tls.Config{RootCAs: trusted, MinVersion: tls.VersionTLS12},
			MaxIdleConnsPerHost: 64,
			DialContext:         (&net.Dialer{Timeout: 10 * time.Second, KeepAlive: 15 * time.Second}).DialContext,
			IdleConnTimeout:     time.Minute,
		},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	c.loops.Go(c.settle)
	c.loops.Go(c.beat)
	return c, nil
}

// trust returns the system's certificates and those in a file; nil means only the system's.
func trust(file string) (*x509.CertPool, error) {
	if file == "" {
		return nil, nil //nolint:nilnil // the system's certificates
	}
	text, err := files.ReadFile(file, files.MaxPEM)
	if err != nil {
		return nil, eval.BadInput("--ledger-ca: %w", err)
	}
	pool, err := x509.SystemCertPool()
	if err != nil {
		pool = x509.NewCertPool()
	}
	if !pool.AppendCertsFromPEM(text) {
		return nil, eval.BadInput("--ledger-ca: %s has no certificate in PEM form: name the file that --tls-cert of the ledger names", file)
	}
	return pool, nil
}

// errLost is returned when the ledger was unavailable for too long, and when the process ends.
var errLost = errors.New("the ledger does not answer")

// Refused is the error of a call that will never be granted.
type Refused struct {
	Budget bool // a budget is spent; otherwise no entry matches the account, or the ledger refuses the process
	Reason string
}

func (r *Refused) Error() string { return r.Reason }

// Check returns what to know about calls of accounts, or a *Refused if no entry matches one of them.
func (c *Client) Check(ctx context.Context, accounts []ModelAccount) ([]CallTerms, error) {
	var out []CallTerms
	return out, c.insist(ctx, "check", accounts, &out)
}

// callGrant is permission to send a call. The caller must settle it.
type callGrant struct {
	of *Client
	id string
}

// Grant waits until the ledger grants a call. The error is a *Refused, errLost, or that of ctx.
func (c *Client) Grant(ctx context.Context, account ModelAccount, cost amount) (*callGrant, error) {
	ask := grantRequest{ID: rand.Text(), Owner: c.owner, Account: account, Cost: cost}
	for {
		var got granting
		err := c.insist(ctx, "grants", &ask, &got)
		if err != nil {
			var r *Refused
			if !errors.As(err, &r) { // the ledger may be granting it now
				c.queue(settlement{ID: ask.ID, Unsent: true})
			}
			return nil, err
		}
		if got.Granted {
			return &callGrant{c, ask.ID}, nil
		}
	}
}

// Settle reports the cost of the call, and how long the service wants no further calls.
func (g *callGrant) Settle(tokens int, money float64, retryAfter time.Duration) {
	pause := min(max(0, retryAfter), mostPause)
	g.of.queue(settlement{ID: g.id, Tokens: tokens, Money: money, RetryAfter: pause.Milliseconds()})
}

// Close settles remaining grants, within lastTry. The ledger counts the others as spent.
func (c *Client) Close() {
	close(c.stop)
	c.loops.Wait()
	c.http.CloseIdleConnections()
}

func (c *Client) queue(s settlement) {
	c.mu.Lock()
	c.settled = append(c.settled, s)
	c.mu.Unlock()
	select {
	case c.work <- struct{}{}:
	default:
	}
}

// lastTry bounds how long a process tries to settle when it ends.
const lastTry = 3 * time.Second

// settle sends settlements, many in one request, until the client ends.
func (c *Client) settle() {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	go func() {
		<-c.stop
		pause(ctx, lastTry, true, nil)
		cancel()
	}()
	for open := true; open; {
		select {
		case <-c.work:
		case <-c.stop:
			open = false
		}
		for c.settleSome(ctx) {
		}
	}
}

// mostSettled bounds the settlements in a request.
const mostSettled = 1000

// settleSome sends some settlements. It reports whether there were any and they arrived. Settlements that the ledger
// refuses are dropped: their grants end with this process, and count as spent.
func (c *Client) settleSome(ctx context.Context) bool {
	c.mu.Lock()
	some := c.settled[:min(len(c.settled), mostSettled)]
	c.mu.Unlock()
	if len(some) == 0 {
		return false
	}
	var got struct{}
	var r *Refused
	switch err := c.insist(ctx, "settlements", some, &got); {
	case errors.As(err, &r):
		c.options.Notice("the ledger refuses what calls cost: " + r.Reason)
	case err != nil:
		return false
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.settled = c.settled[len(some):]
	return true
}

// beat keeps the grants of this process: the server takes back those of a process that it has not heard of for too long.
func (c *Client) beat() {
	every := time.NewTicker(heartbeat)
	defer every.Stop()
	for {
		select {
		case <-every.C:
		case <-c.stop:
			return
		}
		ctx, cancel := context.WithTimeout(context.Background(), heartbeat)
		var got struct{}
		_ = c.send(ctx, "heartbeats", c.owner, &got) // calls will report the error
		cancel()
	}
}

// tryEvery is the time between attempts to reach the ledger.
const tryEvery = 500 * time.Millisecond

// insist sends a request until it gets a reply, or the ledger was unavailable for too long. A process that slept may read
// a reply too late: the ledger may have booked its grants as spent. So it sends the request again.
func (c *Client) insist(ctx context.Context, path string, body, into any) error {
	for {
		sent := time.Now()
		err := c.send(ctx, path, body, into)
		var r *Refused
		switch {
		case err == nil && elapsed(sent, time.Now()) >= lifetime:
			continue
		case err == nil:
			c.back()
			return nil
		case errors.As(err, &r), ctx.Err() != nil:
			return err
		case c.gone(err, sent):
			return errLost
		}
		select {
		case <-time.After(tryEvery):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// back ends an outage.
func (c *Client) back() {
	c.mu.Lock()
	was := c.away
	c.away = time.Time{}
	c.mu.Unlock()
	if !was.IsZero() {
		c.options.Notice("the ledger answers again")
	}
}

// gone records an outage, and reports whether it is too long. sent is when the failed request was sent. If this
// process slept since, the ledger may have answered meanwhile.
func (c *Client) gone(err error, sent time.Time) bool {
	c.mu.Lock()
	now := time.Now()
	first, late := c.away.IsZero(), elapsed(sent, now) > patience+slept
	switch {
	case late && first:
		c.mu.Unlock()
		return false
	case late, first:
		c.away = now
	}
	away := now.Sub(c.away)
	c.mu.Unlock()
	if first {
		c.options.Notice(fmt.Sprintf(
			"the ledger %s does not answer: %s; nothing is sent until it does, for up to %s", c.options.URL, reasonOf(err), c.options.Wait,
		))
	}
	if away < c.options.Wait {
		return false
	}
	c.options.Lost(fmt.Sprintf("the ledger %s did not answer for %s: %s", c.options.URL, c.options.Wait, reasonOf(err)))
	return true
}

// reasonOf removes the request from an error.
func reasonOf(err error) string {
	var u *url.Error
	if errors.As(err, &u) {
		return u.Err.Error()
	}
	return err.Error()
}

// mostAnswer bounds a reply, in bytes.
const mostAnswer = 1 << 20

// errSilent is the error of a request that the ledger accepted and did not answer.
var errSilent = fmt.Errorf("no answer within %s", patience)

// patience is how long a request may take: less when an outage would last too long otherwise.
func (c *Client) patience() time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.away.IsZero() {
		return patience
	}
	return max(tryEvery, min(patience, c.options.Wait-time.Since(c.away)))
}

// send sends a request once. The error is a *Refused if the ledger refuses.
func (c *Client) send(ctx context.Context, path string, body, into any) (err error) {
	ctx, cancel := context.WithTimeoutCause(ctx, c.patience(), errSilent)
	defer cancel()
	defer func() {
		if err != nil && context.Cause(ctx) == errSilent { //nolint:errorlint // it is not wrapped
			err = errSilent
		}
	}()
	data, err := json.Marshal(body)
	if err != nil {
		return &Refused{Reason: err.Error()}
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, c.options.URL+"/v1/"+path, bytes.NewReader(data))
	if err != nil {
		return &Refused{Reason: err.Error()}
	}
	req.Header.Set("Content-Type", "application/json")
	if c.options.Token != "" {
		req.Header.Set("Authorization", "Bearer "+c.options.Token)
	}
	resp, err := c.http.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close() //nolint:errcheck // only read
	text, err := io.ReadAll(io.LimitReader(resp.Body, mostAnswer))
	if err != nil {
		return err
	}
	return c.understand(resp.StatusCode, text, into)
}

func (c *Client) understand(status int, text []byte, into any) error {
	if status == http.StatusOK {
		if err := json.Unmarshal(text, into); err != nil {
			return &Refused{Reason: "what answers at " + c.options.URL + " is not a ledger of evalrun"}
		}
		return nil
	}
	var p errorReply
	known := json.Unmarshal(text, &p) == nil && p.Error != ""
	switch {
	case status >= http.StatusInternalServerError && known:
		return errors.New(p.Error)
	case status >= http.StatusInternalServerError:
		return fmt.Errorf("status %d", status)
	case !known:
		return &Refused{Reason: fmt.Sprintf("what answers at %s is not a ledger of evalrun: status %d", c.options.URL, status)}
	case status == http.StatusForbidden && p.Account != nil:
		return &Refused{Budget: true, Reason: p.Error}
	}
	return &Refused{Reason: p.Error}
}
