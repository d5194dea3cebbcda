package session

import (
	"io/fs"
	"os"
	"path/filepath"

	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/files"
)

// boundary is the folder whose files the suites of a folder may read.
type boundary struct {
	top string // absolute
	at  string // the suites' folder in it, with slashes
	of  string // what the top is, in messages
}

// boundaryOf returns the project around a folder: the folder of the project file, the top of the git checkout, or else the folder
// itself. The home folder and the root of the file system are never a project: they have what belongs to no suite.
func (f *Options) boundaryOf(dir string) boundary {
	const noProject = "the suite's folder; a project file " + FileName + " in a folder above makes that the project"
	own := boundary{dir, ".", noProject}
	if f.Untrusted {
		own.of = "the suite's folder"
		return own
	}
	var tops []boundary
	if f.Root != "" {
		tops = append(tops, boundary{top: f.In().Abs(f.Root), of: "the root " + f.Root})
	}
	if f.project != nil {
		tops = append(tops, boundary{top: f.project.dir(), of: "the project, the folder of " + f.project.Shown()})
	}
	if top := files.Checkout(dir); top != "" {
		tops = append(tops, boundary{top: top, of: "the project, the git checkout"})
	}
	home, _ := os.UserHomeDir() // without a home there is none to keep out
	for _, b := range tops {
		real, err := filepath.EvalSymlinks(b.top)
		if err != nil {
			continue
		}
		rel, err := filepath.Rel(real, dir)
		if err != nil || !filepath.IsLocal(rel) || filepath.Dir(real) == real || home != "" && same(real, home) {
			continue
		}
		return boundary{real, filepath.ToSlash(rel), b.of}
	}
	return own
}

// within is the file system of a suite in a folder. It reports what the suite reads and lists to Reading and Listing.
func (f *Options) within(dir, suite string) (files.Within, error) {
	b := f.boundaryOf(dir)
	root, err := os.OpenRoot(b.top)
	if err != nil {
		return files.Within{}, err
	}
	return f.around(f.noting(root, suite), b), nil
}

func (f *Options) around(project fs.FS, b boundary) files.Within {
	w := files.Within{Project: project, At: b.at, Of: b.of, Untrusted: f.Untrusted}
	if len(f.AllowFile) > 0 {
		w.Allow = eval.NewPatterns(f.AllowFile).Match
	}
	return w
}
