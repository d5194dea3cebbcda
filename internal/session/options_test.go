package session

import (
	"testing"

	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/testing/expect"
	"github.com/evalrun/evalrun/runner"
)

// Flags that a race makes meaningless are refused by their names, whether a flag or the project file gives them.
func TestARaceRefusesFlagsThatItMakesMeaningless(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	race := func(change func(o *eval.Options)) *Options {
		var f Options
		f.Race = "pass"
		change(&f.Options)
		return &f
	}
	for says, change := range map[string]func(o *eval.Options){
		"--shard":      func(o *eval.Options) { o.Shard = eval.Shard{Index: 1, Of: 2} },
		"--stop-early": func(o *eval.Options) { o.Rule.StopEarly = true },
		"--baseline":   func(o *eval.Options) { o.Baseline = eval.NamedBaseline("main") },
		"--interleave": func(o *eval.Options) { o.Interleave = "s.yaml@main" },
	} {
		s.bad(race(change).CheckRace(), "--race", says)
		f := race(change)
		f.Race = ""
		expect.OK(t, f.CheckRace())
	}
	byProject := &projectFile{}
	byProject.Defaults.Baseline = eval.NamedBaseline("main")
	f := race(func(*eval.Options) {})
	f.project = byProject
	s.bad(f.CheckRace(), "--baseline")
	f.Baseline = eval.NoBaseline{}
	expect.OK(t, f.CheckRace())
}

// --allow lifts what --untrusted refuses, and nothing else.
func TestAllowIsForUntrustedSuites(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.write("s.yaml", fourSuite)
	_, err := s.settle(Options{Options: eval.Options{Allow: []string{"program"}}}, "s.yaml")
	s.bad(err, "--allow", "--untrusted")
	_, err = s.settle(Options{Options: eval.Options{Untrusted: true, Allow: []string{"progam"}}}, "s.yaml")
	s.bad(err, "--allow progam")
	_, err = s.settle(Options{Options: eval.Options{Untrusted: true, Allow: []string{"program"}}}, "s.yaml")
	expect.OK(t, err)
}

// A run is resumed from any folder: its paths are absolute, and what is no path stays.
func TestPathsOfARunAreAbsolute(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	f := s.given(Options{})
	f.Prices, f.Answers, f.Emulator = "prices.yaml", standard, eval.DemoScript
	f.Absolute()
	got := []string{f.Prices, f.Answers, f.Emulator, f.Record}
	expect.Same(t, "paths", got, []string{s.at.Abs("prices.yaml"), standard, eval.DemoScript, ""})
}

// What reads a suite can watch which files it reads.
func TestReadingIsReported(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.write("in/p.tmpl", "hi")
	s.write("in/s.yaml", "version: 1\nname: s\ntargets: [{name: t, model: svc-pro}]\nprompts: [{name: p, file: p.tmpl}]\n"+
		"cases: [{name: c, scorers: [{contains: x}]}]\n")
	read := map[string]bool{}
	_, err := s.settle(Options{Caller: runner.Caller{Reading: func(_, path string) { read[path] = true }}}, "in/s.yaml")
	expect.OK(t, err)
	expect.Same(t, "files", read, map[string]bool{s.at.Abs("in/s.yaml"): true, s.at.Abs("in/p.tmpl"): true})
}
