// Package promptfoo converts a promptfoo configuration to a suite. It reads only regular files below the
// configuration's folder, and runs and fetches nothing. The report lists every key of the source: imported,
// imported with a difference, not expressible, or ignored by promptfoo itself.
package promptfoo

import (
	"fmt"
	"path/filepath"

	"github.com/evalrun/evalrun/diag"
	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/yaml"
	"github.com/evalrun/evalrun/suite"
)

// Names of files that an import writes into its folder.
const (
	SuiteFile  = "suite.yaml"
	ReportFile = "import-report.md"
)

// Import is a converted configuration before it is written.
type Import struct {
	// Config is the path of the configuration, as the user gave it.
	Config string

	files map[string][]byte // by path in the folder, with slashes
	fates *fates
	needs []string // programs that the shims start
	hand  []string // problems that `validate` finds in the suite
}

// Problems has the problems of the files of a configuration, with their contents for the messages.
type Problems struct {
	Diags   diag.List
	Sources map[string][]byte
}

// Read converts the configuration at path. It adds problems of its content, such as invalid YAML, to the
// list and then returns nil. The error is about the file: it is missing, not a regular file, too large,
// JavaScript, or its scenarios have more tests than maxTrials.
func Read(path string, maxTrials int, problems *Problems) (*Import, error) {
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
	c.maxTrials = maxTrials
	top := c.at(root)
	c.config(top)
	if problem, hint := suite.TooMany(c.products, maxTrials); problem != "" {
		return nil, eval.BadInput("the scenarios have %s: %s", problem, hint)
	}
	if problems.Diags.HasErrors() {
		return nil, nil
	}
	return c.finish(path, top)
}

// isConfig reports an error for a document that cannot be a configuration.
func isConfig(root yaml.Node) bool {
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
	c.fates.account(top)
	c.files[SuiteFile] = append(c.files[SuiteFile], c.fates.leftOver(string(c.files[SuiteFile]))...)
	c.typedFile()
	if err := c.shims.addTo(c.files); err != nil {
		return nil, err
	}
	for name, data := range c.files {
		c.files[name] = []byte(c.fates.secrets.outOf(string(data)))
	}
	return &Import{Config: path, files: c.files, fates: c.fates, needs: c.shims.programs()}, nil
}

// SetProblems records the problems that `validate` finds in the written suite, for the report.
func (im *Import) SetProblems(problems []string) { im.hand = problems }

// Inexpressible counts the keys that a suite cannot express. Unknown keys, which promptfoo ignores, do not
// count.
func (im *Import) Inexpressible() int { return im.fates.counts()[statusTODO] }

// Variables lists the environment variables that replace secrets of the configuration.
func (im *Import) Variables() []string { return im.fates.secrets.names() }

// Needs lists the programs that the suite's shims start, such as node.
func (im *Import) Needs() []string { return im.needs }

// Summary returns a line with the number of keys of each status.
func (im *Import) Summary() string {
	n := im.fates.counts()
	return fmt.Sprintf(
		"%d keys: %d imported, %d with a difference, %d not expressible, %d ignored by promptfoo",
		len(im.fates.lines),
		n[statusOK],
		n[statusDiffers],
		n[statusTODO],
		n[statusIgnored],
	)
}
