package session

import (
	"testing"

	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/testing/expect"
)

const projectText = `suites: [suites/*.yaml, "!suites/not.yaml"]
repeats: 2
concurrency: 3
labels: {team: search, stage: night}
`

// use lets the project file of the site hold for a command with these suites.
func (s *site) use(f *Options, c ProjectSource, suites ...string) error {
	f.Dir, c.Getenv = s.at, s.getenv
	return f.UseProject(c, suites)
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
	expect.OK(t, s.use(&f, ProjectSource{}))
	expect.Same(t, "labels", f.Labels, map[string]string{"team": "search", "stage": "day"})
	files, err := f.ProjectSuites()
	expect.OK(t, err)
	expect.Same(t, "suites", files, []string{"suites/a.yaml"})
	j, err := s.settle(f, files...)
	expect.OK(t, err)
	expect.Same(t, "concurrency", j.Settings.Limits.Concurrency, 3)
	expect.Same(t, "trials", j.Plan().Size(), 8)

	var run eval.Run
	j.Identify(&run)
	expect.Same(t, "labels of the run", run.Labels, f.Labels)
	expect.Same(t, "project of the run", run.ProjectHash, f.ProjectFile.Hash())
	if text := j.Copies()[projectCopy]; string(text) != projectText {
		t.Errorf("the copy of the project file is %q, want %q", text, projectText)
	}

	f.Concurrency, f.Repeats = 5, 1
	j, err = s.settle(f, files...)
	expect.OK(t, err)
	expect.Same(t, "concurrency of a flag", j.Settings.Limits.Concurrency, 5)
	expect.Same(t, "trials of a flag", j.Plan().Size(), 4)
}

// No project file is used where the user says so, where the suites are untrusted, and where it is a suite itself.
func TestUntrustedSuitesUseNoProjectFile(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.write(FileName, projectText)
	for name, one := range map[string]struct {
		f      Options
		c      ProjectSource
		suites []string
	}{
		"--no-config": {c: ProjectSource{None: true}},
		"--untrusted": {f: Options{Options: eval.Options{Untrusted: true}}},
		"a suite":     {suites: []string{FileName}},
	} {
		expect.OK(t, s.use(&one.f, one.c, one.suites...))
		if one.f.ProjectFile != nil {
			t.Errorf("%s: the project file is used, want none used", name)
		}
		files, err := one.f.ProjectSuites()
		expect.OK(t, err)
		expect.Same(t, name+": suites", len(files), 0)
	}
}

// What is wrong with a project file, or with what a command says of it, is bad input.
func TestBadProjectFilesAreRefused(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.write("bad.yaml", "suites: [a.yaml]\nconcurency: 3\n")
	s.write("empty.yaml", "suites: [gone/*.yaml]\n")
	s.refused(s.use(&Options{}, ProjectSource{File: "bad.yaml"}), "bad.yaml:2:1", "`concurrency`")
	s.refused(s.use(&Options{}, ProjectSource{File: "gone.yaml"}), "gone.yaml")
	s.refused(s.use(&Options{}, ProjectSource{File: "bad.yaml", None: true}), "--config", "--no-config")
	s.refused(s.use(&Options{Options: eval.Options{Untrusted: true}}, ProjectSource{File: "bad.yaml"}), "--untrusted", "--config")
	s.refused(s.use(&Options{Options: eval.Options{Name: "a\nb"}}, ProjectSource{}), "name")
	s.refused(s.use(&Options{Options: eval.Options{Labels: map[string]string{"a b": "x"}}}, ProjectSource{}), "a b")
	var f Options
	expect.OK(t, s.use(&f, ProjectSource{File: "empty.yaml"}))
	_, err := f.ProjectSuites()
	s.refused(err, "empty.yaml:1:", "gone/*.yaml")
}
