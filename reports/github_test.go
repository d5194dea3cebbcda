package reports_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/evalrun/evalrun/internal/testing/expect"
	"github.com/evalrun/evalrun/internal/testing/hostile"
	"github.com/evalrun/evalrun/journal"
	"github.com/evalrun/evalrun/reports"
)

// annotationsOf are the lines of a report for GitHub Actions; each is one command and nothing else.
func annotationsOf(t *testing.T, d *journal.Document) []string {
	t.Helper()
	file := written(t, "github", d, reports.Options{})
	if file == "" {
		return nil
	}
	lines := strings.Split(strings.TrimSuffix(file, "\n"), "\n")
	counts := map[string]int{}
	for _, line := range lines {
		counts[levelOf(t, line)]++
	}
	if counts["error"] > 10 || counts["warning"] > 10 {
		t.Fatalf("got %v, want at most 10 of each", counts)
	}
	return lines
}

func levelOf(t *testing.T, line string) string {
	t.Helper()
	level, rest, _ := strings.Cut(strings.TrimPrefix(line, "::"), " ")
	properties, message, ok := strings.Cut(rest, "::")
	if !ok || !strings.HasPrefix(line, "::") || !slices.Contains([]string{"error", "warning", "notice"}, level) {
		t.Fatalf("%q, want a command of GitHub", line)
	}
	for _, p := range strings.Split(properties, ",") {
		key, v, _ := strings.Cut(p, "=")
		if !slices.Contains([]string{"file", "line", "col", "title"}, key) || strings.Contains(v, ":") {
			t.Fatalf("got %q in %q, want only keys of GitHub", p, line)
		}
	}
	harmless(t, strings.ReplaceAll(message, "%0A", "\n"))
	if strings.ContainsFunc(line, unsafe) || strings.Contains(line, "##[") {
		t.Fatalf("%q, want nothing that commands a terminal", line)
	}
	return level
}

func TestGitHubAnnotationsAreEscaped(t *testing.T) {
	t.Parallel()
	d := manyFailures(t, 100, "no: 50%, really\n::error::x")
	d.Decision.Gate = journal.Gate{
		Exit: 1,
		Rules: []journal.GateRule{
			{Suite: "s", RuleName: "passRate", Arm: "a/b", Found: journal.RuleValue(0.0), Limit: 1},
			{Suite: "s", RuleName: "errors", Standing: journal.RuleHolds},
		},
	}
	const reasons = `a/b: equals: no: 50%25, really%0A\x3a:error::x%0Ac/d: equals: no: 50%25, really%0A\x3a:error::x`
	lines := annotationsOf(t, d)
	for i, want := range map[int]string{
		0: "::error file=evals/s.yaml,title=evalrun%3A the gate does not hold (exit 1)::s on a/b: passRate at least 1; it is 0",
		1: `::error file=evals/s.yaml,line=10,col=7,title=case 0%3A failed (0 of 2 passed%2C 2 failed)::` + reasons,
		9: "::error title=evalrun%3A more cases::37 more cases: 37 failed, 0 could not be judged; the other reports of the run name them",
		10: `::warning file=evals/s.yaml,line=13,col=7,title=case 3%3A failed (0 of 2 passed%2C 2 failed)::` +
			`in quarantine until 2099-01-01 (me): known%0A` + reasons,
	} {
		expect.Same(t, fmt.Sprintf("line %d", i), lines[i], want)
	}
	d.Decision.Gate = journal.Gate{Rules: []journal.GateRule{{Suite: "s", RuleName: "passRate", Standing: journal.RuleHolds}}}
	for _, line := range annotationsOf(t, d) { // the gate holds: nothing is an error
		if !strings.HasPrefix(line, "::warning ") {
			t.Errorf("got %v, want a warning", line)
		}
	}
}

func FuzzGitHub(f *testing.F) {
	for _, s := range []string{
		"::error::x", "a\r::set-output name=x::y", "%0A::error::", "title=x,file=y::z", "##[error]x", "C:\\a\\b.yaml:3:4", "%",
	} {
		f.Add(s, "b")
	}
	for group := range slices.Chunk(hostile.Strings(), 40) { // files each
		f.Add(strings.Join(group, " "), group[0])
	}
	f.Fuzz(func(t *testing.T, a, b string) {
		d := runOf(t, a, b, b)
		annotationsOf(t, d)
		d.Gate().Exit = 0
		annotationsOf(t, d)
	})
}
