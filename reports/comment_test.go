package reports_test

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	east "github.com/yuin/goldmark/extension/ast"
	"github.com/yuin/goldmark/text"

	"github.com/evalrun/evalrun/compare"
	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/testing/expect"
	"github.com/evalrun/evalrun/internal/testing/hostile"
	"github.com/evalrun/evalrun/internal/testing/testrun"
	"github.com/evalrun/evalrun/journal"
	"github.com/evalrun/evalrun/reports"
)

// evilMarkdown are texts that become something on a page when they are not escaped.
var evilMarkdown = []string{
	"[click](javascript:alert(1))", "![x](http://evil.example/x.png)", "<img src=x onerror=alert(1)>",
	"</details><script>alert(1)</script>", "</summary></details>", "<!-- -->", "@evalrun/owners @root",
	"#123 GH-7 owner/repo#9 deadbeefdeadbeefdeadbeefdeadbeefdeadbeef", "www.evil.example http://evil.example a@b.example " +
		"mailto:a@b.example xmpp:a@b.example", "<http://evil.example>", ":tada: :+1:", "a | b | c", "\\| \\\\|", "|---|",
	"``` ````\n```\n# heading\n", "````````````````", "`", "``a`", " ` ", "~~~\n", "    indented", "# h\n\n> q\n\n- [ ] x\n\n1. y",
	"[ref]: http://evil.example\n[ref]", "[^1]\n\n[^1]: note", "$`x`$ $$y$$", "/close", "\n\n<b>x</b>\n\n",
	"a\n\n</details>\n\n# out", "*b* _i_ ~~s~~", "&lt;b&gt; &#64;x", "\r\n\r\n<div>\r\n", "\u2028<b>", "[[_TOC_]]",
	"<details open ontoggle=alert(1)>", "line\\\nbreak", "||", "`|`", "-", "=", "===\n---", "",
}

// markdownOf is the report of a document; it fails for elements that are not the report's own.
func markdownOf(t *testing.T, d *journal.Document) string {
	t.Helper()
	page := written(t, "markdown", d, reports.Options{})
	if len(page) > 60_000 || !utf8.ValidString(page) {
		t.Fatalf("%d bytes, want at most 60,000 of UTF-8", len(page))
	}
	p := parsedPage{page: []byte(page)}
	doc := goldmark.New(goldmark.WithExtensions(extension.GFM, extension.Footnote)).Parser().Parse(text.NewReader(p.page))
	if err := ast.Walk(doc, p.visit); err != nil {
		t.Fatalf("%v\n%s", err, page)
	}
	if p.open != 0 {
		t.Fatalf("got %d details that are open, want none:\n%s", p.open, page)
	}
	return page
}

// parsedPage is a Markdown report that is walked through.
type parsedPage struct {
	page    []byte
	columns int // of the current table
	open    int // details that are not closed
}

func (p *parsedPage) visit(n ast.Node, entering bool) (ast.WalkStatus, error) {
	if !entering {
		return ast.WalkContinue, nil
	}
	if _, ok := n.(*ast.CodeSpan); ok {
		return ast.WalkSkipChildren, nil
	}
	return ast.WalkContinue, p.check(n)
}

// check is an error for an element that a report does not have.
func (p *parsedPage) check(n ast.Node) error {
	switch n := n.(type) {
	case *ast.Document, *ast.Paragraph, *ast.Heading, *ast.List, *ast.ListItem, *ast.TextBlock, *ast.FencedCodeBlock,
		*east.Table, *east.TableCell:
		return nil
	case *east.TableHeader:
		p.columns = n.ChildCount()
		return nil
	case *east.TableRow:
		if n.ChildCount() != p.columns {
			return fmt.Errorf("a row of %d cells in a table of %d", n.ChildCount(), p.columns)
		}
		return nil
	case *ast.Emphasis:
		return p.emphasis(n)
	case *ast.Text:
		return plainText(string(n.Segment.Value(p.page)))
	case *ast.HTMLBlock:
		block := string(n.Lines().Value(p.page))
		p.open += strings.Count(block, "<details>") - strings.Count(block, "</details>")
		return ownHTML(block)
	}
	return fmt.Errorf("a %s", n.Kind())
}

func (p *parsedPage) emphasis(n *ast.Emphasis) error {
	words, ok := n.FirstChild().(*ast.Text)
	own := []string{"does not hold", "warning", "REGRESSED", "INVALID"}
	if !ok || n.Level != 2 || !slices.Contains(own, string(words.Segment.Value(p.page))) {
		return errors.New("emphasis")
	}
	return nil
}

// forgeLink is what a forge makes a link or a picture of.
var forgeLink = regexp.MustCompile(`GH-\d|[0-9a-f]{8}|:tada:|%\d`)

