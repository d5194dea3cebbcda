package scorers_test

import (
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/evalrun/evalrun/diag"
	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/testing/expect"
	"github.com/evalrun/evalrun/scorers"
	"github.com/evalrun/evalrun/suite"
)

// bounds are the arguments of a kind that takes a mapping.
type bounds struct {
	Least int      `json:"least"`
	Words []string `json:"words"`
}

func own(t testing.TB) scorers.Table {
	t.Helper()
	found := func(format string, args ...any) (scorers.Func, error) {
		return scorers.OnText(func(text string) scorers.Finding {
			want := fmt.Sprintf(format, args...)
			if !strings.Contains(text, want) {
				return scorers.Fail("there is no %s", want)
			}
			return scorers.Pass("there is %s", want)
		}), nil
	}
	table, err := scorers.Builtin().With(scorers.Table{
		scorers.New("aText", func(arg string) (scorers.Func, error) { return found("text %s", arg) }),
		scorers.New("aNumber", func(arg int) (scorers.Func, error) {
			if arg < 1 {
				return nil, errors.New("one at least")
			}
			return found("number %d", arg)
		}),
		scorers.New("aFlag", func(arg bool) (scorers.Func, error) { return found("flag %t", arg) }),
		scorers.New("aList", func(arg []float64) (scorers.Func, error) { return found("list %v", arg) }),
		scorers.New("aMapping", func(arg bounds) (scorers.Func, error) { return found("mapping %+v", arg) }),
		scorers.New("aValue", func(arg float64) (scorers.Func, error) {
			return func(*scorers.Answer) scorers.Finding { return scorers.Graded(arg*math.Inf(1), true, "") }, nil
		}),
		scorers.New("unsure", func(string) (scorers.Func, error) {
			return func(*scorers.Answer) scorers.Finding { return scorers.Unscored("who knows") }, nil
		}),
		scorers.New("nothingThere", func(string) (scorers.Func, error) {
			return func(*scorers.Answer) scorers.Finding { return scorers.Uncheckable("there is no %s", "table") }, nil
		}),
		scorers.New("panics", func(string) (scorers.Func, error) {
			return func(*scorers.Answer) scorers.Finding { panic("oh") }, nil
		}),
	})
	expect.OK(t, err)
	return table
}

// judge loads a suite with a scorer of that entry, and scores an answer. The message is of the problems of the suite.
func judge(t testing.TB, table scorers.Table, entry, text string) (score eval.Score, problems string, err error) {
	t.Helper()
	var diags diag.List
	suiteText := "version: 1\nname: s\ntargets: [{name: t, model: m}]\nprompts: [{name: p, text: '{{.n}}{{.s}}'}]\ncases:\n" +
		"  - name: c\n    vars: {n: 7, s: 1.10}\n    scorers:\n      - " + entry + "\n"
	s := suite.Load(fstest.MapFS{"s.yaml": {Data: []byte(suiteText)}}, "s.yaml", table, suite.Options{}, &diags)
	if diags.HasErrors() {
		return score, diags.Err().Error(), nil
	}
	for c := range s.Cases() {
		score, err = table.Compile(c.Scorers[0]).Score(answer(text))
	}
	return score, "", err
}

func TestCustomKindsGetTheirArguments(t *testing.T) {
	t.Parallel()
	table := own(t)
	for _, c := range []struct{ entry, answer, reason string }{ // a reason that begins with "there is" is a pass
		{"aText: 1.10", "text 1.10", "there is text 1.10"},
		{"aText: '{{.s}}'", "text 1.10", "there is text 1.10"},
		{"aText: ''", "text ", "there is text "},
		{"aText: é\u0301", "text é\u0301", "there is text é\u0301"},
		{"aNumber: 7", "number 7", "there is number 7"},
		{"aNumber: '{{.n}}'", "number 7", "there is number 7"},
		{"aNumber: 7", "number 8", "there is no number 7"},
		{"aFlag: false", "flag false", "there is flag false"},
		{"aList: [1, 2.5]", "list [1 2.5]", "there is list [1 2.5]"},
		{"aMapping: {least: 2, words: ['{{.n}}', b]}", "mapping {Least:2 Words:[7 b]}", "there is mapping {Least:2 Words:[7 b]}"},
		{"aMapping: {}", "mapping {Least:0 Words:[]}", "there is mapping {Least:0 Words:[]}"},
		{"not: {aText: x}", "y", "there is no text x"},
		{"{aText: x, select: {regex: '<(.*)>'}}", "text x <y>", "there is no text x (of /<(.*)>/)"},
		{"aText: x", "", "the answer has no text (finish reason STOP)"},
	} {
		score, problems, err := judge(t, table, c.entry, c.answer)
		if err != nil || problems != "" || !strings.HasSuffix(score.Reason, c.reason) {
			t.Errorf("%s: %q %v %q, want %q", c.entry, score.Reason, err, problems, c.reason)
		}
		expect.Same(t, c.entry+": passed", score.Passed(), saysPass(c.reason) || strings.HasPrefix(c.entry, "not"))
	}
}

