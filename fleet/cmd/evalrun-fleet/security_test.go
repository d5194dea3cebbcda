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
	"errors"
	"fmt"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
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

// On this machine too, only the credentials of the run let a program join it, hear calls and send answers.
func TestLoopbackWantsCredentials(t *testing.T) {
	t.Parallel()
	s := newService(t, time.Millisecond)
	b := newBox(t, s)
	b.write("many.csv", rows(3))
	b.write("many.yaml", many)
	coordinator := b.serve("many.yaml", "--out", "run")
	if worker := b.start("work", "--nats", coordinator.url); worker.end() != 2 || !strings.Contains(worker.err.String(), "needs credentials") {
		t.Errorf("a worker without credentials: exit %d, want 2 and why\n%s", worker.ProcessState.ExitCode(), worker.err.String())
	}
	outsider, err := nkeys.CreateUser()
	if err != nil {
		t.Fatal(err)
	}
	public, err := outsider.PublicKey()
	if err != nil {
		t.Fatal(err)
	}
	for name, option := range map[string]nats.Option{
		"no credentials": nats.Name("x"), "another key": nats.Nkey(public, outsider.Sign),
		"a name": nats.UserInfo("worker", ""), "a token": nats.Token(""),
	} {
		if conn, err := nats.Connect(coordinator.url, option); !errors.Is(err, nats.ErrAuthorization) {
			t.Errorf("%s: got the error %v, want %v", name, err, nats.ErrAuthorization)
			if err == nil {
				conn.Close()
			}
		}
	}
	b.work(coordinator.url, "run")
	if got := coordinator.end(); got != 0 || s.count() != 3 {
		t.Errorf("exit %d and %d calls, want 0 and 3:\n%s", got, s.count(), coordinator.err.String())
	}
}

// hostile is a program with a worker's key that does as it likes.
type hostile struct {
	*nats.Conn
	creds *fleet.Creds
	hello string
}

func (b *box) hostile(url, run string) *hostile {
	b.t.Helper()
	creds, err := fleet.ReadCreds(filepath.Join(b.dir, run, "fleet.creds"))
	if err != nil {
		b.t.Fatal(err)
	}
	var master struct{ Hash string }
	text, err := os.ReadFile(filepath.Join(b.dir, run, "fleet.key"))
	if err == nil {
		err = json.Unmarshal(text, &master)
	}
	if err != nil {
		b.t.Fatal(err)
	}
	hello := fmt.Sprintf(`"version":%q,"protocol":%d,"places":2147483648,"hash":%q}`, version, fleet.Protocol, master.Hash)
	return &hostile{connect(b.t, url, creds.Worker, func(error) {}), creds, hello}
}

// join says hello as a worker.
func (h *hostile) join(t *testing.T, id string) {
	t.Helper()
	if err := h.Publish("evr."+h.creds.Fleet+".up.hello", []byte(`{"worker":"`+id+`",`+h.hello)); err != nil {
		t.Fatal(err)
	}
}

// joinUntil says hello until something happens: a coordinator that has just printed its address does not hear hellos yet.
func (h *hostile) joinUntil(t *testing.T, id string, happened <-chan bool) {
	t.Helper()
	for {
		h.join(t, id)
		select {
		case <-happened:
			return
		case <-time.After(200 * time.Millisecond):
		}
	}
}

// answer handles what the coordinator sends a worker, by the last part of the subject.
func (h *hostile) answer(t *testing.T, id string, handle func(what string, m *nats.Msg)) {
	t.Helper()
	at := "evr." + h.creds.Fleet + ".down." + id + "."
	_, err := h.Subscribe(at+"*", func(m *nats.Msg) { handle(strings.TrimPrefix(m.Subject, at), m) })
	if err == nil {
		err = h.Flush()
	}
	if err != nil {
		t.Fatal(err)
	}
}

