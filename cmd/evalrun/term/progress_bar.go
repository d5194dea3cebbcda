package term

import (
	"fmt"
	"io"
	"strings"

	"github.com/clipperhouse/displaywidth"
	"github.com/schollz/progressbar/v3"

	"github.com/evalrun/evalrun/diag"
	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/text"
)

// Widths of the bar, in columns.
const (
	leastBar = 8
	mostBar  = 30
	frame    = len("100% [] ")

	leastWait = 15  // shortest text about what the run waits for
	wideBar   = 110 // from this width, the line has room for both
)

// draw replaces the bar in a single write, and only if it changed, so that it does not flicker.
func (p *ProgressBar) draw() {
	columns := p.columns()
	plain, painted := p.picture(columns - len("^C ")) // a terminal echoes Ctrl-C, and a full line would wrap
	if plain == p.drawn {
		return
	}
	if displaywidth.String(p.drawn) > columns { // the terminal has become narrower and wrapped the old bar
		fmt.Fprint(p.w, p.erasure())
	}
	p.drawn = plain
	fmt.Fprint(p.w, "\r"+painted+"\x1b[K")
}

// erasure returns the codes that erase the bar, over all lines that it occupies now.
func (p *ProgressBar) erasure() string {
	if p.drawn == "" {
		return ""
	}
	up := ""
	if rows := (displaywidth.String(p.drawn) - 1) / max(1, p.columns()); rows > 0 {
		up = fmt.Sprintf("\x1b[%dA", rows)
	}
	return "\r" + up + "\x1b[J"
}

// picture returns the bar, plain and coloured: the counts, and what fits of time left, spend, waiting and rate.
func (p *ProgressBar) picture(width int) (plain, painted string) {
	plain, painted = p.tally()
	if displaywidth.String(plain) > width { // such a narrow terminal is unreadable anyway
		plain = displaywidth.TruncateString(plain, max(0, width), "")
		return plain, plain
	}
	room := width - displaywidth.String(plain)
	waits := p.waits()
	money := ""
	if p.spent.Currency != "" {
		money = text.Money(p.spent.Money) + " " + diag.CleanLine(p.spent.Currency)
	}
	reserve := len("100% ")
	if waits == "" || width >= wideBar {
		reserve = frame + leastBar
	}
	waits = displaywidth.TruncateString(waits, max(leastWait, room-reserve-len(p.left()+", , ")), "...")
	texts := []string{p.left(), few(p.spent.Tokens) + " tokens", money, p.rate(), waits} // in the order of the line
	shown := make([]bool, len(texts))
	for _, i := range []int{0, 4, 1, 2, 3} {
		if w := displaywidth.String(texts[i]) + 2; w > 2 && w <= room-reserve {
			shown[i] = true
			room -= w
		}
	}
	for i, text := range texts {
		if shown[i] {
			plain, painted = plain+", "+text, painted+", "+text
		}
	}
	bar := fmt.Sprintf("%3d%% ", 100*p.counts.Total()/p.total)
	if size := min(mostBar, room-frame); size >= leastBar {
		bar = p.bar(size)
	}
	if len(bar) > room {
		bar = ""
	}
	return bar + plain, bar + painted
}

func (p *ProgressBar) tally() (plain, painted string) {
	plain = fmt.Sprintf("%d/%d", p.counts.Total(), p.total)
	painted = plain
	for _, c := range []struct {
		outcome eval.Outcome
		n       int
	}{{eval.Pass, p.counts.Pass}, {eval.Fail, p.counts.Fail}, {eval.Err, p.counts.Error}, {eval.Skip, p.counts.Skip}} {
		text := fmt.Sprintf(" %d %s", c.n, c.outcome)
		switch {
		case c.n > 0:
			plain, painted = plain+text, painted+p.paint(c.outcome, text)
		case c.outcome != eval.Skip:
			plain, painted = plain+text, painted+text
		}
	}
	return plain, painted
}

func few(n int) string {
	switch {
	case n >= 10_000_000:
		return fmt.Sprintf("%.1fM", float64(n)/1e6)
	case n >= 10_000:
		return fmt.Sprintf("%.1fk", float64(n)/1e3)
	}
	return fmt.Sprint(n)
}

// bar returns the percentage and a bar of a size; together they are frame columns wider.
func (p *ProgressBar) bar(size int) string {
	bar := progressbar.NewOptions(p.total,
		progressbar.OptionSetWriter(io.Discard),
		progressbar.OptionSetWidth(size),
		progressbar.OptionSetElapsedTime(false),
		progressbar.OptionSetPredictTime(false),
		progressbar.OptionSetTheme(progressbar.Theme{
			Saucer:        "=",
			SaucerHead:    ">",
			SaucerPadding: " ",
			BarStart:      "[",
			BarEnd:        "]",
		}),
	)
	if bar.Set(min(p.counts.Total(), p.total)) != nil || bar.RenderBlank() != nil {
		return "" // failing to draw must not stop the run
	}
	_, drawn, _ := strings.Cut(bar.String(), "[")
	return fmt.Sprintf("%3d%% [%s ", 100*p.counts.Total()/p.total, strings.TrimRight(drawn, " "))
}

func (p *ProgressBar) paint(outcome eval.Outcome, body string) string {
	return text.Paint(p.Color, text.ToneOf(outcome), body)
}
