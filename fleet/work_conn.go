package fleet

import (
	"context"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"net/url"
	"strings"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/clients/wire"
)

func newID() string { return strings.ToLower(rand.Text()[:12]) }

// isID reports whether a text could be from newID, so that it is one part of a subject.
func isID(text string) bool {
	return text != "" && len(text) <= 12 && strings.Trim(text, "abcdefghijklmnopqrstuvwxyz234567") == ""
}

// connect connects to the server, and keeps trying while it is unavailable. Wrong credentials are bad
// input.
func (w *Worker) connect(ctx context.Context) error {
	if err := checkURL(w.config.URL); err != nil {
		return err
	}
	if w.creds.Fleet == "" {
		return eval.BadInput("%s needs credentials: name %s of its run by --creds or EVALRUN_FLEET_CREDS", w.config.URL, CredsName)
	}
	options, err := w.creds.options(w.creds.Worker, func(error) {})
	if err != nil {
		return err
	}
	w.conn, err = w.dial(ctx, append(options, nats.CustomInboxPrefix(w.creds.workerInbox(w.id)))...)
	return err
}

// dial waits until the server is available.
func (w *Worker) dial(ctx context.Context, options ...nats.Option) (*nats.Conn, error) {
	for said := false; ; {
		conn, err := nats.Connect(w.config.URL, options...)
		switch {
		case err == nil:
			return conn, nil
		case errors.Is(err, nats.ErrAuthorization), errors.As(err, new(*tls.CertificateVerificationError)):
			return nil, refusal(w.config.URL, err)
		case !said:
			w.config.Notice("waiting for the coordinator at " + w.config.URL)
			said = true
		}
		if err := w.without(); err != nil {
			return nil, err
		}
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case sig := <-w.config.Leave:
			return nil, eval.WithCode(eval.SignalCode(sig.String()), errors.New("interrupted"))
		case <-time.After(reconnected):
		}
	}
}

// without returns why a worker without a coordinator waits no longer: errDone when the run is complete. It is nil while the
// worker waits.
func (w *Worker) without() error {
	switch {
	case w.creds.ended():
		w.say("the run is complete")
		return errDone
	case time.Since(*w.heard.Load()) > w.config.Wait:
		return eval.Incomplete("no coordinator answered at %s for %s", w.config.URL, w.config.Wait)
	}
	return nil
}

// options returns the options of every connection. A lost connection is retried forever. A connection without a sign of
// life counts as lost after a minute: a process that was stopped for less still has its answers.
func (c *Creds) options(seed string, failed func(error)) ([]nats.Option, error) {
	out := []nats.Option{
		nats.MaxReconnects(-1), nats.ReconnectWait(reconnected), nats.ReconnectJitter(100*time.Millisecond, 100*time.Millisecond),
		nats.PingInterval(20 * time.Second), nats.MaxPingsOutstanding(2), nats.ReconnectBufSize(-1), nats.IgnoreAuthErrorAbort(),
		nats.ErrorHandler(func(_ *nats.Conn, _ *nats.Subscription, err error) { failed(err) }),
	}
	switch {
	case c.Login != "":
		out = append(out, nats.UserCredentialBytes([]byte(c.Login)))
	case seed != "":
		key, err := withKey(seed)
		if err != nil {
			return nil, err
		}
		out = append(out, key)
	}
	if c.CA != "" {
		pool := x509.NewCertPool()
		if !pool.AppendCertsFromPEM([]byte(c.CA)) {
			return nil, eval.BadInput("the credentials hold no certificate where one should be")
		}
		out = append(out, nats.Secure(&tls.Config{RootCAs: pool, MinVersion: tls.VersionTLS12}))
	}
	return out, nil
}

// checkURL refuses addresses without encryption, except on this machine.
func checkURL(text string) error {
	u, err := url.Parse(text)
	switch {
	case err != nil || u.Host == "" || u.Scheme != "nats" && u.Scheme != "tls":
		return eval.BadInput("%q is no address of a fleet, such as nats://127.0.0.1:4222 or tls://fleet.example:4222", text)
	case u.User != nil:
		return eval.BadInput("the address of a fleet holds no secret: name the file of credentials by --creds")
	case u.Scheme == "nats" && !wire.IsLoopback(u.Hostname()):
		return eval.BadInput("%s is not encrypted and not on this machine: use tls://", text)
	}
	return nil
}

// refusal explains why a server refused a connection.
func refusal(address string, err error) error {
	switch {
	case errors.Is(err, nats.ErrAuthorization):
		return eval.BadInput("%s refuses the credentials: use the file %s of this run", address, CredsName)
	case errors.As(err, new(*tls.CertificateVerificationError)):
		return eval.BadInput(
			"the certificate of %s is not trusted: %w; `serve --tls-ca FILE` puts the right one into the credentials", address, err,
		)
	}
	return eval.Incomplete("%s cannot be reached: %w", address, err)
}

// leave waits for the calls in progress and returns why. Another signal, or half a minute, abandons them.
func (w *Worker) leave(why error, cancel context.CancelFunc) error {
	abandon := func() {
		cancel()
		_, _ = w.hello(hello{Worker: w.id, Leaving: true}) // otherwise the probes find out
	}
	w.config.Notice("leaving: the calls in progress end first; a further interrupt abandons them")
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		w.endCalls()
	}()
	select {
	case <-ended: // a message could overtake the last answers, so the probes have to find out
		_ = w.conn.Flush()
	case <-w.config.Leave:
		abandon()
	case <-time.After(drainTime):
		abandon()
	}
	return why
}

// endCalls waits for the calls in progress, and for calls that were sent before the coordinator knew.
func (w *Worker) endCalls() {
	if w.hears == nil {
		return
	}
	if _, err := w.hello(hello{Worker: w.id, Ending: true}); err == nil {
		deaf := make(chan struct{})
		w.hears.SetClosedHandler(func(string) { close(deaf) })
		if w.hears.Drain() == nil {
			<-deaf
		}
	}
	w.open.Wait()
}
