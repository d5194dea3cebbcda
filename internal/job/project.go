package job

import (
	"os"
	"path/filepath"

	"github.com/evalrun/evalrun/diag"
	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/dialect"
	"github.com/evalrun/evalrun/internal/exit"
	"github.com/evalrun/evalrun/internal/layers"
	"github.com/evalrun/evalrun/internal/project"
	"github.com/evalrun/evalrun/internal/regular"
	"github.com/evalrun/evalrun/internal/rundir"
	"github.com/evalrun/evalrun/suite"
)

// ProjectChoice is what a command says about the project file.
type ProjectChoice struct {
	File string // that the user named; "": the one that is found
	None bool   // none is used
	// Getenv replaces os.Getenv for variables in its services. Optional.
	Getenv func(string) string
}

// UseProject reads the project file of the folder in which the command works, or the one that the user named, and lets
// its settings hold where nothing else says anything. Without one it does nothing. suites are the files that the
// command names: a file among them is a suite, whatever it is called.
func (f *Flags) UseProject(c ProjectChoice, suites []string) error {
	if err := f.checkIdentity(); err != nil {
		return err
	}
	switch named := c.File != ""; {
	case c.None && named:
		return exit.BadInput("--config and --no-config exclude each other")
	case f.Untrusted && named:
		return exit.BadInput("--untrusted uses no project file: leave --config out, and give by flags what the file says")
	case c.None || f.Untrusted:
		return nil
	case named:
		return f.readProject(f.Dir.Abs(c.File), c, suites)
	}
	home, _ := os.UserHomeDir() // without one there is no such bound
	path := project.Find(f.Dir.Abs(""), home)
	if path == "" || f.amongSuites(path, suites) {
		return nil
	}
	return f.readProject(path, c, suites)
}

// checkIdentity wants a name and labels that can be shown.
func (f *Flags) checkIdentity() error {
	if f.Name != "" {
		if err := rundir.CheckName(f.Name); err != nil {
			return exit.BadInput("%w", err)
		}
	}
	for key, value := range f.Labels {
		if err := rundir.CheckLabel(key, value); err != nil {
			return exit.BadInput("%w", err)
		}
	}
	return nil
}

// amongSuites reports whether a file is one of the suites that the command names.
func (f *Flags) amongSuites(path string, suites []string) bool {
	info, err := os.Stat(path)
	for _, name := range suites {
		if one, problem := os.Stat(f.Dir.Join(name)); err == nil && problem == nil && os.SameFile(info, one) {
			return true
		}
	}
	return false
}

// readProject reads a project file and takes its settings.
func (f *Flags) readProject(path string, c ProjectChoice, suites []string) error {
	files := &Files{sources: map[string][]byte{}}
	shown := f.shown(path)
	file, err := project.Read(path, shown, c.File != "", &files.Diags)
	if err != nil {
		return err
	}
	files.sources[shown] = file.Text
	if f.getenv = c.Getenv; f.getenv == nil {
		f.getenv = os.Getenv
	}
	if files.Diags.HasErrors() {
		if len(suites) == 0 && len(file.Suites) > 0 {
			file.SuiteFiles(&files.Diags)
		}
		return f.badProject(file, files)
	}
	f.ProjectFile, f.Defaults, f.advice = file, &file.Defaults, files.Diags
	for key, value := range file.Labels {
		if _, given := f.Labels[key]; !given {
			if f.Labels == nil {
				f.Labels = map[string]string{}
			}
			f.Labels[key] = value
		}
	}
	return nil
}

// badProject is the error of a project file with problems: those of its services come with them.
func (f *Flags) badProject(file *project.File, files *Files) error {
	servicesIn(file, suite.Options{Getenv: f.getenv, AllowEnv: f.AllowEnv, Can: dialect.Can}, &files.Diags)
	return &BadFiles{files}
}

// shown is a path as its user would name it: relative to where the command works, unless that is far away.
func (f *Flags) shown(path string) string {
	if rel, err := filepath.Rel(f.Dir.Abs(""), path); err == nil {
		return rel
	}
	return path
}

// ProjectSuites are the suites of the project file in use, as their user would name them; none without one.
func (f *Flags) ProjectSuites() ([]string, error) {
	if f.ProjectFile == nil {
		return nil, nil
	}
	files := &Files{sources: map[string][]byte{f.ProjectFile.Shown(): f.ProjectFile.Text}}
	found := f.ProjectFile.SuiteFiles(&files.Diags)
	if files.Diags.HasErrors() {
		return nil, f.badProject(f.ProjectFile, files)
	}
	for i := range found {
		found[i] = f.shown(found[i])
	}
	return found, nil
}

// projectOf lets the project file of a run in a directory hold again, as it was when the run began.
func (f *Flags) projectOf(run *eval.Run, dir string) error {
	if run.ProjectFile == "" {
		return nil
	}
	copied := filepath.Join(dir, filepath.FromSlash(projectCopy))
	text, err := regular.ReadFile(copied, maxInput)
	if err != nil {
		return exit.BadInput("the run cannot be used: its copy of the project file cannot be read: %w", err)
	}
	var diags diag.List
	file := project.Load(run.ProjectFile, copied, text, &diags)
	if file.Hash() != run.ProjectHash || diags.HasErrors() {
		return exit.BadInput("the run cannot be used: %s is not the copy of the project file with which it began", copied)
	}
	f.ProjectFile, f.Defaults = file, &file.Defaults
	return nil
}

// projectServices are the named services of the project file in use. Problems are the job's, and so is advice about the file.
func (l *Loaded) projectServices(opts suite.Options) []*suite.NamedService {
	file := l.Flags.ProjectFile
	if file == nil {
		return nil
	}
	l.sources[file.Shown()] = file.Text
	l.Diags.Merge(l.Flags.advice)
	return servicesIn(file, opts, &l.Diags)
}

// servicesIn are the named services of a project file. Problems go to diags.
func servicesIn(file *project.File, opts suite.Options, diags *diag.List) []*suite.NamedService {
	if file.Services.IsZero() {
		return nil
	}
	opts.Dir = filepath.Dir(file.Path)
	files := layers.Overlay{}
	if root, err := os.OpenRoot(opts.Dir); err == nil { // that of a run that is resumed may have gone
		files = append(files, regular.FS(root))
	}
	return suite.LoadServices(files, file.Services, opts, diags)
}
