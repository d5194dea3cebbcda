package term

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/clipperhouse/displaywidth"

	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/testing/expect"
	"github.com/evalrun/evalrun/internal/testing/testrun"
)

// full is a writer that takes a limited number of bytes.
type full struct {
	room   int
	writes int
}

var errFull = errors.New("full")

func (f *full) Write(p []byte) (int, error) {
	f.writes++
	if f.room -= len(p); f.room < 0 {
		return 0, errFull
	}
	return len(p), nil
}

// The first error of many prints stays, and nothing is printed after it.
func TestAPrinterKeepsTheFirstError(t *testing.T) {
	t.Parallel()
	w := &full{room: 3}
	p := Printer{W: w}
	for range 5 {
		p.Printf("%s", "ab")
	}
	expect.Same(t, "the error is that of the writer", errors.Is(p.Err, errFull), true)
	expect.Same(t, "writes", w.writes, 2)
}

// JSON is one line, which a program can read, or an error.
func TestAScreenWritesALineOfJSON(t *testing.T) {
	t.Parallel()
	var b bytes.Buffer
	s := Screen{Writer: &b}
	expect.OK(t, s.JSON(map[string]any{"a": "<b>\n"}))
	expect.Same(t, "line", b.String(), "{\"a\":\"<b>\\n\"}\n")
	if err := s.JSON(func() {}); err == nil {
		t.Errorf("a function: got %q and no error, want an error", b.String())
	}
	expect.Same(t, "an error of the writer", errors.Is(Screen{Writer: &full{}}.JSON(1), errFull), true)
	expect.Same(t, "columns and input of no terminal", []any{Columns(&b), Interactive(&b)}, []any{0, false})
}

// models are one that says all of itself, and one that says little.
func models() []eval.Model {
	return []eval.Model{
		{
			Name: "models/pro", Version: "001", DisplayName: "Pro\x1b[2J", InputTokenLimit: 30720, OutputTokenLimit: 1,
			Temperature: new(0.9), TopK: new(1), SupportedGenerationMethods: []string{"generateContent", "countTokens"},
			Description: "A model that is described in more words than a narrow terminal has columns for.",
		},
		{Name: "models/bare", InputTokenLimit: 5},
	}
}

// In a wide terminal, and where there is none, models are a table; in a narrow one a few lines each.
func TestModelsFitTheirTerminal(t *testing.T) {
	t.Parallel()
	write := func(width int) string {
		var b bytes.Buffer
		expect.OK(t, WriteModels(&b, models(), width))
		if strings.Contains(b.String(), "\x1b") {
			t.Errorf("got %q, want a name without commands", &b)
		}
		return b.String()
	}
	table := write(0)
	expect.Same(t, "lines of the table", strings.Count(table, "\n"), 3)
	if !strings.HasPrefix(table, "MODEL ") || !strings.Contains(table, "generateContent, countTokens") {
		t.Errorf("got the table\n%s\nwant the models with their methods", table)
	}
	expect.Same(t, "in a wide terminal", write(300), table)
	narrow := write(60)
	for line := range strings.Lines(narrow) {
		if n := displaywidth.String(strings.TrimSuffix(line, "\n")); n > 60 {
			t.Errorf("got %d columns, want at most 60: %s", n, line)
		}
	}
	for _, want := range []string{
		"pro\n", "  temperature   0.9\n", "  output        1 token\n", "  topK          1\n", "\n\nbare\n", "  input         5 tokens\n",
	} {
		expect.Contains(t, "the narrow text", narrow, want)
	}
	if strings.Contains(narrow, "topP") {
		t.Errorf("got topP, want only what is known:\n%s", narrow)
	}
}

