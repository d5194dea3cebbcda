package fleet

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"

	"github.com/evalrun/evalrun"
	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/testing/expect"
	"github.com/evalrun/evalrun/runner"
)

// started is a server on this machine for new credentials.
func started(t *testing.T) (*Creds, *server.Server) {
	t.Helper()
	c := newTestCreds(t)
	s, err := startServer(c, "127.0.0.1:0", nil)
	expect.OK(t, err)
	t.Cleanup(func() {
		s.Shutdown()
		s.WaitForShutdown()
	})
	c.URL = address(s, "", false)
	return c, s
}

// connected connects with the server of this process. Refusals of the server go into the channel.
func connected(t *testing.T, c *Creds, s *server.Server, seed, inbox string) (*nats.Conn, <-chan error) {
	t.Helper()
	refused := make(chan error, 8)
	options, err := c.options(seed, func(err error) { refused <- err })
	expect.OK(t, err)
	conn, err := nats.Connect("", append(options, nats.InProcessServer(s), nats.CustomInboxPrefix(inbox))...)
	expect.OK(t, err)
	t.Cleanup(conn.Close)
	return conn, refused
}

func TestLongTextsTravelInPieces(t *testing.T) {
	t.Parallel()
	c, s := started(t)
	up, _ := connected(t, c, s, c.Master, c.coordinatorInbox())
	down, _ := connected(t, c, s, c.Worker, c.workerInbox("w"))
	shelf := newShelf()
	_, err := up.Subscribe(c.up("piece"), shelf.serve)
	expect.OK(t, err, up.Flush())
	for _, size := range []int{0, 1, wholeSize - 1, wholeSize, pieceSize, pieceSize + 1, 3 * pieceSize} {
		text := bytes.Repeat([]byte("שa"), size/3+1)[:size]
		message, forget := shelf.pack(text)
		expect.Same(t, fmt.Sprintf("whole with %d bytes", size), message[0] == markWhole, size < wholeSize)
		got, err := unpack(t.Context(), down, c.up("piece"), message)
		expect.OK(t, err)
		if !bytes.Equal(got, text) {
			t.Errorf("%d bytes: got %d other ones, want those that were sent", size, len(got))
		}
		forget()
	}
	expect.Same(t, "texts on the shelf", len(shelf.texts), 0)

	long, forget := shelf.pack(make([]byte, 2*pieceSize))
	forget()
	_, err = unpack(t.Context(), down, c.up("piece"), long)
	expect.Contains(t, "error of a text that is gone", fmt.Sprint(err), "is not there any more")
	shelf.keep("pack", []byte("short"))
	_, err = fetch(t.Context(), down, c.up("piece"), parcel{Name: "pack", Size: 4})
	expect.Contains(t, "error of a text that is longer than announced", fmt.Sprint(err), "is not there any more")
}

// A worker that is not honest cannot make calls at others, read their prompts, or answer hellos.
func TestTheServerLetsWorkersSayOnlyWhatIsTheirs(t *testing.T) {
	t.Parallel()
	c, s := started(t)
	for name, attempt := range map[string]func(*nats.Conn) error{
		"a call to another worker": func(n *nats.Conn) error { return n.Publish(c.down("other", "call"), []byte("x")) },
		"hearing hellos": func(n *nats.Conn) error {
			_, err := n.Subscribe(c.up("hello"), func(*nats.Msg) {})
			return err
		},
		"hearing answers": func(n *nats.Conn) error {
			_, err := n.Subscribe(c.answers(), func(*nats.Msg) {})
			return err
		},
		"hearing all": func(n *nats.Conn) error {
			_, err := n.Subscribe(">", func(*nats.Msg) {})
			return err
		},
		"another fleet": func(n *nats.Conn) error { return n.Publish((&Creds{Fleet: "other"}).up("hello"), nil) },
	} {
		conn, refused := connected(t, c, s, c.Worker, c.workerInbox("w"))
		expect.OK(t, attempt(conn), conn.Flush())
		select {
		case err := <-refused:
			if !errors.Is(err, nats.ErrPermissionViolation) {
				t.Errorf("%s: got the error %v, want %v", name, err, nats.ErrPermissionViolation)
			}
		case <-time.After(5 * time.Second):
			t.Errorf("%s: got no refusal, want %v", name, nats.ErrPermissionViolation)
		}
		conn.Close()
	}
}

