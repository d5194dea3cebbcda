package term

import (
	"fmt"
	"io"
	"strings"
	"sync"
	"time"

	"github.com/clipperhouse/displaywidth"

	"github.com/evalrun/evalrun/diag"
	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/text"
)

// Intervals between updates of the progress: lines without a terminal, and the bar.
const (
	lineEvery = 10 * time.Second
	drawEvery = 100 * time.Millisecond
)

// Level is how much a run prints on the terminal.
type Level int

// How much a run prints.
const (
	Usual   Level = iota // its progress, notices and failures
	Quiet                // nothing
	Verbose              // also a line for each trial
)

// Verbosity says how much a run prints, and how.
type Verbosity struct {
	Color bool
	Level Level
}

// ProgressBar shows the progress of a run: a bar on a terminal, and else a line from time to time.
type ProgressBar struct {
	Verbosity
	Waiting func() string // what the run waits for; optional
	Suites  int           // of the run; lines name them where there are several

	w       io.Writer
	columns func() int // current width of the terminal; nil without one

	mu       sync.Mutex
	failures failures
	drawn    string // the bar on the terminal, without colours
	total    int
	counts   eval.Counts
	spent    eval.Spent
	started  time.Time
	ended    chan struct{} // closed by Finish
	ticking  sync.WaitGroup
}

// NewProgress returns the progress of a run on w. columns returns the terminal's width; nil without one.
func NewProgress(w io.Writer, columns func() int, how Verbosity) *ProgressBar {
	return &ProgressBar{w: w, columns: columns, Verbosity: how}
}

// Start starts the display for a number of trials. After Finish it may be called again.
func (p *ProgressBar) Start(trials int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.total, p.started, p.counts = trials, time.Now(), eval.Counts{}
	p.ended = make(chan struct{})
	switch {
	case p.Level == Quiet || trials == 0:
	case p.columns == nil:
		p.ticking.Go(func() { p.tick(lineEvery, func() { p.print(p.line()) }) })
	default:
		p.draw()
		p.ticking.Go(func() { p.tick(drawEvery, p.draw) })
	}
}

// tick reports the progress until the run has ended.
func (p *ProgressBar) tick(every time.Duration, report func()) {
	ticker := time.NewTicker(every)
	defer ticker.Stop()
	for {
		select {
		case <-p.ended:
			return
		case <-ticker.C:
			p.mu.Lock()
			report()
			p.mu.Unlock()
		}
	}
}

// Done counts a finished trial.
func (p *ProgressBar) Done(r *eval.Result, spent eval.Spent) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.counts.Add(r.Outcome())
	p.spent = spent
	switch {
	case p.Level == Verbose:
		p.print(p.trial(r))
	case p.Level == Usual && r.Outcome() == eval.Fail:
		p.fail(r)
	}
}

// longestLine bounds the line of a trial in a log.
const longestLine = 300

// trial returns the line of a finished trial: outcome, time, case, arm, and why it did not pass.
func (p *ProgressBar) trial(r *eval.Result) string {
	took := ""
	if text.Timed(r) {
		took = text.Duration(r.Timing.LatencyMs)
	}
	line := fmt.Sprintf("%8s  %s", took, text.Describe(&r.Trial))
	if why := text.Why(r); why != "" {
		line += ": " + why
	}
	width := longestLine
	if p.columns != nil {
		width = max(20, p.columns()-1)
	}
	line = displaywidth.TruncateString(diag.CleanLine(line), width-6, "...")
	return p.paint(r.Outcome(), fmt.Sprintf("%-5s", r.Outcome())) + " " + line
}

// print writes a line above the bar.
func (p *ProgressBar) print(line string) {
	fmt.Fprint(p.w, p.erasure()+line+"\n")
	if p.drawn != "" {
		p.drawn = ""
		p.draw()
	}
}

// Notice prints a message that cannot wait for the report.
func (p *ProgressBar) Notice(text string) {
	if p.Level == Quiet {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.print(diag.CleanLine(text))
}

// Finish shows the final state and then removes the bar.
func (p *ProgressBar) Finish() {
	close(p.ended)
	p.ticking.Wait()
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.drawn != "" {
		p.draw()
	}
	fmt.Fprint(p.w, p.erasure())
	p.drawn = ""
	if p.failures.more > 0 {
		p.print("... and " + diag.Count(p.failures.more, "more failed trial"))
	}
}

func (p *ProgressBar) line() string {
	parts := []string{
		fmt.Sprintf(
			"%d of %s: %d pass, %d fail, %d error, %d skip", p.counts.Total(), diag.Count(p.total, "trial"), p.counts.Pass, p.counts.Fail,
			p.counts.Error, p.counts.Skip,
		),
		p.cost(),
	}
	if rate := p.rate(); rate != "" {
		parts = append(parts, rate)
	}
	if left := p.left(); left != "" {
		parts = append(parts, "about "+left)
	}
	if waits := p.waits(); waits != "" {
		parts = append(parts, waits)
	}
	return strings.Join(parts, "; ")
}

func (p *ProgressBar) cost() string {
	cost := diag.Count(p.spent.Tokens, "token")
	if p.spent.Currency != "" {
		cost += ", " + text.Money(p.spent.Money) + " " + p.spent.Currency
	}
	return cost
}

// rate returns the trials per second, or per minute if these are few.
func (p *ProgressBar) rate() string {
	seconds := time.Since(p.started).Seconds()
	switch perSecond := float64(p.counts.Total()) / seconds; {
	case p.counts.Total() == 0 || seconds <= 0:
		return ""
	case perSecond >= 1:
		return fmt.Sprintf("%.1f/s", perSecond)
	default:
		return fmt.Sprintf("%.1f/min", 60*perSecond)
	}
}

// left estimates the remaining time from the pace so far, "" if it is not known yet.
func (p *ProgressBar) left() string {
	done := p.counts.Total()
	if done == 0 || done >= p.total {
		return ""
	}
	rest := time.Duration(float64(time.Since(p.started)) / float64(done) * float64(p.total-done))
	return rest.Round(time.Second).String() + " left"
}

func (p *ProgressBar) waits() string {
	if p.Waiting == nil {
		return ""
	}
	return diag.CleanLine(p.Waiting())
}
