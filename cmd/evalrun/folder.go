package main

import (
	"cmp"
	"os"
	"path/filepath"
	"strings"

	"github.com/evalrun/evalrun/cmd/evalrun/term"
	"github.com/evalrun/evalrun/diag"
	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/files"
	"github.com/evalrun/evalrun/internal/gate"
	"github.com/evalrun/evalrun/internal/judging"
	"github.com/evalrun/evalrun/internal/rundir"
	"github.com/evalrun/evalrun/journal"
	"github.com/evalrun/evalrun/reports"
	"github.com/evalrun/evalrun/scorers/labels"
)

// folder is a folder with its runs, baselines and history; its methods are commands on recorded runs. The zero folder
// is the working directory.
type folder struct {
	rundir.Dir
}

// open opens a run and applies its gate.
func (f folder) open(name string) (*journal.Document, error) {
	doc, err := f.Open(name)
	if err == nil {
		gate.ApplyIn(f.Dir, doc)
	}
	return doc, err
}

func layout(screen term.Screen) reports.Options {
	return reports.Options{Width: screen.Width, Color: screen.Color}
}

// report writes reports of a run. Each of formats is FORMAT=PATH, or FORMAT for the screen.
func (f folder) report(name string, formats []string, screen term.Screen, verbose bool) error {
	outputs, err := reports.ParseOutputs(formats, f.Join)
	if err != nil {
		return err
	}
	doc, err := f.open(name)
	if err != nil {
		return err
	}
	defer doc.Close() //nolint:errcheck // only read
	if err := reports.SpareRun(outputs, &doc.Run, f.Join); err != nil {
		return err
	}
	options := layout(screen)
	options.Verbose, options.Latest, options.Folder = verbose, f.IsLatest(doc.Dir), f.Abs("")
	_, err = reports.WriteOutputs(doc, outputs, screen, options)
	return err
}

// html writes the HTML report of a run into its run directory and returns the path.
func (f folder) html(name string, screen term.Screen) (path string, err error) {
	path = filepath.Join(name, journal.ReportName)
	return path, f.report(name, []string{"html=" + path}, screen, false)
}

// reportBaseline writes reports of a baseline. It applies no gate, since an exported file has no verdict.
func (f folder) reportBaseline(name string, formats []string, screen term.Screen) error {
	path, err := f.FindBaseline(name)
	if err != nil {
		return eval.BadInput("%w", err)
	}
	doc, err := f.Open(path)
	if err != nil {
		return err
	}
	defer doc.Close() //nolint:errcheck // only read
	if info, err := os.Stat(path); err == nil && info.IsDir() || filepath.Base(path) == journal.FileName {
		gate.ApplyIn(f.Dir, doc)
	}
	outputs, err := reports.ParseOutputs(formats, f.Join)
	if err == nil {
		err = reports.SpareRun(outputs, &doc.Run, f.Join)
	}
	if err == nil {
		_, err = reports.WriteOutputs(doc, outputs, screen, layout(screen))
	}
	return err
}

type showOptions struct {
	Case     string         // a glob; "" lists the cases
	Arms     []string       // globs; empty means all arms
	Outcomes []eval.Outcome // of trials; empty means all
}

func (s showOptions) wanted() reports.Wanted {
	return reports.Wanted{Case: eval.Pattern(cmp.Or(s.Case, "*")), Arms: eval.NewPatterns(s.Arms), Outcomes: s.Outcomes}
}

// list lists the cases of a run with a matching trial.
func (f folder) list(name string, what showOptions, screen term.Screen) error {
	doc, err := f.open(name)
	if err != nil {
		return err
	}
	defer doc.Close() //nolint:errcheck // only read
	if len(what.Arms) > 0 && !what.without().found(doc) {
		return what.notFound(doc)
	}
	return reports.CaseList(screen, doc, what.wanted(), layout(screen))
}

// show shows the matching trials of a run. verbose adds long parts that readers rarely need.
func (f folder) show(name string, what showOptions, screen term.Screen, verbose bool) error {
	doc, err := f.open(name)
	if err != nil {
		return err
	}
	defer doc.Close() //nolint:errcheck // only read
	options := layout(screen)
	options.Verbose = verbose
	found, err := reports.Cases(screen, doc, what.wanted(), options)
	if err != nil || found {
		return err
	}
	return what.notFound(doc)
}

// notFound explains why no trial matches: the case, the arm, or the outcome.
func (s showOptions) notFound(doc *journal.Document) error {
	if len(s.Outcomes) > 0 && s.without().found(doc) {
		return eval.BadInput("no trial of %q has the outcome %s; `evalrun show RUN` lists the cases", s.Case, words(s.Outcomes))
	}
	if len(s.Arms) > 0 {
		return eval.BadInput(
			"no case fits %q on an arm that fits %s; arms are named target/prompt, and * matches any characters", cmp.Or(s.Case, "*"),
			strings.Join(s.Arms, " or "),
		)
	}
	if waits := doc.Waits(); waits != nil {
		return eval.BadInput("the run has no answer to %q yet: it waits for %s; `evalrun resume` collects them", s.Case, waits)
	}
	return eval.BadInput("the run has no case %q%s", s.Case, nearestCase(doc, s.Case))
}

