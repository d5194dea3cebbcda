package rundir

import (
	"encoding/hex"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/evalrun/evalrun/internal/testing/expect"
)

const goodKey = "00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff"

func keyed(t *testing.T, text string) *Keys {
	t.Helper()
	path := filepath.Join(t.TempDir(), "trust.key")
	expect.OK(t, os.WriteFile(path, []byte(text), 0o600))
	return &Keys{path: path}
}

func TestAFileThatIsNoKeySignsNothing(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	good := keyed(t, goodKey+"\n").Sign([]byte("head"), dir)
	if good == "" {
		t.Fatal("got no signature by a good key, want one")
	}
	for name, text := range map[string]string{
		"empty": "", "short": goodKey[:62], "no digits": strings.Repeat("zz", 32), "an odd digit": goodKey + "0", "long": strings.Repeat(
			"00", 1<<10,
		),
	} {
		k := keyed(t, text)
		expect.Same(t, name+": signature", k.Sign([]byte("head"), dir), "")
		if k.Verify(good, []byte("head"), dir) || k.Verify("", []byte("head"), dir) {
			t.Errorf("%s: got it verified, want it refused", name)
		}
		if after, err := os.ReadFile(k.path); err != nil || string(after) != text {
			t.Errorf("%s: got the file replaced, want it as it was: %v", name, err)
		}
	}
}

// A link could lead to a file that somebody else wrote.
func TestALinkIsNoKey(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "windows" {
		t.Log("links take rights there; the rule is the same")
		return
	}
	target := keyed(t, goodKey)
	link := &Keys{path: filepath.Join(t.TempDir(), "trust.key")}
	expect.OK(t, os.Symlink(target.path, link.path))
	expect.Same(t, "signature", link.Sign([]byte("head"), "/x"), "")
}

// Every character of a signature, every byte of the header and every part of the folder counts.
func TestWhatIsSignedCannotChange(t *testing.T) {
	t.Parallel()
	k, dir, header := keyed(t, goodKey), t.TempDir(), []byte(`{"type":"run","id":"r"}`)
	s := k.Sign(header, dir)
	if !k.Verify(s, header, dir) {
		t.Fatalf("the signature %q does not verify, want that it does", s)
	}
	for i := range len(s) {
		other := []byte(s)
		other[i] ^= 1
		if k.Verify(string(other), header, dir) {
			t.Errorf("another character at %d: got it verified, want it refused", i)
		}
	}
	for i := range header {
		other := append([]byte{}, header...)
		other[i] ^= 1
		if k.Verify(s, other, dir) {
			t.Errorf("another byte at %d of the head: got it verified, want it refused", i)
		}
	}
	// Were folder and header only written one after the other, what is moved between them would not count.
	moved := string(header[0])
	if k.Verify(s, header[1:], dir+moved) || k.Verify(strings.ToUpper(s), header, dir) || k.Verify(s, header, filepath.Dir(dir)) {
		t.Error("another folder, header or spelling verifies, want none of them")
	}
	if _, err := hex.DecodeString(s); err != nil || len(s) != 64 {
		t.Errorf("got %q, want a SHA-256 in hexadecimal digits", s)
	}
}

func TestEmptyKeysVerifyNothing(t *testing.T) {
	t.Parallel()
	k := &Keys{}
	if s := k.Sign([]byte("head"), "/x"); s != "" || k.Verify(s, []byte("head"), "/x") ||
		k.Verify(strings.Repeat("0", 64), []byte("head"), "/x") {
		t.Errorf("got the signature %q, want none that is made or verified", s)
	}
}

func TestASharedKeyIsLongEnoughToBeSecret(t *testing.T) {
	t.Parallel()
	for value, want := range map[string]bool{
		"": true, "   ": true, "short": false,
		strings.Repeat("x", 15): false, " " + strings.Repeat("x", 15) + "\n": false, strings.Repeat("x", 16): true,
	} {
		_, err := Load(func(string) string { return value })
		if (err == nil) != want {
			t.Errorf("%q: %v, want taken: %t", value, err, want)
		}
		if err != nil && value != "" && strings.Contains(err.Error(), strings.TrimSpace(value)) {
			t.Errorf("got the key in %v, want none", err)
		}
	}
}
