package session

import (
	"bytes"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"

	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/clients/app"
	"github.com/evalrun/evalrun/internal/files"
	"github.com/evalrun/evalrun/suite"
)

// places are the folders in which programs under test run. They are outside of the project and of the run directory, under names that
// say nothing of either, so that no path up from a workspace leads to the right answers.
type places struct {
	mu     sync.Mutex
	base   string // "" before the first one
	unlock func()
	canary string
	shown  map[*suite.Program]string // copies of the files that a program sees
}

// trialPlace is the place of a trial, with the address of the proxy for a program that calls models.
type trialPlace struct{ root, work, home, tmp, proxy string }

const placePrefix = "job-"

// open makes the folder of all places, and removes those that killed processes have left.
func (p *places) open() (string, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.base != "" {
		return p.base, nil
	}
	sweep(os.TempDir())
	for range 10 {
		dir := filepath.Join(os.TempDir(), placeName(hexText(4)))
		if err := os.Mkdir(dir, 0o700); err != nil {
			return "", fmt.Errorf("no folder can be made for it: %w", err)
		}
		unlock, locked := files.LockFolder(dir)
		if _, err := os.Stat(dir); err == nil && locked { // else another process took it for one that was left
			p.base, p.unlock, p.canary, p.shown = dir, unlock, hexText(16), map[*suite.Program]string{}
			files.Brand(dir)
			return dir, decoys(filepath.Join(dir, hexText(4), "work"), p.canary)
		}
	}
	return "", errors.New("no folder can be made for it")
}

func hexText(n int) string {
	b := make([]byte, n)
	_, _ = rand.Read(b) // never fails
	return hex.EncodeToString(b)
}

// placeName is a name by which evalrun knows its own folders in the temporary folder, which it shares with all programs.
func placeName(random string) string {
	sum := sha256.Sum256([]byte("evalrun place " + random))
	return placePrefix + random + hex.EncodeToString(sum[:4])
}

// sweep removes places that no evalrun holds, and ends what runs in them.
func sweep(dir string) {
	if runtime.GOOS == "windows" { // which locks no folders
		return
	}
	found, _ := filepath.Glob(filepath.Join(dir, placePrefix+"*"))
	for _, one := range found {
		name := filepath.Base(one)
		if len(name) != len(placePrefix)+16 || placeName(name[len(placePrefix):len(placePrefix)+8]) != name {
			continue
		}
		if unlock, locked := files.LockFolder(one); locked {
			files.EndIn(one)
			_ = files.Remove(one)
			unlock()
		}
	}
}

// decoys puts files where a program would look for the right answers. Only there is the canary.
func decoys(dir, canary string) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	var failed error
	for name, text := range map[string]string{
		"suite.yaml":    "version: 1\nname: answers\ncases:\n  - name: first\n    vars: {expected: \"%s\"}\n",
		"run.jsonl":     "{\"type\":\"trial\",\"n\":0,\"vars\":{\"expected\":\"%s\"},\"outcome\":\"pass\"}\n",
		"expected.txt":  "%s\n",
		"expected.json": "{\"expected\": \"%s\"}\n",
	} {
		failed = errors.Join(failed, os.WriteFile(filepath.Join(dir, name), fmt.Appendf(nil, text, canary), 0o600))
	}
	return failed
}

func (p *places) make(of *suite.Program) (at trialPlace, err error) {
	base, err := p.open()
	if err != nil {
		return at, err
	}
	at.root = filepath.Join(base, hexText(4))
	at.work, at.home, at.tmp = filepath.Join(at.root, "work"), filepath.Join(at.root, "home"), filepath.Join(at.root, "tmp")
	if err := decoys(at.root, p.canary); err != nil {
		return at, err
	}
	for _, dir := range []string{at.work, at.home, at.tmp, filepath.Join(at.root, "files")} {
		if err := os.Mkdir(dir, 0o700); err != nil {
			return at, err
		}
	}
	if home := of.Confined.Home; home != suite.HomeFresh && home != suite.HomeInherit {
		if _, err := files.Copy(os.DirFS(filepath.Join(of.Dir, filepath.FromSlash(home))), at.home); err != nil {
			return at, fmt.Errorf("the home %s cannot be copied: %w", home, err)
		}
	}
	return at, nil
}

