package scorers

import (
	"slices"

	"github.com/evalrun/evalrun/internal/shape"
)

// judgeKeys are the keys of `judge`.
func judgeKeys() shape.Block {
	b := shape.Block{Keys: []shape.Key{
		{Name: "judge", Is: shape.Text, Doc: "The judge to use, where the suite has several."},
		{Name: "panel", Is: shape.Filled(shape.Text), Doc: "Several judges, instead of one."},
		{
			Name: "combine", Is: wordShape(panelRules()),
			Doc: "What a panel comes to: the majority (default for choices) or the mean (default for numbers).",
		},
		{Name: "repeats", Is: shape.Int(1, maxJudgeRepeats), Doc: "How often the answer is judged."},
		{
			Name: "scale",
			Is:   shape.Filled(shape.Number(-maxScale, maxScale)),
			Doc:  "The least and the largest number of the judge, mapped to 0 and 1.",
		},
		{Name: "min", Is: shape.Number(0, 1), Doc: "The least value that passes; 0.5 when not given."},
		{
			Name: "sees", Is: shape.Word("answer", "conversation"),
			Doc: "What the judge is shown: the question and the answer (default), or also the system prompt, all turns, tool calls and results.",
		},
		{
			Name: "with", Is: shape.Some(shape.Map(shape.Text)),
			Doc: "For a judge with a `template`: texts for its variables, instead of those of the case.",
		},
	}}
	for _, name := range formNames() {
		f := forms()[name]
		is := f.keys().Shape()
		if name == "rubric" {
			is = shape.Text
		}
		b.Keys = append(b.Keys, shape.Key{Name: name, Is: is, Doc: f.task})
	}
	return b
}

// judgeShape is the shape of `judge`: one question, or none when judges have templates.
func judgeShape() shape.Shape {
	return func(templates bool) shape.Schema {
		out := judgeKeys().Shape()(templates)
		out["oneOf"] = append(shape.Wanting(formNames()...),
			shape.Schema{"not": shape.Schema{"anyOf": shape.Wanting(formNames()...)}})
		return out
	}
}

// keys are the keys below the form's name.
func (f *questionForm) keys() shape.Block {
	b := shape.Block{
		Some: f.needs,
		Keys: []shape.Key{{Name: "question", Is: shape.Text, Doc: "The question, instead of the last turn of the user."}},
	}
	for _, name := range slices.Concat(f.needs, f.also) {
		is := shape.Text
		if slices.Contains(f.lists, name) {
			is = shape.OneOrMore(shape.Text)
		}
		b.Keys = append(b.Keys, shape.Key{Name: name, Is: is})
	}
	if f.byChoice() {
		b.Keys = append(b.Keys, shape.Key{Name: "values", Is: f.worth().Shape(), Doc: "What choices are worth, from 0 to 1."})
	}
	if f.similarity > 0 {
		b.Keys = append(b.Keys, shape.Key{
			Name: "similarity", Is: shape.Number(0, 1),
			Doc: "The weight of the cosine of the embeddings in the value; 0.25 when not given.",
		})
	}
	return b
}

// worth are the choices with their values.
func (f *questionForm) worth() shape.Block {
	var b shape.Block
	for _, c := range f.choices() {
		b.Keys = append(b.Keys, shape.Key{Name: c.word, Is: shape.Number(0, 1), Doc: "When " + c.meaning + "."})
	}
	return b
}
