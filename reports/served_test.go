package reports_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/hostile"
	"github.com/evalrun/evalrun/journal"
	"github.com/evalrun/evalrun/reports"
)

// What a server gives for each block is what the page of the report holds; its rows also tell their places in the plan.
func TestServedIsTheReport(t *testing.T) {
	t.Parallel()
	d := fixture(t)
	s, err := reports.NewServed(d)
	if err != nil {
		t.Fatal(err)
	}
	blocks := htmlBlocks(t, htmlOf(t, d))
	for _, block := range blocks {
		data, err := s.Block(block.id)
		if err != nil {
			t.Fatal(block.id, err)
		}
		var got, want any
		if err := errors.Join(json.Unmarshal(data, &got), json.Unmarshal([]byte(block.data), &want)); err != nil {
			t.Fatal(err)
		}
		if strings.HasPrefix(block.id, "rows/") {
			if n := got.(map[string]any)["n"].([]any); len(n) != len(want.(map[string]any)["repeat"].([]any)) {
				t.Errorf("%s: %v", block.id, n)
			}
			delete(got.(map[string]any), "n")
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: %s", block.id, diff)
		}
	}
	if len(blocks) < 4 {
		t.Errorf("%d blocks", len(blocks))
	}
	for _, name := range append(hostile.Strings(), "", "rows", "rows/", "rows/-1", "rows/99", "rows/00", "rows/0/0", "trials/+0", "image/", "image/zz", "image/../head", "head/0x") {
		if data, err := s.Block(name); !errors.Is(err, reports.ErrNoBlock) {
			t.Errorf("%q: %s %v", name, data, err)
		}
	}
}

// A run that grows while it is served: each block comes with the words that are new since the one before, and the blocks before
// it stay as they were.
func TestServedGrows(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "run")
	w, err := journal.Create(dir, &eval.Run{ID: "r"}, nil)
	if err != nil {
		t.Fatal(err)
	}
	put := func(n int) {
		t.Helper()
		r := eval.Result{
			Trial:   eval.Trial{N: n, ID: fmt.Sprint(n), Suite: "s", Case: fmt.Sprint(n), Arm: "a", Tags: []string{fmt.Sprintf("tag %d", n%3)}},
			Outcome: eval.Pass,
		}
		if err := w.Append(&r); err != nil {
			t.Fatal(err)
		}
	}
	put(5)
	d, err := journal.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	s, err := reports.NewServed(d)
	if err != nil {
		t.Fatal(err)
	}
	words := []string{}
	for n := range 5 {
		put(n)
		news, err := d.Follow()
		if err == nil {
			err = s.Grow(news.Trials)
		}
		if err != nil || s.Blocks() != n+2 || s.Scattered() {
			t.Fatal(err, s.Blocks())
		}
	}
	for n := range s.Blocks() {
		data, err := s.News(n)
		if err != nil {
			t.Fatal(err)
		}
		var block struct {
			Rows  struct{ N, Tag []int }
			Lists struct{ Tag [][]string }
		}
		if err := json.Unmarshal(data, &block); err != nil {
			t.Fatal(err)
		}
		for _, list := range block.Lists.Tag {
			words = append(words, list...)
		}
		if len(block.Rows.N) != 1 || words[block.Rows.Tag[0]] != fmt.Sprintf("tag %d", block.Rows.N[0]%3) {
			t.Errorf("block %d: %s, words %q", n, data, words)
		}
	}
	if data, err := s.Block("trials/2"); err != nil || !strings.Contains(string(data), `"case":"1"`) {
		t.Errorf("%s %v", data, err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
}
