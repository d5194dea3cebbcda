package main

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"net/http"
	"os"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/evalrun/evalrun/internal/testing/expect"
)

// ledger counts the calls that a service got, by method and by what was sent.
type ledger struct {
	mu    sync.Mutex
	calls map[string]int
}

func (l *ledger) count(key string) (nth int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.calls == nil {
		l.calls = map[string]int{}
	}
	l.calls[key]++
	return l.calls[key]
}

// all is how many calls there were, and extra how many of them were repeated.
func (l *ledger) all() (all, extra int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, n := range l.calls {
		all += n
		extra += n - 1
	}
	return all, extra
}

// countingService answers prompts, judges and embeddings after a short while, and counts what it got.
func countingService(l *ledger, usage string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return // killed
		}
		_, method, _ := strings.Cut(r.URL.Path, ":")
		if method == "" {
			fmt.Fprint(w, `{"name":"models/m","inputTokenLimit":100000,"outputTokenLimit":100}`)
			return
		}
		if method == "batchEmbedContents" || method == "embedContent" {
			embedTexts(w, l, body)
			return
		}
		if method == "countTokens" {
			fmt.Fprint(w, `{"totalTokens":10}`)
			return
		}
		l.count(string(body))
		time.Sleep(time.Duration(1+rand.IntN(15)) * time.Millisecond) // a service takes its time
		text := "an answer"
		if strings.Contains(string(body), "You are") {
			text = `{\"reason\":\"fine\",\"score\":1}`
		}
		part := `{"text":"` + text + `"}`
		if strings.Contains(string(body), `"functionDeclarations"`) {
			part = loopPart(string(body), part)
		}
		fmt.Fprintf(w, `{"candidates":[{"content":{"parts":[%s]},"finishReason":"STOP"}]%s}`, part, usage)
	})
}

var question = regexp.MustCompile(`question (x[0-9]+)`)

// loopPart calls the function that a text answers, then the one that a program answers, and then gives the answer.
func loopPart(body, answer string) string {
	functions := []string{"get", "run"}
	step := strings.Count(body, `"functionResponse"`)
	if step == len(functions) {
		return answer
	}
	return fmt.Sprintf(`{"functionCall":{"name":"%s","args":{"id":"%s"}}}`, functions[step], question.FindStringSubmatch(body)[1])
}

var embedText = regexp.MustCompile(`"text":"([^"]*)"`)

func embedTexts(w http.ResponseWriter, l *ledger, body []byte) {
	texts := embedText.FindAllSubmatch(body, -1)
	l.count("embed " + string(body))
	time.Sleep(10 * time.Millisecond) // as above
	var vectors []map[string][]float64
	for range texts {
		vectors = append(vectors, map[string][]float64{"values": {1, 0}})
	}
	if strings.Contains(string(body), `"requests"`) {
		_ = json.NewEncoder(w).Encode(map[string]any{"embeddings": vectors})
		return
	}
	_ = json.NewEncoder(w).Encode(map[string]any{"embedding": vectors[0]})
}

// killRepeatedly runs a command and kills it several times while it continues as `resume`. It gives the number of kills; the
// run is complete afterwards.
func (b *box) killRepeatedly(l interface{ sum() int }, times, want int, first ...string) int {
	b.t.Helper()
	rng := rand.New(rand.NewPCG(7, uint64(times)))
	args, killed := first, 0
	for killed < times {
		cmd := b.command(args...)
		expect.OK(b.t, cmd.Start())
		ended := make(chan struct{})
		go func() {
			_ = cmd.Wait()
			close(ended)
		}()
		wait := func(until func() bool) {
			for !until() {
				select {
				case <-ended:
					return
				case <-time.After(time.Millisecond):
				}
			}
		}
		if killed%4 == 3 { // before the first call, or about then
			late := time.Now().Add(time.Duration(rng.IntN(200)) * time.Millisecond)
			wait(func() bool { return time.Now().After(late) })
		} else { // in the middle of calls
			enough := l.sum() + 1 + rng.IntN(30)
			wait(func() bool { return l.sum() >= enough })
		}
		_ = cmd.Process.Kill()
		<-ended
		if cmd.ProcessState.ExitCode() != -1 {
			break // it was done
		}
		killed++
		if _, err := os.Stat(b.path("killed/run.jsonl")); err == nil {
			args = []string{"resume", "killed"}
		}
	}
	if args[0] == "resume" {
		b.exits(want, "resume", "killed", "-o", "json=killed.json")
	} else {
		_ = os.RemoveAll(b.path("killed"))
		b.exits(want, append(first, "-o", "json=killed.json")...)
	}
	return killed
}

