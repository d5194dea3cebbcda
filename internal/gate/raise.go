package gate

import (
	"context"
	"maps"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/evalrun/evalrun/compare"
	"github.com/evalrun/evalrun/diag"
	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/files"
	"github.com/evalrun/evalrun/internal/rundir"
	"github.com/evalrun/evalrun/journal"
	"github.com/evalrun/evalrun/runner"
	"github.com/evalrun/evalrun/scorers"
	"github.com/evalrun/evalrun/suite"
)

// raise reads the arms of a baseline again where kinds of its scorers have a newer version in the wanted hashes. Its recorded answers
// are scored by these, from the copies of its suites. Nothing is sent and no program starts: a case that would take that
// stays as it is, and so counts as changed.
func raise(path string, sides []*compare.Side, of eval.Estimand, wanted map[string]bool) ([]*compare.Side, error) {
	r := raising{
		wanted: wanted, alike: map[string][]string{}, byID: map[string]*raisedTrial{}, classes: map[eval.Pair]*eval.Pair{},
	}
	for hash := range wanted {
		r.alike[plainHash(hash)] = append(r.alike[plainHash(hash)], hash)
	}
	if !slices.ContainsFunc(sides, r.older) || filepath.Base(path) != journal.FileName {
		return sides, nil
	}
	d, err := journal.Open(path)
	if err != nil {
		return nil, err
	}
	defer d.Close() //nolint:errcheck // it was only read
	plan := copiedPlan(d, sides)
	if plan == nil {
		return sides, nil
	}
	r.doc = d
	for result := range runner.Run(context.Background(), plan, runner.Config{
		Services:    runner.Services{Generator: nobody{}, Counter: nobody{}, Embedder: nobody{}, Concurrency: runtime.GOMAXPROCS(0)},
		Stop:        runner.NewStop(),
		EarlierRuns: runner.EarlierRuns{Trial: r.earlier},
		ScorerData:  runner.ScorerData{Prices: pricesOf(d)},
	}) {
		r.take(&result)
	}
	if err := r.dropParts(); err != nil {
		return nil, err
	}
	return readSides(d, of, r.byID)
}

// raising scores answers of a baseline again.
type raising struct {
	doc     *journal.Document
	wanted  map[string]bool     // hashes of scorers
	alike   map[string][]string // the same by their plainHash
	byID    map[string]*raisedTrial
	classes map[eval.Pair]*eval.Pair // each once
}

// raisedTrial is how the scorers of today score a recorded answer.
type raisedTrial struct {
	scorers string // their hash
	outcome eval.Outcome
	scores  []journal.NamedScore
	class   *eval.Pair
}

// older reports whether some case of a side has scorers of which only the versions are older than those of a wanted hash.
func (r *raising) older(s *compare.Side) bool {
	return slices.ContainsFunc(s.Cases, func(c *compare.CaseTotals) bool {
		return !r.wanted[c.Scorers] && slices.ContainsFunc(r.alike[plainHash(c.Scorers)], func(hash string) bool {
			return compare.VersionsRose(c.Scorers, hash)
		})
	})
}

// sameScorers reports whether the cases of two arms have the same scorers one by one, so that none is newer.
func sameScorers(a, b *compare.Side) bool {
	return slices.EqualFunc(a.Cases, b.Cases, func(a, b *compare.CaseTotals) bool { return a.Scorers == b.Scorers })
}

// plainHash is a hash of scorers without the versions of their kinds.
func plainHash(scorers string) string {
	hash, _, _ := strings.Cut(scorers, "+")
	return hash
}

