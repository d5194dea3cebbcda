package reports_test

import (
	"bytes"
	"encoding/csv"
	"fmt"
	"slices"
	"strings"
	"testing"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	east "github.com/yuin/goldmark/extension/ast"
	"github.com/yuin/goldmark/text"

	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/hostile"
	"github.com/evalrun/evalrun/internal/testrun"
	"github.com/evalrun/evalrun/journal"
	"github.com/evalrun/evalrun/reports"
)

// evilMarkdown are texts that become something on a page when they are not escaped.
var evilMarkdown = []string{
	"[click](javascript:alert(1))", "![x](http://evil.example/x.png)", "<img src=x onerror=alert(1)>",
	"</details><script>alert(1)</script>", "</summary></details>", "<!-- -->", "@evalrun/owners @root",
	"#123 GH-7 owner/repo#9 deadbeefdeadbeefdeadbeefdeadbeefdeadbeef", "www.evil.example http://evil.example a@b.example " +
		"mailto:a@b.example xmpp:a@b.example", "<http://evil.example>", ":tada: :+1:", "a | b | c", "\\| \\\\|", "|---|",
	"``` ````\n```\n# heading\n", "````````````````", "`", "``a`", " ` ", "~~~\n", "    indented", "# h\n\n> q\n\n- [ ] x\n\n1. y", "[ref]: http://evil.example\n[ref]", "[^1]\n\n[^1]: note", "$`x`$ $$y$$", "/close", "\n\n<b>x</b>\n\n",
	"a\n\n</details>\n\n# out", "*b* _i_ ~~s~~", "&lt;b&gt; &#64;x", "\r\n\r\n<div>\r\n", "\u2028<b>", "[[_TOC_]]", "<details open ontoggle=alert(1)>", "line\\\nbreak", "||", "`|`", "-", "=", "===\n---", "",
}

// markdownOf is the report of a document, parsed; it fails for what stands in it and is not the report's own.
func markdownOf(t *testing.T, d *journal.Document) string {
	t.Helper()
	var b bytes.Buffer
	if err := reports.Markdown(&b, d, reports.Options{}); err != nil {
		t.Fatal(err)
	}
	page := b.Bytes()
	if len(page) > 60_000 || !utf8.Valid(page) {
		t.Fatalf("%d bytes", len(page))
	}
	doc := goldmark.New(goldmark.WithExtensions(extension.GFM, extension.Footnote)).Parser().Parse(text.NewReader(page))
	columns, open := 0, 0
	err := ast.Walk(doc, func(n ast.Node, entering bool) (ast.WalkStatus, error) {
		if !entering {
			return ast.WalkContinue, nil
		}
		switch n := n.(type) {
		case *ast.Document, *ast.Paragraph, *ast.Heading, *ast.List, *ast.ListItem, *ast.TextBlock, *ast.FencedCodeBlock, *east.Table, *east.TableCell:
		case *east.TableHeader:
			columns = n.ChildCount()
		case *east.TableRow:
			if n.ChildCount() != columns {
				return ast.WalkStop, fmt.Errorf("a row of %d cells in a table of %d", n.ChildCount(), columns)
			}
		case *ast.CodeSpan:
			return ast.WalkSkipChildren, nil
		case *ast.Emphasis:
			words, ok := n.FirstChild().(*ast.Text)
			if !ok || !slices.Contains([]string{"does not hold", "warning", "NOT COMPARABLE"}, string(words.Segment.Value(page))) {
				return ast.WalkStop, fmt.Errorf("emphasis in\n%s", page)
			}
		case *ast.Text:
			if words := string(n.Segment.Value(page)); strings.ContainsAny(words, "@#<>`[]\\") || strings.Contains(words, "www") || strings.Contains(words, "://") {
				return ast.WalkStop, fmt.Errorf("text outside of code: %s", words)
			}
		case *ast.HTMLBlock:
			block := string(n.Lines().Value(page))
			open += strings.Count(block, "<details>") - strings.Count(block, "</details>")
			return ast.WalkContinue, ownHTML(block)
		default:
			return ast.WalkStop, fmt.Errorf("a %s: %s", n.Kind(), page)
		}
		return ast.WalkContinue, nil
	})
	if err != nil {
		t.Fatalf("%v\n%s", err, page)
	}
	if open != 0 {
		t.Fatalf("%d details are not closed:\n%s", open, page)
	}
	return b.String()
}