// A quiet run shows nothing; a verbose one has a line for each trial, and why it did not pass.
func TestQuietShowsNothingAndVerboseEachTrial(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		how  Verbosity
		want string
	}{
		"quiet":    {Verbosity{Level: Quiet}, ""},
		"as usual": {Verbosity{}, "careful\nFAIL c on t/p  equals: expected x\n"},
		"verbose":  {Verbosity{Level: Verbose}, "careful\nfail    120 ms  s / c on t/p: equals: expected x\n"},
	} {
		synctest.Test(t, func(t *testing.T) {
			var b bytes.Buffer
			p := NewProgress(&b, nil, test.how)
			p.Start(2)
			p.Notice("careful")
			p.Done(&eval.Result{
				Trial: eval.Trial{Suite: "s", Case: "c", Arm: "t/p", Repeat: 1}, Ending: eval.Failed{}, Timing: &eval.Timing{LatencyMs: 120},
				Scores: []eval.Score{{Scorer: "equals", Reason: "expected x"}},
			}, eval.Spent{})
			time.Sleep(time.Second)
			p.Finish()
			expect.Same(t, name, b.String(), test.want)
		})
	}
}

// Without trials there is nothing to show, whatever the terminal.
func TestARunWithoutTrialsShowsNoBar(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var b bytes.Buffer
		p := NewProgress(&b, func() int { return 80 }, Verbosity{})
		p.Start(0)
		time.Sleep(time.Minute)
		p.Finish()
		expect.Same(t, "written", b.String(), "")
	})
}

// The line says what was spent, how fast it goes, and what is waited for.
func TestTheLineOfProgressSaysWhatWasSpent(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := NewProgress(&bytes.Buffer{}, nil, Verbosity{})
		p.Start(10)
		p.Waiting = func() string { return "2 wait\x1b[2J" }
		if got := p.line(); !strings.HasPrefix(got, "0 of 10 trials: 0 pass, 0 fail, 0 error, 0 skip; 0 tokens; 2 wait") ||
			strings.Contains(got, "\x1b") {
			t.Errorf("before the first: got %q, want what is waited for", got)
		}
		p.Waiting = nil
		time.Sleep(2 * time.Second)
		for _, outcome := range []eval.Outcome{eval.Pass, eval.Fail, eval.Err, eval.Skip} {
			p.Done(&eval.Result{Ending: testrun.Ending(outcome)}, eval.Spent{Tokens: 12, Money: 0.5, Currency: "EUR"})
		}
		expect.Same(
			t, "after four", p.line(),
			"4 of 10 trials: 1 pass, 1 fail, 1 error, 1 skip; 12 tokens, 0.50 EUR; 2.0/s; about 3s left",
		)
		for range 6 {
			p.Done(&eval.Result{Ending: eval.Passed{}}, eval.Spent{})
		}
		expect.Same(t, "after all", p.line(), "10 of 10 trials: 7 pass, 1 fail, 1 error, 1 skip; 0 tokens; 5.0/s")
		p.Finish()
	})
}

// Large numbers have few digits.
func TestLargeNumbersHaveFewDigits(t *testing.T) {
	t.Parallel()
	for n, want := range map[int]string{
		0: "0", 9999: "9999", 10_000: "10.0k", 123_456: "123.5k", 9_999_900: "9999.9k", 10_000_000: "10.0M", 1_234_567_890: "1234.6M",
	} {
		expect.Same(t, fmt.Sprint(n), few(n), want)
	}
}

// However a text is cut into writes, hidden characters show and all others stay.
func TestHiddenCharactersShowOnAStream(t *testing.T) {
	t.Parallel()
	const text = "\x1b[1mé\x1b[0m \u202eab\u200d\u0085\U000E0041 \u65e5\ufffd \x9b\n\xe2\x80"
	const want = "\x1b[1mé\x1b[0m \\u202eab\u200d\\u0085\\udb40\\udc41 \u65e5\ufffd \\x9b\n\\xe2\\x80"
	for size := 1; size <= len(text); size++ {
		var out bytes.Buffer
		v := &Visible{W: &out}
		for rest := []byte(text); len(rest) > 0; {
			n, err := v.Write(rest[:min(size, len(rest))])
			expect.OK(t, err)
			rest = rest[n:]
		}
		expect.OK(t, v.Close())
		expect.Same(t, "shown", out.String(), want)
	}
}
