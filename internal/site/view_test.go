package site

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/evalrun/evalrun/compare"
	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/page"
	"github.com/evalrun/evalrun/internal/rundir"
	"github.com/evalrun/evalrun/internal/testing/expect"
	"github.com/evalrun/evalrun/internal/testing/testrun"
	"github.com/evalrun/evalrun/journal"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func trial(n int, outcome eval.Outcome) *eval.Result {
	value := 0.0
	if outcome == eval.Pass {
		value = 1
	}
	return &eval.Result{
		Trial: eval.Trial{
			N:      n,
			ID:     fmt.Sprintf("%016x", n),
			CaseID: fmt.Sprint(n),
			Suite:  "s",
			Case:   fmt.Sprintf("case %d", n),
			Arm:    "t/p",
			Repeat: 1,
			Tags:   []string{fmt.Sprintf("tag %d", n)},
		},
		Ending:   testrun.Ending(outcome),
		Scores:   []eval.Score{{Scorer: "equals", Name: "same", Grade: eval.Graded{Value: value, Passed: value == 1}, Reason: "it is not"}},
		Response: &eval.Response{Candidates: []eval.Candidate{{Text: fmt.Sprintf("answer %d", n)}}},
	}
}

// begin makes a run below .evalrun/runs of the working directory.
func begin(t *testing.T, id string, planned int) *journal.Writer {
	t.Helper()
	w, err := journal.Create(filepath.Join(".evalrun", "runs", id), &eval.Run{
		ID: id, StartedAt: "2026-01-0" + id[len(id)-1:] + "T00:00:00Z", Suites: []eval.RunSuite{{Name: "s", File: "s.yaml"}},
		Plan: eval.RunPlan{Trials: planned, Arms: []string{"t/p"}},
	}, nil)
	expect.OK(t, err)
	return w
}

func record(t *testing.T, id string, trials ...*eval.Result) {
	t.Helper()
	w := begin(t, id, len(trials))
	write(t, w, trials...)
	finish(t, w)
}

func write(t *testing.T, w *journal.Writer, trials ...*eval.Result) {
	t.Helper()
	for _, r := range trials {
		expect.OK(t, w.Append(r))
	}
}

func finish(t *testing.T, w *journal.Writer) {
	t.Helper()
	expect.OK(t, w.Finish(&eval.End{FinishedAt: "2026-01-09T00:00:00Z", Reason: eval.EndCompleted}))
}

func serve(t *testing.T, named ...string) *Server {
	t.Helper()
	s, err := Start(Options{Listen: "127.0.0.1:0", Named: named, Every: time.Millisecond})
	expect.OK(t, err)
	t.Cleanup(s.Close)
	return s
}

var client = &http.Client{
	Transport:     &http.Transport{DisableKeepAlives: true},
	CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
}

// ask sends a request that change may change.
func ask(t *testing.T, s *Server, path string, change func(*http.Request)) (*http.Response, string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, strings.TrimSuffix(s.URL, "/")+path, nil)
	expect.OK(t, err)
	if change != nil {
		change(r)
	}
	resp, err := client.Do(r)
	expect.OK(t, err)
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	expect.OK(t, err)
	return resp, string(body)
}

func data[T any](t *testing.T, s *Server, path string) T {
	t.Helper()
	resp, body := ask(t, s, path, nil)
	var out T
	if err := json.Unmarshal([]byte(body), &out); err != nil || resp.StatusCode != http.StatusOK {
		t.Fatalf("%s: %s %v, want 200 with JSON\n%s", path, resp.Status, err, body)
	}
	return out
}

type index struct {
	Blocks []int
	Tables map[string][][]string
}

// served is a server of one run of three trials, and where its page is.
func served(t *testing.T) (s *Server, at string) {
	t.Helper()
	t.Chdir(t.TempDir())
	record(t, "r1", trial(0, eval.Pass), trial(1, eval.Fail), trial(2, eval.Pass))
	s = serve(t)
	list := data[[]viewedRun](t, s, "/data/runs")
	if len(list) != 1 || list[0].ID != "r1" || list[0].Planned != 3 || list[0].Suites[0] != "s" {
		t.Fatalf("the list is %+v, want the run r1 of suite s with 3 trials", list)
	}
	return s, "/run/" + list[0].Key + "/"
}

