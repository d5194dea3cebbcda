package site_test

import (
	"bytes"
	"compress/flate"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"html"
	"io"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/page"
	"github.com/evalrun/evalrun/internal/rundir"
	"github.com/evalrun/evalrun/internal/site"
	"github.com/evalrun/evalrun/internal/testing/expect"
	"github.com/evalrun/evalrun/internal/testing/testrun"
	"github.com/evalrun/evalrun/journal"
)

// folder is a folder with runs, in which sites are made.
type folder struct {
	*testing.T
	rundir.Dir
}

func newFolder(t *testing.T) folder {
	t.Helper()
	return folder{t, rundir.At(t.TempDir())}
}

// trials are those of the suite "s", by letter: p passes, f fails.
func trials(letters string) (out []*eval.Result) {
	for i, letter := range letters {
		r := &eval.Result{
			Trial: eval.Trial{
				N: i, ID: fmt.Sprintf("%016x", i), CaseID: fmt.Sprint("id ", i), Suite: "s", Case: fmt.Sprint("case ", i), Arm: "t/p", Repeat: 1,
			},
			Ending: testrun.Ending(map[rune]eval.Outcome{'p': eval.Pass, 'f': eval.Fail}[letter]),
			Request: &eval.Request{Contents: []eval.Content{{Role: "user", Parts: []eval.Part{
				eval.TextPart{Text: fmt.Sprint("canaryprompt ", i)},
			}}}},
			Scores: []eval.Score{
				{Scorer: "contains", Name: "right", Grade: eval.Graded{}, Weight: 1, Reason: `the answer does not contain "x": "canaryanswer"`},
			},
			Response: testrun.Answered(fmt.Sprint("canaryanswer ", i), "STOP"), Timing: &eval.Timing{LatencyMs: 100, Attempts: 1},
			Usage: &eval.Usage{PromptTokens: 4, OutputTokens: 3, TotalTokens: 7},
		}
		out = append(out, r)
	}
	return out
}

// record writes a run into runs/name of the folder, with one trial a letter. The day is when it started.
func (f folder) record(name string, day int, letters string, change func(*eval.Run)) {
	f.Helper()
	all := trials(letters)
	run := eval.Run{
		ID: name, StartedAt: fmt.Sprintf("2026-01-%02dT00:00:00Z", day), CommandOptions: &eval.RunOptions{},
		Suites: []eval.RunSuite{{Name: "s"}}, Plan: eval.RunPlan{Trials: len(all), Arms: []string{"t/p"}},
	}
	if change != nil {
		change(&run)
	}
	w, err := journal.Create(f.Join(filepath.Join("runs", name)), &run, nil)
	expect.OK(f, err)
	for _, r := range all {
		if run.Suites[0].Name != "s" {
			r.Suite = run.Suites[0].Name
		}
		expect.OK(f, w.Append(r))
	}
	expect.OK(f, w.Finish(&eval.End{Reason: eval.EndCompleted, FinishedAt: fmt.Sprintf("2026-01-%02dT00:01:00Z", day)}))
}

func (f folder) published(o site.PublishOptions) *site.Site {
	f.Helper()
	o.Runs, o.Out = append(o.Runs, "runs"), "site"
	site, err := site.Write(f.Dir, o)
	expect.OK(f, err)
	return site
}

// files are those of the site, by their names with slashes.
func (f folder) files() map[string]string {
	f.Helper()
	out := map[string]string{}
	site := os.DirFS(f.Join("site"))
	expect.OK(f, fs.WalkDir(site, ".", func(name string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		data, err := fs.ReadFile(site, name)
		out[name] = string(data)
		return err
	}))
	return out
}

func pages(files map[string]string) (out []string) {
	for _, name := range slices.Sorted(maps.Keys(files)) {
		if path.Ext(name) == ".html" {
			out = append(out, name)
		}
	}
	return out
}

var blockScript = regexp.MustCompile(`^evalrun\("([a-z0-9/]+)","([A-Za-z0-9+/=]*)"\);\n$`)

func (f folder) block(script string) string {
	f.Helper()
	m := blockScript.FindStringSubmatch(script)
	if m == nil {
		f.Fatalf("got the block %.200q, want a call with a name and base64 alone", script)
	}
	raw, err := base64.StdEncoding.DecodeString(m[2])
	expect.OK(f, err)
	data, err := io.ReadAll(flate.NewReader(bytes.NewReader(raw)))
	expect.OK(f, err)
	return string(data)
}

