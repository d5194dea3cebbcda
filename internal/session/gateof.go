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

func (l *Loaded) originInRun(s *suite.Suite) (*gate.Origin, error) {
	name := l.Options.GateOf
	path, err := l.Options.In().FindCompared(name)
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
	of := &gate.Origin{Name: name, Gate: run.Suites[at].Gate, Run: name, Repeats: map[string]int{}}
	if l.Options.Repeats > 0 {
		return of, nil
	}
	d, err := journal.Open(path)
	if err != nil {
		return nil, eval.BadInput("--gate-of: %w", err)
	}
	defer d.Close() //nolint:errcheck // it was only read
	for f, err := range d.Facts() {
		if err != nil {
			return nil, eval.BadInput("--gate-of: %w", err)
		}
		if f.Suite == s.Name {
			of.Repeats[f.Case] = max(of.Repeats[f.Case], f.Repeat)
		}
	}
	return of, nil
}

// repeatsOf is how often each case of a suite runs.
func repeatsOf(s *suite.Suite) map[string]int {
	out := map[string]int{}
	for c := range s.Outlines() {
		out[c.Name] = c.Repeats
	}
	return out
}

// repeatAsOrigin lets the cases of the i-th suite run at least as often as in the version whose gate counts.
func (l *Loaded) repeatAsOrigin(i int) {
	if i < len(l.origins) && l.origins[i] != nil {
		l.origins[i].Raised = l.Suites[i].RepeatAs(l.origins[i].Repeats)
	}
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
	was, err := l.Options.projectInGit(ref, commit)
	if err != nil {
		return nil, err
	}
	if was != nil {
		opts.DefaultRepeats = was.Defaults.Repeats
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
	of := &gate.Origin{Name: ref, Gate: old.Gate, Defaults: &eval.Options{}, Commit: commit, Suite: old, Repeats: repeatsOf(old)}
	if was == nil {
		return of, nil
	}
	if of.Defaults = &was.Defaults; i == 0 {
		err = l.lostSuites(was, ref, commit)
	}
	return of, err
}

// projectInGit is the project file in a version that git has, nil if it has none. Unless the user named the file, it may have been
// in another folder, or be gone from the work tree.
func (f *Options) projectInGit(ref, commit string) (*projectFile, error) {
	var paths []string
	if f.ProjectFound {
		home, _ := os.UserHomeDir()
		for _, dir := range within(f.In().Abs(""), home) {
			paths = append(paths, filepath.Join(dir, FileName))
		}
	} else if f.project != nil {
		paths = []string{f.project.Path}
	}
	for _, path := range paths {
		text, err := fs.ReadFile(files.Git{Dir: filepath.Dir(path), Ref: commit}, filepath.Base(path))
		if err != nil {
			continue
		}
		var diags diag.List
		was := LoadProject(path, f.shown(path)+"@"+ref, text, nil, &diags)
		if diags.HasErrors() {
			return nil, eval.BadInput("--gate-of: %w", diags.Err())
		}
		return was, nil
	}
	return nil, nil
}

// lostSuites refuses a run of all suites of the project that lacks a suite of its project file in another version.
func (l *Loaded) lostSuites(was *projectFile, ref, commit string) error {
	o := &l.Options
	if o.project == nil || o.AcceptSuiteChanges {
		return nil
	}
	var ran []string
	for _, path := range o.project.SuiteFiles(&diag.List{}) {
		if !slices.Contains(o.Suites, o.shown(path)) && !slices.Contains(o.Suites, path) { // the command names its suites
			return nil
		}
		ran = append(ran, path)
	}
	for _, name := range was.suitesAmong(files.Git{Dir: was.dir(), Ref: commit}.Files()) {
		if path := filepath.Join(was.dir(), filepath.FromSlash(name)); !slices.Contains(ran, path) {
			return eval.Incomplete("--gate-of: %s is a suite of %s and does not run: --accept-suite-changes lets it go", o.shown(path), ref)
		}
	}
	return nil
}

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
	return &gate.Origin{Name: name, Gate: old.Gate, Defaults: l.Options.ByProject(), Suite: old, Repeats: repeatsOf(old)}, nil
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
