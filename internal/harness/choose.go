package harness

import (
	"cmp"
	"context"
	"fmt"
	"iter"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/evalrun/evalrun/compare"
	"github.com/evalrun/evalrun/diag"
	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/exit"
	"github.com/evalrun/evalrun/internal/layers"
	"github.com/evalrun/evalrun/internal/regular"
	"github.com/evalrun/evalrun/internal/verdict"
	"github.com/evalrun/evalrun/journal"
	"github.com/evalrun/evalrun/runner"
	"github.com/evalrun/evalrun/scorers"
	"github.com/evalrun/evalrun/suite"
)

// ByJudge says which judge chooses between answers, by what, and how it is reached.
type ByJudge struct {
	Judge    string // "" where there is only one to choose
	Criteria string // "" for those of the judge
	Suite    string // the file with the judge; "" for the suites of the run
	Flags    Flags

	Getenv  func(string) string
	Connect func(*Job) (*Session, error)
}

// Chooser is a judge that chooses between the answers of two runs, or of two arms. Close it.
type Chooser struct {
	session    *Session
	plan       *runner.Plan
	choosing   *scorers.Choosing
	base, head *journal.Document
	total      compare.Choice
}

// NewChooser finds the judge and opens the way to it. The service is that of the head's run where none is given. It makes no call but
// for the metadata of the judge's model.
func NewChooser(ctx context.Context, base, head *journal.Document, by ByJudge) (*Chooser, error) {
	for _, d := range []*journal.Document{base, head} {
		if d.Run.Flags == nil || d.Run.Flags.NoContent {
			return nil, exit.BadInput("%s keeps no answers between which a judge could choose", d.Run.ID)
		}
	}
	job, err := by.load(head)
	if err == nil {
		err = job.Bad()
	}
	if err != nil {
		return nil, err
	}
	judge, err := by.find(job)
	if err != nil {
		return nil, err
	}
	f := &job.Flags
	f.Cache = true // so that the same pair is put to the same judge once, however often it is compared
	if by.Getenv("EVALRUN_BASE_URL") == "" {
		f.serviceOf(&head.Run, *head.Run.Options())
	}
	if err := job.Settle(); err != nil {
		return nil, err
	}
	if err := by.vet(head, &job.Settings); err != nil {
		return nil, err
	}
	session, err := by.Connect(job)
	if err != nil {
		return nil, err
	}
	c := &Chooser{
		session: session, plan: runner.NewPlan(nil, scorers.Builtin(), runner.Filter{}, job.Settings.Service.APIVersion), base: base, head: head,
		choosing: scorers.NewChoosing(judge, cmp.Or(by.Criteria, judge.Criteria)),
	}
	c.total = compare.Choice{Judge: judge.Name, Model: judge.Model, Criteria: c.choosing.Criteria()}
	if err := c.check(ctx, judge); err != nil {
		session.Close()
		return nil, err
	}
	return c, nil
}

// vet wants the address to which pairs are sent to be the user's own, or that of a run that the user made.
func (by *ByJudge) vet(head *journal.Document, s *Settings) error {
	if by.Flags.Trust || by.Flags.Emulator != "" || s.Service.BaseURL == EmulatorURL || s.trust.Signed(head) {
		return nil
	}
	own := by.Flags.own()
	return (&claims{run: head, address: s.elsewhere(own.settle(by.Getenv))}).check("comparing by a judge")
}

// check asks for the judge's model, and for its price when there is a budget of money.
func (c *Chooser) check(ctx context.Context, j *suite.Judge) error {
	s := c.session
	if err := c.plan.CheckJudge(ctx, j, s.service, &s.Diags, s.Notice); err != nil {
		return s.Refused(err)
	}
	if err := s.Bad(); err != nil {
		return err
	}
	return s.priced(c.plan)
}

// Compare compares both sides, with what the judge chooses as one more metric.
func (c *Chooser) Compare(ctx context.Context, what verdict.Comparing) (*compare.Comparison, error) {
	what.Choose = func(base, head *compare.Side) (*compare.ArmChoice, error) { return c.arm(ctx, base, head) }
	out, err := verdict.Compare(c.base, c.head, what)
	if err != nil {
		return nil, err
	}
	return out, c.finish(out)
}

// Close lets go of the service.
func (c *Chooser) Close() { c.session.Close() }

