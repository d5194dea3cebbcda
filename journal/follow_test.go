package journal

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/testing/expect"
)

func followed(t *testing.T, dir string) *Document {
	t.Helper()
	d, err := Open(dir)
	expect.OK(t, err)
	t.Cleanup(func() { _ = d.Close() })
	return d
}

func places(t *testing.T, d *Document, news News) (out []int) {
	t.Helper()
	for _, m := range news.Trials {
		r, err := d.At(m)
		expect.OK(t, err)
		out = append(out, r.N)
	}
	return out
}

// However a file grows, cut anywhere, a follower ends with what a new reader of it has, and got each trial once.
func TestFollowEndsWithWhatANewReaderHas(t *testing.T) {
	t.Parallel()
	whole := write(
		t, t.TempDir(), true, result(3, eval.Pass), result(0, eval.Fail), result(5, eval.Err), result(1, eval.Pass),
		result(2, eval.Skip),
	)
	headEnd := bytes.IndexByte(whole, '\n') + 1
	for step := 11; step < len(whole); step = step*3 + 1 {
		dir := t.TempDir()
		path := filepath.Join(dir, FileName)
		at := headEnd
		expect.OK(t, os.WriteFile(path, whole[:at], 0o600))
		d := followed(t, dir)
		var got []int
		for at < len(whole) {
			at = min(at+step, len(whole))
			expect.OK(t, os.WriteFile(path, whole[:at], 0o600))
			news, err := d.Follow()
			if err != nil || news.Resumed {
				t.Fatalf("got %v, %v, want a run that was not resumed", news, err)
			}
			got = append(got, places(t, d, news)...)
		}
		expect.Same(t, fmt.Sprint("in steps of ", step), got, []int{3, 0, 5, 1, 2})
		sameAsOpened(t, d, dir)
	}
}

func sameAsOpened(t *testing.T, d *Document, dir string) {
	t.Helper()
	fresh := followed(t, dir)
	expect.Same(t, "summary", d.Summary, fresh.Summary, cmp.AllowUnexported(ArmSummary{}))
	if fmt.Sprint(d.End, d.Damaged, d.Running, d.Len(), d.Partial()) != fmt.Sprint(
		fresh.End, fresh.Damaged, fresh.Running, fresh.Len(), fresh.Partial(),
	) {
		t.Errorf("got %+v, want %+v as opened", d, fresh)
	}
	for i := range fresh.Len() {
		if d.Indexed(i) != fresh.Indexed(i) {
			t.Errorf("%d: got %+v, want %+v as opened", i, d.Indexed(i), fresh.Indexed(i))
		}
	}
}

func TestFollowContinuesAfterALineWithoutItsBreak(t *testing.T) {
	t.Parallel()
	whole := write(t, t.TempDir(), true, result(0, eval.Pass), result(1, eval.Fail))
	dir := t.TempDir()
	path := filepath.Join(dir, FileName)
	second := bytes.IndexByte(whole[bytes.IndexByte(whole, '\n')+1:], '\n') + bytes.IndexByte(whole, '\n') + 1
	expect.OK(t, os.WriteFile(path, whole[:second], 0o600))
	d := followed(t, dir)
	if d.Len() != 1 {
		t.Fatalf("got %v, want 1", d.Len())
	}
	expect.OK(t, os.WriteFile(path, whole, 0o600))
	news, err := d.Follow()
	if err != nil || fmt.Sprint(places(t, d, news)) != "[1]" {
		t.Errorf("got %v, %v, want the result 1", news, err)
	}
	sameAsOpened(t, d, dir)
}

// A run that is resumed says so; a damaged one continues; one that is replaced is an error.
func TestFollowReportsResumeDamageAndReplacement(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	whole := write(t, dir, true, result(0, eval.Pass), result(1, eval.Err))
	d := followed(t, dir)
	follow := func() News {
		t.Helper()
		news, err := d.Follow()
		expect.OK(t, err)
		return news
	}
	w, old, err := Resume(dir)
	expect.OK(t, err)
	expect.OK(t, old.Close(), w.Resumed(&Resumed{}), w.Append(result(1, eval.Pass)), w.Append(result(2, eval.Pass)))
	if news := follow(); !news.Resumed || news.Ended || !d.Running {
		t.Errorf("got %v, want a run that was resumed and has not ended", news)
	}
	expect.OK(t, w.Append(result(1, eval.Fail))) // the last line of an id counts
	if news := follow(); news.Resumed || fmt.Sprint(places(t, d, news)) != "[1]" || d.Len() != 3 {
		t.Errorf("got %v, want the result 1, and 3 in all", news)
	}
	expect.OK(t, w.Finish(&eval.End{Reason: eval.EndCompleted}))
	expect.Same(t, "ended", follow().Ended, true)
	sameAsOpened(t, d, dir)
	appendTo(t, filepath.Join(dir, FileName), "what is this\n"+string(whole)) // another run begins
	for range 2 {
		follow()
		expect.Same(t, "damaged lines", len(d.Damaged), 2)
	}
	sameAsOpened(t, d, dir)
	expect.OK(t, os.Truncate(filepath.Join(dir, FileName), 10))
	if _, err := d.Follow(); !errors.Is(err, ErrReplaced) {
		t.Errorf("got %v, want %v", err, ErrReplaced)
	}
}

func appendTo(t *testing.T, path, text string) {
	t.Helper()
	file, err := os.OpenFile(path, os.O_APPEND|os.O_WRONLY, 0)
	expect.OK(t, err)
	_, err = file.WriteString(text)
	expect.OK(t, err, file.Close())
}

// A run that ends while somebody reads it has its end, and all that was written before it, or still runs.
func TestARunThatEndsWhileItIsReadIsNotKilled(t *testing.T) {
	t.Parallel()
	for round := range 100 {
		dir := t.TempDir()
		w, err := Create(dir, &eval.Run{ID: "r"}, nil)
		expect.OK(t, err, w.Append(result(0, eval.Pass)))
		opened := followed(t, dir)
		ended := make(chan error)
		go func() {
			ended <- errors.Join(w.Append(result(1, eval.Pass)), w.Finish(&eval.End{Reason: eval.EndCompleted}))
		}()
		for d := opened; opened.Running; d = opened {
			if round%2 == 1 { // a new reader
				d, err = Open(dir)
				expect.OK(t, err, d.Close())
			} else {
				_, err = d.Follow()
				expect.OK(t, err)
			}
			if !d.Running {
				expect.Same(t, "trials", d.Len(), 2)
				if d.End == nil {
					t.Fatalf("round %d: a run that ended looks killed", round)
				}
				break
			}
		}
		expect.OK(t, <-ended)
	}
}
