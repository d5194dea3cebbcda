package promptfoo

import (
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
