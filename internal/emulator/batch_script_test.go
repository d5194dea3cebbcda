package emulator

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/evalrun/evalrun/diag"
	"github.com/evalrun/evalrun/internal/testing/expect"
)

// ids lists the ids of items in results, in order.
func ids(results string) string {
	var out []string
	for _, part := range strings.Split(results, `"`) {
		if len(part) == 2 && part[0] == 'i' && part != "id" || strings.HasPrefix(part, "unknown") {
			out = append(out, part)
		}
	}
	return strings.Join(out, " ")
}

// What a script lets go wrong with a batch, in each protocol.
func TestScriptedBatches(t *testing.T) {
	t.Parallel()
	type want struct{ state, results string } // parts of what is shown and sent
	for _, test := range []struct {
		script  string
		answers map[string]int // of 4 items
		want    map[string]want
	}{
		{"shuffle: true", nil, map[string]want{"openai": {"completed", ""}, "anthropic": {"ended", ""}, "generative": {"SUCCEEDED", ""}}},
		{"faults: [{expire: 3}]", map[string]int{"openai": 1, "anthropic": 1, "generative": 0}, map[string]want{
			"openai":     {`"status":"expired"`, `"code":"batch_expired"`},
			"anthropic":  {`"expired":3,"processing":0,"succeeded":1`, `{"custom_id":"i3","result":{"type":"expired"}}`},
			"generative": {"BATCH_STATE_EXPIRED", `"message":"the batch expired`},
		}},
		{"faults: [{cancel: 9}]", map[string]int{"openai": 0, "anthropic": 0, "generative": 0}, map[string]want{
			"openai":     {`"status":"cancelled"`, `"code":"batch_cancelled"`},
			"anthropic":  {`"canceled":4`, `{"custom_id":"i0","result":{"type":"canceled"}}`},
			"generative": {"BATCH_STATE_CANCELLED", `"message":"the batch was cancelled"`},
		}},
		{"faults: [{fail: no quota}]", map[string]int{"openai": 0, "anthropic": 0, "generative": 0}, map[string]want{
			"openai":     {`"errors":{"data":[{"code":"batch_failed","line":null,"message":"no quota"`, ""},
			"anthropic":  {`"errored":4`, `"error":{"message":"no quota","type":"api_error"}`},
			"generative": {"BATCH_STATE_FAILED", `"error":{"code":13,"message":"no quota"}`},
		}},
	} {
		for name, f := range batchFaces {
			t.Run(test.script+" "+name, func(t *testing.T) {
				t.Parallel()
				e := newEmulator(t, "batch: {"+test.script+"}")
				path := f.submit(t, e, "a", "b", "c", "d")
				_, state := tell(t, e, "GET", path, "", "")
				results := f.results(t, e, path)
				if w := test.want[name]; !strings.Contains(state, w.state) || !strings.Contains(results, w.results) {
					t.Errorf("got %s and %s, want %q and %q", state, results, w.state, w.results)
				}
				answers, given := test.answers[name]
				if !given {
					answers = 4
				}
				expect.Same(t, "answers", e.Stats()[servedAnswers], int64(answers))
			})
		}
	}
}

// Results come in another order, twice, and of items that nobody sent.
func TestScriptedResults(t *testing.T) {
	t.Parallel()
	for script, want := range map[string]string{
		"shuffle: true":          "i0 i1 i3 i2",
		"faults: [{repeat: 2}]":  "i0 i1 i2 i3 i0 i1",
		"faults: [{unknown: 1}]": "i0 i1 i2 i3 unknown-1",
	} {
		for name, f := range batchFaces {
			e := newEmulator(t, "batch: {"+script+"}")
			path := f.submit(t, e, "a", "b", "c", "d")
			for range 2 {
				expect.Same(t, script+" "+name, ids(f.results(t, e, path)), want)
			}
			expect.Same(t, "answers", e.Stats()[servedAnswers], int64(4))
			expect.Same(t, "duplicates", e.Stats()[servedTwice], int64(0))
		}
	}
}

// The first reading of results that are cut off ends in the middle of a result, and the second one is whole.
func TestResultsAreCutOff(t *testing.T) {
	t.Parallel()
	for name, f := range batchFaces {
		for _, items := range [][]string{{"a"}, {"a", "b"}} {
			e := newEmulator(t, "batch: {faults: [{cutResults: 1}]}")
			path := f.submit(t, e, items...)
			first, second := f.results(t, e, path), f.results(t, e, path)
			rest, part := strings.CutPrefix(second, first)
			if !part || strings.HasSuffix(first, "}\n") || strings.HasSuffix(first, "}") || len(rest) < 10 || len(first) < 10 {
				t.Errorf("%s: got %q and then %q, want a part of it first", name, first, second)
			}
		}
	}
}

