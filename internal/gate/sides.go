package gate

import (
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/evalrun/evalrun/compare"
	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/text"
	"github.com/evalrun/evalrun/journal"
	"github.com/evalrun/evalrun/runner"
)

// sidesOf reads the arms of a run, in one pass. A comparison for the estimand of the suite needs their repeats.
func sidesOf(d *journal.Document, of eval.Estimand) ([]*compare.Side, error) {
	return readSides(d, of, nil)
}

// readSides is sidesOf with trials that are scored again, by their ids.
func readSides(d *journal.Document, of eval.Estimand, raised map[string]*raisedTrial) ([]*compare.Side, error) {
	r := &sideReader{doc: d, repeats: of == eval.OfSuite, raised: raised, by: map[[2]string]*sideInReading{}}
	for f, err := range d.Facts() {
		if err == nil {
			err = r.add(f)
		}
		if err != nil {
			return nil, err
		}
	}
	var out []*compare.Side
	for _, s := range r.order {
		out = append(out, &s.Side)
	}
	return out, nil
}

type sideReader struct {
	doc     *journal.Document
	repeats bool // read them one by one
	raised  map[string]*raisedTrial
	by      map[[2]string]*sideInReading
	order   []*sideInReading
}

type sideInReading struct {
	compare.Side
	last       *compare.CaseTotals  // whose trials are still coming
	room       []compare.CaseTotals // one piece of memory for many
	categories map[string]int
	metrics    map[string]int
	pairs      map[*eval.Pair]int // of the document, each the same whenever it comes
	answer     string             // of the last trial
}

// add adds a trial. The trials of a case on an arm are adjacent, but for those of other arms.
func (r *sideReader) add(f *journal.Facts) error {
	s, ok := r.by[[2]string{f.Suite, f.Arm}]
	if !ok {
		s = &sideInReading{
			Side: compare.Side{
				Run: r.doc.Run.ID, Suite: f.Suite, Arm: f.Arm, Partial: r.doc.Partial(),
			},
			categories: map[string]int{},
			metrics:    map[string]int{},
			pairs:      map[*eval.Pair]int{},
		}
		if rs := runSuite(r.doc, f.Suite); rs != nil {
			s.Classes = rs.Classes
		}
		cover(&s.Side, r.doc)
		s.Cases = make([]*compare.CaseTotals, 0, casesOn(r.doc, f.Suite, f.Arm))
		s.last = &compare.CaseTotals{}
		r.by[[2]string{f.Suite, f.Arm}] = s
		r.order = append(r.order, s)
	}
	former, raised := f.ScorersHash, r.raised[f.ID]
	if raised != nil {
		raised.apply(f)
	}
	if len(s.Cases) == 0 || s.last.Name != f.Case || s.last.ID != f.CaseID {
		if s.begin(f); raised != nil {
			s.last.FormerScorers = former
		}
	}
	if f.Unused || f.SkippedEarly {
		s.last.Unused++
		return nil
	}
	s.trial(s.last, f)
	if !r.repeats {
		return nil
	}
	answer, err := r.answer(f)
	s.repeat(s.last, f, answer)
	return err
}

// answer identifies the answer of a trial, "" when it was not sampled at a temperature above 0, or is not known.
func (r *sideReader) answer(f *journal.Facts) (string, error) {
	if f.At == 0 {
		return "", nil
	}
	t, err := r.doc.TrialAt(f.At)
	if err != nil || t.Response == nil || len(t.Response.Candidates) == 0 {
		return "", err
	}
	switch w := t.Response.Candidates[0].Withheld; {
	case w != nil && w.Number > 0:
		return strconv.Itoa(w.Number), nil
	case !t.Request.Sampled():
		return "", nil
	case w != nil && w.Bytes > 0:
		return w.SHA256, nil
	}
	return text.Answer(t.Response), nil
}

// repeat records the values of a trial, at its place among the repeats of its case.
func (s *sideInReading) repeat(c *compare.CaseTotals, f *journal.Facts, answer string) {
	if f.Repeat < 1 || f.Repeat > len(c.Repeats)+1 { // a shard has gaps, and is not compared
		return
	}
	c.Alike = answer != "" && (f.Repeat == 1 || c.Alike && answer == s.answer)
	s.answer = answer
	if f.Outcome != eval.Pass && f.Outcome != eval.Fail {
		c.Repeats = append(c.Repeats, nil)
		return
	}
	c.Repeats = append(c.Repeats, repeatOf(f.Outcome == eval.Pass, f.Blocked != "", s.Metrics, f.Scores))
}

func repeatOf(passed, blocked bool, metrics []string, scores []journal.NamedScore) []float64 {
	values := make([]float64, 2+len(metrics))
	for i, yes := range []bool{passed, blocked} {
		if yes {
			values[i] = 1
		}
	}
	for i, name := range metrics {
		values[2+i] = math.NaN()
		for _, score := range scores {
			if score.Name == name {
				values[2+i] = score.Value
			}
		}
	}
	return values
}

