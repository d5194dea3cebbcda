package main

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/evalrun/evalrun/internal/testing/expect"
)

// letterService answers `good 3` with the same words, and judges pairs of such answers: the word that comes first in the list is the
// better one, and of the question `even` both are alike.
type letterService struct{ ledger }

var (
	letterWords   = []string{"good", "fair", "bad", "worst"}
	judgedLetters = regexp.MustCompile(`(?s)<<<answerA \S+\n(\w+) (\w+)\n.*<<<answerB \S+\n(\w+) `)
)

func (s *letterService) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	data, err := io.ReadAll(r.Body)
	var body judgeBody
	if err != nil || !strings.HasSuffix(r.URL.Path, ":generateContent") || json.Unmarshal(data, &body) != nil {
		http.NotFound(w, r)
		return
	}
	reply := body.Contents[0].Parts[0].Text
	switch {
	case strings.HasPrefix(reply, "You are a judge."):
		s.count(reply)
		time.Sleep(2 * time.Millisecond) // so that a kill comes in the middle of calls
		found := judgedLetters.FindStringSubmatch(reply)
		choice := "tie"
		for _, word := range letterWords {
			if found[2] != "even" && (word == found[1] || word == found[3]) {
				choice = map[bool]string{true: "A", false: "B"}[word == found[1]]
				break
			}
		}
		reply = fmt.Sprintf(`{"reason": "It is so.", "choice": %q}`, choice)
	case strings.Contains(reply, "same"):
		reply = "the same"
	}
	_ = json.NewEncoder(w).Encode(map[string]any{"candidates": []any{map[string]any{
		"content": map[string]any{"role": "model", "parts": []any{map[string]any{"text": reply}}}, "finishReason": "STOP",
	}}})
}

// lettersBox has run four prompts on cases.
func lettersBox(t *testing.T, cases int) (*box, *letterService) {
	t.Helper()
	questions := []string{"same", "even"}
	for i := range cases - len(questions) {
		questions = append(questions, strconv.Itoa(i))
	}
	s := &letterService{}
	b := newBox(t, s, map[string]string{"suite.yaml": `version: 1
name: letters
targets: [{name: t, model: own}]
prompts:
  - {name: bad, text: "bad {{.q}}"}
  - {name: good, text: "good {{.q}}"}
  - {name: worst, text: "worst {{.q}}"}
  - {name: fair, text: "fair {{.q}}"}
judges: [{name: editor, model: own}]
defaults: {scorers: [{length: {min: 1}}]}
cases: [{name: "c {{.q}}", matrix: {q: [` + strings.Join(questions, ", ") + `]}}]
`})
	b.exits(0, "run", "suite.yaml", "--out", "run", "-q")
	return b, s
}

var plannedCalls = regexp.MustCompile(`by the judge editor: up to (\d+) calls`)

// planned is how many calls the last command said there would be.
func (b *box) planned() int {
	b.t.Helper()
	found := plannedCalls.FindStringSubmatch(b.errs)
	if found == nil {
		b.t.Fatalf("no plan in %s, want one", b.errs)
	}
	n, err := strconv.Atoi(found[1])
	expect.OK(b.t, err)
	return n
}