func (f folder) data(files map[string]string) string {
	f.Helper()
	var all strings.Builder
	for name, text := range files {
		if strings.HasPrefix(name, "data/") && path.Ext(name) == ".js" && path.Base(name) != "program.js" {
			all.WriteString(f.block(text) + "\n")
		}
	}
	return all.String()
}

// named reads a block of the pages of several runs into v.
func (f folder) named(files map[string]string, name string, v any) {
	f.Helper()
	dir := attribute(f, files["index.html"], "data-head")
	text, ok := files[path.Join(dir, name+".js")]
	if !ok {
		f.Fatalf("got no block %s in %s, want one", name, dir)
	}
	expect.OK(f, json.Unmarshal([]byte(f.block(text)), v))
}

func attribute(t testing.TB, page, name string) string {
	t.Helper()
	m := regexp.MustCompile(` ` + name + `="([^"]*)"`).FindStringSubmatch(page)
	if m == nil {
		t.Fatalf("got no attribute %s, want one in %.400s", name, page)
	}
	return html.UnescapeString(m[1])
}

func TestPublishWritesAPageForEachRunAndEachComparison(t *testing.T) {
	t.Parallel()
	f := newFolder(t)
	f.record("one", 1, "pp", nil)
	f.record("two", 2, "pf", nil)
	f.record("three", 3, "ff", nil)
	site := f.published(site.PublishOptions{})
	expect.Same(t, "index", site.Index, f.Join("site/index.html"))
	expect.Same(t, "runs and comparisons", [3]int{site.Runs, site.Comparisons, site.LeftOut}, [3]int{3, 3, 0})
	expect.Same(t, "content", site.Content, page.TextCounts{Prompts: 6, Answers: 6})
	expect.Same(t, "runs with content", site.WithContent, []string{"three", "two", "one"})
	expect.Same(t, "withheld", site.Withheld, false)
	expect.Same(t, "pages", pages(f.files()), []string{
		"compare.html", "comparisons/one--three.html", "comparisons/one--two.html", "comparisons/two--three.html",
		"index.html", "runs/one.html", "runs/three.html", "runs/two.html", "trends.html",
	})
}

func TestPublishListsRunsNewestFirstWithTheirNumbers(t *testing.T) {
	t.Parallel()
	f := newFolder(t)
	f.record("b", 2, "pf", nil)
	f.record("a", 2, "pp", nil)
	f.record("c", 1, "ff", func(r *eval.Run) { r.Suites[0].Gate = &eval.GateConfig{PassRateMin: new(0.9)} })
	f.published(site.PublishOptions{})
	var list struct {
		Runs    []struct{ Key, ID string }
		Numbers map[string]struct {
			PassRate *float64
			Exit     *int
			State    string
		}
	}
	f.named(f.files(), "runs", &list)
	var order []string
	for _, r := range list.Runs {
		order = append(order, r.ID)
	}
	expect.Same(t, "order", order, []string{"b", "a", "c"})
	for key, want := range map[string]float64{"a": 1, "b": 0.5, "c": 0} {
		expect.Same(t, "pass rate of "+key, list.Numbers[key].PassRate, &want)
		expect.Same(t, "state of "+key, list.Numbers[key].State, "complete")
	}
	expect.Same(t, "exit of the gate", list.Numbers["c"].Exit, new(eval.CodeFailed))
}

// Addresses of pages are ids where these are plain; others are hashes, so that no id can lead out of the site or break a link.
func TestPublishNamesPagesSoThatNoIDLeavesTheSite(t *testing.T) {
	t.Parallel()
	plain := regexp.MustCompile(`^runs/[a-z0-9][a-z0-9._-]*\.html$`)
	ids := []string{
		"../../etc/passwd", "a/b", `a\b`, "a..b", ".hidden", "Upper", "a b", `"><script>alert(1)</script>`, "שלום", "a%2e%2e", "a?b#c", "",
		strings.Repeat("x", 101), "--", "\u202e", "con:1",
	}
	f := newFolder(t)
	for i, id := range ids {
		f.record(fmt.Sprint("dir", i), 1, "p", func(r *eval.Run) { r.ID, r.Suites[0].Name = id, fmt.Sprint("suite ", i) })
	}
	expect.Same(t, "runs", f.published(site.PublishOptions{}).Runs, len(ids))
	files := f.files()
	of := map[string]bool{}
	for _, name := range pages(files) {
		if strings.Contains(files[name], "<script>") {
			t.Errorf("got a script in the page %s, want none:\n%s", name, files[name])
		}
		if of[name] = strings.HasPrefix(name, "runs/"); of[name] && (!plain.MatchString(name) || strings.Contains(name, "..")) {
			t.Errorf("got the page %s, want a plain name", name)
		}
	}
	expect.Same(t, "pages", len(of), len(ids)+3)
	entries, err := os.ReadDir(f.Abs(""))
	expect.OK(t, err)
	expect.Same(t, "entries of the folder", len(entries), 2)
}

