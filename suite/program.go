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

// Dir is the folder of the suite on this machine, "" when it does not come from one.
func (s *Suite) Dir() string { return s.opts.Dir }

// Program finds the file of a program to run: a name with a slash is a file of the suite's folder, any other is looked up in PATH. It
// is "" for a suite that does not come from a folder of this machine. The error is for people.
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

// programHint is what to do about an error of Program, "" when nothing comes to mind.
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

// filesOf are the digests of the files of the suite's folder that a command names, by their names.
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

// errNotExecutable is wrapped by the error of Suite.Program for a file that is no program.
var errNotExecutable = errors.New("the file is not executable")

// Digest is the SHA-256 of a file of the suite's folder, "" when there is none of that name. It is read once.
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
