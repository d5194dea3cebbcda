package session

import (
	"io/fs"
	"os"
	"path"
	"path/filepath"

	"github.com/evalrun/evalrun/diag"
	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/files"
	"github.com/evalrun/evalrun/suite"
)

// ProjectSource says which project file a command uses.
type ProjectSource struct {
	File string // path that the user gave; "" to search for one
	None bool   // use none
	// Getenv replaces os.Getenv for variables in the services of the file. Optional.
	Getenv func(string) string
}

// UseProject reads the project file that the user named, or else the nearest one at or above the working directory. Its
// settings are defaults: options, environment and suites win over them. A file among suites, which the command names, is a
// suite even if it has the name of a project file.
func (f *Options) UseProject(c ProjectSource, suites []string) error {
	if err := f.checkIdentity(); err != nil {
		return err
	}
	switch named := c.File != ""; {
	case c.None && named:
		return eval.BadInput("--config names a project file, and --no-config uses none: choose one")
	case f.Untrusted && named:
		return eval.BadInput("--untrusted uses no project file: leave --config out, and give by flags what the file says")
	case c.None || f.Untrusted:
		return nil
	case named:
		return f.readProject(f.Dir.Abs(c.File), c, suites)
	}
	home, _ := os.UserHomeDir() // without a home, the search ends at the root
	path := Find(f.Dir.Abs(""), home)
	if path == "" || f.amongSuites(path, suites) {
		return nil
	}
	return f.readProject(path, c, suites)
}

// checkIdentity checks the name and the labels of the run.
func (f *Options) checkIdentity() error {
	if f.Name != "" {
		if err := CheckName(f.Name); err != nil {
			return eval.BadInput("%w", err)
		}
	}
	for key, value := range f.Labels {
		if err := CheckLabel(key, value); err != nil {
			return eval.BadInput("%w", err)
		}
	}
	return nil
}

// amongSuites reports whether a file is one of the suites that the command names.
func (f *Options) amongSuites(path string, suites []string) bool {
	info, err := os.Stat(path)
	for _, name := range suites {
		if one, problem := os.Stat(f.Dir.Join(name)); err == nil && problem == nil && os.SameFile(info, one) {
			return true
		}
	}
	return false
}

// readProject reads a project file and takes its settings.
func (f *Options) readProject(path string, c ProjectSource, suites []string) error {
	files := &Files{sources: map[string][]byte{}}
	shown := f.shown(path)
	file, err := ReadProject(path, shown, c.File != "", &files.Diags)
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
	f.ProjectFile = file
	f.advice = files.Diags
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

// badProject is the error for a project file with problems, including those of its services.
func (f *Options) badProject(file *File, files *Files) error {
	f.servicesIn(file, suite.Options{Getenv: f.getenv, AllowEnv: f.AllowEnv, Can: Can}, &files.Diags)
	return &BadFiles{files}
}

// shown makes a path relative to the working directory if it can.
func (f *Options) shown(path string) string {
	if rel, err := filepath.Rel(f.Dir.Abs(""), path); err == nil {
		return rel
	}
	return path
}

// ProjectSuites returns the suite files of the project file in use, relative to the working directory. Without a project
// file there are none.
func (f *Options) ProjectSuites() ([]string, error) {
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

// projectOf uses the project file that a run began with, from its copy in the run directory dir.
func (f *Options) projectOf(run *eval.Run, dir string) error {
	if run.ProjectFile == "" {
		return nil
	}
	copied := filepath.Join(dir, filepath.FromSlash(projectCopy))
	var text []byte
	copies, err := copiesIn(dir, path.Dir(projectCopy))
	if err == nil {
		text, err = fs.ReadFile(files.FS(copies), FileName)
	}
	if err != nil {
		return eval.BadInput("the run cannot be used: its copy of the project file cannot be read: %w", err)
	}
	var diags diag.List
	file := LoadProject(run.ProjectFile, copied, text, &diags)
	if file.Hash() != run.ProjectHash || diags.HasErrors() {
		return eval.BadInput("the run cannot be used: %s is not the copy of the project file with which it began", copied)
	}
	if f.foreign {
		file.Defaults.Prices = "" // its path is of another machine, or of any file of this one
	}
	f.ProjectFile = file
	return nil
}

// projectServices returns the named services of the project file in use. Their problems, and warnings about the file, go
// to the job's Diags.
func (l *Loaded) projectServices(opts suite.Options) []*suite.NamedService {
	file := l.Options.ProjectFile
	if file == nil {
		return nil
	}
	l.sources[file.Shown()] = file.Text
	l.Diags.Merge(l.Options.advice)
	return l.Options.servicesIn(file, opts, &l.Diags)
}

// servicesIn returns the named services of a project file. Problems go to diags.
func (f *Options) servicesIn(file *File, opts suite.Options, diags *diag.List) []*suite.NamedService {
	if file.Services.IsZero() {
		return nil
	}
	opts.Dir = filepath.Dir(file.Path)
	sources := files.Overlay{}
	if !f.foreign {
		if root, err := os.OpenRoot(opts.Dir); err == nil { // the folder may be gone when a run is resumed
			sources = append(sources, files.FS(root))
		}
	}
	return suite.LoadServices(sources, file.Services, opts, diags)
}
