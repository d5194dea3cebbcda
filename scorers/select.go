package scorers

import (
	"errors"
	"fmt"
	"regexp"
	"regexp/syntax"
	"slices"
	"strings"

	"github.com/evalrun/evalrun/diag"
	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/yaml"
)

// selector picks a part of a text. Its finding says why there is none.
type selector struct {
	name string // for reasons
	pick func(text string) (string, *Finding)
}

// selectStep is a selector on the text from the step before, or on the whole raw candidate.
type selectStep struct {
	selector
	whole bool
	at    yaml.Node
}

// maxSelect bounds the texts that a selection reads and makes, in bytes.
const maxSelect = 4 << 20

func (a args) stepsOf(n yaml.Node, key string) []selectStep {
	if n.IsSequence() && len(n.Seq()) == 0 {
		n.Errorf("such as {jq: .name}", "`%s` needs at least one step", key)
	}
	var out []selectStep
	for _, step := range n.Items() {
		if s := a.selector(step, key); s != nil {
			out = append(out, selectStep{*s, step.Map().Has("response"), step})
		}
	}
	return out
}

// afterOuter appends the steps of a nested scorer to those of the outer one. Only the first step may read the
// whole candidate: later, it would discard what was selected before.
func afterOuter(outer *args, inner []selectStep) []selectStep {
	var before []selectStep
	if outer != nil {
		before = outer.steps
	}
	for i, step := range inner {
		if step.whole && len(before)+i > 0 {
			step.at.Map().Key("response").Errorf(
				"make it the first step", "`response` reads the whole answer, whatever was selected before it",
			)
		}
	}
	return slices.Concat(before, inner)
}

// selector reads one step; nil if it is invalid.
func (a args) selector(step yaml.Node, key string) *selector {
	m := step.Map(yaml.SelectStep.Names()...)
	if !step.IsMapping() {
		return nil
	}
	ways := slices.DeleteFunc(slices.Clone(yaml.SelectStep.One), func(way string) bool { return !m.Has(way) })
	switch {
	case len(ways) > 1:
		m.Key(ways[1]).
			Errorf(
				"a list applies several, one after the other: [{fence: json}, {jq: .name}]", "one way of selecting a step: %s or %s",
				ways[0], ways[1],
			)
		return nil
	case len(ways) == 0 && m.Misspells(yaml.SelectStep.One...):
		return nil
	case len(ways) == 0:
		step.Errorf("such as {jq: .name}", "`%s` needs jq, json, regex, fence, without or response", key)
		return nil
	case m.Has("group") && ways[0] != "regex":
		m.Key("group").Errorf("add `regex`, or remove `group`", "`group` goes with `regex`")
	}
	switch way := ways[0]; way {
	case "jq", "response":
		s := jqSelector(m.Get(way), a.Suite != nil && a.Suite.Untrusted())
		if s != nil && way == "response" {
			s.name += " of the response"
		}
		return s
	case "regex":
		return regexSelector(m.Get("regex"), m.Get("group"))
	case "json":
		return jsonSelector(m.Get("json"))
	case "without":
		return withoutSelector(m.Get("without"))
	}
	return fenceSelector(m.Get("fence"))
}

// selecting gives the scorer an answer that consists of the selected part. Without such a part, a text scorer
// fails, and `not:` keeps that.
func selecting(steps []selectStep, s AnswerScorer) AnswerScorer {
	if len(steps) == 0 || s == nil {
		return s
	}
	var names []string
	for _, step := range slices.Backward(steps) {
		names = append(names, step.name)
	}
	note := " (of " + strings.Join(names, " of ") + ")"
	return Func(func(a *Answer) Finding {
		if _, none := noText(a); none && (!steps[0].whole || !readable(a)) {
			return s.Score(a)
		}
		part := *a.Candidate
		if steps[0].whole {
			part.Text = candidateJSON(a.Candidate)
		}
		for _, step := range steps {
			text, missing := step.pick(part.Text)
			if missing != nil {
				return *missing
			}
			part.Text = text
		}
		one := *a
		one.Candidate = &part
		one.Partial = one.Partial || steps[0].whole // a selection from the whole response is not part of the blocked text
		f := s.Score(&one)
		f.Reason += note
		return f
	})
}

// looksAtText reports whether the kind of the entry, or a nested one, reads the text, so that `select` has a use.
func (t Table) looksAtText(entry yaml.Node) bool {
	if !entry.IsMapping() {
		return true // reported separately
	}
	for e := range entry.Map().Entries() {
		kind := t.Lookup(e.Name())
		switch {
		case kind == nil:
		case !kind.nests:
			return !kind.textless
		default:
			return slices.ContainsFunc(e.Value.Items(), t.looksAtText)
		}
	}
	return true
}

