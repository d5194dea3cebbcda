package scorers

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"

	"github.com/evalrun/evalrun/diag"
	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/blank"
	"github.com/evalrun/evalrun/internal/shape"
	"github.com/evalrun/evalrun/internal/textmetric"
	"github.com/evalrun/evalrun/internal/yamlnode"
)

// textKeys may be next to scorers of text; some kinds take them among their arguments too.
func textKeys() shape.Block {
	return shape.Block{Keys: []shape.Key{
		{Name: "ignoreCase", Is: shape.Bool, Doc: "Full Unicode case folding of both sides."},
		{Name: "trim", Is: shape.Bool, Doc: "White space around the answer does not matter."},
		{Name: "normalize", Is: shape.Word("nfc", "nfkc", "none"), Doc: "The Unicode form of both sides; nfc when not given."},
	}}
}

func textOptions() []string { return textKeys().Names() }

const textOptionsDoc = "Options next to it: `ignoreCase: true` (full Unicode case folding), `trim: true` (white " +
	"space around the answer), `normalize: nfc | nfkc | none` (default nfc, on both sides)."

func textKinds() []Kind {
	return []Kind{
		{
			Name: "equals", Summary: "the answer is this text, or one of these", Options: textOptions(),
			Doc:     "Takes a text or a list of texts. Passes when the whole answer is one of them. " + textOptionsDoc,
			Example: "- equals: Paris\n  ignoreCase: true\n  trim: true", takes: texts(), compile: compileEquals,
		},
		{
			Name: "contains", Summary: "the answer contains this text", Options: textOptions(),
			Doc:     "Takes a text. " + textOptionsDoc,
			Example: "- contains: Andorra la Vella", takes: shape.Text, compile: oneText("contain", "contains", strings.Contains),
		},
		{
			Name: "containsAll", Summary: "the answer contains every one of these texts", Options: textOptions(),
			Doc:     "Takes a list of texts. " + textOptionsDoc,
			Example: "- containsAll: [name, price]", takes: texts(), compile: compileContainsAll,
		},
		{
			Name: "containsAny", Summary: "the answer contains at least one of these texts", Options: textOptions(),
			Doc:     "Takes a list of texts. " + textOptionsDoc,
			Example: "- containsAny: [sorry, cannot]", takes: texts(), compile: anyText("contain", "contains", strings.Contains),
		},
		{
			Name: "startsWith", Summary: "the answer begins with this text, or one of these", Options: textOptions(),
			Doc:     "Takes a text or a list of texts. " + textOptionsDoc,
			Example: "- startsWith: Dear", takes: texts(), compile: anyText("begin with", "begins with", strings.HasPrefix),
		},
		{
			Name: "endsWith", Summary: "the answer ends with this text, or one of these", Options: textOptions(),
			Doc:     "Takes a text or a list of texts. " + textOptionsDoc,
			Example: "- endsWith: \".\"\n  trim: true", takes: texts(), compile: anyText("end with", "ends with", strings.HasSuffix),
		},
		{
			Name: "regex", Summary: "a regular expression (RE2) matches somewhere in the answer", Options: textOptions(),
			Version: 2,
			Doc: "Takes an expression in RE2 syntax, which runs in linear time. It matches anywhere; anchor it with `^` and `$`, or `(?m)` for " +
				"lines. " +
				textOptionsDoc,
			Example: "- regex: '(?i)\\bla vella\\b'", takes: shape.Text, compile: compileRegex,
		},
		lengthKind(),
		levenshteinKind(),
	}
}

// fold brings two texts into the form in which they are compared.
type fold struct {
	ignoreCase, trim bool
	normalize        string
}

func (a args) fold() fold {
	f := fold{ignoreCase: a.option("ignoreCase").Bool(), trim: a.option("trim").Bool(), normalize: "nfc"}
	if n := a.option("normalize"); !n.IsZero() {
		f.normalize = n.Word("nfc", "nfkc", "none")
	}
	return f
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
	case "none":
		return s
	case "nfkc":
		return norm.NFKC.String(s)
	}
	return norm.NFC.String(s)
}

