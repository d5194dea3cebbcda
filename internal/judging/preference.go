package judging

import (
	"cmp"
	"context"
	"fmt"
	"iter"
	"slices"
	"strings"

	"github.com/evalrun/evalrun/compare"
	"github.com/evalrun/evalrun/diag"
	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/gate"
	"github.com/evalrun/evalrun/internal/session"
	"github.com/evalrun/evalrun/journal"
	"github.com/evalrun/evalrun/runner"
	"github.com/evalrun/evalrun/scorers"
	"github.com/evalrun/evalrun/suite"
)

// ByJudge says which judge prefers answers, by which criteria, and how to reach it.
type ByJudge struct {
	Judge    string // "" if there is only one
	Criteria string // "" uses the judge's own
	Suite    string // the file with the judge; "" means the suites of the run
	Options  session.Options
	Connect  func(*session.Job) (*session.Session, error)
}

// PairJudge is a judge for the answers of two runs or two arms. The caller closes it.
type PairJudge struct {
	session    *session.Session
	config     runner.Config // for questions to the judge
	plan       *runner.Plan
	question   *scorers.PreferenceQuestion
	base, head *journal.Document
	total      compare.PreferenceTotals
}

// NewPairJudge finds the judge and connects to its service, by default that of the head run. It only requests the
// metadata of the judge's model.
func NewPairJudge(ctx context.Context, base, head *journal.Document, by ByJudge) (*PairJudge, error) {
	for _, d := range []*journal.Document{base, head} {
		if d.Run.CommandOptions == nil || d.Run.CommandOptions.NoContent {
			return nil, eval.BadInput("%s keeps no answers between which a judge could choose", d.Run.ID)
		}
	}
	l, err := by.load(head)
	if err == nil {
		err = l.Bad()
	}
	if err != nil {
		return nil, err
	}
	judge, err := by.find(l.Suites)
	if err != nil {
		return nil, err
	}
	l.AddJudge(judge)
	l.Options.Cache = !l.Options.Untrusted // so that repeated comparisons send the same pair to the same judge once
	j, err := l.SettleLike(head, "comparing by a judge")
	if err != nil {
		return nil, err
	}
	session, err := by.Connect(j)
	if err != nil {
		return nil, err
	}
	c := &PairJudge{
		session: session, config: session.JudgeConfig(), base: base, head: head,
		plan:     runner.NewPlan(nil, scorers.Builtin(), runner.Filter{}, j.Settings.Service.APIVersion),
		question: scorers.NewPreferenceQuestion(judge, cmp.Or(by.Criteria, judge.Criteria)),
	}
	c.total = compare.PreferenceTotals{
		Judge:           judge.Name,
		PreferenceJudge: compare.PreferenceJudge{Model: judge.Model.ID, Criteria: c.question.Criteria()},
	}
	if err := session.CheckJudge(ctx, c.plan, judge); err != nil {
		session.Close()
		return nil, err
	}
	return c, nil
}

// Compare compares both sides, with the judge's preference as one more metric.
func (c *PairJudge) Compare(ctx context.Context, what gate.Comparing) (*compare.Comparison, error) {
	what.Prefer = func(base, head *compare.Side) (*compare.ArmPreference, error) { return c.arm(ctx, base, head) }
	out, err := gate.Compare(c.base, c.head, what)
	if err != nil {
		return nil, err
	}
	return out, c.finish(out)
}

// Close closes the connection to the service.
func (c *PairJudge) Close() { c.session.Close() }

func (by *ByJudge) load(head *journal.Document) (*session.Loaded, error) {
	if by.Suite != "" {
		by.Options.Suites = []string{by.Suite}
		return session.Load(by.Options)
	}
	return session.LoadCopies(head, by.Options)
}

