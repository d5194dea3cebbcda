package runs

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/gate"
	"github.com/evalrun/evalrun/internal/testing/expect"
	"github.com/evalrun/evalrun/scorers"
	"github.com/evalrun/evalrun/suite"
)

// given are answers of a case, in the order in which they came.
func given(k *keptFile, caseName string, answers ...string) {
	for _, text := range answers {
		check := scorers.SnapshotCheck{Got: text, Folded: strings.ToLower(text)}
		if k.was != nil {
			check.Accepted = &scorers.AcceptedAnswer{Text: *k.was, Same: strings.EqualFold(text, *k.was)}
		}
		k.add(gate.ArmCase{Suite: "s", Case: caseName, Arm: "t/p"}, check)
	}
}

// offered is what a proposal offers, as TEXT from CASE (DIFFERENT of ANSWERS).
func offered(p *Proposal) (out []string) {
	if p == nil {
		return nil
	}
	for _, o := range p.Offers {
		text := o.Text
		if o.Expected {
			text += " as expected"
		}
		for _, s := range o.From {
			text += fmt.Sprintf(", %s (%d of %d)", s.Case, s.Different, s.Answers)
		}
		out = append(out, text)
	}
	return out
}

// Of repeats the most frequent answer is offered; cases that share a file and differ are a conflict.
func TestTheMostFrequentAnswerIsOffered(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		was  *string
		give func(k *keptFile)
		want []string
	}{
		"a new file":         {nil, func(k *keptFile) { given(k, "a", "Paris") }, []string{"Paris, a (1 of 1)"}},
		"as expected":        {new("Paris"), func(k *keptFile) { given(k, "a", "Paris", "paris") }, nil},
		"another answer":     {new("Paris"), func(k *keptFile) { given(k, "a", "Lyon") }, []string{"Lyon, a (1 of 1)"}},
		"the most frequent":  {nil, func(k *keptFile) { given(k, "a", "x", "y", "y") }, []string{"y, a (2 of 3)"}},
		"the first of equal": {nil, func(k *keptFile) { given(k, "a", "x", "y", "y", "x") }, []string{"x, a (2 of 4)"}},
		"folded alike": {
			nil, func(k *keptFile) { given(k, "a", "Paris", "PARIS", "Lyon") }, []string{"Paris, a (2 of 3)"},
		},
		"two cases that agree": {
			nil, func(k *keptFile) { given(k, "a", "x"); given(k, "b", "x", "x") }, []string{"x, a (1 of 1), b (1 of 2)"},
		},
		"a conflict": {
			new("x"), func(k *keptFile) { given(k, "a", "x"); given(k, "b", "y") }, []string{"x as expected, a (1 of 1)", "y, b (1 of 1)"},
		},
	} {
		k := &keptFile{was: test.was}
		test.give(k)
		p := k.proposal()
		expect.Same(t, name, offered(p), test.want)
		if p != nil {
			expect.Same(t, name+": what it was", p.Was, test.was)
		}
	}
}

// Accepting writes the answer with its folder, and leaves no other file.
func TestAcceptingWritesTheFile(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	p := &Proposal{File: "s/expected/a.txt", dir: dir, name: "expected/deep/a.txt"}
	expect.OK(t, p.Accept(&Offer{Text: "Paris"}), p.Accept(&Offer{Text: "Lyon"}))
	data, err := os.ReadFile(filepath.Join(dir, "expected", "deep", "a.txt"))
	expect.OK(t, err)
	expect.Same(t, "text", string(data), "Lyon\n")
	entries, err := os.ReadDir(filepath.Join(dir, "expected", "deep"))
	expect.OK(t, err)
	expect.Same(t, "files", len(entries), 1)
}

// Nothing is written outside of the suite's folder, whatever links are in it, and nothing that could not be read again.
func TestAcceptingStaysInsideTheFolder(t *testing.T) {
	t.Parallel()
	dir, outside := t.TempDir(), t.TempDir()
	expect.OK(t, os.Symlink(outside, filepath.Join(dir, "link")))
	for name, p := range map[string]*Proposal{
		"by a link":  {File: "f", dir: dir, name: "link/a.txt"},
		"by dots":    {File: "f", dir: dir, name: "../a.txt"},
		"by a root":  {File: "f", dir: dir, name: "/a.txt"},
		"no folder":  {File: "f", dir: filepath.Join(dir, "gone"), name: "a.txt"},
		"much to it": {File: "f", dir: dir, name: "big.txt"},
	} {
		text := "x"
		if name == "much to it" {
			text = strings.Repeat("x", suite.MaxExpectedBytes)
		}
		err := p.Accept(&Offer{Text: text})
		expect.Same(t, name, eval.Of(err), eval.CodeIncomplete)
		if !strings.HasPrefix(fmt.Sprint(err), "f cannot be written: ") {
			t.Errorf("%s: got %v, want the file's name in it", name, err)
		}
	}
	entries, err := os.ReadDir(outside)
	expect.OK(t, err)
	expect.Same(t, "files outside", len(entries), 0)
	entries, err = os.ReadDir(dir)
	expect.OK(t, err)
	expect.Same(t, "files inside other than the link", len(entries), 1)
}

// Continuous integration does not accept answers.
func TestAcceptingTakesAPerson(t *testing.T) {
	t.Parallel()
	for ci, want := range map[string]int{
		"": eval.CodeOK, "false": eval.CodeOK, "FALSE": eval.CodeOK, "true": eval.CodeBadInput, "1": eval.CodeBadInput,
	} {
		err := AcceptedByPerson(func(name string) string { return map[string]string{"CI": ci}[name] })
		expect.Same(t, "exit code with CI="+ci, eval.Of(err), want)
	}
}

// A new file shows only what is added; one that changes shows both.
func TestTheDiffOfANewFileShowsOnlyAdditions(t *testing.T) {
	t.Parallel()
	diff := func(p *Proposal) string {
		var b bytes.Buffer
		expect.OK(t, p.Diff(&b, &Offer{Text: "Lyon"}, false))
		return b.String()
	}
	was := diff(&Proposal{Was: new("Paris")})
	for _, want := range []string{"Paris", "Lyon"} {
		expect.Contains(t, "the text", was, want)
	}
	if fresh := diff(&Proposal{}); strings.Contains(fresh, "Paris") || !strings.Contains(fresh, "Lyon") {
		t.Errorf("got %s, want the new text alone", fresh)
	}
}