// A run has a line in the list, and a page.
func TestARunHasALineAndAPage(t *testing.T) {
	s, at := served(t)
	sum := data[summary](t, s, "/data/runs/"+strings.Split(at, "/")[2])
	got := fmt.Sprintf("%d pass, %d fail, %s, exit %d, rate %.3f", sum.Pass, sum.Fail, sum.Phase, *sum.Exit, *sum.PassRate)
	if want := "2 pass, 1 fail, complete, exit 1, rate 0.667"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	if resp, body := ask(t, s, at, nil); resp.StatusCode != http.StatusOK || !strings.Contains(body, `data-from="`+at+`"`) {
		t.Errorf("%s, want 200 and a page with data from %s:\n%s", resp.Status, at, body)
	}
}

// What a run has in its file, the page gets block by block.
func TestThePageGetsTheRunBlockByBlock(t *testing.T) {
	s, at := served(t)
	head := data[struct {
		Title   string
		Summary struct{ Trials int }
		Gate    journal.Gate
	}](t, s, at+"data/head")
	if head.Title != "s" || head.Summary.Trials != 3 || head.Gate.Exit != 1 {
		t.Errorf("%+v, want the title s, 3 trials and exit 1", head)
	}
	if ix := data[index](t, s, at+"data/index"); len(ix.Blocks) != 1 || ix.Blocks[0] != 3 || len(ix.Tables["tag"]) != 3 {
		t.Errorf("%+v, want one block of 3 trials with 3 lists of tags", ix)
	}
	rows := data[struct {
		Case []any
		N    []int
	}](t, s, at+"data/rows/0")
	expect.Same(t, "cases and numbers of the block", fmt.Sprint(rows.Case, rows.N), "[case 0 case 1 case 2] [0 1 2]")
	if trials := data[[]eval.Result](t, s, at+"data/trials/0"); len(trials) != 3 || trials[2].Response.Text() != "answer 2" {
		t.Errorf("%+v, want 3 trials, the last with `answer 2`", trials)
	}
}

// A block of a run as it was before is refused; an image that is not there is null.
func TestABlockOfAnEarlierStateIsRefused(t *testing.T) {
	s, at := served(t)
	if resp, _ := ask(t, s, at+"data/rows/0?of=another", nil); resp.StatusCode != http.StatusConflict {
		t.Errorf("a block of another version: %s, want 409", resp.Status)
	}
	if resp, body := ask(t, s, at+"data/image/abc", nil); resp.StatusCode != http.StatusOK || body != "null" {
		t.Errorf("an image that is not there: %s %s, want 200 null", resp.Status, body)
	}
}

// A run and a folder of runs can be named; anything else is an error.
func TestOnlyRunsAndFoldersCanBeNamed(t *testing.T) {
	t.Chdir(t.TempDir())
	record(t, "r1", trial(0, eval.Pass))
	record(t, "r2", trial(0, eval.Pass))
	expect.OK(t, os.MkdirAll("there/deep", 0o755))
	expect.OK(t, os.Rename(".evalrun/runs/r2", "there/deep/r2"))
	for _, test := range []struct {
		named []string
		want  string
		one   bool
	}{
		{nil, "r1", false},
		{[]string{"there"}, "r2 r1", false},
		{[]string{"there/deep/r2"}, "r2 r1", true},
		{[]string{"latest"}, "r1", true},
	} {
		s := serve(t, test.named...)
		expect.Same(t, fmt.Sprint(test.named), ids(t, s), test.want)
		if got := s.RunURL(); (got != s.URL) != test.one {
			t.Errorf("%v: the page is %s at the address %s; want that of one run: %v", test.named, got, s.URL, test.one)
		} else if resp, _ := ask(t, s, strings.TrimPrefix(got, strings.TrimSuffix(s.URL, "/")), nil); resp.StatusCode != http.StatusOK {
			t.Errorf("%s: %s, want 200", got, resp.Status)
		}
	}
}

