package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/jwt/v2"
	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nkeys"
)

// What workers have to load is kept with the run. Without it the suites are packed again, if they are the same.
func TestSuitesArePackedAgainWhenThePackIsGone(t *testing.T) {
	t.Parallel()
	s := newService(t, 20*time.Millisecond)
	b := newBox(t, s)
	b.write("many.csv", rows(60))
	b.write("many.yaml", many)
	coordinator := b.serve("many.yaml", "--out", "run")
	worker := b.work(coordinator.url, "run")
	s.begun(10)
	coordinator.kill()
	worker.kill()
	if err := os.Remove(filepath.Join(b.dir, "run", "fleet.pack")); err != nil {
		t.Fatal(err)
	}

	before := s.count()
	b.write("many.yaml", strings.Replace(many, "case {{.n}}", "number {{.n}}", 1))
	changed := b.start("serve", "many.yaml", "--out", "run")
	if got := changed.end(); got != 2 || !strings.Contains(changed.err.String(), "the suite many.yaml is not as it was") {
		t.Errorf("changed suites: exit %d, want 2:\n%s", got, changed.err.String())
	}
	if n := s.count(); n != before {
		t.Errorf("%d calls were sent for changed suites, want none", n-before)
	}

	b.write("many.yaml", many)
	coordinator = b.serve("many.yaml", "--out", "run")
	b.work(coordinator.url, "run")
	if got := coordinator.end(); got != 0 {
		t.Errorf("exit %d, want 0:\n%s", got, coordinator.err.String())
	}
	if got := b.judged("run"); len(got) != 60 {
		t.Errorf("the run file has %d trials, want 60", len(got))
	}
}

// A coordinator whose disk is full ends, and the run continues where there is room.
func TestAFullDiskEndsTheCoordinator(t *testing.T) {
	t.Parallel()
	s := newService(t, 5*time.Millisecond)
	b := newBox(t, s)
	b.write("many.csv", rows(300))
	b.write("many.yaml", many)
	narrow := *b
	narrow.through = []string{"sh", "-c", `ulimit -f 150; exec "$0" "$@"`}
	coordinator := narrow.serve("many.yaml", "--out", "run")
	worker := b.work(coordinator.url, "run", "-j", "4")
	if got := coordinator.end(); got != 4 {
		t.Fatalf("a full disk: exit %d, want 4:\n%s", got, coordinator.err.String())
	}
	kept := len(b.judged("run"))
	if kept == 0 || kept == 300 {
		t.Fatalf("%d trials are in the run file, want some", kept)
	}
	before := s.count()
	coordinator = b.serve("many.yaml", "--out", "run")
	if got := coordinator.end(); got != 0 {
		t.Errorf("exit %d, want 0:\n%s", got, coordinator.err.String())
	}
	if got := worker.end(); got != 0 {
		t.Errorf("worker: exit %d, want 0:\n%s", got, worker.err.String())
	}
	if got := b.judged("run"); len(got) != 300 {
		t.Errorf("the run file has %d trials, want 300", len(got))
	}
	if paid := s.count() - before; paid != 300-kept {
		t.Errorf("%d calls after the disk was full, want %d: those of the trials that are not kept", paid, 300-kept)
	}
}

// A cluster knows its users by credentials.
func TestAServerWithAccountsNeedsCredentials(t *testing.T) {
	t.Parallel()
	url, login := accounts(t)
	s := newService(t, time.Millisecond)
	b := newBox(t, s)
	b.write("many.csv", rows(20))
	b.write("many.yaml", many)
	b.write("user.creds", login)
	_, otherCreds := accounts(t)
	b.write("stranger.creds", otherCreds)

	for name, args := range map[string][]string{"nobody": nil, "a stranger": {"--nats-creds", "stranger.creds"}} {
		p := b.start(append([]string{"serve", "many.yaml", "--out", "refused", "--nats", url}, args...)...)
		if got := p.end(); got != 2 || !strings.Contains(p.err.String(), "refuses the credentials") {
			t.Errorf("%s: exit %d, want 2:\n%s", name, got, p.err.String())
		}
	}
	missing := b.start("serve", "many.yaml", "--out", "refused", "--nats", url, "--nats-creds", "none.creds")
	if got := missing.end(); got != 2 || !strings.Contains(missing.err.String(), "none.creds") {
		t.Errorf("a missing file: exit %d, want 2:\n%s", got, missing.err.String())
	}
	if n := s.count(); n != 0 {
		t.Errorf("%d calls were sent, want none", n)
	}

	coordinator := b.serve("many.yaml", "--out", "run", "--nats", url, "--nats-creds", "user.creds")
	worker := b.work(coordinator.url, "run") // its credentials have the login
	if got := coordinator.end(); got != 0 {
		t.Errorf("exit %d, want 0:\n%s", got, coordinator.err.String())
	}
	if got := worker.end(); got != 0 {
		t.Errorf("worker: exit %d, want 0:\n%s", got, worker.err.String())
	}
}

// accounts starts a server with an operator and an account, and returns the credentials of a user.
func accounts(t *testing.T) (url, login string) {
	t.Helper()
	pair := func(made nkeys.KeyPair, err error) (nkeys.KeyPair, string) {
		if err != nil {
			t.Fatal(err)
		}
		public, err := made.PublicKey()
		if err != nil {
			t.Fatal(err)
		}
		return made, public
	}
	signed := func(c jwt.Claims, by nkeys.KeyPair) string {
		text, err := c.Encode(by)
		if err != nil {
			t.Fatal(err)
		}
		return text
	}
	operator, ofOperator := pair(nkeys.CreateOperator())
	account, ofAccount := pair(nkeys.CreateAccount())
	user, ofUser := pair(nkeys.CreateUser())
	resolver := &server.MemAccResolver{}
	if err := resolver.Store(ofAccount, signed(jwt.NewAccountClaims(ofAccount), operator)); err != nil {
		t.Fatal(err)
	}
	nats, err := server.NewServer(&server.Options{
		Host: "127.0.0.1", Port: server.RANDOM_PORT, NoLog: true, NoSigs: true, TrustedKeys: []string{ofOperator}, AccountResolver: resolver,
	})
	if err != nil {
		t.Fatal(err)
	}
	go nats.Start()
	t.Cleanup(nats.Shutdown)
	if !nats.ReadyForConnections(20 * time.Second) {
		t.Fatal("the server does not listen, want it to within 20 seconds")
	}
	seed, err := user.Seed()
	if err != nil {
		t.Fatal(err)
	}
	creds, err := jwt.FormatUserConfig(signed(jwt.NewUserClaims(ofUser), account), seed)
	if err != nil {
		t.Fatal(err)
	}
	return nats.ClientURL(), string(creds)
}
