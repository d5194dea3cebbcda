package site_test

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gofrs/flock"

	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/site"
	"github.com/evalrun/evalrun/internal/testing/expect"
	"github.com/evalrun/evalrun/journal"
)

func to(out string) site.PublishOptions { return site.PublishOptions{Runs: []string{"runs"}, Out: out} }

func TestPublishRefusesWhatIsNoSiteAndSaysWhatToDo(t *testing.T) {
	t.Parallel()
	f := newFolder(t)
	f.record("one", 1, "p", nil)
	marked := func(text string) string {
		dir := f.Join(fmt.Sprint("marked ", len(text)))
		expect.OK(t, os.Mkdir(dir, 0o700), os.WriteFile(filepath.Join(dir, "evalrun-site.json"), []byte(text), 0o600))
		return dir
	}
	foreign := marked("")
	expect.OK(t, os.WriteFile(filepath.Join(foreign, "notes.txt"), nil, 0o600))
	expect.OK(t, os.Mkdir(f.Join("link"), 0o700), os.Symlink(f.Join("nowhere"), f.Join("link/evalrun-site.json")))
	for name, test := range map[string]struct {
		o    site.PublishOptions
		want string
	}{
		"no folder":           {site.PublishOptions{Runs: []string{"runs"}}, "--out is missing"},
		"no run":              {site.PublishOptions{Out: "x"}, "no run is named: evalrun publish latest --out x"},
		"a run that is gone":  {site.PublishOptions{Runs: []string{"gone"}, Out: "x"}, "there is no run gone"},
		"a margin of one":     {site.PublishOptions{Runs: []string{"runs"}, Out: "x", Margin: 1}, "--margin is a number between 0 and 1"},
		"a negative margin":   {site.PublishOptions{Runs: []string{"runs"}, Out: "x", Margin: -0.1}, "--margin is a number between 0 and 1"},
		"a folder of others":  {to("runs"), "has files that evalrun publish did not write (one)"},
		"a file of others":    {to(foreign), "has files that evalrun publish did not write (notes.txt)"},
		"a cut marker":        {to(marked(`{"madeBy": "evalrun pub`)), "is not the marker of a site"},
		"a marker of another": {to(marked(`{"madeBy":"x","version":1}`)), "is not the marker of a site"},
		"a huge marker":       {to(marked(strings.Repeat(" ", 1<<11))), "is not the marker of a site"},
		"a marker that links": {to("link"), "is not the marker of a site"},
		"a marker of tomorrow": {
			to(marked(`{"madeBy":"evalrun publish","version":2}`)),
			"was written by a newer evalrun: name another folder, or update evalrun",
		},
	} {
		_, err := site.Write(f.Dir, test.o)
		expect.Contains(t, name, fmt.Sprint(err), test.want)
		expect.Same(t, "exit code of "+name, eval.CodeOf(err), eval.CodeBadInput)
	}
	if _, err := os.Stat(f.Join("x")); err == nil {
		t.Error("got the folder of a site that was refused, want none")
	}
}

// A publish that is killed between the creation of the marker and its content leaves an empty one.
func TestPublishTakesAnEmptyMarkerForNone(t *testing.T) {
	t.Parallel()
	f := newFolder(t)
	f.record("one", 1, "p", nil)
	marker := f.Join("site/evalrun-site.json")
	expect.OK(t, os.Mkdir(f.Join("site"), 0o700), os.WriteFile(marker, nil, 0o600))
	f.published(site.PublishOptions{})
	data, err := os.ReadFile(marker)
	expect.OK(t, err)
	expect.Contains(t, "marker", string(data), "evalrun publish")
}

func TestPublishRefusesARunUnderTwoNames(t *testing.T) {
	t.Parallel()
	f := newFolder(t)
	f.record("one", 1, "p", nil)
	f.record("two", 2, "p", func(r *eval.Run) { r.ID = "one" })
	_, err := site.Write(f.Dir, to("site"))
	expect.Contains(t, "error", fmt.Sprint(err), "are the same run one: name one of them")
}

func TestPublishRefusesARunInProgress(t *testing.T) {
	t.Parallel()
	f := newFolder(t)
	run := &eval.Run{ID: "now", StartedAt: "2026-01-01T00:00:00Z", Suites: []eval.RunSuite{{Name: "s"}}}
	w, err := journal.Create(f.Join("runs/now"), run, nil)
	expect.OK(t, err)
	_, err = site.Write(f.Dir, to("site"))
	expect.Contains(t, "error", fmt.Sprint(err), "run now is still in progress: publish it when it has ended")
	expect.OK(t, w.Close())
}

// A run file that was cut in its last line, as by a full disk, is published with the trials before that.
func TestPublishShowsWhatIsLeftOfACutRun(t *testing.T) {
	t.Parallel()
	f := newFolder(t)
	f.record("one", 1, "pppp", nil)
	name := f.Join("runs/one/" + journal.FileName)
	data, err := os.ReadFile(name)
	expect.OK(t, err)
	lines := bytes.SplitAfter(data, []byte("\n"))
	cut := bytes.Join(lines[:4], nil)
	expect.OK(t, os.WriteFile(name, cut[:len(cut)-20], 0o600))
	f.published(site.PublishOptions{})
	var list struct {
		Numbers map[string]struct {
			State, Reason string
			Pass          int
		}
	}
	f.named(f.files(), "runs", &list)
	expect.Same(t, "state", list.Numbers["one"].State, "interrupted")
	expect.Same(t, "reason", list.Numbers["one"].Reason, "killed")
	expect.Same(t, "trials that passed", list.Numbers["one"].Pass, 2)
}

func TestPublishLocksTheSiteWhileItIsWritten(t *testing.T) {
	t.Parallel()
	f := newFolder(t)
	f.record("one", 1, "p", nil)
	f.published(site.PublishOptions{})
	other := flock.New(f.Join("site/evalrun-site.json"), flock.SetFlag(os.O_RDWR))
	free, err := other.TryLock()
	expect.OK(t, err)
	expect.Same(t, "free after a site was written", free, true)
	_, err = site.Write(f.Dir, to("site"))
	expect.Contains(t, "error", fmt.Sprint(err), "another evalrun is writing to "+f.Join("site"))
	expect.OK(t, other.Unlock())
	f.published(site.PublishOptions{})
}
