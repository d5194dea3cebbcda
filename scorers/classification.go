package scorers

import (
	"strings"

	"github.com/evalrun/evalrun/classification"
	"github.com/evalrun/evalrun/diag"
	"github.com/evalrun/evalrun/internal/entry"
)

// classificationKind is what a suite's block `classification` becomes.
func classificationKind() Kind {
	return Kind{
		Name:    entry.ClassificationKind,
		Example: `classification: {label: "{{.intent}}", classes: [refund, order]}`, textless: true, // it selects by `answer`
		compile: compileClassification,
	}
}

func compileClassification(a args) Scorer {
	m := a.Args.Map(entry.Classification.Names()...)
	label, c := m.Need("label"), classCheck{}
	for _, item := range m.Get("classes").Seq() {
		c.classes = append(c.classes, item.Written())
	}
	steps := a.stepsOf(m.Get("answer"), "answer")
	text := textOf(label)
	at := classification.Find(c.classes, text)
	switch {
	case at >= 0:
		c.label = c.classes[at]
	case strings.TrimSpace(text) == "":
		label.Errorf("`inheritScorers: false` takes a case out of the classification", "the label is empty")
		return nil
	default:
		label.Errorf(diag.DidYouMean(text, c.classes), "`%s` is not one of the classes", diag.CleanLine(text))
		return nil
	}
	return c.over(selecting(steps, onText(fold{normalize: "none"}, c.check)))
}

// classCheck finds out which class an answer names.
type classCheck struct {
	label   string
	classes []string
}

// over counts whatever has no class as an answer outside of the classes: it is an answer, and a wrong one.
func (c classCheck) over(s Scorer) Scorer {
	return Func(func(a *Answer) Finding {
		f := s.Score(a)
		if f.Class == nil && f.scored() {
			f.Class = &classification.Pair{Label: c.label}
		}
		return f
	})
}

func (c classCheck) check(got, _ string) Finding {
	at := classification.Find(c.classes, got)
	if at < 0 {
		return no("the answer is none of the %d classes, expected %s: %s", len(c.classes), c.label, quote(got))
	}
	answer := c.classes[at]
	f := no("the answer is %s, expected %s", answer, c.label)
	if answer == c.label {
		f = yes("the answer is %s", answer)
	}
	f.Class = &classification.Pair{Label: c.label, Answer: answer}
	return f
}
