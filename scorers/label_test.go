//go:build unix

package scorers_test

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/testing/expect"
	"github.com/evalrun/evalrun/scorers"
	"github.com/evalrun/evalrun/scorers/labels"
	"github.com/evalrun/evalrun/suite"
)

// saidOf is a file of labels about the answer Paris to the case id on t/p: each is a name and a word, with a comment or without.
func saidOf(t *testing.T, all ...string) *labels.File {
	t.Helper()
	dir := t.TempDir()
	sum := sha256.Sum256([]byte("Paris"))
	for _, one := range all {
		who, rest, _ := strings.Cut(one, " ")
		word, comment, _ := strings.Cut(rest, " ")
		expect.OK(t, labels.Append(dir, filepath.Join(dir, "lock"), &labels.Label{
			Suite: "s", CaseID: "id", Arm: "t/p", Repeat: 2, AnswerHash: hex.EncodeToString(sum[:]), Label: word, Comment: comment, Who: who,
			At: "2025-01-01T00:00:00Z",
		}))
	}
	f, err := labels.Read(dir, "s")
	expect.OK(t, err, f.Err())
	return f
}

func TestLabelPassesAsPeopleDecided(t *testing.T) {
	t.Parallel()
	trial := eval.Trial{Suite: "s", Case: "c", CaseID: "id", Arm: "t/p", Repeat: 1}
	const plain = "- label: true"
	both := saidOf(t, "Ada pass", "Ben fail too short")
	for _, test := range []struct {
		list   string
		said   *labels.File
		answer string
		want   string // the outcome, and what the reason says
	}{
		{plain, nil, "Paris", "u the labels of the suite are not known here"},
		{plain, saidOf(t), "Paris", "u has no label: `evalrun view --label` takes it"},
		{plain, saidOf(t, "Ada pass"), "Paris", "p Ada says pass"},
		{plain, saidOf(t, "Ada fail not this"), "Paris", `f Ada says fail: "not this"`},
		{plain, saidOf(t, "Ada pass"), "paris", "u has no label"},
		{plain, saidOf(t, "Ada pass"), "Paris\n", "u has no label"},
		{plain, saidOf(t, "Ada  only a remark"), "Paris", "u has no label"},
		{plain, both, "Paris", `u people are divided: Ada says pass; Ben says fail: "too short"`},
		{plain, saidOf(t, "Ada pass", "Ben fail", "Cleo fail"), "Paris", "f Ada says pass; Ben says fail; Cleo says fail"},
		{"- label: {by: Ada}", both, "Paris", "p Ada says pass"},
		{"- label: {by: [Ben]}", both, "Paris", "f Ben says fail"},
		{"- label: {by: [Cleo]}", both, "Paris", "u has no label of Cleo"},
		{"- label: {people: 3}", both, "Paris", "u 2 people labelled the answer, and 3 must"},
		{"- label: {people: 2}", saidOf(t, "Ada pass", "Ben pass"), "Paris", "p Ada says pass; Ben says pass"},
		{"- not: {label: true}", saidOf(t, "Ada fail"), "Paris", "p "},
		{"- any: [{label: true}, {equals: Paris}]", saidOf(t), "Paris", "p "},
		{"- {label: true, onError: fail}", saidOf(t), "Paris", "f "},
	} {
		s, diags := kept(test.list, nil, suite.Options{})
		expect.OK(t, diags.Err())
		if !s.TakesPeopleLabels() {
			t.Errorf("%s: got a suite that takes no labels, want labels", test.list)
		}
		for c := range s.Cases() {
			a := answer(test.answer)
			a.Context = &scorers.Context{Trial: trial, PeopleLabels: test.said}
			got, err := scorers.Builtin().Compile(c.Scorers[0]).Score(a)
			expect.OK(t, err)
			outcome := map[bool]string{true: "p", false: "f"}[got.Passed()]
			if got.Unscored() != "" {
				outcome = "u"
			}
			if word, reason, _ := strings.Cut(test.want, " "); outcome != word || !strings.Contains(got.Reason, reason) {
				t.Errorf("%s, %q: got %s, %s, want %s", test.list, test.answer, outcome, got.Reason, test.want)
			}
		}
	}
	for _, trial := range []eval.Trial{{CaseID: "other", Arm: "t/p"}, {CaseID: "id", Arm: "t/other"}} {
		s, _ := kept(plain, nil, suite.Options{})
		for c := range s.Cases() {
			a := answer("Paris")
			a.Context = &scorers.Context{Trial: trial, PeopleLabels: both}
			if got, _ := scorers.Builtin().Compile(c.Scorers[0]).Score(a); got.Unscored() == "" {
				t.Errorf("%+v: got %+v, want unscored", trial, got)
			}
		}
	}
}

