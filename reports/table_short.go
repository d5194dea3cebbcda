package reports

import (
	"fmt"
	"slices"
	"strings"

	"github.com/clipperhouse/displaywidth"

	"github.com/evalrun/evalrun/compare"
	"github.com/evalrun/evalrun/diag"
	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/overview"
	"github.com/evalrun/evalrun/internal/text"
	"github.com/evalrun/evalrun/journal"
)

// fewSuites is the most suites that each have a line. With more, only suites that did not pass have one.
const fewSuites = 30

// short writes the run with one line per suite when it passes, and each failure once when it does not.
func (t *table) short() error {
	t.notices()
	t.scores()
	t.failingTags()
	t.cutAnswers()
	t.quarantined()
	t.saved()
	t.rankings(t.d.Ranking())
	t.classifications(fewMatrices)
	before := t.out.Len()
	t.out.WriteString("\n")
	if err := t.reasons(); err != nil {
		return err
	}
	if t.out.Len() == before+1 { // nothing failed
		t.out.Truncate(before)
	}
	t.against()
	t.gate()
	return nil
}

// against shows a comparison, in short unless it decides against the run.
func (t *table) against() {
	c := t.d.Comparison()
	if c == nil {
		t.compared()
		return
	}
	if overview.HasPassed(t.d) && (c.Verdict == eval.NotWorse || c.Verdict == eval.Improved) {
		t.compared()
		t.figures()
		return
	}
	t.comparison(c)
	t.out.WriteString("\n")
}

// figures shows the verdicts on the first arms, with their numbers.
func (t *table) figures() {
	arms := t.d.Comparison().Arms
	for i := range arms[:min(len(arms), maxBriefs)] {
		a := &arms[i]
		t.armVerdict(a)
		for k := range a.Metrics {
			if m := &a.Metrics[k]; m.Gated {
				t.wrapped("  ", metricFigures(m))
			}
		}
	}
}

// score is a line about a suite or an arm.
type score struct {
	name, text string
	brief      string // shorter text for narrow terminals
	outcome    eval.Outcome
}

// scores draws a line per suite and, for failing suites with several arms, one per arm.
func (t *table) scores() {
	all, passed := t.scored()
	widest := 0
	for _, s := range all {
		widest = max(widest, displaywidth.String(s.name))
	}
	widest = min(widest, max(minCell, t.o.Width/2))
	for _, s := range all {
		name := displaywidth.TruncateString(s.name, widest, "...")
		body := s.text
		if widest+2+displaywidth.String(body) > t.o.Width && s.brief != "" {
			body = s.brief
		}
		t.line("%s%s  %s", name, strings.Repeat(" ", widest-displaywidth.String(name)), t.paint(text.ToneOf(s.outcome), body))
	}
	if passed > 0 {
		t.line("... and %s passed", diag.Count(passed, "more suite"))
	}
	if len(t.d.Summary.Suites) == 0 && !t.d.End.Waits() {
		t.line("no trials")
	}
}

// scored lists the lines, and counts the passed suites without one.
func (t *table) scored() (all []score, passed int) {
	several := len(t.d.Summary.Suites) > fewSuites
	for i := range t.d.Summary.Suites {
		s := &t.d.Summary.Suites[i]
		name := diag.CleanLine(s.Name)
		switch {
		case s.Counts.Pass == s.Counts.Total() && several:
			passed++
		case s.Counts.Pass == s.Counts.Total():
			text := fmt.Sprintf("%d pass", s.Counts.Pass)
			if len(s.Arms) > 1 {
				text += fmt.Sprintf(" on %d arms", len(s.Arms))
			}
			all = append(all, score{name: name, text: text, outcome: eval.Pass})
		case len(s.Arms) == 1:
			all = append(all, scoreOf(name, &s.Arms[0]))
		case t.isRanked(s.Name):
			c := s.Counts
			text := fmt.Sprintf("%d of %d pass on %d arms", c.Pass, c.Total()-c.Skip, len(s.Arms))
			all = append(all, score{name: name, text: text, outcome: journal.Fold(c)})
		default:
			all = append(all, score{name: name})
			for k := range s.Arms {
				all = append(all, scoreOf("  "+diag.CleanLine(s.Arms[k].Name), &s.Arms[k]))
			}
		}
	}
	return all, passed
}

// isRanked reports whether a table of arms follows the suite's line.
func (t *table) isRanked(suite string) bool {
	return slices.ContainsFunc(slices.Concat(t.d.Ranking(), t.standings), func(r compare.Ranking) bool {
		return r.Suite == suite && r.Why == ""
	})
}

