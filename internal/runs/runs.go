// Package runs is what commands do with runs that are there: report them, show their cases, compare them, name them as baselines, accept
// their answers, merge shards, follow their history.
package runs

import (
	"os"
	"path/filepath"
	"strings"

	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/glob"
	"github.com/evalrun/evalrun/internal/exit"
	"github.com/evalrun/evalrun/internal/judgecheck"
	"github.com/evalrun/evalrun/internal/output"
	"github.com/evalrun/evalrun/internal/regular"
	"github.com/evalrun/evalrun/internal/rundir"
	"github.com/evalrun/evalrun/internal/term"
	"github.com/evalrun/evalrun/internal/verdict"
	"github.com/evalrun/evalrun/journal"
	"github.com/evalrun/evalrun/reports"
)

// Folder is a folder with its runs, baselines and history. The zero Folder is the working directory.
type Folder struct {
	rundir.Dir
}

// Pruning says which runs are deleted.
type Pruning = rundir.Pruning

// open opens a run for its reports: with its gate applied.
func (f Folder) open(name string) (*journal.Document, error) {
	doc, err := f.Open(name)
	if err == nil {
		verdict.ApplyIn(f.Dir, doc)
	}
	return doc, err
}

func layout(screen term.Screen) reports.Options {
	return reports.Options{Width: screen.Width, Color: screen.Color}
}

// Report writes reports of a run: each of formats is FORMAT=PATH, or FORMAT for the screen.
func (f Folder) Report(name string, formats []string, screen term.Screen, verbose bool) error {
	outputs, err := output.Parse(f.Dir, formats)
	if err != nil {
		return err
	}
	doc, err := f.open(name)
	if err != nil {
		return err
	}
	defer doc.Close() //nolint:errcheck // it was only read
	options := layout(screen)
	options.Verbose = verbose
	_, err = output.Write(doc, outputs, screen, options)
	return err
}

// HTML writes the HTML report of a run into its run directory, and returns the path.
func (f Folder) HTML(name string, screen term.Screen) (path string, err error) {
	path = filepath.Join(name, journal.ReportName)
	return path, f.Report(name, []string{"html=" + path}, screen, false)
}

// ReportBaseline writes reports of the run that has a name. It may be an exported file, to which no gate applies.
func (f Folder) ReportBaseline(name string, formats []string, screen term.Screen) error {
	doc, err := f.OpenBaseline(name)
	if err != nil {
		return err
	}
	defer doc.Close() //nolint:errcheck // it was only read
	outputs, err := output.Parse(f.Dir, formats)
	if err == nil {
		_, err = output.Write(doc, outputs, screen, layout(screen))
	}
	return err
}

// List lists the cases of a run.
func (f Folder) List(name string, screen term.Screen) error {
	doc, err := f.open(name)
	if err != nil {
		return err
	}
	defer doc.Close() //nolint:errcheck // it was only read
	return reports.CaseList(screen, doc, layout(screen))
}

// Show shows the cases of a run that fit a glob in full, on the arms that fit one of arms, or on all. The flag verbose
// adds what is long and seldom wanted.
func (f Folder) Show(name, pattern string, arms []string, screen term.Screen, verbose bool) error {
	doc, err := f.open(name)
	if err != nil {
		return err
	}
	defer doc.Close() //nolint:errcheck // it was only read
	options := layout(screen)
	options.Verbose = verbose
	found, err := reports.Cases(screen, doc, glob.Pattern(pattern), glob.New(arms), options)
	if err != nil || found {
		return err
	}
	return notShown(doc, pattern, arms)
}

// notShown is the error of a pattern that no case fits.
func notShown(doc *journal.Document, pattern string, arms []string) error {
	if len(arms) > 0 {
		return exit.BadInput(
			"no case fits %q on an arm that fits %s; arms are named target/prompt, and * matches any characters", pattern,
			strings.Join(arms, " or "),
		)
	}
	return exit.BadInput("the run has no case %q%s", pattern, output.NearestCase(doc, pattern))
}

// listedCase is a case as ShowJSON lists it.
type listedCase struct {
	Suite   string       `json:"suite"`
	Case    string       `json:"case"`
	Outcome eval.Outcome `json:"outcome"`
	Counts  eval.Counts  `json:"counts"`
}

// ShowJSON writes what List and Show do as JSON lines. These are the cases of a run with their outcomes. With a
// pattern they are the trials of the cases that fit it, as they are in the run file.
func (f Folder) ShowJSON(name, pattern string, arms []string, screen term.Screen) error {
	doc, err := f.open(name)
	if err != nil {
		return err
	}
	defer doc.Close() //nolint:errcheck // it was only read
	if pattern == "" {
		return listJSON(doc, screen)
	}
	found := false
	on := glob.New(arms)
	for row := range doc.Rows() {
		if glob.Pattern(pattern).Match(row.Case) {
			n, err := trialsJSON(doc, row, on, screen)
			if err != nil {
				return err
			}
			found = found || n > 0
		}
	}
	if !found {
		return notShown(doc, pattern, arms)
	}
	return nil
}

func listJSON(doc *journal.Document, screen term.Screen) error {
	for row := range doc.Rows() {
		if err := screen.JSON(listedCase{row.Suite, row.Case, journal.Fold(row.Counts), row.Counts}); err != nil {
			return err
		}
	}
	return nil
}

// trialsJSON writes the trials of a case on some arms, and counts them.
func trialsJSON(doc *journal.Document, row journal.Row, on glob.Patterns, screen term.Screen) (n int, err error) {
	for r, err := range doc.Read(row) {
		if err != nil {
			return n, err
		}
		if !on.Match(r.Arm) {
			continue
		}
		n++
		if err := screen.JSON(r); err != nil {
			return n, err
		}
	}
	return n, nil
}

// CheckJudges compares the judges of a run with the labels in a file.
func (f Folder) CheckJudges(name, labels string) (report *judgecheck.Report, emulated bool, err error) {
	doc, err := f.Open(name)
	if err != nil {
		return nil, false, err
	}
	defer doc.Close() //nolint:errcheck // it was only read
	report, err = judgecheck.Check(doc, labels)
	return report, doc.Run.Emulator, err
}

// Export writes what a comparison needs of a run to one file: a run file without prompts, answers and what may quote them.
func (f Folder) Export(name, out string) error {
	path, err := f.FindBaseline(name)
	if err != nil {
		return exit.BadInput("%w", err)
	}
	d, err := f.Open(path)
	if err != nil {
		return err
	}
	defer d.Close() //nolint:errcheck // it was only read
	if err := rundir.Usable(d, path); err != nil {
		return err
	}
	if out == regular.Standard {
		return d.Export(os.Stdout)
	}
	if err := rundir.Writable(f.Join(out)); err != nil {
		return exit.BadInput("%s cannot be written: %w", out, err)
	}
	if err := rundir.WriteFile(f.Join(out), d.Export); err != nil {
		return exit.Incomplete("%s cannot be written: %w", out, err)
	}
	return nil
}
