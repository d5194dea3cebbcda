package scorers

import (
	"cmp"
	"slices"
	"strings"

	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/yaml"
)

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
			Example: "- contains: Andorra la Vella", takes: yaml.Text, compile: oneText("contain", "contains", strings.Contains),
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
			Doc: "Takes an expression in RE2 syntax. It matches anywhere; anchor it with `^` and `$`, or `(?m)` for lines. " +
				textOptionsDoc,
			Example: "- regex: '(?i)\\bla vella\\b'", takes: yaml.Text, compile: compileRegex,
		},
	}
}

func compileEquals(a args) AnswerScorer {
	f, want := a.fold(), a.wantedTexts(true)
	folded := make([]string, len(want)) // the whole answer is compared, so both sides are trimmed
	for i, w := range want {
		folded[i] = f.text(w)
	}
	return onText(f, func(got, body string) Finding {
		if slices.Contains(folded, body) {
			return Pass("the answer is %s", quote(got))
		}
		out := Fail("expected %s, got %s%s", quoteAny(want), quote(got), cmp.Or(f.formNote(got, want, equalTexts), slight(body, folded)))
		if len(want) == 1 && (strings.Contains(got, "\n") || len(got) > maxQuoted) {
			out.Diff = eval.TextDiff(want[0], got)
		}
		return out
	})
}

// foldAll folds texts to search for. Their surrounding white space is significant.
func foldAll(f fold, texts []string) []string {
	f.trim = false
	out := make([]string, len(texts))
	for i, t := range texts {
		out[i] = f.text(t)
	}
	return out
}

func oneText(verb, verbs string, test textTest) func(args) AnswerScorer {
	return func(a args) AnswerScorer { return anyOf(a, a.wantedTexts(false), verb, verbs, test) }
}

func anyText(verb, verbs string, test textTest) func(args) AnswerScorer {
	return func(a args) AnswerScorer { return anyOf(a, a.wantedTexts(true), verb, verbs, test) }
}

func anyOf(a args, want []string, verb, verbs string, test textTest) AnswerScorer {
	f := a.fold()
	folded := foldAll(f, want)
	return onText(f, func(got, text string) Finding {
		for i, w := range folded {
			if test(text, w) {
				return Pass("the answer %s %s", verbs, quote(want[i]))
			}
		}
		return Fail("the answer does not %s %s: %s%s", verb, quoteAny(want), quote(got), f.formNote(got, want, test))
	})
}

func compileContainsAll(a args) AnswerScorer {
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
			return Pass("the answer contains all of %s", quoteList(want))
		}
		return Fail("the answer does not contain %s: %s%s", quoteList(missing), quote(got), f.formNote(got, missing, strings.Contains))
	})
}

func compileRegex(a args) AnswerScorer {
	pattern := textOf(a.Args)
	if pattern == "" {
		a.Args.Errorf("such as '^[0-9]+$'", "`regex` needs an expression")
		return nil
	}
	f := a.fold()
	source := f.form(pattern)
	if f.ignoreCase {
		source = "(?i)" + source
	}
	f.ignoreCase = false // the expression itself handles case
	compiled, err := compilePattern(source)
	if err != nil {
		a.Args.Errorf("evalrun takes RE2 syntax, which has no look-around and no back-references", "not a regular expression: %s",
			strings.TrimPrefix(err.Error(), "error parsing regexp: "))
		return nil
	}
	return onText(f, func(got, text string) Finding {
		if why := compiled.tooMuch(text, false); why != "" {
			return Unscored("%s", why)
		}
		if m := compiled.re.FindStringIndex(text); m != nil {
			return Pass("/%s/ matches %s", pattern, quote(text[m[0]:m[1]]))
		}
		return Fail("/%s/ does not match %s", pattern, quote(got))
	})
}
