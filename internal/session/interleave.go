package session

import (
	"cmp"
	"io/fs"
	"path/filepath"

	"github.com/evalrun/evalrun/diag"
	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/files"
	"github.com/evalrun/evalrun/internal/rundir"
	"github.com/evalrun/evalrun/journal"
	"github.com/evalrun/evalrun/suite"
)

// checkout is the temporary folder in which the programs of an earlier version run. It exists only during a run.
type checkout struct {
	of      *suite.Suite
	version files.Git
	dir     string
}

// ownScorers says that each version of a suite keeps its own scorers: by --gate-of a change may not weaken those of before.
func (f *Options) ownScorers() bool { return f.GateOf != "" && !f.AcceptSuiteChanges }

type versionOf struct {
	base  string    // name of the suite file in its folder
	shown string    // path of the suite file as the user wrote it
	ref   string    // revision as the user wrote it
	git   files.Git // files of the commit that ref resolves to
}

// earlier loads a version of a suite from the git repository that contains it.
func (l *Loaded) earlier(v versionOf, opts suite.Options) (*suite.Suite, error) {
	commit, err := v.git.Commit()
	if err != nil {
		return nil, eval.BadInput("--interleave: %w", err)
	}
	v.git.Ref = commit
	return l.loadEarlier(l.Options.inGit(v.git), v, opts)
}

// inGit is the file system of a suite in a version that git has. The folder of v is the suite's.
func (f *Options) inGit(v files.Git) files.Within {
	b := f.boundaryOf(v.Dir)
	v.Dir = b.top
	return f.around(v, b)
}

// loadEarlier loads a version of a suite from files. Its problems are one error, since committed files cannot be repaired.
func (l *Loaded) loadEarlier(sources fs.FS, v versionOf, opts suite.Options) (*suite.Suite, error) {
	dir := files.ScratchName()
	opts.Dir = dir
	if v.git.Dir != "" {
		prefix, _ := v.git.Prefix() // a run can be resumed without the repository as long as no program is needed
		opts.Dir = filepath.Join(dir, prefix)
	}
	opts.Ref = v.ref
	opts.Shown = filepath.ToSlash(v.shown) + "@" + v.ref
	run := opts.Programs.Run
	opts.Programs.Run = false
	s, err := l.loadVersion(sources, v, opts)
	if err == nil && run && s.Unwritten() != (suite.Unwritten{}) {
		opts.Programs.Run = true
		err = checkedOut(v.git, dir, func() error {
			s, err = l.loadVersion(sources, v, opts)
			return err
		})
	}
	if err != nil {
		return nil, eval.BadInput("--interleave: the version %s of %s cannot be used: %w", v.ref, v.shown, err)
	}
	l.checkouts = append(l.checkouts, checkout{s, v.git, dir})
	return s, nil
}

func (l *Loaded) loadVersion(sources fs.FS, v versionOf, opts suite.Options) (*suite.Suite, error) {
	var diags diag.List
	s := suite.Load(sources, v.base, l.table(), opts, &diags)
	return s, diags.Err()
}

// checkedOut calls f while the files of a version are in a folder.
func checkedOut(version files.Git, dir string, f func() error) error {
	remove, err := files.Claim(dir)
	if err != nil {
		return err
	}
	defer remove()
	if err := version.Checkout(dir); err != nil {
		return err
	}
	return f()
}

// signed reports whether the user's own key signed a run. It is called before vet: filters that a repository configures
// are programs, and reading an earlier version would start them.
func (f *Options) signed(d *journal.Document) bool {
	keys, err := rundir.Load(f.Env)
	return err == nil && keys.Signed(d)
}

func (f *Options) isForeign(name string) (bool, error) {
	if f.Trust {
		return false, nil
	}
	doc, err := f.In().Open(name)
	if err != nil {
		return true, err
	}
	defer doc.Close() //nolint:errcheck // it was only read
	return !f.signed(doc), nil
}

// CheckOut makes the folders in which the programs of earlier versions run. The caller deletes them with remove.
func (j *Job) CheckOut() (remove func(), err error) {
	files.SweepScratch()
	var made []func()
	remove = func() {
		for _, one := range made {
			one()
		}
	}
	for _, c := range j.checkouts {
		if len(programsIn(c.of)) == 0 {
			continue
		}
		one, err := files.Claim(c.dir)
		if err == nil {
			made = append(made, one)
			err = c.version.Checkout(c.dir)
		}
		if err != nil {
			remove()
			return nil, eval.BadInput("--interleave: the programs of %s cannot be checked out: %w", c.of.File, err)
		}
	}
	return remove, nil
}

// NoteEarlier records the commit and hash of the earlier version that runs next to a suite, if there is one.
func (j *Job) NoteEarlier(s *suite.Suite, to *eval.RunSuite) {
	base, _ := s.BaseVersion()
	for _, c := range j.checkouts {
		if c.of == base {
			to.EarlierCommit, to.EarlierHash = c.version.Ref, base.Hash()
		}
	}
}

// earlierAtStart loads the earlier version of the i-th suite from the copy that the run made when it began. It is nil for
// a suite without one. The repository completes the copy in a run of the user's own.
func (r *Resumption) earlierAtStart(l *Loaded, i int, own bool, opts suite.Options) (*suite.Suite, error) {
	one := &r.doc.Run.Suites[i]
	file, ref, err := r.Options.Interleaved()
	if err != nil || file != one.File {
		return nil, err
	}
	root, at, err := rundir.SuiteCopies(r.Dir, rundir.CopyDir(i, true), one.Copy)
	if err != nil {
		return nil, eval.BadInput(
			"the run cannot be resumed: its copy of the version %s of %s is gone: %w", ref, one.Name, err,
		)
	}
	v := versionOf{
		base:  filepath.Base(one.Copy),
		shown: one.File,
		ref:   ref,
		git:   files.Git{Ref: cmp.Or(one.EarlierCommit, ref), Filtered: !r.Options.Untrusted},
	}
	copies := files.Within{Project: files.FS(root), At: at, Copies: true}
	opts.Expected = copies
	opts.Programs.Read(opts.Expected)
	sources := files.Overlay{copies}
	if own {
		v.git.Dir = one.Dir
		sources = append(sources, r.Options.inGit(v.git))
	}
	s, err := l.loadEarlier(sources, v, opts)
	if err == nil && one.EarlierHash != "" && s.Hash() != one.EarlierHash && !r.untrusted {
		err = eval.BadInput(
			"the run cannot be resumed: its copy of the version %s of %s is not the one with which it began", ref, one.Name,
		)
	}
	return s, err
}
