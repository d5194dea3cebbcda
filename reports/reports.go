// Package reports draws views of a run: pure functions of an io.Writer and a journal.Document. The
// table of formats names them all; help, `-o` and the documentation come from it.
//
// It reads trials through the document's cursor and keeps none; it never changes what it
// reports.
package reports

import (
	"io"
	"slices"
	"strings"

	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/stats"
	"github.com/evalrun/evalrun/journal"
)

// Options are about the place where a report is shown.
type Options struct {
	Width   int  // columns of the terminal; 0: 100
	Color   bool // ANSI colours, where the format has any
	Verbose bool // in a table every case, however many there are
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
		{"table", "for people: verdict, arms, failures by reason, cases, what to run next", Table},
		{"json", "for programs: everything in one JSON object", JSON},
		{"jsonl", "for programs: one trial a line", JSONLines},
		{"junit", "for continuous integration: JUnit XML", JUnit},
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

// level is the level of the intervals in reports: each bound holds with 95 %.
const level = 0.9

// interval is the Wilson interval of a mean over n cases.
func interval(mean float64, n int) (lo, hi float64) { return stats.Wilson(mean, float64(n), stats.Z95) }

// Why is the shortest account of why a trial did not pass, "" when it did. It is not made safe for a terminal.
func Why(r *eval.Result) string { return why(r) }

// why is the shortest account of what became of a trial.
func why(r *eval.Result) string {
	switch r.Outcome {
	case eval.Err:
		if r.Error == nil { // evalrun writes no such run files
			return "the run file does not say why"
		}
		return string(r.Error.Kind) + ": " + r.Error.Error()
	case eval.Skip:
		return r.SkipReason
	case eval.Fail:
		var out []string
		for _, s := range r.Scores {
			if !s.Passed {
				out = append(out, scoreName(s)+": "+s.Reason)
			}
		}
		if len(out) > 0 {
			return strings.Join(out, "; ")
		}
		return "the weighted mean of the scores is below the threshold"
	}
	return ""
}

func scoreName(s eval.Score) string {
	if s.Name != "" && s.Name != s.Scorer {
		return s.Name + " (" + s.Scorer + ")"
	}
	return s.Scorer
}
