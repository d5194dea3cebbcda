package scorers

import (
	"cmp"
	"fmt"
	"strings"
	"sync"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"

	"github.com/evalrun/evalrun/diag"
	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/textmetric"
	"github.com/evalrun/evalrun/internal/yaml"
)

// textKeys are options of text scorers; some kinds take them among their arguments too.
var textKeys = sync.OnceValue(func() yaml.Block {
	return yaml.Block{Keys: []yaml.Key{
		{Name: "ignoreCase", Is: yaml.Bool, Doc: "Full Unicode case folding of both sides."},
		{Name: "trim", Is: yaml.Bool, Doc: "White space around the answer does not matter."},
		{Name: "normalize", Is: yaml.WordShape(unicodeForms()...), Doc: "The Unicode form of both sides; nfc when not given."},
	}}
})

func textOptions() []string { return textKeys().Names() }

const textOptionsDoc = "Options next to it: `ignoreCase: true` (full Unicode case folding), `trim: true` (white " +
	"space around the answer), `normalize: nfc | nfkc | none` (default nfc, on both sides)."

// unicodeForm is the Unicode form that texts are compared in.
type unicodeForm string

const (
	formNFC   unicodeForm = "nfc"
	formNFKC  unicodeForm = "nfkc"
	asWritten unicodeForm = "none"
)

func unicodeForms() []unicodeForm { return []unicodeForm{formNFC, formNFKC, asWritten} }

// fold normalizes two texts for comparison.
type fold struct {
	ignoreCase, trim bool
	normalize        unicodeForm
}

func (a args) fold() fold {
	return fold{
		ignoreCase: a.option("ignoreCase").Bool(), trim: a.option("trim").Bool(),
		normalize: cmp.Or(yaml.WordOf(a.option("normalize"), unicodeForms()...), formNFC),
	}
}

func (f fold) text(s string) string {
	s = f.form(s)
	if f.trim {
		s = strings.TrimSpace(s)
	}
	if f.ignoreCase {
		s = f.form(textmetric.FoldCase(s))
	}
	return s
}

func (f fold) form(s string) string {
	switch f.normalize {
	case asWritten:
		return s
	case formNFKC:
		return norm.NFKC.String(s)
	}
	return norm.NFC.String(s)
}

// wantedTexts reads the argument of a text scorer: a text or a list of texts. It refuses the empty text, which
// every answer contains.
func (a args) wantedTexts(list bool) []string {
	if a.Args.IsSequence() && !list {
		a.Args.Errorf("containsAll and containsAny take lists", "`%s` takes one text", a.Kind)
		return nil
	}
	if a.Args.IsMapping() {
		a.Args.Errorf("such as Paris", "`%s` takes a text, found a mapping", a.Kind)
		return nil
	}
	var out []string
	for _, n := range a.Args.Items() {
		text := textOf(n)
		a.checkBlank(n, text)
		out = append(out, text)
	}
	if a.Args.IsSequence() && len(out) == 0 {
		a.Args.Errorf("such as [Paris, France]", "`%s` needs at least one text", a.Kind)
	}
	return out
}

// checkBlank reports a text without visible characters where it has no effect.
func (a args) checkBlank(n yaml.Node, text string) {
	switch {
	case !eval.IsBlank(text) || !n.IsScalar() || n.IsNull():
		return
	case a.Kind == "equals":
		n.Warnf(
			"for an answer without text write `length: {chars: 0}`", "no answer equals a text that shows nothing: an answer without text fails",
		)
	case text == "":
		n.Errorf("write a text, or remove the scorer", "`%s` of an empty text always passes", a.Kind)
	case strings.HasPrefix(a.Kind, "contains") && !a.nestedIn:
		n.Warnf(
			"write a text that a good answer has", "`%s` of white space or invisible characters alone says little about an answer", a.Kind,
		)
	}
	if text != "" {
		a.changed()
	}
}

// changed records that this scorer's meaning changed, for kinds where that is not true of every scorer.
func (a args) changed() { a.needs.Versions = append(a.needs.Versions, a.Kind+".2") }

func texts() yaml.Shape { return yaml.OneOrMore(yaml.Text) }

// textOf is the text of a node, which may be a quoted empty one.
func textOf(n yaml.Node) string {
	if n.IsMapping() || n.IsSequence() || n.IsNull() {
		n.Errorf("put quotes around it", "expected a text, found %s", n.Describe())
		return ""
	}
	return n.Str()
}

// onText makes a scorer of the candidate's text. An answer without text always fails.
func onText(f fold, score func(got, folded string) Finding) AnswerScorer {
	return OnText(func(got string) Finding { return score(got, f.text(got)) })
}

func noText(a *Answer) (Finding, bool) {
	switch {
	case a.Candidate == nil && a.Response.PromptBlock() != "":
		return Uncheckable("there is no answer: the prompt was blocked (%s)", a.Response.PromptBlock()), true
	case a.Candidate == nil && len(a.Response.Candidates) == 0:
		return Uncheckable("there is no answer"), true
	case a.Candidate == nil:
		return Uncheckable("there is no candidate %d, only %d in all", a.Index, len(a.Response.Candidates)), true
	case a.Candidate.PartlyBlocked() != "" && !a.Partial:
		return Uncheckable("the answer was blocked (%s) after %s of text; `partial: allow` scores those", a.Candidate.Block(),
			diag.Count(utf8.RuneCountInString(a.Candidate.Text), "character")), true
	case !eval.IsBlank(a.Candidate.Text):
		return Finding{}, false
	}
	return Uncheckable("the answer has no text%s", whyEmpty(a.Candidate)), true
}

// whyEmpty explains why a candidate has no text, as far as the service says.
func whyEmpty(c *eval.Candidate) string {
	if block := c.Block(); block != "" {
		return fmt.Sprintf(": it was blocked (%s)", block)
	}
	if calls := c.FunctionCalls(); len(calls) > 0 {
		return ": it calls " + inReason.list(readCalls(calls))
	}
	shown := ""
	if c.Text != "" {
		shown = ", only white space or invisible characters: " + quoteHidden(c.Text)
	}
	if c.FinishReason != "" {
		shown += fmt.Sprintf(" (finish reason %s)", c.FinishReason)
	}
	return shown
}
