package suite_test

import (
	"strings"
	"testing"

	"github.com/evalrun/evalrun/diag"
	"github.com/evalrun/evalrun/internal/testing/expect"
	"github.com/evalrun/evalrun/suite"
)

const fourArms = `version: 1
name: s
targets: [{name: pro, model: m}, {name: pro-warm, model: m}]
prompts: [{name: direct, text: x}, {name: chat, turns: [{user: x}]}]
`

// armsOf are the arms of each case, and the kinds of scorers on each of them.
func armsOf(t *testing.T, text string) map[string][]string {
	t.Helper()
	s, said := loaded(text)
	for _, d := range said {
		if d.Severity == diag.Error {
			t.Fatalf("got %v, want no problem", d)
		}
	}
	out := map[string][]string{}
	for c := range s.Cases() {
		out[c.Name] = []string{}
		for _, arm := range c.Arms {
			shown := arm.Name()
			for _, sc := range c.ScorersFor(arm) {
				shown += " " + sc.Kind
			}
			out[c.Name] = append(out[c.Name], shown)
		}
	}
	return out
}

// In globs of arms a star matches any characters, the slash too; several are alternatives.
func TestGlobsOfArmsMatchAcrossSlashes(t *testing.T) {
	t.Parallel()
	for globs, want := range map[string][]string{
		`"*"`:                             {"pro/direct", "pro/chat", "pro-warm/direct", "pro-warm/chat"},
		`"pro*"`:                          {"pro/direct", "pro/chat", "pro-warm/direct", "pro-warm/chat"},
		`"pro/*"`:                         {"pro/direct", "pro/chat"},
		`"*/chat"`:                        {"pro/chat", "pro-warm/chat"},
		`"p*m/d*"`:                        {"pro-warm/direct"},
		`"*-*"`:                           {"pro-warm/direct", "pro-warm/chat"},
		`"pro/chat"`:                      {"pro/chat"},
		`["pro-warm/chat", "pro/direct"]`: {"pro/direct", "pro-warm/chat"},
		`["*/chat", "pro/*"]`:             {"pro/direct", "pro/chat", "pro-warm/chat"},
	} {
		got := armsOf(t, fourArms+"cases: [{name: c, arms: "+globs+", scorers: [{contains: x}]}]\n")
		for i := range want {
			want[i] += " contains"
		}
		expect.Same(t, globs, got, map[string][]string{"c": want})
	}
}

func TestArmsOfPromptsAndScorersAreSelected(t *testing.T) {
	t.Parallel()
	text := strings.Replace(fourArms, "name: chat,", `name: chat, targets: ["*-warm"],`, 1) + `
defaults:
  arms: ["pro/*", "*/chat"]
  scorers: [{contains: x, arms: ["*/chat"]}, {equals: x}]
cases:
  - {name: inherits}
  - {name: own, arms: ["*/direct"], scorers: [{regex: x, arms: ["pro/*"]}]}
`
	want := map[string][]string{
		"inherits": {"pro/direct equals", "pro-warm/chat contains equals"},
		"own":      {"pro/direct equals regex", "pro-warm/direct equals"},
	}
	expect.Same(t, "result", armsOf(t, text), want)
}

// Rules that a gate leaves out judge nothing, except for errors: none are allowed then.
func TestAGateJudgesOnlyWhatItSays(t *testing.T) {
	t.Parallel()
	s, said := loaded(with("gate: {passRate: {min: 0.5}}"))
	if len(said) > 0 {
		t.Fatalf("got %v, want no problem", said)
	}
	if g := s.Gate; *g.PassRateMin != 0.5 || g.ErrorsMax != nil || g.MostErrors() != 0 || g.BlockedMax != nil || g.MaxQuarantined != nil ||
		g.Baseline != nil || len(g.Means) > 0 {
		t.Errorf("got %+v, want the pass rate and no errors", g)
	}
	s, said = loaded(with("gate: {errors: {max: 0.25}}"))
	if len(said) > 0 || s.Gate.MostErrors() != 0.25 || s.Gate.PassRateMin != nil {
		t.Errorf("got %+v, %v, want errors alone", s.Gate, said)
	}
	if s, _ := loaded(with("description: none")); s.Gate != nil {
		t.Errorf("without a block: got %+v, want no gate", s.Gate)
	}
	text, pos := marked(with("gate: «{}"))
	if _, said := loaded(text); len(said) != 1 || said[0].Pos != pos || said[0].Severity != diag.Error {
		t.Errorf("a block without a rule: got %v, want a problem at %s", said, pos)
	}
}

