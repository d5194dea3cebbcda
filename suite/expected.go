package suite

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/evalrun/evalrun/diag"
	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/files"
	"github.com/evalrun/evalrun/internal/yaml"
)

// ExpectedDir is the folder of accepted answers, relative to the suite's folder.
const ExpectedDir = "expected"

// MaxExpectedBytes is the largest size of a file in ExpectedDir.
const MaxExpectedBytes = yaml.MaxFileBytes

// ExpectedFile returns the path of the file with the expected answer of a trial, relative to the suite's folder. It is the
// file that the scorer names, for all arms, or else a file of the suite, the case and the arm. An arm of an earlier version
// has the same file as the arm itself.
func ExpectedFile(named string, t *eval.Trial) string {
	if named != "" {
		return path.Join(ExpectedDir, named)
	}
	arm := t.Target + "." + t.Prompt
	if strings.Contains(t.Target, ".") { // a dot separates target and prompt, so the target may not have one
		arm = t.Target + "/" + t.Prompt
	}
	return path.Join(ExpectedDir, safeName(t.Suite), safeName(t.Case), safeName(arm)+".txt")
}

// maxSafeName is the longest name of a file in bytes, without the hash. With it, the name stays below the 255 bytes that
// file systems allow.
const maxSafeName = 80

var (
	unsafeCharacter = pattern(`[^A-Za-z0-9._-]`)
	looksHashed     = pattern(`-[0-9a-f]{12}$`)
)

// safeName turns a name into the name of a file or folder that every file system accepts. Different names give different
// results: a changed name gets a hash, and so does a name that looks as if it had one.
func safeName(name string) string {
	safe := []byte(unsafeCharacter().ReplaceAllLiteralString(name, "_"))
	safe = safe[:min(len(safe), maxSafeName)]
	for _, i := range []int{0, len(safe) - 1} { // "." and "..", hidden files, and a final dot, which Windows drops
		if i >= 0 && i < len(safe) && safe[i] == '.' {
			safe[i] = '_'
		}
	}
	if files.ReservedName.Match(safe) {
		safe = append([]byte("_"), safe...)
	}
	if string(safe) == name && name != "" && !looksHashed().MatchString(name) {
		return name
	}
	sum := sha256.Sum256([]byte(name))
	return string(safe) + "-" + hex.EncodeToString(sum[:6])
}

// Expected returns the expected answer in a file named by ExpectedFile, without the final line break. It restores line
// breaks that git may have changed. ok is false when the file was missing at the time the suite was loaded.
func (s *Suite) Expected(name string) (text string, ok bool) {
	s.files.mu.Lock()
	data, ok := s.files.texts[name]
	s.files.mu.Unlock()
	data = bytes.TrimPrefix(data, []byte("\ufeff"))
	return strings.TrimSuffix(files.PlainLines(string(data)), "\n"), ok
}

// readExpected reads a file of expected answers, if it exists, which makes it part of the suite. The error is worded for
// users.
func (s *Suite) readExpected(name string) error {
	if _, known := s.files.texts[name]; known {
		return nil
	}
	from := s.files
	if s.opts.Expected != nil {
		from = newFiles(s.opts.Expected, s.files.suite)
	}
	if _, err := fs.Stat(from.fsys, name); errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	data, err := from.read(name, MaxExpectedBytes)
	switch {
	case err != nil:
		return err
	case !utf8.Valid(data):
		return fmt.Errorf("%s is not text in UTF-8", name)
	}
	s.files.texts[name] = data
	return nil
}

type expectations struct {
	byFolded map[string]string // names by their lower-case form
	reported map[diag.Pos]bool // positions of scorers with a problem
}

func (l *checker) checkExpected(c *Case, arm Arm) {
	if !slices.ContainsFunc(c.Scorers, func(sc *Scorer) bool { return len(sc.Needs.Snapshots) > 0 }) {
		return
	}
	kept := map[string]bool{}
	for _, sc := range c.ScorersFor(arm) {
		for _, named := range sc.Needs.Snapshots {
			file := ExpectedFile(named, &eval.Trial{Suite: l.Name, Case: c.Name, Target: arm.Target.Name, Prompt: arm.Prompt.Name})
			at := sc.At()
			err := l.readExpected(file)
			if err != nil && !l.expected.reported[at] {
				l.diags.Errorf(at, "", "the expected answer cannot be read: %s", err)
			}
			if kept[file] && !l.expected.reported[at] {
				l.diags.Errorf(
					at, "name a file for each, such as `snapshot: first.txt`",
					"another scorer of case `%s` keeps its answer in %s too", c.Name, file,
				)
				err = errTwice
			}
			if err != nil {
				l.expected.reported[at] = true
			}
			kept[file] = true
			l.oneOfItsName(file, at)
		}
	}
}

var errTwice = errors.New("two scorers keep one file")

// oneOfItsName warns about names that are equal on file systems that ignore case.
func (l *checker) oneOfItsName(file string, at diag.Pos) {
	lower := strings.ToLower(file)
	other, met := l.expected.byFolded[lower]
	switch {
	case !met:
		l.expected.byFolded[lower] = file
	case other != file && !l.expected.reported[at]:
		l.expected.reported[at] = true
		l.unused.Warnf(at, "name them differently", "%s and %s are the same file on Windows and macOS", other, file)
	}
}
