package page

import (
	"fmt"
	"slices"
	"strings"

	"github.com/evalrun/evalrun/compare"
	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/overview"
	"github.com/evalrun/evalrun/internal/text"
	"github.com/evalrun/evalrun/journal"
)

// head is the data of the page that needs no trials.
type head struct {
	overview.Overview
	trials   string
	Title    string   `json:"title"`
	Headline headline `json:"headline"`
	Notices  []string `json:"notices"`
	// Readings describe the arms of the comparison.
	Readings []overview.ComparisonWords `json:"readings,omitempty"`
	// VerdictNotes qualify the headline of the comparison.
	VerdictNotes []string `json:"verdictNotes,omitempty"`
	// OtherBaseline means that the comparison is not the one of the run's gate, to which the notes of
	// trials refer.
	OtherBaseline bool `json:"otherBaseline,omitempty"`
	// Points means that the page has a block with the cases of the comparison.
	Points    bool `json:"points,omitempty"`
	NoContent bool `json:"noContent"`
	Running   bool `json:"running"`
}

type headline struct {
	Verdict string       `json:"verdict"`
	Why     string       `json:"why"`
	Style   eval.Outcome `json:"style"`
}

// verdictOf is what a run came to, in a word. The style is a class of the style sheet, named after an outcome.
func verdictOf(d *journal.Document) (word string, style eval.Outcome) {
	word, tone := overview.VerdictOf(d)
	return word, map[text.Tone]eval.Outcome{
		text.Good: eval.Pass, text.Bad: eval.Fail, text.Alarm: eval.Err, text.Neutral: eval.Skip,
	}[tone]
}

// newHead omits what only concerns the machine of the run.
func newHead(d *journal.Document) head {
	h := head{Overview: overview.New(d), trials: overview.Trials(d), Running: d.Running, Notices: notices(d)}
	h.Headline.Why = text.Sentence(overview.HeadlineOf(d).Why)
	h.Headline.Verdict, h.Headline.Style = verdictOf(d)
	for _, tag := range h.FailingTags {
		h.Notices = append(h.Notices, text.Sentence(tag.String())+".")
	}
	if len(h.Ranking) == 0 {
		h.Ranking = d.Standings()
	}
	h.NoContent = d.Run.Options().NoContent
	h.Run.CommandOptions, h.Run.ProjectFile, h.Run.Copies, h.Run.Signature = nil, "", nil, ""
	h.Run.Suites = append([]eval.RunSuite{}, d.Run.Suites...)
	var names []string
	for i := range h.Run.Suites {
		h.Run.Suites[i].Dir = ""
		names = append(names, h.Run.Suites[i].Name)
	}
	h.Title = strings.Join(names, ", ")
	h.Points = hasPoints(d.Comparison())
	if c := h.Comparison; c != nil {
		c.Comparison = cutComparison(c.Comparison)
		h.VerdictNotes = c.AllNotes()
		for i := range c.Arms {
			h.Readings = append(h.Readings, overview.ComparisonWordsOf(&c.Arms[i]))
		}
	}
	return h
}

// cutComparison copies a comparison with answers cut to what the page shows.
func cutComparison(c *compare.Comparison) *compare.Comparison {
	copied := *c
	copied.Arms = append([]compare.ArmComparison{}, c.Arms...)
	for i := range copied.Arms {
		arm := &copied.Arms[i]
		arm.Flips = slices.Clone(arm.Flips)
		for j := range arm.Flips {
			f := &arm.Flips[j]
			f.BaseAnswer, f.HeadAnswer = text.CutText(f.BaseAnswer, mostText), text.CutText(f.HeadAnswer, mostText)
		}
	}
	return &copied
}

// plain sums up the run on one line, for browsers without scripts.
func (h *head) plain() string {
	c := h.Totals
	end := h.NotApplied
	if h.Gate != nil {
		end = fmt.Sprintf("exit %d", h.Gate.Exit)
	}
	counts := fmt.Sprintf("%s: %d pass, %d fail, %d error, %d skip; %s.", h.trials, c.Pass, c.Fail, c.Error, c.Skip, end)
	return strings.Join(append(h.Notices, counts), " ")
}

// notices are what a reader must know before trusting a number.
func notices(d *journal.Document) []string {
	out := []string{}
	for _, line := range overview.Origins(&d.Run, func(s string) string { return s }) {
		out = append(out, text.Sentence(line)+".")
	}
	if d.Gate() == nil {
		out = append(out, text.Sentence(overview.NotApplied)+".")
	}
	if words := progress(d); words != "" {
		out = append(out, words)
	}
	if s := d.Run.Plan.Shard; s != nil {
		out = append(out, fmt.Sprintf("Shard %d of %d: the gate is applied when all are merged.", s.Index, s.Of))
	}
	if r := overview.RaceOf(d); r != nil {
		out = append(out, text.Sentence(r.Words())+".")
		for i := range r.Suites {
			out = append(out, text.Sentence(r.Suites[i].Stayed(len(r.Suites) > 1))+".")
		}
	}
	if words := overview.CutAnswers(&d.Summary); words != "" {
		out = append(out, words+".")
	}
	if c := d.Comparison(); c != nil && c.Coverage != "" {
		out = append(out, text.Sentence(c.Coverage)+".")
	}
	for _, line := range overview.GateNotes(d) {
		out = append(out, text.Sentence(line)+".")
	}
	for _, line := range overview.Damage(d) {
		out = append(out, line+".")
	}
	return out
}

// progress says how far an incomplete run got, "" for a complete one.
func progress(d *journal.Document) string {
	if line := overview.Progress(d); line != "" {
		return text.Sentence(line) + "."
	}
	if d.Summary.Counts.Total() < d.Run.Plan.Trials {
		return "Incomplete: " + overview.Trials(d) + "."
	}
	return ""
}
