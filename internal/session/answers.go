package session

import (
	"bufio"
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"unicode/utf8"

	"github.com/evalrun/evalrun/diag"
	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/clients/wire"
	"github.com/evalrun/evalrun/internal/files"
	"github.com/evalrun/evalrun/internal/text"
	"github.com/evalrun/evalrun/internal/wirejson"
	"github.com/evalrun/evalrun/runner"
)

// answerLine is one answer that was made elsewhere: a line of --answers.
type answerLine struct {
	Suite        string          `json:"suite"` // Optional: any
	Case         string          `json:"case"`  // Required
	Arm          string          `json:"arm"`   // Optional: any
	Repeat       int             `json:"repeat"`
	Text         *string         `json:"text"` // this, or toolCalls, or both; or response; or turns
	ToolCalls    []givenCall     `json:"toolCalls"`
	FinishReason string          `json:"finishReason"`
	Response     *givenResponse  `json:"response"`
	Error        json.RawMessage `json:"error"` // of a service, instead of an answer: an object, or a text
	Usage        *givenUsage     `json:"usage"`
	Turns        []string        `json:"turns"` // of a live chat: the answers to its turns
}

type givenAnswers struct {
	file  string
	id    string // of this version of the file; "" if not known
	lines []answerLine
	by    map[string][]int // lines by case
	used  []bool
}

// maxAnswerLine is the longest line, in bytes.
const maxAnswerLine = 32 << 20

// readGivenAnswers reads a file of JSON lines. All problems are reported at once.
func readGivenAnswers(path string) (*givenAnswers, error) {
	file, err := files.Input(path)
	if err != nil {
		return nil, eval.BadInput("the answers cannot be read: %w", err)
	}
	defer file.Close() //nolint:errcheck // it was only read
	a := &givenAnswers{file: path, id: versionOfFile(path), by: map[string][]int{}}
	var problems []error
	in := bufio.NewScanner(file)
	in.Buffer(nil, maxAnswerLine)
	for number := 1; in.Scan(); number++ {
		line := bytes.TrimSpace(bytes.TrimPrefix(in.Bytes(), []byte("\xEF\xBB\xBF")))
		if len(line) == 0 {
			continue
		}
		one, err := newAnswerLine(line)
		if err != nil {
			problems = append(problems, fmt.Errorf("%s:%d: %w", path, number, err))
			continue
		}
		a.by[one.Case] = append(a.by[one.Case], len(a.lines))
		a.lines = append(a.lines, one)
	}
	if err := in.Err(); errors.Is(err, bufio.ErrTooLong) {
		problems = append(problems, fmt.Errorf("%s: a line has more than %d bytes", path, maxAnswerLine))
	} else if err != nil {
		problems = append(problems, fmt.Errorf("%s: %w", path, err))
	}
	if len(problems) > 0 {
		return nil, eval.WithCode(eval.CodeBadInput, errors.Join(problems...))
	}
	a.used = make([]bool, len(a.lines))
	return a, nil
}

// versionOfFile identifies a file as it is now, whatever it contains; "" if it has no place.
func versionOfFile(path string) string {
	info, err := os.Stat(path)
	if err != nil || !info.Mode().IsRegular() {
		return ""
	}
	if abs, err := filepath.Abs(path); err == nil {
		path = abs
	}
	sum := sha256.Sum256(fmt.Appendf(nil, "%s\x00%d\x00%d", path, info.ModTime().UnixNano(), info.Size()))
	return hex.EncodeToString(sum[:8])
}

func newAnswerLine(line []byte) (one answerLine, err error) {
	if !utf8.Valid(line) { // it would be scored as another text
		return one, errors.New("not an answer: the text is not UTF-8")
	}
	if err := wirejson.CheckDepth(line, wirejson.MaxPartDepth); err != nil {
		return one, fmt.Errorf("not an answer: %w", err)
	}
	dec := json.NewDecoder(bytes.NewReader(line))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&one); err != nil {
		return one, fmt.Errorf("not an answer: %w", files.InWords(err))
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return one, errors.New("more than one JSON value in a line")
	}
	if err := one.check(); err != nil {
		return one, err
	}
	switch {
	case one.ToolCalls != nil:
		one.Response = &givenResponse{Response: one.calling()}
	case one.Text != nil:
		one.Response = &givenResponse{Response: answeringFile(*one.Text, cmp.Or(one.FinishReason, "STOP"))}
	case one.Turns != nil:
		one.Response = &givenResponse{Response: answeringFile(one.Turns[len(one.Turns)-1], "STOP")}
	case one.Error != nil:
		one.Response = &givenResponse{failed: wire.ErrorIn(wire.Object("error", one.Error))}
	}
	return one, nil
}

