package view

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
)

// watched reads events as a browser does.
type watched struct {
	lines *bufio.Scanner
	id    string
	close func()
}

func watch(t *testing.T, s *Server, path, last string) *watched {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, strings.TrimSuffix(s.URL, "/")+path, nil)
	if err != nil {
		t.Fatal(err)
	}
	if last != "" {
		r.Header.Set("Last-Event-ID", last)
	}
	resp, err := client.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	if got := resp.Header.Get("Content-Type"); got != "text/event-stream" {
		t.Fatal(got, resp.Status)
	}
	w := &watched{lines: bufio.NewScanner(resp.Body), close: func() { cancel(); _ = resp.Body.Close() }}
	w.lines.Buffer(nil, 1<<24)
	t.Cleanup(w.close)
	return w
}

type told struct {
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

// next is the next event.
func (w *watched) next(t *testing.T) (e told) {
	t.Helper()
	for w.lines.Scan() {
		key, value, _ := strings.Cut(w.lines.Text(), ": ")
		switch key {
		case "id":
			w.id = value
		case "event":
			e.name = value
		case "data":
			if err := json.Unmarshal([]byte(value), &e); err != nil {
				t.Fatal(err)
			}
		case "":
			if e.name != "" {
				return e
			}
		}
	}
	t.Fatal("the events end", w.lines.Err())
	return e
}

// untilTrials reads events until so many trials have been counted, and gives the rows that came.
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

// Who watches a run gets each trial once, also after coming back, and hears of its end.
func TestWatch(t *testing.T) {
	t.Chdir(t.TempDir())
	w := begin(t, "r1", 6)
	write(t, w, trial(3, eval.Pass))
	s := serve(t)
	key := data[[]run](t, s, "/data/runs")[0].Key
	if sum := data[summary](t, s, "/data/runs/"+key); sum.State != "running" || sum.Exit != nil {
		t.Errorf("%+v", sum)
	}
	resp, _ := ask(t, s, "/run/"+key+"/data/index", nil)
	mark := resp.Header.Get(markHeader)
	events := watch(t, s, "/run/"+key+"/events?after="+mark, "")
	events.untilTrials(t, 1)
	write(t, w, trial(5, eval.Fail))
	if places, tags := events.untilTrials(t, 2); fmt.Sprint(places, tags) != "[5] [tag 5]" {
		t.Error(places, tags)
	}
	write(t, w, trial(0, eval.Pass))
	if places, tags := events.untilTrials(t, 3); fmt.Sprint(places, tags) != "[0] [tag 0]" {
		t.Error(places, tags)
	}
	last := events.id
	events.close()
	write(t, w, trial(1, eval.Pass), trial(2, eval.Pass))
	again := watch(t, s, "/run/"+key+"/events?after="+mark, last)
	if places, _ := again.untilTrials(t, 5); fmt.Sprint(places) != "[1 2]" {
		t.Error(places)
	}
	whole := watch(t, s, "/run/"+key+"/events?after="+mark, "")
	if places, _ := whole.untilTrials(t, 5); fmt.Sprint(places) != "[5 0 1 2]" {
		t.Error(places)
	}
	write(t, w, trial(4, eval.Fail))
	finish(t, w)
	for e := (told{}); e.name != "end"; {
		if e = again.next(t); e.Head != nil && e.Head.Running && e.Head.Summary.Trials == 6 {
			continue // between the last trial and the end
		}
	}
	if trials := data[[]eval.Result](t, s, "/run/"+key+"/data/trials/0"); len(trials) != 1 || trials[0].N != 3 {
		t.Errorf("%+v", trials)
	}
	if e := watch(t, s, "/run/"+key+"/events?after=other-3", "").next(t); e.name != "again" {
		t.Errorf("%+v", e)
	}
}

// There are so many who can watch, and no more; who is there when the server ends is let go.
func TestWatchers(t *testing.T) {
	t.Chdir(t.TempDir())
	w := begin(t, "r1", 6)
	s := serve(t)
	key := data[[]run](t, s, "/data/runs")[0].Key
	resp, _ := ask(t, s, "/run/"+key+"/data/index", nil)
	path := "/run/" + key + "/events?after=" + resp.Header.Get(markHeader)
	var last *watched
	for range mostWatchers {
		last = watch(t, s, path, "")
		last.next(t)
	}
	if resp, _ := ask(t, s, path, nil); resp.StatusCode != http.StatusServiceUnavailable {
		t.Error(resp.Status)
	}
	s.Close()
	for last.lines.Scan() { // what was under way
		continue
	}
	if errors.Is(last.lines.Err(), context.DeadlineExceeded) {
		t.Error("the events go on")
	}
	finish(t, w)
}
