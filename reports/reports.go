// Package reports draws runs, comparisons, rankings and diagnostics: pure functions of an io.Writer and what they draw.
// Formats lists those of a run; help, `-o` and the documentation come from it. Three names draw nothing. Wanted selects the trials of Cases
// and CaseList. Marker is the line by which a Markdown report is found again. Explain words one case for a Go test.
//
// It reads trials through the document's cursor and keeps none. It never changes what it
// reports.
package reports

import (
	"io"
	"slices"

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

// Link is a place where there is more to read of a run: an http or https address.
type Link struct{ Text, URL string }

// Format is a way to draw a run.
type Format struct {
	Name    string
	Summary string // one line
	Write   func(w io.Writer, d *journal.Document, o Options) error
	Ending  string // of files that have the format, where that is not its name
	Guard   bool   // whether texts of answers begin lines, where a log may take them for commands
}

// Formats lists the formats there are.
func Formats() []Format {
	return []Format{
		{"table", "for people: suites, failures by reason, what to run next, verdict; with -v arms and cases", Table, "", false},
		{"json", "for programs: everything in one JSON object", JSON, "", false},
		{"jsonl", "for programs: one trial a line", JSONLines, "", false},
		{"junit", "for continuous integration: JUnit XML", JUnit, "xml", true},
		{"junit-gate", "the same, where cases that the gate accepts are skipped instead of failed", JUnitGate, "", true},
		{"markdown", "for a pull request or a step summary: verdict, arms, what failed", Markdown, "md", true},
		{"github", "for GitHub Actions: annotations at the suite's lines", GitHub, "", false},
		{"csv", "for spreadsheets: one trial a line", CSV, "", true},
		{"html", "for people: one page for the browser, which needs no network", HTML, "", false},
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
