package scorers

import (
	"slices"
	"strings"
	"sync"

	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/yaml"
)

func promptFeedbackKind() Kind {
	return Kind{
		Name: "promptFeedback", Summary: "what the service says of the prompt: its ratings, category by category, and whether it is blocked",
		Doc: "Takes `max` and `min`, each a probability for every rating that came, or a mapping from categories to probabilities, " +
			"on the scale of [safety](#safety), and `blockReason`: a reason, several, or `none`. A rating that is missing or not " +
			"on the scale is unscored; with `absent: true` it passes. The answer does not matter.",
		Example: "- promptFeedback:\n    max: {HARM_CATEGORY_HARASSMENT: LOW, HARM_CATEGORY_HATE_SPEECH: NEGLIGIBLE}\n    blockReason: none",
		takes:   feedbackKeys().Shape(), compile: compilePromptFeedback,
	}
}

var feedbackKeys = sync.OnceValue(func() yaml.Block {
	return yaml.Block{
		Some: []string{"max", "min", "blockReason"},
		Keys: []yaml.Key{
			{Name: "max", Is: feedbackBound(), Doc: "The highest probability: of every category, or of each."},
			{Name: "min", Is: feedbackBound(), Doc: "The lowest probability: of every category, or of each."},
			{Name: "blockReason", Is: yaml.Either(yaml.Word("none"), blockReasons()), Doc: "Why the prompt is blocked, or none."},
			{Name: "absent", Is: yaml.Bool, Doc: "A rating that is missing passes."},
		},
	}
})

func feedbackBound() yaml.Shape {
	return yaml.Either(yaml.Word(eval.Probabilities...), yaml.Some(yaml.MapShape(yaml.Word(eval.Probabilities...))))
}

func compilePromptFeedback(a args) AnswerScorer {
	m := a.Args.Map(feedbackKeys().Names()...)
	if !a.Args.IsMapping() {
		return nil
	}
	if !m.Has("max") && !m.Has("min") && !m.Has("blockReason") {
		a.Args.Errorf("such as {max: LOW, blockReason: none}", "`promptFeedback` needs max, min or blockReason")
	}
	s := promptFeedbackScorer{absent: m.Get("absent").Bool()}
	s.read("max", m.Get("max"))
	s.read("min", m.Get("min"))
	s.blocked = compileBlockReason(m.Get("blockReason"))
	return s
}

type promptFeedbackScorer struct {
	ratings []safetyScorer                   // of all categories, and of single ones
	blocked func(blockReason string) Finding // nil: a block does not matter
	absent  bool
}

// Score compares the ratings and the reason for a block with what is expected.
func (s promptFeedbackScorer) Score(a *Answer) Finding {
	findings := []Finding{}
	if s.blocked != nil {
		findings = append(findings, s.blocked(a.Response.PromptBlock()))
	}
	for _, one := range s.ratings {
		findings = append(findings, one.Score(a))
	}
	return together(findings)
}

// together is the worst finding, with the reasons of all that are equally bad.
func together(findings []Finding) Finding {
	worst := slices.MinFunc(findings, func(a, b Finding) int { return rank(a) - rank(b) })
	var reasons []string
	for _, f := range findings {
		if rank(f) == rank(worst) {
			reasons = append(reasons, f.Reason)
		}
	}
	worst.Reason = strings.Join(reasons, "; ")
	if worst.state == noScore {
		worst.why = worst.Reason
	}
	return worst
}

func (s *promptFeedbackScorer) of(category ...string) *safetyScorer {
	i := slices.IndexFunc(s.ratings, func(c safetyScorer) bool { return slices.Equal(c.categories, category) })
	if i < 0 {
		i = len(s.ratings)
		s.ratings = append(s.ratings, safetyScorer{categories: category, min: -1, max: -1, ofPrompt: true, absent: s.absent})
	}
	return &s.ratings[i]
}

// read reads one bound for all ratings, or bounds by category.
func (s *promptFeedbackScorer) read(bound string, n yaml.Node) {
	switch {
	case n.IsZero():
		return
	case !n.IsMapping():
		s.of().set(bound, n)
		return
	case n.Map().Len() == 0:
		n.Errorf("such as HARM_CATEGORY_HARASSMENT", "`%s` names no category", bound)
	}
	for e := range n.Map().Entries() {
		warnUnknownCategory(e.Key, e.Name())
		s.of(e.Name()).set(bound, e.Value)
	}
}

func (c *safetyScorer) set(bound string, n yaml.Node) {
	if bound == "max" {
		c.max = level(n)
	} else {
		c.min = level(n)
	}
	if c.contradicts() {
		n.Errorf("swap them", "`max` is below `min`: nothing can pass")
	}
}

// compileBlockReason reads which block reasons pass, nil when any does.
func compileBlockReason(n yaml.Node) func(got string) Finding {
	if n.IsZero() {
		return nil
	}
	if n.IsScalar() && n.Str() == "none" {
		return func(got string) Finding {
			if got == "" {
				return Pass("the prompt was not blocked")
			}
			return Fail("the prompt was blocked (%s)", got)
		}
	}
	wanted := reasons(n)
	return func(got string) Finding {
		switch {
		case got == "":
			return Fail("the prompt was not blocked, expected %s", strings.Join(wanted, " or "))
		case !slices.Contains(wanted, got):
			return Fail("the prompt was blocked for %s, expected %s", got, strings.Join(wanted, " or "))
		}
		return Pass("the prompt was blocked (%s)", got)
	}
}
