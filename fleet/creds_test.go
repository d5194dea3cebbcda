package fleet

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/testing/expect"
)

func newTestCreds(t *testing.T) *Creds {
	t.Helper()
	c, err := NewCreds()
	expect.OK(t, err)
	return c
}

func TestCredentialsAreReadAsWrittenWithoutTheCoordinatorsKey(t *testing.T) {
	t.Parallel()
	c := newTestCreds(t)
	c.URL, c.CA, c.Login = "tls://fleet.example:4222", "-----BEGIN\n\"שלום\"\n", "login"
	dir := t.TempDir()
	expect.OK(t, c.write(dir))
	name := filepath.Join(dir, CredsName)
	got, err := ReadCreds(name)
	expect.OK(t, err)
	want := *c
	want.Master, want.File = "", name
	expect.Same(t, "credentials", *got, want)
	data, err := os.ReadFile(name)
	expect.OK(t, err)
	if strings.Contains(string(data), c.Master) {
		t.Errorf("got the coordinator's key in %s, want it left out", CredsName)
	}
	info, err := os.Stat(name)
	expect.OK(t, err)
	expect.Same(t, "mode", fmt.Sprint(info.Mode()), "-rw-------")
}

func TestNewCredentialsAreOnesOfTheirOwn(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	for range 20 {
		c := newTestCreds(t)
		for _, secret := range []string{c.Fleet, c.Worker, c.Master} {
			if seen[secret] || secret == "" {
				t.Fatalf("got %q twice, want names and keys that are new", secret)
			}
			seen[secret] = true
		}
		if strings.Trim(c.Fleet, "abcdefghijklmnopqrstuvwxyz234567") != "" || len(c.Fleet) != 16 {
			t.Errorf("got the name %q, want 16 letters and digits, which subjects may have", c.Fleet)
		}
	}
}

func TestFilesThatHoldNoCredentialsAreBadInput(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for name, text := range map[string]string{
		"empty": "", "cut": `{"url":"nats://127.0.0.1:1","flee`, "a list": "[]",
		"without a fleet": `{"url":"x","worker":"y"}`, "binary": "\x00\xff",
	} {
		at := filepath.Join(dir, name)
		expect.OK(t, os.WriteFile(at, []byte(text), 0o600))
		_, err := ReadCreds(at)
		expect.Same(t, "exit code of "+name, eval.CodeOf(err), eval.CodeBadInput)
		expect.Contains(t, name, fmt.Sprint(err), "holds no credentials of a fleet; the file is fleet.creds of a run directory")
	}
	for at, want := range map[string]string{
		filepath.Join(dir, "gone"): "`evalrun-fleet serve` writes fleet.creds into its run directory", dir: "the credentials cannot be read",
	} {
		_, err := ReadCreds(at)
		expect.Same(t, "exit code", eval.CodeOf(err), eval.CodeBadInput)
		expect.Contains(t, "error", fmt.Sprint(err), want)
	}
}

// matches reports whether a pattern of subjects takes a subject: > is the rest.
func matches(pattern, subject string) bool {
	rest, ok := strings.CutSuffix(pattern, ">")
	return pattern == subject || ok && strings.HasPrefix(subject, rest) && subject != rest
}

// Two fleets on one server, and the two sides of one, never hear what is for the other.
func TestSubjectsOfFleetsAndSidesAreApart(t *testing.T) {
	t.Parallel()
	one, other := &Creds{Fleet: "abc"}, &Creds{Fleet: "abcd"}
	expect.Same(t, "up", one.up("hello"), "evr.abc.up.hello")
	expect.Same(t, "down", one.down("w1", "call"), "evr.abc.down.w1.call")
	for name, test := range map[string]struct {
		pattern, subject string
		want             bool
	}{
		"workers hear what is sent to one":     {one.workersHear(), one.down("w", "call"), true},
		"workers send hellos":                  {one.workersSend(), one.up("hello"), true},
		"workers answer the coordinator":       {one.answers(), one.coordinatorInbox() + ".x.1", true},
		"the coordinator answers workers":      {one.workersInboxes(), one.workerInbox("w") + ".x.1", true},
		"workers do not hear what others send": {one.workersHear(), one.up("hello"), false},
		"workers do not send calls":            {one.workersSend(), one.down("w", "call"), false},
		"no worker reads answers to another":   {one.answers(), one.workerInbox("w") + ".x.1", false},
		"another fleet hears no call":          {other.workersHear(), one.down("w", "call"), false},
		"a fleet hears no call of another":     {one.workersHear(), other.down("w", "call"), false},
		"another fleet reads no answers":       {other.answers(), one.coordinatorInbox() + ".x.1", false},
	} {
		if got := matches(test.pattern, test.subject); got != test.want {
			t.Errorf("%s: %s takes %s: got %v, want %v", name, test.pattern, test.subject, got, test.want)
		}
	}
}

func TestAddressesThatWouldShowWhatTravelsAreRefused(t *testing.T) {
	t.Parallel()
	for address, want := range map[string]string{
		"nats://127.0.0.1:4222":       "",
		"nats://localhost:4222":       "",
		"nats://[::1]:4222":           "",
		"tls://fleet.example:4222":    "",
		"nats://fleet.example:4222":   "is not encrypted and not on this machine: use tls://",
		"nats://0.0.0.0:4222":         "is not encrypted and not on this machine",
		"nats://127.0.0.1.example":    "is not encrypted and not on this machine",
		"tls://user:secret@a.example": "the address of a fleet holds no secret: name the file of credentials by --creds",
		"http://127.0.0.1:4222":       "is no address of a fleet",
		"127.0.0.1:4222":              "is no address of a fleet",
		"nats://":                     "is no address of a fleet",
		"":                            "is no address of a fleet",
		"tls://\x00":                  "is no address of a fleet",
	} {
		err := checkURL(address)
		if want == "" {
			expect.Same(t, fmt.Sprintf("error of %q", address), err, nil)
			continue
		}
		expect.Contains(t, fmt.Sprintf("error of %q", address), fmt.Sprint(err), want)
		expect.Same(t, fmt.Sprintf("exit code of %q", address), eval.CodeOf(err), eval.CodeBadInput)
	}
}

func TestKeysAndCertificatesThatAreNoneAreBadInput(t *testing.T) {
	t.Parallel()
	c := newTestCreds(t)
	_, err := c.options("SU-not-a-seed", nil)
	expect.Contains(t, "error of a key", fmt.Sprint(err), "the credentials hold no key")
	expect.Same(t, "exit code of a key", eval.CodeOf(err), eval.CodeBadInput)
	c.CA = "-----BEGIN CERTIFICATE-----\ncut"
	_, err = c.options(c.Worker, nil)
	expect.Same(t, "error of a certificate", fmt.Sprint(err), "the credentials hold no certificate where one should be")
	expect.Same(t, "exit code of a certificate", eval.CodeOf(err), eval.CodeBadInput)
}
