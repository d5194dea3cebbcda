package scorers

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/evalrun/evalrun/internal/yaml"
	"github.com/evalrun/evalrun/scorers/labels"
)

func labelKind() Kind {
	return Kind{
		Name: "label", Summary: "people labelled the answer as pass",
		Doc: "`label: true` takes the labels that people gave with `evalrun view --label`, from `SUITE.labels.jsonl` in the working " +
			"folder. It passes when more people say pass than fail. An answer without a label, or with as many passes as failures, " +
			"is unscored. `{by, people}` counts only the labels of the people in `by`, and answers with at least `people` labels " +
			"(1).\n\n" +
			"A label belongs to one text: it counts again when the same arm gives the same answer to the same case, as in `evalrun " +
			"rescore` or with recorded answers. `candidate` and `turn` change nothing.",
		Example: "- label: {by: [Ada, Ben]}", takes: yaml.Either(yaml.Word("true"), labelKeys().Shape()), compile: compileLabel,
	}
}

var labelKeys = sync.OnceValue(func() yaml.Block {
	return yaml.Block{
		Some: []string{"by", "people"},
		Keys: []yaml.Key{
			{Name: "by", Is: yaml.OneOrMore(yaml.Text), Doc: "The people whose labels count; all when not given."},
			{Name: "people", Is: yaml.Int(1, maxLabellers), Doc: "How many people must have labelled the answer; 1 when not given."},
		},
	}
})

// maxLabellers bounds how many people a suite may require per answer.
const maxLabellers = 100

type labelScorer struct {
	by     []string // nil: any person
	people int
}

func compileLabel(a args) AnswerScorer {
	a.needs.PeopleLabels = true
	c := labelScorer{people: 1}
	if !a.Args.IsMapping() {
		if !a.Args.Bool() && a.Args.IsBool() {
			a.Args.Errorf("`label: true` takes the labels of everybody", "`label: false` looks at nothing")
		}
		return c
	}
	c.read(a.Args.Map(labelKeys().Names()...), a)
	return c
}

func (c *labelScorer) read(m yaml.Map, a args) {
	by := m.Get("by")
	for _, n := range by.Items() {
		name := textOf(n)
		if err := labels.CheckWho(name); err != nil {
			n.Errorf("such as `by: [Ada]`", "%s", err)
		}
		c.by = append(c.by, name)
	}
	c.people = cmp.Or(m.Get("people").Int(1, maxLabellers), c.people)
	switch {
	case m.Len() == 0:
		a.Args.Errorf("`label: true` takes the labels of everybody", "`label` needs `by` or `people`")
	case !by.IsZero() && by.IsSequence() && len(c.by) == 0:
		by.Errorf("leave `by` out to take the labels of everybody", "`by` names no person")
	case c.by != nil && c.people > len(c.by):
		a.Args.Errorf("name more people, or want fewer", "`people: %d` is more than `by` names", c.people)
	}
}

// Score counts the labels that people gave to the answer.
func (c labelScorer) Score(a *Answer) Finding {
	if a.chat != nil {
		a = a.chat
	}
	if a.Context == nil || a.Context.PeopleLabels == nil {
		return Unscored("the labels of the suite are not known here")
	}
	t := &a.Context.Trial
	said := a.Context.PeopleLabels.Of(labels.AnswerKey{CaseID: t.CaseID, Arm: t.Arm, AnswerHash: labels.HashOf(a.Response, a.Calls)})
	said = slices.DeleteFunc(said, func(l labels.Label) bool {
		return l.Label == labels.None || c.by != nil && !slices.Contains(c.by, l.Who)
	})
	switch {
	case len(said) == 0:
		return Unscored("the answer has no label%s: `evalrun view --label` takes it", c.ofWhom())
	case len(said) < c.people:
		return Unscored("%s%s labelled the answer, and %d must", peopleCount(len(said)), c.ofWhom(), c.people)
	}
	switch labels.Decide(said) {
	case labels.Pass:
		return Pass("%s", opinionsOf(said))
	case labels.Fail:
		return Fail("%s", opinionsOf(said))
	}
	return Unscored("people are divided: %s", opinionsOf(said))
}

func (c labelScorer) ofWhom() string {
	if c.by == nil {
		return ""
	}
	return " of " + strings.Join(c.by, ", ")
}

func peopleCount(n int) string {
	if n == 1 {
		return "1 person"
	}
	return fmt.Sprintf("%d people", n)
}

// mostOpinions is the number of labels that a reason quotes.
const mostOpinions = 10

func opinionsOf(said []labels.Label) string {
	var out []string
	for _, l := range said[:min(len(said), mostOpinions)] {
		text := fmt.Sprintf("%s says %s", l.Who, l.Label)
		if l.Comment != "" {
			text += ": " + quote(l.Comment)
		}
		out = append(out, text)
	}
	if n := len(said) - mostOpinions; n > 0 {
		out = append(out, fmt.Sprintf("and %d more", n))
	}
	return strings.Join(out, "; ")
}
