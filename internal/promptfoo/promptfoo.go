// Package promptfoo converts a promptfoo configuration, or the evals of an Agent Skill, to a suite. It reads only regular
// files below the configuration's folder, and runs nothing; what it fetches are images, with Options.Fetch alone. The report
// lists every key of the source: imported, imported with a difference, not expressible, or ignored by promptfoo itself.
package promptfoo

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/evalrun/evalrun/diag"
	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/yaml"
)

// Write writes the suite, its files and the report into a folder, which must be empty or new.
func (im *Import) Write(dir string) error {
	if err := Free(dir); err != nil {
		return err
	}
	for _, name := range slices.Sorted(maps.Keys(im.files)) {
		if err := write(dir, name, im.files[name]); err != nil {
			return err
		}
	}
	return im.WriteReport(dir)
}

// WriteReport writes only the report, for when Unvalidated has added problems.
func (im *Import) WriteReport(dir string) error { return write(dir, ReportFile, im.report()) }

// Free returns an error if a folder has anything in it that an import would mix with.
func Free(dir string) error {
	found, err := os.ReadDir(dir)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return eval.BadInput("%s cannot take the suite: %w", diag.CleanLine(dir), err)
	case len(found) > 0:
		return eval.BadInput(
			"%s is not empty (it has %s); nothing is overwritten: name another folder with --out",
			diag.CleanLine(dir),
			diag.CleanLine(found[0].Name()),
		)
	}
	return nil
}

func write(dir, name string, data []byte) error {
	at := filepath.Join(dir, filepath.FromSlash(name))
	if err := os.MkdirAll(filepath.Dir(at), 0o777); err != nil {
		return eval.BadInput("the suite cannot be written: %w", err)
	}
	mode := fs.FileMode(0o666)
	if strings.HasSuffix(name, ".sh") {
		mode = 0o777
	}
	if err := os.WriteFile(at, data, mode); err != nil {
		return eval.BadInput("the suite cannot be written: %w", err)
	}
	return nil
}

// report returns the report: a summary, what needs manual work, and a line for each key.
func (im *Import) report() []byte {
	slices.SortStableFunc(im.fates.lines, func(a, b fateLine) int { return strings.Compare(a.file, b.file) })
	var b strings.Builder
	fmt.Fprintf(&b, "# Import of %s\n\n%s.\n", diag.CleanLine(filepath.Base(im.Config)), im.Summary())
	if len(im.needs) > 0 {
		fmt.Fprintf(&b, "\nThe author's code runs in shims that need %s in PATH.\n", strings.Join(im.needs, " and "))
	}
	if len(im.hand) == 0 {
		fmt.Fprintf(&b, "\n`evalrun validate %s` finds no problem.\n", SuiteFile)
	} else {
		fmt.Fprintf(&b, "\n## Lines of %s that need a hand\n\n", SuiteFile)
		for _, p := range im.hand {
			fmt.Fprintf(&b, "- %s\n", diag.CleanLine(p))
		}
	}
	b.WriteString(im.fates.secrets.section())
	b.WriteString(conversions(im.converted))
	im.section(&b, "Not expressible", statusTODO)
	im.section(&b, "Ignored by promptfoo", statusIgnored)
	im.section(&b, "Imported with a difference", statusDiffers)
	b.WriteString("\n## Every key\n\n")
	for _, n := range im.fates.lines {
		b.WriteString(n.words() + "\n")
	}
	return []byte(im.fates.secrets.outOf(b.String()))
}

// section lists the keys of one status. A key is omitted if a key around it has the same note.
func (im *Import) section(b *strings.Builder, title string, s status) {
	var last fateLine
	for _, n := range im.fates.lines {
		if n.fate.status != s || n.below(last) {
			continue
		}
		if last.path == "" {
			fmt.Fprintf(b, "\n## %s\n\n", title)
		}
		b.WriteString(n.words() + "\n")
		last = n
	}
}

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
	// converted has the encodings of files that were not UTF-8, by name.
	converted map[string]string
	evals     bool // of a skill, not of promptfoo
}

// Problems has the problems of the files of a configuration, with their contents for the messages.
type Problems struct {
	Diags   diag.List
	Sources map[string][]byte
}

// Read converts the configuration at path. It adds problems of its content, such as invalid YAML, to the
// list and then returns nil. The error is about the file: it is missing, not a regular file, too large,
// JavaScript, it names files outside of its folder without Options.Root, or its scenarios have more tests than MaxTrials.
func Read(path string, o Options, problems *Problems) (*Import, error) {
	src, err := open(path, o, problems)
	if err != nil {
		return nil, err
	}
	defer src.close()
	root, ok := src.parse(filepath.Base(path), src.config)
	if !ok || !isConfig(root) {
		return nil, nil
	}
	c := newConverter(src)
	c.maxTrials, c.fetch = o.MaxTrials, o.Fetch
	top := c.at(root)
	c.config(top)
	if problem, hint := eval.TooManyTrials(c.products, o.MaxTrials); problem != "" {
		return nil, eval.BadInput("the scenarios have %s: %s", problem, hint)
	}
	if problems.Diags.HasErrors() {
		return nil, nil
	}
	if err := cmp.Or(c.fates.tooMuch(), src.rootWanted(path)); err != nil {
		return nil, err
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
	if slices.ContainsFunc([]string{"prompts", "providers", "targets", "tests", "scenarios", "defaultTest", "redteam"}, m.Has) {
		return true
	}
	root.Errorf("it has `prompts`, `providers` and `tests`", "this is not a promptfoo configuration: it has none of their keys")
	return false
}

// finish writes the suite and lists what its shims need.
func (c *converter) finish(path string, top src) (*Import, error) {
	c.files[SuiteFile] = c.suite(path)
	c.fates.account(top)
	if err := c.fates.tooMuch(); err != nil {
		return nil, err
	}
	c.files[SuiteFile] = append(c.files[SuiteFile], c.fates.leftOver(string(c.files[SuiteFile]))...)
	c.typedFile()
	if err := c.shims.addTo(c.files); err != nil {
		return nil, err
	}
	for name, data := range c.files {
		if strings.HasPrefix(name, imagesDir+"/") {
			continue
		}
		c.files[name] = []byte(c.fates.secrets.outOf(string(data)))
	}
	return &Import{Config: path, files: c.files, fates: c.fates, needs: c.shims.programs(), converted: c.source.converted}, nil
}

// SetProblems records the problems that `validate` finds in the written suite, for the report.
func (im *Import) SetProblems(problems []string) { im.hand = problems }

// Inexpressible counts the keys that a suite cannot express. Unknown keys, which promptfoo ignores, do not
// count.
func (im *Import) Inexpressible() int { return im.fates.counts()[statusTODO] }

// Variables lists the environment variables that replace secrets of the configuration.
func (im *Import) Variables() []string { return im.fates.secrets.names() }

// KeptKeys counts the variables of tests that look like keys, and were copied.
func (im *Import) KeptKeys() int { return len(im.fates.secrets.keptIn) }

// Needs lists the programs that the suite's shims start, such as node.
func (im *Import) Needs() []string { return im.needs }

// Summary returns a line with the number of keys of each status.
func (im *Import) Summary() string {
	n := im.fates.counts()
	out := fmt.Sprintf(
		"%s: %d imported, %d with a difference, %d not expressible",
		diag.Count(len(im.fates.lines), "key"), n[statusOK], n[statusDiffers], n[statusTODO],
	)
	if im.evals {
		return out
	}
	return fmt.Sprintf("%s, %d ignored by promptfoo", out, n[statusIgnored])
}