// load reads the suites that name the judge.
func (by *ByJudge) load(head *journal.Document) (*Job, error) {
	if by.Suite != "" {
		return Load([]string{by.Suite}, by.Flags, by.Getenv)
	}
	j := NewJob(by.Flags, by.Getenv)
	begun := head.Run.Options()
	for i, one := range head.Run.Suites {
		snapshot, err := os.OpenRoot(filepath.Join(filepath.Dir(head.Path()), filepath.FromSlash(snapshotDir(i))))
		if err != nil {
			return nil, exit.BadInput("%s keeps no copy of its suite, which would name the judge: name one by --suite FILE", head.Run.ID)
		}
		files := layers.Overlay{regular.FS(snapshot)}
		if folder, err := os.OpenRoot(one.Dir); one.Dir != "" && err == nil {
			files = append(files, regular.FS(folder))
		}
		j.dirs = append(j.dirs, one.Dir)
		opts := suite.Options{
			Vars:        begun.Vars,
			Repeats:     begun.Repeats,
			Getenv:      by.Getenv,
			Untrusted:   begun.Untrusted || by.Flags.Untrusted,
			OwnBaseline: true,
			Dir:         one.Dir,
		}
		j.Suites = append(j.Suites, j.take(files, filepath.Base(one.Snapshot), one.File, opts))
	}
	return j, nil
}

// find is the judge that was named, or the only one there is: of several the one that is meant to choose.
func (by *ByJudge) find(j *Job) (*suite.Judge, error) {
	var all, meant []*suite.Judge
	var names []string
	for _, s := range j.Suites {
		for _, j := range s.Judges {
			all, names = append(all, j), append(names, j.Name)
			if j.Chooses {
				meant = append(meant, j)
			}
		}
	}
	if len(all) == 0 {
		return nil, exit.BadInput(
			"there is no judge to choose: add `judges: [{name: judge, model: svc-pro}]` to the suite, and name the suite by --suite FILE",
		)
	}
	if by.Judge != "" {
		if i := slices.Index(names, by.Judge); i >= 0 {
			return all[i], nil
		}
		return nil, exit.BadInput("there is no judge %s; %s", by.Judge, diag.DidYouMean(by.Judge, names))
	}
	if len(all) == 1 {
		return all[0], nil
	}
	if len(meant) == 1 {
		return meant[0], nil
	}
	return nil, exit.BadInput("there are %d judges: name one by --choose=NAME: %s", len(all), strings.Join(names, ", "))
}

