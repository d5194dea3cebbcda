package session

import (
	"os"
	"runtime"
	"testing"

	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/testing/expect"
)

const projectText = `suites: [suites/*.yaml, "!suites/not.yaml"]
repeats: 2
concurrency: 3
labels: {team: search, stage: night}
`

// use reads a project file of the site, or finds one for "", for a command with these suites.
func (s *site) use(f *Options, file string, suites ...string) error {
	*f = s.given(*f, suites...)
	if f.ProjectFile = file; file == "" {
		f.FindProject()
	}
	return f.UseProject()
}

// A project file holds where neither a flag nor a suite says anything, and names the suites of a command without any.
func TestAProjectFileHoldsWhereNothingElseDoes(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.write(FileName, projectText)
	s.write("suites/a.yaml", fourSuite)
	s.write("suites/not.yaml", fourSuite)
	var f Options
	f.Labels = map[string]string{"stage": "day"}
	expect.OK(t, s.use(&f, ""))
	expect.Same(t, "labels", f.Labels, map[string]string{"team": "search", "stage": "day"})
	expect.OK(t, f.TakeSuites())
	expect.Same(t, "suites", f.Suites, []string{"suites/a.yaml"})
	j, err := s.settle(f, f.Suites...)
	expect.OK(t, err)
	expect.Same(t, "concurrency", j.Settings.Limits.Concurrency, 3)
	expect.Same(t, "trials", j.Plan().Size(), 8)

	var run eval.Run
	j.Identify(&run)
	expect.Same(t, "labels of the run", run.Labels, f.Labels)
	expect.Same(t, "project of the run", run.ProjectHash, f.project.Hash())
	expect.Same(t, "the copy of the project file", string(j.Copies()[projectCopy]), projectText)

	f.Concurrency, f.Repeats = 5, 1
	j, err = s.settle(f, f.Suites...)
	expect.OK(t, err)
	expect.Same(t, "concurrency of a flag", j.Settings.Limits.Concurrency, 5)
	expect.Same(t, "trials of a flag", j.Plan().Size(), 4)
}

// No project file is found where the suites are untrusted, and where it is a suite itself.
func TestUntrustedSuitesUseNoProjectFile(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.write(FileName, projectText)
	for name, one := range map[string]struct {
		f      Options
		suites []string
	}{
		"--untrusted": {f: Options{Options: eval.Options{Untrusted: true}}},
		"a suite":     {suites: []string{FileName}},
	} {
		expect.OK(t, s.use(&one.f, "", one.suites...), one.f.TakeSuites())
		if one.f.project != nil {
			t.Errorf("%s: the project file is used, want none used", name)
		}
		expect.Same(t, name+": suites", one.f.Suites, one.suites)
	}
}

// What is wrong with a project file, or with what a command says of it, is bad input.
func TestBadProjectFilesAreRefused(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.write("bad.yaml", "suites: [a.yaml]\nconcurency: 3\n")
	s.write("empty.yaml", "suites: [gone/*.yaml]\n")
	s.bad(s.use(&Options{}, "bad.yaml"), "bad.yaml:2:1", "`concurrency`")
	s.bad(s.use(&Options{}, "gone.yaml"), "gone.yaml")
	s.bad(s.use(&Options{Options: eval.Options{Untrusted: true}}, "bad.yaml"), "--untrusted", "--config")
	s.bad(s.use(&Options{Options: eval.Options{Name: "a\nb"}}, ""), "name")
	s.bad(s.use(&Options{Options: eval.Options{Labels: map[string]string{"a b": "x"}}}, ""), "a b")
	var f Options
	expect.OK(t, s.use(&f, "empty.yaml"))
	s.bad(f.TakeSuites(), "empty.yaml:1:", "gone/*.yaml")
}

// Everything that loads warns of a project file that was found and that others may change, and not of one that the user named.
func TestLoadingWarnsOfAFoundProjectFileThatOthersMayChange(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "windows" {
		t.Log("files have no mode that says who may change them")
		return
	}
	s := newSite(t)
	s.write(FileName, projectText)
	s.write("suites/a.yaml", fourSuite)
	expect.OK(t, os.Chmod(s.at.Join(FileName), 0o666))
	for _, found := range []bool{true, false} {
		f := s.given(Options{}, "suites/a.yaml")
		f.ProjectFile, f.ProjectFound = s.at.Join(FileName), found
		l, err := Load(f)
		expect.OK(t, err)
		expect.Same(t, "a warning", l.Diags.Len() > 0, found)
	}
}
