// Package reports draws runs, comparisons, rankings and diagnostics with pure functions of an io.Writer and their
// data. Formats lists the formats of a run, for help, `-o` and the documentation. Three names draw nothing: Wanted
// selects the trials of Cases and CaseList, Marker identifies a Markdown report, and Explain describes one case
// for a Go test.
//
// It reads trials through the document's cursor and keeps none. It never changes what it reports.
package reports

import (
	"io"
	"slices"

	"github.com/evalrun/evalrun/journal"
)

// Options describe where a report is shown.
type Options struct {
	Width int  // columns of the terminal; 0: 100
	Color bool // use ANSI colours, if the format has any

	// Verbose and Quiet are no level: a run has one Options for all of its reports, and may have both. Verbose adds
	// arms, all cases and settings to every table. Quiet reduces one on standard output to the headline, and those in
	// files stay.
	Verbose, Quiet bool
	Listed         bool // standard error had the failures, one by one: a table on standard output counts them

	Folder string   // absolute working folder; a table shows files below it as relative
	Latest bool     // `latest` names the run, so that a table need not give its id
	Links  []Link   // further reading, for the head of a Markdown report
	Files  []string // reports written to files, each as FORMAT: PATH, for a table
}

// Link is an http or https address with more about a run.
type Link struct{ Text, URL string }

// Format is a way to draw a run.
type Format struct {
	Name    string
	Summary string // one line
	Write   func(w io.Writer, d *journal.Document, o Options) error
	Ending  string // file extension, if it differs from the name
	Guard   bool   // whether answers can begin a line, where a CI log may run them as commands
}

// Formats lists all formats.
func Formats() []Format {
	return []Format{
		{
			Name: "table", Write: Table,
			Summary: "for people: suites, failures by reason, what to run next, how it ended; with -v arms and cases",
		},
		{Name: "json", Write: writeJSON, Summary: "for programs: everything in one JSON object"},
		{Name: "jsonl", Write: writeJSONLines, Summary: "for programs: one trial a line"},
		{Name: "junit", Write: JUnit, Ending: "xml", Guard: true, Summary: "for continuous integration: JUnit XML"},
		{
			Name: "junit-gate", Write: writeJUnitGate, Guard: true,
			Summary: "the same, where cases that the gate accepts are skipped instead of failed",
		},
		{
			Name: "markdown", Write: Markdown, Ending: "md", Guard: true,
			Summary: "for a pull request or a step summary: how it ended, arms, what failed",
		},
		{Name: "github", Write: writeGitHub, Summary: "for GitHub Actions: annotations at the suite's lines"},
		{Name: "csv", Write: writeCSV, Guard: true, Summary: "for spreadsheets: one trial a line"},
		{Name: "html", Write: HTML, Summary: "for people: one page for the browser, which needs no network"},
	}
}

// Lookup finds a format by name, nil when there is none.
func Lookup(name string) *Format {
	all := Formats()
	if i := slices.IndexFunc(all, func(f Format) bool { return f.Name == name }); i >= 0 {
		return &all[i]
	}
	return nil
}

// Names lists the names of all formats.
func Names() []string {
	var out []string
	for _, f := range Formats() {
		out = append(out, f.Name)
	}
	return out
}
