//go:build unix

package scorers_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/evalrun/evalrun/internal/testing/expect"
	"github.com/evalrun/evalrun/scorers"
)

func combinedLimits() []limit {
	return []limit{
		{[]string{"not", "all", "any"}, truthFigures},
		{[]string{"toolCalls"}, callFigures},
	}
}

func programLimits() []limit {
	return []limit{
		{[]string{"exec"}, replyFigures},
		{[]string{"expr"}, expressionFigures},
		{[]string{"file"}, fileFigures},
	}
}

// outcomes are entries by what they come to on the answer "x".
var outcomes = map[string]string{"p": "contains: x", "f": "contains: y", "n": "contains: x, select: {jq: .a}", "u": "safety: {max: LOW}"}

// fileFigures reads what a hostile program may leave.
func fileFigures(t *testing.T) string {
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	for name, text := range map[string]string{"empty": "", "large": strings.Repeat("x", 5<<20), "bytes": "x\xff"} {
		expect.OK(t, os.WriteFile(at(name), []byte(text), 0o600))
	}
	expect.OK(t, os.Mkdir(at("folder"), 0o700))
	expect.OK(t, syscall.Mkfifo(at("pipe"), 0o600))
	for name, target := range map[string]string{"out": "/etc/passwd", "folders": "/etc", "dangling": "nothing", "loop": "loop"} {
		expect.OK(t, os.Symlink(target, at(name)))
	}
	var n, absent tally
	for _, name := range []string{
		"empty", "large", "bytes", "folder", "pipe", "out", "folders/passwd", "dangling", "loop", "missing", "bytes/file",
	} {
		a := answer("x")
		a.Context = &scorers.Context{Workspace: dir}
		for _, kind := range []string{"contains: x", "equals: x", "regex: x", "json: valid", "jsonSchema: {schema: {}}"} {
			entry := "file: {path: " + name + ", " + kind + "}"
			n.add(letter(score(t, "- "+entry, a)) == "p")
			n.add(letter(score(t, "- not: {"+entry+"}", a)) == "p")
		}
		if !strings.HasPrefix(name, "missing") && !strings.Contains(name, "/") {
			absent.add(letter(score(t, "- file: {path: "+name+", absent: true}", a)) == "p")
		}
	}
	return fmt.Sprintf(
		"Of 11 names of what is missing, empty, too large or not UTF-8, of a folder, a pipe, and links that lead out or nowhere, "+
			"%s entries pass, `not` included, and %s are taken for absent.",
		n, absent,
	)
}

// truthFigures tries every pair of outcomes in every combinator: n is a failure of what cannot be read, which `not` keeps.
func truthFigures(t *testing.T) string {
	var n tally
	falsePasses := 0
	try := func(entry, want string) {
		got := letter(score(t, entry, answer("x")))
		if n.add(got == want); got == "p" && want != "p" {
			falsePasses++
		}
	}
	for first, a := range outcomes {
		try("- not: {"+a+"}", map[string]string{"p": "f", "f": "p", "n": "f", "u": "u"}[first])
		for second, b := range outcomes {
			both := first + second
			worst, best := "p", "f"
			switch {
			case strings.ContainsAny(both, "fn"):
				worst = "f"
			case strings.Contains(both, "u"):
				worst = "u"
			}
			switch {
			case strings.Contains(both, "p"):
				best = "p"
			case strings.Contains(both, "u"):
				best = "u"
			}
			list := "[{" + a + "}, {" + b + "}]"
			try("- all: "+list, worst)
			try("- any: "+list, best)
			try("- not: {all: "+list+"}", denial(worst, strings.Contains(both, "n")))
			try("- not: {any: "+list+"}", denial(best, strings.Contains(both, "n")))
		}
	}
	return fmt.Sprintf("In `not`, `all` and `any`, %s combinations of a pass, a failure, an unreadable answer and an unscored one come "+
		"out as `evalrun help scorers#what-a-score-says` has it, with %d false passes.", n, falsePasses)
}

