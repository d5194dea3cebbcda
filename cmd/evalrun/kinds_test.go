package main

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/testing/expect"
)

// Each kind is listed and explained in lines that fit, and an unknown one is bad input with the nearest.
func TestKindsAreExplained(t *testing.T) {
	t.Parallel()
	var list bytes.Buffer
	expect.OK(t, writeKinds(&list))
	for _, name := range kindNames() {
		expect.Contains(t, "the list", "\n"+list.String(), "\n"+name+" ")
		var one bytes.Buffer
		expect.OK(t, explainKind(&one, name))
		if !strings.HasPrefix(one.String(), name+": ") || !strings.Contains(one.String(), "\nscorers:\n  ") {
			t.Errorf("got the explanation\n%s\nwant it to begin with the name and to have an example", &one)
		}
		_, paragraph, _ := strings.Cut(one.String(), "\n\n")
		paragraph, _, _ = strings.Cut(paragraph, "\n\nscorers:")
		for line := range strings.Lines(paragraph) {
			if n := len(strings.TrimSuffix(line, "\n")); n > 80 && strings.Contains(line, " ") {
				t.Errorf("%s: got a line of %d columns, want at most 80: %s", name, n, line)
			}
		}
	}
	err := explainKind(&list, "contain")
	expect.Same(t, "exit code", eval.CodeOf(err), eval.CodeBadInput)
	expect.Same(t, "message", fmt.Sprint(err), "there is no scorer kind \"contain\"; did you mean `contains`?")
}

// Lines are filled up to the width, points of a list are indented, and no word is lost.
func TestFillLosesNoWord(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"":                               "",
		"a  b c":                         "a b c",
		"a\nb":                           "a\nb",
		"aaa bbb ccc ddd eee fff ggg":    "aaa bbb ccc ddd eee fff\nggg",
		"aaaaaaaaaaaaaaaaaaaaaaaaaaaa b": "aaaaaaaaaaaaaaaaaaaaaaaaaaaa\nb",
		"exactly twenty-four char x":     "exactly twenty-four char\nx",
		"- aaa bbb ccc ddd eeee fff":     "- aaa bbb ccc ddd eeee\n  fff",
	} {
		expect.Same(t, text, fill(text, 24), want)
	}
}
