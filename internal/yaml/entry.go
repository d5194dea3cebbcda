package yaml

import (
	"math"
)

// YAML is an entry of a list of scorers, as the suite has it, for package scorers. Texts in it are rendered.
type YAML struct {
	Args  Node // under the kind's key
	Entry Map  // the whole, for options next to the kind
}

// Self is the entry itself, by which package suite names what it holds without a type of internal/ in its signatures.
func (y YAML) Self() YAML { return y }

// MaxWeight keeps weighted means far from overflow.
const MaxWeight = math.MaxInt32

// SiblingKeys are allowed next to every kind of scorer; a nested scorer has fewer.
var SiblingKeys = Block{Keys: []Key{
	{Name: "name", Is: Text, Doc: "Makes the score a named metric, which reports aggregate and gates can compare."},
	{Name: "weight", Is: Number(0, MaxWeight), Doc: "What the score counts for under the case's `threshold`; 1 when not given."},
	{Name: "required", Is: Bool, Doc: "Its failure fails the trial whatever `threshold` of the case says."},
	{Name: "threshold", Is: Number(0, 1), Doc: "The value from which the score passes."},
	{Name: "arms", Is: OneOrMore(Text), Doc: "Globs of the arms that are scored; all when not given."},
	{
		Name: "candidate",
		Is:   Either(Word("first", "all"), Int(0, math.MaxInt16)),
		Doc:  "Which candidates are scored: first (default), all, or a number from 0.",
	},
	{
		Name: "turn",
		Is:   Either(Word("last", "all"), Int(1, math.MaxInt16)),
		Doc:  "Which turns of a live chat are scored: last, all, or a number from 1.",
	},
	{
		Name: "partial",
		Is:   Word("allow"),
		Doc:  "With `allow`, the text of an answer that was blocked after a part of it is scored; without, it fails.",
	},
	{
		Name: "onError",
		Is:   Word("fail", "unscored"),
		Doc: "What a check without a result means: the answer fails, or the score is unscored. Nested " +
			"scorers inherit it.",
	},
	{
		Name: "select",
		Is:   OneOrMore(SelectStep.Shape()),
		Doc:  "Which part of the answer is scored. A list applies several steps, one after the other.",
	},
}}

// NestedKeys are allowed next to a kind inside any, all and not.
var NestedKeys = SiblingKeys.Only("candidate", "turn", "select", "partial", "onError")

// SelectStep picks a part of an answer.
var SelectStep = Block{
	Name: "selectStep",
	One:  []string{"jq", "regex", "fence", "response", "json", "without"},
	Keys: []Key{
		{Name: "jq", Is: Text, Doc: "A jq expression over the answer as JSON, such as .items[0].name"},
		{Name: "regex", Is: Text, Doc: "A regular expression (RE2); see `group`."},
		{Name: "group", Is: Text, Doc: "The group of `regex` that is taken: a number or a name."},
		{Name: "fence", Is: Text, Doc: "The first fenced block with this word behind the fence, or `any`."},
		{Name: "response", Is: Text, Doc: "A jq expression over the candidate as it came, or the response of an application."},
		{Name: "json", Is: Word("first", "last", "all"), Doc: "The objects and arrays in a text; all of them as one array."},
		{Name: "without", Is: Text, Doc: "The text without all that a regular expression (RE2) matches."},
	},
}

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

// Names that the template of a judge can use in addition to variables. They win over variables of the case.
const (
	JudgeAnswer       = "answer"
	JudgeQuestion     = "question"
	JudgeConversation = "conversation"
)
