package main

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/json"
	"encoding/pem"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nkeys"

	"github.com/evalrun/evalrun/fleet"
)

// connect connects with a key, as an attacker who has it would.
func connect(t *testing.T, url, seed string, failed func(error)) *nats.Conn {
	t.Helper()
	pair, err := nkeys.FromSeed([]byte(seed))
	if err != nil {
		t.Fatal(err)
	}
	public, err := pair.PublicKey()
	if err != nil {
		t.Fatal(err)
	}
	onError := nats.ErrorHandler(func(_ *nats.Conn, _ *nats.Subscription, err error) { failed(err) })
	conn, err := nats.Connect(url, nats.Nkey(public, pair.Sign), onError)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(conn.Close)
	return conn
}

// A worker's key hears calls and sends answers of its own run, and nothing else.
func TestWorkersKeyDoesNoMore(t *testing.T) {
	t.Parallel()
	b := newBox(t, newService(t, time.Millisecond))
	b.write("many.csv", rows(3))
	b.write("many.yaml", many)
	coordinator := b.serve("many.yaml", "--out", "run")
	creds, err := fleet.ReadCreds(filepath.Join(b.dir, "run", "fleet.creds"))
	if err != nil {
		t.Fatal(err)
	}
	refused := make(chan error, 100)
	conn := connect(t, coordinator.url, creds.Worker, func(err error) { refused <- err })
	root := "evr." + creds.Fleet
	for what, try := range map[string]func() error{
		"hear everything":         func() error { _, err := conn.SubscribeSync(">"); return err },
		"hear other runs":         func() error { _, err := conn.SubscribeSync("evr.>"); return err },
		"hear what workers say":   func() error { _, err := conn.SubscribeSync(root + ".up.>"); return err },
		"hear answers":            func() error { _, err := conn.SubscribeSync(root + ".in.c.>"); return err },
		"watch the server":        func() error { _, err := conn.SubscribeSync("$SYS.>"); return err },
		"send calls":              func() error { return conn.Publish(root+".down.x.call", nil) },
		"send to another run":     func() error { return conn.Publish("evr.other.up.hello", nil) },
		"use the server's stores": func() error { return conn.Publish("$JS.API.INFO", nil) },
	} {
		if err := try(); err != nil {
			t.Fatal(err)
		}
		if err := conn.Flush(); err != nil {
			t.Fatal(err)
		}
		select {
		case err := <-refused:
			if !strings.Contains(strings.ToLower(err.Error()), "permissions violation") {
				t.Errorf("%s: %v, want a refusal", what, err)
			}
		case <-time.After(20 * time.Second):
			t.Errorf("a worker's key may %s, want it refused", what)
		}
	}
}

// Nothing that travels holds a worker's key, or the coordinator's. The coordinator's own key hears all of it.
func TestNoKeyTravels(t *testing.T) {
	t.Parallel()
	s := newService(t, time.Millisecond)
	b := newBox(t, s)
	b.write("many.csv", rows(50))
	b.write("many.yaml", many)
	coordinator := b.serve("many.yaml", "--out", "run")
	var master struct{ Seed string }
	text, err := os.ReadFile(filepath.Join(b.dir, "run", "fleet.key"))
	if err == nil {
		err = json.Unmarshal(text, &master)
	}
	if err != nil {
		t.Fatal(err)
	}
	creds, err := fleet.ReadCreds(filepath.Join(b.dir, "run", "fleet.creds"))
	if err != nil {
		t.Fatal(err)
	}
	var mu sync.Mutex
	var traffic bytes.Buffer
	note := func(m *nats.Msg) {
		mu.Lock()
		defer mu.Unlock()
		traffic.Write(m.Data)
	}
	spy, answers := connect(t, coordinator.url, master.Seed, func(error) {}), connect(t, coordinator.url, creds.Worker, func(error) {})
	for conn, subjects := range map[*nats.Conn][]string{
		spy: {"evr." + creds.Fleet + ".up.>", "evr." + creds.Fleet + ".in.c.>"}, answers: {"evr." + creds.Fleet + ".down.>"},
	} {
		for _, subject := range subjects {
			if _, err := conn.Subscribe(subject, note); err != nil {
				t.Fatal(err)
			}
		}
		if err := conn.Flush(); err != nil {
			t.Fatal(err)
		}
	}
	const key = "a-key-that-nobody-may-see"
	b.env = append(b.env, "EVALRUN_API_KEY="+key)
	b.work(coordinator.url, "run")
	if got := coordinator.end(); got != 0 {
		t.Fatalf("exit %d, want 0:\n%s", got, coordinator.err.String())
	}
	mu.Lock()
	defer mu.Unlock()
	if !bytes.Contains(traffic.Bytes(), []byte("case 7")) || !bytes.Contains(traffic.Bytes(), []byte("yes")) {
		t.Fatal("calls and answers were not heard, want them in the traffic")
	}
	for _, secret := range []string{key, master.Seed, creds.Worker} {
		if bytes.Contains(traffic.Bytes(), []byte(secret)) {
			t.Error("a key travels, want none")
		}
	}
}

// certificate makes a certificate for this machine that signs itself, in two files of PEM.
func (b *box) certificate() {
	b.t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		b.t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "fleet"}, NotBefore: time.Now().Add(-time.Hour),
		NotAfter: time.Now().Add(time.Hour), IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, DNSNames: []string{"localhost"},
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign,
	}
	cert, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		b.t.Fatal(err)
	}
	private, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		b.t.Fatal(err)
	}
	b.write("cert.pem", string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: cert})))
	b.write("key.pem", string(pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: private})))
}

// Beyond loopback everything is encrypted, and who has no credentials stays out.
func TestBeyondLoopbackEverythingIsEncrypted(t *testing.T) {
	t.Parallel()
	s := newService(t, time.Millisecond)
	b := newBox(t, s)
	b.write("many.csv", rows(20))
	b.write("many.yaml", many)
	b.certificate()
	coordinator := b.serve("many.yaml", "--out", "run", "--listen", "0.0.0.0:0", "--host", "localhost", "--tls-cert", "cert.pem", "--tls-key",
		"key.pem", "--tls-ca", "cert.pem")
	if !strings.HasPrefix(coordinator.url, "tls://localhost:") {
		t.Fatalf("the address is %s, want one of tls://localhost", coordinator.url)
	}
	if anybody := b.start("work", "--nats", coordinator.url); anybody.end() != 2 {
		t.Errorf("a worker without credentials: exit %d, want 2\n%s", anybody.ProcessState.ExitCode(), anybody.err.String())
	}
	if s.count() != 0 {
		t.Error("a call was sent, want none")
	}
	worker := b.work(coordinator.url, "run")
	if got := coordinator.end(); got != 0 {
		t.Errorf("exit %d, want 0:\n%s\n%s", got, coordinator.err.String(), worker.err.String())
	}
}

// freePort is a port that is free now.
func freePort(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	_, port, err := net.SplitHostPort(l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	return port
}
