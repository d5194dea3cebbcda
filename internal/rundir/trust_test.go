package rundir

import (
	"os"
	"path/filepath"
	"runtime"
	"sync"
	"testing"

	"github.com/evalrun/evalrun/internal/testing/expect"
)

func keys(t *testing.T, env map[string]string) *Keys {
	t.Helper()
	k, err := Load(func(name string) string { return env[name] })
	expect.OK(t, err)
	return k
}

func TestOwnKeySignsAndVerifies(t *testing.T) {
	dir, other := ownConfig(t), t.TempDir()
	k := keys(t, nil)
	if k.Verify("", []byte("head"), dir) || k.Verify("00", []byte("head"), dir) {
		t.Error("a signature verifies before any was made, want none")
	}
	s := k.Sign([]byte("head"), dir)
	link := filepath.Join(other, "link")
	expect.OK(t, os.Symlink(dir, link))
	for what, test := range map[string]struct {
		signature, header, dir string
		want                   bool
	}{
		"what was signed":      {s, "head", dir, true},
		"a link to the folder": {s, "head", link, true},
		"another head":         {s, "heat", dir, false},
		"another folder":       {s, "head", other, false},
		"another signature":    {s[1:], "head", dir, false},
	} {
		expect.Same(t, what, k.Verify(test.signature, []byte(test.header), test.dir), test.want)
	}
}

func TestTheFirstProcessToMakeAKeyWins(t *testing.T) {
	dir := ownConfig(t)
	var signing sync.WaitGroup
	signatures := make([]string, 8)
	for i := range signatures {
		signing.Go(func() { signatures[i] = keys(t, nil).Sign([]byte("head"), dir) })
	}
	signing.Wait()
	k := keys(t, nil)
	for _, s := range signatures {
		if s == "" || !k.Verify(s, []byte("head"), dir) {
			t.Errorf("%q: got it refused, want it verified", s)
		}
	}
}

// ownConfig lets keys be made in an empty folder, and returns another folder to sign for.
func ownConfig(t *testing.T) string {
	t.Helper()
	config := t.TempDir()
	t.Setenv("XDG_CONFIG_HOME", config)
	t.Setenv("HOME", config)
	return t.TempDir()
}

func TestOwnKeyIsPrivate(t *testing.T) {
	if runtime.GOOS == "windows" { // files have no modes
		return
	}
	dir := ownConfig(t)
	k := keys(t, nil)
	s := k.Sign([]byte("head"), dir)
	info, err := os.Stat(k.path)
	expect.OK(t, err)
	if got := info.Mode().Perm(); got != 0o600 {
		t.Errorf("got a key of mode %v, want 0600", got)
	}
	expect.OK(t, os.Chmod(k.path, 0o644))
	if k.Verify(s, []byte("head"), dir) || k.Sign([]byte("head"), dir) != "" {
		t.Error("a key that others can read verifies or signs, want it unused")
	}
}

func TestSharedKeySignsAndVerifies(t *testing.T) {
	t.Setenv("XDG_CONFIG_HOME", t.TempDir())
	if _, err := Load(func(string) string { return "short" }); err == nil {
		t.Error("got no error for a short key, want one")
	}
	a := keys(t, map[string]string{Variable: "a shared key of some length"})
	s := a.Sign([]byte("head"), "/one")
	if !a.Verify(s, []byte("head"), "/other") || a.Verify(s, []byte("heat"), "/one") || keys(t, nil).Verify(s, []byte("head"), "/one") {
		t.Error("the signature fails in another folder, or fits another head or key; want it to sign the head alone")
	}
	if _, err := os.Stat(a.path); err == nil {
		t.Error("a key was made, want none next to a shared one")
	}
}