// Limits that a suite does not give stay open for flags and defaults.
func TestLimitsThatAreNotGivenStayOpen(t *testing.T) {
	t.Parallel()
	s, said := loaded(
		with("limits: {concurrency: 3, budget: {calls: 7}, timeout: 1m30s, countTokens: never, models: {m: {requestsPerMinute: 60}}}"),
	)
	if len(said) > 0 {
		t.Fatalf("got %v, want no problem", said)
	}
	want := suite.Limits{
		Concurrency: 3, BudgetCalls: 7, Timeout: 90e9, CountTokens: suite.CountNever,
		Models: []suite.ModelLimits{{Model: "m", RequestsPerMinute: 60}},
	}
	expect.Same(t, "result", s.Limits, want)
}

// A chat begins and ends with the user, and the two take turns.
func TestTurnsOfAChatMustAlternate(t *testing.T) {
	t.Parallel()
	for turns, want := range map[string]string{ // what is wrong at the mark; "" for nothing
		`[{user: a}]`:                                     "",
		`[{user: a}, {model: b}, {user: c}]`:              "",
		`[{user: a}, «{user: b}]`:                         "turns alternate between user and model",
		`[«{model: a}, {user: b}]`:                        "the first turn is the user's",
		`[{user: a}, {model: b}, «{model: c}, {user: d}]`: "turns alternate between user and model",
		`[{user: a}, «{model: b}]`:                        "the last turn is the user's",
		`«[]`:                                             "there are no turns",
		`[«{user: a, model: b}]`:                          "a turn is one of user and model",
		`[«{system: a}]`:                                  "unknown key `system`",
	} {
		text, pos := marked(with("prompts: [{name: p, turns: " + turns + "}]"))
		_, said := loaded(text)
		if !strings.Contains(turns, "«") {
			if len(said) > 0 {
				t.Errorf("%s: %v, want none", turns, said)
			}
			continue
		}
		found := false
		for _, d := range said {
			found = found || d.Pos.Line == pos.Line && d.Severity == diag.Error && strings.Contains(d.Message, want)
		}
		if !found {
			t.Errorf("%s: got %v, want a problem with %q", turns, said, want)
		}
	}
}

// The same suite text gives the same cases in the same order, each with an id of its own.
func TestCasesAreTheSameEachTime(t *testing.T) {
	t.Parallel()
	text := fourArms + `cases:
  - {name: "m {{.a}}{{.b}}", matrix: {a: [1, 2], b: [x, y]}, scorers: [{contains: "{{.a}}"}]}
  - {name: "e {{.a}}", each: [{a: 1}, {a: 2}], scorers: [{contains: "{{.a}}"}]}
  - {name: plain, scorers: [{contains: x}]}
`
	list := func() (names, ids []string) {
		s, said := loaded(text)
		if len(said) > 0 {
			t.Fatalf("got %v, want no problem", said)
		}
		for c := range s.Cases() {
			names, ids = append(names, c.Name), append(ids, c.ID)
		}
		expect.Same(t, "cases", s.CaseCount(), len(names))
		return names, ids
	}
	names, ids := list()
	expect.Same(t, "names", names, []string{"m 1x", "m 1y", "m 2x", "m 2y", "e 1", "e 2", "plain"})
	_, second := list()
	expect.Same(t, "ids of the same text", second, ids)
	first := map[string]string{}
	for i, id := range ids {
		if other, twice := first[id]; twice {
			t.Errorf("%q and %q: got the same id, want two", names[i], other)
		}
		first[id] = names[i]
	}
}