// nearestCase returns a hint with the case whose name is most similar.
func nearestCase(d *journal.Document, name string) string {
	var names []string
	for row := range d.Rows() {
		names = append(names, row.Case)
	}
	if hint := diag.DidYouMean(name, names); hint != "" {
		return "; " + hint
	}
	return ""
}

func (s showOptions) without() showOptions {
	s.Outcomes = nil
	return s
}

func (s showOptions) found(doc *journal.Document) bool {
	wanted := s.wanted()
	for row := range doc.Rows() {
		if _, ok := wanted.Row(doc, row); ok {
			return true
		}
	}
	return false
}

func words(outcomes []eval.Outcome) string {
	var out []string
	for _, o := range outcomes {
		out = append(out, string(o))
	}
	return strings.Join(out, " or ")
}

// listedCase is a case in the output of ShowJSON.
type listedCase struct {
	Suite   string       `json:"suite"`
	Case    string       `json:"case"`
	Outcome eval.Outcome `json:"outcome"`
	Counts  eval.Counts  `json:"counts"`
}

// showJSON writes JSON lines: with a case its matching trials as in the run file, else the cases with their outcomes.
func (f folder) showJSON(name string, what showOptions, screen term.Screen) error {
	doc, err := f.open(name)
	if err != nil {
		return err
	}
	defer doc.Close() //nolint:errcheck // only read
	if what.Case == "" && (len(what.Arms) == 0 || what.without().found(doc)) {
		return listJSON(doc, what, screen)
	}
	found, wanted := false, what.wanted()
	for row := range doc.Rows() {
		if _, ok := wanted.Row(doc, row); ok {
			n, err := trialsJSON(doc, row, wanted, screen)
			if err != nil {
				return err
			}
			found = found || n > 0
		}
	}
	if !found {
		return what.notFound(doc)
	}
	return nil
}

func listJSON(doc *journal.Document, what showOptions, screen term.Screen) error {
	wanted := what.wanted()
	for row := range doc.Rows() {
		counts, ok := wanted.Row(doc, row)
		if !ok {
			continue
		}
		if err := screen.JSON(listedCase{row.Suite, row.Case, journal.Fold(counts), counts}); err != nil {
			return err
		}
	}
	return nil
}

func trialsJSON(doc *journal.Document, row journal.Row, wanted reports.Wanted, screen term.Screen) (n int, err error) {
	for r, err := range doc.Read(row) {
		if err != nil {
			return n, err
		}
		if !wanted.Match(r) {
			continue
		}
		n++
		if err := screen.JSON(r); err != nil {
			return n, err
		}
	}
	return n, nil
}

// checkJudges compares the judges of a run with the labels in a file, or else with those given in `evalrun view`.
func (f folder) checkJudges(name, file string) (report *judging.AgreementReport, emulated bool, err error) {
	doc, err := f.Open(name)
	if err != nil {
		return nil, false, err
	}
	defer doc.Close() //nolint:errcheck // only read
	if file != "" && !strings.HasSuffix(file, labels.Suffix) {
		report, err = judging.Check(doc, f.Join(file))
		return report, doc.Run.Emulator, err
	}
	files, err := f.labelsOf(doc, file)
	if err != nil {
		return nil, false, err
	}
	report, err = judging.CheckPeople(doc, files)
	return report, doc.Run.Emulator, err
}

// labelsOf reads the labels from a file, or else those of the suites of a run.
func (f folder) labelsOf(doc *journal.Document, file string) ([]*labels.File, error) {
	if file != "" {
		one, err := labels.ReadFile(f.Join(file))
		if err != nil {
			return nil, eval.BadInput("%w", err)
		}
		return []*labels.File{one}, nil
	}
	var out []*labels.File
	for i := range doc.Run.Suites {
		one, err := labels.Read(f.Join("."), doc.Run.Suites[i].Name)
		if err != nil {
			return nil, eval.BadInput("%w", err)
		}
		if len(one.People()) > 0 || one.Err() != nil {
			out = append(out, one)
		}
	}
	if len(out) == 0 {
		return nil, eval.BadInput("say what people think of the answers: --labels FILE, or label them by evalrun view RUN --label")
	}
	return out, nil
}

// export writes what a comparison needs to one file, without prompts, answers and what may quote them.
func (f folder) export(name, out string) error {
	path, err := f.FindBaseline(name)
	if err != nil {
		return eval.BadInput("%w", err)
	}
	d, err := f.Open(path)
	if err != nil {
		return err
	}
	defer d.Close() //nolint:errcheck // only read
	if err := rundir.Usable(d, path); err != nil {
		return err
	}
	if out == files.Standard {
		return d.Export(os.Stdout)
	}
	if err := files.Writable(f.Join(out)); err != nil {
		return eval.BadInput("%s cannot be written: %w", out, err)
	}
	if old, err := journal.Header(f.Join(out)); journal.IsRun(f.Join(out)) && (err != nil || !old.Exported) {
		return eval.BadInput("%s is the file of a run, which an export would replace: name another file", out)
	}
	if err := files.WriteAny(f.Join(out), d.Export); err != nil {
		return eval.Incomplete("%s cannot be written: %w", out, err)
	}
	return nil
}