// A batch is open for the time and the questions of the script, and is cancelled with the answers that it had.
func TestABatchTakesItsTime(t *testing.T) {
	t.Parallel()
	for name, f := range batchFaces {
		e := newEmulator(t, "batch: {polls: 3}")
		path, other := f.submit(t, e, "a", "b", "c", "d"), f.submit(t, e, "a", "b", "c", "d")
		for range 3 {
			expect.Same(t, name, f.state(told(t, e, "GET", path, "", "")), any(f.open))
		}
		expect.Same(t, name, f.state(told(t, e, "GET", path, "", "")), any(f.ended))
		for range 2 {
			told(t, e, "GET", other, "", "")
		}
		told(t, e, "POST", other+f.cancel, jsonType, "")
		expect.Same(t, name, f.state(told(t, e, "GET", other, "", "")), any(f.cancelled))
		want := int64(6)
		if name == "generative" { // whose cancelled batches have no results
			want = 4
		}
		expect.Same(t, name+" answers", e.Stats()[servedAnswers], want)
	}
	e := newEmulator(t, "batch: {after: 20ms}")
	f := batchFaces["anthropic"]
	path := f.submit(t, e, "a")
	begun := time.Now()
	for f.state(told(t, e, "GET", path, "", "")) != any("ended") {
		time.Sleep(time.Millisecond)
	}
	if took := time.Since(begun); took < 15*time.Millisecond {
		t.Errorf("it took %s, want 20ms", took)
	}
}

// A refused submission makes no batch. One whose reply is lost makes one.
func TestScriptedSubmissions(t *testing.T) {
	t.Parallel()
	const body = `{"requests": [{"custom_id": "i0", "params": {"model": "m", "max_tokens": 9, "messages": []}}]}`
	e := newEmulator(t, `
batch:
  faults: [{status: 529, message: later, retryAfter: 2s, first: 2}, {cut: true, first: 3}, {malformed: html, first: 4}]
`)
	for i, want := range []struct {
		status, batches int
		text            string
	}{{529, 0, "later"}, {529, 0, "overloaded_error"}, {200, 1, `{"archived_at":null`}, {200, 2, "<html>"}, {200, 3, "in_progress"}} {
		status, text := tell(t, e, "POST", "/v1/messages/batches", jsonType, body)
		listed := told(t, e, "GET", "/v1/messages/batches", "", "")["data"].([]any)
		if status != want.status || !strings.Contains(text, want.text) || len(listed) != want.batches {
			t.Errorf("submission %d: got %d %s and %d batches, want %+v", i+1, status, text, len(listed), want)
		}
		if whole := strings.Contains(text, "results_url"); whole != (i == 4) {
			t.Errorf("submission %d: got %s, whole only the last time", i+1, text)
		}
	}
	expect.Same(t, "batches", e.Stats()[servedBatches], int64(3))
}

// An emulator that is stopped anywhere leaves what another one continues with.
func TestBatchesAreKept(t *testing.T) {
	t.Parallel()
	const script = "batch: {polls: 1, faults: [{repeat: 1, first: 1}]}\nrules: [{match: {text: busy}, faults: [{status: 500, first: 1}]}]"
	for name, f := range batchFaces {
		dir := filepath.Join(t.TempDir(), "batches")
		again := func() *Emulator {
			e := newEmulator(t, script)
			expect.OK(t, e.KeepBatches(dir))
			return e
		}
		e := again()
		if _, err := os.Stat(dir); err == nil {
			t.Errorf("%s: the folder is there, want it for the first batch", name)
		}
		path := f.submit(t, e, "busy", "b")
		expect.Same(t, name, f.state(told(t, again(), "GET", path, "", "")), any(f.open))
		expect.Same(t, name, f.state(told(t, again(), "GET", path, "", "")), any(f.ended))
		expect.Same(t, name, strings.Count(ids(f.results(t, again(), path)), "i0"), 2)
		e = again()
		other := f.submit(t, e, "busy", "b") // the answer to b is the second one
		for range 2 {
			told(t, e, "GET", other, "", "")
		}
		stats := again().Stats()
		for what, want := range map[string]int64{servedBatches: 2, servedItems: 4, servedAnswers: 3, servedTwice: 1} {
			expect.Same(t, name+" "+what, stats[what], want)
		}
	}
}

