package job

import (
	"cmp"
	"crypto/rand"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/evalrun/evalrun/diag"
	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/exit"
	"github.com/evalrun/evalrun/internal/layers"
	"github.com/evalrun/evalrun/internal/regular"
	"github.com/evalrun/evalrun/internal/rundir"
	"github.com/evalrun/evalrun/internal/trust"
	"github.com/evalrun/evalrun/journal"
	"github.com/evalrun/evalrun/suite"
)

// checkout is a folder with the files of an earlier version, in which its programs run. It exists during a run.
type checkout struct {
	of      *suite.Suite
	version layers.Git
	dir     string
}

// versionOf is which version of a suite is loaded.
type versionOf struct {
	base, shown string     // the suite file in its folder, and as the user named it
	ref         string     // the version as the user named it
	git         layers.Git // of the commit
}

// earlier loads a version of a suite out of the repository in whose folder it is.
func (l *Loaded) earlier(v versionOf, opts suite.Options) (*suite.Suite, error) {
	commit, err := v.git.Commit()
	if err != nil {
		return nil, exit.BadInput("--interleave: %w", err)
	}
	v.git.Ref = commit
	return l.loadEarlier(v.git, v, opts)
}

// loadEarlier loads a version of a suite. Its problems are one error, since committed files cannot be repaired.
func (l *Loaded) loadEarlier(files fs.FS, v versionOf, opts suite.Options) (*suite.Suite, error) {
	dir := filepath.Join(os.TempDir(), "evalrun-"+strings.ToLower(rand.Text()))
	prefix, _ := v.git.Prefix() // a run can be resumed without the repository as long as no program is needed
	opts.Dir, opts.Ref, opts.Shown = filepath.Join(dir, prefix), v.ref, filepath.ToSlash(v.shown)+"@"+v.ref
	var diags diag.List
	s := suite.Load(files, v.base, l.table(), opts, &diags)
	if diags.HasErrors() {
		return nil, exit.BadInput("--interleave: the version %s of %s cannot be used: %w", v.ref, v.shown, diags.Err())
	}
	l.checkouts = append(l.checkouts, checkout{s, v.git, dir})
	return s, nil
}

// signed reports whether the user made a run. What its repositories are configured to do starts programs, and that before trust in the run
// is checked.
func signed(d *journal.Document, getenv func(string) string) bool {
	keys, err := trust.Load(getenv)
	return err == nil && keys.Signed(d)
}

// isForeign reports whether somebody else made a run.
func isForeign(in rundir.Dir, name string, getenv func(string) string) (bool, error) {
	doc, err := in.Open(name)
	if err != nil {
		return true, err
	}
	defer doc.Close() //nolint:errcheck // it was only read
	return !signed(doc, getenv), nil
}

// CheckOut makes the folders in which the programs of earlier versions run. The caller removes them by what is returned.
func (j *Job) CheckOut() (remove func(), err error) {
	var made []string
	remove = func() {
		for _, dir := range made {
			_ = os.RemoveAll(dir) // what is left is in the folder for temporary files
		}
	}
	for _, c := range j.checkouts {
		if len(programsIn(c.of)) == 0 {
			continue
		}
		made = append(made, c.dir)
		if err := c.version.Checkout(c.dir); err != nil {
			remove()
			return nil, exit.BadInput("--interleave: the programs of %s cannot be checked out: %w", c.of.File, err)
		}
	}
	return remove, nil
}

// NoteEarlier writes down the earlier version that runs next to a suite, if there is one.
func (j *Job) NoteEarlier(s *suite.Suite, to *eval.RunSuite) {
	base, _ := s.BaseVersion()
	for _, c := range j.checkouts {
		if c.of == base {
			to.EarlierCommit, to.EarlierHash = c.version.Ref, base.Hash()
		}
	}
}

// earlierAtStart reads the earlier version of the i-th suite of a run as it was when the run began; nil when there is none.
func (r *Resumption) earlierAtStart(l *Loaded, i int, opts suite.Options) (*suite.Suite, error) {
	one := &r.doc.Run.Suites[i]
	file, ref, err := r.Flags.Interleaved()
	if err != nil || file != one.File {
		return nil, err
	}
	snapshot, err := os.OpenRoot(filepath.Join(r.Dir, filepath.FromSlash(earlierDir(i))))
	if err != nil {
		return nil, exit.BadInput("the run cannot be resumed: its copy of the version %s of %s is gone: %w", ref, one.Name, err)
	}
	v := versionOf{filepath.Base(one.Snapshot), one.File, ref, layers.Git{Dir: one.Dir, Ref: cmp.Or(one.EarlierCommit, ref)}}
	v.git.Filtered = !r.Flags.Untrusted && (r.trust || signed(r.doc, l.Getenv))
	opts.Expected = regular.FS(snapshot)
	s, err := l.loadEarlier(layers.Overlay{regular.FS(snapshot), v.git}, v, opts)
	if err == nil && one.EarlierHash != "" && s.Hash() != one.EarlierHash && !r.untrusted {
		err = exit.BadInput("the run cannot be resumed: its copy of the version %s of %s is not the one with which it began", ref, one.Name)
	}
	return s, err
}
