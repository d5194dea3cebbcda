package page

import (
	"hash/fnv"
	"html/template"
	"io"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/journal"
)

// RunsStyle returns the CSS that the list of runs and the pages of trends need in addition to page.Style.
func RunsStyle() string { return asset("gallery.css") }

// Scripts returns the scripts for Program that draw the list of runs and the trends. The caller defines get (reads data by
// name), runAddress, comparisonsAddress, and growing (whether runs may be added).
func Scripts() []string {
	return []string{asset("runs.js"), asset("trends.js"), asset("show.js")}
}

var shell = sync.OnceValue(func() *template.Template { return template.Must(template.ParseFS(files, "html/shell.html")) })

// RunsSource is a page before its program draws it.
type RunsSource struct {
	Name  string // which page the program draws
	Title string
	Maker string // that made it: the end of the title in the browser
	Area  string // what the links lead through, for people who do not see them
	Links []RunsLink
	Style string // addresses of style and program
	Code  string
	// Policy is the content security policy in the page; "" if the server sends it as a header.
	Policy string
	// Data is the address of the blocks of a run; "" on pages about several runs. Head is the address of
	// the head block if it is elsewhere, and Root that of the site; only pages in files have them.
	Data, Head, Root string
	Who              string // the person who labels; "" if labels are not possible
}

// RunsLink is a link in the navigation.
type RunsLink struct {
	Name, Title, Address string
}

// Draw writes the page as HTML.
func (p *RunsSource) Draw(w io.Writer) error { return shell().Execute(w, p) }

// ListedRun is a run in the list, as its header describes it.
type ListedRun struct {
	Key       string   `json:"key"` // its name in addresses
	ID        string   `json:"id"`
	Suites    []string `json:"suites"`
	Marks     []string `json:"marks"` // name, branch and labels
	StartedAt string   `json:"startedAt"`
	Emulator  bool     `json:"emulator"`
	Planned   int      `json:"planned"` // trials
	Branch    string   `json:"branch,omitempty"`
	Commit    string   `json:"commit,omitempty"`
	Of        string   `json:"of"` // the same for runs of the same suites and arms

	Gates map[string]*eval.GateConfig `json:"-"` // by suite; nil for those without one
}

// NewListedRun makes a list entry of the header of a run.
func NewListedRun(key string, header *eval.Run) ListedRun {
	r := ListedRun{
		Key:       key,
		ID:        header.ID,
		Suites:    []string{},
		Marks:     header.Marks(),
		StartedAt: header.StartedAt,
		Emulator:  header.Emulator,
		Planned:   header.Plan.Trials,
		Branch:    header.Branch,
		Commit:    header.Commit,
		Gates:     map[string]*eval.GateConfig{},
	}
	for i := range header.Suites {
		r.Suites = append(r.Suites, header.Suites[i].Name)
		r.Gates[header.Suites[i].Name] = header.Suites[i].Gate
	}
	r.Of = shortHash(slices.Concat(r.Suites, header.Plan.Arms)...)
	return r
}

// Title returns the names of the suites.
func (r *ListedRun) Title() string { return strings.Join(r.Suites, ", ") }

// RunList is the data of the list of runs, for pages in files.
type RunList struct {
	Runs    []ListedRun           `json:"runs"`
	Numbers map[string]RunFigures `json:"numbers"` // by key
}

// runPhase is how far a run came, in the word that the list shows.
type runPhase string

// The phases of a run.
const (
	complete    runPhase = "complete"
	Incomplete  runPhase = "incomplete"
	interrupted runPhase = "interrupted"
	InProgress  runPhase = "in progress"
)

// RunFigures has the numbers of a run in the list.
type RunFigures struct {
	eval.Counts
	Verdict  string       `json:"verdict,omitempty"`
	Style    eval.Outcome `json:"style,omitempty"`
	PassRate *float64     `json:"passRate"`
	Phase    runPhase     `json:"state"`
	Reason   string       `json:"reason,omitempty"`
	Exit     *int         `json:"exit"` // of the gate; nil while the run is in progress, or if no gate was applied
	Problem  string       `json:"problem,omitempty"`
	// Failing are hashes of the cases that failed, each on an arm: two runs compared say which cases newly fail. A longer list is left out.
	Failing []string `json:"failing,omitempty"`
}

// mostFailing is the longest list of failing cases.
const mostFailing = 1000

// Unreadable returns the summary of a run that cannot be read.
func Unreadable(err error) RunFigures { return RunFigures{Phase: Incomplete, Problem: err.Error()} }

// Summarize returns the numbers of a run.
func Summarize(d *journal.Document) RunFigures {
	out := RunFigures{Counts: d.Summary.Counts, Phase: complete, Failing: failing(d)}
	out.Verdict, out.Style = verdictOf(d)
	if rate, ok := d.Summary.PassRate(); ok {
		out.PassRate = &rate
	}
	switch {
	case d.Running:
		out.Phase = InProgress
		return out
	case d.End == nil:
		out.Phase, out.Reason = interrupted, "killed"
	case d.End.Reason == eval.EndInterrupted:
		out.Phase, out.Reason = interrupted, string(d.End.Reason)
	case d.Waits() != nil:
		out.Phase, out.Reason = Incomplete, d.Waits().String()
	case d.Partial():
		out.Phase, out.Reason = Incomplete, string(d.End.Reason)
	}
	if d.Gate() != nil {
		out.Exit = new(d.Gate().Exit)
	}
	return out
}

func failing(d *journal.Document) (out []string) {
	last := ""
	for i := range d.Len() {
		k := d.Indexed(i)
		if k.Outcome != eval.Fail {
			continue
		}
		if key := shortHash(k.Suite, k.Arm, k.Case); key != last { // repeats stand together
			out, last = append(out, key), key
		}
		if len(out) > mostFailing {
			return nil
		}
	}
	return out
}

func shortHash(parts ...string) string {
	h := fnv.New64a()
	for _, part := range parts {
		_, _ = io.WriteString(h, part+"\x00") // a hash never fails
	}
	return strconv.FormatUint(h.Sum64(), 36)
}