func TestPublishEscapesNamesOfSuitesInPages(t *testing.T) {
	t.Parallel()
	f := newFolder(t)
	const name = `</title><img src=x onerror="alert(1)"> 'שלום' & {{.}}`
	f.record("one", 1, "p", func(r *eval.Run) { r.Suites[0].Name = name })
	f.published(site.PublishOptions{})
	text := f.files()["runs/one.html"]
	if strings.Contains(text, "<img") {
		t.Errorf("got the name as markup, want it escaped:\n%s", text)
	}
	expect.Contains(t, "page", html.UnescapeString(text), "<title>"+name+": evalrun</title>")
}

func TestEveryPageHasThePolicyAndLoadsOnlyFilesOfTheSite(t *testing.T) {
	t.Parallel()
	f := newFolder(t)
	f.record("one", 1, "pp", nil)
	f.record("two", 2, "pf", nil)
	f.published(site.PublishOptions{})
	files := f.files()
	links := regexp.MustCompile(` (?:href|src|data-from|data-head|data-root)="([^"]*)"`)
	for _, name := range pages(files) {
		text := html.UnescapeString(files[name])
		for _, want := range []string{
			`<meta http-equiv="Content-Security-Policy" content="default-src 'none';`, "script-src 'self' file:", "base-uri 'none'",
			"form-action 'none'", "require-trusted-types-for 'script'",
		} {
			expect.Contains(t, name, text, want)
		}
		for _, bad := range []string{"unsafe-inline", "unsafe-eval", "http://", "https://", f.Abs("")} {
			if strings.Contains(text, bad) {
				t.Errorf("%s: got %q in it, want none:\n%s", name, bad, text)
			}
		}
		for _, m := range links.FindAllStringSubmatch(files[name], -1) {
			link := html.UnescapeString(m[1])
			if link == "data:," || strings.HasPrefix(link, "#") {
				continue
			}
			at := path.Join(path.Dir(name), link)
			if _, known := files[at]; !known && !isFolder(files, at) {
				t.Errorf("%s: got a link to %s, want it to lead to a file of the site", name, link)
			}
		}
	}
}

func isFolder(files map[string]string, at string) bool {
	for name := range files {
		if at == "." || strings.HasPrefix(name, at+"/") {
			return true
		}
	}
	return false
}

func TestPublishLeavesAnswersOutWithoutContent(t *testing.T) {
	t.Parallel()
	f := newFolder(t)
	f.record("one", 1, "pf", nil)
	f.record("two", 2, "pp", nil)
	place := f.published(site.PublishOptions{NoContent: true})
	expect.Same(t, "withheld", place.Withheld, true)
	expect.Same(t, "content", place.Content, page.TextCounts{})
	expect.Same(t, "runs with content", len(place.WithContent), 0)
	files := f.files()
	data := f.data(files)
	if strings.Contains(data, "canary") {
		t.Errorf("got a text of a prompt or an answer, want none: %.2000s", data)
	}
	expect.Contains(t, "data", data, `"noContent":true`)
	expect.Contains(t, "data", data, "case 1")

	// The same folder with content: the numbers stay.
	again := f.published(site.PublishOptions{})
	expect.Same(t, "withheld", again.Withheld, false)
	expect.Contains(t, "data with content", f.data(f.files()), "canaryanswer")
	expect.Same(t, "pages", pages(f.files()), pages(files))
}

func TestPublishOfTheSameRunsChangesNoFile(t *testing.T) {
	t.Parallel()
	f := newFolder(t)
	f.record("one", 1, "pf", nil)
	f.record("two", 2, "pp", nil)
	f.published(site.PublishOptions{Margin: 0.05})
	before := f.files()
	f.published(site.PublishOptions{Margin: 0.05})
	expect.Same(t, "files", f.files(), before)
}