func plainText(words string) error {
	addressed := strings.Contains(words, "www") || strings.Contains(words, "://")
	if addressed || strings.ContainsAny(words, "@#<>`[]\\") || forgeLink.MatchString(words) {
		return fmt.Errorf("text outside of code: %s", words)
	}
	return nil
}

// marker is the comment that the report begins with. No name of a suite ends it.
var marker = regexp.MustCompile(`^<!-- evalrun: [^<>]* -->\n$`)

// ownHTML is an error for a block of HTML that has more than the report's own elements.
func ownHTML(block string) error {
	if marker.MatchString(block) {
		return nil
	}
	rest := strings.NewReplacer("<details><summary>", "", "</summary>", "", "</details>", "", "<code>", "", "</code>", "").Replace(block)
	if strings.ContainsAny(rest, "<>\"'") || strings.Count(block, "<code>") != strings.Count(block, "</code>") {
		return fmt.Errorf("HTML: %q", block)
	}
	for words := block; ; { // what is outside of code
		before, inside, found := strings.Cut(words, "<code>")
		if strings.ContainsAny(before, "@#") {
			return fmt.Errorf("outside of code: %q", before)
		}
		if !found {
			return nil
		}
		_, words, _ = strings.Cut(inside, "</code>")
	}
}

// withComparison gives a document a baseline from which it differs, with the same texts.
func withComparison(d *journal.Document, a, b string) {
	d.Decision.Comparison = &compare.Comparison{
		Base: compare.Compared{Run: a, Name: b}, Warnings: []string{a, b},
		Finding: compare.Finding{Headline: "REGRESSED  " + a + " is worse: " + b, Words: "Regressed", Next: a},
		Verdict: eval.Regressed, Notes: []string{a, b, a + b}, Coverage: b,
		Arms: []compare.ArmComparison{{
			Suite: a, HeadArm: b,
			Metrics: []compare.MetricComparison{{Name: a, MetricVerdict: compare.MetricVerdict{Verdict: eval.Regressed}}},
			Flips: []compare.Flip{
				{Case: b, BasePassed: 1, BaseScored: 1, HeadScored: 1, BaseAnswer: a, HeadAnswer: b},
				{Case: a, BasePassed: 1, BaseScored: 1, HeadScored: 1},
			},
		}},
	}
	d.Gate().Rules = append(d.Gate().Rules, journal.GateRule{
		Suite: a, RuleName: "baseline", Arm: b, Found: journal.RuleVerdict(eval.Regressed), Why: a,
	})
}

// No text of a run becomes a link, a picture, a mention or HTML.
func TestMarkdownIsSafe(t *testing.T) {
	t.Parallel()
	all := slices.Concat(evilMarkdown, hostile.Strings())
	forges := []string{"GH-7 deadbeef www.evil.example :tada: %1", "- x", "1. x", "===", "**x**", "(GH-12)", "a@b", "https://evil.example"}
	for i, one := range slices.Concat(all, forges) {
		d := runOf(t, one, all[(i+7)%len(all)], one)
		withComparison(d, one, all[(i+7)%len(all)])
		markdownOf(t, d)
		d.Close()
	}
}

// It is no longer than a comment may be, and says what is left out.
func TestMarkdownIsBounded(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"日本語", "a`b", "<&\">", "\x00\u202e", "word "} {
		d := manyFailures(t, 300, strings.Repeat(text, 2000))
		page := markdownOf(t, d)
		if !strings.Contains(page, "Left out: ") || !strings.Contains(page, "failed trials. The other reports") {
			t.Errorf("%q: got %s, want what was left out", text, page[len(page)-300:])
		}
		if len(page) < 30_000 {
			t.Errorf("%q: got %d bytes, want at least 30,000: there is room", text, len(page))
		}
	}
	d := manyArms(t, 200, strings.Repeat("𝄞", 400))
	for i := range 100 {
		d.Gate().Rules = append(d.Gate().Rules, journal.GateRule{
			Suite: "s", RuleName: "passRate", Arm: strings.Repeat("𝄞", 400), Limit: float64(i),
		})
	}
	_, rest, _ := strings.Cut(markdownOf(t, d), "Left out")
	for _, want := range []string{"80 rules", "failed trials", " arms, "} {
		expect.Contains(t, "the rest", rest, want)
	}
	if page := markdownOf(t, testrun.Every(t)); strings.Contains(page, "Left out") {
		t.Errorf("got %v, want nothing left out", page)
	}
}