func scoreOf(name string, a *journal.ArmSummary) score {
	c := a.Counts
	passed := fmt.Sprintf("%d of %d pass", c.Pass, c.Total()-c.Skip)
	var interval, rest string
	if p, ok := a.PassRate(); ok && c.Fail > 0 {
		lo, hi := overview.Interval(p, a.Scored)
		passed += ", " + diag.Percent(p)
		interval = fmt.Sprintf(" (90 %% interval %.1f-%.1f)", 100*lo, 100*hi)
	}
	if c.Error > 0 {
		rest += fmt.Sprintf(", %d error", c.Error)
	}
	if c.Skip > 0 {
		rest += fmt.Sprintf(", %d skip", c.Skip)
	}
	return score{name: name, text: passed + interval + rest, brief: passed + rest, outcome: journal.Fold(c)}
}

// where shows the location of the run and of its reports. Paths are never cut, since they are there to be copied.
func (t *table) where() {
	if t.d.Dir != "" {
		t.out.WriteString("run:  " + diag.CleanLine(t.d.Dir) + "\n")
	}
	if len(t.o.Files) == 0 {
		return
	}
	separator := "  "
	if displaywidth.String(strings.Join(t.o.Files, separator)) > t.o.Width {
		separator = "\n"
	}
	var files []string
	for _, file := range t.o.Files {
		files = append(files, diag.CleanLine(file))
	}
	t.out.WriteString(strings.Join(files, separator) + "\n")
}

// summary is the headline on one line, with as many details as fit.
func (t *table) summary() {
	f := overview.HeadlineOf(t.d)
	end := ""
	if t.d.Gate() != nil && t.d.Gate().Exit != eval.CodeOK && !t.d.Running {
		end = fmt.Sprintf(" (exit %d)", t.d.Gate().Exit)
	}
	parts := append(t.parts(), summaryItem{partExit, end})
	for _, optional := range []string{partCost, partTime, partSuites, partRules, partExit} {
		if len(f.Word)+2+displaywidth.String(joined(parts)) <= t.o.Width {
			break
		}
		parts = slices.DeleteFunc(parts, func(p summaryItem) bool { return p.what == optional })
	}
	t.line("%s  %s", t.strong(f.Tone, f.Word), joined(parts))
}

type summaryItem struct{ what, text string }

// Parts of a summary that are dropped when space runs out.
const (
	partSuites = "suites"
	partRules  = "rules"
	partTime   = "time"
	partCost   = "cost"
	partExit   = "exit"
)

func joined(parts []summaryItem) string {
	text := ""
	for i, p := range parts {
		if i > 0 && p.what != partExit {
			text += ", "
		}
		text += p.text
	}
	return text
}

func (t *table) parts() []summaryItem {
	all := []summaryItem{{"", t.counted()}, {partSuites, diag.Count(len(t.d.Run.Suites), "suite")}}
	switch held, of := t.rules(); {
	case of == 0 || t.d.Partial():
	case held < of:
		all = append(all, summaryItem{partRules, fmt.Sprintf("%d of %s broken", of-held, diag.Count(of, "rule"))})
	default:
		all = append(all, summaryItem{partRules, diag.Count(of, "rule")})
	}
	if took := t.took(); took != "" {
		all = append(all, summaryItem{partTime, took})
	}
	if t.d.End != nil && t.d.End.Spent != nil && t.d.End.Spent.Currency != "" {
		all = append(all, summaryItem{partCost, text.Money(t.d.End.Spent.Money) + " " + diag.CleanLine(t.d.End.Spent.Currency)})
	}
	if t.o.Quiet {
		for _, source := range t.sources() {
			all = append(all, summaryItem{"", source})
		}
	}
	return all
}

// sources are the origins of answers other than models of this run.
func (t *table) sources() (all []string) {
	run := &t.d.Run
	for _, one := range []struct {
		holds bool
		word  string
	}{{run.Emulator, "emulator"}, {run.Cache, "cache"}, {run.Replay != "", "replay"}, {run.RescoredFrom != "", "rescored"}} {
		if one.holds {
			all = append(all, one.word)
		}
	}
	return all
}

// counted is the number of trials, with outcomes unless all passed.
func (t *table) counted() string {
	c := t.d.Summary.Counts
	if c.Pass == c.Total() {
		return overview.Trials(t.d)
	}
	text := fmt.Sprintf("%s: %d pass", overview.Trials(t.d), c.Pass)
	for _, one := range []struct {
		n       int
		outcome eval.Outcome
	}{{c.Fail, eval.Fail}, {c.Error, eval.Err}, {c.Skip, eval.Skip}} {
		if one.n > 0 {
			text += fmt.Sprintf(", %d %s", one.n, one.outcome)
		}
	}
	return text
}