// ownHTML is an error for a block of HTML that has more than the report's own elements.
func ownHTML(block string) error {
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
	d.Gate.Comparison = &eval.Comparison{
		Base: eval.Compared{Run: a, Name: b}, Warnings: []string{a, b},
		Arms: []eval.ArmComparison{{
			Suite: a, HeadArm: b, Metrics: []eval.MetricComparison{{Name: a, Verdict: eval.Regressed}},
			Flips: []eval.Flip{
				{Case: b, BasePassed: 1, BaseJudged: 1, HeadJudged: 1, BaseAnswer: a, HeadAnswer: b},
				{Case: a, BasePassed: 1, BaseJudged: 1, HeadJudged: 1},
			},
		}},
	}
	d.Gate.Rules = append(d.Gate.Rules, eval.GateRule{Suite: a, Name: "baseline", Arm: b, Verdict: eval.Regressed, Why: a})
}

// Whatever a run's texts are, the page has no link, no picture, no mention and no HTML of theirs.
func TestMarkdownIsSafe(t *testing.T) {
	t.Parallel()
	all := slices.Concat(evilMarkdown, hostile.Strings())
	for i, one := range all {
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
			t.Errorf("%q: %s", text, page[len(page)-300:])
		}
		if len(page) < 30_000 {
			t.Errorf("%q: there is room for more: %d", text, len(page))
		}
	}
	d := manyArms(t, 200, strings.Repeat("𝄞", 400))
	for i := range 100 {
		d.Gate.Rules = append(d.Gate.Rules, eval.GateRule{Suite: "s", Name: "passRate", Arm: strings.Repeat("𝄞", 400), Limit: float64(i)})
	}
	_, rest, _ := strings.Cut(markdownOf(t, d), "Left out")
	for _, want := range []string{"80 rules", "failed trials", " arms, "} {
		if !strings.Contains(rest, want) {
			t.Error(want, rest)
		}
	}
	if page := markdownOf(t, testrun.Every(t)); strings.Contains(page, "Left out") {
		t.Error(page)
	}
}

// What got worse stands before what failed, with what changed.
func TestMarkdownComparison(t *testing.T) {
	t.Parallel()
	d := testrun.Every(t)
	withComparison(d, "one\ntwo", "one\n2")
	page := markdownOf(t, d)
	for _, want := range []string{
		"### Compared with `one 2 (one two)`\n", "| `one two on one 2` | `one two` | 0.000 | 0.000 | +0.000 | unknown | REGRESSED |\n",
		"<summary><code>one 2</code> on <code>one 2</code>: 0 of 1 passed, was 1 of 1 (few samples: weak evidence)</summary>\n\n```diff\n- " +
			"two\n+ 2\n```\n",
	} {
		if !strings.Contains(page, want) {
			t.Errorf("no %q in\n%s", want, page)
		}
	}
	if strings.Index(page, "### Newly failing") > strings.Index(page, "### Failed") {
		t.Error(page)
	}
	d.Gate.Comparison = &eval.Comparison{NotCompared: true}
	if page := markdownOf(t, d); !strings.Contains(page, "Not compared with the baseline (`--no-baseline`).") {
		t.Error(page)
	}
	d.Gate.Comparison = &eval.Comparison{Why: "blank"}
	if page := markdownOf(t, d); !strings.Contains(page, "**NOT COMPARABLE**: `blank`") {
		t.Error(page)
	}
}