func saysPass(reason string) bool {
	return strings.HasPrefix(reason, "there is ") && !strings.HasPrefix(reason, "there is no")
}

func TestCustomKindsThatFailGiveNoValue(t *testing.T) {
	t.Parallel()
	table := own(t)
	for entry, want := range map[string]string{
		"aValue: 1": "its value is +Inf", "aValue: -1": "its value is -Inf", "aValue: 0": "its value is NaN",
		"panics: x": "the scorer panics failed: oh",
	} {
		if _, problems, err := judge(t, table, entry, "x"); err == nil || problems != "" || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v %q, want %q", entry, err, problems, want)
		}
	}
	if score, _, err := judge(t, table, "unsure: x", "x"); err != nil || isScored(score) || score.Unscored() != "who knows" {
		t.Errorf("%+v %v, want no value, and why", score, err)
	}
}

// Where there is nothing to check, `not:` makes no pass of it.
func TestCustomKindsFailWhatCannotBeChecked(t *testing.T) {
	t.Parallel()
	table := own(t)
	for _, entry := range []string{"nothingThere: x", "not: {nothingThere: x}"} {
		score, problems, err := judge(t, table, entry, "x")
		if err != nil || problems != "" || score.Passed() || !strings.HasSuffix(score.Reason, "there is no table") {
			t.Errorf("%s: got passed %t, %q, %v %q, want a failure: there is no table", entry, score.Passed(), score.Reason, err, problems)
		}
	}
}

// Problems of the arguments of a custom kind are reported like those of the built-in ones.
func TestCustomKindsCheckTheirArguments(t *testing.T) {
	t.Parallel()
	table := own(t)
	for entry, want := range map[string]string{
		"aText: [x]":                       "s.yaml:9:16: expected a text, found a list",
		"aText:":                           "`aText` needs an argument",
		"aNumber: 0":                       "s.yaml:9:18: `aNumber`: one at least",
		"aNumber: '{{.s}}'":                `expected a whole number, found "1.10"`,
		"aNumber: 1.5":                     "s.yaml:9:18: expected a whole number, found the number 1.5",
		"aNumber: yes":                     `expected a whole number, found "yes"`,
		"aNumber: 99999999999999999999999": "expected a whole number, found the number 99999999999999999999999",
		"aFlag: 1":                         "expected true or false, found the number 1",
		"aList: x":                         `expected a list, found "x"`,
		"aMapping: x":                      `expected a mapping, found "x"`,
		"aMapping: {leest: 2}":             "unknown field \"leest\"",
		"aMapping: {least: two}":           `s.yaml:9:27: expected a whole number, found "two"`,
		"aMapping: {words: {a: b}}":        "s.yaml:9:27: expected a list, found a mapping",
		"{aText: x, ignoreCase: true}":     "unknown key `ignoreCase` next to `aText`",
		"aTxet: x":                         "unknown scorer kind `aTxet`",
	} {
		if _, problems, err := judge(t, table, entry, "x"); err != nil || !strings.Contains(problems, want) {
			t.Errorf("%s: %q %v, want %q", entry, problems, err, want)
		}
	}
}

func TestCustomKindsHaveNamesOfTheirOwn(t *testing.T) {
	t.Parallel()
	kind := func(name string) scorers.Kind {
		return scorers.New(name, func(string) (scorers.Func, error) { return nil, nil })
	}
	for want, kinds := range map[string]scorers.Table{
		"`equals` already: choose another name": {kind("equals")},
		"`mine` already":                        {kind("mine"), kind("mine")},
		"`weight` is an option of scorers, and no name for a kind: choose another": {kind("weight")},
		"`use` is an option":        {kind("use")},
		"`ignoreCase` is an option": {kind("ignoreCase")},
		`"" is not a name`:          {kind("")},
		"\"two words\" is not a name for a kind of scorer: letters, digits, `_` and `-` are allowed, and a letter comes first": {
			kind("two words"),
		},
		`"a\nb" is not a name`:                           {kind("a\nb")},
		"`literal` does nothing: make it by scorers.New": {{Name: "literal"}},
	} {
		if _, err := scorers.Builtin().With(kinds); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %[2]v, want %[1]s", want, err)
		}
	}
	if table, err := scorers.Builtin().With(nil); err != nil || len(table) != len(scorers.Builtin()) {
		t.Errorf("got %v, %v, want as many", len(table), err)
	}
}

// Arguments come from files that may be hostile.
func FuzzOwnKinds(f *testing.F) {
	for _, s := range []string{
		"aNumber: 7", "aMapping: {least: 1e400, words: [!!binary x]}", "aList: [.inf, 0x1F, ~]", "aText: &a [*a]",
		"aMapping: {least: {{.n}}}",
	} {
		f.Add(s)
	}
	table := own(f)
	f.Fuzz(func(t *testing.T, entry string) {
		_, _, _ = judge(t, table, strings.ReplaceAll(entry, "\n", "\n        "), "text") // it only must not panic
	})
}
