package evaltest

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/evalrun/evalrun"
	"github.com/evalrun/evalrun/diag"
	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/overview"
	"github.com/evalrun/evalrun/journal"
	"github.com/evalrun/evalrun/reports"
	"github.com/evalrun/evalrun/suite"
)

type suiteTest struct {
	t       *testing.T
	suite   *suite.Suite
	job     *evalrun.Job
	load    evalrun.Options // of the job
	options *Options

	cells []*cell
	gate  *subtest // nil: the suite has none
	whole bool     // nothing was left out by -run or -skip
}

type cell struct {
	subtest
	place, repeats int // of its first trial in the plan, and how many there are
}

func (s *suiteTest) run() {
	s.t.Helper()
	s.begin()
	defer s.end() // whatever happens, none waits for ever
	if s.narrow() {
		s.ask()
	}
}

func (s *suiteTest) begin() {
	s.t.Helper()
	for t := range s.job.Trials {
		if t.Repeat == 1 {
			s.cells = append(s.cells, &cell{subtest: subtest{name: t.Case + "/" + t.Arm}, place: t.N})
		}
		s.cells[len(s.cells)-1].repeats++
	}
	if len(s.cells) == 0 {
		s.t.Fatal(words(s.job.Empty()))
	}
	for _, c := range s.cells {
		c.begin(s.t)
	}
	if s.suite.Gate != nil {
		s.gate = &subtest{name: "gate"}
		s.gate.begin(s.t)
	}
}

// end lets the subtests end that have no result yet.
func (s *suiteTest) end() {
	for _, c := range s.cells {
		c.report(func(t *testing.T) { t.Skip("not run: " + s.suite.Name + " says why") })
	}
	if s.gate != nil {
		s.gate.report(func(t *testing.T) { t.Skip("the gate judges the whole suite, and only a part of it ran") })
	}
}

func (s *suiteTest) narrow() bool {
	n := 0
	places := &eval.Places{}
	for _, c := range s.cells {
		if c.selected {
			n++
			places.Add(c.place, c.repeats)
		}
	}
	if s.whole = n == len(s.cells) && (s.gate == nil || s.gate.selected); !s.whole {
		s.load.Selected = places
	}
	return n > 0
}

func (s *suiteTest) ask() {
	s.t.Helper()
	dir, kept, err := s.directory()
	s.t.Cleanup(func() { _ = os.Remove(dir) }) // only where nothing was run: a folder that holds a run stays
	if err != nil {
		s.t.Fatalf("the run directory cannot be made: %s", words(err))
	}
	s.load.Out = dir
	s.load.ProgramsFrom = s.t.TempDir()
	if err := s.job.KeepPrograms(s.load.ProgramsFrom); err != nil {
		s.t.Fatalf("what the programs of the suite wrote cannot be kept: %s", err)
	}
	job, err := evalrun.Load(s.t.Context(), s.load) // again, since testing has chosen the subtests meanwhile
	if err != nil {
		s.t.Fatal(words(err))
	}
	result, err := evalrun.Run(s.t.Context(), job)
	if result == nil {
		s.t.Fatal(words(err))
	}
	defer func() {
		if kept || s.t.Failed() {
			s.t.Logf("the run is in %s", dir)
		}
	}()
	if err != nil {
		s.t.Error(words(err))
	}
	if err := s.judge(result); err != nil {
		s.t.Errorf("the run cannot be read: %s", words(err))
	}
}

func (s *suiteTest) directory() (dir string, kept bool, err error) {
	switch artifacts := flag.Lookup("test.artifacts"); {
	case s.options.Out != "":
		if err := os.MkdirAll(s.options.Out, 0o755); err != nil {
			return "", false, err
		}
		dir, err = os.MkdirTemp(s.options.Out, s.suite.Name+"-"+time.Now().UTC().Format("20060102-150405")+"-*")
		return dir, true, err
	case artifacts != nil && artifacts.Value.String() == "true":
		return filepath.Join(s.t.ArtifactDir(), "run"), true, nil
	}
	dir, err = os.MkdirTemp("", "evalrun-*")
	s.t.Cleanup(func() {
		if !s.t.Failed() {
			_ = os.RemoveAll(dir) // the system clears temporary files away, too
		}
	})
	return dir, false, err
}