// Answers that wait for judges or embeddings, and turns of unfinished chats, are in the run file: a kill repeats at
// most one call for each worker, of whatever kind.
func TestKilledWhileJudgingRepeatsOneCallAWorker(t *testing.T) {
	const workers = 4
	for name, scorer := range map[string]string{
		"judges":     `{judge: {rubric: "is it fine?"}}`,
		"embeddings": `{similar: {to: "{{.x}}", min: 0}}`,
		"chats":      `{contains: answer}`,
		"tools":      `{contains: answer}`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			prompt := `text: "question {{.x}}"`
			switch name {
			case "chats":
				prompt = `live: true, turns: [{user: "first {{.x}}"}, {user: second}, {user: third}]`
			case "tools":
				prompt += `, tools: [{name: get}, {name: run}], toolResults: {get: {text: "{{.args.id}}"}, run: {command: ` +
					`[sh, -c, "cat >>ran; sleep 0.01; echo done"]}}`
			}
			var cases strings.Builder
			for i := range 30 * kills(t) {
				fmt.Fprintf(&cases, "  - {name: c%d, vars: {x: x%d}}\n", i, i)
			}
			var l ledger
			b := newBox(t, countingService(&l, ""), map[string]string{
				"suite.yaml": "version: 1\nname: s\ntargets: [{name: t, model: m}]\njudges: [{name: j, model: m}]\n" +
					"prompts: [{name: p, " + prompt + "}]\nlimits: {concurrency: " + fmt.Sprint(workers) + ", countTokens: never}\n" +
					"defaults: {scorers: [" + scorer + "]}\ncases:\n" + cases.String(),
			})
			killed := b.killRepeatedly(&l, kills(t), 0, "run", "suite.yaml", "--out", "killed")
			all, extra := l.all()
			if name == "embeddings" { // batches differ: texts are what is counted
				extra = l.texts()
			}
			if extra > killed*workers {
				t.Errorf("%d of %d calls were repeated by %d kills of %d workers, want at most one a worker and kill", extra, all, killed, workers)
			}
			if name == "tools" {
				b.reran(30*kills(t), killed*workers)
			}
			t.Logf("%d kills, %d calls, %d repeated", killed, all, extra)
		})
	}
}

// reran wants the program of each case to have run, and no more of them again than were running when the run was killed.
func (b *box) reran(cases, most int) {
	b.t.Helper()
	runs := strings.Fields(strings.ReplaceAll(b.read("ran"), `{"id":`, " "))
	of := map[string]bool{}
	for _, one := range runs {
		of[one] = true
	}
	if len(of) != cases || len(runs)-cases > most {
		b.t.Errorf("%d runs of the programs of %d cases, want %d cases and at most %d again", len(runs), len(of), cases, most)
	}
	b.t.Logf("%d of %d programs ran again", len(runs)-cases, cases)
}

// texts is how many generate calls were repeated, and how many calls to embed there were beyond what full batches need.
func (l *ledger) texts() (extra int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for key, n := range l.calls {
		if !strings.HasPrefix(key, "embed ") {
			extra += n - 1
		}
	}
	return extra
}

// A budget of calls is never overrun, by kills and resumes neither, and the report knows it.
func TestKilledUnderABudgetOfCallsNeverOverrunsIt(t *testing.T) {
	t.Parallel()
	var l ledger
	b := newBox(t, countingService(&l, ""), map[string]string{
		"suite.yaml": "version: 1\nname: s\ntargets: [{name: t, model: m}]\nprompts: [{name: p, text: hello}]\nlimits: {concurrency: 8, " +
			"budget: {calls: 100}, countTokens: never}\n" +
			"cases: [{name: c, repeats: 400, scorers: [{contains: answer}]}]\n",
	})
	b.killRepeatedly(&l, kills(t), 4, "run", "suite.yaml", "--out", "killed")
	calls := l.sum()
	if calls > 100 {
		t.Errorf("got %d calls, want at most the budget of 100", calls)
	}
	var report struct {
		Run struct{ Spent struct{ Calls int } }
	}
	expect.OK(t, json.Unmarshal([]byte(b.read("killed.json")), &report))
	if got := report.Run.Spent.Calls; got < calls || got > 100 {
		t.Errorf("got %d calls in the report, want at least the %d of the service and at most 100", got, calls)
	}
}

// A budget of tokens is overrun by what reservations fell short of, over all resumes together.
func TestKilledUnderABudgetOfTokensOverrunsByReservations(t *testing.T) {
	t.Parallel()
	var l ledger
	b := newBox(
		t,
		countingService(&l, `,"usageMetadata":{"promptTokenCount":10,"candidatesTokenCount":100,"totalTokenCount":110}`),
		map[string]string{
			"suite.yaml": "version: 1\nname: s\ntargets: [{name: t, model: m}]\nprompts: [{name: p, text: hello}]\nlimits: {concurrency: 8, " +
				"budget: {tokens: 8800}}\n" +
				"cases: [{name: c, repeats: 400, scorers: [{contains: answer}]}]\n",
		},
	)
	b.killRepeatedly(&l, kills(t), 4, "run", "suite.yaml", "--out", "killed")
	if all := l.sum(); all*110 > 8800 {
		t.Errorf("got %d tokens, want at most the budget of 8800", all*110)
	}
}