// work runs a worker that waits for nothing.
func work(t *testing.T, c *Creds, version string, o evalrun.Options) error {
	t.Helper()
	return Work(t.Context(), WorkerConfig{
		Creds: c, URL: c.URL, Places: 1, Version: version, Options: o, Notice: func(string) {}, Leave: make(chan os.Signal),
	})
}

func TestAWorkerOfAnotherVersionEndsWithBadInput(t *testing.T) {
	t.Parallel()
	c, s := started(t)
	up, _ := connected(t, c, s, c.Master, c.coordinatorInbox())
	coordinator := newCoordinator(c, "v1", func(string) {})
	expect.OK(t, coordinator.begin(up, []byte("pack")))
	err := work(t, c, "v2", evalrun.Options{})
	expect.Same(t, "error", fmt.Sprint(err), "the coordinator is evalrun-fleet v1, and this worker is v2: install the same version on both")
	expect.Same(t, "exit code", eval.CodeOf(err), eval.CodeBadInput)
}

func TestAWorkerThatCannotReadThePackSaysSoAndIsNotWaitedFor(t *testing.T) {
	t.Parallel()
	c, s := started(t)
	up, _ := connected(t, c, s, c.Master, c.coordinatorInbox())
	coordinator := newCoordinator(c, "v1", func(string) {})
	expect.OK(t, coordinator.begin(up, []byte("no archive")))
	err := work(t, c, "v1", evalrun.Options{})
	expect.Contains(t, "error", fmt.Sprint(err), "what the coordinator sent is no archive")
	expect.Same(t, "exit code", eval.CodeOf(err), eval.CodeIncomplete)
	expect.Same(t, "the coordinator expects workers", coordinator.expects(), false)
}

func TestAWorkerWithOtherCredentialsIsRefused(t *testing.T) {
	t.Parallel()
	c, _ := started(t)
	other := newTestCreds(t)
	other.URL = c.URL
	err := work(t, other, "v1", evalrun.Options{})
	expect.Contains(t, "error", fmt.Sprint(err), "refuses the credentials: use the file fleet.creds of this run")
	expect.Same(t, "exit code", eval.CodeOf(err), eval.CodeBadInput)
}

func TestServingRefusesWhatItCannotUse(t *testing.T) {
	t.Parallel()
	dir := folder(t, map[string]string{
		"run.jsonl": "", "single/run.jsonl": "{}\n", "cut/fleet.creds": `{"fleet":"a"`, "other/fleet.creds": `{"fleet":"abc","worker":"x"}`,
		"s.yaml": "version: 1\nname: s\ntargets: [{name: t, model: svc-pro}]\nprompts: [{name: p, text: hi}]\n" +
			"cases: [{name: a, scorers: [{contains: x}]}]\n",
	})
	for name, test := range map[string]struct {
		config ServeConfig
		out    string
		want   string
	}{
		"no run directory":          {ServeConfig{}, "", "name the run directory with --out"},
		"a run of a single process": {ServeConfig{}, "single", "holds a run of a single process: `evalrun resume"},
		"a fleet without its key":   {ServeConfig{}, "other", "the coordinator's key"},
		"an address without a port": {ServeConfig{Listen: "127.0.0.1"}, "a", "--listen 127.0.0.1: write HOST:PORT"},
		"an address for all":        {ServeConfig{Listen: "0.0.0.0:0"}, "b", "give a certificate by --tls-cert and --tls-key"},
		"a certificate without key": {ServeConfig{TLSCert: "x"}, "c", "--tls-cert and --tls-key go together"},
		"certificates that left":    {ServeConfig{TLSCert: "x", TLSKey: "y"}, "d", "the certificate cannot be used"},
		"a server in the clear":     {ServeConfig{NATS: "nats://fleet.example:1"}, "e", "is not encrypted and not on this machine"},
		"a login that left":         {ServeConfig{NATS: "tls://a.example:1", Login: "gone"}, "f", "the NATS credentials cannot be read"},
	} {
		config := test.config
		config.Print, config.Notice = func(string) {}, func(string) {}
		config.Options = evalrun.Options{
			Caller: runner.Caller{
				Suites: []string{filepath.Join(dir, "s.yaml")}, NoHistory: true, Version: "v1", Getenv: func(string) string { return "" },
			},
			Options: eval.Options{Emulator: eval.DemoScript},
		}
		if test.out != "" {
			config.Options.Out = filepath.Join(dir, test.out)
		}
		_, err := Serve(context.Background(), config)
		expect.Contains(t, name, fmt.Sprint(err), test.want)
		expect.Same(t, "exit code of "+name, eval.CodeOf(err), eval.CodeBadInput)
	}
}
