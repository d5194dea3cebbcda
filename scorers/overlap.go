package scorers

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"sync"

	"github.com/evalrun/evalrun/diag"
	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/yaml"
)

const (
	// maxReferences bounds the references of one scorer, in bytes: their index stays in memory.
	maxReferences = 256 << 10
	// maxCompared bounds the size of an answer times the number of its references, in bytes.
	maxCompared = 2 << 20
)

const referencesDoc = "Takes `to` (a text or several; the best counts, and the reason names it) and `min`, the least value from 0 to 1, " +
	"or a `threshold` next to the kind. "

func share() yaml.Shape { return yaml.Number(0, 1) }

// overlapKeys are the keys that all overlap scorers share, plus more.
func overlapKeys(more ...yaml.Key) yaml.Block {
	return yaml.Block{Need: []string{"to"}, Keys: append([]yaml.Key{
		{Name: "to", Is: texts(), Doc: "A text to compare with, or several."},
		{Name: "min", Is: share(), Doc: "The least value that passes; or write `threshold` next to the kind."},
	}, more...)}
}

// overlapTarget has the texts to compare with, and the value to reach.
type overlapTarget struct {
	refs  []string
	least float64 // -Inf when a threshold next to the kind decides
}

// overlapRule reads `to` and `min`; false when it reported problems.
func (a args) overlapRule(m yaml.Map) (overlapTarget, bool) {
	if !m.IsMapping() {
		return overlapTarget{}, false
	}
	r := overlapTarget{refs: a.references(m.Need("to")), least: a.least(m, 0)}
	return r, len(r.refs) > 0
}

// references reads non-blank texts.
func (a args) references(n yaml.Node) []string {
	var out []string
	size := 0
	for _, item := range n.Items() {
		text := textOf(item)
		switch {
		case !eval.IsBlank(text):
			out = append(out, text)
			size += len(text)
		case item.IsScalar() && !item.IsNull():
			item.Errorf("remove it", "an empty text shares nothing with any answer")
		}
	}
	if n.IsSequence() && len(n.Items()) == 0 {
		n.Errorf("such as [Paris]", "`%s` needs at least one text", a.Kind)
	}
	if size > maxReferences {
		n.Errorf("shorten them", "the references have %d bytes, `%s` takes at most %d", size, a.Kind, maxReferences)
		return nil
	}
	return out
}

// least reads `min`: -Inf when the scorer has a threshold instead.
func (a args) least(m yaml.Map, lo float64) float64 {
	switch {
	case m.Has("min") && a.Threshold != nil:
		m.Key("min").Errorf("keep one of them", "`min` and `threshold` are two rules for one score")
	case m.Has("min"):
		return m.Get("min").Float(lo, 1)
	case a.nestedIn:
		a.Args.Errorf("such as {to: ..., min: 0.8}", "`%s` needs `min`", a.Kind)
	case a.Threshold == nil:
		a.Args.Errorf("such as {to: ..., min: 0.8}, or `threshold: 0.8` next to it", "`%s` needs `min` or a threshold",
			a.Kind)
	}
	return math.Inf(-1)
}

// tooLong is the finding for an answer that would be too slow to compare.
func (r overlapTarget) tooLong(got string) (Finding, bool) {
	if len(got)*len(r.refs) <= maxCompared {
		return Finding{}, false
	}
	return Unscored(
		"an answer of %d bytes is too long to compare with %s; at most %d bytes", len(got), diag.Count(len(r.refs), "reference"),
		maxCompared/len(r.refs),
	), true
}

// each compares the answer with every reference; the best value counts.
func (r overlapTarget) each(got string, compare func(i int) (value float64, what string)) Finding {
	best := -1.0
	which := 0
	how := ""
	for i := range r.refs {
		if v, what := compare(i); v > best {
			best, which, how = v, i, what
		}
	}
	return r.judge(best, how, r.against(which), got)
}

func (r overlapTarget) against(which int) string {
	if len(r.refs) == 1 {
		return "to " + quote(r.refs[which])
	}
	return fmt.Sprintf("to reference %d of %d, %s", which+1, len(r.refs), quote(r.refs[which]))
}

// judge makes the finding. what names the measure and its definition, against the reference.
func (r overlapTarget) judge(value float64, what, against, got string) Finding {
	value = max(0, min(1, value))
	bound := ""
	if !math.IsInf(r.least, 0) {
		bound = fmt.Sprintf(", at least %g is expected", r.least)
	}
	name, detail, _ := strings.Cut(what, " (")
	if detail != "" {
		detail = " (" + detail
	}
	return Graded(value, value >= r.least-1e-12, "%s %s%s %s%s: %s", name, near(value, r.least), detail, against, bound, quote(got))
}

// near shows a value with three decimals, or with enough to distinguish it from the bound.
func near(value, bound float64) string {
	if short := strconv.FormatFloat(value, 'f', 3, 64); math.Abs(value-bound) >= 5e-4 || value == bound {
		return short
	}
	return strconv.FormatFloat(value, 'g', -1, 64)
}

// compileOverlap makes a scorer that compares with references. They are indexed at the first answer.
func compileOverlap[T any](r overlapTarget, index func() T, compare func(refs T, got string) Finding) AnswerScorer {
	refs := sync.OnceValue(index)
	return onText(fold{normalize: asWritten}, func(got, _ string) Finding {
		if f, long := r.tooLong(got); long {
			return f
		}
		return compare(refs(), got)
	})
}

func mapped[T any](texts []string, f func(string) T) []T {
	out := make([]T, len(texts))
	for i, t := range texts {
		out[i] = f(t)
	}
	return out
}