func TestPublishRemovesWhatIsNoLongerPublished(t *testing.T) {
	t.Parallel()
	f := newFolder(t)
	f.record("one", 1, "pf", nil)
	f.record("two", 2, "pp", nil)
	f.published(site.PublishOptions{})
	expect.OK(t, os.WriteFile(f.Join("site/CNAME"), []byte("example.org"), 0o600), os.RemoveAll(f.Join("runs/one")))
	f.published(site.PublishOptions{})
	files := f.files()
	expect.Same(t, "pages", pages(files), []string{"compare.html", "index.html", "runs/two.html", "trends.html"})
	expect.Same(t, "a file of somebody else", files["CNAME"], "example.org")
	for name := range files {
		if strings.Contains(name, "new") {
			t.Errorf("got %s left over, want no file that is half done", name)
		}
	}
	used := map[string]bool{}
	for _, name := range pages(files) {
		for _, m := range regexp.MustCompile(`data/[0-9a-f]{16}`).FindAllString(files[name], -1) {
			used[m] = true
		}
	}
	entries, err := os.ReadDir(f.Join("site/data"))
	expect.OK(t, err)
	for _, e := range entries {
		if !used["data/"+e.Name()] {
			t.Errorf("got the folder data/%s, want only folders that a page names: %v", e.Name(), used)
		}
	}
}

// A publish that is killed while it deletes old data leaves folders with some of their files. The next one may need them again.
func TestPublishCompletesDataThatAKillLeftBehind(t *testing.T) {
	t.Parallel()
	f := newFolder(t)
	f.record("one", 1, "pf", nil)
	f.published(site.PublishOptions{})
	whole := f.files()
	for _, name := range slices.Sorted(maps.Keys(whole)) {
		if !strings.HasPrefix(name, "data/") {
			continue
		}
		expect.OK(t, os.Remove(f.Join("site/"+name)))
		f.published(site.PublishOptions{})
		expect.Same(t, "files after the loss of "+name, f.files(), whole)
	}
	entries, err := os.ReadDir(f.Join("site/data"))
	expect.OK(t, err)
	for _, entry := range entries { // all files of the folder, then the folders in it
		at := f.Join("site/data/" + entry.Name())
		expect.OK(t, os.RemoveAll(at), os.Mkdir(at, 0o700))
	}
	f.published(site.PublishOptions{})
	expect.Same(t, "files after the loss of all data", f.files(), whole)
}

func TestRunsOfDifferentSuitesAreNotCompared(t *testing.T) {
	t.Parallel()
	f := newFolder(t)
	f.record("one", 1, "p", nil)
	f.record("two", 2, "p", func(r *eval.Run) { r.Suites[0].Name = "other" })
	expect.Same(t, "comparisons", f.published(site.PublishOptions{}).Comparisons, 0)
}

// Of many runs the neighbours are compared first, and how many comparisons are left out is said.
func TestPublishComparesNeighboursWhenThereAreTooMany(t *testing.T) {
	t.Parallel()
	f := newFolder(t)
	const runs = 16 // 120 pairs
	for i := range runs {
		f.record(fmt.Sprintf("r%02d", i), i+1, "p", nil)
	}
	site := f.published(site.PublishOptions{})
	expect.Same(t, "comparisons", [2]int{site.Comparisons, site.LeftOut}, [2]int{100, 20})
	files := f.files()
	for i := 1; i < runs; i++ {
		name := fmt.Sprintf("comparisons/r%02d--r%02d.html", i-1, i)
		if _, there := files[name]; !there {
			t.Errorf("got no page %s, want neighbours to be compared", name)
		}
	}
	if _, there := files["comparisons/r00--r15.html"]; there {
		t.Error("got a page of the runs that are farthest apart, want it left out")
	}
}

func TestPublishGivesAVerdictOnlyWithAMargin(t *testing.T) {
	t.Parallel()
	f := newFolder(t)
	f.record("one", 1, strings.Repeat("p", 60), nil)
	f.record("two", 2, strings.Repeat("f", 30)+strings.Repeat("p", 30), nil)
	for margin, want := range map[float64]string{0: "no_margin", 0.05: "regressed"} {
		f.published(site.PublishOptions{Margin: margin})
		var compared []struct {
			Base, Head string
			Arms       []struct {
				State, Changes string
			}
		}
		f.named(f.files(), "comparisons", &compared)
		if len(compared) != 1 || len(compared[0].Arms) != 1 {
			t.Fatalf("margin %g: got the comparisons %+v, want one of one arm", margin, compared)
		}
		expect.Same(t, "runs", [2]string{compared[0].Base, compared[0].Head}, [2]string{"one", "two"})
		expect.Same(t, fmt.Sprint("verdict with the margin ", margin), compared[0].Arms[0].State, want)
		expect.Contains(t, "changes", compared[0].Arms[0].Changes, "30 newly failing")
	}
}
