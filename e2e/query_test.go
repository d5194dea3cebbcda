package e2e_test

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/testing/expect"
	"github.com/evalrun/evalrun/internal/testing/testrun"
)

// ask writes a query and waits for its answer.
func ask(b *tab, query string) string {
	b.t.Helper()
	search(b, query)
	b.until(`!document.getElementById('found').textContent.includes('searching')`)
	return found(b)
}

// queryTrial is a trial of a query's test: all that differs is given.
type queryTrial struct {
	name, arm, text string
	outcome         eval.Outcome
	scores          map[string]float64
	tags            []string
	call            string
}

var queryTrials = []queryTrial{
	{"first", "pro/old", "No money back.", eval.Fail, map[string]float64{"tone": 0.25, "constructor": 1}, nil, ""},
	{"first", "pro/new", strings.Repeat("So sorry. ", 50) + "A Refund is on its way.", eval.Fail, map[string]float64{"tone": 0.25}, nil, ""},
	{"second", "pro/old", "A refund.", eval.Pass, map[string]float64{"tone": 1, "constructor": 0}, []string{"two words"}, ""},
	{
		"second", "pro/new", "Caf\u00e9 \u201cquoted\u201d", eval.Pass,
		map[string]float64{"tone": 0.75, "__proto__": 0.5},
		[]string{"two words"},
		"get_order",
	},
	{"toString", "pro/new", "https://example.invalid/?a=b", eval.Pass, map[string]float64{"tone, or so": 0}, []string{"__proto__"}, ""},
}

// queryRun is a run of them.
func queryRun() (eval.Run, func(yield func(*eval.Result) bool)) {
	run := eval.Run{ID: "q", Suites: []eval.RunSuite{{Name: "s"}}, Plan: eval.RunPlan{Trials: 5, Arms: []string{"pro/old", "pro/new"}}}
	return run, func(yield func(*eval.Result) bool) {
		for n, q := range queryTrials {
			r := bigTrial(0)
			r.Trial = eval.Trial{N: n, ID: fmt.Sprint(n), Suite: "s", Case: q.name, Arm: q.arm, Repeat: 1, Tags: q.tags}
			r.Ending, r.Scores = testrun.Ending(q.outcome), nil
			r.Response.Candidates[0].Text = q.text
			if q.call != "" {
				r.Response.Candidates[0].Pieces = []eval.Piece{
					eval.TextPiece{Text: q.text}, eval.CallPiece{Call: &eval.FunctionCall{Name: q.call, Args: []byte(`{"id":"4711"}`)}},
				}
			}
			for _, name := range slices.Sorted(maps.Keys(q.scores)) {
				value := q.scores[name]
				grade := eval.Graded{Value: value, Passed: value > 0.5}
				r.Scores = append(r.Scores, eval.Score{Scorer: "judge", Name: name, Grade: grade, Weight: 1})
			}
			if !yield(r) {
				return
			}
		}
	}
}

