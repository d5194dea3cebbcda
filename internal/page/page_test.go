package page_test

import (
	"bytes"
	"compress/flate"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"html"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/evalrun/evalrun/compare"
	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/overview"
	"github.com/evalrun/evalrun/internal/page"
	"github.com/evalrun/evalrun/internal/testing/expect"
	"github.com/evalrun/evalrun/internal/testing/hostile"
	"github.com/evalrun/evalrun/internal/testing/testrun"
	"github.com/evalrun/evalrun/journal"
)

// block is a block of data of a page: what it is called, and the JSON in it.
type block struct{ id, data string }

var script = regexp.MustCompile(`(?s)<script type="([^"]*)" id="([^"]*)">(.*?)</script>`)

// blocks takes the data out of a page, as the program in it does.
func blocks(t testing.TB, page []byte) []block {
	t.Helper()
	var out []block
	for _, m := range script.FindAllSubmatch(page, -1) {
		data := string(m[3])
		if string(m[1]) != "application/json" {
			packed, err := base64.StdEncoding.DecodeString(data)
			expect.OK(t, err)
			plain, err := io.ReadAll(flate.NewReader(bytes.NewReader(packed)))
			expect.OK(t, err)
			data = string(plain)
		}
		if !json.Valid([]byte(data)) {
			t.Fatalf("block %s: got %.200s, want JSON", m[2], data)
		}
		out = append(out, block{string(m[2]), data})
	}
	return out
}

func readable(t testing.TB, page []byte) []byte {
	var b bytes.Buffer
	for _, one := range blocks(t, page) {
		fmt.Fprintf(&b, "== %s\n", one.id)
		data := strings.ReplaceAll(one.data, strings.Repeat("A long answer. ", 3000), "[long]")
		expect.OK(t, json.Indent(&b, []byte(data), "", " "))
		b.WriteByte('\n')
	}
	return b.Bytes()
}

func pageOf(t testing.TB, d *journal.Document) []byte {
	t.Helper()
	var b bytes.Buffer
	expect.OK(t, page.Write(&b, d))
	return b.Bytes()
}

// A run with every outcome, one of live chats, judges and derived metrics, and one of tools and applications have golden files of their
// data.
func TestGoldensOfThePageHold(t *testing.T) {
	t.Parallel()
	testrun.Golden(t, "every.golden", readable(t, pageOf(t, testrun.Every(t))))
	testrun.Golden(t, "chats.golden", readable(t, pageOf(t, testrun.Chats(t, "", nil))))
	testrun.Golden(t, "reach.golden", readable(t, pageOf(t, testrun.Reach(t, nil))))
}

// between is the text from one mark in a page to another.
func between(t *testing.T, page, from, to string) string {
	t.Helper()
	_, rest, begins := strings.Cut(page, from)
	text, _, ends := strings.Cut(rest, to)
	if !begins || !ends {
		t.Fatalf("got no %s in the page, want one", from)
	}
	return text
}