// sum is how many calls there were, of any text.
func (l *ledger) sum() int {
	calls, _ := l.all()
	return calls
}

// The tokens of the last minute count after a kill as well, at what the calls used. 110 are reserved for each.
func TestKilledUnderALimitOfTokensKeepsTheLastMinute(t *testing.T) {
	for _, used := range []int{100, 150} {
		t.Run(fmt.Sprint(used), func(t *testing.T) {
			t.Parallel()
			keepsTheLastMinute(t, used)
		})
	}
}

func keepsTheLastMinute(t *testing.T, used int) {
	t.Helper()
	var l ledger
	b := newBox(
		t,
		countingService(&l, fmt.Sprintf(
			`,"usageMetadata":{"promptTokenCount":10,"candidatesTokenCount":%d,"totalTokenCount":%d}`, used-10, used,
		)),
		map[string]string{
			"suite.yaml": "version: 1\nname: s\ntargets: [{name: t, model: m}]\nprompts: [{name: p, text: hello}]\nlimits: {concurrency: 4, " +
				"tokensPerMinute: 2000}\n" +
				"cases: [{name: c, repeats: 400, scorers: [{contains: answer}]}]\n",
		},
	)
	args := []string{"run", "suite.yaml", "--out", "killed"}
	for killed := range 4 {
		cmd := b.command(args...)
		expect.OK(t, cmd.Start())
		begun := func() bool { // a machine that has much to do takes its time
			text, _ := os.ReadFile(b.path("killed/run.jsonl"))
			return l.sum() > 0 && strings.Count(string(text), `{"type":"resume"`) == killed
		}
		for late := time.Now().Add(30 * time.Second); !begun() && time.Now().Before(late); {
			time.Sleep(time.Millisecond)
		}
		time.Sleep(300 * time.Millisecond) // long enough for a burst, if there were one
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		args = []string{"resume", "killed"}
	}
	most := 2000 + 4*max(0, used-110) // the last four calls may use more than was reserved for them
	if tokens := l.sum() * used; tokens > most || tokens == 0 {
		t.Errorf("got %d tokens within a few seconds, want some, and at most %d", tokens, most)
	}
}

// What is paid of a chat is not paid again after processes that could not finish it: their budget was spent, or they were killed.
func TestResumesThatCannotGoOnKeepWhatIsPaid(t *testing.T) {
	t.Parallel()
	const least, most = "2", "20"
	for name, test := range map[string]struct {
		hangs  func(turn, nth int) bool // whether a call does, until its process is killed
		budget string
		again  map[string]int // what is asked again, since it was under way
	}{
		"budget":                {func(int, int) bool { return false }, least, nil},
		"killed":                {func(turn, nth int) bool { return turn == 2 && nth <= 2 }, "4", map[string]int{"turn 2": 4}},
		"killed after a budget": {func(turn, nth int) bool { return turn == 4 && nth == 2 }, least, map[string]int{"turn 4": 3}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var l ledger
			hanging := make(chan bool, 2)
			b := newBox(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				body, _ := io.ReadAll(r.Body)
				if turn := strings.Count(string(body), `"user"`); turn > 0 {
					if nth := l.count(fmt.Sprint("turn ", turn)); test.hangs(turn, nth) {
						hanging <- true
						<-r.Context().Done()
						return
					}
				}
				_, _ = io.WriteString(w, spoken(r.URL.Path, "hi"))
			}), map[string]string{"suite.yaml": `version: 1
name: s
targets: [{name: t, model: m}]
prompts: [{name: p, live: true, turns: [{user: one}, {user: two}, {user: three}, {user: four}]}]
limits: {countTokens: never}
cases: [{name: a, scorers: [{equals: hi}]}, {name: b, scorers: [{equals: hi}]}]
`})
			killed := func(calls int, args ...string) { // while so many calls hang
				cmd := b.command(args...)
				expect.OK(t, cmd.Start())
				for range calls {
					<-hanging
				}
				expect.OK(t, cmd.Process.Kill())
				_ = cmd.Wait()
			}
			switch run := []string{"run", "suite.yaml", "--out", "run", "--budget-calls", test.budget, "--concurrency"}; name {
			case "killed":
				killed(2, append(run, "2")...)
			default:
				b.exits(4, append(run, "1")...)
			}
			for range 2 {
				b.exits(4, "resume", "run", "--concurrency", "1")
				b.says("calls is spent")
			}
			if name == "killed after a budget" {
				killed(1, "resume", "run", "--concurrency", "1", "--budget-calls", most)
			}
			b.exits(0, "resume", "run", "--budget-calls", most)
			want := map[string]int{"turn 1": 2, "turn 2": 2, "turn 3": 2, "turn 4": 2}
			maps.Copy(want, test.again)
			expect.Same(t, "calls", fmt.Sprint(l.calls), fmt.Sprint(want))
		})
	}
}
