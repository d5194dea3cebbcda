package main

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"strings"
	"sync"
	"testing"

	"github.com/evalrun/evalrun/internal/testing/expect"
)

// judgeService answers as a model and as a judge, and keeps what judges are sent.
type judgeService struct {
	mu      sync.Mutex
	replies []string // to the judges, in order; the last one is given again
	bodies  []judgeBody
}

// judgeBody is what these tests look at of a request to a judge.
type judgeBody struct {
	Contents []struct {
		Parts []struct {
			Text string `json:"text"`
		} `json:"parts"`
	} `json:"contents"`
	GenerationConfig map[string]any `json:"generationConfig"`
}

func (s *judgeService) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if !strings.HasSuffix(r.URL.Path, ":generateContent") {
		http.NotFound(w, r)
		return
	}
	data, _ := io.ReadAll(r.Body)
	var body judgeBody
	_ = json.Unmarshal(data, &body)
	reply := "An answer."
	if strings.HasPrefix(body.Contents[0].Parts[0].Text, "You are a judge.") {
		s.mu.Lock()
		reply = s.replies[min(len(s.bodies), len(s.replies)-1)]
		s.bodies = append(s.bodies, body)
		s.mu.Unlock()
	}
	answer := map[string]any{"candidates": []any{map[string]any{
		"content": map[string]any{"role": "model", "parts": []any{map[string]any{"text": reply}}}, "finishReason": "STOP",
	}}}
	_ = json.NewEncoder(w).Encode(answer)
}

// judgedBy runs a suite with one judge against such a service and returns what the judge was sent.
func judgedBy(t *testing.T, code int, judge, scorer string, replies ...string) ([]judgeBody, *box) {
	t.Helper()
	service := &judgeService{replies: replies}
	b := newBox(t, service, map[string]string{
		"suite.yaml": "version: 1\nname: s\ntargets: [{name: t, model: own}]\nprompts: [{name: p, text: hello}]\njudges: [" + judge +
			"]\ncases: [{name: c, scorers: [" + scorer + "]}]\n",
		"judge.md": "Judge this:\n{{.answer}}\n",
	})
	b.exits(code, "run", "suite.yaml", "--out", "run")
	return service.bodies, b
}

// Judges are sent the temperature 0 unless the suite gives one, next to what else it gives.
func TestJudgesAreSentATemperature(t *testing.T) {
	t.Parallel()
	for judge, want := range map[string]map[string]any{
		"{name: j, model: own}": {"temperature": 0.},
		"{name: j, model: own, generationConfig: {maxOutputTokens: 9}}":                   {"temperature": 0., "maxOutputTokens": 9.},
		"{name: j, model: own, generationConfig: {temperature: 0.7}}":                     {"temperature": 0.7},
		"{name: j, model: own, template: judge.md, generationConfig: {temperature: 1.0}}": {"temperature": 1.},
	} {
		scorer := "{judge: {rubric: good}}"
		if strings.Contains(judge, "template") {
			scorer = "{judge: {}}"
		}
		sent, _ := judgedBy(t, 0, judge, scorer, `{"reason": "x", "score": 1}`)
		if len(sent) != 1 {
			t.Fatalf("%s: %d calls, want 1", judge, len(sent))
		}
		expect.Same(t, judge, sent[0].GenerationConfig, want)
	}
}

// A reply of the wrong shape gets a second request, in one conversation that says what was wrong; a second such reply
// is final.
func TestJudgesAreSentACorrectionForAWrongShape(t *testing.T) {
	t.Parallel()
	const judge, scorer, good = "{name: j, model: own}", "{judge: {closedQA: {reference: x}}}", `{"reason": "x", "choice": "YES"}`
	for _, wrong := range []string{
		`{"reason": "x", "choice": "maybe"}`, `{"reason": "x", "answer": "yes"}`, `{"choice": "yes"}`, `["yes"]`, "yes",
		`{"reason": "x", "choice": 1}`,
	} {
		sent, _ := judgedBy(t, 0, judge, scorer, wrong, good)
		if len(sent) != 2 || len(sent[1].Contents) != 3 || sent[1].Contents[1].Parts[0].Text != wrong {
			t.Errorf("%s: %+v, want a second request that goes on from the first", wrong, sent)
		}
		if sent, _ = judgedBy(t, 4, judge, scorer, wrong); len(sent) != 2 {
			t.Errorf("%s, always: %d calls, want 2", wrong, len(sent))
		}
	}
	if sent, _ := judgedBy(t, 0, judge, scorer, good); len(sent) != 1 {
		t.Errorf("%s: %d calls, want 1", good, len(sent))
	}
}

// `show` prints the very text that a judge was sent, and `--dry-run` the same but for the answer and the code of the fences.
func TestPromptsOfJudgesAreShown(t *testing.T) {
	t.Parallel()
	for judge, scorer := range map[string]string{
		"{name: j, model: own}":                     "{judge: {rubric: good, sees: conversation}}",
		"{name: j, model: own, template: judge.md}": "{judge: {}}",
	} {
		sent, b := judgedBy(t, 0, judge, scorer, "no", `{"reason": "x", "score": 1}`)
		b.exits(0, "show", "run", "c")
		for i, body := range sent {
			for _, line := range strings.Split(body.Contents[len(body.Contents)-1].Parts[0].Text, "\n") {
				expect.Contains(t, fmt.Sprintf("%s: request %d", judge, i+1), b.out, "| "+line)
			}
		}
		b.exits(0, "run", "suite.yaml", "--dry-run")
		var dry struct {
			Judges []struct{ Judge, Prompt string }
		}
		expect.OK(t, json.Unmarshal([]byte(b.out), &dry))
		if len(dry.Judges) != 1 {
			t.Fatalf("%s: --dry-run prints %d prompts of judges, want 1", judge, len(dry.Judges))
		}
		plain := func(text, answer string) string {
			return strings.ReplaceAll(codeOfFences.ReplaceAllString(text, "CODE"), answer, "ANSWER")
		}
		expect.Same(t, judge, plain(dry.Judges[0].Prompt, "(the answer)"), plain(sent[0].Contents[0].Parts[0].Text, "An answer."))
	}
}

var codeOfFences = regexp.MustCompile(`\b[0-9a-f]{16}\b`)