// files is the folder with copies of the project's files that a program sees, and the folder in it that stands for the suite's.
func (p *places) files(of *suite.Program) (dir, top string, err error) {
	names := slices.Clone(of.Confined.Files)
	ups := 0
	for _, name := range of.Named {
		names = append(names, name)
	}
	for _, name := range names {
		ups = max(ups, strings.Count("/"+name, "/.."))
	}
	top = strings.Repeat("project/", ups)
	if _, err := p.open(); err != nil {
		return "", "", err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if dir := p.shown[of]; dir != "" {
		return dir, top, nil
	}
	dir = filepath.Join(p.base, hexText(4))
	for _, name := range names {
		if err := copyShown(filepath.Join(of.Dir, filepath.FromSlash(name)), filepath.Join(dir, filepath.FromSlash(top+name))); err != nil {
			return "", "", fmt.Errorf("%s cannot be copied: %w", name, err)
		}
	}
	p.shown[of] = dir
	return dir, top, os.MkdirAll(dir, 0o700)
}

// systemEtc are the files of /etc that programs need to run, to find hosts and to check certificates, and largeEtc the folders with so
// many files that a mount for each trial costs less than a copy.
var (
	systemEtc = strings.Fields(`ld.so.cache ld.so.conf ld.so.conf.d ca-certificates localtime timezone resolv.conf hosts host.conf
		nsswitch.conf gai.conf protocols services mime.types python3 perl terminfo`)
	largeEtc = strings.Fields(`alternatives ssl pki crypto-policies java-11-openjdk java-17-openjdk java-21-openjdk fonts`)
)

// etc is the folder that is /etc in a sandbox: one mount instead of one for each file.
func (p *places) etc(of *suite.Program) (string, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	dir := filepath.Join(p.base, "etc")
	if err := os.Mkdir(dir, 0o755); err == nil {
		for _, name := range systemEtc {
			if err := copyPublic("/etc/"+name, filepath.Join(dir, name)); err != nil {
				return "", err
			}
		}
		user := "user:x:1000:1000::" + jobDir + "/home:/bin/sh\n"
		if err := os.WriteFile(filepath.Join(dir, "passwd"), []byte(user), 0o644); err != nil {
			return "", err
		}
	} else if !errors.Is(err, fs.ErrExist) {
		return "", err
	}
	for _, one := range boundDirs(of) {
		if rel, in := strings.CutPrefix(one, "/etc/"); in {
			if err := os.MkdirAll(filepath.Join(dir, rel), 0o755); err != nil {
				return "", err
			}
		}
	}
	return dir, nil
}

// boundDirs are the folders that a sandbox shows as they are, besides those of the system.
func boundDirs(of *suite.Program) (dirs []string) {
	for _, name := range largeEtc {
		if info, err := os.Stat("/etc/" + name); err == nil && info.IsDir() {
			dirs = append(dirs, "/etc/"+name)
		}
	}
	return append(dirs, of.Confined.Bind...)
}

func copyPublic(from, to string) error {
	from, err := filepath.EvalSymlinks(from)
	if err != nil {
		return nil //nolint:nilerr // not every system has it
	}
	return filepath.WalkDir(from, func(name string, entry fs.DirEntry, err error) error {
		if err != nil {
			return nil //nolint:nilerr // it may not be read
		}
		at := to + strings.TrimPrefix(name, from)
		info, err := entry.Info()
		switch {
		case err != nil:
			return err
		case entry.IsDir() && info.Mode()&0o005 != 0o005:
			return filepath.SkipDir
		case entry.IsDir():
			return os.Mkdir(at, 0o755) //nolint:gosec // into a folder of this run
		case info.Mode()&fs.ModeSymlink != 0:
			target, err := os.Readlink(name)
			return errors.Join(err, os.Symlink(target, at)) //nolint:gosec // into a folder of this run
		case info.Mode().IsRegular() && info.Mode()&0o004 != 0:
			data, err := os.ReadFile(name)                         //nolint:gosec // as above
			return errors.Join(err, os.WriteFile(at, data, 0o644)) //nolint:gosec // into a folder of this run
		}
		return nil
	})
}

func copyShown(from, to string) error {
	info, err := os.Stat(from)
	if err != nil {
		return err
	}
	if info.IsDir() {
		if err := os.MkdirAll(to, 0o700); err != nil {
			return err
		}
		return files.CopyKnown(os.DirFS(from), to)
	}
	data, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(to), 0o700); err != nil {
		return err
	}
	return os.WriteFile(to, data, info.Mode().Perm()|0o400) //nolint:gosec // a name of the suite's
}

func (p *places) close() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.base == "" {
		return
	}
	_ = files.Remove(p.base) // the next run removes what is left
	p.unlock()
	p.base = ""
}

// words is the command of a program, with args instead of its arguments unless they are nil, and with the files of the project
// that it names in another folder.
func words(of *suite.Program, args []string, program, dir, top string, join func(...string) string) []string {
	if args == nil {
		args = of.Args
	}
	out := append([]string{program}, args...)
	for i, name := range of.Named {
		out[i] = join(dir, top, name)
	}
	return out
}

func joinLocal(names ...string) string { return filepath.FromSlash(path.Join(names...)) }

