package site

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/page"
	"github.com/evalrun/evalrun/internal/testing/expect"
	"github.com/evalrun/evalrun/journal"
)

type watched struct {
	lines *bufio.Scanner
	id    string
	close func()
}

func watch(t *testing.T, s *Server, path, last string) *watched {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, strings.TrimSuffix(s.URL, "/")+path, nil)
	expect.OK(t, err)
	if last != "" {
		r.Header.Set("Last-Event-ID", last)
	}
	resp, err := client.Do(r)
	expect.OK(t, err)
	if got := resp.Header.Get("Content-Type"); got != "text/event-stream" {
		t.Fatalf("got %v, %v, want text/event-stream", got, resp.Status)
	}
	w := &watched{lines: bufio.NewScanner(resp.Body), close: func() { cancel(); _ = resp.Body.Close() }}
	w.lines.Buffer(nil, 1<<24)
	t.Cleanup(w.close)
	return w
}

type update struct {
	name string
	Head *struct {
		Running bool
		Summary struct{ Trials, Pass, Fail int }
	}
	Block *struct {
		Rows struct {
			Case []any
			N    []int
			Tag  []int
		}
		Lists map[string][][]string
	}
}

func (w *watched) next(t *testing.T) (e update) {
	t.Helper()
	for w.lines.Scan() {
		key, value, _ := strings.Cut(w.lines.Text(), ": ")
		switch key {
		case "id":
			w.id = value
		case "event":
			e.name = value
		case "data":
			expect.OK(t, json.Unmarshal([]byte(value), &e))
		case "":
			if e.name != "" {
				return e
			}
		}
	}
	t.Fatalf("got the end of the events (%v), want another", w.lines.Err())
	return e
}

// untilTrials reads events until n trials have been counted, and returns the rows that came.
func (w *watched) untilTrials(t *testing.T, n int) (places []int, lists []string) {
	t.Helper()
	for {
		e := w.next(t)
		if e.Block != nil {
			places = append(places, e.Block.Rows.N...)
			for _, tags := range e.Block.Lists["tag"] {
				lists = append(lists, tags...)
			}
		}
		if e.Head != nil && e.Head.Summary.Trials == n {
			return places, lists
		}
	}
}

// watching is a run of six planned trials that is being written, and its server.
type watching struct {
	w    *journal.Writer
	s    *Server
	key  string // of the run
	mark string // of a page that has what the run had at first
}

func beginWatching(t *testing.T, trials ...*eval.Result) watching {
	t.Helper()
	t.Chdir(t.TempDir())
	w := begin(t, "r1", 6)
	write(t, w, trials...)
	s := serve(t)
	key := data[[]viewedRun](t, s, "/data/runs")[0].Key
	resp, _ := ask(t, s, "/run/"+key+"/data/index", nil)
	return watching{w, s, key, resp.Header.Get(markHeader)}
}

func (r *watching) events(mark string) string { return "/run/" + r.key + "/events?after=" + mark }

func (r *watching) watch(t *testing.T, last string) *watched {
	t.Helper()
	return watch(t, r.s, r.events(r.mark), last)
}

// expect reads events until n trials have been counted, and checks the rows that came.
func (w *watched) expect(t *testing.T, n int, want string) {
	t.Helper()
	if places, tags := w.untilTrials(t, n); fmt.Sprint(places, tags) != want {
		t.Errorf("rows %v with new %q, want %s", places, tags, want)
	}
}

// The head needs no trials: a page shows the verdict before the server has read them. What a run gets between the two is in both.
func TestThePageShowsTheHeadBeforeTrials(t *testing.T) {
	t.Chdir(t.TempDir())
	w := begin(t, "r1", 6)
	write(t, w, trial(3, eval.Fail))
	s := serve(t)
	at := "/run/" + data[[]viewedRun](t, s, "/data/runs")[0].Key + "/data/"
	passed := func() int { return data[struct{ Summary struct{ Pass int } }](t, s, at+"head").Summary.Pass }
	if n := passed(); n != 0 {
		t.Errorf("%d trials passed, want none so far", n)
	}
	write(t, w, trial(1, eval.Pass))
	for passed() == 0 { // until the server looks at the run again
		time.Sleep(time.Millisecond)
	}
	if s.opened.all[0].served != nil {
		t.Error("the head read the trials, want them unread")
	}
	if got := data[index](t, s, at+"index").Blocks; fmt.Sprint(got) != "[2]" {
		t.Errorf("blocks of %v trials, want one of 2", got)
	}
	rows := data[struct{ N []int }](t, s, at+"rows/0").N
	if fmt.Sprint(rows) != "[1 3]" {
		t.Errorf("rows %v, want them in the order of the plan", rows)
	}
	finish(t, w)
}

// A page that watches a run gets each trial once, also after it comes back.
func TestAWatchingPageGetsEachTrialOnce(t *testing.T) {
	r := beginWatching(t, trial(3, eval.Pass))
	events := r.watch(t, "")
	events.expect(t, 1, "[] []")
	write(t, r.w, trial(5, eval.Fail))
	events.expect(t, 2, "[5] [tag 5]")
	write(t, r.w, trial(0, eval.Pass))
	events.expect(t, 3, "[0] [tag 0]")
	events.close()
	write(t, r.w, trial(1, eval.Pass), trial(2, eval.Pass))
	r.watch(t, events.id).expect(t, 5, "[1 2] [tag 1 tag 2]")
	r.watch(t, "").expect(t, 5, "[5 0 1 2] [tag 5 tag 0 tag 1 tag 2]")
	finish(t, r.w)
	if trials := data[[]eval.Result](t, r.s, "/run/"+r.key+"/data/trials/0"); len(trials) != 1 || trials[0].N != 3 {
		t.Errorf("the first block is %+v, want trial 3", trials)
	}
}

// A page that watches a run gets its end, and one with a mark of another run reads it again.
func TestWatchEndsWithTheRun(t *testing.T) {
	r := beginWatching(t, trial(3, eval.Pass))
	if sum := data[summary](t, r.s, "/data/runs/"+r.key); sum.Phase != page.InProgress || sum.Exit != nil {
		t.Errorf("%+v, want one in progress", sum)
	}
	events := r.watch(t, "")
	write(t, r.w, trial(4, eval.Fail))
	finish(t, r.w)
	for e := (update{}); e.name != "end"; {
		e = events.next(t)
	}
	if e := watch(t, r.s, r.events("other-3"), "").next(t); e.name != "again" {
		t.Errorf("%+v, want again", e)
	}
}

// No more than mostWatchers pages watch; the server lets go of them when it ends.
func TestWatchersAreBounded(t *testing.T) {
	r := beginWatching(t)
	var last *watched
	for range mostWatchers {
		last = r.watch(t, "")
		last.next(t)
	}
	const want = "too many pages watch runs"
	if resp, said := ask(t, r.s, r.events(r.mark), nil); resp.StatusCode != http.StatusServiceUnavailable || !strings.Contains(said, want) {
		t.Errorf("got %v and %q, want 503 and %q", resp.Status, said, want)
	}
	r.s.Close()
	for last.lines.Scan() { // what was under way
		continue
	}
	if errors.Is(last.lines.Err(), context.DeadlineExceeded) {
		t.Error("the events go on, want their end")
	}
	finish(t, r.w)
}
