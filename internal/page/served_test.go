package page_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/page"
	"github.com/evalrun/evalrun/internal/testing/expect"
	"github.com/evalrun/evalrun/internal/testing/hostile"
	"github.com/evalrun/evalrun/internal/testing/testrun"
	"github.com/evalrun/evalrun/journal"
)

// What a server gives for each block is what the page of the report holds; its rows have their places in the plan too.
func TestServedIsTheReport(t *testing.T) {
	t.Parallel()
	var s *page.Served
	for _, d := range []*journal.Document{testrun.Chats(t, "", nil), testrun.Reach(t, nil), testrun.Every(t)} {
		var err error
		if s, err = page.NewServed(d); err != nil {
			t.Fatal(err)
		}
		sameBlocks(t, s, blocks(t, pageOf(t, d)))
	}
	none := []string{
		"", "rows", "rows/", "rows/-1", "rows/99", "rows/00", "rows/0/0", "trials/+0", "image/", "image/zz", "image/../head", "head/0x",
	}
	for _, name := range append(hostile.Strings(), none...) {
		if data, err := s.Block(name); !errors.Is(err, page.ErrNoBlock) {
			t.Errorf("%q: %s %v, want no such block", name, data, err)
		}
	}
}

func sameBlocks(t *testing.T, s *page.Served, all []block) {
	t.Helper()
	for _, b := range all {
		got, want := served(t, s, b.id), decoded(t, b.data)
		if strings.HasPrefix(b.id, "rows/") {
			got, want := got.(map[string]any), want.(map[string]any)
			expect.Same(t, b.id+": rows", len(got["n"].([]any)), len(want["repeat"].([]any)))
			delete(got, "n")
		}
		expect.Same(t, b.id, got, want)
	}
	if len(all) < 4 {
		t.Errorf("%d blocks, want at least 4", len(all))
	}
}

func served(t *testing.T, s *page.Served, name string) any {
	t.Helper()
	data, err := s.Block(name)
	if err != nil {
		t.Fatal(name, err)
	}
	return decoded(t, string(data))
}

func decoded(t *testing.T, data string) (v any) {
	t.Helper()
	expect.OK(t, json.Unmarshal([]byte(data), &v))
	return v
}

// growing is a run that gets more trials.
type growing struct {
	t *testing.T
	w *journal.Writer
}

// put adds the n-th trial, which has one of three tags.
func (g *growing) put(n int) {
	g.t.Helper()
	tag := fmt.Sprintf("tag %d", n%3)
	r := eval.Result{
		Trial:  eval.Trial{N: n, ID: fmt.Sprint(n), Suite: "s", Case: fmt.Sprint(n), Arm: "a", Tags: []string{tag}},
		Ending: eval.Passed{},
	}
	if err := g.w.Append(&r); err != nil {
		g.t.Fatal(err)
	}
}

// news is a block for a page that has those before it.
type news struct {
	Rows  struct{ N, Tag []int }
	Lists struct{ Tag [][]string }
}

func newsOf(t *testing.T, s *page.Served, n int) (b news) {
	t.Helper()
	data, err := s.News(n)
	if err == nil {
		err = json.Unmarshal(data, &b)
	}
	expect.OK(t, err)
	return b
}

// grown is a run with one trial to which five were added, one at a time.
func grown(t *testing.T) *page.Served {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "run")
	w, err := journal.Create(dir, &eval.Run{ID: "r"}, nil)
	expect.OK(t, err)
	t.Cleanup(func() { w.Close() })
	run := growing{t, w}
	run.put(5)
	d, err := journal.Open(dir)
	expect.OK(t, err)
	t.Cleanup(func() { d.Close() })
	s, err := page.NewServed(d)
	expect.OK(t, err)
	for n := range 5 {
		run.put(n)
		news, err := d.Follow()
		if err == nil {
			err = s.Grow(news.Trials)
		}
		if err != nil || s.Blocks() != n+2 || s.Scattered() {
			t.Fatalf("%v, %d blocks, want %d", err, s.Blocks(), n+2)
		}
	}
	return s
}

// A run that grows while it is served: each block comes with the words that are new since the one before, and the blocks before
// it stay as they were.
func TestAServedRunGrowsBlockByBlock(t *testing.T) {
	t.Parallel()
	s := grown(t)
	words := []string{}
	for n := range s.Blocks() {
		b := newsOf(t, s, n)
		for _, list := range b.Lists.Tag {
			words = append(words, list...)
		}
		if len(b.Rows.N) != 1 || words[b.Rows.Tag[0]] != fmt.Sprintf("tag %d", b.Rows.N[0]%3) {
			t.Errorf("block %d: %+v, words %q, want one row with its tag", n, b, words)
		}
	}
	if data, err := s.Block("trials/2"); err != nil || !strings.Contains(string(data), `"case":"1"`) {
		t.Errorf("%s %v, want case 1", data, err)
	}
}