// What got worse comes before what failed, with what changed.
func TestMarkdownShowsWhatGotWorseFirst(t *testing.T) {
	t.Parallel()
	d := testrun.Every(t)
	withComparison(d, "one\ntwo", "one\n2")
	page := markdownOf(t, d)
	for _, want := range []string{
		"### Compared with `one 2 (one two)`\n",
		"| `one two on one 2` | `one two` | 0 | 0.000 | 0.000 | +0.000 | unknown | - | REGRESSED |\n",
		"<summary><code>one 2</code> on <code>one 2</code>: 0 of 1 passed, was 1 of 1 (few samples: weak evidence)</summary>\n\n" +
			"```diff\n- two\n+ 2\n```\n",
	} {
		expect.Contains(t, "the page", page, want)
	}
	if strings.Index(page, "### Newly failing") > strings.Index(page, "### Failed") {
		t.Errorf("got %v, want what newly fails before what failed", page)
	}
	d.Decision.NotCompared, d.Decision.Comparison = true, nil
	expect.Contains(t, "the comment", markdownOf(t, d), "Not compared with the baseline (`--no-baseline`).")
	d.Decision.NotCompared, d.Decision.Comparison = false, &compare.Comparison{Verdict: eval.Invalid, Why: "blank"}
	d.Decision.Comparison.Describe()
	expect.Contains(t, "the comment", markdownOf(t, d), "**INVALID**: blank")
}

// manyArms is a run of one case that fails on every arm.
func manyArms(t *testing.T, n int, name string) *journal.Document {
	t.Helper()
	run := eval.Run{ID: "r", Suites: []eval.RunSuite{{Name: "s"}}, Plan: eval.RunPlan{Trials: n}}
	var trials []*eval.Result
	for i := range n {
		arm := fmt.Sprint(i, name)
		run.Plan.Arms = append(run.Plan.Arms, arm)
		trials = append(trials, &eval.Result{
			Trial:  eval.Trial{N: i, ID: fmt.Sprintf("%016x", i), Suite: "s", Case: "c", Arm: arm, Repeat: 1},
			Ending: eval.Failed{},
		})
	}
	return testrun.Record(t, &run, completed, trials...)
}

// manyFailures is a run of failed cases, each at a line of its own.
func manyFailures(t *testing.T, n int, text string) *journal.Document {
	t.Helper()
	arms := []string{"a/b", "c/d"}
	var trials []*eval.Result
	for i := range n {
		r := &eval.Result{
			Trial: eval.Trial{
				N: i, ID: fmt.Sprintf("%016x", i), Suite: "s", Case: fmt.Sprintf("case %d", i/2), Arm: arms[i%2], Repeat: 1,
				At: fmt.Sprintf("evals/s.yaml:%d:7", 10+i/2),
			},
			Ending:   eval.Failed{},
			Response: testrun.Answered(text, "STOP"),
			Scores:   []eval.Score{{Scorer: "equals", Grade: eval.Graded{}, Reason: text}},
		}
		if i/2%10 == 3 {
			r.Quarantine = &eval.Quarantine{Reason: "known", Owner: "me", Until: "2099-01-01"}
		}
		trials = append(trials, r)
	}
	return testrun.Record(t, &eval.Run{
		ID:        "r",
		StartedAt: "2026-01-01T00:00:00Z",
		Suites:    []eval.RunSuite{{Name: "s", File: "evals/s.yaml"}},
		Plan:      eval.RunPlan{Trials: n, Arms: arms},
	}, completed, trials...)
}

func FuzzMarkdown(f *testing.F) {
	for i, one := range evilMarkdown {
		f.Add(one, evilMarkdown[(i+3)%len(evilMarkdown)])
	}
	for group := range slices.Chunk(hostile.Strings(), 40) { // files each
		f.Add(strings.Join(group, " "), group[0])
	}
	f.Fuzz(func(t *testing.T, a, b string) {
		d := runOf(t, a, b, b)
		withComparison(d, a, b)
		markdownOf(t, d)
	})
}

// The head counts cases once, however many arms it has, and trials; so does the table.
func TestMarkdownCountsCasesOnce(t *testing.T) {
	t.Parallel()
	want := "`s`: 20 cases (2 in quarantine), 40 trials: 0 passed, 40 failed, 0 could not be judged, 0 skipped; 0 tokens.\n"
	if page := markdownOf(t, manyFailures(t, 40, "x")); !strings.Contains(page, want) {
		t.Errorf("got no %q, want it in %s", want, page[:300])
	}
}

// Of nothing every report is whole too; xunit-viewer stumbles over white space where it expects a suite.
func TestReportsOfNothingAreWhole(t *testing.T) {
	t.Parallel()
	d := manyFailures(t, 0, "")
	for format, want := range map[string]string{
		"junit":    "<testsuites></testsuites>",
		"csv":      ",caseId,integrity,limit\r\n",
		"markdown": "0 cases, 0 trials: 0 passed",
		"github":   "",
	} {
		got := written(t, format, d, reports.Options{})
		if !strings.Contains(got, want) || want == "" && got != "" {
			t.Errorf("%s: %q, want %q", format, got, want)
		}
	}
}