// find returns the named judge. Without a name it returns the only judge, or the only one with the key `choose`.
func (by *ByJudge) find(suites []*suite.Suite) (*suite.Judge, error) {
	all, names := judgesOf(suites)
	if len(all) == 0 {
		return nil, eval.BadInput(
			"there is no judge to choose: add `judges: [{name: judge, model: svc-pro}]` to the suite, and name the suite by --suite FILE",
		)
	}
	if by.Judge != "" {
		if i := slices.Index(names, by.Judge); i >= 0 {
			return all[i], nil
		}
		return nil, eval.BadInput("there is no judge %s; %s", by.Judge, diag.DidYouMean(by.Judge, names))
	}
	if len(all) == 1 {
		return all[0], nil
	}
	meant := slices.DeleteFunc(slices.Clone(all), func(j *suite.Judge) bool { return !j.Prefers })
	if len(meant) == 1 {
		return meant[0], nil
	}
	return nil, eval.BadInput("there are %d judges: name one by --choose=NAME: %s", len(all), strings.Join(names, ", "))
}

func judgesOf(suites []*suite.Suite) (all []*suite.Judge, names []string) {
	for _, s := range suites {
		for _, j := range s.Judges {
			all, names = append(all, j), append(names, j.Name)
		}
	}
	return all, names
}

