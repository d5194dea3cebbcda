package overview

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/evalrun/evalrun/compare"
	"github.com/evalrun/evalrun/diag"
	"github.com/evalrun/evalrun/internal/text"
	"github.com/evalrun/evalrun/journal"
)

// enoughNights is the number of nights below which a change is found only late.
const enoughNights = 10

// cannotTell is the word where the nights cannot be read.
const cannotTell = "CANNOT TELL"

// DriftLines say what the nights of an arm say, the verdict first. With verbose they add the evidence.
func DriftLines(f *journal.Drift, verbose bool) (lines []string) {
	switch f.State {
	case "":
		lines = append(lines, map[bool]string{true: cannotTell, false: "NO NIGHT"}[f.Broken]+"  "+f.Why+leftWords(f, " (", ")"))
	case compare.DriftLost:
		lines = lostLines(f)
	case compare.DriftEarly:
		lines = append(lines, "TOO EARLY  "+seriesWords(f)+": nothing to compare with yet"+leftWords(f, " (", ")"))
		if f.Nights == 1 && len(f.Left) == 0 {
			lines = append(lines, "the history has no earlier night: a CI job has to keep .evalrun/history.db, see `evalrun help nightly`")
		}
	default:
		lines = append(lines, "UNCHANGED  no loss shown in "+seriesWords(f)+leftWords(f, " (", ")")+chanceOfDrift(f))
	}
	if f.State == "" {
		return append(lines, f.Notes...)
	}
	if f.From == 0 && f.Nights < enoughNights {
		lines = append(lines, "a change before night 4 cannot be seen, one before night 10 only late")
	}
	if f.State != compare.DriftEarly && f.Known < f.Tested {
		lines = append(lines, fmt.Sprintf("%d of %s have been run on 4 nights or more", f.Known, diag.Count(f.Tested, "case")))
	}
	lines = append(lines, f.Notes...)
	if verbose && f.State != compare.DriftEarly {
		lines = append(lines, fmt.Sprintf(
			"evidence %.4g of %.4g: means %.4g, weighed %.4g, streaks %.4g; the error rate is for %d arms times metrics",
			f.Evidence, f.Bar, f.Parts.Mean, f.Parts.Weighed, f.Parts.Streak, f.Watched,
		))
	}
	return lines
}

// seriesWords counts the nights that are compared.
func seriesWords(f *journal.Drift) string {
	if f.From == 0 {
		return diag.Count(f.Nights, "night")
	}
	return fmt.Sprintf("%s since night %d", diag.Count(f.Nights-f.From+1, "night"), f.From)
}

// mostNamed bounds the cases that a line names.
const mostNamed = 10

func lostLines(f *journal.Drift) []string {
	first := fmt.Sprintf("LOST    since night %d (%s", f.Start, day(f.StartAt[0]))
	if from, to := day(f.StartAt[1]), day(f.StartAt[2]); from != to {
		first += fmt.Sprintf("; %s to %s are possible", strings.TrimSuffix(from, monthOf(from, to)), to)
	}
	if first += ")"; f.Back > 0 {
		first += fmt.Sprintf(", back since night %d", f.Back)
	}
	if f.Before != nil && f.Since != nil {
		first += fmt.Sprintf(": %s to %s of %s", diag.Percent(*f.Before), diag.Percent(*f.Since), diag.Count(f.Of, "case"))
	}
	lines := []string{fmt.Sprintf("%s, seen on night %d", first, f.Seen)}
	if n := len(f.Cases); n > 0 {
		lines = append(lines, diag.Count(n, "case")+" failed every night since and never before: "+text.SomeNames(f.Cases, mostNamed))
	}
	if n := len(f.Moved); n > 0 {
		lines = append(lines, diag.Count(n, "case")+" failed more often since: "+text.SomeNames(f.Moved, mostNamed))
	}
	if len(f.Cases)+len(f.Moved) == 0 {
		lines = append(lines, fmt.Sprintf("no single case; %d of %d lost something", f.Lower, f.Of))
	}
	if len(f.Tags) > 0 {
		var tags []string
		for _, t := range f.Tags {
			tags = append(tags, fmt.Sprintf("%s %+.1f", t.Tag, t.Points))
		}
		lines = append(lines, "by tag, in points: "+strings.Join(tags, ", "))
	}
	for _, what := range f.Changed {
		lines = append(lines, fmt.Sprintf("on night %d %s", f.Start, what))
	}
	if words := leftWords(f, "", ""); words != "" {
		lines = append(lines, words)
	}
	return append(lines, fmt.Sprintf("acknowledge: evalrun history --acknowledge %s --as level | outage | nothing", f.Run))
}

// day is a date such as 12 Oct.
func day(at string) string {
	t, err := time.Parse(time.RFC3339Nano, at)
	if err != nil {
		return diag.CleanLine(at)
	}
	return t.UTC().Format("2 Jan")
}

// monthOf is the month with which both days end, with the blank before it; "" when they differ.
func monthOf(a, b string) string {
	_, month, _ := strings.Cut(a, " ")
	if strings.HasSuffix(b, " "+month) {
		return " " + month
	}
	return ""
}

// leftWords say which runs do not count.
func leftWords(f *journal.Drift, before, after string) string {
	if len(f.Left) == 0 {
		return ""
	}
	left := slices.Clone(f.Left)
	slices.SortStableFunc(left, func(a, b journal.LeftOut) int { return b.Runs - a.Runs })
	var words []string
	for _, l := range left {
		words = append(words, leftOut(l))
	}
	return before + strings.Join(words, ", ") + " not counted" + after
}

func leftOut(l journal.LeftOut) string {
	switch l.Why {
	case "outage", "selection", "shard", "early stop":
		return diag.Count(l.Runs, l.Why)
	case "older":
		return diag.Count(l.Runs, "run") + " of an earlier evalrun"
	}
	return fmt.Sprintf("%s (%s)", diag.Count(l.Runs, "run"), l.Why)
}

// chanceOfDrift says how often a small loss would be found.
func chanceOfDrift(f *journal.Drift) string {
	c := f.Chance
	if c == nil {
		return ""
	}
	out := fmt.Sprintf(". %g points would be found in %d nights in about %.0f of 10 cases", c.Points, c.Nights, 10*c.Found)
	if c.Found < 0.5 {
		out = fmt.Sprintf(". A loss of %g points would be found in %.0f of 10", c.Points, 10*c.Found)
		if c.Repeats > 0 {
			out += fmt.Sprintf("; `repeats: %d` would find %.0f of 10", c.Repeats, 10*c.Then)
		}
	}
	return out
}
