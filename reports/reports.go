// Package reports draws runs, comparisons, rankings and diagnostics with pure functions of an io.Writer and their
// data. Formats lists the formats of a run, for help, `-o` and the documentation. Three names draw nothing: Wanted
// selects the trials of Cases and CaseList, Marker identifies a Markdown report, and Explain describes one case
// for a Go test.
//
// It reads trials through the document's cursor and keeps none. It never changes what it reports.
package reports

import (
	"bufio"
	"encoding/json"
	"io"
	"slices"

	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/overview"
	"github.com/evalrun/evalrun/internal/page"
	"github.com/evalrun/evalrun/internal/wirejson"
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
		{"table", "for people: suites, failures by reason, what to run next, how it ended; with -v arms and cases", Table, "", false},
		{"json", "for programs: everything in one JSON object", JSON, "", false},
		{"jsonl", "for programs: one trial a line", JSONLines, "", false},
		{"junit", "for continuous integration: JUnit XML", JUnit, "xml", true},
		{"junit-gate", "the same, where cases that the gate accepts are skipped instead of failed", JUnitGate, "", true},
		{"markdown", "for a pull request or a step summary: how it ended, arms, what failed", Markdown, "md", true},
		{"github", "for GitHub Actions: annotations at the suite's lines", GitHub, "", false},
		{"csv", "for spreadsheets: one trial a line", CSV, "", true},
		{"html", "for people: one page for the browser, which needs no network", HTML, "", false},
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

// HTML writes the run as one page that needs neither a server nor a network.
func HTML(w io.Writer, d *journal.Document, _ Options) error { return page.Write(w, d) }

// JSON writes the whole run as one JSON object, with one trial per line.
func JSON(w io.Writer, d *journal.Document, _ Options) error {
	head, err := wirejson.Marshal(overview.New(d))
	if err != nil {
		return err
	}
	out := bufio.NewWriter(w)
	_, _ = out.Write(head[:len(head)-1]) // write errors surface in Flush
	_, _ = out.WriteString(",\"trials\":[")
	first := true
	for line, err := range d.Lines() {
		if err != nil {
			return err
		}
		if !first {
			_ = out.WriteByte(',')
		}
		first = false
		_ = out.WriteByte('\n')
		_, _ = out.Write(line)
	}
	_, _ = out.WriteString("\n]}\n")
	return out.Flush()
}

// isOfModel reports whether the answer in a line of the run file comes from a model. Applications run next to an
// emulator too.
func isOfModel(run *eval.Run, line []byte) bool {
	if !overview.HasApps(run) {
		return true
	}
	var of struct{ Suite, Target string }
	return json.Unmarshal(line, &of) != nil || overview.AppOf(run, of.Suite, of.Target) == ""
}

// JSONLines writes one trial per line, in plan order. Each line says whether its answer comes from the emulator.
func JSONLines(w io.Writer, d *journal.Document, _ Options) error {
	out := bufio.NewWriter(w)
	for line, err := range d.Lines() {
		if err != nil {
			return err
		}
		if d.Run.Emulator && isOfModel(&d.Run, line) {
			line = append(line[:len(line)-1], `,"emulator":true}`...)
		}
		_, _ = out.Write(line) // write errors surface in Flush
		_ = out.WriteByte('\n')
	}
	return out.Flush()
}