func missing(format string, args ...any) (string, *Finding) {
	return "", new(Uncheckable(format, args...))
}

func unscoredText(format string, args ...any) (string, *Finding) {
	return "", new(Unscored(format, args...))
}

func regexSelector(n, group yaml.Node) *selector {
	source := textOf(n)
	compiled, ok := patternAt(n, source)
	if !ok {
		return nil
	}
	re := compiled.re
	at, ok := groupOf(re, group)
	if !ok {
		return nil
	}
	name := "/" + written(source) + "/"
	if at > 0 && re.NumSubexp() > 1 {
		name = fmt.Sprintf("group %d of %s", at, name)
	}
	return &selector{name, func(text string) (string, *Finding) { return compiled.selectGroup(text, at, name) }}
}

func withoutSelector(n yaml.Node) *selector {
	compiled, ok := patternAt(n, textOf(n))
	if !ok {
		return nil
	}
	name := "the text without /" + written(compiled.re.String()) + "/"
	return &selector{name, func(text string) (string, *Finding) {
		if why := compiled.tooMuch(text, false); why != "" {
			return unscoredText("%s", why)
		}
		left := compiled.re.ReplaceAllLiteralString(text, "")
		if eval.IsBlank(left) {
			return missing("the selection, %s, is empty in %s", name, quote(text))
		}
		return left, nil
	}}
}

func (p *boundedRegexp) selectGroup(text string, at int, name string) (string, *Finding) {
	if why := p.tooMuch(text, true); why != "" {
		return unscoredText("%s", why)
	}
	m := p.re.FindStringSubmatchIndex(text)
	switch {
	case m == nil:
		return missing("the selection /%s/ does not match %s", written(p.re.String()), quote(text))
	case m[2*at] == m[2*at+1] || eval.IsBlank(text[m[2*at]:m[2*at+1]]): // an empty group selects nothing either
		return missing("the selection, %s, is empty in %s", name, quote(text[m[0]:m[1]]))
	}
	return text[m[2*at]:m[2*at+1]], nil
}

func fenceSelector(n yaml.Node) *selector {
	word := "any"
	if !n.IsBool() {
		word = textOf(n)
	} else if !n.Bool() {
		n.Errorf("leave `select` out to look at the whole answer", "`fence: false` selects nothing")
	}
	if word == "" || strings.ContainsAny(word, " \t\r\n`") {
		n.Errorf(
			"the word behind the opening ```, such as json; `any` is the first block whatever it is",
			"`%s` is not the word of a fenced block", word,
		)
		return nil
	}
	name := "the ```" + visibleText(word) + " block"
	none := "no ```" + visibleText(word) + " block"
	if word == "any" {
		word, name, none = "", "the fenced block", "no fenced block (```)"
	}
	return &selector{name, func(text string) (string, *Finding) {
		block, ok := fencedBlock(text, word)
		switch {
		case !ok:
			return missing("the answer has %s: %s", none, quote(text))
		case eval.IsBlank(block):
			return missing("%s of the answer is empty", name)
		}
		return block, nil
	}}
}

// written shows an expression of the suite on one line, keeping its backslashes.
func written(expression string) string {
	return strings.ReplaceAll(visibleText(expression), `\\`, `\`)
}

func patternAt(n yaml.Node, source string) (compiled *boundedRegexp, ok bool) {
	compiled, err := compilePattern(source)
	var wrong *syntax.Error
	switch {
	case errors.As(err, &wrong):
		n.ErrorfAt(
			max(0, strings.Index(source, wrong.Expr)),
			"evalrun takes RE2 syntax, which has no look-around and no back-references", "not a regular expression: %s",
			strings.TrimPrefix(err.Error(), "error parsing regexp: "),
		)
	case err != nil:
		n.Errorf("make it shorter", "not a regular expression that can be used: %s", err)
	case source == "":
		n.Errorf("such as 'answer: (.*)'", "`regex` needs an expression")
	default:
		return compiled, true
	}
	return nil, false
}

// groupOf is the number of the selected group: the one that the suite names, or else the first, if any.
func groupOf(re *regexp.Regexp, n yaml.Node) (at int, ok bool) {
	switch {
	case n.IsZero():
		return min(1, re.NumSubexp()), true
	case n.IsNumber():
		return n.Int(0, re.NumSubexp()), true
	}
	if at = re.SubexpIndex(n.Str()); at < 0 {
		names := slices.DeleteFunc(re.SubexpNames(), func(s string) bool { return s == "" })
		n.Errorf(diag.DidYouMean(n.Str(), names), "the expression has no group `%s`", n.Str())
	}
	return at, at >= 0
}
