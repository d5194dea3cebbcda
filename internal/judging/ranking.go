package judging

import (
	"cmp"
	"context"
	"crypto/sha256"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/evalrun/evalrun/compare"
	"github.com/evalrun/evalrun/diag"
	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/gate"
	"github.com/evalrun/evalrun/scorers"
)

// rankingSeed makes equal preferences give the same ranking.
const rankingSeed = 1

// RankRequest says what to rank.
type RankRequest struct {
	Name   string          // what the user called the run
	Alpha  float64         // error rate of a ranking; 0 is the default
	Arms   []string        // those to rank; none for all
	Prices *eval.PriceList // nil shows tokens only
}

// Rank ranks the arms of each suite by the judge's preferences.
func (c *PairJudge) Rank(ctx context.Context, what RankRequest) (*compare.Preferences, error) {
	sides, err := gate.Sides(c.head)
	if err != nil {
		return nil, err
	}
	out := &compare.Preferences{Run: compare.Compared{
		Run:       c.head.Run.ID,
		Name:      what.Name,
		StartedAt: c.head.Run.StartedAt,
	}}
	var suites []*rankedSuite
	for _, s := range sides {
		if len(what.Arms) > 0 && !slices.Contains(what.Arms, s.Arm) {
			continue
		}
		at := slices.IndexFunc(suites, func(r *rankedSuite) bool { return r.name == s.Suite })
		if at < 0 {
			at = len(suites)
			suites = append(
				suites,
				&rankedSuite{name: s.Suite, judge: c, reader: pairReader{judge: c}},
			)
		}
		suites[at].sides = append(suites[at].sides, s)
	}
	suites = slices.DeleteFunc(suites, func(r *rankedSuite) bool { return len(r.sides) < 2 })
	if len(suites) == 0 {
		return nil, eval.BadInput("%s has no suite with two arms, so there is nothing to rank", c.head.Run.ID)
	}
	for _, s := range suites {
		one, err := s.rank(ctx, what.Alpha)
		if err != nil {
			return nil, err
		}
		for i := range one.Arms {
			at := slices.IndexFunc(s.sides, func(side *compare.Side) bool { return side.Arm == one.Arms[i].Arm })
			if one.Arms[i].Taken = gate.TakenBy(c.head, s.sides[at], what.Prices); one.Arms[i].Cost != nil {
				one.Currency = what.Prices.Currency
			}
		}
		out.Suites = append(out.Suites, *one)
	}
	t := &c.total
	t.Emulator = c.session.Emulated()
	out.By.Judge, out.By.PreferenceJudge, out.By.PreferenceCalls = t.Judge, t.PreferenceJudge, t.PreferenceCalls
	return out, c.session.FinishReplies(c.plan.Models)
}

type rankedSuite struct {
	name   string
	judge  *PairJudge
	sides  []*compare.Side
	reader pairReader

	cases   []*compare.CaseTotals   // over all arms
	onArms  [][]*compare.CaseTotals // of each of these cases, by arm
	between [][3]int                // for each pair of answers: the case and the two arms
	errored []errored
}

type errored struct {
	at, arm, by int
	share       float64 // of the repeats
}

// rank lets the judge prefer one answer of each pair of all arms.
func (s *rankedSuite) rank(ctx context.Context, alpha float64) (*compare.SuitePreferences, error) {
	if why := s.unrankable(); why != "" { // no call would help
		return s.result(&compare.ArmPreference{}, nil, alpha, why), nil
	}
	if err := s.find(); err != nil {
		return nil, err
	}
	calls, err := s.calls()
	if err != nil {
		return nil, err
	}
	c := s.judge
	arms := len(s.sides)
	c.session.Notice(diag.CleanLine(fmt.Sprintf(
		"choosing between %s of answers of %s, on %s of %d arms, by the judge %s: up to %s", diag.Count(len(s.between), "pair"), s.name,
		diag.Count(arms*(arms-1)/2, "pair"), arms, c.total.Judge, diag.Count(calls, "call"),
	)))
	var counts compare.ArmPreference
	preferred := make([]scorers.Preference, len(s.between))
	for one := range c.plan.Prefer(ctx, c.config, c.question, s.reader.pairs()) {
		preferred[one.Index] = one.Preferred
		c.take(&one, &counts, &s.reader)
	}
	if err := cmp.Or(ctx.Err(), s.reader.err); err != nil {
		return nil, err
	}
	return s.result(&counts, preferred, alpha, ""), nil
}

