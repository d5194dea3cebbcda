package main

import (
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/clipperhouse/displaywidth"
	"github.com/schollz/progressbar/v3"

	"github.com/evalrun/evalrun/diag"
	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/runner"
)

// lineEvery is how often progress is told where there is no terminal.
const lineEvery = 10 * time.Second

// progress shows how a run goes on standard error: a bar on a terminal, a line now and then
// elsewhere.
type progress struct {
	w              io.Writer
	width          int // 0: no terminal
	quiet, verbose bool
	waiting        func() string // who waits for what; optional

	mu      sync.Mutex
	bar     *progressbar.ProgressBar
	total   int
	counts  eval.Counts
	spent   eval.Spent
	started time.Time
	ended   chan struct{} // closed by Finish
	ticking sync.WaitGroup
}

func (a *app) progress(o runOptions) *progress {
	p := &progress{w: a.err, width: a.errWidth, quiet: o.quiet, verbose: o.verbose, ended: make(chan struct{})}
	if a.getenv("CI") != "" { // a log, even where it claims to be a terminal
		p.width = 0
	}
	return p
}

// tick tells the progress in lines until the run has ended.
func (p *progress) tick() {
	ticker := time.NewTicker(lineEvery)
	defer ticker.Stop()
	for {
		select {
		case <-p.ended:
			return
		case <-ticker.C:
			p.mu.Lock()
			p.print(p.line())
			p.mu.Unlock()
		}
	}
}

// Start begins to show.
func (p *progress) Start(trials int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.total, p.started = trials, time.Now()
	switch {
	case p.quiet || trials == 0:
		return
	case p.width == 0:
		p.ticking.Go(p.tick)
		return
	}
	p.bar = progressbar.NewOptions(trials,
		progressbar.OptionSetWriter(p.w),
		progressbar.OptionSetWidth(max(8, min(30, p.width-60))),
		progressbar.OptionShowCount(),
		progressbar.OptionSetPredictTime(p.width >= 80),
		progressbar.OptionSetElapsedTime(false),
		progressbar.OptionThrottle(100*time.Millisecond),
		progressbar.OptionClearOnFinish(),
		progressbar.OptionSetTheme(progressbar.Theme{Saucer: "=", SaucerHead: ">", SaucerPadding: " ", BarStart: "[", BarEnd: "]"}),
		progressbar.OptionSetDescription(p.short()),
	)
	_ = p.bar.RenderBlank() // as below
}

// Done counts a result.
func (p *progress) Done(r *eval.Result, spent eval.Spent) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.counts.Add(r.Outcome)
	p.spent = spent
	if p.verbose && !p.quiet {
		p.print(verboseLine(r))
	}
	if p.bar != nil {
		_ = p.bar.Add(1) // a bar that cannot be drawn is no reason to stop
		p.bar.Describe(p.short())
	}
}

func verboseLine(r *eval.Result) string {
	line := fmt.Sprintf("%-5s %s", r.Outcome, runner.Describe(&r.Trial))
	if r.Error != nil {
		line += ": " + r.Error.Error()
	}
	return line
}

// short is the progress beside the bar, with the tokens where there is room for them.
func (p *progress) short() string {
	s := fmt.Sprintf("%d pass %d fail %d error", p.counts.Pass, p.counts.Fail, p.counts.Error)
	if p.width >= 96 {
		s += " " + p.cost()
	}
	if p.waiting != nil && p.width >= 60 {
		if text := p.waiting(); text != "" {
			s += "; " + displaywidth.TruncateString(text, p.width-50, "...")
		}
	}
	return s
}

// cost is what was spent so far.
func (p *progress) cost() string {
	text := fmt.Sprintf("%d tokens", p.spent.Tokens)
	if p.spent.Currency != "" {
		text += fmt.Sprintf(", %.4f %s", p.spent.Money, p.spent.Currency)
	}
	return text
}

// line is the progress in words.
func (p *progress) line() string {
	done := p.counts.Total()
	left := ""
	if done > 0 && done < p.total {
		rest := time.Duration(float64(time.Since(p.started)) / float64(done) * float64(p.total-done))
		left = fmt.Sprintf("; about %s left", rest.Round(time.Second))
	}
	waits := ""
	if p.waiting != nil {
		if text := p.waiting(); text != "" {
			waits = "; " + text
		}
	}
	return fmt.Sprintf("%d of %d trials: %d pass, %d fail, %d error, %d skip; %s%s%s",
		done, p.total, p.counts.Pass, p.counts.Fail, p.counts.Error, p.counts.Skip, p.cost(), left, waits)
}

// print writes a line without tearing the bar.
func (p *progress) print(line string) {
	if p.bar != nil {
		_ = p.bar.Clear() // as above
	}
	fmt.Fprintln(p.w, diag.CleanLine(line))
}

// Finish takes the bar away.
func (p *progress) Finish() {
	close(p.ended)
	p.ticking.Wait()
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.bar != nil {
		_ = p.bar.Clear() // as above
		p.bar = nil
	}
}

// notice tells something that cannot wait for the report.
func (p *progress) notice(text string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.print(text)
}
