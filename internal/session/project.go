package session

import (
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/evalrun/evalrun/diag"
	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/files"
	"github.com/evalrun/evalrun/internal/rundir"
	"github.com/evalrun/evalrun/suite"
)

// FindProject uses the nearest project file at or above the folder, unless suites are untrusted or the file is named as a suite.
func (f *Options) FindProject() {
	if f.Untrusted {
		return
	}
	f.ProjectFound = true
	home, _ := os.UserHomeDir() // without a home, the search ends at the root
	if path := findProject(f.In().Abs(""), home); path != "" && !f.amongSuites(path) {
		f.ProjectFile = path
	}
}

// UseProject reads the project file. Its settings are defaults: options, environment and suites win over them.
func (f *Options) UseProject() error {
	if err := f.checkIdentity(); err != nil {
		return err
	}
	switch {
	case f.ProjectFile == "" || f.project != nil:
		return nil
	case f.Untrusted:
		return eval.BadInput("--untrusted uses no project file: leave --config out, and give by flags what the file says")
	}
	path := f.In().Abs(f.ProjectFile)
	files := &Files{sources: map[string][]byte{}}
	file, err := f.readProject(path, f.shown(path), &files.Diags)
	if err != nil {
		return err
	}
	files.sources[file.Shown()] = file.Text
	if files.Diags.HasErrors() {
		if len(f.Suites) == 0 && len(file.Suites) > 0 {
			file.SuiteFiles(&files.Diags)
		}
		return f.badProject(file, files)
	}
	f.project, f.advice = file, files.Diags
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

func (f *Options) checkIdentity() error {
	if f.Name != "" {
		if err := CheckName(f.Name); err != nil {
			return eval.BadInput("%w", err)
		}
	}
	for key, value := range f.Labels {
		if err := checkLabel(key, value); err != nil {
			return eval.BadInput("%w", err)
		}
	}
	return nil
}

// amongSuites reports whether a file is one of the suites that the command names.
func (f *Options) amongSuites(path string) bool {
	info, err := os.Stat(path)
	for _, name := range f.Suites {
		if one, problem := os.Stat(f.In().Join(name)); err == nil && problem == nil && os.SameFile(info, one) {
			return true
		}
	}
	return false
}

// badProject is the error for a project file with problems, including those of its services.
func (f *Options) badProject(file *projectFile, files *Files) error {
	f.servicesIn(file, suite.Options{Getenv: f.Env, AllowEnv: f.AllowEnv, Can: Can}, &files.Diags)
	return &BadFiles{files}
}

// shown makes a path relative to the working directory if it can.
func (f *Options) shown(path string) string {
	if rel, err := filepath.Rel(f.In().Abs(""), path); err == nil {
		return rel
	}
	return path
}

// TakeSuites takes the suites of the project file, relative to the working directory, if none is named.
func (f *Options) TakeSuites() error {
	if err := f.UseProject(); err != nil || f.project == nil || len(f.Suites) > 0 {
		return err
	}
	files := &Files{sources: map[string][]byte{f.project.Shown(): f.project.Text}}
	f.Suites = f.project.SuiteFiles(&files.Diags)
	if files.Diags.HasErrors() {
		return f.badProject(f.project, files)
	}
	for i := range f.Suites {
		f.Suites[i] = f.shown(f.Suites[i])
	}
	return nil
}

// maxLooked bounds what is read of a file to find out whether it is a suite, in bytes.
const maxLooked = 1 << 20

// TakeOnlySuite takes the only suite of the folder, if none is named: a YAML file with targets and prompts at its top.
func (f *Options) TakeOnlySuite() error {
	entries, err := os.ReadDir(f.In().Abs(""))
	if err != nil {
		return eval.BadInput("name a suite: the folder cannot be read: %w", err)
	}
	targets, prompts := regexp.MustCompile(`(?m)^["']?targets["']?[ \t]*:`), regexp.MustCompile(`(?m)^["']?prompts["']?[ \t]*:`)
	var looked, found []string
	for _, e := range entries {
		ext := strings.ToLower(filepath.Ext(e.Name()))
		if !e.Type().IsRegular() || ext != ".yaml" && ext != ".yml" || e.Name() == FileName {
			continue
		}
		looked = append(looked, diag.CleanLine(e.Name()))
		text, err := files.ReadInput(f.In().Join(e.Name()), maxLooked)
		if err == nil && targets.Match(text) && prompts.Match(text) {
			found = append(found, e.Name())
		}
	}
	if len(found) == 1 {
		f.Suites = found
		return nil
	}
	some := func(names []string) string { // a folder may have thousands
		return strings.Join(names[:min(10, len(names))], ", ") + map[bool]string{true: ", ..."}[len(names) > 10]
	}
	what := "there is no YAML file"
	switch {
	case len(found) > 1:
		what = fmt.Sprintf("%s are suites", some(found))
	case len(looked) > 0:
		what = fmt.Sprintf("%s: no file with `targets` and `prompts`", some(looked))
	}
	return eval.BadInput("name a suite, or list the suites of the project in %s; in this folder %s", FileName, what)
}

// Presets are the defaults that the project file in use has for flags, and the name of the file in messages.
func (f *Options) Presets() (file string, flags []flagDefault) {
	if f.project == nil {
		return "", nil
	}
	return f.project.Shown(), f.project.Flags
}

// projectOf uses the project file that a run began with, from its copy in the run directory dir.
func (f *Options) projectOf(run *eval.Run, dir string) error {
	if run.ProjectFile == "" {
		return nil
	}
	copied := filepath.Join(dir, filepath.FromSlash(projectCopy))
	var text []byte
	copies, err := rundir.Copies(dir, path.Dir(projectCopy))
	if err == nil {
		text, err = fs.ReadFile(files.FS(copies), FileName)
	}
	if err != nil {
		return eval.BadInput("the run cannot be used: its copy of the project file cannot be read: %w", err)
	}
	var diags diag.List
	file := LoadProject(run.ProjectFile, copied, text, f.formats, &diags)
	if file.Hash() != run.ProjectHash || diags.HasErrors() {
		return eval.BadInput("the run cannot be used: %s is not the copy of the project file with which it began", copied)
	}
	if f.foreign {
		file.Defaults.Prices = "" // its path is of another machine, or of any file of this one
	}
	f.project = file
	return nil
}

// projectServices returns the named services of the project file in use. Their problems, and warnings about the file, go
// to the job's Diags.
func (l *Loaded) projectServices(opts suite.Options) []*suite.NamedService {
	file := l.Options.project
	if file == nil {
		return nil
	}
	l.sources[file.Shown()] = file.Text
	l.Diags.Merge(l.Options.advice)
	return l.Options.servicesIn(file, opts, &l.Diags)
}

func (f *Options) servicesIn(file *projectFile, opts suite.Options, diags *diag.List) []*suite.NamedService {
	if file.Services.IsZero() {
		return nil
	}
	opts.Dir = filepath.Dir(file.Path)
	sources := files.Overlay{}
	if !f.foreign {
		if root, err := os.OpenRoot(opts.Dir); err == nil { // the folder may be gone when a run is resumed
			sources = append(sources, f.around(files.FS(root), boundary{opts.Dir, ".", "the folder of " + file.Shown()}))
		}
	}
	return suite.LoadServices(sources, file.Services, opts, diags)
}
