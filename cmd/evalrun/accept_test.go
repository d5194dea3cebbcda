package main

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/evalrun/evalrun"
	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/rundir"
	"github.com/evalrun/evalrun/internal/session"
	"github.com/evalrun/evalrun/internal/testing/expect"
	"github.com/evalrun/evalrun/suite"
)

// userFolder is a user's folder with a suite and runs of it.
type userFolder struct {
	*testing.T
	at rundir.Dir
}

func newUserFolder(t *testing.T, suiteText string) *userFolder {
	t.Helper()
	f := &userFolder{T: t, at: rundir.At(t.TempDir())}
	f.write("s.yaml", suiteText)
	return f
}

func (f *userFolder) write(name, text string) {
	f.Helper()
	path := f.at.Join(name)
	expect.OK(f, os.MkdirAll(filepath.Dir(path), 0o755))
	expect.OK(f, os.WriteFile(path, []byte(text), 0o600))
}

// run records answers as a run, one a line as --answers takes them.
func (f *userFolder) run(answers string) {
	f.Helper()
	f.write("run.jsonl", answers)
	var o evalrun.Options
	o.Dir, o.Suites, o.Out, o.NoHistory = f.at.Abs(""), []string{"s.yaml"}, "run", true
	o.Answers, o.Getenv = "run.jsonl", func(string) string { return "" }
	j, err := evalrun.Load(f.Context(), o)
	if err == nil {
		_, err = evalrun.Run(f.Context(), j)
	}
	expect.OK(f, err)
}

// all is what the run offers.
func (f *userFolder) all() *acceptance {
	f.Helper()
	var o session.Options
	o.Dir, o.Rescore, o.Getenv = f.at.Abs(""), "run", func(string) string { return "" }
	l, err := loadAccepting(o)
	expect.OK(f, err)
	_, err = l.Settle()
	expect.OK(f, err)
	a, err := newAcceptance(l)
	expect.OK(f, err)
	return a
}

// tree is every file below the folder that is not part of a run, with its text.
func (f *userFolder) tree() map[string]string {
	f.Helper()
	out := map[string]string{}
	below := os.DirFS(f.at.Abs(""))
	err := fs.WalkDir(below, ".", func(name string, entry fs.DirEntry, err error) error {
		if err == nil && entry.IsDir() && strings.HasPrefix(name, "run") {
			return fs.SkipDir
		}
		if err != nil || !entry.Type().IsRegular() {
			return err
		}
		data, err := fs.ReadFile(below, name)
		out[name] = string(data)
		return err
	})
	expect.OK(f, err)
	return out
}

const capitalsRun = `version: 1   # a comment that stays
name: s
targets: [{name: t, model: svc-pro}]
prompts: [{name: p, text: "capital of {{.c}}"}]
defaults: {scorers: [{snapshot: true}]}
cases: [{name: france, vars: {c: France}}, {name: spain, vars: {c: Spain}}]
`

// Of repeats the most frequent answer is offered, of equally frequent ones the first, with how many there were.
func TestAcceptOffersTheMostFrequentAnswer(t *testing.T) {
	t.Parallel()
	f := newUserFolder(t, strings.Replace(capitalsRun, "defaults: {", "defaults: {repeats: 4, ", 1))
	var answers strings.Builder
	for name, texts := range map[string][]string{
		"france": {"Lyon", "Paris", "Nice", "Paris"}, "spain": {"Toledo", "Madrid", "Madrid", "Toledo"},
	} {
		for i, text := range texts {
			answers.WriteString(`{"case":"` + name + `","text":"` + text + `","repeat":` + string(rune('1'+i)) + "}\n")
		}
	}
	f.run(answers.String())
	got := map[string]answeredCase{}
	for _, p := range f.all().Proposals {
		expect.Same(t, "offers for "+p.File, len(p.Offers), 1)
		got[p.Offers[0].Text] = p.Offers[0].From[0]
	}
	want := map[string]answeredCase{
		"Paris":  {Suite: "s", Case: "france", Arm: "t/p", Answers: 4, Different: 3},
		"Toledo": {Suite: "s", Case: "spain", Arm: "t/p", Answers: 4, Different: 2},
	}
	expect.Same(t, "result", got, want)
}

// No link leads an accepted answer out of the suite's folder, and a failure leaves neither a part of a file nor a temporary one.
func TestAcceptWritesInsideTheFolderOrNothing(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", suite.MaxExpectedBytes)
	for name, test := range map[string]struct {
		prepare func(f *userFolder, outside string) error
		text    string
	}{
		"a link of the folder":  {func(f *userFolder, outside string) error { return os.Symlink(outside, f.at.Join("expected")) }, "x"},
		"a link in the folder":  {func(f *userFolder, outside string) error { return os.Symlink(outside, f.at.Join("expected/s")) }, "x"},
		"a file for the folder": {func(f *userFolder, _ string) error { return os.WriteFile(f.at.Join("expected/s"), nil, 0o600) }, "x"},
		"a folder for the file": {
			func(f *userFolder, _ string) error {
				return os.MkdirAll(f.at.Join("expected/s/france/t.p.txt/x"), 0o755)
			}, "x",
		},
		"a very long answer": {func(*userFolder, string) error { return nil }, long},
	} {
		f, outside := newUserFolder(t, capitalsRun), t.TempDir()
		if name != "a link of the folder" {
			f.write("expected/keep", "kept\n")
		}
		expect.OK(t, test.prepare(f, outside))
		before := f.tree()
		p := &proposal{File: "expected/s/france/t.p.txt", dir: f.at.Abs(""), name: "expected/s/france/t.p.txt"}
		if err := p.Accept(&offer{Text: test.text}); eval.CodeOf(err) != eval.CodeIncomplete || !strings.Contains(err.Error(), p.File) {
			t.Errorf("%s: exit %d with %v, want exit %d that names the file", name, eval.CodeOf(err), err, eval.CodeIncomplete)
		}
		expect.Same(t, name+": files", f.tree(), before)
		if entries, err := os.ReadDir(outside); err != nil || len(entries) != 0 {
			t.Errorf("%s: %v outside, %v, want nothing", name, entries, err)
		}
	}
}
