package journal

import (
	"fmt"
	"strings"
	"testing"

	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/testing/expect"
)

// Trials that are known by their places in the file are read after a release; what looks for trials finds none.
func TestAReleasedDocumentStillReadsTrialsByPlace(t *testing.T) {
	t.Parallel()
	first, last := answered("a", "t/p", eval.Pass, 1), answered("b", "t/p", eval.Fail, 2)
	d := document(t, nil, first, last)
	var at []int64
	for f, err := range d.Facts() {
		expect.OK(t, err)
		at = append(at, f.At)
	}
	before := d.Summary
	d.Release()
	for i, want := range []*eval.Result{first, last} {
		got, err := d.TrialAt(at[i])
		expect.OK(t, err)
		expect.Same(t, "trial", [2]string{got.ID, got.Case}, [2]string{want.ID, want.Case})
		id, err := d.IDAt(at[i])
		expect.OK(t, err)
		expect.Same(t, "id", id, want.ID)
	}
	_, found := d.Find(first.ID)
	expect.Same(t, "found", found, false)
	expect.Same(t, "trials", d.Len(), 0)
	expect.Same(t, "summary", d.Summary.Counts, before.Counts)
	if _, err := d.TrialAt(1 << 40); err == nil {
		t.Error("got a trial behind the end of the file, want an error")
	}
}

// Texts are found again, and take their old places, after what finds them was forgotten.
func TestForgottenNamesAreFoundAgain(t *testing.T) {
	t.Parallel()
	var n names
	for range 3 {
		for i := range 500 {
			expect.Same(t, "place", n.place(string(rune('a'+i%26))+string(rune('a'+i/26))), uint32(i))
		}
		n.forget()
	}
}

// Names fill several texts, among them names that are longer than one.
func TestNamesAreKeptOnceAndUnchanged(t *testing.T) {
	var n names
	var want []string
	for i := range 30_000 {
		s := fmt.Sprint("case ", i)
		switch {
		case i == 0:
			s = ""
		case i%9_973 == 0:
			s += strings.Repeat("x", wholeText-len(s)-1+i%3)
		case i%997 == 0:
			s += strings.Repeat("é", 1_000)
		}
		want = append(want, s)
		if got := n.place(s); got != clip(i) {
			t.Fatalf("name %d: got the place %d, want the next", i, got)
		}
	}
	for i, s := range want {
		if got := n.at(clip(i)); got != s {
			t.Fatalf("name %d is %.40q with %d bytes, want %.40q with %d", i, got, len(got), s, len(s))
		}
		if got := n.place(s); got != clip(i) {
			t.Fatalf("name %d: got the place %d, want its own", i, got)
		}
	}
}
