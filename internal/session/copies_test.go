package session

import (
	"os"
	"strings"
	"testing"

	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/rundir"
	"github.com/evalrun/evalrun/internal/testing/expect"
	"github.com/evalrun/evalrun/journal"
	"github.com/evalrun/evalrun/runner"
)

// begun makes a run of s.yaml in the directory run, killed before its first trial.
func (s *site) begun(f Options) string {
	s.Helper()
	j, err := s.settle(f, "s.yaml")
	expect.OK(s, err)
	plan, dir, one := j.Plan(), s.at.Join("run"), j.Suites[0]
	run := &eval.Run{
		ID: "run", StartedAt: "2026-01-01T00:00:00Z", Service: j.Settings.Service, Models: []eval.Model{},
		CommandOptions: &eval.RunOptions{Options: j.Options.Options}, RandomSeed: 1,
		Plan: eval.RunPlan{Trials: plan.Size(), Arms: plan.ArmNames(), Targets: plan.Targets()},
		Suites: []eval.RunSuite{{
			Name: one.Name, File: one.File, Hash: one.Hash(), Copy: rundir.CopyDir(0, false) + one.FileName(), Dir: j.Dir(0),
		}},
	}
	j.Identify(run)
	copies := j.Copies()
	run.Copies = journal.CopiesOf(copies)
	expect.OK(s, j.Settings.Sign(run, dir))
	w, err := journal.Create(dir, run, copies)
	expect.OK(s, err)
	expect.OK(s, w.Close())
	return dir
}

func (s *site) resumed(f Options) (*Job, error) {
	r, err := Reopen("run", s.given(f))
	if err != nil {
		return nil, err
	}
	defer r.Close()
	l, err := r.Load()
	if err != nil {
		return nil, err
	}
	return r.Settle(l)
}

// A run is continued with its own suites, service and flags; limits that are given now win.
func TestAResumedRunIsAsItBegan(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.write("s.yaml", fourSuite)
	service := s.env["EVALRUN_BASE_URL"]
	var f Options
	f.Cases, f.Concurrency, f.Attempts = []string{"t*"}, 2, 3
	s.begun(f)
	s.write("s.yaml", "no suite any more")
	s.env["EVALRUN_BASE_URL"] = "https://other.example"
	var now Options
	now.Attempts = 4
	j, err := s.resumed(now)
	expect.OK(t, err)
	expect.Same(t, "trials", j.Plan().Size(), 2)
	expect.Same(t, "service", j.Settings.Service.BaseURL, service)
	expect.Same(t, "limits", []int{j.Settings.Limits.Concurrency, j.Settings.Limits.Attempts}, []int{2, 4})

	now.BaseURL = "https://other.example"
	_, err = s.resumed(now)
	s.bad(err, service, "https://other.example", "--untrusted")
}

// A run of somebody else is continued or used only where it does nothing that needs trust, or where the user trusts it.
func TestRunsOfOthersNeedTrust(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.write("s.yaml", strings.Replace(fourSuite, "contains: x", "exec: {command: [./check]}", 1))
	s.write("check", "")
	expect.OK(t, os.Chmod(s.at.Join("check"), 0o700))
	dir := s.begun(Options{})
	theirs := s.env["EVALRUN_BASE_URL"]
	s.env["EVALRUN_TRUST_KEY"] = "another-key-of-16" // so the run was not signed by this user
	_, err := s.resumed(Options{})
	s.bad(err, "was signed by somebody else", "start the program", "--trust")
	_, err = s.resumed(Options{Caller: runner.Caller{Trust: true}})
	expect.OK(t, err)

	doc, err := journal.Open(dir)
	expect.OK(t, err)
	defer doc.Close()
	judging := func(f Options) error {
		l, err := LoadCopies(doc, s.given(f))
		expect.OK(t, err)
		_, err = l.SettleLike(doc, "comparing by a judge")
		return err
	}
	expect.OK(t, judging(Options{}))
	delete(s.env, "EVALRUN_BASE_URL")
	s.bad(judging(Options{}), "comparing by a judge", theirs)
	expect.OK(t, judging(Options{Caller: runner.Caller{Trust: true}}))
	s.env["EVALRUN_TRUST_KEY"] = "0123456789abcdef"
	expect.OK(t, judging(Options{}))
}

// A run is scored again with its suites as they are now, its selection and its variables.
func TestARescoreTakesTheSuitesAsTheyAreNow(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.write("s.yaml", fourSuite)
	var f Options
	f.Cases = []string{"one", "two"}
	s.begun(f)
	s.write("s.yaml", strings.Replace(fourSuite, "contains: x", "contains: b", 1))
	l, err := s.rescored("run", Options{})
	expect.OK(t, err, l.Bad())
	j, err := l.Settle()
	expect.OK(t, err)
	expect.Same(t, "trials", j.Plan().Size(), 2)
	expect.Same(t, "run", j.Options.Rescore, s.at.Join("run"))
	_, err = s.rescored("gone", Options{})
	s.bad(err, "gone")
	failed := s.given(Options{})
	failed.FailedIn = "run"
	expect.OK(t, failed.Like("run"))
	expect.Same(t, "suites of --failed-in", failed.Suites, []string{"s.yaml"})
	expect.OK(t, os.Remove(s.at.Join("s.yaml")))
	failed.Suites = nil
	s.bad(failed.Like("run"), "is not where it was")
	_, err = s.rescored("run", Options{})
	s.bad(err, "is not where it was", "--suite FILE")
}
