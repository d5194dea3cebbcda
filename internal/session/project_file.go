package session

import (
	"crypto/sha256"
	"encoding/hex"
	"path/filepath"
	"slices"
	"strings"

	"github.com/evalrun/evalrun/diag"
	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/yaml"
)

// FileName is the name of project files that evalrun finds by itself.
const FileName = "evalrun.yaml"

type projectFile struct {
	Path string // absolute
	Text []byte
	// Suites are globs of suite files, relative to the folder of the project file. A glob with `!` in front
	// excludes files.
	Suites []globAt
	// Defaults apply where flags, variables and suites set nothing.
	Defaults eval.Options
	// Flags are defaults of flags that suites have no key for, in the order of the file.
	Flags []flagDefault
	// Services is the node of the named services, for suite.LoadServices; zero if there are none.
	Services yaml.Node
	// Labels are added to the labels that flags give.
	Labels map[string]string

	shown   string     // the name in messages
	formats []string   // of reports
	diags   *diag.List // set while the file is read
}

type globAt struct {
	Pattern string
	At      diag.Pos
}

type flagDefault struct {
	Name   string   // the long name, without dashes
	Values []string // several for a flag that can be repeated
}

// LoadProject parses a project file. Reports must have one of the formats; nil allows any. Problems in diags bear the name shown.
func LoadProject(path, shown string, text []byte, formats []string, diags *diag.List) *projectFile {
	f := &projectFile{Path: path, Text: text, shown: shown, formats: formats, diags: diags}
	root, ok := yaml.Parse(shown, text, diags)
	if !ok {
		return f
	}
	known := settings()
	m := root.Map()
	for e := range m.Entries() {
		at := slices.IndexFunc(known, func(s keyReader) bool { return s.Name == e.Name() })
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

// unknownKey explains keys of suites and flags that project files do not have.
func unknownKey(m *yaml.Map, e yaml.Entry) {
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

// Hash returns the SHA-256 digest of the file in hex.
func (f *projectFile) Hash() string {
	sum := sha256.Sum256(f.Text)
	return hex.EncodeToString(sum[:])
}

// Shown returns the name of the file in messages.
func (f *projectFile) Shown() string { return f.shown }

func (f *projectFile) dir() string { return filepath.Dir(f.Path) }

// path reads a path below the folder of the file, and returns it relative to the working directory.
func (f *projectFile) path(n yaml.Node, name string) string {
	native := filepath.FromSlash(name)
	switch {
	case name == "":
		n.Errorf("such as evals/suite.yaml", "the path is empty")
		return ""
	case !filepath.IsLocal(native) || strings.Contains(name, `\`) && !filepath.IsLocal(strings.ReplaceAll(name, `\`, "/")):
		n.Errorf("write it relative to the project file", "`%s` is not below the folder of the project file", name)
		return ""
	}
	if !below(f.dir(), filepath.Join(f.dir(), native)) {
		n.Errorf(
			"copy the file into the folder, or name it by a flag", "`%s` leads out of the folder of the project file by a symbolic link", name,
		)
		return ""
	}
	return filepath.Join(filepath.Dir(f.shown), native)
}

// below reports whether a path is inside a folder after following all links. Parts of the path that do not
// exist yet count too.
func below(dir, path string) bool {
	root, err := filepath.EvalSymlinks(dir)
	if err != nil { // the folder of a resumed run may be gone
		return true
	}
	for ; ; path = filepath.Dir(path) {
		if real, err := filepath.EvalSymlinks(path); err == nil {
			rel, err := filepath.Rel(root, real)
			return err == nil && filepath.IsLocal(rel)
		}
		if isLink(path) || filepath.Dir(path) == path { // a link to a missing file may lead anywhere
			return false
		}
	}
}
