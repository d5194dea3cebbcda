package main

import (
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/evalrun/evalrun/internal/testing/expect"
)

// box is the built program in a folder of its own, with a service that a test makes up.
type box struct {
	t         *testing.T
	dir       string
	evalrun   string
	url       string
	env       []string
	out, errs string // of the last command
}

func newBox(t *testing.T, service http.Handler, files map[string]string) *box {
	t.Helper()
	b := &box{t: t, dir: t.TempDir(), evalrun: program(t)}
	b.env = append(os.Environ(), "EVALRUN_API_KEY=key-of-the-box", "NO_COLOR=1", "CI=", "HOME="+b.dir, "XDG_CONFIG_HOME="+b.path("config"))
	if service != nil {
		server := httptest.NewServer(service)
		t.Cleanup(server.Close)
		b.url = server.URL
		b.env = append(b.env, "EVALRUN_BASE_URL="+server.URL)
	}
	for name, text := range files {
		b.write(name, text)
	}
	return b
}

func (b *box) path(name string) string { return filepath.Join(b.dir, filepath.FromSlash(name)) }

func (b *box) write(name, text string) {
	b.t.Helper()
	expect.OK(b.t, os.MkdirAll(filepath.Dir(b.path(name)), 0o755))
	expect.OK(b.t, os.WriteFile(b.path(name), []byte(text), 0o600))
}

func (b *box) read(name string) string { return readText(b.t, b.dir, name) }

func (b *box) command(args ...string) *exec.Cmd {
	cmd := exec.Command(b.evalrun, args...)
	cmd.Dir, cmd.Env = b.dir, b.env
	return cmd
}

func (b *box) exits(want int, args ...string) {
	b.t.Helper()
	cmd := b.command(args...)
	var out, errs strings.Builder
	cmd.Stdout, cmd.Stderr = &out, &errs
	err := cmd.Run()
	b.out, b.errs = out.String(), errs.String()
	if got := cmd.ProcessState.ExitCode(); got != want {
		b.t.Fatalf("evalrun %s: exit %d, want %d (%v)\n%.4000s%.4000s", strings.Join(args, " "), got, want, err, b.out, b.errs)
	}
}

func (b *box) says(words ...string) {
	b.t.Helper()
	for _, w := range words {
		if !strings.Contains(b.out+b.errs, w) {
			b.t.Errorf("got\n%.4000s%.4000s\nwant it to contain %q", b.out, b.errs, w)
		}
	}
}