// Hellos without a worker, however many places they claim, take no calls from those who work.
func TestSilentHellosStarveNoWorker(t *testing.T) {
	t.Parallel()
	s := newService(t, 5*time.Millisecond)
	b := newBox(t, s)
	b.write("many.csv", rows(200))
	b.write("many.yaml", many)
	coordinator := b.serve("many.yaml", "--out", "run")
	silent := b.hostile(coordinator.url, "run")
	flood := func() {
		for i := range 100 {
			silent.join(t, "silent"+string(rune('a'+i/26))+string(rune('a'+i%26)))
		}
	}
	flood()
	worker := b.work(coordinator.url, "run", "-j", "2")
	for !over(coordinator, 100*time.Millisecond) && !silent.IsClosed() && silent.IsConnected() {
		flood()
	}
	if got := coordinator.end(); got != 0 || strings.Contains(coordinator.err.String(), "gone") {
		t.Errorf("exit %d, want 0 and no call at one that is gone:\n%s", got, coordinator.err.String())
	}
	if got := worker.end(); got != 0 {
		t.Errorf("worker: exit %d, want 0:\n%s", got, worker.err.String())
	}
	if n := s.count(); n != 200 {
		t.Errorf("%d calls, want 200", n)
	}
}

// One that answers probes, but no call, holds a few calls for as long as an attempt may take, and others make them.
func TestASilentWorkerHoldsFewCalls(t *testing.T) {
	t.Parallel()
	s := newService(t, time.Millisecond)
	b := newBox(t, s)
	b.write("many.csv", rows(100))
	b.write("many.yaml", many)
	coordinator := b.serve("many.yaml", "--out", "run", "--timeout", "1s")
	silent := b.hostile(coordinator.url, "run")
	var held atomic.Int64
	probed := make(chan bool, 100)
	silent.answer(t, "silent", func(what string, m *nats.Msg) {
		switch what {
		case "probe":
			_ = m.Respond(nil)
			select {
			case probed <- true:
			default:
			}
		case "call":
			held.Add(1)
		}
	})
	silent.joinUntil(t, "silent", probed)
	worker := b.work(coordinator.url, "run", "-j", "4")
	if got := coordinator.end(); got != 0 {
		t.Errorf("exit %d, want 0:\n%s", got, coordinator.err.String())
	}
	if got := worker.end(); got != 0 {
		t.Errorf("worker: exit %d, want 0:\n%s", got, worker.err.String())
	}
	if n := held.Load(); n == 0 || n > 9 { // one for the model, and eight trials
		t.Errorf("the silent worker got %d calls, want some, at most 9", n)
	}
	for id, outcome := range b.judged("run") {
		if outcome == "error" {
			t.Errorf("the trial %s is an error, want none", id)
		}
	}
}

// An answer that claims to be endless is not fetched, and one that would take the memory is not decoded.
func TestAnswersAreBounded(t *testing.T) {
	t.Parallel()
	bomb := []byte(`={"models":[{}` + strings.Repeat(",{}", 1<<20) + `]}`)
	for name, answer := range map[string]string{
		"endless": `#{"name":"1","size":1099511627776}`, "bomb": fmt.Sprintf(`#{"name":"1","size":%d}`, len(bomb)-1),
	} {
		s := newService(t, 5*time.Millisecond)
		b := newBox(t, s)
		b.write("many.csv", rows(40))
		b.write("many.yaml", many)
		coordinator := b.serve("many.yaml", "--out", "run")
		attacker := b.hostile(coordinator.url, "run")
		var answers, pieces atomic.Int64
		answered := make(chan bool, 1000)
		attacker.answer(t, name, func(what string, m *nats.Msg) {
			switch what {
			case "probe":
				_ = m.Respond(nil)
			case "call":
				answers.Add(1)
				_ = m.Respond([]byte(answer))
				answered <- true
			case "piece":
				var want struct{ From int }
				_ = json.Unmarshal(m.Data, &want)
				pieces.Add(1)
				_ = m.Respond(bomb[min(1+want.From, len(bomb)):min(1+want.From+512<<10, len(bomb))])
			}
		})
		attacker.joinUntil(t, name, answered)
		worker := b.work(coordinator.url, "run", "-j", "4")
		const barred = "gets no more calls: a message that is none of a fleet"
		if got := coordinator.end(); got != 0 || !strings.Contains(coordinator.err.String(), barred) {
			t.Errorf("%s: exit %d, want 0 and %q:\n%s%s", name, got, barred, coordinator.out.String(), coordinator.err.String())
		}
		if got := worker.end(); got != 0 {
			t.Errorf("%s: worker: exit %d, want 0:\n%s", name, got, worker.err.String())
		}
		if n := pieces.Load(); name == "endless" && n > 0 || answers.Load() > 9 {
			t.Errorf("%s: %d pieces of %d answers were fetched, want none if endless, and at most 9 answers", name, n, answers.Load())
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