// manyArms is a run of one case that fails on every arm.
func manyArms(t *testing.T, n int, name string) *journal.Document {
	t.Helper()
	dir := t.TempDir()
	run := &eval.Run{ID: "r", Suites: []eval.RunSuite{{Name: "s"}}, Plan: eval.RunPlan{Trials: n}}
	for i := range n {
		run.Plan.Arms = append(run.Plan.Arms, fmt.Sprint(i, name))
	}
	w, err := journal.Create(dir, run, nil)
	if err != nil {
		t.Fatal(err)
	}
	for i, arm := range run.Plan.Arms {
		if err := w.Append(&eval.Result{Trial: eval.Trial{N: i, ID: fmt.Sprintf("%016x", i), Suite: "s", Case: "c", Arm: arm, Repeat: 1}, Outcome: eval.Fail}); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Finish(&eval.End{Reason: eval.EndCompleted}); err != nil {
		t.Fatal(err)
	}
	d, err := journal.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { d.Close() })
	return d
}

// manyFailures is a run of failed cases, each at a line of its own.
func manyFailures(t *testing.T, n int, text string) *journal.Document {
	t.Helper()
	dir := t.TempDir()
	run := &eval.Run{
		ID:        "r",
		StartedAt: "2026-01-01T00:00:00Z",
		Suites:    []eval.RunSuite{{Name: "s", File: "evals/s.yaml"}},
		Plan:      eval.RunPlan{Trials: n, Arms: []string{"a/b", "c/d"}},
	}
	w, err := journal.Create(dir, run, nil)
	if err != nil {
		t.Fatal(err)
	}
	for i := range n {
		r := &eval.Result{
			Trial: eval.Trial{
				N:      i,
				ID:     fmt.Sprintf("%016x", i),
				Suite:  "s",
				Case:   fmt.Sprintf("case %d", i/2),
				Arm:    run.Plan.Arms[i%2],
				Repeat: 1,
				At:     fmt.Sprintf("evals/s.yaml:%d:7", 10+i/2),
			},
			Outcome:  eval.Fail,
			Response: testrun.Answered(text, "STOP"),
		}
		r.Scores = []eval.Score{{Scorer: "equals", Value: new(0.0), Reason: text}}
		if i/2%10 == 3 {
			r.Quarantine = &eval.Quarantine{Reason: "known", Owner: "me", Until: "2099-01-01"}
		}
		if err := w.Append(r); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Finish(&eval.End{Reason: eval.EndCompleted}); err != nil {
		t.Fatal(err)
	}
	d, err := journal.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { d.Close() })
	return d
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

// cells are the lines of a CSV report, read as RFC 4180 says; the first is the header.
func cells(t *testing.T, d *journal.Document) [][]string {
	t.Helper()
	var b bytes.Buffer
	if err := reports.CSV(&b, d, reports.Options{}); err != nil {
		t.Fatal(err)
	}
	body, ok := strings.CutPrefix(b.String(), "\ufeff")
	if !ok || !utf8.ValidString(body) || !strings.HasSuffix(body, "\r\n") {
		t.Fatalf("%.100q", b.String())
	}
	rows, err := csv.NewReader(strings.NewReader(body)).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	for _, row := range rows {
		for _, c := range row {
			if len(utf16.Encode([]rune(c))) > 32_767 {
				t.Fatalf("a cell of %d", len(c))
			}
			trimmed := strings.TrimSpace(c)
			if trimmed != "" && strings.ContainsAny(trimmed[:1], "=+-@") || strings.HasPrefix(c, "\t") ||
				strings.ContainsFunc(strings.ReplaceAll(c, "\n", ""), unsafe) {
				t.Fatalf("a cell that is not safe: %q", c)
			}
		}
	}
	return rows
}

func TestCSV(t *testing.T) {
	t.Parallel()
	rows := cells(t, testrun.Every(t))
	column := func(row []string, name string) string { return row[slices.Index(rows[0], name)] }
	if len(rows) != 16 {
		t.Fatal(len(rows))
	}
	for at, want := range map[int]map[string]string{
		1:  {"suite": "fixture", "case": "passes", "arm": "pro/ask", "outcome": "pass", "reason": "", "answer": "Paris", "totalTokens": "7", "latencyMs": "120", "metric exact": "1", "emulator": "true", "firstTokenMs": ""},
		3:  {"case": "fails", "outcome": "fail", "reason": `exact (equals): expected "Paris", got "Lyon"`, "metric exact": "0", "errorKind": ""},
		8:  {"case": "errs", "outcome": "error", "errorKind": "status", "errorStatus": "503", "answer": "", "totalTokens": "", "metric exact": ""},
		11: {"case": "blocked", "blocked": "SAFETY"},
		12: {"outcome": "skip", "latencyMs": "", "reason": "the budget of 3 calls is spent"},
	} {
		for name, text := range want {
			if got := column(rows[at], name); got != text {
				t.Errorf("line %d, %s: %q, want %q", at, name, got, text)
			}
		}
	}
	huge := column(rows[15], "answer")
	if !strings.HasPrefix(huge, "A long answer. A") || !strings.HasSuffix(huge, "... 267273 more characters") {
		t.Errorf("%d: %s", len(huge), huge[max(0, len(huge)-60):])
	}
}

func TestSpreadsheetSafe(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"=1+1": "'=1+1", "+x": "'+x", "-5": "'-5", "@SUM(A1)": "'@SUM(A1)", "\t=1": "'\t=1", "\r=1": `\x0d=1`, "\n=1": "'\n=1", "  =1": "'  =1", "＝1": "'＝1",
		"plain": "plain", "5": "5", "a=b": "a=b", "'x": "'x", `"q", x`: `"q", x`, "a\r\nb": "a\nb", "": "", "e\u0301": "e\u0301", "- a\n- b": "'- a\n- b", "שלום": "שלום",
	} {
		rows := cells(t, runOf(t, in, "b", "a/b"))
		if got := rows[1][slices.Index(rows[0], "answer")]; got != want {
			t.Errorf("%q: %q, want %q", in, got, want)
		}
	}
	long := strings.Repeat("𝄞", 40_000) // two units each
	rows := cells(t, runOf(t, long, "b", "a/b"))
	if got := rows[1][slices.Index(rows[0], "answer")]; len(utf16.Encode([]rune(got))) < 32_700 ||
		!strings.HasSuffix(got, " more characters") {
		t.Error(len(got), got[len(got)-30:])
	}
}

