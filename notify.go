package evalrun

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/files"
	"github.com/evalrun/evalrun/internal/overview"
	"github.com/evalrun/evalrun/internal/rundir"
	"github.com/evalrun/evalrun/journal"
	"github.com/evalrun/evalrun/journal/history"
)

// notifyTime is how long the program of Caller.Notify may take.
const notifyTime = 30 * time.Second

// notice is what the program of Caller.Notify reads: the verdict of a run, and that of the run before.
type notice struct {
	Version   int               `json:"version"`
	Verdict   string            `json:"verdict"`
	Before    string            `json:"before,omitempty"` // "" for the first
	Headline  string            `json:"headline"`
	Exit      int               `json:"exit"`
	Run       string            `json:"run"`
	Dir       string            `json:"dir"`
	StartedAt string            `json:"startedAt"`
	Suites    []string          `json:"suites"`
	Labels    map[string]string `json:"labels"`
	Branch    string            `json:"branch,omitempty"`
	Commit    string            `json:"commit,omitempty"`
	Counts    eval.Counts       `json:"counts"`
	PassRate  *float64          `json:"passRate"`
	Gate      *journal.Gate     `json:"gate"`
	Drift     []journal.Drift   `json:"drift,omitempty"`
}

// checkNotify refuses a program that cannot be started, before anything is sent.
func (o *Options) checkNotify(in rundir.Dir) error {
	words := strings.Fields(o.Notify)
	switch {
	case o.Notify == "":
		return nil
	case o.Untrusted:
		return eval.BadInput("--notify starts a program, and not with --untrusted")
	case len(words) == 0:
		return eval.BadInput("--notify takes a program with its arguments, such as --notify ./notify.sh")
	}
	_, err := notifyProgram(in, words[0])
	return err
}

func notifyProgram(in rundir.Dir, name string) (path string, err error) {
	if filepath.Base(name) != name { // a path begins in the working folder
		name = in.Abs(name)
	}
	if path, err = exec.LookPath(name); err != nil {
		return "", eval.BadInput("the program of --notify cannot be started: %w", err)
	}
	return filepath.Abs(path)
}

// verdictBefore is the verdict that was the last until now: that of the newest run in the history with the same suites and labels,
// which may be an earlier one of the run itself; "" for none, and when no program wants to know.
func (o *Options) verdictBefore(in rundir.Dir, run *eval.Run) string {
	if o.Notify == "" { // reading the history takes longer than a run of one case
		return ""
	}
	store, err := in.ReadHistory()
	if err != nil || store == nil { // as if there were none; reading it tells elsewhere
		return ""
	}
	defer store.Close() //nolint:errcheck // it was only read
	all, err := store.Runs(history.RunFilter{})
	if err != nil {
		return ""
	}
	for i := range slices.Backward(all) {
		r := &all[i]
		verdict := r.Verdict
		if r.Reason == eval.EndWaiting {
			verdict = r.Earlier
		}
		if verdict != "" && r.StartedAt <= run.StartedAt && r.Emulator == run.Emulator && alike(r, run) {
			return verdict
		}
	}
	return ""
}

// alike reports whether two runs have the same suites and labels.
func alike(r *history.RunRecord, run *eval.Run) bool {
	return len(r.Labels) == len(run.Labels) && slices.EqualFunc(r.Suites, run.Suites, func(a history.SuiteRecord, b eval.RunSuite) bool {
		return a.Name == b.Name
	}) && !slices.ContainsFunc(marksOf(r.Labels), func(m string) bool { return !slices.Contains(marksOf(run.Labels), m) })
}

func marksOf(labels map[string]string) []string { return (&eval.Run{Labels: labels}).Marks() }

// notify starts the user's program when the verdict of a run is another one than before. keys are variables that it does not get.
func (o *Options) notify(in rundir.Dir, d *journal.Document, before string, keys []string) error {
	if o.Notify == "" || d.Decision == nil || d.Decision.Verdict == before || d.End == nil || d.End.Signal != "" || d.End.Waits() {
		return nil
	}
	n := notice{
		Version: 1, Verdict: d.Decision.Verdict, Before: before, Headline: overview.HeadlineOf(d).String(), Exit: d.Gate().Exit, Run: d.Run.ID,
		Dir: rundir.At("").Abs(d.Dir), StartedAt: d.Run.StartedAt, Labels: d.Run.Labels, Branch: d.Run.Branch, Commit: d.Run.Commit,
		Counts: d.Summary.Counts, Gate: d.Gate(), Drift: d.Drift,
	}
	for i := range d.Run.Suites {
		n.Suites = append(n.Suites, d.Run.Suites[i].Name)
	}
	if rate, ok := d.Summary.PassRate(); ok {
		n.PassRate = &rate
	}
	var text bytes.Buffer
	if err := json.NewEncoder(&text).Encode(n); err != nil {
		return err
	}
	words := strings.Fields(o.Notify)
	path, err := notifyProgram(in, words[0])
	if err == nil {
		_, err = (&files.Invocation{
			Path: path, Args: words[1:], Dir: in.Abs(""), Input: text.Bytes(), Keys: keys, Timeout: notifyTime,
		}).Output()
	}
	if err != nil {
		return fmt.Errorf("the program of --notify: %w", err)
	}
	return nil
}
