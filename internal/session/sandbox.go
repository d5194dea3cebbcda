package session

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/files"
	"github.com/evalrun/evalrun/suite"
)

// jobDir is where a sandboxed program sees its workspace, its home and its files.
const jobDir = "/job"

// sandboxTime bounds the start of a sandbox that only shows that it works, and its stop.
const sandboxTime = 30 * time.Second

// sandboxes knows which sandboxes work here.
type sandboxes struct {
	mu     sync.Mutex
	probed map[*suite.Program]eval.Integrity
}

func bwrapPath() string {
	found, _ := exec.LookPath("bwrap")
	return found
}

// bwrapWorks says why bubblewrap cannot confine programs here, nil if it can.
var bwrapWorks = sync.OnceValue(func() error {
	if runtime.GOOS != "linux" {
		return errors.New("bubblewrap works on Linux alone; write `sandbox: {command: [docker, run, ...]}`")
	}
	found := bwrapPath()
	if found == "" {
		return errors.New("bubblewrap is not installed: apt-get install bubblewrap")
	}
	args := append(bwrapSystem(false), "--", "/bin/sh", "-c", ":")
	_, err := (&files.Invocation{Path: found, Args: args, Bare: true, Caged: true, Timeout: sandboxTime}).Output()
	return refusal(err)
})

// refusal says what is the matter with a bubblewrap that ends with an error, or not at all.
func refusal(err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, os.ErrDeadlineExceeded):
		return fmt.Errorf("bubblewrap did not answer within %s: see what `bwrap --ro-bind / / true` waits for", sandboxTime)
	}
	advice := "the system has to allow user namespaces: sysctl -w kernel.unprivileged_userns_clone=1 " +
		"kernel.apparmor_restrict_unprivileged_userns=0; in a container, --security-opt seccomp=unconfined and --cap-add SYS_ADMIN"
	return fmt.Errorf("bubblewrap is denied: bwrap %s; %s", strings.Join(strings.Fields(err.Error()), " "), advice)
}

func bwrapSystem(offline bool) []string {
	args := []string{
		"--unshare-all", "--unshare-user", "--uid", "1000", "--gid", "1000", "--die-with-parent", "--new-session", "--hostname", "job",
		"--cap-drop", "ALL",
	}
	if !offline {
		args = append(args, "--share-net")
	}
	args = append(args, "--ro-bind", "/usr", "/usr", "--proc", "/proc", "--dev", "/dev", "--tmpfs", "/tmp")
	for _, dir := range systemDirs[1:] {
		if to, err := os.Readlink(dir); err == nil {
			args = append(args, "--symlink", to, dir)
		} else {
			args = append(args, "--ro-bind-try", dir, dir)
		}
	}
	return args
}

// systemDirs are the folders of the system that a sandbox shows.
var systemDirs = []string{"/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32"}

// answering are the folders that hold answers: the project's, the suite's and the run's.
func (s *Session) answering(p *suite.Program) []string {
	dirs := []string{s.Options.boundaryOf(p.Dir).top, p.Dir, s.workspaces.Run}
	return slices.DeleteFunc(dirs, func(dir string) bool { return dir == "" })
}

// covered are those below what a sandbox shows, and the user's home: images of containers often have the project in /usr/src.
func (s *Session) covered(p *suite.Program) (out []string) {
	home, _ := os.UserHomeDir()
	shown := slices.Concat(systemDirs, p.Confined.Bind)
	for _, dir := range append(s.answering(p), home) {
		if real, err := filepath.EvalSymlinks(dir); err == nil && inOneOf(shown, real) {
			out = append(out, real)
		}
	}
	return out
}

// inOneOf reports whether a path, without links, is in one of the folders that exist.
func inOneOf(dirs []string, name string) bool {
	return slices.ContainsFunc(dirs, func(dir string) bool {
		real, err := filepath.EvalSymlinks(dir)
		return err == nil && strings.HasPrefix(name, strings.TrimSuffix(real, "/")+"/")
	})
}

// bwrapArgs are the arguments that run a program in its place. The rest begins at `--` or before.
func bwrapArgs(p *suite.Program, covered []string, at trialPlace, etc, shown string, rest []string) []string {
	args := append(bwrapSystem(p.Confined.Offline), "--ro-bind", etc, "/etc")
	for _, dir := range boundDirs(p) {
		args = append(args, "--ro-bind", dir, dir)
	}
	for _, dir := range covered {
		args = append(args, "--tmpfs", dir)
	}
	args = append(
		args, "--ro-bind", at.root, jobDir, "--bind", at.work, jobDir+"/work", "--bind", at.home, jobDir+"/home",
		"--ro-bind", shown, jobDir+"/files", "--chdir", jobDir+"/work",
	)
	return append(args, rest...)
}

