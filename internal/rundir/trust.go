package rundir

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/evalrun/evalrun/diag"
	"github.com/evalrun/evalrun/internal/files"
)

// Variable is the environment variable with a key that several machines share.
const Variable = "EVALRUN_TRUST_KEY"

// maxKey bounds the file of the user's own key, in bytes.
const maxKey = 1 << 10

// minShared is the least length of a shared key: a shorter one can be guessed.
const minShared = 16

// Keys sign and verify the runs of this user. The zero Keys sign nothing and verify nothing. Without a signature, a run
// directory of somebody else could pass for the user's own: resuming it would send the user's key to its address and
// start its programs.
type Keys struct {
	shared []byte // of Variable; runs that it signed may be moved
	path   string // of the user's own key
}

// Load finds the keys. The user's own is made when it is needed first. The error is about a shared key that is too short,
// or a file that is not a key. Without it, runs would be unsigned, and earlier runs would look like runs of others.
func Load(getenv func(string) string) (*Keys, error) {
	k := &Keys{shared: []byte(strings.TrimSpace(getenv(Variable)))}
	if n := len(k.shared); n > 0 && n < minShared {
		return nil, fmt.Errorf(
			"%s has %s; it takes at least %d, such as those of `openssl rand -hex 32`", Variable, diag.Count(n, "character"), minShared,
		)
	}
	if dir, err := os.UserConfigDir(); err == nil {
		k.path = filepath.Join(dir, "evalrun", "trust.key")
	}
	if _, err := k.own(); len(k.shared) == 0 && errors.Is(err, errNoKey) {
		return nil, err
	}
	return k, nil
}

// Sign signs the header of a run in a folder; "" when there is no key and none can be made.
func (k *Keys) Sign(header []byte, dir string) string {
	if len(k.shared) > 0 {
		return mac(k.shared, header, "")
	}
	key, err := k.own()
	if errors.Is(err, fs.ErrNotExist) {
		key, err = k.make()
	}
	if err != nil {
		return ""
	}
	return mac(key, header, place(dir))
}

// Verify reports whether a key signed the header. The user's own key signs the run's folder too.
func (k *Keys) Verify(signature string, header []byte, dir string) bool {
	if signature == "" {
		return false
	}
	if len(k.shared) > 0 && hmac.Equal([]byte(signature), []byte(mac(k.shared, header, ""))) {
		return true
	}
	key, err := k.own()
	return err == nil && hmac.Equal([]byte(signature), []byte(mac(key, header, place(dir))))
}

// mac is the HMAC-SHA256 (RFC 2104) of folder and header in hexadecimal digits.
func mac(key, header []byte, dir string) string {
	h := hmac.New(sha256.New, key)
	fmt.Fprintf(h, "%d %s\n", len(dir), dir)
	h.Write(header)
	return hex.EncodeToString(h.Sum(nil))
}

func place(dir string) string {
	if real, err := filepath.EvalSymlinks(dir); err == nil {
		dir = real
	}
	if abs, err := filepath.Abs(dir); err == nil {
		dir = abs
	}
	return dir
}

var errNoKey = errors.New("is not a key")

// own reads the user's key. One that others can read or write is none: they could sign with it.
func (k *Keys) own() ([]byte, error) {
	if k.path == "" {
		return nil, errors.New("there is no folder for the key")
	}
	info, err := os.Lstat(k.path)
	if err != nil {
		return nil, err
	}
	if private := runtime.GOOS == "windows" || info.Mode().Perm()&0o077 == 0; !private || !info.Mode().IsRegular() {
		return nil, fmt.Errorf("%s %w: it must be a file that only its owner can read (chmod 600)", k.path, errNoKey)
	}
	text, err := files.ReadFile(k.path, maxKey)
	if err != nil && !errors.Is(err, files.ErrTooLarge) {
		return nil, err
	}
	key, err := hex.DecodeString(strings.TrimSpace(string(text)))
	if err != nil || len(key) < sha256.Size {
		return nil, fmt.Errorf(
			"%s %w, it is damaged: restore or remove it; the next run makes a new one, and runs that the old one signed then take --trust",
			k.path, errNoKey,
		)
	}
	return key, nil
}

// make makes the user's key. When another process makes one at the same time, the first counts.
func (k *Keys) make() ([]byte, error) {
	if err := os.MkdirAll(filepath.Dir(k.path), 0o700); err != nil {
		return nil, err
	}
	key := make([]byte, sha256.Size)
	_, _ = rand.Read(key) // it never fails
	temp, err := os.CreateTemp(filepath.Dir(k.path), ".trust-*")
	if err != nil {
		return nil, err
	}
	_, err = temp.WriteString(hex.EncodeToString(key) + "\n")
	err = errors.Join(err, temp.Sync(), temp.Close())
	if err == nil {
		if err = os.Link(temp.Name(), k.path); errors.Is(err, fs.ErrExist) {
			err = nil
		}
	}
	if err = errors.Join(err, os.Remove(temp.Name())); err != nil {
		return nil, err
	}
	return k.own()
}
