// Package gallery is what pages of several runs show: the list of runs, their numbers, the courses of their metrics.
// internal/view serves such pages, and internal/publish writes them as files.
package gallery

import (
	"embed"
	"html/template"
	"io"
	"strings"
	"sync"

	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/journal"
)

//go:embed html
var files embed.FS

// Style is what the pages need in addition to page.Style.
func Style() string { return asset("gallery.css") }

// Scripts are the parts of the program that draw the list of runs and the trends, for page.Program. They use get, which
// reads data by its name. runAddress and comparisonsAddress give them addresses by the key of a run, and growing says
// whether runs may come and grow.
func Scripts() []string { return []string{asset("runs.js"), asset("trends.js"), asset("show.js")} }

var shell = sync.OnceValue(func() *template.Template { return template.Must(template.ParseFS(files, "html/shell.html")) })

// PageSource is what a page is made of, before its program draws it.
type PageSource struct {
	Name  string // which page the program draws
	Title string
	Maker string // that made it: the end of the title in the browser
	Area  string // what the links lead through, for people who do not see them
	Links []PageLink
	Style string // addresses of style and program
	Code  string
	// Policy is the content security policy in the page itself; "" when it comes with the answer of a server.
	Policy string
	// Data is where the blocks of a run are; "" on pages of several runs. For pages that are files: Head is where its head is
	// when that is elsewhere. Root is where the pages begin.
	Data, Head, Root string
	Who              string // labels here; "" where that is not possible
}

// PageLink leads to a page of several runs.
type PageLink struct {
	Name, Title, Address string
}

// Draw writes the page.
func (p *PageSource) Draw(w io.Writer) error { return shell().Execute(w, p) }

func asset(name string) string {
	data, err := files.ReadFile("html/" + name)
	if err != nil { // it is part of the program
		panic(err)
	}
	return string(data)
}

// ListedRun is a run of the list, as its header shows it.
type ListedRun struct {
	Key       string   `json:"key"` // in addresses
	ID        string   `json:"id"`
	Suites    []string `json:"suites"`
	Marks     []string `json:"marks"` // name, branch and labels
	StartedAt string   `json:"startedAt"`
	Emulator  bool     `json:"emulator"`
	Planned   int      `json:"planned"` // trials
}

// NewListedRun reads the header of a run.
func NewListedRun(key string, header *eval.Run) ListedRun {
	r := ListedRun{
		Key: key, ID: header.ID, Suites: []string{}, Marks: header.Marks(), StartedAt: header.StartedAt, Emulator: header.Emulator,
		Planned: header.Plan.Trials,
	}
	for i := range header.Suites {
		r.Suites = append(r.Suites, header.Suites[i].Name)
	}
	return r
}

// Title names the suites of the run.
func (r *ListedRun) Title() string { return strings.Join(r.Suites, ", ") }

// RunList is the list of runs with their numbers, for pages that are files.
type RunList struct {
	Runs    []ListedRun           `json:"runs"`
	Numbers map[string]RunFigures `json:"numbers"` // by key
}

// RunFigures is a run of the list in numbers.
type RunFigures struct {
	eval.Counts
	PassRate *float64 `json:"passRate"`
	State    string   `json:"state"` // complete, running, interrupted or partial
	Reason   string   `json:"reason,omitempty"`
	Exit     *int     `json:"exit"` // of the gate; nil while the run is in progress, and where no gate was applied
	Problem  string   `json:"problem,omitempty"`
}

// Unreadable is the summary of a run that cannot be read.
func Unreadable(err error) RunFigures { return RunFigures{State: "partial", Problem: err.Error()} }

// Summarize gives the numbers of a run.
func Summarize(d *journal.Document) RunFigures {
	out := RunFigures{Counts: d.Summary.Counts, State: "complete"}
	if rate, ok := d.Summary.PassRate(); ok {
		out.PassRate = &rate
	}
	switch {
	case d.Running:
		out.State = "running"
		return out
	case d.End == nil:
		out.State, out.Reason = "interrupted", "killed"
	case d.End.Reason == eval.EndInterrupted:
		out.State, out.Reason = "interrupted", string(d.End.Reason)
	case d.Partial():
		out.State, out.Reason = "partial", string(d.End.Reason)
	}
	if d.Gate() != nil {
		out.Exit = new(d.Gate().Exit)
	}
	return out
}
