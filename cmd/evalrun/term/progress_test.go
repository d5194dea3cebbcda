package term

import (
	"bytes"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/clipperhouse/displaywidth"

	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/testing/expect"
)

// Where there is no terminal, there is a line every ten seconds, whether results come or not.
func TestProgressLinesComeEveryTenSeconds(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var out bytes.Buffer
		p := NewProgress(&out, nil, Verbosity{})
		p.Start(4)
		time.Sleep(15 * time.Second)
		p.Done(&eval.Result{Ending: eval.Errored{}}, eval.Spent{Tokens: 7})
		time.Sleep(10 * time.Second)
		p.Finish()
		lines := strings.Split(strings.TrimSpace(out.String()), "\n")
		if len(lines) != 2 || !strings.HasPrefix(lines[0], "0 of 4 trials") ||
			lines[1] != "1 of 4 trials: 0 pass, 0 fail, 1 error, 0 skip; 7 tokens; 3.0/min; about 1m0s left" {
			t.Errorf("%q, want none, then one of 4 with its error", lines)
		}
	})
}

// The bar stays in one line at every width, drops what there is no room for, and comes and goes without a trace.
func TestProgressBarStaysInOneLine(t *testing.T) {
	t.Parallel()
	for _, width := range []int{12, 60, 80, 100, 120, 200} {
		synctest.Test(t, func(t *testing.T) {
			var out bytes.Buffer
			var columns atomic.Int64
			columns.Store(int64(width))
			p := NewProgress(&out, func() int { return int(columns.Load()) }, Verbosity{Color: true, Level: Verbose})
			p.Waiting = func() string { return "8 wait for requests \x1b[2J per minute 日本語 (up to 12s)" }
			p.Start(40)
			time.Sleep(8 * time.Second)
			for range 10 {
				p.Done(
					&eval.Result{
						Ending: eval.Failed{},
						Timing: &eval.Timing{LatencyMs: 120},
						Trial:  eval.Trial{Suite: "s", Case: "c\x1b]0;x", Arm: "a/b"},
						Scores: []eval.Score{{Scorer: "equals", Reason: "expected x"}},
					},
					eval.Spent{Tokens: 12_345, Money: 0.5, Currency: "USD"},
				)
			}
			time.Sleep(time.Second)
			p.mu.Lock()
			plain := p.drawn
			p.mu.Unlock()
			if w := displaywidth.String(plain); w >= width || strings.Contains(plain, "\x1b") {
				t.Errorf("%d columns at a width of %d: %q, want fewer, and no escapes", w, width, plain)
			}
			for _, want := range map[int][]string{
				12: nil, 60: {"25%", "10/40", "10 fail", "27s left"}, 80: {"8 wait for"}, 100: {"27s left", "per minute 日本語 (up"}, 120: {"[="},
				200: {"1.1/s", "0.50 USD", "(up to 12s)"},
			}[width] {
				expect.Contains(t, fmt.Sprint("width ", width), plain, want)
			}
			time.Sleep(50 * time.Millisecond) // between two drawings
			synctest.Wait()
			before := out.Len()
			columns.Store(int64(width / 2)) // the terminal breaks the line that is there
			p.Notice("note")
			if got := out.String()[before:]; width > 60 && !strings.HasPrefix(got, "\r\x1b[1A\x1b[Jnote\n\r") {
				t.Errorf("%q, want the note above the progress", got)
			}
			p.Finish()
			if !strings.HasSuffix(out.String(), "\x1b[J") {
				t.Errorf("%q, want the progress gone", out.String())
			}
			if got := out.String(); !strings.Contains(got, "\x1b[31mfail \x1b[0m") || strings.Contains(got, "\x1b]") ||
				width > 60 && !strings.Contains(got, "120 ms  s / c\\x1b]0;x on a/b: equals: expected x") {
				t.Errorf("%q, want the line of the failure, with its escapes shown", got)
			}
		})
	}
}

// A failure that is wider than the terminal has a line for each field, and the bar stays below.
func TestFailuresFitTheTerminal(t *testing.T) {
	t.Parallel()
	failed := eval.Result{
		Trial:   eval.Trial{Suite: "s", Case: "c", Arm: "t/p"},
		Vars:    map[string]string{"text": "The app crashes", "want": "x"},
		Request: &eval.Request{Contents: []eval.Content{{Parts: []eval.Part{eval.TextPart{Text: "Say: The app crashes"}}}}},
		Ending:  eval.Failed{}, Scores: []eval.Score{{Scorer: "equals", Reason: `expected "a", got "b"`}},
	}
	for width, want := range map[int]string{
		40:  "FAIL c on t/p\n     \"The app crashes\"\n     want \"a\", got \"b\"\n\r",
		100: "FAIL c on t/p  \"The app crashes\"  want \"a\", got \"b\"\n\r",
	} {
		synctest.Test(t, func(t *testing.T) {
			var out bytes.Buffer
			p := NewProgress(&out, func() int { return width }, Verbosity{})
			p.Start(2)
			p.Done(&failed, eval.Spent{})
			p.Done(&failed, eval.Spent{})
			p.Finish()
			expect.Contains(t, fmt.Sprint("width ", width), out.String(), want)
			expect.Same(t, "times", strings.Count(out.String(), "FAIL"), 1)
		})
	}
}

func TestQuietProgressWritesNothing(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	p := NewProgress(&out, func() int { return 80 }, Verbosity{Level: Quiet})
	p.Start(1)
	p.Done(&eval.Result{Ending: eval.Passed{}}, eval.Spent{})
	p.Finish()
	if out.Len() > 0 {
		t.Errorf("%q, want nothing", out.String())
	}
}