// A query finds the trials for which all of its terms hold, in the table of trials and in the matrix. An error in it is named with its
// place and what is possible.
func TestAQueryFindsTrialsForWhichAllTermsHold(t *testing.T) {
	t.Parallel()
	run, trials := queryRun()
	b := open(t, record(t, run, trials, nil), 1280, 900, "light")
	for _, test := range []struct {
		query         string
		trials, cases int
		problem       string
	}{
		{``, 5, 3, ""},
		{`arm:pro/new outcome:fail score.tone<0.5 text:"refund"`, 1, 1, ""},
		{`arm:pro/old outcome:fail text:refund`, 0, 0, ""}, // each holds for a trial of the case, none for all
		{`text:refund`, 2, 2, ""},
		{`-text:REFUND`, 3, 3, ""},
		{`refund`, 1, 1, ""}, // only at the beginning of answers
		{`toString`, 1, 1, ""},
		{"text:cafe\u0301", 1, 1, ""},
		{`text:"\"quoted\""`, 0, 0, ""},
		{"text:\u201c\\\u201cquoted\u201d", 1, 1, ""},
		{`text:4711`, 1, 1, ""},
		{`call:get_*`, 1, 1, ""},
		{`score.constructor=1`, 1, 1, ""},
		{`score.__proto__<1`, 1, 1, ""},
		{`score."tone, or so"<=0`, 1, 1, ""},
		{`score<0.1`, 2, 2, ""},
		{`tag:"two words" -outcome:fail`, 2, 1, ""},
		{`tag:__proto__`, 1, 1, ""},
		{`outcome!=pass`, 2, 1, ""},
		{`scorer:tone`, 2, 1, ""},
		{`"https://example"`, 1, 1, ""},
		{`https://example`, 0, 0, `character 1: there is no field "https"; possible: outcome, arm,`},
		{`constructor:x`, 0, 0, `there is no field "constructor"`},
		{`arm:pro/nwe`, 0, 0, `character 5: this run has no arm "pro/nwe"; possible: pro/old, pro/new`},
		{`outcome:fial arm<3`, 0, 0, `character 9: there is no outcome "fial"; possible: pass, fail, error, skip`},
		{`score.tome<1`, 0, 0, `this run has no score "tome"; possible: constructor, tone`},
		{`score.toString<1`, 0, 0, `this run has no score "toString"`},
		{`score.tone<0,5`, 0, 0, `"0,5" is not a number; write score.tone<0.5`},
		{"\U0001F600 text:\"refund", 0, 0, `character 8: the quote is not closed: add " at its end`},
		{`text:"a"b`, 0, 0, `put a space after the quote`},
		{`outcome:`, 0, 0, `outcome: needs a value: pass, fail, error or skip`},
		{strings.Repeat("x", 3000), 0, 0, `longer than 2,000 characters`},
	} {
		for page, want := range map[string]string{
			"#/cases":  fmt.Sprintf("%d of 5 trials", test.trials),
			"#/matrix": fmt.Sprintf("%d of 3 cases", test.cases),
		} {
			b.visit(page, "#grid")
			expect.Same(t, page+" "+test.query, ask(b, test.query), want)
			problems := strings.Join(texts(b, "#problems .problem"), "\n")
			if test.problem == "" != (problems == "") || !strings.Contains(problems, test.problem) {
				t.Errorf("%s %s: problems %q, want %q", page, test.query, problems, test.problem)
			}
		}
	}
	b.visit(`#/matrix?q=score.tone%3C0.5+arm%3Apro%2Fnew`, ".reply-cell.hit .prose")
	expect.Same(t, "the address of a query", found(b), "1 of 3 cases")
	expect.Same(t, "what fits is marked", evaluate[string](b, `document.querySelector('.hit').id`), "cell-0-2")
	b.quiet()
}

// The field completes names and words with the keys alone.
func TestTheQueryFieldCompletesNames(t *testing.T) {
	t.Parallel()
	run, trials := queryRun()
	b := open(t, record(t, run, trials, nil), 1280, 900, "light")
	b.visit("#/matrix", "#grid .prose")
	press := func(keys ...string) {
		t.Helper()
		for _, k := range keys {
			b.do(chromedp.KeyEvent(k))
		}
	}
	value := func() string { return evaluate[string](b, `document.getElementById('search').value`) }
	evaluate[chromedp.Void](b, `void document.getElementById('search').focus()`)
	press("t", "a")
	expect.Same(t, "offered", strings.Join(texts(b, "#words li > bdi"), "|"), "tag")
	press(kb.ArrowDown, kb.Enter)
	expect.Same(t, "a field", value(), "tag:")
	press(kb.ArrowDown, kb.Enter)
	expect.Same(t, "a word with a blank", value(), `tag:"two words" `)
	press("-", "s", "c", "o", "r", "e", ".", "t")
	expect.Same(t, "scores", strings.Join(texts(b, "#words li"), "|"), `score.tone`)
	press(kb.ArrowDown, kb.Enter, "1")
	expect.Same(t, "a score", value(), `tag:"two words" -score.tone<1`)
	expect.Same(t, "found", found(b), "1 of 3 cases")
	press(kb.ArrowDown)
	expect.Same(t, "down goes to what was found", evaluate[string](b, `document.activeElement.id`), "grid")
	b.quiet()
}

