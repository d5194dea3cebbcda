package session

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/testing/expect"
	"github.com/evalrun/evalrun/internal/testing/hostile"
	"github.com/evalrun/evalrun/internal/wirejson"
)

// FuzzAnswers holds that a file of answers is refused as bad input, with a line for each problem, or that each of its
// lines answers a case.
func FuzzAnswers(f *testing.F) {
	for _, s := range append(
		hostile.Strings()[:20],
		`{"case":"c","text":"t"}`+"\n\r\n"+`{"case":"c","repeat":2,"response":{"candidates":[{"text":"x"}]},"usage":{"totalTokens":3}}`,
		"\ufeff{\"case\":\"c\",\"text\":\"\"}", `{"case":"c","text":"t"} {}`,
		`{"case":"c","text":"t","response":{}}`, `{"case":"c","text":null,"response":null}`,
		`{"case":"c","response":{},"finishReason":"STOP"}`, `{"case":"c","repeat":-1,"text":""}`,
		`{"CASE":"c","text":"t","what":1}`, `{"case":"c","turns":["a","b"]}`, `{"case":"c","turns":[]}`,
		`{"case":"c","turns":["a"],"text":"b"}`, `{"case":"c","turns":["a"],"finishReason":"STOP"}`, "null",
		`{"case":"c","toolCalls":[{"name":"a","args":{"b":[1]}}],"usage":{"inputTokens":3}}`, `{"case":"c","text":"t","toolCalls":[]}`,
	) {
		f.Add([]byte(s))
	}
	var all []byte // a line each
	for _, s := range hostile.Strings() {
		all = append(
			append(append(all, `{"case":`...), wirejson.AppendString(nil, s+"x")...),
			`,"text":`+string(wirejson.AppendString(nil, string([]rune(s))))+"}\n"...)
	}
	f.Add(all)
	f.Fuzz(func(t *testing.T, data []byte) {
		path := filepath.Join(t.TempDir(), "a.jsonl")
		expect.OK(t, os.WriteFile(path, data, 0o600))
		a, err := readGivenAnswers(path)
		if err != nil {
			isBadInput(t, err, path)
			return
		}
		if full := fullLines(data); len(a.lines) != full || len(a.used) != full {
			t.Errorf("got %d answers, want %d, one a line", len(a.lines), full)
		}
		for _, l := range a.lines {
			isComplete(t, &l)
			if len(a.by[l.Case]) == 0 {
				t.Errorf("%+v: got nothing by its case, want it", l)
			}
		}
	})
}

func isBadInput(t *testing.T, err error, path string) {
	t.Helper()
	var coded *eval.CodedError
	if !errors.As(err, &coded) || coded.Code != eval.CodeBadInput || !strings.Contains(err.Error(), path+":") {
		t.Errorf("got %v, want bad input in %s", err, path)
	}
}

func fullLines(data []byte) int {
	n := 0
	for _, line := range bytes.Split(data, []byte("\n")) {
		if len(bytes.TrimSpace(bytes.TrimPrefix(line, []byte("\ufeff")))) > 0 {
			n++
		}
	}
	return n
}

func isComplete(t *testing.T, l *answerLine) {
	t.Helper()
	if l.Case == "" || l.Repeat < 0 || l.Response == nil {
		t.Fatalf("got %+v, want a case and a response", l)
	}
	if l.Text != nil && l.Response.Text() != *l.Text || len(l.result().Calls) != len(l.Turns) {
		t.Errorf("got another text or number of turns in the response of %+v, want the same", l)
	}
	if !l.fits(&eval.Trial{Suite: l.Suite, Case: l.Case, Arm: l.Arm, Repeat: max(1, l.Repeat)}) {
		t.Errorf("%+v: got no fit with its own trial, want one", l)
	}
}