func (s *Session) caged(p *suite.Program, at trialPlace, shown string, words []string) (run files.Invocation, err error) {
	etc, err := s.workspaces.places.etc(p)
	if err != nil {
		return run, fmt.Errorf("no /etc can be made for it: %w", err)
	}
	before := []string{"--"}
	if p.Confined.Offline && len(p.Models) > 0 {
		if before, err = s.models.relayed(filepath.Dir(etc)); err != nil {
			return run, err
		}
	}
	run.Path, run.Caged = bwrapPath(), true
	run.Args = bwrapArgs(p, s.covered(p), at, etc, shown, slices.Concat(before, words))
	run.Env = placeEnv(p, jobDir+"/home", "/tmp", jobDir+"/work")
	return run, nil
}

func templated(command []string, at trialPlace, shown string, more []string) files.Invocation {
	fill := strings.NewReplacer("{{.workspace}}", at.work, "{{.home}}", at.home, "{{.files}}", shown, "{{.proxy}}", at.proxy)
	var out []string
	for _, word := range command {
		out = append(out, fill.Replace(word))
	}
	out = append(out, more...)
	found, err := exec.LookPath(out[0])
	if err != nil {
		found = out[0]
	}
	return files.Invocation{Path: found, Args: out[1:], Dir: at.work}
}

// probe says what a sandbox of the user's own keeps from a program: whether it sees a folder that holds answers.
func (s *sandboxes) probe(p *suite.Program, answers []string, at trialPlace, shown string) eval.Integrity {
	s.mu.Lock()
	defer s.mu.Unlock()
	if known, ok := s.probed[p]; ok {
		return known
	}
	look := append([]string{"sh", "-c", `for dir; do [ -e "$dir" ] && exit 7; done; exit 8`, "sh"}, answers...)
	run := templated(p.Confined.Command, at, shown, look)
	run.Timeout, run.Bare, run.Env = sandboxTime, true, placeEnv(p, at.home, at.tmp, at.work)
	_, err := run.Output()
	status := files.ExitStatus(0)
	integrity := eval.Open
	if errors.As(err, &status) && status == 8 {
		integrity = eval.Clean
	}
	if s.probed == nil {
		s.probed = map[*suite.Program]eval.Integrity{}
	}
	s.probed[p] = integrity
	return integrity
}

// unseen says why a program cannot run under bubblewrap, nil if it can: its file is not among those that it shows.
func unseen(p *suite.Program) error {
	if err := bwrapWorks(); err != nil {
		return err
	}
	name, err := p.Path()
	if _, own := p.Named[0]; own || err != nil || name == "" {
		return nil
	}
	real, err := filepath.EvalSymlinks(name)
	if err != nil {
		return nil //nolint:nilerr // the start says so
	}
	if inOneOf(slices.Concat(systemDirs, p.Confined.Bind), real) {
		return nil
	}
	return fmt.Errorf("its file %s is outside of what a sandbox shows: add `bind: [%s]`", name, filepath.Dir(real))
}

// confined is the sandbox that a program runs in here.
func (s *Session) confined(p *suite.Program) string {
	if p.Confined.Kind != suite.SandboxAuto {
		return p.Confined.Kind
	}
	if unseen(p) == nil {
		return suite.SandboxBwrap
	}
	return suite.SandboxNone
}

// checkSandboxes refuses what has no sandbox here and needs one, and reports once where `auto` has found none.
func (s *Session) checkSandboxes() error {
	said := map[string]bool{}
	for _, arm := range s.CalledArms() {
		p, ok := arm.Target.Of.(*suite.Program)
		if !ok {
			continue
		}
		var why error
		if kind := p.Confined.Kind; kind == suite.SandboxAuto || kind == suite.SandboxBwrap {
			why = unseen(p)
		}
		if why != nil && p.Confined.Kind == suite.SandboxBwrap {
			return eval.BadInput("the target `%s` cannot run in its sandbox (%s): %w", arm.Target.Name, p.Confined.At, why)
		}
		if why != nil && !said[arm.Target.Name] {
			said[arm.Target.Name] = true
			s.Notice(fmt.Sprintf("warning: the target `%s` runs without a sandbox (%s): %s", arm.Target.Name, p.Confined.At, why))
		}
	}
	return s.checkIntegrity()
}

// checkIntegrity refuses a gate on integrity that cannot hold, before anything is called.
func (s *Session) checkIntegrity() error {
	for i, one := range s.Suites {
		wanted := one.Gate != nil && one.Gate.Integrity != ""
		if i < len(s.origins) && s.origins[i] != nil && s.origins[i].Gate != nil {
			wanted = wanted || s.origins[i].Gate.Integrity != ""
		}
		if !wanted {
			continue
		}
		for _, t := range one.Targets {
			if p, ok := t.Of.(*suite.Program); ok && s.confined(p) == suite.SandboxNone {
				why := "it has none: add `sandbox: bwrap`"
				if p.Confined.Kind != suite.SandboxNone {
					why = cmp.Or(unseen(p), errors.New("it has none")).Error()
				}
				return eval.Incomplete("the gate `integrity: clean` needs a sandbox for the target `%s`: %s", t.Name, why)
			}
		}
	}
	return nil
}