func denial(inner string, unread bool) string {
	switch {
	case inner == "p" || inner == "f" && unread:
		return "f"
	case inner == "f":
		return "p"
	}
	return inner
}

// callFigures compares the modes with a search through all ways to pair calls.
func callFigures(t *testing.T) string {
	random := rand.New(rand.NewPCG(3, 5))
	var n tally
	for range 400 {
		listed, got := randomCalls(random, 3)
		plain := make([]string, len(listed))
		for i, l := range listed {
			name, args, _ := strings.Cut(strings.TrimPrefix(l, "name: "), ", args: ")
			plain[i] = name + " " + args
		}
		for mode, want := range modesOf(plain, got) {
			n.add((letter(score(t, toolCalls(", mode: "+mode, listed...), calling(got...))) == "p") == want)
		}
	}
	return fmt.Sprintf("It agrees with a search through all pairings on %s random lists. It compares names and JSON, not what a call does: "+
		"`\"7\"` is not 7, and a call with other words in an argument is another call. Lists that take more than %s comparisons are unscored, "+
		"unless their lengths alone say that they differ.", n, grouped(scorers.MaxCallSteps))
}

// modesOf says which modes hold for calls with the same arguments, by their order and their number alone.
func modesOf(listed, got []string) map[string]bool {
	rest, in := slices.Clone(got), 0
	for _, l := range listed {
		if i := slices.Index(rest, l); i >= 0 {
			rest = slices.Delete(rest, i, i+1)
			in++
		}
	}
	next := 0
	for _, g := range got {
		if next < len(listed) && listed[next] == g {
			next++
		}
	}
	return map[string]bool{
		"exact": slices.Equal(listed, got), "unordered": in == len(listed) && len(rest) == 0, "inOrder": next == len(listed),
		"superset": in == len(listed), "subset": len(rest) == 0,
	}
}

// replyFigures counts what programs may write that is no result, and what comes of it.
func replyFigures(t *testing.T) string {
	dir := newFolder(t, map[string]string{"say.sh": saying})
	var broken tally
	for _, reply := range []string{
		"", " ", "yes", "ok", "1.01", "-0.1", "NaN", "1e999", "null", `"1"`, "[1]", "{}", `{"scor": 1}`, `{"score": "high"}`, `{"passed": 1}`,
		"1 1", "true\nfalse", "PASS", "0,5", "{'score': 1}",
	} {
		_, err := dir.compile(t, "- exec: [./say.sh, "+quoted(reply)+"]").Score(answer("x"))
		broken.add(err != nil)
	}
	for _, command := range []string{"exit 1", "kill -9 $$", "echo true; exit 3", "head -c 2000000 /dev/zero"} {
		_, err := dir.compile(t, "- exec: [sh, -c, "+quoted(command)+"]").Score(answer("x"))
		broken.add(err != nil)
	}
	return fmt.Sprintf("Of replies that are no result, crashes and floods, %s make the trial an error, and none passes. What the "+
		"program says "+
		"is taken as it is: an error in it is one of the score.", broken)
}

// expressionFigures counts expressions that would take too much, on an answer of 100,000 bytes.
func expressionFigures(t *testing.T) string {
	long := answer(strings.Repeat("word ", 20_000))
	var bounded tally
	for _, text := range []string{
		`repeat(answer, 100000) contains "x"`, `len(split(repeat(answer, 1000), "")) > 0`, `len(1..100000000) > 0`,
		`count(1..20000, count(1..20000, true) > 0) > 0`, `len(map(1..1000000, answer)) > 0`, `len(join(map(1..100000, answer))) > 0`,
		`reduce(1..100000, #acc + answer, "") == "x"`, `len(replace(answer, "w", answer)) > 0`, `int("many") > 0`, `[1][5] > 0`,
	} {
		if problemsOf("- expr: "+quoted(text)) != "" {
			bounded.add(true)
			continue
		}
		s, err := compile(t, "- expr: "+quoted(text)).Score(long)
		bounded.add(err == nil && !isScored(s))
	}
	return fmt.Sprintf("Of expressions that would take too much or have no value, %s are errors before anything is sent or unscored.", bounded)
}