func FuzzCSV(f *testing.F) {
	for _, s := range []string{"=cmd|' /C calc'!A0", "a\r\nb", "\"", "\x00", "\ufeff=1", ",;\t", strings.Repeat("é", 33_000)} {
		f.Add(s, "b")
	}
	for group := range slices.Chunk(hostile.Strings(), 40) { // files each
		f.Add(strings.Join(group, " "), group[0])
	}
	f.Fuzz(func(t *testing.T, a, b string) {
		if rows := cells(t, runOf(t, a, b, b)); len(rows) != 5 {
			t.Fatal(len(rows))
		}
	})
}

// annotationsOf are the lines of a report for GitHub Actions; each is one command and nothing else.
func annotationsOf(t *testing.T, d *journal.Document) []string {
	t.Helper()
	var b bytes.Buffer
	if err := reports.GitHub(&b, d, reports.Options{}); err != nil {
		t.Fatal(err)
	}
	if b.Len() == 0 {
		return nil
	}
	lines := strings.Split(strings.TrimSuffix(b.String(), "\n"), "\n")
	counts := map[string]int{}
	for _, line := range lines {
		if strings.ContainsFunc(line, unsafe) || strings.Contains(line, "##[") {
			t.Fatalf("%q", line)
		}
		level, rest, _ := strings.Cut(strings.TrimPrefix(line, "::"), " ")
		properties, message, ok := strings.Cut(rest, "::")
		if !ok || !strings.HasPrefix(line, "::") || !slices.Contains([]string{"error", "warning", "notice"}, level) {
			t.Fatalf("%q", line)
		}
		for _, p := range strings.Split(properties, ",") {
			key, v, _ := strings.Cut(p, "=")
			if !slices.Contains([]string{"file", "line", "col", "title"}, key) || strings.Contains(v, ":") {
				t.Fatalf("%q in %q", p, line)
			}
		}
		for _, shown := range strings.Split(message, "%0A") {
			if strings.HasPrefix(strings.TrimSpace(shown), "::") {
				t.Fatalf("a command in %q", line)
			}
		}
		counts[level]++
	}
	if counts["error"] > 10 || counts["warning"] > 10 {
		t.Fatal(counts)
	}
	return lines
}

