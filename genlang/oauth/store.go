package oauth

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"time"

	"github.com/gofrs/flock"
	"github.com/google/renameio/v2/maybe"
)

// Store keeps a login in a file that only its owner can read.
type Store struct{ Path string }

// UserStore is the store in the user's configuration folder.
func UserStore() (*Store, error) {
	dir, err := os.UserConfigDir()
	if err != nil {
		return nil, fmt.Errorf("there is no folder for the login: %w", err)
	}
	return &Store{filepath.Join(dir, "evalrun", "token.json")}, nil
}

// ErrNoLogin is returned by Load when nobody has logged in.
var ErrNoLogin = errors.New("nobody is logged in: evalrun auth login --client-secrets FILE")

// storeVersion is the version of the file.
const storeVersion = 1

type storeFile struct {
	Version int `json:"version"`
	*Token
}

// Load reads the login. A file that others than its owner can read is refused, since they may have
// read it.
func (s *Store) Load() (*Token, error) {
	info, err := os.Lstat(s.Path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, ErrNoLogin
	case err != nil:
		return nil, fmt.Errorf("the login cannot be read: %w", err)
	case !info.Mode().IsRegular():
		return nil, fmt.Errorf("%s is not a file", s.Path)
	case runtime.GOOS != "windows" && info.Mode().Perm()&0o077 != 0:
		return nil, fmt.Errorf("%s can be read by others (mode %04o): whoever did has the login; log out and in again, or, if you are sure that nobody did, chmod 600 it", s.Path, info.Mode().Perm())
	}
	data, err := os.ReadFile(s.Path)
	if err != nil {
		return nil, fmt.Errorf("the login cannot be read: %w", err)
	}
	file := storeFile{Token: &Token{}}
	switch err := json.Unmarshal(data, &file); {
	case err != nil || file.Version == 0 || file.Client.ID == "":
		return nil, fmt.Errorf("%s is damaged; %s", s.Path, LoginAgain)
	case file.Version != storeVersion:
		return nil, fmt.Errorf("%s is of version %d, and this evalrun reads version %d; %s", s.Path, file.Version, storeVersion, LoginAgain)
	}
	return file.Token, nil
}

// Save writes the login in one step: whatever happens, the file is the old one or the new one.
func (s *Store) Save(t *Token) error {
	if err := s.folder(); err != nil {
		return err
	}
	data, err := json.MarshalIndent(storeFile{storeVersion, t}, "", "  ")
	if err != nil { // plain values
		panic(err)
	}
	if err := maybe.WriteFile(s.Path, append(data, '\n'), 0o600); err != nil {
		return fmt.Errorf("the login cannot be kept: %w", err)
	}
	return nil
}

// folder makes the folder of the file, open to its owner alone.
func (s *Store) folder() error {
	dir := filepath.Dir(s.Path)
	err := os.MkdirAll(dir, 0o700)
	if err == nil {
		err = os.Chmod(dir, 0o700)
	}
	if err != nil {
		return fmt.Errorf("the login cannot be kept: %w", err)
	}
	return nil
}

// Forget removes the login; ErrNoLogin when there was none.
func (s *Store) Forget() error {
	err := os.Remove(s.Path)
	if errors.Is(err, fs.ErrNotExist) {
		return ErrNoLogin
	}
	return err
}

// lock keeps other processes from refreshing meanwhile.
func (s *Store) lock(ctx context.Context) (unlock func(), err error) {
	if err := s.folder(); err != nil {
		return nil, err
	}
	l := flock.New(s.Path + ".lock")
	if _, err := l.TryLockContext(ctx, 20*time.Millisecond); err != nil {
		return nil, err
	}
	return func() { _ = l.Close() }, nil // closing lets go of it
}
