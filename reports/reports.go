// Package reports draws views of a run: pure functions of an io.Writer and a journal.Document. The
// table of formats names them all; help, `-o` and the documentation come from it.
//
// It reads trials through the document's cursor and keeps none; it never changes what it
// reports.
package reports

import (
	"io"
	"slices"

	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/overview"
	"github.com/evalrun/evalrun/internal/page"
	"github.com/evalrun/evalrun/journal"
)

// Options are about the place where a report is shown.
type Options struct {
	Width   int  // columns of the terminal; 0: 100
	Color   bool // ANSI colours, where the format has any
	Verbose bool // a table with the arms, every case, and the settings
	Quiet   bool // a table of one line, the verdict

	Folder string   // the working folder, absolute; a table names files below it from there on
	Latest bool     // `latest` names the run, so that a table need not give its id
	Links  []Link   // where there is more to read; a markdown report has them in its head
	Files  []string // the reports that were written to files, each as FORMAT: PATH; a table names them
}

// Format is a way to draw a run.
type Format struct {
	Name    string
	Summary string // one line
	Write   func(w io.Writer, d *journal.Document, o Options) error
}

// Formats lists the formats there are.
func Formats() []Format {
	return []Format{
		{"table", "for people: suites, failures by reason, what to run next, verdict; with -v arms and cases", Table},
		{"json", "for programs: everything in one JSON object", JSON},
		{"jsonl", "for programs: one trial a line", JSONLines},
		{"junit", "for continuous integration: JUnit XML", JUnit},
		{"junit-gate", "the same, where cases that the gate accepts are skipped instead of failed", JUnitGate},
		{"markdown", "for a pull request or a step summary: verdict, arms, what failed", Markdown},
		{"github", "for GitHub Actions: annotations at the suite's lines", GitHub},
		{"csv", "for spreadsheets: one trial a line", CSV},
		{"html", "for people: one page for the browser, which needs no network", HTML},
	}
}

// Lookup finds a format, nil when there is none of that name.
func Lookup(name string) *Format {
	all := Formats()
	if i := slices.IndexFunc(all, func(f Format) bool { return f.Name == name }); i >= 0 {
		return &all[i]
	}
	return nil
}

// Names lists the names of the formats.
func Names() []string {
	var out []string
	for _, f := range Formats() {
		out = append(out, f.Name)
	}
	return out
}

// Why is the shortest account of why a trial did not pass, "" when it did. It is not made safe for a terminal.
func Why(r *eval.Result) string { return overview.Why(r) }

// HTML writes the run as one page that opens without a server and without a network.
func HTML(w io.Writer, d *journal.Document, _ Options) error { return page.Write(w, d) }
