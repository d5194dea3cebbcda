// Package entry has the entries of scorers lists as the suite writes them. Package suite reads them, and
// package scorers compiles them.
package entry

import (
	"math"

	"github.com/evalrun/evalrun/internal/shape"
	"github.com/evalrun/evalrun/internal/yamlnode"
)

// YAML is the entry. Texts in it are rendered.
type YAML struct {
	Args  yamlnode.Node // under the kind's key
	Entry yamlnode.Map  // the whole, for options next to the kind
}

// Self is the entry itself, by which package suite names what it holds without a type of internal/ in its signatures.
func (y YAML) Self() YAML { return y }

// MaxWeight keeps weighted means far from overflow.
const MaxWeight = math.MaxInt32

// SiblingKeys are allowed next to every kind of scorer; a nested scorer has fewer.
var SiblingKeys = shape.Block{Keys: []shape.Key{
	{Name: "name", Is: shape.Text, Doc: "Makes the score a named metric, which reports aggregate and gates can compare."},
	{Name: "weight", Is: shape.Number(0, MaxWeight), Doc: "What the score counts for under the case's `threshold`; 1 when not given."},
	{Name: "required", Is: shape.Bool, Doc: "Its failure fails the trial whatever `threshold` of the case says."},
	{Name: "threshold", Is: shape.Number(0, 1), Doc: "The value from which the score passes."},
	{Name: "arms", Is: shape.OneOrMore(shape.Text), Doc: "Globs of the arms that are scored; all when not given."},
	{
		Name: "candidate",
		Is:   shape.Either(shape.Word("first", "all"), shape.Int(0, math.MaxInt16)),
		Doc:  "Which candidates are scored: first (default), all, or a number from 0.",
	},
	{
		Name: "turn",
		Is:   shape.Either(shape.Word("last", "all"), shape.Int(1, math.MaxInt16)),
		Doc:  "Which turns of a live chat are scored: last, all, or a number from 1.",
	},
	{
		Name: "partial",
		Is:   shape.Word("allow"),
		Doc:  "With `allow`, the text of an answer that was blocked after a part of it is scored; without, it fails.",
	},
	{
		Name: "onError",
		Is:   shape.Word("fail", "unscored"),
		Doc: "What a check without a result means: the answer fails, or the score is unscored. Nested " +
			"scorers inherit it.",
	},
	{
		Name: "select",
		Is:   shape.OneOrMore(SelectStep.Shape()),
		Doc:  "Which part of the answer is scored. A list applies several steps, one after the other.",
	},
}}

// NestedKeys are allowed next to a kind inside any, all and not.
var NestedKeys = SiblingKeys.Only("candidate", "turn", "select", "partial", "onError")

// SelectStep picks a part of an answer.
var SelectStep = shape.Block{
	One: []string{"jq", "regex", "fence", "response", "json"},
	Keys: []shape.Key{
		{Name: "jq", Is: shape.Text, Doc: "A jq expression over the answer as JSON, such as .items[0].name"},
		{Name: "regex", Is: shape.Text, Doc: "A regular expression (RE2); see `group`."},
		{Name: "group", Is: shape.Text, Doc: "The group of `regex` that is taken: a number or a name."},
		{Name: "fence", Is: shape.Text, Doc: "The first fenced block with this word behind the fence, or `any`."},
		{Name: "response", Is: shape.Text, Doc: "A jq expression over the candidate as it came, or the response of an application."},
		{Name: "json", Is: shape.Word("first", "last", "all"), Doc: "The objects and arrays in a text; all of them as one array."},
	},
}