// A label is about a whole chat, whichever turn and candidate a suite names.
func TestLabelIsAboutTheWholeChat(t *testing.T) {
	t.Parallel()
	turn := func(text string) eval.AnsweredCall {
		return eval.AnsweredCall{Response: eval.Response{Candidates: []eval.Candidate{{Text: text, FinishReason: "STOP"}}}}
	}
	turns := []eval.AnsweredCall{turn("one"), turn("two")}
	dir := t.TempDir()
	expect.OK(t, labels.Append(dir, filepath.Join(dir, "lock"), &labels.Label{
		Suite: "s", CaseID: "id", Arm: "t/p", Repeat: 1, AnswerHash: labels.HashOf(&turns[1].Response, turns), Label: labels.Pass, Who: "Ada",
		At: "2025-01-01T00:00:00Z",
	}))
	said, err := labels.Read(dir, "s")
	expect.OK(t, err)
	for _, list := range []string{"- label: true", "- {label: true, candidate: all}"} {
		s, diags := kept(list, nil, suite.Options{})
		expect.OK(t, diags.Err())
		for c := range s.Cases() {
			a := &scorers.Answer{Response: &turns[1].Response, Candidate: &turns[1].Candidates[0], Calls: turns}
			a.Context = &scorers.Context{Trial: eval.Trial{CaseID: "id", Arm: "t/p"}, PeopleLabels: said}
			got, err := scorers.Builtin().Compile(c.Scorers[0]).Score(a)
			expect.OK(t, err)
			if !got.Passed() {
				t.Errorf("%s: got %s, want pass", list, got.Reason)
			}
		}
	}
}

func TestLabelProblemsAreReported(t *testing.T) {
	t.Parallel()
	for list, want := range map[string]string{
		"- label: false":                   "looks at nothing",
		"- label: yes please":              "expected true or false",
		"- label: {}":                      "needs `by` or `people`",
		"- label: {by: []}":                "names no person",
		"- label: {by: ['']}":              "the name of the person is empty",
		"- label: {who: Ada}":              "unknown key `who`",
		"- label: {people: 0}":             "out of range",
		"- label: {by: Ada, people: 2}":    "more than `by` names",
		"- {label: true, select: {jq: .}}": "`label` does not look at the text of an answer",
	} {
		_, diags := kept(list, nil, suite.Options{})
		expect.Fails(t, list, diags.Err(), want)
	}
}

// labelFigures counts answers that differ little from a labelled one.
func labelFigures(t *testing.T) string {
	t.Helper()
	said := saidOf(t, "Ada pass")
	near := []string{"paris", "Paris.", "Paris ", " Paris", "Paris\n", "**Paris**", "\"Paris\"", "Pari\u200bs"}
	lost := 0
	for _, text := range append([]string{"Paris"}, near...) {
		a := answer(text)
		a.Context = &scorers.Context{Trial: eval.Trial{CaseID: "id", Arm: "t/p"}, PeopleLabels: said}
		if letter(score(t, "- label: true", a)) == "u" {
			lost++
		}
	}
	return fmt.Sprintf(
		"Of answers that differ from a labelled one in a sign, in case or in white space alone, %d of %d have no label. Labels come from "+
			"people, who err and disagree: `evalrun judge-check` and the page of labels report how far two of them agree.",
		lost, len(near),
	)
}