// The judge gets as many calls as were announced, none when arms are ranked again, and the ranking is that of the answers.
func TestPreferencesOfAllPairsTakeTheAnnouncedCalls(t *testing.T) {
	t.Parallel()
	b, s := lettersBox(t, 12)
	b.exits(0, "compare", "run", "--choose", "--rank")
	b.says(
		"choosing between 72 pairs of answers of letters, on 6 pairs of 4 arms, by the judge editor: up to 132 calls",
		"letters, 12 independent cases", "* the most preferred arm, 95 % sure", "72 pairs of answers: 12 tied (6 the same answer), unjudged 0",
		"chose: 132 calls",
	)
	all, extra := s.all()
	expect.Same(t, "calls, and repeated ones", [2]int{all, extra}, [2]int{b.planned(), 0})
	shown := b.out
	b.exits(0, "compare", "run", "--choose", "--rank")
	second, _ := s.all()
	expect.Same(t, "calls after ranking again", second, all)
	expect.Same(t, "the ranking", strings.Replace(b.out, "chose: 0 calls, 0 tokens", "", 1), chosen.ReplaceAllString(shown, ""))

	b.exits(0, "compare", "run", "--choose", "--rank", "-o", "json")
	var got struct {
		Preferences []struct {
			Arms []struct {
				Arm        string
				Preference float64
				Interval   [2]float64
				Best       bool
			}
			Best, Separated []string
			Ties            float64
			Pairs           []map[string]any
		}
		Judge struct{ Name string }
	}
	expect.OK(t, json.Unmarshal([]byte(b.out), &got))
	p := got.Preferences[0]
	var order []string
	for _, a := range p.Arms {
		order = append(order, a.Arm)
		if a.Interval[0] > a.Preference || a.Preference > a.Interval[1] {
			t.Errorf("%s: got %v, want it within %v", a.Arm, a.Preference, a.Interval)
		}
	}
	expect.Same(t, "order", order, []string{"t/good", "t/fair", "t/bad", "t/worst"})
	expect.Same(t, "best", p.Best, []string{"t/good"})
	expect.Same(t, "pairs", len(p.Pairs), 6)
	expect.Same(t, "the first pair", p.Pairs[0], map[string]any{"first": "t/bad", "second": "t/good", "wins": 0., "losses": 10., "ties": 2.})

	b.exits(0, "compare", "run", "--choose", "--rank", "--arms=t/bad,t/fair,t/worst")
	b.says("on 3 pairs of 3 arms", "chose: 0 calls")
	if strings.Contains(b.out, "t/good") {
		t.Errorf("got t/good in the ranking, want it left out:\n%s", b.out)
	}
}

var chosen = regexp.MustCompile(`chose: \d+ calls?, \d+ tokens?`)

// A ranking that is interrupted or killed continues with the calls that are missing; a killed one repeats those under way at most.
func TestPreferencesResumeWithTheMissingCalls(t *testing.T) {
	t.Parallel()
	const workers = 2
	for signal, c := range map[os.Signal]struct{ code, extra int }{os.Interrupt: {130, workers}, os.Kill: {-1, workers}} {
		t.Run(signal.String(), func(t *testing.T) {
			t.Parallel()
			b, s := lettersBox(t, 40)
			args := []string{"compare", "run", "--choose", "--rank", "--concurrency", strconv.Itoa(workers)}
			cmd := b.command(args...)
			expect.OK(t, cmd.Start())
			for all := 0; all < 50; all, _ = s.all() {
				time.Sleep(time.Millisecond)
			}
			expect.OK(t, cmd.Process.Signal(signal))
			_ = cmd.Wait() // the exit code is looked at
			expect.Same(t, "exit code", cmd.ProcessState.ExitCode(), c.code)
			before, _ := s.all()
			b.exits(0, args...)
			all, extra := s.all()
			if planned := b.planned(); all-extra != planned || before >= planned || extra > c.extra {
				t.Errorf("%d calls, then %d more, %d of all repeated; want %d, and %d repeated at most", before, all-before, extra, planned, c.extra)
			}
		})
	}
}

// A budget ends a ranking as incomplete, after whole cases; ranking again continues.
func TestABudgetEndsPreferencesAfterWholeCases(t *testing.T) {
	t.Parallel()
	b, s := lettersBox(t, 12)
	b.exits(4, "compare", "run", "--choose", "--rank", "--budget-calls", "50", "--concurrency", "1")
	b.says("INCOMPLETE: the budget of 50 calls is spent", "up to 132 calls", "could not be judged, more than 1 %")
	if all, _ := s.all(); all != 50 {
		t.Errorf("%d calls, want 50", all)
	}
	b.exits(0, "compare", "run", "--choose", "--rank")
	all, extra := s.all()
	expect.Same(t, "calls, and repeated ones", [2]int{all, extra}, [2]int{132, 0})
}