// A query of whole answers reads thousands of trials, and the page never has more than the rows in sight.
func TestAQueryOfAnswersReadsAllTrials(t *testing.T) {
	t.Parallel()
	run, trials := bigRun(bigTrials)
	b := open(t, record(t, run, trials, nil), 1280, 900, "light")
	b.visit("#/matrix", "#grid .prose")
	want, all := map[int]bool{}, thousands(bigTrials/2)+" cases"
	for n := range bigTrials {
		if r := bigTrial(n); r.Response != nil && strings.Contains(r.Response.Text(), "Answer 7919.") && r.Outcome() == eval.Pass {
			want[n/2] = true
		}
	}
	expect.Same(t, "cases", ask(b, `outcome:pass text:"answer 7919."`), thousands(len(want))+" of "+all)
	expect.Same(t, "all", ask(b, ``), thousands(bigTrials/2)+" of "+all)
	evaluate[chromedp.Void](b, `void document.getElementById('grid').focus()`)
	b.do(chromedp.KeyEvent(kb.End))
	b.until(fmt.Sprintf(`(c => c !== null && c.getBoundingClientRect().top < innerHeight)(document.getElementById('cell-%d-0'))`,
		bigTrials/2-1))
	if lines := evaluate[int](b, `document.querySelectorAll('.line').length`); lines > 40 {
		t.Errorf("%d rows are in the page, want at most 40", lines)
	}
	b.quiet()
}

// The parser takes any text: it ends, its places are in the text, and what it quotes it reads again.
func TestTheQueryParserTakesAnyText(t *testing.T) {
	t.Parallel()
	var source strings.Builder
	for _, name := range []string{"data", "dom", "numbers", "query", "compile", "field"} {
		data, err := os.ReadFile(filepath.Join("..", "internal", "page", "html", name+".js"))
		expect.OK(t, err)
		source.Write(data)
	}
	run, trials := queryRun()
	b := open(t, record(t, run, trials, nil), 800, 600, "light")
	for _, problem := range evaluate[[]string](b, fmt.Sprintf(`(() => { %s; %s })()`, source.String(), parserAttack)) {
		t.Errorf("got the problem %v, want none", problem)
	}
}

const parserAttack = `
const parts = ['"', '\u201c', '\u201d', '\u201e', '\\', ':', '=', '!', '<', '>', '.', '-', '*', ' ', '\n', '\u00a0',
	'a', 'score', 'outcome', 'arm', '__proto__', 'constructor', 'text', '\u00e9', 'e\u0301', '\u{1f600}', '\ud800',
	'0', '5e', 'latency', 'ms', '\u202e', '\u0000', "'", '('];
const out = [];
let seed = 1;
const draw = n => { seed = (seed * 1103515245 + 12345) & 0x7fffffff; return seed % n; };
const holds = (ok, ...what) => { if (!ok && out.length < 10) out.push(JSON.stringify(what)); };
for (let k = 0; k < 20000; k++) {
	let text = '';
	for (let n = draw(12); n >= 0; n--) text += parts[draw(parts.length)];
	const {terms, problems} = parseQuery(text);
	let at = 0;
	for (const t of terms) { holds(t.at >= at && t.end > t.at && t.end <= text.length, 'terms', text); at = t.end; }
	for (const p of problems) holds(p.at >= 0 && p.at <= p.end && p.end <= text.length, 'problems', text, p);
	const quoted = parseQuery('tag:' + quotedIfNeeded(text));
	const one = quoted.terms[0];
	holds(quoted.problems.length === 0 && quoted.terms.length === 1 && one.value === text && patternOf(one)(text), 'value', text);
	const named = parseQuery('score.' + (nameNeedsQuotes(text) ? quotedText(text) : text) + '<1');
	holds(named.terms.length === 1 && named.terms[0].name === text, 'name', text);
}
return out;
`
