// Package project reads project files: evalrun.yaml, which lists the suites of a project and holds the defaults of
// flags.
//
// The usual order: Find (or a file that the user named), Load, File.SuiteFiles.
package project

import (
	"crypto/sha256"
	"encoding/hex"
	"path/filepath"
	"slices"
	"strings"

	"github.com/evalrun/evalrun/diag"
	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/yamlnode"
)

// FileName is what a project file is called where no other is named.
const FileName = "evalrun.yaml"

// File is a project file that was read.
type File struct {
	Path string // absolute
	Text []byte
	// Suites are globs of suite files, relative to the folder of the file. One that begins with `!` leaves files out.
	Suites []Glob
	// Defaults hold where neither flags nor variables nor suites say anything.
	Defaults eval.Options
	// Flags are defaults of flags whose settings suites do not have, in the order of the file.
	Flags []Flag
	// Services is the node of the named services, which suite.LoadServices reads; zero without any.
	Services yamlnode.Node
	// Labels are those of runs, next to what flags give.
	Labels map[string]string

	shown string     // as messages name it
	diags *diag.List // while it is read
}

// Glob is a pattern with its place.
type Glob struct {
	Pattern string
	At      diag.Pos
}

// Flag is the default of a flag.
type Flag struct {
	Name   string   // the long one, without the dashes
	Values []string // several of one that can be repeated
}

// Load reads the text of a project file at a path. Problems go to diags, under the name shown.
func Load(path, shown string, text []byte, diags *diag.List) *File {
	f := &File{Path: path, Text: text, shown: shown, diags: diags}
	root, ok := yamlnode.Parse(shown, text, diags)
	if !ok {
		return f
	}
	known := settings()
	m := root.Map()
	for e := range m.Entries() {
		at := slices.IndexFunc(known, func(s setting) bool { return s.Name == e.Name() })
		if at < 0 {
			unknownKey(&m, e)
			continue
		}
		known[at].read(f, e.Value)
	}
	if root.IsMapping() && !m.Has(suitesKey) && !m.Misspells(suitesKey) {
		root.Errorf("such as `suites: [evals/*.yaml]`", "a project file needs the key `%s`", suitesKey)
	}
	return f
}

// unknownKey reports a key that project files do not have.
func unknownKey(m *yamlnode.Map, e yamlnode.Entry) {
	name := e.Name()
	if slices.Contains(chosenPerRun(), name) {
		e.Key.Errorf("give it on the command line", "`%s` is chosen for each run and is not a key of a project file", name)
		return
	}
	if slices.Contains([]string{"targets", "prompts", "cases", "version"}, name) {
		e.Key.Errorf(
			"give the suite another name than "+FileName+", or name it on the command line",
			"`%s` is a key of a suite, and this is a project file", name,
		)
		return
	}
	var names []string
	for _, s := range settings() {
		names = append(names, s.Name)
	}
	m.ReportUnknown(e, names)
}

// Hash is the SHA-256 digest of the file in hexadecimal digits.
func (f *File) Hash() string {
	sum := sha256.Sum256(f.Text)
	return hex.EncodeToString(sum[:])
}

// Shown is the name of the file in messages.
func (f *File) Shown() string { return f.shown }

// dir is the folder in which the paths of the file begin.
func (f *File) dir() string { return filepath.Dir(f.Path) }

// path reads a path of the folder of the file, as the user would name it.
func (f *File) path(n yamlnode.Node, name string) string {
	native := filepath.FromSlash(name)
	switch {
	case name == "":
		n.Errorf("", "the path is empty")
		return ""
	case !filepath.IsLocal(native) || strings.Contains(name, `\`) && !filepath.IsLocal(strings.ReplaceAll(name, `\`, "/")):
		n.Errorf("write it relative to the project file", "`%s` is not below the folder of the project file", name)
		return ""
	}
	if !below(f.dir(), filepath.Join(f.dir(), native)) {
		n.Errorf("", "`%s` leads out of the folder of the project file by a symbolic link", name)
		return ""
	}
	return filepath.Join(filepath.Dir(f.shown), native)
}

// below reports whether a path, or what there is of it, lies in a folder when all links are followed.
func below(dir, path string) bool {
	root, err := filepath.EvalSymlinks(dir)
	if err != nil { // the folder of a run that is resumed has gone
		return true
	}
	for ; ; path = filepath.Dir(path) {
		if real, err := filepath.EvalSymlinks(path); err == nil {
			rel, err := filepath.Rel(root, real)
			return err == nil && filepath.IsLocal(rel)
		}
		if isLink(path) || filepath.Dir(path) == path { // a link to what is not there yet leads anywhere
			return false
		}
	}
}