// wantedTexts reads the argument of a text scorer: a text or a list of texts. An
// empty text would be found in every answer.
func (a args) wantedTexts(list bool) []string {
	if a.Args.IsSequence() && !list {
		a.Args.Errorf("containsAll and containsAny take lists", "`%s` takes one text", a.Kind)
		return nil
	}
	if a.Args.IsMapping() {
		a.Args.Errorf("", "`%s` takes a text, found a mapping", a.Kind)
		return nil
	}
	var out []string
	for _, n := range a.Args.Items() {
		text := textOf(n)
		a.checkBlank(n, text)
		out = append(out, text)
	}
	if a.Args.IsSequence() && len(out) == 0 {
		a.Args.Errorf("", "`%s` needs at least one text", a.Kind)
	}
	return out
}

// checkBlank reports a text that shows nothing, where it decides nothing.
func (a args) checkBlank(n yamlnode.Node, text string) {
	switch {
	case !blank.Is(text) || !n.IsScalar() || n.IsNull():
		return
	case a.Kind == "equals":
		n.Warnf("", "no answer equals a text that shows nothing: an answer without text fails")
	case text == "":
		n.Errorf("", "`%s` of an empty text always passes", a.Kind)
	case strings.HasPrefix(a.Kind, "contains") && !a.nestedIn:
		n.Warnf("", "`%s` of white space or invisible characters alone says little about an answer", a.Kind)
	}
	if text != "" {
		a.changed()
	}
}

// changed notes that the scorer means something else than in the first version, where not every scorer of its kind
// does.
func (a args) changed() { a.needs.Versions = append(a.needs.Versions, a.Kind+".2") }

// texts are one or several.
func texts() shape.Shape { return shape.OneOrMore(shape.Text) }

// textOf is the text of a node, which may be the empty one in quotes.
func textOf(n yamlnode.Node) string {
	if n.IsMapping() || n.IsSequence() || n.IsNull() {
		n.Errorf("", "expected a text, found %s", n.Describe())
		return ""
	}
	return n.Str()
}

// onText makes a scorer of a check that looks at the candidate's text. An answer without
// text fails, whatever the check is.
func onText(f fold, check func(got, folded string) Finding) Scorer {
	return Func(func(a *Answer) Finding {
		if missing, ok := noText(a); ok {
			return missing
		}
		return check(a.Candidate.Text, f.text(a.Candidate.Text))
	})
}

func noText(a *Answer) (Finding, bool) {
	switch {
	case a.Candidate == nil && a.Response.PromptBlock() != "":
		return without("there is no answer: the prompt was blocked (%s)", a.Response.PromptBlock()), true
	case a.Candidate == nil && len(a.Response.Candidates) == 0:
		return without("there is no answer"), true
	case a.Candidate == nil:
		return without("there is no candidate %d, only %d in all", a.Index, len(a.Response.Candidates)), true
	case a.Candidate.PartlyBlocked() != "" && !a.Partial:
		return without("the answer was blocked (%s) after %s of text; `partial: allow` scores those", a.Candidate.Block(),
			diag.Count(utf8.RuneCountInString(a.Candidate.Text), "character")), true
	case !blank.Is(a.Candidate.Text):
		return Finding{}, false
	}
	return without("the answer has no text%s", whyEmpty(a.Candidate)), true
}