func TestGitHub(t *testing.T) {
	t.Parallel()
	d := manyFailures(t, 100, "no: 50%, really\n::error::x")
	d.Gate = eval.Gate{
		Exit:  1,
		Rules: []eval.GateRule{{Suite: "s", Name: "passRate", Arm: "a/b", Value: new(0.0), Limit: 1}, {Suite: "s", Name: "errors", Holds: true}},
	}
	lines := annotationsOf(t, d)
	for i, want := range map[int]string{
		0:  "::error file=evals/s.yaml,title=evalrun%3A the gate does not hold (exit 1)::s on a/b: passRate at least 1; it is 0",
		1:  `::error file=evals/s.yaml,line=10,col=7,title=case 0%3A failed (0 of 2 passed%2C 2 failed)::a/b: equals: no: 50%25, really%0A\x3a:error::x%0Ac/d: equals: no: 50%25, really%0A\x3a:error::x`,
		9:  "::error title=evalrun%3A more cases::37 more cases: 37 failed, 0 could not be judged; the other reports of the run name them",
		10: `::warning file=evals/s.yaml,line=13,col=7,title=case 3%3A failed (0 of 2 passed%2C 2 failed)::in quarantine until 2099-01-01 (me): known%0Aa/b: equals: no: 50%25, really%0A\x3a:error::x%0Ac/d: equals: no: 50%25, really%0A\x3a:error::x`,
	} {
		if lines[i] != want {
			t.Errorf("line %d:\n%s\nwant\n%s", i, lines[i], want)
		}
	}
	d.Gate = eval.Gate{Rules: []eval.GateRule{{Suite: "s", Name: "passRate", Holds: true}}}
	for _, line := range annotationsOf(t, d) { // the gate holds: nothing is an error
		if !strings.HasPrefix(line, "::warning ") {
			t.Error(line)
		}
	}
}

func FuzzGitHub(f *testing.F) {
	for _, s := range []string{"::error::x", "a\r::set-output name=x::y", "%0A::error::", "title=x,file=y::z", "##[error]x", "C:\\a\\b.yaml:3:4", "%"} {
		f.Add(s, "b")
	}
	for group := range slices.Chunk(hostile.Strings(), 40) { // files each
		f.Add(strings.Join(group, " "), group[0])
	}
	f.Fuzz(func(t *testing.T, a, b string) {
		d := runOf(t, a, b, b)
		annotationsOf(t, d)
		d.Gate.Exit = 0
		annotationsOf(t, d)
	})
}

// The head counts cases once, however many arms were asked, and trials; so does the table.
func TestMarkdownCounts(t *testing.T) {
	t.Parallel()
	want := "`s`: 20 cases (2 in quarantine), 40 trials: 0 passed, 40 failed, 0 could not be judged, 0 skipped; 0 tokens.\n"
	if page := markdownOf(t, manyFailures(t, 40, "x")); !strings.Contains(page, want) {
		t.Errorf("no %q in %s", want, page[:300])
	}
}

// Of nothing every report is whole too; xunit-viewer stumbles over white space where it expects a suite.
func TestNothing(t *testing.T) {
	t.Parallel()
	d := manyFailures(t, 0, "")
	for format, want := range map[string]string{"junit": "<testsuites></testsuites>", "csv": ",caseId\r\n", "markdown": "0 cases, 0 trials: 0 passed", "github": ""} {
		var b bytes.Buffer
		if err := reports.Lookup(format).Write(&b, d, reports.Options{}); err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(b.String(), want) || want == "" && b.Len() > 0 {
			t.Errorf("%s: %q", format, b.String())
		}
	}
}
