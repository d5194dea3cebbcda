package fleet

import (
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"strconv"
	"time"

	"github.com/nats-io/nats-server/v2/server"
)

// maxPayload bounds a message at the embedded server, in bytes: a piece and its head.
const maxPayload = 2 * pieceSize

// maxPending bounds what the server holds for a client that does not read, in bytes.
const maxPending = 16 << 20

// startServer starts the embedded server of a fleet at an address such as 127.0.0.1:0. certificate may be
// nil.
func startServer(c *Creds, listen string, certificate *tls.Certificate) (*server.Server, error) {
	host, portText, err := net.SplitHostPort(listen)
	if err != nil {
		return nil, err
	}
	port, err := strconv.Atoi(portText)
	if err != nil {
		return nil, fmt.Errorf("the port %q is no number", portText)
	}
	if port == 0 {
		port = server.RANDOM_PORT
	}
	o := &server.Options{
		ServerName: "evalrun-fleet", Host: host, Port: port, NoLog: true, NoSigs: true, MaxPayload: maxPayload,
		MaxPending: maxPending, WriteDeadline: 30 * time.Second,
		PingInterval: 5 * time.Second, MaxPingsOut: 2, // to notice a machine that is gone
	}
	if certificate != nil {
		o.TLSConfig = &tls.Config{Certificates: []tls.Certificate{*certificate}, MinVersion: tls.VersionTLS12}
		o.TLSTimeout = 10
	}
	if o.Nkeys, err = users(c); err != nil {
		return nil, err
	}
	s, err := server.NewServer(o)
	if err != nil {
		return nil, err
	}
	go s.Start()
	if !s.ReadyForConnections(10 * time.Second) {
		s.Shutdown()
		return nil, errors.New("the server does not begin to listen; is the port taken?")
	}
	return s, nil
}

// users returns the accounts of the coordinator and of workers. Workers may only use their own subjects.
func users(c *Creds) ([]*server.NkeyUser, error) {
	coordinator, err := publicKey(c.Master)
	if err != nil {
		return nil, err
	}
	worker, err := publicKey(c.Worker)
	if err != nil {
		return nil, err
	}
	may := func(publish, subscribe []string) *server.Permissions {
		return &server.Permissions{
			Publish: &server.SubjectPermission{Allow: publish}, Subscribe: &server.SubjectPermission{Allow: subscribe},
		}
	}
	return []*server.NkeyUser{
		{Nkey: coordinator, Permissions: may([]string{c.workersHear(), c.workersInboxes()}, []string{c.workersSend(), c.answers()})},
		{Nkey: worker, Permissions: may([]string{c.workersSend(), c.answers()}, []string{c.workersHear(), c.workersInboxes()})},
	}, nil
}

// address returns the URL of a server for workers. host is its name there, "" for the address that it
// listens on.
func address(s *server.Server, host string, secure bool) string {
	u := url.URL{Scheme: "nats", Host: s.Addr().String()}
	if secure {
		u.Scheme = "tls"
	}
	at, port, err := net.SplitHostPort(u.Host)
	if ip := net.ParseIP(at); host == "" && ip != nil && ip.IsUnspecified() { // others cannot use this address
		host, _ = os.Hostname() // without a name, the address stays
	}
	if err == nil && host != "" {
		u.Host = net.JoinHostPort(host, port)
	}
	return u.String()
}