func TestARunThatIsNotThereIsRefused(t *testing.T) {
	t.Chdir(t.TempDir())
	expect.OK(t, os.Mkdir("empty", 0o755))
	for _, name := range []string{"empty", "nowhere", "../x"} {
		if _, err := Start(Options{Listen: "127.0.0.1:0", Named: []string{name}}); err == nil ||
			!strings.Contains(err.Error(), "there is no run "+name) {
			t.Errorf("%s: %v, want `there is no run`", name, err)
		}
	}
}

// ids are those of the runs that are listed.
func ids(t *testing.T, s *Server) string {
	t.Helper()
	var out []string
	for _, r := range data[[]viewedRun](t, s, "/data/runs") {
		out = append(out, r.ID)
	}
	return strings.Join(out, " ")
}

// No request makes or changes a file.
func TestNoRequestChangesAFile(t *testing.T) {
	t.Chdir(t.TempDir())
	record(t, "r1", trial(0, eval.Pass), trial(1, eval.Fail))
	record(t, "r2", trial(0, eval.Fail), trial(1, eval.Fail))
	remember(t, "r1")
	running := begin(t, "r3", 2)
	defer finish(t, running)
	before := tree(t)
	s := serve(t)
	list := data[[]viewedRun](t, s, "/data/runs")
	for _, r := range list {
		compared := "/compare/" + list[1].Key + "/" + r.Key + "/data/head"
		for _, path := range []string{"/data/runs/" + r.Key, "/run/" + r.Key + "/data/index", compared, "/data/trends"} {
			if resp, body := ask(t, s, path, nil); resp.StatusCode != http.StatusOK {
				t.Errorf("%s: %s, want 200: %s", path, resp.Status, body)
			}
		}
	}
	s.Close()
	expect.Same(t, "files", tree(t), before)
}

// remember puts a run into the history.
func remember(t *testing.T, id string) {
	t.Helper()
	d, err := rundir.At("").Open(id)
	expect.OK(t, err)
	expect.OK(t, errors.Join(rundir.At("").Remember(d), d.Close()))
}

// tree lists all files with their sizes and times.
func tree(t *testing.T) string {
	t.Helper()
	var b strings.Builder
	err := filepath.WalkDir(".", func(path string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := e.Info()
		fmt.Fprintln(&b, path, info.Size(), info.ModTime())
		return err
	})
	expect.OK(t, err)
	return b.String()
}

// Any two runs are compared, with a verdict when there is a margin.
func TestAnyTwoRunsAreCompared(t *testing.T) {
	t.Chdir(t.TempDir())
	var good, bad []*eval.Result
	for n := range 60 {
		good, bad = append(good, trial(n, eval.Pass)), append(bad, trial(n, []eval.Outcome{eval.Pass, eval.Fail}[n%2]))
	}
	record(t, "r1", good...)
	record(t, "r2", bad...)
	s := serve(t)
	list := data[[]viewedRun](t, s, "/data/runs") // the newest first
	at := "/compare/" + list[1].Key + "/" + list[0].Key + "/"
	type head struct{ Comparison compare.Comparison }
	c := data[head](t, s, at+"data/head").Comparison
	got := fmt.Sprintf("%s to %s: %q, %d flips", c.Base.Run, c.Head.Run, c.Verdict, len(c.Arms[0].Flips))
	if want := `r1 to r2: "", 30 flips`; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	for range 2 { // the second time it is known
		if c := data[head](t, s, at+"data/head?margin=0.05").Comparison; c.Verdict != eval.Regressed {
			t.Errorf("the verdict is %q, want %q", c.Verdict, eval.Regressed)
		}
	}
	if own := data[struct{ Comparison any }](t, s, "/run/"+list[0].Key+"/data/head"); own.Comparison != nil {
		t.Errorf("the page of the run alone has the comparison %v, want none", own.Comparison)
	}
	if ix := data[index](t, s, at+"data/index"); ix.Blocks[0] != 60 {
		t.Errorf("blocks of %v, want the first of 60", ix.Blocks)
	}
}