// unrankable says why no preference could rank the arms, "" if one could.
func (s *rankedSuite) unrankable() string {
	d := s.judge.head
	return cmp.Or(gate.Unrankable(d, s.name), compare.Unrankable(s.sides, gate.PreferenceOptions(d, s.name).MaxErrors))
}

// find pairs the answers case by case: if a budget ends, all arms were judged on the same cases.
func (s *rankedSuite) find() error {
	indexes := map[[2]string]int{}
	trials := make([]map[caseKey][]int, len(s.sides))
	for i, side := range s.sides {
		var err error
		if trials[i], err = trialsOf(s.judge.head, side); err != nil {
			return err
		}
	}
	type pairOnArms struct {
		between [3]int
		pairPlace
	}
	var places []pairOnArms
	for i, base := range s.sides {
		for j := i + 1; j < len(s.sides); j++ {
			head, names := s.sides[j], base.Arm+", "+s.sides[j].Arm
			for _, pair := range compare.Pairs(base, head) {
				at := s.caseOf(indexes, pair)
				for _, p := range bothAnswered(trials[i], trials[j], pair) {
					p.head, p.suite, p.arms = s.cases[at], s.name, names
					places = append(places, pairOnArms{[3]int{at, i, j}, p})
				}
			}
		}
	}
	s.findErrors(indexes)
	slices.SortStableFunc(places, func(a, b pairOnArms) int {
		return cmp.Or(cmp.Compare(a.between[0], b.between[0]), cmp.Compare(a.repeat, b.repeat))
	})
	for _, p := range places {
		s.between, s.reader.places = append(s.between, p.between), append(s.reader.places, p.pairPlace)
	}
	return nil
}

// findErrors finds the cases with errors on one arm and answers on others.
func (s *rankedSuite) findErrors(indexes map[[2]string]int) {
	type on struct {
		arm int
		of  *compare.CaseTotals
	}
	answered, failed := map[[2]string][]on{}, map[[2]string][]on{}
	for arm, side := range s.sides {
		for _, c := range side.Cases {
			key := [2]string{c.Name, c.ID}
			if _, ok := c.PassRate(); ok && !c.Quarantined {
				answered[key] = append(answered[key], on{arm, c})
			}
			if c.Errors > 0 && !c.Quarantined {
				failed[key] = append(failed[key], on{arm, c})
			}
		}
	}
	for _, key := range slices.SortedFunc(maps.Keys(failed), func(a, b [2]string) int { return slices.Compare(a[:], b[:]) }) {
		for _, f := range failed[key] {
			for _, a := range answered[key] {
				if a.arm != f.arm {
					at := s.caseOf(indexes, [2]*compare.CaseTotals{f.of, a.of})
					s.errored = append(s.errored, errored{at, f.arm, a.arm, float64(f.of.Errors) / float64(f.of.Ran)})
				}
			}
		}
	}
}

func (s *rankedSuite) caseOf(indexes map[[2]string]int, pair [2]*compare.CaseTotals) int {
	key := [2]string{pair[1].Name, pair[1].ID}
	at, ok := indexes[key]
	if !ok {
		at = len(s.cases)
		indexes[key] = at
		c := pair[1]
		s.cases = append(s.cases, &compare.CaseTotals{Name: c.Name, ID: c.ID, Cluster: c.Cluster, Request: c.Request, Passed: 1})
		s.onArms = append(s.onArms, nil)
	}
	for _, c := range pair {
		if !slices.Contains(s.onArms[at], c) {
			s.onArms[at] = append(s.onArms[at], c)
		}
	}
	return at
}

// calls counts the calls without a cache: two for each pair of different answers, equal ones once.
func (s *rankedSuite) calls() (int, error) {
	questions := map[[32]byte]bool{}
	for p := range s.reader.pairs() {
		if eval.IsBlank(p.Base.Answer) || eval.IsBlank(p.Head.Answer) || p.Base.Answer == p.Head.Answer {
			continue
		}
		sides := []string{p.Base.Question + "\x00" + p.Base.Answer, p.Head.Question + "\x00" + p.Head.Answer}
		slices.Sort(sides)
		questions[sha256.Sum256([]byte(strings.Join(sides, "\x01")))] = true
	}
	return 2 * len(questions), s.reader.err
}