// copiedPlan is the plan of a run, from the copies of its suites; nil where there are none that can be used.
func copiedPlan(d *journal.Document, sides []*compare.Side) *runner.Plan {
	run := &d.Run
	readable := run.CommandOptions != nil && run.UnreadableOptions() == nil && run.Copies != nil
	if !readable || run.Exported || run.Options().NoContent || rundir.Intact(d) != nil {
		return nil
	}
	o := suite.Options{
		Vars: run.Options().Vars, Repeats: run.Options().Repeats, MaxTrials: run.Options().MaxTrials, BaseURL: run.Service.BaseURL,
		OwnBaseline: true, DefaultRepeats: 1,
	}
	for _, s := range sides { // the project file may have set repeats
		for _, c := range s.Cases {
			o.DefaultRepeats = max(o.DefaultRepeats, c.Ran)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(run.Services)) {
		one := run.Services[name]
		o.Services = append(o.Services, &suite.NamedService{Name: name, Protocol: one.Protocol, BaseURL: one.BaseURL})
	}
	var suites []*suite.Suite
	for i, one := range run.Suites {
		copies, at, err := rundir.SuiteCopies(filepath.Dir(d.Path()), rundir.CopyDir(i, false), one.Copy)
		if err != nil || one.Copy == "" {
			return nil
		}
		var problems diag.List
		o.Expected = files.Within{Project: files.FS(copies), At: at, Copies: true}
		o.Programs.Read(o.Expected)
		suites = append(suites, suite.Load(o.Expected, filepath.Base(one.Copy), scorers.Builtin(), o, &problems))
		if problems.HasErrors() {
			return nil
		}
	}
	return runner.NewPlan(suites, scorers.Builtin(), runner.Filter{}, run.Service.APIVersion)
}

// earlier is the answer to score again.
func (r *raising) earlier(t *runner.Planned) runner.EarlierTrial {
	place, ok := FindTrial(r.doc, &t.Trial)
	if !ok || !r.wanted[t.ScorersHash] {
		return runner.SettledTrial{}
	}
	was, err := r.doc.Trial(place)
	switch {
	case err != nil || r.wanted[was.ScorersHash] || !compare.VersionsRose(was.ScorersHash, t.ScorersHash) || was.Workspace != "":
		return runner.SettledTrial{}
	case was.Response == nil || was.Err() != nil && was.Err().Kind == eval.KindNoCandidates:
		return runner.FinalResult{Result: was}
	}
	return runner.AnsweredTrial{Result: was}
}

// take keeps what counts of a result. One that needs a call is none.
func (r *raising) take(result *eval.Result) {
	place, _ := r.doc.Find(result.ID)
	was, err := r.doc.Trial(place)
	if err != nil || result.Outcome() == eval.Err && was.Outcome() != eval.Err {
		return
	}
	t := &raisedTrial{scorers: result.ScorersHash, outcome: result.Outcome()}
	for _, s := range result.Scores {
		if value, ok := s.Value(); ok && s.Name != "" {
			t.scores = append(t.scores, journal.NamedScore{Name: s.Name, Value: value})
		}
		if p := s.Class; p != nil && p.Expected != "" {
			if r.classes[*p] == nil {
				r.classes[*p] = p
			}
			t.class = r.classes[*p]
		}
	}
	for _, name := range slices.Sorted(maps.Keys(result.Metrics)) {
		t.scores = append(t.scores, journal.NamedScore{Name: name, Value: result.Metrics[name]})
	}
	r.byID[result.ID] = t
}

// dropParts leaves cases as they were of which some answer could not be scored again.
func (r *raising) dropParts() error {
	ids, whole := map[string][]string{}, map[string]bool{}
	for f, err := range r.doc.Facts() {
		if err != nil {
			return err
		}
		key := strings.Join([]string{f.Suite, f.Arm, f.Case, f.CaseID}, "\x00")
		if _, known := whole[key]; !known {
			whole[key] = true
		}
		ids[key] = append(ids[key], f.ID)
		whole[key] = whole[key] && r.byID[f.ID] != nil
	}
	for key, all := range ids {
		for _, id := range all {
			if !whole[key] {
				delete(r.byID, id)
			}
		}
	}
	return nil
}

// apply replaces what a trial got then by what it gets now.
func (t *raisedTrial) apply(f *journal.Facts) {
	f.ScorersHash, f.Outcome, f.Class = t.scorers, t.outcome, t.class
	f.Scores = append(f.Scores[:0], t.scores...)
}

func hashesIn(sides []*compare.Side) map[string]bool {
	out := map[string]bool{}
	for _, s := range sides {
		for _, c := range s.Cases {
			if strings.Contains(c.Scorers, "+") {
				out[c.Scorers] = true
			}
		}
	}
	return out
}

func plannedHashes(plan *runner.Plan) map[string]bool {
	out := map[string]bool{}
	for t := range plan.Trials() {
		if strings.Contains(t.ScorersHash, "+") {
			out[t.ScorersHash] = true
		}
	}
	return out
}

// nobody answers, counts or embeds.
type nobody struct{}

func (nobody) err() *eval.Error {
	return eval.Errorf(eval.KindReplayMiss, "a comparison sends nothing")
}

func (n nobody) Generate(context.Context, *eval.Call) (*eval.Response, error) { return nil, n.err() }
func (n nobody) CountTokens(context.Context, *eval.Call) (int, error)         { return 0, n.err() }
func (n nobody) Embed(context.Context, *eval.EmbedCall) ([][]float64, error)  { return nil, n.err() }
