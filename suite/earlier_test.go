package suite_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/testing/expect"
	"github.com/evalrun/evalrun/suite"
)

// twoVersions are a suite and an earlier version of it, of cases with these names, each with the prompts.
func twoVersions(t *testing.T, own, base, ownPrompts, basePrompts string) *suite.Suite {
	t.Helper()
	load := func(cases, prompts string, opts suite.Options) *suite.Suite {
		text := "version: 1\nname: s\ntargets: [{name: t, model: m}]\nprompts:\n"
		for _, p := range strings.Fields(prompts) {
			text += fmt.Sprintf("  - {name: %s, text: \"%s {{.x}}\"}\n", p, p)
		}
		text += "cases:\n"
		for _, c := range strings.Fields(cases) {
			text += fmt.Sprintf("  - {name: %s, vars: {x: %s}, scorers: [{contains: y}]}\n", c, c)
		}
		s, diags := fromText(text, opts)
		expect.OK(t, diags.Err())
		return s
	}
	return load(own, ownPrompts, suite.Options{Base: load(base, basePrompts, suite.Options{Ref: "main"})})
}

// Cases of two versions run next to each other, those of one name together, whatever was added, removed or moved in between.
func TestCellsOfTwoVersionsStandTogether(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ own, base, want string }{
		{"a b c", "a b c", "a a@ b b@ c c@"},
		{"c d", "a b c d", "a@ b@ c c@ d d@"},
		{"a b c d", "c d", "a b c c@ d d@"},
		{"a b", "a b c d", "a a@ b b@ c@ d@"},
		{"a b c d", "a b", "a a@ b b@ c d"},
		{"a B c", "a b c", "a a@ B b@ c c@"},
		{"A B C", "a b c", "A a@ B b@ C c@"},
		{"c b a", "a b c", "c b a a@ b@ c@"},
		{"b a c", "a b c", "b a a@ b@ c c@"},
	} {
		s := twoVersions(t, test.own, test.base, "p", "p")
		for name, cells := range map[string]func(func(suite.Cell) bool){"cells": s.Cells(), "outlines": s.OutlinedCells()} {
			var got []string
			for c := range cells {
				shown := c.Case.Name
				if c.Suite != s {
					shown += "@"
				}
				got = append(got, shown)
			}
			expect.Same(t, fmt.Sprintf("%s of %s and %s", name, test.own, test.base), strings.Join(got, " "), test.want)
		}
	}
}

// The arms of a case stay together where the versions call it differently: a report has one row for a case.
func TestRenamedCasesKeepTheirArmsTogether(t *testing.T) {
	t.Parallel()
	var got []string
	for c := range twoVersions(t, "A b", "a b", "p q", "p q").Cells() {
		got = append(got, c.Case.Name+" "+c.Arm.Name())
	}
	const want = "A t/p, A t/q, a t/p@main, a t/q@main, b t/p, b t/p@main, b t/q, b t/q@main"
	expect.Same(t, "result", strings.Join(got, ", "), want)
}

// Arms that both versions have stand next to each other; others of the earlier version do not run.
func TestArmsOfTwoVersionsAreMatchedByName(t *testing.T) {
	t.Parallel()
	s := twoVersions(t, "a", "a", "p new q", "q gone p")
	var arms, cells, removed []string
	for _, a := range s.Arms() {
		arms = append(arms, a.Name())
	}
	for c := range s.Cells() {
		cells = append(cells, c.Arm.Name())
		prompt, err := c.Suite.Render(c.Case, c.Arm)
		if want := c.Arm.Prompt.Name + " a"; err != nil || prompt.Contents[0].Parts[0].(eval.TextPart).Text != want {
			t.Errorf("%s renders to %v, %v, want %q", c.Arm.Name(), prompt, err, want)
		}
	}
	for _, a := range s.RemovedArms() {
		removed = append(removed, a.Name())
	}
	const want = "t/p t/p@main t/new t/q t/q@main"
	expect.Same(t, "the arms", strings.Join(arms, " "), want)
	expect.Same(t, "the cells are of the arms", strings.Join(cells, " "), want)
	expect.Same(t, "the removed arms", strings.Join(removed, " "), "t/gone@main")
	for c := range s.Cells() {
		expect.Same(t, "the first cell is of", c.Arm.Name(), "t/p")
		break // both versions let go of their cases
	}
}
