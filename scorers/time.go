package scorers

import (
	"sync"
	"time"

	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/yaml"
)

func compileLatency(a args) AnswerScorer {
	a.needs.Latency = true
	within := withinTime(a)
	return Func(func(a *Answer) Finding {
		if a.Timing.Batch != "" {
			return unscoredInBatch()
		}
		return within(a.Timing.LatencyMs)
	})
}

func compileFirstToken(a args) AnswerScorer {
	within := withinTime(a)
	return Func(func(a *Answer) Finding {
		if a.Timing.Chunks == 0 {
			return Unscored("the answer was not streamed: set `stream: true` on the target")
		}
		if f, none := noText(a); none && (a.Timing.FirstTokenMs == 0 || a.Candidate == nil || eval.IsBlank(a.Candidate.Text)) {
			return f
		}
		return within(a.Timing.FirstTokenMs)
	})
}

func unscoredInBatch() Finding {
	return Unscored("the answer came with a batch, so how long the service took is not known")
}

var timeKeys = sync.OnceValue(func() yaml.Block {
	return yaml.Block{
		Name: "times",
		Some: []string{"min", "max"},
		Keys: []yaml.Key{
			{Name: "min", Is: yaml.Duration, Doc: "The shortest time."},
			{Name: "max", Is: yaml.Duration, Doc: "The longest time."},
		},
	}
})

func timeBounds() yaml.Shape { return yaml.Either(yaml.Duration, timeKeys().Shape()) }

// withinTime reads the bounds of a duration, and returns what compares milliseconds with them.
func withinTime(a args) func(ms float64) Finding {
	shortest, longest := timeBoundsOf(a)
	return func(ms float64) Finding {
		got := time.Duration(ms * float64(time.Millisecond)).Round(time.Millisecond)
		switch {
		case longest > 0 && ms > eval.Milliseconds(longest):
			return Fail("%s, at most %s is allowed", got, longest)
		case ms < eval.Milliseconds(shortest):
			return Fail("%s, at least %s is expected", got, shortest)
		}
		return Pass("%s", got)
	}
}

// timeBoundsOf reads the bounds of a duration: a mapping, or just the longest.
func timeBoundsOf(a args) (shortest, longest time.Duration) {
	if !a.Args.IsMapping() {
		return 0, a.Args.Duration()
	}
	m := a.Args.Map(timeKeys().Names()...)
	shortest, longest = m.Get("min").Duration(), m.Get("max").Duration()
	if m.Len() == 0 {
		a.Args.Errorf("such as {max: 2s}", "`%s` needs max or min", a.Kind)
	}
	if longest > 0 && shortest > longest {
		m.Get("max").Errorf("swap them", "`max` is below `min`: nothing can pass")
	}
	return shortest, longest
}
