package promptfoo_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/evalrun/evalrun/diag"
	"github.com/evalrun/evalrun/internal/promptfoo"
	"github.com/evalrun/evalrun/internal/session"
	"github.com/evalrun/evalrun/internal/testing/expect"
	"github.com/evalrun/evalrun/scorers"
	"github.com/evalrun/evalrun/suite"
)

type written struct {
	files    map[string]string // by their names with slashes
	suite    string            // without the comments at its head
	problems string            // of the suite, "" for one that loads
	loaded   *suite.Suite
	*promptfoo.Import
}

const configName = "promptfooconfig.yaml"

// convert imports a configuration, the file promptfooconfig.yaml, and loads the suite.
func convert(t testing.TB, files map[string]string) written {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		at := filepath.Join(dir, "in", filepath.FromSlash(name))
		expect.OK(t, os.MkdirAll(filepath.Dir(at), 0o700), os.WriteFile(at, []byte(text), 0o600))
	}
	var problems promptfoo.Problems
	im, err := promptfoo.Read(filepath.Join(dir, "in", configName), promptfoo.Options{}, &problems)
	expect.OK(t, err)
	if im == nil {
		t.Fatalf("got no import, want one: %v", problems.Diags.Err())
	}
	out := filepath.Join(dir, "out")
	expect.OK(t, im.Write(out))
	w := written{files: map[string]string{}, Import: im}
	expect.OK(t, fs.WalkDir(os.DirFS(out), ".", func(name string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		data, err := os.ReadFile(filepath.Join(out, name))
		w.files[name] = string(data)
		return err
	}))
	_, w.suite, _ = strings.Cut(w.files[promptfoo.SuiteFile], "\nversion: 1\n")
	var diags diag.List
	options := suite.Options{Can: session.Can, Dir: out, Getenv: func(string) string { return "" }}
	w.loaded = suite.Load(os.DirFS(out), promptfoo.SuiteFile, scorers.Builtin(), options, &diags)
	if diags.HasErrors() {
		w.problems = diags.Err().Error()
	}
	return w
}

func (w *written) report() string { return w.files[promptfoo.ReportFile] }