func (l *answerLine) check() error {
	switch {
	case l.Case == "":
		return errors.New("`case` is missing")
	case l.Repeat < 0:
		return errors.New("`repeat` counts from 1")
	case l.forms() != 1:
		return errors.New("an answer has one of `text`, `response` and `error`, or, in a live chat, `turns`; " +
			"`toolCalls` go with `text` or instead of it")
	case l.Turns != nil && len(l.Turns) == 0:
		return errors.New("`turns` is empty")
	case l.Text == nil && l.ToolCalls == nil && l.FinishReason != "":
		return errors.New("`finishReason` goes with `text` or `toolCalls`; in a `response` it is a part of the candidate")
	}
	return checkCalls(l.ToolCalls)
}

func (l *answerLine) forms() int {
	n := 0
	for _, given := range []bool{l.Text != nil || l.ToolCalls != nil, l.Response != nil, l.Turns != nil, l.Error != nil} {
		if given {
			n++
		}
	}
	return n
}

// checkTurns compares the form of an answer with the trial: a live chat takes an answer to every turn, any other
// trial one.
func (l *answerLine) checkTurns(t *runner.Planned) error {
	switch {
	case l.Response.failed != nil:
	case t.Request.Live && len(l.Turns) != t.Request.UserTurns():
		return fmt.Errorf("%s is a live chat: `turns` takes its %s", text.Describe(&t.Trial), diag.Count(t.Request.UserTurns(), "answer"))
	case !t.Request.Live && l.Turns != nil:
		return fmt.Errorf("%s is not a live chat: `text` or `response` takes its answer, and not `turns`", text.Describe(&t.Trial))
	}
	return nil
}

func (l *answerLine) result() *eval.Result {
	r := &eval.Result{Response: &l.Response.Response, Usage: l.Response.Usage}
	if l.Usage != nil {
		r.Usage = &l.Usage.Usage
	}
	for _, text := range l.Turns {
		r.Calls = append(r.Calls, eval.AnsweredCall{Response: answeringFile(text, "STOP"), Usage: eval.Usage{Source: eval.UsageEstimated}})
	}
	return r
}

// fits reports whether a line is the answer to a trial. A line without a repeat is the first one.
func (l *answerLine) fits(t *eval.Trial) bool {
	return l.Case == t.Case && max(1, l.Repeat) == t.Repeat &&
		(l.Suite == "" || l.Suite == t.Suite) && (l.Arm == "" || l.Arm == t.Arm)
}

// Check compares the answers with the plan: one that belongs to no trial is a problem.
func (a *givenAnswers) Check(plan *runner.Plan) error {
	var cases []string
	var problems []error
	for t := range plan.Trials() {
		if t.First {
			cases = append(cases, t.Case)
		}
		if judges := t.Judges(); len(judges) > 0 {
			return eval.BadInput(
				"%s: the answers are scored without a service, and case `%s` wants the judge `%s`: leave that scorer out", a.file,
				t.Case, judges[0].Name,
			)
		}
		lines := a.take(&t.Trial)
		if len(lines) > 1 {
			problems = append(problems,
				fmt.Errorf("%s: two lines answer %s: remove one, or give each its `repeat`", a.file, text.Describe(&t.Trial)))
		}
		for _, l := range lines {
			if err := l.checkTurns(t); err != nil {
				problems = append(problems, fmt.Errorf("%s: %w", a.file, err))
			}
		}
	}
	if problems = append(problems, a.unused(cases)...); len(problems) > 0 {
		return eval.WithCode(eval.CodeBadInput, errors.Join(problems...))
	}
	return nil
}

// take marks the lines that answer a trial as used: one, if the file is right.
func (a *givenAnswers) take(t *eval.Trial) []*answerLine {
	var out []*answerLine
	for _, i := range a.by[t.Case] {
		if a.lines[i].fits(t) {
			a.used[i] = true
			out = append(out, &a.lines[i])
		}
	}
	return out
}

func (a *givenAnswers) unused(cases []string) []error {
	var out []error
	for i, used := range a.used {
		if used {
			continue
		}
		l := &a.lines[i]
		what := fmt.Sprintf("%s: no trial of the plan is case `%s`, repeat %d", a.file, l.Case, max(1, l.Repeat))
		if l.Arm != "" {
			what += " on " + l.Arm
		}
		if hint := diag.DidYouMean(l.Case, cases); !slices.Contains(cases, l.Case) && hint != "" {
			what += "; " + hint
		}
		out = append(out, errors.New(what))
	}
	return out
}

// Earlier returns the answer to a trial.
func (a *givenAnswers) Earlier(t *runner.Planned) runner.EarlierTrial {
	for _, i := range a.by[t.Case] {
		if l := &a.lines[i]; l.fits(&t.Trial) {
			if l.Response.failed != nil {
				return runner.FinalResult{Result: &eval.Result{Ending: eval.Errored{Error: l.Response.failed}, Scores: []eval.Score{}}}
			}
			r := l.result()
			if a.id != "" {
				r.Timing = &eval.Timing{Answer: fmt.Sprintf("%s.%d", a.id, i)}
			}
			return runner.AnsweredTrial{Result: r}
		}
	}
	return nil
}