// whyEmpty is why a candidate has no text, as far as the service says.
func whyEmpty(c *eval.Candidate) string {
	if block := c.Block(); block != "" {
		return fmt.Sprintf(": it was blocked (%s)", block)
	}
	if calls := c.Calls(); len(calls) > 0 {
		return ": it calls " + showCalls(calls)
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

// without is a failure that `not:` does not turn into a pass. It is for an answer without anything to look at, one
// that cannot be read, or one that is not compared because its length alone decides.
func without(format string, args ...any) Finding {
	f := no(format, args...)
	f.NoText = true
	return f
}

func compileEquals(a args) Scorer {
	f, want := a.fold(), a.wantedTexts(true)
	folded := make([]string, len(want)) // both sides are trimmed: the whole answer is compared
	for i, w := range want {
		folded[i] = f.text(w)
	}
	return onText(f, func(got, text string) Finding {
		if slices.Contains(folded, text) {
			return yes("the answer is %s", quote(got))
		}
		out := no("expected %s, got %s%s", quoteAny(want), quote(got), cmp.Or(f.formNote(got, want, equalTexts), slight(text, folded)))
		if len(want) == 1 && (strings.Contains(got, "\n") || len(got) > maxQuoted) {
			out.Diff = fmt.Sprintf("expected: %s\nactual:   %s", want[0], got)
		}
		return out
	})
}

// slight says when two texts differ only in what an option would ignore.
func slight(got string, want []string) string {
	for _, w := range want {
		switch {
		case strings.TrimSpace(got) == strings.TrimSpace(w):
			return " (they differ only in white space around them; `trim: true` ignores it)"
		case textmetric.FoldCase(got) == textmetric.FoldCase(w):
			return " (they differ only in upper and lower case; `ignoreCase: true` ignores it)"
		case blank.Visible(got) == blank.Visible(w):
			return fmt.Sprintf(" (they differ only in invisible characters: %s in the answer)", cmp.Or(hiddenIn(got), "none"))
		}
	}
	return ""
}

// foldAll folds texts that are looked for inside an answer: white space around them is meant.
func foldAll(f fold, texts []string) []string {
	f.trim = false
	out := make([]string, len(texts))
	for i, t := range texts {
		out[i] = f.text(t)
	}
	return out
}

type textTest func(text, want string) bool

func equalTexts(text, want string) bool { return text == want }

func oneText(verb, verbs string, test textTest) func(args) Scorer {
	return func(a args) Scorer { return anyOf(a, a.wantedTexts(false), verb, verbs, test) }
}

func anyText(verb, verbs string, test textTest) func(args) Scorer {
	return func(a args) Scorer { return anyOf(a, a.wantedTexts(true), verb, verbs, test) }
}

func anyOf(a args, want []string, verb, verbs string, test textTest) Scorer {
	f := a.fold()
	folded := foldAll(f, want)
	return onText(f, func(got, text string) Finding {
		for i, w := range folded {
			if test(text, w) {
				return yes("the answer %s %s", verbs, quote(want[i]))
			}
		}
		return no("the answer does not %s %s: %s%s", verb, quoteAny(want), quote(got), f.formNote(got, want, test))
	})
}

func compileContainsAll(a args) Scorer {
	f, want := a.fold(), a.wantedTexts(true)
	folded := foldAll(f, want)
	return onText(f, func(got, text string) Finding {
		var missing []string
		for i, w := range folded {
			if !strings.Contains(text, w) {
				missing = append(missing, want[i])
			}
		}
		if len(missing) == 0 {
			return yes("the answer contains all of %s", quoteList(want))
		}
		return no("the answer does not contain %s: %s%s", quoteList(missing), quote(got), f.formNote(got, missing, strings.Contains))
	})
}

func compileRegex(a args) Scorer {
	pattern := textOf(a.Args)
	if pattern == "" {
		a.Args.Errorf("", "`regex` needs an expression")
		return nil
	}
	f := a.fold()
	source := f.form(pattern)
	if f.ignoreCase {
		source = "(?i)" + source
	}
	f.ignoreCase = false // the expression ignores case by itself
	compiled, err := compilePattern(source)
	if err != nil {
		a.Args.Errorf("evalrun takes RE2 syntax, which has no look-around and no back-references", "not a regular expression: %s",
			strings.TrimPrefix(err.Error(), "error parsing regexp: "))
		return nil
	}
	return onText(f, func(got, text string) Finding {
		if why := compiled.tooMuch(text, false); why != "" {
			return unscored("%s", why)
		}
		if m := compiled.re.FindStringIndex(text); m != nil {
			return yes("/%s/ matches %s", pattern, quote(text[m[0]:m[1]]))
		}
		return no("/%s/ does not match %s", pattern, quote(got))
	})
}