// arm chooses between the answers of an arm and those of the baseline's, and notes with each case how far head is preferred.
func (c *Chooser) arm(ctx context.Context, base, head *compare.Side) (*compare.ArmChoice, error) {
	cases := compare.Pairs(base, head)
	r := pairReader{chooser: c}
	if r.err = r.find(cases, base, head); r.err != nil {
		return nil, r.err
	}
	out := &compare.ArmChoice{}
	limits := c.session.Settings.Limits
	cfg := runner.Config{
		Generator: c.session.service, Counter: c.session.service, Concurrency: limits.Concurrency, CountTokens: limits.CountTokens,
		TokensMatter: limits.TokensMatter(), Stop: c.session.stop, Anew: true,
	}
	c.session.Notice(diag.CleanLine(fmt.Sprintf("choosing between %s of %s on %s and %s, by the judge %s: up to %d calls",
		diag.Count(len(r.places), "pair"), head.Suite, base.Arm, head.Arm, c.total.Judge, 2*len(r.places))))
	for one := range c.plan.Choose(ctx, cfg, c.choosing, r.pairs()) {
		c.take(&one, out, &r)
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	c.total.Join(&out.ChoiceCounts)
	return out, r.err
}

// take takes up what came of a pair.
func (c *Chooser) take(one *runner.Chosen, out *compare.ArmChoice, r *pairReader) {
	at := &r.places[one.Place]
	if one.Same {
		out.Same++
	}
	if one.Preferred == "" {
		out.AddUnjudged(one.Why)
	} else {
		out.AddJudged(worth[one.Preferred])
		out.FirstPlace.Chosen += one.Firsts
		out.FirstPlace.Of += one.Firsts + one.Seconds
		at.head.Chosen.Add(worth[one.Preferred])
	}
	for i := range one.Judgements {
		j := &one.Judgements[i]
		if c.total.Calls += j.Attempts; j.Attempts > 0 && j.Usage != nil {
			c.total.Tokens += j.Usage.TotalTokens
		}
		c.record(at, i, j)
	}
	if e := one.Err; e != nil {
		c.total.Incomplete = cmp.Or(c.total.Incomplete, e.Error())
		if e.Kind == eval.KindBudget || e.Kind == eval.KindAuth { // the rest would fare no better
			c.session.stop.Now(e.Message)
		}
	}
}

// worth is what a pair counts for head.
var worth = map[scorers.Preferred]float64{scorers.Win: 1, scorers.Tie: 0.5, scorers.Loss: 0}

// record keeps a reply for --record.
func (c *Chooser) record(at *pairPlace, i int, j *eval.Judgement) {
	if j.Error != nil {
		return
	}
	c.session.recorder.keepReply(&eval.Result{
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

// finish fills in what the whole comparison says of the judge.
func (c *Chooser) finish(to *compare.Comparison) error {
	c.total.Emulator = c.session.Emulated()
	to.Choice = &c.total
	return c.session.recorder.finish(c.plan.Models)
}

// pairPlace is where the answers of a pair stand.
type pairPlace struct {
	base, head  *compare.Case
	suite, arms string
	repeat      int
	at          [2]int // among the trials of base and head
}

// pairReader reads pairs of answers.
type pairReader struct {
	chooser *Chooser
	places  []pairPlace
	err     error // of reading them
}

// caseKey names a case on an arm.
type caseKey struct{ suite, arm, name, id string }

// find pairs the repeats of cases by their numbers.
func (r *pairReader) find(cases [][2]*compare.Case, base, head *compare.Side) error {
	before, err := trialsOf(r.chooser.base, base)
	if err != nil {
		return err
	}
	after, err := trialsOf(r.chooser.head, head)
	if err != nil {
		return err
	}
	for _, pair := range cases {
		b := before[caseKey{base.Suite, base.Arm, pair[0].Name, pair[0].ID}]
		h := after[caseKey{head.Suite, head.Arm, pair[1].Name, pair[1].ID}]
		for repeat := 1; repeat < min(len(b), len(h)); repeat++ {
			if b[repeat] > 0 && h[repeat] > 0 {
				r.places = append(
					r.places,
					pairPlace{pair[0], pair[1], head.Suite, base.Arm + ", " + head.Arm, repeat, [2]int{b[repeat] - 1, h[repeat] - 1}},
				)
			}
		}
	}
	return nil
}

// trialsOf are the places, plus one, of the answers of an arm: by case and repeat.
func trialsOf(d *journal.Document, side *compare.Side) (map[caseKey][]int, error) {
	out := map[caseKey][]int{}
	for f, err := range d.Facts() {
		if err != nil {
			return nil, err
		}
		if f.Suite != side.Suite || f.Arm != side.Arm || f.Extra || f.Stopped || f.Outcome == eval.Skip || f.Outcome == eval.Err ||
			f.Repeat < 1 ||
			f.Repeat > suite.MaxRepeats {
			continue
		}
		place, ok := d.Find(f.ID)
		if !ok {
			continue
		}
		key := caseKey{side.Suite, side.Arm, f.Case, strings.Clone(f.CaseID)}
		repeats := out[key]
		for len(repeats) <= f.Repeat {
			repeats = append(repeats, 0)
		}
		repeats[f.Repeat] = place + 1
		out[key] = repeats
	}
	return out, nil
}

// pairs yields the answers.
func (r *pairReader) pairs() iter.Seq[scorers.Pair] {
	return func(yield func(scorers.Pair) bool) {
		for _, p := range r.places {
			b, err := r.chooser.base.Trial(p.at[0])
			if err != nil {
				r.err = err
				return
			}
			h, err := r.chooser.head.Trial(p.at[1])
			if err != nil {
				r.err = err
				return
			}
			if !yield(scorers.Pair{Base: told(b), Head: told(h)}) {
				return
			}
		}
	}
}

// told is an answer with what was asked; of runs without content there is none.
func told(r *eval.Result) scorers.Told {
	if r.Response == nil {
		return scorers.Told{}
	}
	return scorers.NewTold(r)
}
