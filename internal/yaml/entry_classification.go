package yaml

// ClassificationKind is the kind of the scorer that the block `classification` of a suite adds to every case. Lists of
// scorers cannot name it.
const ClassificationKind = "classification"

// Classification are the keys of the block.
var Classification = Block{
	Need: []string{"label", "classes"},
	Keys: []Key{
		{Name: "label", Is: Text, Doc: "The right class of a case: a template such as `{{.intent}}`."},
		{
			Name: "answer", Is: OneOrMore(SelectStep.Shape()),
			Doc: "Which part of the answer is the class, as in `select` of a scorer; the whole answer when not given.",
		},
		{Name: "classes", Is: Filled(Text), Doc: "All classes, in the order of the confusion matrix."},
	},
}
