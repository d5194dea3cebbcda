package suite

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"path"
	"path/filepath"
	"runtime"
	"strings"
)

// Dir returns the folder of the suite on this machine; "" when it is in none.
func (s *Suite) Dir() string { return s.opts.Dir }

// Program finds the file of a program: a name with a slash is relative to the suite's folder, any other is looked up in
// PATH. It is "" for a suite that is in no folder on this machine. The error is worded for users.
func (s *Suite) Program(name string) (string, error) {
	switch {
	case s.opts.Dir == "":
		return "", nil
	case !strings.ContainsAny(name, `/\`):
		found, err := exec.LookPath(name)
		if err != nil {
			return "", fmt.Errorf("there is no program %s in PATH", name)
		}
		return found, nil
	}
	file, info, err := s.files.open(name)
	if err != nil {
		return "", err
	}
	file.Close() //nolint:errcheck // it was only looked at
	if runtime.GOOS != "windows" && info.Mode().Perm()&0o111 == 0 {
		return "", fmt.Errorf("%s: %w", name, errNotExecutable)
	}
	return filepath.Join(s.opts.Dir, filepath.FromSlash(path.Clean(name))), nil
}

func (s *Suite) programHint(name string, err error) string {
	switch {
	case errors.Is(err, errNotExecutable):
		return "chmod +x makes it so; or name what runs it: [python3, check.py]"
	case strings.ContainsAny(name, " \t"):
		return "there is no shell: write a list, such as [./check.sh, --strict]"
	case s.Digest(name) != "":
		return "for the file of that name write ./" + name
	case strings.HasPrefix(name, "/"):
		return "write the name alone for a program in PATH"
	}
	return ""
}

// filesOf returns the digests of the files below the suite's folder that a command names, by name.
func (s *Suite) filesOf(command []string) map[string]string {
	out := map[string]string{}
	for i, word := range command {
		if i == 0 && !strings.Contains(word, "/") { // a program in PATH
			continue
		}
		if digest := s.Digest(word); digest != "" {
			out[word] = digest
		}
	}
	return out
}

// errNotExecutable is wrapped by the error of Suite.Program for a file that cannot be executed.
var errNotExecutable = errors.New("the file is not executable")

// Digest returns the SHA-256 of a file below the suite's folder; "" when there is no such file. Each file is read once.
func (s *Suite) Digest(name string) string {
	s.files.mu.Lock()
	defer s.files.mu.Unlock()
	if known, ok := s.files.digests[name]; ok {
		return known
	}
	digest := ""
	if file, _, err := s.files.open(name); err == nil {
		defer file.Close() //nolint:errcheck // it was only read
		h := sha256.New()
		if _, err := io.Copy(h, file); err == nil {
			digest = hex.EncodeToString(h.Sum(nil))
		}
	}
	s.files.digests[name] = digest
	return digest
}
