package main

import (
	"compress/flate"
	"encoding/base64"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/site"
	"github.com/evalrun/evalrun/internal/testing/expect"
)

var blockFile = regexp.MustCompile(`^evalrun\("([a-z]+(?:/[0-9a-f]+)?)","([A-Za-z0-9+/=]+)"\);\n$`)

// blocks writes what the files of data of a site hold to a file: blocks DIR FILE.
func blocks(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: blocks DIR FILE")
	}
	all, err := readBlocks(ts.MkAbs(args[0]))
	ts.Check(err)
	var out strings.Builder
	for _, text := range all {
		out.WriteString(text + "\n")
	}
	ts.Check(os.WriteFile(ts.MkAbs(args[1]), []byte(out.String()), 0o600))
}

// readBlocks reads the files of data of a site, by their paths.
func readBlocks(site string) (map[string]string, error) {
	out := map[string]string{}
	return out, filepath.WalkDir(filepath.Join(site, "data"), func(path string, entry os.DirEntry, err error) error {
		if err != nil || filepath.Ext(path) != ".js" || entry.Name() == "program.js" {
			return err
		}
		data, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		found := blockFile.FindSubmatch(data)
		if found == nil || !strings.HasSuffix(filepath.ToSlash(path), "/"+string(found[1])+".js") {
			return fmt.Errorf("%s is not a block: %.100q", path, data)
		}
		text, err := io.ReadAll(flate.NewReader(base64.NewDecoder(base64.StdEncoding, strings.NewReader(string(found[2])))))
		out[path] = string(text)
		return err
	})
}

func TestPublishSaysWhatReadersOfTheSiteCanRead(t *testing.T) {
	t.Parallel()
	f := newRunFolder(t)
	for i := range 4 {
		f.record(fmt.Sprint("all/r", i), func(r *eval.Run) { r.ID = fmt.Sprint("r", i) }, completed(), letters("pf", "t/p", 0, 1)...)
	}
	const names = "names of suites, cases, arms, models and branches, outcomes, scores and settings"
	for name, test := range map[string]struct {
		runs      []string
		noContent bool
		want      []string
	}{
		"one run": {[]string{"all/r1"}, false, []string{
			"published 1 run and 0 comparisons",
			"content: readers of the site see 2 answers of 1 run (r1), and " + names + "; --no-content leaves prompts and answers out",
		}},
		"many runs": {[]string{"all"}, false, []string{
			"published 4 runs and 6 comparisons",
			"content: readers of the site see 8 answers of 4 runs (r3, r2, r1 and 1 more), and " + names +
				"; --no-content leaves prompts and answers out",
		}},
		"no content": {[]string{"all/r1", "all/r2"}, true, []string{
			"published 2 runs and 1 comparison", "no content: readers of the site see " + names + ", and no prompts or answers",
		}},
	} {
		published, err := site.Write(f.Dir, site.PublishOptions{Runs: test.runs, Out: "site of " + name, NoContent: test.noContent})
		expect.OK(t, err)
		expect.Same(t, "notices of "+name, publishNotices(published), test.want)
		expect.Same(t, "index of "+name, published.Index, f.Join("site of "+name+"/index.html"))
	}
}

// What is wrong with a comment is said before anything is looked up or sent.
func TestCommentsRefuseLinksThatAreNone(t *testing.T) {
	t.Parallel()
	f := newRunFolder(t)
	f.record("night", nil, completed(), letters("p", "t/p", 0, 1)...)
	for _, link := range []string{
		"", "=https://x.example", "report", "report=", "report=x.example", "report=ftp://x.example", "report=https://", "a=javascript:alert(1)",
		"a=file:///etc/passwd", "שלום", "a=https://%zz",
	} {
		_, err := f.comment(t.Context(), "night", commenting{Links: []string{"ok=https://x.example/a?b=c", link}, Getenv: noVariables})
		expect.Same(t, fmt.Sprintf("error of %q", link), fmt.Sprint(err),
			fmt.Sprintf("invalid --link %q: a link is TEXT=URL with an http or https address", link))
		expect.Same(t, fmt.Sprintf("exit code of %q", link), eval.CodeOf(err), eval.CodeBadInput)
	}
	_, err := f.comment(t.Context(), "night", commenting{Getenv: noVariables})
	expect.Same(t, "exit code outside of a job", eval.CodeOf(err), eval.CodeBadInput)
	if err == nil || strings.Contains(err.Error(), "--link") {
		t.Errorf("outside of a job: got the error %v, want one about the project", err)
	}
}
