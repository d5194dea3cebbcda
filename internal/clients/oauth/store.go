package oauth

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"time"

	"github.com/gofrs/flock"

	"github.com/evalrun/evalrun/internal/files"
)

// LoginFile keeps a login in a file that only its owner can read.
type LoginFile struct{ Path string }

// UserStore returns the store in the user's configuration folder.
func UserStore() (*LoginFile, error) {
	dir, err := os.UserConfigDir()
	if err != nil {
		return nil, fmt.Errorf("there is no folder for the login: %w", err)
	}
	return &LoginFile{filepath.Join(dir, "evalrun", "token.json")}, nil
}

// ErrNoLogin is returned by Load and Forget when there is no login.
var ErrNoLogin = errors.New("not logged in: evalrun auth login --client-secrets FILE")

const storeVersion = 1

type storeFile struct {
	Version int `json:"version"`
	*Token
}

// Load reads the login. It refuses a file that other users can read, since they may have done so. It also
// refuses a folder that other users can write to, since they could replace the file.
func (s *LoginFile) Load() (*Token, error) {
	info, err := os.Lstat(s.Path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, ErrNoLogin
	case err != nil:
		return nil, fmt.Errorf("the login cannot be read: %w", err)
	case !info.Mode().IsRegular():
		return nil, fmt.Errorf("%s is not a file", s.Path)
	case runtime.GOOS == "windows": // Windows reports no such modes
	case info.Mode().Perm()&0o077 != 0:
		return nil, fmt.Errorf(
			"%s can be read by others (mode %04o): if another user may have read it, log out and in again; otherwise chmod 600 it",
			s.Path, info.Mode().Perm(),
		)
	default:
		dir := filepath.Dir(s.Path)
		if info, err := os.Stat(dir); err != nil || info.Mode().Perm()&0o022 != 0 {
			return nil, fmt.Errorf("the folder %s can be written by others, who could put another login there: chmod 700 it", dir)
		}
	}
	return s.parse()
}

// parse reads the file and does not check its mode.
func (s *LoginFile) parse() (*Token, error) {
	data, err := files.ReadFile(s.Path, maxSecretsFile)
	if err != nil {
		return nil, fmt.Errorf("the login cannot be read: %w", err)
	}
	file := storeFile{Token: &Token{}}
	switch err := json.Unmarshal(data, &file); {
	case err != nil || file.Version == 0 || file.Client.ID == "":
		return nil, fmt.Errorf("%s is damaged; %s", s.Path, LoginHint)
	case file.Version != storeVersion:
		return nil, fmt.Errorf(
			"%s is of version %d, and this evalrun reads version %d; %s", s.Path, file.Version, storeVersion, LoginHint,
		)
	}
	return file.Token, nil
}

// Keep replaces the stored login.
func (s *LoginFile) Keep(ctx context.Context, t *Token) error {
	unlock, err := s.lock(ctx)
	if err != nil {
		return err
	}
	defer unlock()
	return s.save(t)
}

// Check returns an error when a login could not be stored, so that the user learns it before logging in.
func (s *LoginFile) Check() error {
	if err := s.folder(); err != nil {
		return err
	}
	if err := files.Probe(filepath.Dir(s.Path)); err != nil {
		return fmt.Errorf("the login could not be kept: %w", err)
	}
	return nil
}

func (s *LoginFile) save(t *Token) error {
	data, err := json.MarshalIndent(storeFile{storeVersion, t}, "", "  ")
	if err != nil { // only plain values
		panic(err)
	}
	_ = os.Chmod(s.Path, 0o600) // a file that is there keeps its permissions
	if err := files.Write(s.Path, 0o600, func(w io.Writer) error { _, err := w.Write(append(data, '\n')); return err }); err != nil {
		return fmt.Errorf("the login cannot be kept: %w", err)
	}
	return nil
}

func (s *LoginFile) folder() error {
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

// Forget removes the login and returns it for revocation, nil if it is damaged. The error may be ErrNoLogin.
func (s *LoginFile) Forget(ctx context.Context) (*Token, error) {
	if _, err := os.Lstat(s.Path); errors.Is(err, fs.ErrNotExist) {
		return nil, ErrNoLogin
	}
	unlock, err := s.lock(ctx) // a refresh in progress would write the file again
	if err != nil {
		return nil, err
	}
	defer unlock()
	t, _ := s.parse() // a damaged file is removed too
	if err := os.Remove(s.Path); err != nil {
		return nil, fmt.Errorf("the login cannot be removed: %w", err)
	}
	return t, nil
}

// lock keeps other processes from refreshing the login.
func (s *LoginFile) lock(ctx context.Context) (unlock func(), err error) {
	if err := s.folder(); err != nil {
		return nil, err
	}
	l := flock.New(s.Path+".lock", flock.SetFlag(os.O_CREATE|os.O_RDWR)) // which waits for no writer of a pipe
	if _, err := l.TryLockContext(ctx, 20*time.Millisecond); err != nil {
		return nil, err
	}
	return func() { _ = l.Close() }, nil // closing releases the lock
}