// arm lets the judge prefer one answer of each pair, and records in each case how far head is preferred.
func (c *PairJudge) arm(ctx context.Context, base, head *compare.Side) (*compare.ArmPreference, error) {
	r := pairReader{judge: c}
	if r.err = r.find(compare.Pairs(base, head), base, head); r.err != nil {
		return nil, r.err
	}
	out := &compare.ArmPreference{}
	c.session.Notice(diag.CleanLine(fmt.Sprintf("choosing between %s of %s on %s and %s, by the judge %s: up to %d calls",
		diag.Count(len(r.places), "pair"), head.Suite, base.Arm, head.Arm, c.total.Judge, 2*len(r.places))))
	for one := range c.plan.Prefer(ctx, c.config, c.question, r.pairs()) {
		c.take(&one, out, &r)
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	c.total.Join(&out.PairCounts)
	return out, r.err
}

func (c *PairJudge) take(one *runner.PairPreference, out *compare.ArmPreference, r *pairReader) {
	at := &r.places[one.Index]
	if one.Same {
		out.Same++
	}
	if one.Preferred == "" {
		out.AddUnjudged(one.Why)
	} else {
		out.AddJudged(worth[one.Preferred])
		at.head.HeadPreferred.Add(worth[one.Preferred])
		out.AddPlaces(at.head, one.Firsts, one.Seconds)
		if !one.Same {
			out.AddTurned(at.head, one.Contradicts())
		}
	}
	for i := range one.Judgements {
		j := &one.Judgements[i]
		if c.total.Attempts += j.Attempts; j.Attempts > 0 && j.Usage != nil {
			c.total.Tokens += j.Usage.TotalTokens
		}
		c.record(at, i, j)
	}
	if e := one.Err; e != nil {
		c.total.Incomplete = cmp.Or(c.total.Incomplete, e.Error())
		if e.Kind == eval.KindBudget || e.Kind == eval.KindAuth { // the remaining pairs would fail too
			c.config.Stop.Now(e.Message)
		}
	}
}

// worth is how much a preference counts for head.
var worth = map[scorers.Preference]float64{scorers.Win: 1, scorers.Tie: 0.5, scorers.Loss: 0}

func (c *PairJudge) record(at *pairPlace, i int, j *eval.Judgement) {
	if j.Error != nil {
		return
	}
	c.session.KeepReply(&eval.Result{
		Trial: eval.Trial{
			ID:     j.ID,
			Suite:  at.suite,
			Case:   at.head.Name,
			Arm:    "choose " + j.Judge + ": " + at.arms,
			Model:  j.Model,
			Repeat: 10*at.repeat + i,
		},
		Response: j.Response(), Usage: j.Usage, Timing: &eval.Timing{LatencyMs: j.LatencyMs},
	})
}

// finish adds the totals of the judge to the comparison.
func (c *PairJudge) finish(to *compare.Comparison) error {
	c.total.Emulator = c.session.Emulated()
	to.Preferences = &c.total
	return c.session.FinishReplies(c.plan.Models)
}

type pairPlace struct {
	base, head  *compare.CaseTotals
	suite, arms string
	repeat      int
	at          [2]int // trials in base and head
}

type pairReader struct {
	judge  *PairJudge
	places []pairPlace
	err    error // from reading them

	// cached caches the answers to the current case, because many arms are compared case by case.
	cached [2]map[int]scorers.Exchange
	of     *compare.CaseTotals
}

type caseKey struct{ name, id string }

func (r *pairReader) find(cases [][2]*compare.CaseTotals, base, head *compare.Side) error {
	before, err := trialsOf(r.judge.base, base)
	if err != nil {
		return err
	}
	after, err := trialsOf(r.judge.head, head)
	if err != nil {
		return err
	}
	for _, pair := range cases {
		r.places = append(r.places, bothAnswered(before, after, pair)...)
	}
	for i := range r.places {
		r.places[i].suite, r.places[i].arms = head.Suite, base.Arm+", "+head.Arm
	}
	return nil
}

func bothAnswered(before, after map[caseKey][]int, pair [2]*compare.CaseTotals) (out []pairPlace) {
	b, h := before[caseKey{pair[0].Name, pair[0].ID}], after[caseKey{pair[1].Name, pair[1].ID}]
	for repeat := 1; repeat < min(len(b), len(h)); repeat++ {
		if b[repeat] > 0 && h[repeat] > 0 {
			out = append(out, pairPlace{base: pair[0], head: pair[1], repeat: repeat, at: [2]int{b[repeat] - 1, h[repeat] - 1}})
		}
	}
	return out
}

// trialsOf returns the indexes of an arm's answers plus one, by case and repeat.
func trialsOf(d *journal.Document, side *compare.Side) (map[caseKey][]int, error) {
	out := map[caseKey][]int{}
	for f, err := range d.Facts() {
		if err != nil {
			return nil, err
		}
		if f.Suite != side.Suite || f.Arm != side.Arm || f.Unused ||
			f.SkippedEarly || f.Outcome == eval.Skip || f.Outcome == eval.Err ||
			f.Repeat < 1 ||
			f.Repeat > suite.MaxRepeats {
			continue
		}
		place, ok := d.Find(f.ID)
		if !ok {
			continue
		}
		key := caseKey{f.Case, strings.Clone(f.CaseID)}
		repeats := out[key]
		for len(repeats) <= f.Repeat {
			repeats = append(repeats, 0)
		}
		repeats[f.Repeat] = place + 1
		out[key] = repeats
	}
	return out, nil
}

func (r *pairReader) pairs() iter.Seq[scorers.AnswerPair] {
	return func(yield func(scorers.AnswerPair) bool) {
		for i := range r.places {
			p := &r.places[i]
			if r.of != p.head {
				r.of, r.cached = p.head, [2]map[int]scorers.Exchange{{}, {}}
			}
			b, err := r.answer(r.judge.base, 0, p)
			if err != nil {
				r.err = err
				return
			}
			h, err := r.answer(r.judge.head, 1, p)
			if err != nil {
				r.err = err
				return
			}
			if !yield(scorers.AnswerPair{Base: b, Head: h}) {
				return
			}
		}
	}
}

func (r *pairReader) answer(d *journal.Document, side int, p *pairPlace) (scorers.Exchange, error) {
	if exchange, ok := r.cached[side][p.at[side]]; ok {
		return exchange, nil
	}
	one, err := d.Trial(p.at[side])
	if err != nil {
		return scorers.Exchange{}, err
	}
	var exchange scorers.Exchange
	if one.Response != nil { // a run without content has neither question nor answer
		exchange = scorers.NewExchange(one)
	}
	r.cached[side][p.at[side]] = exchange
	return exchange, nil
}
