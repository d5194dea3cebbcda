package scorers

import (
	"strings"

	"github.com/evalrun/evalrun/diag"
	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/yaml"
)

// classificationKind is the kind that a suite's `classification` block compiles to.
func classificationKind() Kind {
	return Kind{
		Name:    yaml.ClassificationKind,
		Example: `classification: {label: "{{.intent}}", classes: [refund, order]}`, textless: true, // it reads the selection of `answer`
		compile: compileClassification,
	}
}

func compileClassification(a args) AnswerScorer {
	m := a.Args.Map(yaml.Classification.Names()...)
	label := m.Need("label")
	var scorer classificationScorer
	for _, item := range m.Get("classes").Seq() {
		scorer.classes = append(scorer.classes, item.Written())
	}
	steps := a.stepsOf(m.Get("answer"), "answer")
	text := textOf(label)
	at := eval.ClassOf(scorer.classes, text)
	switch {
	case at >= 0:
		scorer.expected = scorer.classes[at]
	case strings.TrimSpace(text) == "":
		label.Errorf("`inheritScorers: false` takes a case out of the classification", "the label is empty")
		return nil
	default:
		label.Errorf(diag.DidYouMean(text, scorer.classes), "`%s` is not one of the classes", diag.CleanLine(text))
		return nil
	}
	return scorer.over(selecting(steps, onText(fold{normalize: asWritten}, scorer.scoreText)))
}

// classificationScorer determines the class that an answer names.
type classificationScorer struct {
	expected string
	classes  []string
}

// over counts an answer that names no class as wrong, outside of all classes.
func (c classificationScorer) over(s AnswerScorer) AnswerScorer {
	return Func(func(a *Answer) Finding {
		f := s.Score(a)
		if f.Class == nil && f.scored() {
			f.Class = &eval.Pair{Expected: c.expected}
		}
		return f
	})
}

func (c classificationScorer) scoreText(got, _ string) Finding {
	at := eval.ClassOf(c.classes, got)
	if at < 0 {
		return Fail("the answer is none of the %d classes, expected %s: %s", len(c.classes), c.expected, quote(got))
	}
	answer := c.classes[at]
	f := Fail("expected %s, got %s", c.expected, answer)
	if answer == c.expected {
		f = Pass("the answer is %s", answer)
	}
	f.Class = &eval.Pair{Expected: c.expected, Answer: answer}
	return f
}
