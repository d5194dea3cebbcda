package scorers

import (
	"math"
	"strings"
	"sync"

	"github.com/evalrun/evalrun/diag"
	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/yaml"
)

func candidatesKind() Kind {
	return Kind{
		Name: "candidates", Summary: "this number of candidates came, and they agree",
		Version: 2,
		Doc: "Takes `{min, max}`, or the exact number alone. `agreement: {min, by}` bounds the share of the candidates with the " +
			"most frequent text, which is also the value. `by: normalized` (default) ignores case, white space and punctuation at " +
			"the end; `by: exact` does not. A candidate without text agrees with none; of a single candidate agreement is " +
			"unscored. It looks at all candidates, whatever `candidate` says. `generationConfig: {candidateCount: 3}` requests " +
			"several.",
		Example: "- candidates: {min: 3, agreement: {min: 0.6}}",
		takes:   yaml.Either(yaml.Int(0, math.MaxInt16), candidatesKeys().Shape()), compile: compileCandidates,
	}
}

var candidatesKeys = sync.OnceValue(func() yaml.Block {
	return yaml.Block{
		Some: []string{"min", "max", "agreement"},
		Keys: append(
			[]yaml.Key{{Name: "agreement", Is: agreementKeys().Shape(), Doc: "How many candidates have the same text."}},
			boundsKeys().Keys...),
	}
})

var agreementKeys = sync.OnceValue(func() yaml.Block {
	return yaml.Block{
		Need: []string{"min"},
		Keys: []yaml.Key{
			{Name: "min", Is: share(), Doc: "The least share of the candidates."},
			{Name: "by", Is: yaml.Word("normalized", "exact"), Doc: "How texts are compared; normalized when not given."},
		},
	}
})

func compileCandidates(a args) AnswerScorer {
	if !a.Args.IsMapping() {
		n := float64(a.Args.Int(0, math.MaxInt16))
		return candidateCount(span{min: &n, max: &n})
	}
	m := a.Args.Map(candidatesKeys().Names()...)
	s := spanOf(m, natural)
	counted := s.min != nil || s.max != nil
	if !counted && !m.Has("agreement") {
		a.Args.Errorf("such as {min: 2, agreement: {min: 0.8}}", "`candidates` needs min, max or agreement")
	}
	if !m.Has("agreement") {
		return candidateCount(s)
	}
	agreement := m.Get("agreement").Map(agreementKeys().Names()...)
	least, by := agreement.Need("min").Float(0, 1), agreement.Get("by").Word("normalized", "exact")
	return Func(func(a *Answer) Finding {
		if f := candidateCount(s)(a); counted && f.state != passed {
			return f
		}
		return agree(a, least, by)
	})
}

func candidateCount(s span) Func {
	return func(a *Answer) Finding {
		n := len(a.Response.Candidates)
		if s.holds(float64(n)) {
			return Pass("%s", diag.Count(n, "candidate"))
		}
		return Fail("%s, expected %s", diag.Count(n, "candidate"), s)
	}
}

// agree passes when enough candidates have the same text.
func agree(a *Answer, least float64, by string) Finding {
	all := a.Response.Candidates
	switch len(all) {
	case 0:
		f, _ := noText(a)
		return f
	case 1:
		return Unscored("a single candidate agrees with itself: ask for several by candidateCount")
	}
	most, shown := mostGiven(all, by)
	if most == 0 {
		return Uncheckable("none of the %d candidates has a text", len(all))
	}
	share := float64(most) / float64(len(all))
	return Graded(
		share, share >= least-1e-12, "%d of %d candidates agree (%.3g, at least %g is expected): %s", most, len(all), share,
		least, quote(shown),
	)
}

// mostGiven is the most frequent text of the candidates, and how often it occurs: 0 when all are empty.
func mostGiven(all []eval.Candidate, by string) (most int, text string) {
	votes := map[string]int{}
	for i := range all {
		key := all[i].Text
		if by != "exact" {
			key = loose(key)
		}
		if eval.IsBlank(key) {
			continue
		}
		if votes[key]++; votes[key] > most {
			most, text = votes[key], all[i].Text
		}
	}
	return most, text
}

// loose normalizes a text for comparison: it ignores case, white space and trailing punctuation.
func loose(s string) string {
	s = strings.Join(strings.Fields(fold{ignoreCase: true, normalize: formNFC}.text(s)), " ")
	return strings.TrimRight(s, ".!?;:,。！？؟۔")
}