// begin adds a case.
func (s *sideInReading) begin(f *journal.Facts) {
	if len(s.room) == cap(s.room) {
		s.room = make([]compare.CaseTotals, 0, max(16, cap(s.Cases)-len(s.Cases)))
	}
	s.room = append(s.room, compare.CaseTotals{
		Name: f.Case, ID: f.CaseID, Scorers: f.ScorersHash, Cluster: f.Cluster, Vars: f.VarsHash, Request: f.RequestHash,
		Folded: f.FoldedHash, Tags: f.Tags, Quarantined: f.Quarantined,
	})
	s.last = &s.room[len(s.room)-1]
	s.Cases = append(s.Cases, s.last)
}

// casesOn is how many cases an arm has, if no two of them have one name.
func casesOn(d *journal.Document, suite, arm string) int {
	for i := range d.Summary.Suites {
		s := &d.Summary.Suites[i]
		at := slices.IndexFunc(s.Arms, func(a journal.ArmSummary) bool { return a.Name == arm })
		if s.Name == suite && at >= 0 {
			return s.Arms[at].Cases.Tests
		}
	}
	return 0
}

func (s *sideInReading) trial(c *compare.CaseTotals, f *journal.Facts) {
	if c.TrialAt == 0 || f.Outcome == eval.Fail && c.Failed == 0 {
		c.TrialAt = f.At
	}
	switch f.Outcome {
	case eval.Pass:
		c.Passed++
	case eval.Fail:
		c.Failed++
	case eval.Err:
		c.Errors++
	case eval.Skip:
		return
	}
	if c.Ran++; f.Outcome == eval.Err {
		return
	}
	if f.Blocked != "" {
		c.Blocked++
	}
	if f.Answer != 0 {
		c.Answers = append(c.Answers, f.Answer)
	}
	c.LatencyMs.Add(f.LatencyMs)
	c.Tokens.Add(float64(f.Tokens))
	s.scores(c, f.Scores)
	s.class(c, f.Class)
	if v := f.ModelVersion; v != "" && !slices.Contains(s.Versions, v) && len(s.Versions) < maxVersions {
		s.Versions = append(s.Versions, v)
	}
	s.ratings(f.Ratings)
}

func (s *sideInReading) scores(c *compare.CaseTotals, scores []journal.NamedScore) {
	for _, score := range scores {
		at, ok := s.metrics[score.Name] // names are kept by the index
		if !ok {
			at = len(s.Metrics)
			s.metrics[score.Name] = at
			s.Metrics = append(s.Metrics, score.Name)
		}
		for len(c.Metrics) <= at {
			c.Metrics = append(c.Metrics, eval.Sum{})
		}
		c.Metrics[at].Add(score.Value)
	}
}

func (s *sideInReading) class(c *compare.CaseTotals, p *eval.Pair) {
	if p == nil {
		return
	}
	at, known := s.pairs[p]
	if !known {
		at = len(s.ClassPairs)
		s.pairs[p] = at
		s.ClassPairs = append(s.ClassPairs, *p)
	}
	for i := range c.Classes {
		if c.Classes[i].Pair == at {
			c.Classes[i].N++
			return
		}
	}
	c.Classes = append(c.Classes, compare.ClassCount{Pair: at, N: 1})
}

func (s *sideInReading) ratings(ratings []eval.SafetyRating) {
	for _, rating := range ratings {
		at, ok := s.categories[rating.Category]
		if !ok {
			if at = len(s.Categories); at >= maxCategories {
				continue
			}
			s.categories[rating.Category] = at
			s.Categories = append(s.Categories, compare.Category{Name: rating.Category})
		}
		k := &s.Categories[at]
		k.Rated++
		if rating.Level() >= slices.Index(eval.Probabilities, "MEDIUM") {
			k.High++
		}
		if rating.Blocked {
			k.Blocked++
		}
	}
}

// baseSides reads the arms of a suite in a baseline, as they are compared with those of a plan whose answers are those of
// another run, "" for new ones.
func baseSides(path, suite string, of eval.Estimand, plan *runner.Plan, answers string) (map[string]*compare.Side, error) {
	d, err := journal.Open(path)
	if err != nil {
		return nil, eval.Incomplete("the baseline cannot be read: %w", err)
	}
	defer d.Close() //nolint:errcheck // it was only read
	sides, err := sidesOf(d, of)
	if err == nil && d.Run.AnswersOf() != answers {
		sides, err = raise(path, sides, of, plannedHashes(plan))
	}
	if err != nil {
		return nil, eval.Incomplete("the baseline cannot be read: %w", err)
	}
	out := map[string]*compare.Side{}
	for _, s := range sides {
		if s.Suite == suite {
			out[s.Arm] = s
		}
	}
	return out, nil
}

// What a service can make up is bounded.
const (
	maxVersions   = 16
	maxCategories = 64
)

// Sides are the arms of a run, suite by suite, as a comparison reads them, without those of an earlier version that
// ran next to them.
func Sides(d *journal.Document) ([]*compare.Side, error) {
	all, err := sidesOf(d, eval.OfPopulation)
	return slices.DeleteFunc(all, func(s *compare.Side) bool { return strings.Contains(s.Arm, "@") }), err
}

// PreferenceOptions are how a judge's preferences between arms of a suite are compared: without a margin.
func PreferenceOptions(d *journal.Document, suite string) compare.Options {
	return optionsFor(nil, d, suite)
}