// result ranks by the preferences. why says why there are none; then nothing is ranked.
func (s *rankedSuite) result(
	counts *compare.ArmPreference, preferred []scorers.Preference, alpha float64, why string,
) *compare.SuitePreferences {
	pooled := &compare.Side{Suite: s.name, Cases: s.cases}
	o := gate.PreferenceOptions(s.judge.head, s.name)
	counts.MeasureBias(pooled, pooled, o)
	out := &compare.SuitePreferences{Suite: s.name, AnswerPairs: counts.PairCounts, Invalid: cmp.Or(why, counts.Unreliable)}
	if share, of := s.unjudged(preferred); share > o.MaxErrors {
		out.Invalid = cmp.Or(out.Invalid, fmt.Sprintf(
			"%s of the pairs of %s could not be judged, more than %g %%", diag.Percent(share), of, 100*o.MaxErrors,
		))
	}
	out.Warnings = s.errors()
	var names []string
	for _, side := range s.sides {
		names = append(names, side.Arm)
	}
	judged, by := s.judged(preferred), compare.PreferenceOptions{Alpha: alpha, Seed: rankingSeed}
	out.PreferenceRanking = compare.RankByPreference(names, judged, by)
	if lost := s.lost(); len(lost) > 0 && out.Why == "" {
		out.Widen(compare.RankByPreference(names, append(judged, lost...), by))
	}
	if out.Invalid != "" {
		out.Refuse(cmp.Or(why, "the choices are invalid"))
	}
	return out
}

// unjudged returns the largest share of unjudged pairs of any arm, and that arm.
func (s *rankedSuite) unjudged(preferred []scorers.Preference) (share float64, arm string) {
	missing := make([]eval.Sum, len(s.sides))
	for place, key := range s.between {
		for _, at := range key[1:] {
			if preferred[place] == "" {
				missing[at].Add(1)
			} else {
				missing[at].Add(0)
			}
		}
	}
	for at := range missing {
		if mean, ok := missing[at].Mean(); ok && mean > share {
			share, arm = mean, s.sides[at].Arm
		}
	}
	return share, arm
}

// lost counts cases with errors as lost to all arms that answered.
func (s *rankedSuite) lost() (out []compare.CasePreference) {
	units := compare.IndependentUnits(s.onArms)
	for _, e := range s.errored {
		out = append(out, compare.CasePreference{First: e.by, Second: e.arm, Unit: units[e.at], Wins: e.share})
	}
	return out
}

// judged averages the repeats of each case between two arms.
func (s *rankedSuite) judged(preferred []scorers.Preference) []compare.CasePreference {
	units := compare.IndependentUnits(s.onArms)
	var out []compare.CasePreference
	at := map[[3]int]int{}
	for place, key := range s.between {
		if preferred[place] == "" {
			continue
		}
		if _, known := at[key]; !known {
			at[key] = len(out)
			out = append(out, compare.CasePreference{First: key[2], Second: key[1], Unit: units[key[0]]})
		}
		switch one := &out[at[key]]; preferred[place] {
		case scorers.Win:
			one.Wins++
		case scorers.Loss:
			one.Losses++
		case scorers.Tie:
			one.Ties++
		}
	}
	for i := range out {
		one := &out[i]
		repeats := one.Wins + one.Losses + one.Ties
		one.Wins /= repeats
		one.Losses /= repeats
		one.Ties /= repeats
	}
	return out
}

// errors warns about arms whose errors leave cases without a pair.
func (s *rankedSuite) errors() (out []string) {
	for _, side := range s.sides {
		errors, trials := 0, 0
		for _, c := range side.Cases {
			errors += c.Errors
			trials += c.Ran
		}
		if errors > 0 {
			out = append(out, fmt.Sprintf(
				"%s has errors in %d of %s, which count as lost where it would rule out another arm", side.Arm, errors,
				diag.Count(trials, "trial"),
			))
		}
	}
	return out
}
