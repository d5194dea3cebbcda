package entry

import "github.com/evalrun/evalrun/internal/shape"

// ClassificationKind is the kind of the scorer that the block `classification` of a suite adds to every case. Lists of
// scorers cannot name it.
const ClassificationKind = "classification"

// Classification are the keys of the block.
var Classification = shape.Block{
	Need: []string{"label", "classes"},
	Keys: []shape.Key{
		{Name: "label", Is: shape.Text, Doc: "The right class of a case: a template such as `{{.intent}}`."},
		{
			Name: "answer", Is: shape.OneOrMore(SelectStep.Shape()),
			Doc: "Which part of the answer is the class, as in `select` of a scorer; the whole answer when not given.",
		},
		{Name: "classes", Is: shape.Filled(shape.Text), Doc: "All classes, in the order of the confusion matrix."},
	},
}
