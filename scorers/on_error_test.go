package scorers_test

import (
	"strings"
	"testing"
	"testing/fstest"

	"github.com/evalrun/evalrun/diag"
	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/testing/expect"
	"github.com/evalrun/evalrun/scorers"
	"github.com/evalrun/evalrun/suite"
)

// unsafe is a scorer that cannot be determined of a plain answer.
const unsafe = "safety: {max: LOW}"

func TestOnErrorDecidesTheOutcome(t *testing.T) {
	t.Parallel()
	broken := strings.Repeat("[", 20000) + strings.Repeat("]", 20000) // nested deeper than Go reads
	checkShapes(t, []shapeTest{
		{"- {" + unsafe + "}", "x", "u"},
		{"- {" + unsafe + ", onError: unscored}", "x", "u"},
		{"- {" + unsafe + ", onError: fail}", "x", "f"},
		{"- {" + unsafe + ", onError: fail, threshold: 0}", "x", "f"},
		{"- {not: {" + unsafe + "}, onError: fail}", "x", "f"},
		{"- not: {" + unsafe + ", onError: fail}", "x", "f"},
		{"- not: {not: {" + unsafe + ", onError: fail}}", "x", "f"},
		{"- {any: [{" + unsafe + "}, {contains: x}], onError: fail}", "x", "p"},
		{"- {any: [{" + unsafe + "}, {contains: y}], onError: fail}", "x", "f"},
		{"- {all: [{" + unsafe + "}, {contains: x}], onError: fail}", "x", "f"},
		{"- {not: {any: [{" + unsafe + "}, {contains: y}]}, onError: fail}", "x", "f"},
		{"- {any: [{" + unsafe + ", onError: unscored}, {contains: y}], onError: fail}", "x", "f"}, // the outer one has the last word
		{"- {contains: x, onError: fail}", "x", "p"},
		{"- {json: valid, onError: fail}", broken, "f"},
		{"- {not: {json: valid}, onError: fail}", broken, "f"},
		{"- {not: {json: valid}}", broken, "u"},
		{"- {json: valid, onError: unscored}", broken, "u"},
		{"- {json: valid, onError: unscored}", broken[1:], "f"},
		{"- {jsonSchema: {schema: {type: object}}, onError: fail}", broken, "f"},
	})
	s := score(t, "- {"+unsafe+", onError: fail}", answer("x"))
	expect.Same(t, "the reason", s.Reason, "the answer has no safety rating for any category (a failure by `onError: fail`)")
	expect.Same(t, "the value", valueOf(s), 0)
}

// crashing is a kind whose scorer panics, or breaks, by the word that it is given.
func crashing() scorers.Table {
	own := scorers.New("crash", func(how string) (scorers.Func, error) {
		return func(*scorers.Answer) scorers.Finding {
			if how == "panic" {
				panic("oh")
			}
			return scorers.Broken("it is broken")
		}, nil
	})
	table, err := scorers.Builtin().With(scorers.Table{own})
	if err != nil {
		panic(err)
	}
	return table
}

// crashed scores an answer with an entry that may name the kind crash.
func crashed(t *testing.T, entry string) (eval.Score, error) {
	t.Helper()
	table := crashing()
	text := "version: 1\nname: s\ntargets: [{name: t, model: m}]\nprompts: [{name: p, text: x}]\n" +
		"cases: [{name: c, scorers: [" + entry + "]}]\n"
	var diags diag.List
	s := suite.Load(fstest.MapFS{"s.yaml": {Data: []byte(text)}}, "s.yaml", table, suite.Options{}, &diags)
	expect.OK(t, diags.Err())
	for c := range s.Cases() {
		return table.Compile(c.Scorers[0]).Score(answer("x"))
	}
	return eval.Score{}, nil
}

func TestOnErrorDecidesForABrokenScorer(t *testing.T) {
	t.Parallel()
	for entry, want := range map[string]string{
		"{crash: panic}":                                                   "error",
		"{crash: break}":                                                   "error",
		"{any: [{contains: x}, {crash: it}]}":                              "error",
		"{crash: panic, onError: fail}":                                    "f",
		"{crash: break, onError: fail}":                                    "f",
		"{crash: panic, onError: unscored}":                                "u",
		"{crash: break, onError: unscored}":                                "u",
		"{not: {crash: panic}, onError: fail}":                             "f",
		"{not: {crash: break}, onError: unscored}":                         "u",
		"{any: [{crash: panic}, {contains: x}], onError: fail}":            "p",
		"{any: [{crash: break}, {contains: x}], onError: unscored}":        "p",
		"{any: [{crash: break, onError: fail}, {contains: x}]}":            "p",
		"{all: [{crash: break}, {contains: x}], onError: unscored}":        "u",
		"{all: [{crash: break}, {contains: y}], onError: unscored}":        "f",
		"{any: [{all: [{crash: break}]}, {contains: y}], onError: fail}":   "f",
		"{any: [{not: {crash: panic}}, {contains: x}], onError: unscored}": "p",
	} {
		s, err := crashed(t, entry)
		got := letter(s)
		if err != nil {
			got = "error"
		}
		if got != want {
			t.Errorf("%s: %s, want %s (%s, %v)", entry, got, want, s.Reason, err)
		}
	}
}

// A program that was stopped with the run says nothing about the answer.
func TestOnErrorDoesNotWait(t *testing.T) {
	t.Parallel()
	c := compile(t, "- {"+unsafe+", onError: fail}")
	a := answer("x")
	stopped := make(chan struct{})
	a.Context = &scorers.Context{Abandoned: stopped}
	s, err := c.Score(a)
	expect.OK(t, err)
	expect.Same(t, "while the run waits", letter(s), "f")
	close(stopped)
	s, err = c.Score(a)
	expect.OK(t, err)
	expect.Same(t, "when it no longer waits", letter(s), "u")
}

func TestOnErrorProblemsAreReported(t *testing.T) {
	t.Parallel()
	for entry, want := range map[string]string{
		"- {contains: x, onError: fail}":             "",
		"- {contains: x, onError: fial}":             "8:32: `fial` is not known here",
		"- {contains: x, onError: pass}":             "8:32: `pass` is not known here",
		"- {contains: x, onError: [fail]}":           "8:32: expected a word, found a list",
		"- {contains: x, onError: \"\"}":             "8:32: `` is not known here",
		"- {contains: x, onErorr: fail}":             "8:23: unknown key `onErorr` next to `contains`",
		"- any: [{contains: x, onError: unscord}]":   "8:38: `unscord` is not known here",
		"- {any: [{contains: x}], onError: unscord}": "8:41: `unscord` is not known here",
		"- {contains: {onError: fail}}":              "8:20: `contains` takes a text, found a mapping",
		"- {json: {equals: 1, onError: fail}}":       "8:28: unknown key `onError`",
	} {
		checkReported(t, entry, want, reported(entry, suite.Options{}, nil))
	}
}
