// Package promptfoo turns a promptfoo configuration into a suite. It reads regular files below the configuration's
// folder, runs nothing and fetches nothing. Every key of the source ends up in the report: imported, imported with a
// difference, not expressible, or ignored by promptfoo itself.
package promptfoo

import (
	"fmt"
	"path/filepath"

	"github.com/evalrun/evalrun/diag"
	"github.com/evalrun/evalrun/internal/yamlnode"
)

// Names of what an import writes into its folder.
const (
	SuiteFile  = "suite.yaml"
	ReportFile = "import-report.md"
)

// Import is a converted configuration that is not written yet.
type Import struct {
	// Config is the configuration as the user named it.
	Config string

	files map[string][]byte // by their paths in the folder, with slashes
	notes *ledger
	needs []string // programs that the shims start
	hand  []string // problems that `validate` finds in the suite
}

// Problems are those of the files that make up a configuration, with the files for the source lines of messages.
type Problems struct {
	Diags   diag.List
	Sources map[string][]byte
}

// Read converts the configuration at path. Problems of the configuration itself, such as invalid YAML, go to the
// list, and the import is nil then. The error is about the file: it is missing, no regular file, too large, or in
// JavaScript.
func Read(path string, problems *Problems) (*Import, error) {
	src, err := open(path, problems)
	if err != nil {
		return nil, err
	}
	defer src.close()
	root, ok := src.parse(filepath.Base(path), src.config)
	if !ok || !isConfig(root) {
		return nil, nil
	}
	c := newConverter(src)
	top := c.at(root)
	c.config(top)
	if problems.Diags.HasErrors() {
		return nil, nil
	}
	return c.finish(path, top)
}

// isConfig reports whether a document can be a configuration at all.
func isConfig(root yamlnode.Node) bool {
	if !root.IsMapping() {
		root.Errorf("it has `prompts`, `providers` and `tests`", "expected a promptfoo configuration, found %s", root.Describe())
		return false
	}
	m := root.Map()
	for _, key := range []string{"prompts", "providers", "targets", "tests", "scenarios", "defaultTest", "redteam"} {
		if m.Has(key) {
			return true
		}
	}
	root.Errorf("it has `prompts`, `providers` and `tests`", "this is not a promptfoo configuration: it has none of their keys")
	return false
}

// finish writes the suite and lists what its shims need.
func (c *converter) finish(path string, top src) (*Import, error) {
	c.files[SuiteFile] = c.suite(path)
	c.notes.account(top)
	c.files[SuiteFile] = append(c.files[SuiteFile], c.notes.leftOver(string(c.files[SuiteFile]))...)
	c.typedFile()
	if err := c.shims.addTo(c.files); err != nil {
		return nil, err
	}
	return &Import{Config: path, files: c.files, notes: c.notes, needs: c.shims.programs()}, nil
}

// SetProblems records the problems that `validate` finds in the written suite, for the report.
func (im *Import) SetProblems(problems []string) { im.hand = problems }

// Inexpressible is the number of keys that a suite cannot express; unknown keys, which promptfoo ignores too, do not count.
func (im *Import) Inexpressible() int { return im.notes.counts()[statusTODO] }

// Needs lists the programs that the suite's shims start, such as node.
func (im *Import) Needs() []string { return im.needs }

// Summary is one line with the number of keys of each status.
func (im *Import) Summary() string {
	n := im.notes.counts()
	return fmt.Sprintf(
		"%d keys: %d imported, %d with a difference, %d not expressible, %d ignored by promptfoo",
		len(im.notes.lines),
		n[statusOK],
		n[statusDiffers],
		n[statusTODO],
		n[statusIgnored],
	)
}