func placeEnv(of *suite.Program, home, tmp, work string) []string {
	env := []string{"TMPDIR=" + tmp, "TMP=" + tmp, "TEMP=" + tmp}
	if of.Placed() {
		env = append(env, "PWD="+work)
	}
	if of.Confined.Home == suite.HomeInherit {
		for _, name := range []string{"HOME", "USERPROFILE", "XDG_CONFIG_HOME", "XDG_CACHE_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME"} {
			if value, set := os.LookupEnv(name); set {
				env = append(env, name+"="+value)
			}
		}
		return env
	}
	return append(
		env, "HOME="+home, "USERPROFILE="+home, "XDG_CONFIG_HOME="+home+"/.config", "XDG_CACHE_HOME="+home+"/.cache",
		"XDG_DATA_HOME="+home+"/.local/share", "XDG_STATE_HOME="+home+"/.local/state", "XDG_RUNTIME_DIR="+tmp,
	)
}

func (s *Session) placeOf(p *suite.Program, call *eval.Call) (trialPlace, error) {
	at, err := s.workspaces.Of(p, call)
	if err == nil {
		at.proxy, err = s.models.address(p)
	}
	return at, err
}

// place prepares the call of a program, with other arguments than those of the suite unless they are nil.
func (s *Session) place(p *suite.Program, call *eval.Call, args []string) (*app.Place, error) {
	at, err := s.placeOf(p, call)
	if err != nil {
		return nil, err
	}
	dir, top, err := s.workspaces.places.files(p)
	if err != nil {
		return nil, err
	}
	program, _ := p.Path()
	var run files.Invocation
	integrity := eval.Open
	switch s.confined(p) {
	case suite.SandboxBwrap:
		run, err = s.caged(p, at, dir, words(p, args, program, jobDir+"/files", top, path.Join))
		integrity = eval.Clean
	case suite.SandboxCommand:
		integrity = s.sandboxes.probe(p, s.answering(p), at, dir)
		run = templated(p.Confined.Command, at, dir, words(p, args, program, dir, top, joinLocal))
		run.Env = placeEnv(p, at.home, at.tmp, at.work)
	default:
		own := words(p, args, program, dir, top, joinLocal)
		run.Path, run.Args, run.Dir = own[0], own[1:], at.work
		run.Env = placeEnv(p, at.home, at.tmp, at.work)
	}
	if err != nil {
		return nil, err
	}
	run.Bare, run.Place = !p.Confined.Inherits, at.root
	calls, err := s.models.open(p, call)
	if err != nil {
		return nil, err
	}
	if calls != nil {
		run.Env = append(run.Env, calls.Env()...)
	}
	leave := func(out []byte) (eval.Integrity, error) {
		if len(p.Confined.Stop) > 0 {
			stop := templated(p.Confined.Stop, at, dir, nil)
			stop.Env, stop.Bare, stop.Timeout = run.Env, run.Bare, sandboxTime
			_, _ = stop.Output() // it may have ended by itself
		}
		watched := ""
		if p.Placed() {
			watched = at.work
		}
		if gaveAway(s.workspaces.places.canary, out, watched) {
			integrity = eval.Tainted
		}
		if calls != nil && calls.Silent() && s.models.firstSilent(p) {
			s.Notice("warning: the program `" + p.String() + "` made no call through evalrun's proxy: does it read " +
				strings.Join(calls.Addresses(), " and ") + "?")
		}
		return integrity, s.workspaces.leave(p, call, at)
	}
	return &app.Place{Invocation: run, Calls: calls, Leave: leave}, nil
}

// gaveAway reports whether the canary is in what a program wrote or left, in one of the usual encodings too.
func gaveAway(canary string, out []byte, work string) bool {
	marks := canaryMarks(canary)
	found := func(text []byte) bool {
		return slices.ContainsFunc(marks, func(mark []byte) bool { return bytes.Contains(text, mark) })
	}
	if found(bytes.ToLower(out)) || found(out) {
		return true
	}
	if work == "" {
		return false
	}
	root, err := os.OpenRoot(work)
	if err != nil {
		return false
	}
	defer root.Close() //nolint:errcheck // only read
	gave := false
	_ = fs.WalkDir(root.FS(), ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || gave {
			return nil // what cannot be read is no answer
		}
		gave = found([]byte(name))
		if info, err := entry.Info(); err == nil && info.Mode().IsRegular() && info.Size() <= maxWatched {
			if text, err := root.ReadFile(name); err == nil {
				gave = gave || found(text) || found(bytes.ToLower(text))
			}
		}
		return nil
	})
	return gave
}

// maxWatched bounds the files in which canaries are looked for, in bytes.
const maxWatched = 64 << 20

// canaryMarks are the forms of a canary: as it is, reversed, in hex, and in base64 wherever it begins in a group of three bytes.
func canaryMarks(canary string) [][]byte {
	reversed := []byte(canary)
	slices.Reverse(reversed)
	marks := [][]byte{[]byte(canary), reversed, []byte(hex.EncodeToString([]byte(canary)))}
	for shift := range 3 {
		text := base64.StdEncoding.EncodeToString([]byte(strings.Repeat("x", shift) + canary))
		marks = append(marks, []byte(strings.TrimRight(text, "=")[4:len(text)-4]))
	}
	return marks
}