// What is drawn for an item goes on in the next emulator, so that an item that fails by chance does not fail for ever.
func TestDrawsOfItemsGoOn(t *testing.T) {
	t.Parallel()
	for name, f := range batchFaces {
		dir := t.TempDir()
		for n := 1; ; n++ {
			e := newEmulator(t, "rules: [{faults: [{status: 500, rate: 0.8}]}]")
			expect.OK(t, e.KeepBatches(dir))
			if told(t, e, "GET", f.submit(t, e, "a"), "", ""); e.Stats()[servedAnswers] == 1 {
				break
			}
			if n == 50 {
				t.Fatalf("%s: %d batches without an answer, want one of five to have it", name, n)
			}
		}
	}
}

// A folder that somebody else has written is refused, and nothing outside of it is read or written.
func TestKeptBatchesAreChecked(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"{": "JSON", `{"batches": [null]}`: "null", `{"batches": [{"id": "../a", "end": "completed"}]}`: "invalid argument", "[]": "cannot",
	} {
		dir := t.TempDir()
		expect.OK(t, os.WriteFile(filepath.Join(dir, ledgerName), []byte(text), 0o600))
		if err := New(Options{}).KeepBatches(dir); err == nil || !strings.Contains(err.Error(), dir) || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want an error with the path and %q", text, err, want)
		}
	}
	dir := t.TempDir()
	const text = `{"batches": [{"id": "../a", "protocol": "anthropic", "input": "../b", "items": 1}]}`
	expect.OK(t, os.WriteFile(filepath.Join(dir, ledgerName), []byte(text), 0o600))
	e := New(Options{})
	expect.OK(t, e.KeepBatches(dir))
	if status, got := tell(t, e, "GET", "/v1/messages/batches/..%2Fa", "", ""); status != 500 {
		t.Errorf("got %d %s, want 500", status, got)
	}
}

// A live call of what a batch answered counts as a duplicate, and calls of their own do not.
func TestDuplicatesAreCounted(t *testing.T) {
	t.Parallel()
	e := newEmulator(t, "rules: []")
	live := func(text string) { told(t, e, "POST", "/v1/chat/completions", jsonType, chatBody(text)) }
	live("a")
	live("a")
	expect.Same(t, "live calls", e.Stats()[servedTwice], int64(0))
	f := batchFaces["openai"]
	told(t, e, "GET", f.submit(t, e, "a", "b"), "", "")
	expect.Same(t, "after the batch", e.Stats()[servedTwice], int64(1))
	live("b")
	live("c")
	expect.Same(t, "after live calls", e.Stats()[servedTwice], int64(2))
	expect.Same(t, "served", strings.Join(e.Served(), ", "),
		"chat/completions 4, batches 1, batch items 2, batch answers 2, batch duplicates 2")
}

// Items of a large batch are read, answered and sent one by one.
func TestManyItemsAreAnswered(t *testing.T) {
	t.Parallel()
	var items []string
	for i := range 10_000 {
		items = append(items, fmt.Sprintf("item %d.", i))
	}
	e, f := newEmulator(t, "rules: []"), batchFaces["openai"]
	expect.OK(t, e.KeepBatches(t.TempDir()))
	path := f.submit(t, e, items...)
	told(t, e, "GET", path, "", "")
	expect.Same(t, "results", strings.Count(f.results(t, e, path), `"content":"item `), len(items))
}

// A script says what is wrong with its block, and where.
func TestScriptsOfBatchesAreChecked(t *testing.T) {
	t.Parallel()
	for script, want := range map[string]string{
		"batch: {poll: 1}":                          "s.yaml:1:9: unknown key `poll`",
		"batch: {faults: [{first: 1}]}":             "a fault is one of status, hang, cut, malformed, fail",
		"batch: {faults: [{fail: ''}]}":             "`fail` is the reason",
		"batch: {faults: [{expire: 0}]}":            "s.yaml:1:27",
		"batch: {faults: [{expire: 1, cancel: 1}]}": "found `expire` and `cancel`",
		"rules: [{faults: [{expire: 1}]}]":          "unknown key `expire`",
		"batch: {faults: [{expire: 1, after: 2}]}":  "unknown key `after`",
	} {
		var diags diag.List
		LoadScript("s.yaml", []byte(script), &diags)
		expect.Fails(t, script, diags.Err(), want)
	}
}