// judge opens the run that has ended and has the subtests tell what is in it.
func (s *suiteTest) judge(result *evalrun.Result) (err error) {
	s.t.Helper()
	d, err := result.Open()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, d.Close()) }()
	if d.Run.Emulator {
		s.t.Log("against evalrun's emulator: answers come from a script, not from a model")
	}
	if err := s.reportCases(d); err != nil {
		return err
	}
	if s.gate != nil && s.whole {
		s.reportGate(d)
	} else if d.Partial() {
		s.t.Errorf("the run is incomplete: %s", incomplete(d))
	}
	for _, rule := range overview.Rules(d) {
		if s.gate == nil && s.whole && rule.RuleName == journal.RuleJudged {
			s.t.Error(rule.Why)
		}
	}
	if s.options.Report != nil {
		s.options.Report(s.t, d)
	}
	return nil
}

// reportCases has the subtest of each case tell what became of it, in the order of the plan.
func (s *suiteTest) reportCases(d *journal.Document) error {
	rest := s.cells
	var repeats []*eval.Result
	for r, err := range d.Trials() {
		if err != nil {
			return err
		}
		for len(rest) > 0 && r.N >= rest[0].place+rest[0].repeats {
			s.reportCase(rest[0], repeats, d)
			rest, repeats = rest[1:], nil
		}
		repeats = append(repeats, r)
	}
	if len(rest) > 0 && len(repeats) > 0 {
		s.reportCase(rest[0], repeats, d)
	}
	return nil
}

// reportCase has a subtest tell what became of its case. Without a result it is left to end.
func (s *suiteTest) reportCase(c *cell, repeats []*eval.Result, d *journal.Document) {
	if len(repeats) == 0 {
		return
	}
	outcome, text := reports.Explain(repeats)
	quarantine := repeats[0].Quarantine
	c.report(func(t *testing.T) {
		if outcome == eval.Err {
			text = "could not be judged: " + text
		}
		switch {
		case outcome == eval.Pass:
		case outcome == eval.Skip:
			t.Skip("not run: " + text)
		case quarantine.Holds(d.Run.StartedAt):
			t.Skip(
				diag.CleanLine(fmt.Sprintf("in quarantine until %s (%s): %s", quarantine.Until, quarantine.Owner, quarantine.Reason)) +
					"\n" + text,
			)
		case s.gate != nil && s.whole:
			t.Log("does not pass, and the gate decides: " + text)
		default:
			t.Error(text)
		}
	})
}

// reportGate has the subtest of the gate say what its rules make of the run, with the table that the command prints.
func (s *suiteTest) reportGate(d *journal.Document) {
	var table bytes.Buffer
	if err := reports.Table(&table, d, reports.Options{}); err != nil {
		fmt.Fprintf(&table, "%s\n", err)
	}
	var text strings.Builder
	for line := range strings.Lines(table.String()) {
		if text.WriteString("| " + line); text.Len() > maxTable {
			text.WriteString("| ...\n")
			break
		}
	}
	s.gate.report(func(t *testing.T) {
		headline := overview.HeadlineOf(d)
		switch {
		case overview.HasPassed(d):
			t.Logf("%s\n%s", headline, &text)
		case d.Gate() != nil && d.Partial():
			t.Errorf("%s: %s\n%s", headline, incomplete(d), &text)
		default:
			t.Errorf("%s\n%s", headline, &text)
		}
	})
}

// maxTable bounds the table under the gate, in bytes; what is longer is cut after a line.
const maxTable = 20_000

// incomplete says why trials are missing.
func incomplete(d *journal.Document) string {
	c := d.Summary.Counts
	why := fmt.Sprintf("%d of %s ran", c.Pass+c.Fail+c.Error, diag.Count(d.Run.Plan.Trials, "trial"))
	if d.End != nil && d.End.Message != "" {
		why += ": " + diag.CleanLine(d.End.Message)
	}
	return why
}
