package judging

import (
	"iter"
	"strings"

	"github.com/evalrun/evalrun/compare"
	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/journal"
	"github.com/evalrun/evalrun/scorers"
	"github.com/evalrun/evalrun/suite"
)

// pairPlace locates the answers of a pair.
type pairPlace struct {
	base, head  *compare.CaseTotals
	suite, arms string
	repeat      int
	at          [2]int // trials in base and head
}

// pairReader reads pairs of answers.
type pairReader struct {
	judge  *PairJudge
	places []pairPlace
	err    error // from reading them

	// cached caches the answers to the current case, because many arms are compared case by case.
	cached [2]map[int]scorers.Exchange
	of     *compare.CaseTotals
}

// caseKey identifies a case on an arm.
type caseKey struct{ suite, arm, name, id string }

// find pairs the repeats of cases by their numbers.
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

// answer returns the answer of one side of a pair.
func (r *pairReader) answer(d *journal.Document, side int, p *pairPlace) (scorers.Exchange, error) {
	if exchange, ok := r.cached[side][p.at[side]]; ok {
		return exchange, nil
	}
	one, err := d.Trial(p.at[side])
	if err != nil {
		return scorers.Exchange{}, err
	}
	exchange := answerOf(one)
	r.cached[side][p.at[side]] = exchange
	return exchange, nil
}

// answerOf returns an answer with its question; both are empty in runs without content.
func answerOf(r *eval.Result) scorers.Exchange {
	if r.Response == nil {
		return scorers.Exchange{}
	}
	return scorers.NewExchange(r)
}
