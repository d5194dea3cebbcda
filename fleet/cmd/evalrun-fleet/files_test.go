package main

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/evalrun/evalrun/internal/testing/expect"
)

// A file that a flag or a variable names is regular and bounded: a pipe does not hang, and a file without an end does not
// take the memory. The message names the file.
func TestNamedFilesAreRegularAndBounded(t *testing.T) {
	t.Parallel()
	b := newBox(t, newService(t, 0))
	b.write("many.csv", rows(3))
	b.write("many.yaml", many)
	endless, err := os.Create(filepath.Join(b.dir, "endless"))
	expect.OK(t, err, endless.Truncate(1<<40), endless.Close())
	expect.OK(t, syscall.Mkfifo(filepath.Join(b.dir, "pipe"), 0o600), os.Symlink("/dev/zero", filepath.Join(b.dir, "zero")))
	for _, file := range []string{"pipe", "zero", "endless"} {
		b.env = append(b.env, "EVALRUN_FLEET_CREDS="+file)
		for _, args := range []string{
			"serve many.yaml --out run --tls-cert @ --tls-key many.csv", "serve many.yaml --out run --tls-cert many.csv --tls-key @",
			"serve many.yaml --out run --tls-ca @", "serve many.yaml --out run --nats nats://127.0.0.1:1 --nats-creds @",
			"work --nats nats://127.0.0.1:1 --creds @", "work --nats nats://127.0.0.1:1",
		} {
			p := b.start(strings.Fields(strings.ReplaceAll(args, "@", file))...)
			if code := p.end(); code != 2 || !strings.Contains(p.err.String(), file) {
				t.Errorf("%s with %s: exit %d, want 2 and the name of the file\n%s", args, file, code, p.err.String())
			}
			if used, ok := p.ProcessState.SysUsage().(*syscall.Rusage); !ok || used.Maxrss > 512<<10 {
				t.Errorf("%s with %s: %d KiB of memory, want at most 512 MiB", args, file, used.Maxrss)
			}
			expect.OK(t, os.RemoveAll(filepath.Join(b.dir, "run")))
		}
	}
}
