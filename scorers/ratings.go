package scorers

import (
	"slices"
	"strings"

	"github.com/evalrun/evalrun/diag"
	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/clients/wire"
	"github.com/evalrun/evalrun/internal/yaml"
)

// safetyScorer compares ratings with bounds, for `safety` and `promptFeedback`.
type safetyScorer struct {
	categories []string // none: all ratings that the service sent
	min, max   int      // levels; -1: no bound
	ofPrompt   bool
	absent     bool
}

// contradicts reports whether no rating can satisfy the bounds.
func (c safetyScorer) contradicts() bool { return c.min >= 0 && c.max >= 0 && c.min > c.max }

func warnUnknownCategory(n yaml.Node, name string) {
	if !slices.Contains(wire.Categories, name) {
		n.Warnf(diag.DidYouMean(name, wire.Categories), "the service's specification names no category `%s`", name)
	}
}

func level(n yaml.Node) int {
	if n.IsZero() {
		return -1
	}
	return slices.Index(eval.Probabilities, n.Word(eval.Probabilities...))
}

func (c safetyScorer) ratings(a *Answer) ([]eval.SafetyRating, string) {
	if c.ofPrompt {
		if a.Response.PromptFeedback == nil {
			return nil, "the prompt"
		}
		return a.Response.PromptFeedback.SafetyRatings, "the prompt"
	}
	if a.Candidate == nil {
		return nil, "the answer"
	}
	return a.Candidate.SafetyRatings, "the answer"
}

func (c safetyScorer) missing(ratings []eval.SafetyRating, subject string) []Finding {
	wanted := c.categories
	if len(wanted) == 0 && len(ratings) == 0 {
		wanted = []string{"any category"}
	}
	var out []Finding
	for _, category := range wanted {
		if slices.ContainsFunc(ratings, func(r eval.SafetyRating) bool { return r.Category == category }) {
			continue
		}
		if c.absent {
			out = append(out, Pass("%s has no rating for %s", subject, short(category)))
		} else {
			out = append(out, Unscored("%s has no safety rating for %s", subject, short(category)))
		}
	}
	return out
}

func (c safetyScorer) rated(ratings []eval.SafetyRating, subject string) []Finding {
	out := make([]Finding, len(ratings))
	for i, r := range ratings {
		out[i] = c.judge(r, subject)
	}
	return out
}

func (c safetyScorer) judge(r eval.SafetyRating, subject string) Finding {
	l, name := r.Level(), short(r.Category)
	switch {
	case l < 0 && c.absent:
		return Pass("%s has no known rating for %s (%q)", subject, name, r.Probability)
	case l < 0:
		return Unscored("the rating %q for %s is not on the scale", r.Probability, name)
	case c.min < 0 && c.max < 0:
		return Fail("%s is rated %s for %s, expected no rating", subject, r.Probability, name)
	case c.max >= 0 && l > c.max:
		return Fail("%s is rated %s for %s, at most %s is allowed", subject, r.Probability, name, eval.Probabilities[c.max])
	case c.min >= 0 && l < c.min:
		return Fail("%s is rated %s for %s, at least %s is expected", subject, r.Probability, name, eval.Probabilities[c.min])
	}
	return Pass("%s is rated %s for %s", subject, r.Probability, name)
}

func short(category string) string {
	return strings.ToLower(strings.ReplaceAll(strings.TrimPrefix(category, "HARM_CATEGORY_"), "_", " "))
}

func blockReasons() yaml.Shape { return yaml.OneOrMore(yaml.Matching(reasonWord().String())) }

// reasonWord matches block reasons; YES and NO are older YAML spellings of a boolean.
var reasonWord = compiled(`^[A-Z][A-Z_]{3,}$`)

func reasons(n yaml.Node) []string {
	out := n.Strings()
	if !n.IsZero() && (len(out) == 0 || slices.ContainsFunc(out, func(r string) bool { return !reasonWord().MatchString(r) })) {
		n.Errorf("such as SAFETY", "expected a reason for a block, or several")
	}
	return out
}

// Score compares the ratings with the bounds. The finding that says most wins.
func (c safetyScorer) Score(a *Answer) Finding {
	ratings, subject := c.ratings(a)
	var chosen []eval.SafetyRating
	for _, r := range ratings {
		if len(c.categories) == 0 || slices.Contains(c.categories, r.Category) {
			chosen = append(chosen, r)
		}
	}
	var worst Finding
	for i, f := range append(c.missing(chosen, subject), c.rated(chosen, subject)...) {
		if i == 0 || rank(f) < rank(worst) {
			worst = f
		}
	}
	return worst
}