// The policy allows the style and the program of the page by their hashes, and images that are in it.
func TestPolicyAllowsOnlyThePagesOwnParts(t *testing.T) {
	t.Parallel()
	text := string(pageOf(t, testrun.Every(t)))
	hash := func(text string) string {
		sum := sha256.Sum256([]byte(text))
		return "'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"
	}
	policy := html.UnescapeString(between(t, text, `<meta http-equiv="Content-Security-Policy" content="`, `"`))
	program := between(t, text, "<script>", "</script>")
	want := "default-src 'none'; img-src data:; style-src " + hash(between(t, text, "<style>", "</style>")) +
		"; script-src " + hash(program) +
		"; base-uri 'none'; form-action 'none'; require-trusted-types-for 'script'; trusted-types 'none'"
	expect.Same(t, "result", policy, want)
	program = strings.ReplaceAll(program, "'http://www.w3.org/2000/svg'", "")
	for _, unwanted := range []string{
		"http:", "https:", "innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "eval(", "fetch(",
	} {
		if strings.Contains(program, unwanted) {
			t.Errorf("got %s in the program, want none", unwanted)
		}
	}
}

// FuzzPage checks that no text leaves its block, and that every block can be read again.
func FuzzPage(f *testing.F) {
	markup := []string{`</script><script>alert(1)</script>`, `<!--<script>`, "\u2028\u2029", `</title>`}
	for _, s := range slices.Concat(hostile.Strings(), markup) {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		run := eval.Run{ID: text, Suites: []eval.RunSuite{{Name: text, Dir: text}}}
		written := pageOf(t, testrun.Record(t, &run, nil, everywhere(text)...))
		if !utf8.Valid(written) {
			t.Error("got a page that is not UTF-8, want UTF-8")
		}
		contained(t, written)
		var trials []eval.Result
		decode(t, written, "trials/0", &trials)
		whole := utf8.ValidString(text) && len(text) <= 50_000
		if got := trials[0].Response.Text(); whole && got != text {
			t.Errorf("got %[2]q, want %[1]q", text, got)
		}
	})
}

// contained fails for a page of one block of trials that has elements of its data.
func contained(t *testing.T, page []byte) {
	t.Helper()
	begun, ended := bytes.Count(page, []byte("<script")), bytes.Count(page, []byte("</script>"))
	if n := len(blocks(t, page)); n != 4 || begun != 5 || ended != 5 {
		t.Errorf("%d blocks, %d scripts, %d ends of scripts, want 4, 5, 5", n, begun, ended)
	}
	if titles, comments := bytes.Count(page, []byte("</title>")), bytes.Count(page, []byte("<!--")); titles != 1 || comments != 0 {
		t.Errorf("got %d ends of a title and %d comments, want 1 and none", titles, comments)
	}
}

// everywhere are trials all of whose texts are one, one per kind of application.
func everywhere(text string) []*eval.Result {
	literal, err := json.Marshal(text)
	if err != nil { // strings always encode
		panic(err)
	}
	call := &eval.FunctionCall{ID: text, Name: text, Args: literal}
	answer := testrun.Answered(text, text)
	answer.Candidates[0].VendorReason, answer.Candidates[0].Raw = text, literal
	answer.Candidates[0].Pieces = []eval.Piece{
		eval.TextPiece{Text: text}, eval.ReasoningPiece{Reasoning: text}, eval.CallPiece{Call: call}, eval.OtherPiece{Other: literal},
	}
	results := []eval.CallResult{{ID: text, Name: text, Text: text, Failed: true}}
	endpoint := &eval.Result{
		TraceID: text, Workspace: text,
		Trial:    eval.Trial{ID: "x", Suite: text, Case: text, Arm: text, Tags: []string{text}},
		Ending:   eval.Failed{},
		Response: answer,
		Request: &eval.Request{
			Contents: []eval.Content{{Role: text, Parts: []eval.Part{
				eval.TextPart{Text: text},
				eval.ImagePart{Image: &eval.Image{Path: text, MIMEType: text, SHA256: text}},
				eval.DataPart{Data: &eval.Image{Path: text, MIMEType: text}},
				eval.RawPart{Raw: literal},
				eval.ResultPart{Result: &results[0]},
			}}},
			System: text,
			Tools:  []eval.Declaration{{Name: text, Description: text, Parameters: literal}}, ToolChoice: &eval.Choice{Name: text},
			ToolResults: text, Extra: eval.Extra{text: literal}, App: &eval.Rendered{
				Payload: &eval.HTTP{Method: text, URL: text, Headers: []eval.Header{{Name: text, Value: text}}, Body: text},
			},
		},
		Scores: []eval.Score{{
			Scorer: text, Grade: eval.Graded{}, Reason: text, Diff: text,
			Judged: &eval.Judged{Judge: text, Choice: text, Rulings: []eval.Ruling{{Choice: text, Reason: text}}},
		}},
		Calls:   []eval.AnsweredCall{{Response: *answer, Results: results}, {Response: *answer}},
		Metrics: map[string]float64{text: 1}, Vars: map[string]string{text: text},
		Judgements: []eval.Judgement{{
			ID: text, Judge: text, Model: text, Reply: text, FinishReason: text, Error: &eval.Error{Message: text},
		}},
	}
	program, request := *endpoint, *endpoint.Request
	request.App = &eval.Rendered{
		Payload: &eval.ProgramRun{Command: []string{text}, Files: map[string]string{text: text}, Input: literal, Workspace: text},
	}
	program.ID, program.Request = "y", &request
	return []*eval.Result{endpoint, &program}
}

// picture is a run whose two trials send the same image.
func picture(t *testing.T, options *eval.RunOptions, img eval.Image, data []byte) *journal.Document {
	t.Helper()
	dir := t.TempDir()
	err := errors.Join(os.WriteFile(filepath.Join(dir, "a.png"), data, 0o600), os.Mkdir(filepath.Join(dir, "folder"), 0o700))
	expect.OK(t, err)
	run := eval.Run{ID: "r", Suites: []eval.RunSuite{{Name: "s", Dir: dir}}, CommandOptions: options}
	var trials []*eval.Result
	for n := range 2 {
		trials = append(trials, &eval.Result{
			Trial:   eval.Trial{N: n, ID: fmt.Sprint(n), Suite: "s", Case: "c", Arm: "a/b"},
			Ending:  eval.Passed{},
			Request: &eval.Request{Contents: []eval.Content{{Parts: []eval.Part{eval.ImagePart{Image: &img}}}}},
		})
	}
	return testrun.Record(t, &run, nil, trials...)
}

// An image is in the page once, when its file is still there and has the bytes that were sent.
func TestAnImageIsInThePageOnce(t *testing.T) {
	t.Parallel()
	data, large := []byte("\x89PNG and more"), make([]byte, 1<<21)
	sum, largeSum := fmt.Sprintf("%x", sha256.Sum256(data)), fmt.Sprintf("%x", sha256.Sum256(large))
	png := func(path, hash string) eval.Image { return eval.Image{Path: path, MIMEType: "image/png", SHA256: hash} }
	for name, test := range map[string]struct {
		flags *eval.RunOptions
		img   eval.Image
		data  []byte
		want  int
	}{
		"as sent":        {nil, png("a.png", sum), data, 1},
		"resized":        {nil, eval.Image{Path: "a.png", MIMEType: "image/png", SHA256: "00", SourceSHA256: sum}, data, 1},
		"changed since":  {nil, png("a.png", sum), []byte("other"), 0},
		"not kept":       {&eval.RunOptions{Options: eval.Options{NoContent: true}}, png("a.png", sum), data, 0},
		"outside":        {nil, png("../a.png", sum), data, 0},
		"gone":           {nil, png("b.png", sum), data, 0},
		"a folder":       {nil, png("folder", sum), data, 0},
		"no type for it": {nil, eval.Image{Path: "a.png", MIMEType: "image/heic", SHA256: sum}, data, 0},
		"too large":      {nil, png("a.png", largeSum), large, 0},
	} {
		t.Run(name, func(t *testing.T) {
			n := 0
			for _, b := range blocks(t, pageOf(t, picture(t, test.flags, test.img, test.data))) {
				if !strings.HasPrefix(b.id, "image/") {
					continue
				}
				n++
				if want := `"data:image/png;base64,` + base64.StdEncoding.EncodeToString(test.data) + `"`; b.data != want {
					t.Errorf("%s, want %s", b.data, want)
				}
			}
			expect.Same(t, "images", n, test.want)
		})
	}
}

// compared is a run of three failures: one is new, one was there in the baseline, and one is not in it.
func compared(t testing.TB) *journal.Document {
	t.Helper()
	var all []*eval.Result
	for n, name := range []string{"always", "broke", "fresh"} {
		all = append(all, &eval.Result{
			Trial:  eval.Trial{N: n, ID: fmt.Sprintf("%016x", n), Suite: "s", Case: name, Arm: "x/p", Repeat: 1},
			Ending: eval.Failed{}, Response: testrun.Answered("no", "STOP"),
		})
	}
	d := testrun.Record(t, &eval.Run{ID: "r", Suites: []eval.RunSuite{{Name: "s"}}}, &eval.End{Reason: eval.EndCompleted}, all...)
	d.Decision.Comparison = &compare.Comparison{Arms: []compare.ArmComparison{{
		Suite: "s", BaseArm: "x/p", HeadArm: "x/p", Verdict: eval.Regressed,
		Cases: compare.Pairing{
			Paired: 2, Units: 2, Compared: 2, Of: 3, MinPaired: 0.6, Added: []string{"fresh"},
			Removed: []string{"gone"}, PassedBefore: []string{"gone"},
		},
		Flips: []compare.Flip{{Case: "broke", BasePassed: 1, BaseScored: 1, HeadScored: 1}},
		Metrics: []compare.MetricComparison{{
			Name:          eval.MetricPass,
			MetricChange:  compare.MetricChange{N: 2, Level: 0.98, Anytime: true},
			MetricTests:   compare.MetricTests{Gated: true, Margin: new(0.05)},
			MetricVerdict: compare.MetricVerdict{Cautions: []string{"worse_within_margin"}},
		}},
	}}}
	return d
}

// The page has the comparison in the words that all reports have, and notes on each failure how it did in the baseline.
func TestThePageComparesInTheWordsOfReports(t *testing.T) {
	t.Parallel()
	d := compared(t)
	written := pageOf(t, d)
	var head struct {
		Readings      []overview.ComparisonWords
		OtherBaseline bool
	}
	decode(t, written, "head", &head)
	want := []overview.ComparisonWords{{
		Changes: "1 newly failing, 0 newly passing, 1 removed (1 passed before)",
		Cases: []string{
			"compared 2 of 3 cases (--min-paired 0.6)", "1 case removed; passed before: gone", "1 case added: fresh",
		},
		Metrics: []string{
			"pass: margin 0.05, 0 got worse, 0 better, anytime-valid interval (98 %), the estimate is biased away from zero, " +
				"worse, but within the margin",
		},
		Tests: []string{},
	}}
	expect.Same(t, "readings", head.Readings, want)
	expect.Same(t, "other baseline", head.OtherBaseline, false)
	var index struct{ Tables struct{ Note [][]string } }
	decode(t, written, "index", &index)
	notes := [][]string{{"also failed in the baseline"}, {"newly failing"}, {"not in the baseline"}}
	expect.Same(t, "notes", index.Tables.Note, notes)
	before, err := page.Head(d)
	expect.OK(t, err)
	data, err := page.ComparedHead(d, &compare.Comparison{})
	expect.OK(t, err)
	expect.Contains(t, "notes of the gate's baseline", string(data), `"otherBaseline":true`)
	after, err := page.Head(d)
	expect.OK(t, err)
	expect.Same(t, "the run's own head after another comparison", string(after), string(before))
}

// scored is a trial with scores: nil is one that could not be judged.
func scored(n int, scores ...eval.Score) *eval.Result {
	return &eval.Result{
		Trial:  eval.Trial{N: n, ID: fmt.Sprint(n), Suite: "s", Case: fmt.Sprint(n), Arm: "t/p", Repeat: 1},
		Ending: eval.Passed{}, Response: testrun.Answered("x", "STOP"), Scores: scores,
	}
}

// The rows have what a trial costs by the run's price list: -1 where tokens or price are unknown, and no column without a list.
func TestRowsHaveTheirCost(t *testing.T) {
	t.Parallel()
	known, unpriced, unmetered := scored(0), scored(1), scored(2)
	known.Model, unpriced.Model, unmetered.Model = "svc-pro", "svc-other", "svc-pro"
	known.Usage = &eval.Usage{PromptTokens: 1000, OutputTokens: 500, TotalTokens: 1500}
	unpriced.Usage = known.Usage
	prices := json.RawMessage(`{"currency":"EUR","models":{"svc-pro":{"input":2,"output":10}}}`)
	for _, test := range []struct {
		prices json.RawMessage
		want   []float64
	}{
		{prices, []float64{0.007, -1, -1}}, {nil, nil}, {json.RawMessage(`"no list"`), nil},
	} {
		run := eval.Run{ID: "r", Suites: []eval.RunSuite{{Name: "s"}}, Plan: eval.RunPlan{Trials: 3}, Prices: test.prices}
		var rows struct{ Cost []float64 }
		decode(t, pageOf(t, testrun.Record(t, &run, nil, known, unpriced, unmetered)), "rows/0", &rows)
		expect.Same(t, "the costs with "+string(test.prices), rows.Cost, test.want)
	}
}

// declared matches what a script declares for all scripts of its page: they are one closure.
var declared = regexp.MustCompile(`(?m)^(?:async )?(?:const|let|function|class) +([A-Za-z_$][\w$]*)`)

// No two scripts of a page declare the same name: the page would not run at all.
func TestScriptsDeclareNamesOnce(t *testing.T) {
	t.Parallel()
	common, err := filepath.Glob("html/*.js")
	expect.OK(t, err)
	common = slices.DeleteFunc(common, func(path string) bool { return path == "html/blocks.js" })
	for _, own := range [][]string{
		{"html/blocks.js"}, // of the page that is a file
		{"../site/pages/view_load.js", "../site/pages/live.js", "../site/pages/compare.js", "../site/pages/label.js", "../site/pages/view.js"},
		{"../site/pages/load.js", "../site/pages/comparisons.js", "../site/pages/site.js"},
	} {
		by := map[string]string{}
		for _, path := range slices.Concat(common, own) {
			declaredBy(t, path, by)
		}
		if len(by) < 200 {
			t.Errorf("got %d names, want at least 200", len(by))
		}
	}
}

// declaredBy adds what a script declares.
func declaredBy(t *testing.T, path string, by map[string]string) {
	t.Helper()
	text, err := os.ReadFile(path)
	expect.OK(t, err)
	for _, found := range declared.FindAllStringSubmatch(string(text), -1) {
		if other, twice := by[found[1]]; twice {
			t.Errorf("%s and %s: got %s in both, want it in one", other, path, found[1])
		}
		by[found[1]] = path
	}
}
