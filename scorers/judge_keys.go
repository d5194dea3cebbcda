package scorers

import (
	"slices"
	"sync"

	"github.com/evalrun/evalrun/internal/yaml"
)

var judgeKeys = sync.OnceValue(func() yaml.Block {
	b := yaml.Block{Keys: []yaml.Key{
		{Name: "judge", Is: yaml.Text, Doc: "The judge to use, where the suite has several."},
		{Name: "panel", Is: yaml.Filled(yaml.Text), Doc: "Several judges, instead of one."},
		{
			Name: "combine", Is: yaml.WordShape(panelRules()...),
			Doc: "What a panel comes to: the majority (default for choices) or the mean (default for numbers).",
		},
		{Name: "repeats", Is: yaml.Int(1, maxJudgeRepeats), Doc: "How often the answer is judged."},
		{
			Name: "scale",
			Is:   yaml.Filled(yaml.Number(-maxScale, maxScale)),
			Doc:  "The least and the largest number of the judge, mapped to 0 and 1.",
		},
		{Name: "min", Is: yaml.Number(0, 1), Doc: "The least value that passes; 0.5 when not given."},
		{
			Name: "sees", Is: yaml.Word("answer", "conversation"),
			Doc: "What the judge is shown: the question and the answer (default), or also the system prompt, all turns, tool calls and results.",
		},
		{
			Name: "with", Is: yaml.Some(yaml.MapShape(yaml.Text)),
			Doc: "For a judge with a `template`: texts for its variables, instead of those of the case.",
		},
	}}
	for _, name := range formNames() {
		f := forms()[name]
		is := f.keys().Shape()
		if isText(name) {
			is = yaml.Text
		}
		b.Keys = append(b.Keys, yaml.Key{Name: name, Is: is, Doc: f.task})
	}
	return b
})

// judgeShape is the shape of `judge`: one question, or none when judges have templates.
func judgeShape() yaml.Shape {
	return func(templates bool) yaml.Schema {
		out := judgeKeys().Shape()(templates)
		out["oneOf"] = append(yaml.Wanting(formNames()...),
			yaml.Schema{"not": yaml.Schema{"anyOf": yaml.Wanting(formNames()...)}})
		return out
	}
}

// isText reports whether the value of a form's key is its only text.
func isText(form string) bool { return form == "rubric" || form == "goal" }

// keys are the keys below the form's name.
func (f *questionForm) keys() yaml.Block {
	b := yaml.Block{
		Some: f.needs,
		Keys: []yaml.Key{{Name: "question", Is: yaml.Text, Doc: "The question, instead of the last turn of the user."}},
	}
	for _, name := range slices.Concat(f.needs, f.also) {
		is := yaml.Text
		if slices.Contains(f.lists, name) {
			is = yaml.OneOrMore(yaml.Text)
		}
		b.Keys = append(b.Keys, yaml.Key{Name: name, Is: is})
	}
	if f.byChoice() {
		b.Keys = append(b.Keys, yaml.Key{Name: "values", Is: f.worth().Shape(), Doc: "What choices are worth, from 0 to 1."})
	}
	if f.similarity > 0 {
		b.Keys = append(b.Keys, yaml.Key{
			Name: "similarity", Is: yaml.Number(0, 1),
			Doc: "The weight of the cosine of the embeddings in the value; 0.25 when not given.",
		})
	}
	return b
}

func (f *questionForm) worth() yaml.Block {
	var b yaml.Block
	for _, c := range f.choices() {
		b.Keys = append(b.Keys, yaml.Key{Name: c.word, Is: yaml.Number(0, 1), Doc: "When " + c.meaning + "."})
	}
	return b
}
