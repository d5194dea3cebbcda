package session

import (
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/evalrun/evalrun/diag"
	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/yaml"
	"github.com/evalrun/evalrun/journal"
)

func (f *projectFile) globs(n yaml.Node) {
	wanted := 0
	for _, item := range n.Items() {
		text := item.Str()
		pattern, leaves := strings.CutPrefix(text, "!")
		if !leaves {
			wanted++
		}
		switch {
		case text == "": // if it is not a text, Str has reported it
			if item.IsScalar() && !item.IsNull() {
				item.Errorf("such as evals/*.yaml", "the glob is empty")
			}
		case !filepath.IsLocal(filepath.FromSlash(pattern)):
			item.Errorf("write it relative to the project file", "`%s` is not below the folder of the project file", pattern)
		default:
			f.Suites = append(f.Suites, globAt{text, item.Pos()})
		}
	}
	if n.IsSequence() && wanted == 0 {
		n.Errorf("such as `suites: [evals/*.yaml]`", "no suite is named")
	}
}

// SuiteFiles returns the absolute paths in the order of the globs and then by name. Problems go to diags.
func (f *projectFile) SuiteFiles(diags *diag.List) []string {
	wanted, left := f.parted()
	var out []string
	for _, g := range wanted {
		for _, name := range f.matching(g, diags) {
			path := filepath.Join(f.dir(), filepath.FromSlash(name))
			switch {
			case left(name) || slices.Contains(out, path):
			case !below(f.dir(), path):
				diags.Errorf(
					g.At, "copy the suite into the folder, or name it on the command line",
					"%s leads out of the folder of the project file by a symbolic link", name,
				)
			default:
				out = append(out, path)
			}
		}
	}
	if len(out) == 0 && !diags.HasErrors() {
		diags.Errorf(f.Suites[0].At, "narrow them, or add a glob without `!`", "the globs that begin with `!` leave no suite")
	}
	return out
}

// parted returns the globs of wanted files, and a function that says which files the `!` globs exclude.
func (f *projectFile) parted() (wanted []globAt, left func(name string) bool) {
	var out []string
	for _, g := range f.Suites {
		if pattern, leaves := strings.CutPrefix(g.Pattern, "!"); leaves {
			out = append(out, alternatives(pattern)...)
		} else {
			wanted = append(wanted, g)
		}
	}
	return wanted, func(name string) bool { return len(out) > 0 && eval.NewPatterns(out).Match(name) }
}

// suitesAmong returns those of files, relative to the project file, that are suites of the project.
func (f *projectFile) suitesAmong(files []string) (out []string) {
	wanted, left := f.parted()
	for _, name := range files {
		hidden := func(part string) bool { return strings.HasPrefix(part, ".") || part == "node_modules" }
		skipped := slices.ContainsFunc(strings.Split(name, "/"), hidden) || name == filepath.Base(f.Path) || left(name)
		if skipped || !slices.ContainsFunc(wanted, func(g globAt) bool {
			return path.Clean(g.Pattern) == name || eval.NewPatterns(alternatives(g.Pattern)).Match(name)
		}) {
			continue
		}
		out = append(out, name)
	}
	return out
}

// matching returns the files that match a glob. Without a star the glob names one file.
func (f *projectFile) matching(g globAt, diags *diag.List) []string {
	if !strings.Contains(g.Pattern, "*") {
		name := path.Clean(filepath.ToSlash(g.Pattern))
		info, err := os.Stat(filepath.Join(f.dir(), filepath.FromSlash(name)))
		switch {
		case err != nil:
			diags.Errorf(g.At, diag.DidYouMean(name, f.siblings(name)), "there is no file `%s`", g.Pattern)
			return nil
		case info.IsDir():
			diags.Errorf(g.At, "such as "+name+"/*.yaml", "`%s` is a folder", g.Pattern)
			return nil
		}
		return []string{name}
	}
	files, all := f.files(path.Dir(strings.SplitN(g.Pattern, "*", 2)[0] + "x"))
	if !all {
		diags.Errorf(g.At, "begin the glob with a folder", "there are more than %d files to look at", mostFiles)
		return nil
	}
	patterns := eval.NewPatterns(alternatives(g.Pattern))
	found := slices.DeleteFunc(files, func(name string) bool { return !patterns.Match(name) })
	if len(found) == 0 {
		diags.Errorf(g.At, "such as `evals/*.yaml`, from the folder of the project file", "`%s` matches no file", g.Pattern)
	}
	return found
}

func (f *projectFile) siblings(name string) (out []string) {
	entries, err := os.ReadDir(filepath.Join(f.dir(), filepath.FromSlash(path.Dir(name))))
	if err != nil {
		return nil
	}
	for _, e := range entries {
		out = append(out, path.Join(path.Dir(name), e.Name()))
	}
	return out
}

// alternatives returns the variants of a glob, since `**/` matches any number of folders, including none.
func alternatives(pattern string) []string {
	pattern = strings.TrimPrefix(pattern, "./")
	out := []string{pattern}
	if strings.Contains(pattern, "**/") {
		out = append(out, strings.ReplaceAll(pattern, "**/", ""))
	}
	return out
}

// mostFiles bounds the files below the project folder that a glob examines.
const mostFiles = 200_000

// files lists the files below a folder, relative to the project file, in order. all is false when there are
// more than mostFiles. It omits hidden files, node_modules, the project file, and run directories, which
// contain copies of suites.
func (f *projectFile) files(folder string) (out []string, all bool) {
	top, all := filepath.Join(f.dir(), filepath.FromSlash(folder)), true
	_ = filepath.WalkDir(top, func(at string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil || at == top: // a folder that cannot be read has no suites to run
			return nil
		case entry.IsDir():
			return entered(at, entry)
		case strings.HasPrefix(entry.Name(), ".") || at == f.Path:
			return nil
		case len(out) == mostFiles:
			all = false
			return fs.SkipAll
		}
		if rel, err := filepath.Rel(f.dir(), at); err == nil {
			out = append(out, filepath.ToSlash(rel))
		}
		return nil
	})
	slices.Sort(out)
	return out, all
}

// entered returns fs.SkipDir for folders without suites of the project.
func entered(dir string, entry fs.DirEntry) error {
	_, err := os.Lstat(filepath.Join(dir, journal.FileName)) // only run directories have this file
	if err == nil || strings.HasPrefix(entry.Name(), ".") || entry.Name() == "node_modules" {
		return fs.SkipDir
	}
	return nil
}

func isLink(path string) bool {
	info, err := os.Lstat(path)
	return err == nil && info.Mode()&fs.ModeSymlink != 0
}
