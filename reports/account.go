package reports

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/text"
)

// tally describes the outcomes of a case's repeats: "2 of 3 passed, 1 failed".
func tally(c eval.Counts) string {
	out := fmt.Sprintf("%d of %d passed", c.Pass, c.Total())
	for _, part := range []struct {
		n    int
		what string
	}{{c.Fail, "failed"}, {c.Error, "could not be judged"}, {c.Skip, "skipped"}} {
		if part.n > 0 {
			out += fmt.Sprintf(", %d %s", part.n, part.what)
		}
	}
	return out
}

// account describes one trial with its answer.
func account(b *strings.Builder, r *eval.Result, repeats int) {
	if repeats > 1 {
		fmt.Fprintf(b, "repeat %d\n", r.Repeat)
	}
	if r.Err() != nil {
		fmt.Fprintf(b, "%s: %s\n", r.Err().Kind, r.Err())
	}
	for _, lead := range leads(r) {
		fmt.Fprintf(b, "%s\n", lead)
	}
	for i := range r.Scores {
		accountScore(b, &r.Scores[i])
	}
	earlier := r.Calls
	if r.Response != nil { // the response of the last turn
		earlier = earlier[:max(0, len(earlier)-1)]
	}
	names := text.TurnNames(r)
	for i := range earlier {
		accountTurn(b, names[i], &earlier[i])
	}
	if r.Response != nil {
		accountAnswer(b, r.Response)
	}
	b.WriteString("\n")
}

// accountTurn describes the answer of a turn of a chat, or of a step with its tool results.
func accountTurn(b *strings.Builder, name string, t *eval.AnsweredCall) {
	fmt.Fprintf(b, "answer in %s:\n%s\n", name, text.Answer(&t.Response))
	for i := range t.Results {
		one := &t.Results[i]
		mark := "result of"
		if one.Failed {
			mark = "FAILED"
		}
		fmt.Fprintf(b, "%s %s\n", mark, shorten(resultText(one), maxResult))
	}
}

// maxResult bounds the result of a tool call, in code points.
const maxResult = 300

func accountScore(b *strings.Builder, s *eval.Score) {
	mark := "passed"
	_, scored := s.Value()
	switch {
	case !scored:
		mark = "unscored"
	case !s.Passed():
		mark = "FAILED"
	}
	fmt.Fprintf(b, "%-8s %s: %s\n", mark, text.ScoreName(*s), s.Reason)
	if s.Diff != "" {
		fmt.Fprintf(b, "%s\n", s.Diff)
	}
}

func accountAnswer(b *strings.Builder, r *eval.Response) {
	for i, c := range r.Candidates {
		fmt.Fprintf(b, "answer %d (%s):\n%s\n", i, c.FinishReason, text.Candidate(&c))
	}
	if reason := r.PromptBlock(); reason != "" {
		fmt.Fprintf(b, "the prompt was blocked: %s\n", reason)
	}
}

// shorten cuts a text to n code points, with a note.
func shorten(s string, n int) string {
	if len(s) <= n || utf8.RuneCountInString(s) <= n {
		return s
	}
	runes := []rune(s)
	return fmt.Sprintf("%s\n... %d more characters", string(runes[:n]), len(runes)-n)
}
