package runner

import (
	"context"
	"iter"
	"sync"

	"github.com/evalrun/evalrun/diag"
	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/scorers"
	"github.com/evalrun/evalrun/suite"
)

// CheckJudge requests the metadata of a judge's model, as CheckModels does for the models of a plan.
func (p *Plan) CheckJudge(ctx context.Context, j *suite.Judge, source ModelSource, diags *diag.List, notice func(string)) error {
	return (&modelCheck{p, source, diags, notice}).judge(ctx, j)
}

// PairPreference is a judge's preference between the answers of a pair.
type PairPreference struct {
	Index int // place of the pair, from 0
	scorers.PairRuling
	// Judgements are the judge's replies, in the order of the requests.
	Judgements []eval.Judgement
	// Err says why there is no reply from the judge; nil when there is one.
	Err *eval.Error
}

// Prefer has a judge prefer one answer of each pair. The preferences are yielded in any order; after a stop the rest
// are yielded with an error. Canceling ctx, or leaving the loop, abandons calls in progress. No goroutine outlives the
// loop.
func (p *Plan) Prefer(
	ctx context.Context, cfg Config, q *scorers.PreferenceQuestion, pairs iter.Seq[scorers.AnswerPair],
) iter.Seq[PairPreference] {
	return func(yield func(PairPreference) bool) {
		ctx, cancel := context.WithCancel(ctx)
		r := &run{Config: cfg, plan: p, counts: newMemo[int](maxCounts), replies: newReplies(nil)}
		type indexedPair struct {
			index int
			pair  scorers.AnswerPair
		}
		indexed, results := make(chan indexedPair), make(chan PairPreference)
		var working sync.WaitGroup
		working.Go(func() {
			defer close(indexed)
			place := 0
			for pair := range pairs {
				select {
				case indexed <- indexedPair{place, pair}:
				case <-ctx.Done():
					return
				}
				place++
			}
		})
		for range max(1, cfg.Services.Concurrency) {
			working.Go(func() {
				for j := range indexed {
					results <- r.prefer(ctx, q, j.index, j.pair)
				}
			})
		}
		go func() {
			working.Wait()
			close(results)
		}()
		defer func() {
			cancel()
			for range results { // workers that still send must not block
			}
		}()
		for one := range results {
			if !yield(one) {
				return
			}
		}
	}
}

func (r *run) prefer(ctx context.Context, q *scorers.PreferenceQuestion, place int, pair scorers.AnswerPair) PairPreference {
	a := &scoring{answer: scorers.Answer{Context: &scorers.Context{Judgements: scorers.Judgements{Known: map[string]*eval.Judgement{}}}}}
	replies := &a.answer.Context.Judgements
	out := PairPreference{Index: place}
	for range maxRounds {
		replies.Wanted, replies.Useless = nil, nil
		out.PairRuling = q.Prefer(pair, replies)
		if len(replies.Wanted) == 0 && r.EarlierRuns.RepeatUseless && r.doubt(a) {
			out.PairRuling = q.Prefer(pair, replies)
		}
		if len(replies.Wanted) == 0 {
			break
		}
		if out.Err = r.consult(ctx, a); out.Err != nil {
			out.PairRuling = scorers.PairRuling{Why: "no reply from the judge: " + out.Err.Error()}
			break
		}
	}
	out.Judgements = a.result.Judgements
	return out
}