// A margin is a number between 0 and 1.
func TestMarginsMustBeNumbersBelowOne(t *testing.T) {
	s, at := served(t)
	key := strings.Split(at, "/")[2]
	at = "/compare/" + key + "/" + key + "/"
	for _, margin := range []string{"x", "0", "1", "-1", "NaN", "Inf"} {
		if resp, _ := ask(t, s, at+"data/head?margin="+margin, nil); resp.StatusCode != http.StatusBadRequest {
			t.Errorf("margin %s: %s, want 400", margin, resp.Status)
		}
	}
}

// A run whose file is replaced or resumed is read again.
func TestARunThatIsReplacedOrResumedIsReadAgain(t *testing.T) {
	t.Chdir(t.TempDir())
	record(t, "r1", trial(0, eval.Pass))
	s := serve(t)
	at := "/run/" + data[[]viewedRun](t, s, "/data/runs")[0].Key + "/data/"
	first, _ := ask(t, s, at+"index", nil)
	w, d, err := journal.Resume(".evalrun/runs/r1")
	expect.OK(t, err)
	expect.OK(t, errors.Join(d.Close(), w.Resumed(&journal.Resumed{})))
	write(t, w, trial(1, eval.Fail))
	finish(t, w)
	for ix := (index{}); len(ix.Blocks) != 1 || ix.Blocks[0] != 2; { // it is looked at each millisecond
		ix = data[index](t, s, at+"index")
	}
	old, _, _ := strings.Cut(first.Header.Get(markHeader), "-")
	if resp, _ := ask(t, s, at+"rows/0?of="+old, nil); resp.StatusCode != http.StatusConflict {
		t.Errorf("a block of the run before it was resumed: %s, want 409", resp.Status)
	}
}

// More runs than are kept open are shown all the same.
func TestManyRunsAreShownAllTheSame(t *testing.T) {
	t.Chdir(t.TempDir())
	for n := range mostOpen + 3 {
		record(t, fmt.Sprintf("r%d", n), trial(0, eval.Pass))
	}
	s := serve(t)
	marks := map[string]string{}
	for range 2 {
		for _, r := range data[[]viewedRun](t, s, "/data/runs") {
			resp, body := ask(t, s, "/run/"+r.Key+"/data/index", nil)
			if mark := resp.Header.Get(markHeader); resp.StatusCode != http.StatusOK || marks[r.Key] != "" && marks[r.Key] != mark {
				t.Errorf("%s with the mark %q, want 200 with %q: %s", resp.Status, mark, marks[r.Key], body)
			} else {
				marks[r.Key] = mark
			}
		}
	}
	s.opened.mu.Lock()
	defer s.opened.mu.Unlock()
	expect.Same(t, "open runs", len(s.opened.all), mostOpen)
}

// The trends of metrics come from the history, and from the run files that it does not know.
func TestTrendsComeFromHistoryAndRunFiles(t *testing.T) {
	for _, known := range [][]string{nil, {"r1"}, {"r1", "r2"}} {
		t.Run(fmt.Sprintf("the history knows %d", len(known)), func(t *testing.T) { testTrends(t, known) })
	}
}

func testTrends(t *testing.T, known []string) {
	t.Chdir(t.TempDir())
	record(t, "r1", trial(0, eval.Pass), trial(1, eval.Fail))
	record(t, "r2", trial(0, eval.Pass), trial(1, eval.Pass))
	for _, id := range known {
		remember(t, id)
	}
	s := serve(t)
	got := data[struct {
		Trends  []page.Trend `json:"courses"`
		Warning string
	}](t, s, "/data/trends")
	expect.Same(t, "warning", got.Warning, "")
	var lines strings.Builder
	for _, c := range got.Trends {
		for _, p := range c.Points {
			fmt.Fprintf(&lines, "%s %s %s %s %.1f %v\n", c.Suite, c.Arm, c.Metric, p.Run, p.Value, p.Key != "")
		}
	}
	all := lines.String()
	if n := strings.Count(all, "pass r1"); n != 1 {
		t.Errorf("the run r1 has %d points, want one:\n%s", n, all)
	}
	for _, want := range []string{"s t/p pass r1 0.5 true", "s t/p pass r2 1.0 true", "s t/p same r1 0.5 true", "s t/p errors r2 0.0 true"} {
		expect.Contains(t, "all pages", all, want)
	}
}
