package session

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/evalrun/evalrun/diag"
	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/files"
	"github.com/evalrun/evalrun/internal/gate"
	"github.com/evalrun/evalrun/internal/rundir"
	"github.com/evalrun/evalrun/journal"
	"github.com/evalrun/evalrun/suite"
)

// origin is the gate that --gate-of names for the i-th suite, nil for none.
func (l *Loaded) origin(i int, s *suite.Suite, opts suite.Options) (*gate.Origin, error) {
	name := l.Options.GateOf
	ref, inGit := strings.CutPrefix(name, "@")
	ext := filepath.Ext(name)
	switch {
	case name == "" || l.Diags.HasErrors():
		return nil, nil
	case inGit && (l.Options.Suites[i] == standard || l.Options.copies != nil):
		return nil, eval.BadInput("--gate-of %s takes the suite from git, and this one is no file: name a run or a file instead", name)
	case inGit:
		return l.originInGit(i, s, ref, opts)
	case ext == ".yaml" || ext == ".yml":
		return l.originInFile(s, opts)
	}
	return l.originInRun(s)
}

// originInRun is the gate of a run.
func (l *Loaded) originInRun(s *suite.Suite) (*gate.Origin, error) {
	name := l.Options.GateOf
	path, err := l.Options.In().FindBaseline(name)
	var run *eval.Run
	if err == nil {
		run, err = journal.Header(path)
	}
	if err != nil {
		return nil, eval.BadInput("--gate-of: %w", err)
	}
	at := slices.IndexFunc(run.Suites, func(one eval.RunSuite) bool { return one.Name == s.Name })
	if at < 0 {
		var names []string
		for _, one := range run.Suites {
			names = append(names, one.Name)
		}
		return nil, eval.BadInput("--gate-of %s: the run has no suite %s, it has %s", name, s.Name, strings.Join(names, ", "))
	}
	if l.Options.Untrusted && run.Options().Untrusted && run.Suites[at].GateOf == nil {
		return nil, ownGate(name, "has the gate of an untrusted suite")
	}
	return &gate.Origin{Name: name, Gate: run.Suites[at].Gate, Run: name}, nil
}

// ownGate refuses a gate that the author of an untrusted suite could have written.
func ownGate(name, why string) error {
	return eval.BadInput(
		"--untrusted with --gate-of %s: it %s, which could have any margin; name a gate of your own, such as @origin/main or a run on main",
		name, why,
	)
}

// originInGit is the gate of the i-th suite, and of the project file, in a version that git has.
func (l *Loaded) originInGit(i int, s *suite.Suite, ref string, opts suite.Options) (*gate.Origin, error) {
	dir, file := l.Dir(i), l.Options.Suites[i]
	sources := files.Git{Dir: dir, Ref: ref}
	commit, err := sources.Commit()
	if err != nil {
		return nil, eval.BadInput("--gate-of: %w; fetch it first, in actions/checkout by `fetch-depth: 0`", err)
	}
	sources.Ref = commit
	real, err := filepath.EvalSymlinks(l.Options.In().Join(file))
	if err != nil {
		return nil, eval.BadInput("%s cannot be read: %w", file, err)
	}
	base := filepath.Base(real)
	if _, err := sources.Stat(base); errors.Is(err, fs.ErrNotExist) {
		if l.Options.AcceptSuiteChanges {
			return nil, nil
		}
		return nil, eval.BadInput("--gate-of: there is no %s in %s: --accept-suite-changes runs the new suite by its own gate", file, ref)
	}
	trusted := l.Options.trusting()
	old, err := l.loadOrigin(trusted.inGit(sources), base, file+"@"+ref, opts)
	if err != nil {
		return nil, err
	}
	ofSuite := files.HeadOf(dir).Commit == commit && old.Hash() == s.Hash()
	if l.Options.Untrusted && ofSuite && !(files.Git{Dir: dir, Ref: ref}).IsOfRemote() {
		return nil, ownGate("@"+ref, "is the commit of the suite itself")
	}
	of := &gate.Origin{Name: ref, Gate: old.Gate, Defaults: &eval.Options{}, Commit: commit, Suite: old}
	if p := l.Options.project; p != nil {
		text, err := fs.ReadFile(files.Git{Dir: p.dir(), Ref: commit}, filepath.Base(p.Path))
		if err != nil { // the file is new
			return of, nil
		}
		var diags diag.List
		was := LoadProject(p.Path, p.Shown()+"@"+ref, text, nil, &diags)
		if diags.HasErrors() {
			return nil, eval.BadInput("--gate-of: %w", diags.Err())
		}
		of.Defaults = &was.Defaults
	}
	return of, nil
}

// originInFile is the gate of another version of a suite.
func (l *Loaded) originInFile(s *suite.Suite, opts suite.Options) (*gate.Origin, error) {
	name := l.Options.GateOf
	if err := l.Options.unlinked(name); err != nil {
		return nil, err
	}
	dir, base := filepath.Split(l.Options.In().Abs(name))
	real, err := filepath.EvalSymlinks(filepath.Clean(dir))
	if err != nil {
		return nil, eval.BadInput("--gate-of: %w", err)
	}
	trusted := l.Options.trusting()
	sources, err := trusted.within(real, name)
	if err != nil {
		return nil, eval.BadInput("--gate-of: %w", err)
	}
	if _, err := os.Stat(filepath.Join(real, base)); err != nil {
		return nil, eval.BadInput("--gate-of: %w", err)
	}
	if l.Options.Untrusted && slices.ContainsFunc(l.Options.Suites, func(of string) bool { return sameFile(l.Options.In(), name, of) }) {
		return nil, ownGate(name, "is the suite itself")
	}
	opts.Dir = dir
	old, err := l.loadOrigin(sources, base, name, opts)
	if err != nil {
		return nil, err
	}
	if old.Name != s.Name {
		return nil, eval.BadInput("--gate-of %s: the file has the suite %s, and not %s", name, old.Name, s.Name)
	}
	return &gate.Origin{Name: name, Gate: old.Gate, Defaults: l.Options.ByProject(), Suite: old}, nil
}

// trusting are the options for a suite that the user named as the origin of a gate.
func (f *Options) trusting() *Options {
	out := *f
	out.Untrusted = false
	return &out
}

func sameFile(in rundir.Dir, a, b string) bool {
	one, errOne := os.Stat(in.Join(a))
	other, errOther := os.Stat(in.Join(b))
	return errOne == nil && errOther == nil && os.SameFile(one, other)
}

// loadOrigin loads a suite for its gate alone. The user named it, so it may name a baseline.
func (l *Loaded) loadOrigin(sources fs.FS, base, shown string, opts suite.Options) (*suite.Suite, error) {
	opts.Shown, opts.Base, opts.Untrusted, opts.Allow = filepath.ToSlash(shown), nil, false, nil
	opts.Programs = suite.Programs{}
	var diags diag.List
	s := suite.Load(sources, base, l.table(), opts, &diags)
	if diags.HasErrors() {
		return nil, eval.BadInput("--gate-of: %s cannot be used: %w", shown, diags.Err())
	}
	return s, nil
}
