package reports

import (
	"encoding/json"
	"io"
	"strings"

	"github.com/evalrun/evalrun/diag"
)

// diagnosticsVersion is the version of the document that DiagnosticsJSON writes.
const diagnosticsVersion = 1

type jsonDiagnostics struct {
	Version     int              `json:"version"`
	Files       []string         `json:"files"`
	Diagnostics []jsonDiagnostic `json:"diagnostics"`
}

// jsonDiagnostic is an error or a warning. Lines and columns count from 1, columns in code points; unknown ones
// are omitted.
type jsonDiagnostic struct {
	Severity     string      `json:"severity"`
	File         string      `json:"file,omitempty"`
	Line         int         `json:"line,omitempty"`
	Col          int         `json:"col,omitempty"`
	Message      string      `json:"message"`
	Hint         string      `json:"hint,omitempty"`
	IncludedFrom []jsonPlace `json:"includedFrom,omitempty"`
}

type jsonPlace struct {
	File string `json:"file"`
	Line int    `json:"line,omitempty"`
	Col  int    `json:"col,omitempty"`
}

// DiagnosticsJSON writes the problems in files as one JSON document, for editors.
func DiagnosticsJSON(w io.Writer, files []string, l *diag.List) error {
	out := jsonDiagnostics{Version: diagnosticsVersion, Files: files, Diagnostics: []jsonDiagnostic{}}
	for _, d := range l.Sorted() {
		one := jsonDiagnostic{
			Severity: severity(d), File: d.Pos.File, Line: d.Pos.Line, Col: d.Pos.Col,
			Message: diag.CleanLine(d.Message), Hint: diag.CleanLine(d.Hint),
		}
		for _, at := range l.Chain(d.Pos.File) {
			one.IncludedFrom = append(one.IncludedFrom, jsonPlace(at))
		}
		out.Diagnostics = append(out.Diagnostics, one)
	}
	enc := json.NewEncoder(w)
	enc.SetIndent("", "  ")
	return enc.Encode(out)
}

// DiagnosticsGitHub writes problems as workflow commands for GitHub Actions, at most as many per level as GitHub
// shows.
func DiagnosticsGitHub(w io.Writer, l *diag.List) error {
	var out []string
	counts := map[string]int{}
	for _, d := range l.Sorted() {
		level := severity(d)
		if counts[level]++; counts[level] >= maxAnnotations {
			continue
		}
		lines := []string{d.Message}
		if d.Hint != "" {
			lines = append(lines, "hint: "+d.Hint)
		}
		for _, at := range l.Chain(d.Pos.File) {
			lines = append(lines, "included from "+at.String())
		}
		out = append(out, command(level, "evalrun validate", d.Pos.String(), strings.Join(lines, "\n")))
	}
	for _, level := range []string{"error", "warning"} {
		if more := counts[level] - (maxAnnotations - 1); more > 0 {
			out = append(out, command(level, "evalrun validate: more", "", diag.Count(more, "more "+level)+"; `evalrun validate` shows them"))
		}
	}
	return writeLines(w, out)
}

func severity(d diag.Diagnostic) string {
	if d.Severity == diag.Warning {
		return "warning"
	}
	return "error"
}
